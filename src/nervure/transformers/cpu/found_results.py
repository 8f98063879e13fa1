"""Results whose lengths ops find: memory is planned for the most, and a result is cut to size when the call has run.

The machine code of such a function gives the lengths, too, as results behind those that it was built with.

>>> import nervure as nv
>>> from nervure.ir.whole_op import fresh_length
>>> mask = nv.Parameter(nv.bool_, (3,))
>>> positions = nv.ops.FindPositions(mask, length=fresh_length(3))
>>> [value.shape for value in with_lengths(nv.Function(positions.outputs[:1], [mask])).results][1:]
[()]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nervure.ir.function import Function
from nervure.ir.whole_op import FoundLength, found_lengths
from nervure.transformers.memory_estimate import numbers


def lengths_of_results(function: Function) -> tuple[FoundLength, ...]:
    """Returns the lengths that ops find, if results have them; else none."""
    found = found_lengths(function.effects)
    names = {name for value in function.results for name in value.type.symbols}
    return () if names.isdisjoint(found) else tuple(found.values())


def with_lengths(function: Function) -> Function:
    """Returns the function with the lengths that its results have as further results; itself if there are none."""
    lengths = lengths_of_results(function)
    if not lengths:
        return function
    return Function([*function.results, *[length.value for length in lengths]], function.parameters, function.updates,
                    function.effects, function.assumptions, function.name)


def cut(function: Function, lengths: Sequence[FoundLength], values: Sequence[np.ndarray],
        bindings: Mapping[str, int]) -> list[np.ndarray]:
    """Returns the values of a function's roots cut to size, from those of ``with_lengths(function)``."""
    count = len(function.results)
    results, found = values[:count], values[count:count + len(lengths)]
    exact = {**bindings, **{length.name: int(value) for length, value in zip(lengths, found, strict=True)}}
    names = {length.name for length in lengths}
    return [*[array if names.isdisjoint(declared.type.symbols) else _cut(array, numbers(declared.type.shape, exact))
              for array, declared in zip(results, function.results, strict=True)], *values[count + len(lengths):]]


def _cut(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the first elements in memory, in an array of their own."""
    return array.reshape(-1)[:math.prod(shape)].reshape(shape).copy()
