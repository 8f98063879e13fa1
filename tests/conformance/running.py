"""Lists the transformers under test, and runs a Function on each. A new backend adds its name to ``TRANSFORMERS``.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> run("interpreter", nv.Function([nv.ops.Add(x, x)], [x]), [np.float32([1, 2])])[0].tolist()
[2.0, 4.0]
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from nervure.ir.function import Function
from nervure.ir.structural import fingerprint
from nervure.transformers import make_transformer
from nervure.types.dtype import DType, float32
from tests.arrays import guarded
from tests.conformance import jax_runner

TRANSFORMERS = ["interpreter", "cpu", "xla"]

REFERENCE = "jax"
"""The second provider, of the tests alone: what it and a transformer give must agree."""

PROVIDERS = [*TRANSFORMERS, REFERENCE]

DEEP = os.environ.get("DEEP_TESTS") == "1"


def repeats(count: int) -> range:
    """``count`` rounds of random shapes and numbers; a tenth of them, unless DEEP_TESTS asks for all."""
    return range(count if DEEP else max(1, count // 10))


def some(types: Sequence[DType], name: str) -> list[DType]:
    """The element types that an op is tried with. Compiling takes long, JAX for the expected numbers, too: without
    DEEP_TESTS these are float32 and a quarter of the others, another quarter for another op.
    """
    if DEEP:
        return list(types)
    turn = zlib.crc32(name.encode())
    return [entry for at, entry in enumerate(types) if entry is float32 or (at + turn) % 4 == 0] or list(types[:1])


@cache
def transformer(name: str) -> Any:
    """The one transformer of this name that all tests share."""
    return make_transformer(name)


_known: OrderedDict[tuple[Any, ...], list[np.ndarray]] = OrderedDict()


def _expected(function: Function, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What JAX gives: the slowest part of all, and the same for each transformer, whose tests follow each other."""
    key = fingerprint(function), *[(array.dtype, array.shape, array.tobytes()) for array in arguments]
    if key not in _known:
        _known[key] = jax_runner.run(function, arguments)
        if len(_known) > 1000:
            _known.popitem(last=False)
    return _known[key]


def run(name: str, function: Function, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a function on a transformer, or over JAX. The cpu may touch nothing beside its arguments."""
    if name == REFERENCE:
        return _expected(function, arguments)
    if name == "cpu":
        arguments = [guarded(np.asarray(argument)) for argument in arguments]
    return [np.asarray(result) for result in executable(name, function)(list(arguments))]


@lru_cache(maxsize=8)
def executable(name: str, function: Function) -> Any:
    """A function compiled by the transformer of this name; one of the last few is not compiled again."""
    return transformer(name).compile(function)
