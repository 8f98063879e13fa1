"""Who is put to the test, and how a Function is run there. A new backend adds its name to ``TRANSFORMERS``.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> run("interpreter", nv.Function([nv.ops.Add(x, x)], [x]), [np.float32([1, 2])])[0].tolist()
[2.0, 4.0]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from nervure.ir.function import Function
from nervure.transformers import make_transformer
from tests.conformance import jax_runner

TRANSFORMERS = ["interpreter"]

REFERENCE = "jax"
"""The second provider, of the tests alone: what it and a transformer give must agree."""

PROVIDERS = [*TRANSFORMERS, REFERENCE]

DEEP = os.environ.get("NERVURE_DEEP") == "1"


def repeats(count: int) -> range:
    """``count`` rounds of random shapes and numbers; a tenth of them, unless NERVURE_DEEP asks for all."""
    return range(count if DEEP else max(1, count // 10))


@cache
def transformer(name: str) -> Any:
    """The one transformer of this name that all tests share."""
    return make_transformer(name)


def run(name: str, function: Function, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a function on a transformer, or over JAX."""
    if name == REFERENCE:
        return jax_runner.run(function, arguments)
    return [np.asarray(result) for result in transformer(name).compile(function)(list(arguments))]
