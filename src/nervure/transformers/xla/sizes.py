"""Lengths for values of the symbols, which are numbers, or symbols of JAX where a program is exported with these open.

>>> import jax.export
>>> from nervure.types.dim import dim
>>> numbers((2 * dim("n"), 3), {"n": 4})
(8, 3)
>>> n, = jax.export.symbolic_shape("n")
>>> numbers((2 * dim("n"), 3), {"n": n})
(2*n, 3)
>>> is_at_most(n, 2 * n - 1), is_at_most(2, n)
(True, False)
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

import jax

from nervure.transformers import memory_estimate
from nervure.types.dim import DimLike
from nervure.types.dim.evaluation import evaluate_with


def numbers(shape: tuple[DimLike, ...], bindings: Mapping[str, int]) -> tuple[int, ...]:
    """Returns a shape with the values of its symbols. JAX's symbols stand where it takes numbers, and have their type.
    """
    if not are_open(bindings):
        return memory_estimate.numbers(shape, bindings)
    return tuple([evaluate_with(length, bindings, operator.floordiv, operator.mod, jax.core.min_dim, jax.core.max_dim)
                  for length in shape])


def are_open(bindings: Mapping[str, int]) -> bool:
    """Whether some of the symbols have no numbers."""
    return not all([type(value) is int for value in bindings.values()])


def is_at_most(left: int, right: int) -> bool:
    """Whether a length is at most another one; of JAX's symbols, whether that is known for all their values."""
    return bool(larger(left, right) == right)


def larger(left: int, right: int) -> int:
    """Returns the larger of two lengths, which may have JAX's symbols."""
    found: int = jax.core.max_dim(left, right)
    return found
