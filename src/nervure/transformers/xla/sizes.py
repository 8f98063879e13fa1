"""Lengths for values of the symbols, which are numbers, or symbols of JAX where a program is exported with these open.

>>> import jax.export
>>> from nervure.types.dim import dim
>>> numbers((2 * dim("n"), 3), {"n": 4})
(8, 3)
>>> n, = jax.export.symbolic_shape("n")
>>> numbers((2 * dim("n"), 3), {"n": n})
(2*n, 3)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from nervure.transformers import memory_estimate
from nervure.types.dim import DimLike
from nervure.types.dim.evaluation import evaluate_with


def numbers(shape: tuple[DimLike, ...], bindings: Mapping[str, int]) -> tuple[int, ...]:
    """Returns a shape with the values of its symbols. JAX's symbols stand where it takes numbers, and have their type.
    """
    if not are_open(bindings):
        return memory_estimate.numbers(shape, bindings)
    return tuple([evaluate_with(length, bindings, operator.floordiv, operator.mod, _unknown, _unknown)
                  for length in shape])


def are_open(bindings: Mapping[str, int]) -> bool:
    """Whether some of the symbols have no numbers."""
    return not all([type(value) is int for value in bindings.values()])


def _unknown(left: object, right: object) -> int:
    raise NotImplementedError(f"whether {left} is less than {right} is not known")
