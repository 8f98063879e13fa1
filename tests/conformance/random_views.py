"""Operands as users have them: not the parameter itself but a slice, a transpose, a broadcast, a reversal of one.

>>> import nervure as nv
>>> shape, show = random_view(np.random.default_rng(4), (2, 3))
>>> show(nv.Parameter(nv.float32, shape).value).shape
(2, 3)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nervure import ops
from nervure.ir.op import Value
from nervure.types.dim import index
from nervure.types.index_map import IndexMap

Shape = tuple[int, ...]
Show = Callable[[Value], Value]


def random_view(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    """A shape of a parameter, and the view of it that has the wanted shape: one or two views deep."""
    kinds = [kind for kind in _KINDS if shape or kind is _reshaped]
    inner, outer = [kinds[int(rng.integers(len(kinds)))] for _ in range(2)]
    middle, show = outer(rng, shape)
    if rng.random() < 0.5 or not middle:
        return middle, show
    source, first = inner(rng, middle)
    return source, lambda value: show(first(value))


def _transposed(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    order = rng.permutation(len(shape)).tolist()
    source = [0] * len(shape)
    for d, axis in enumerate(order):
        source[axis] = shape[d]
    return tuple(source), lambda value: ops.Permute(value, order).output


def _reversed(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    axes = [d for d in range(len(shape)) if rng.random() < 0.6]
    return shape, lambda value: ops.Reverse(value, axes).output


def _sliced(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    slices, source = [], []
    for length in shape:
        step, before, after = int(rng.choice([1, 2, -1, -2])), int(rng.integers(3)), int(rng.integers(3))
        span = abs(step) * max(length - 1, 0) + min(length, 1)
        source.append(before + span + after)
        first = before if step > 0 else before + span - 1
        slices.append((max(first, 0) if length else 0, length, step))
    return tuple(source), lambda value: ops.Slice(value, slices).output


def _broadcast(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    axes = [int(rng.integers(len(shape)))]
    return tuple(np.delete(shape, axes).tolist()), lambda value: ops.Broadcast(value, shape, axes).output


def _reshaped(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    source = (math.prod(shape),) if rng.random() < 0.5 else (1, *shape[::-1][:0], *shape)
    return source, lambda value: ops.Reshape(value, shape).output


def _mapped(rng: np.random.Generator, shape: Shape) -> tuple[Shape, Show]:
    """The rows of a matrix one behind the other, as a diagonal walk that no permutation or slice says."""
    source = (*shape[:-1], shape[-1] + shape[0])
    coordinates = (*[index(d) for d in range(len(shape) - 1)], index(len(shape) - 1) + index(0))
    return source, lambda value: ops.IndexView(value, IndexMap(shape, coordinates)).output


_KINDS = (_transposed, _reversed, _sliced, _broadcast, _reshaped, _mapped)
