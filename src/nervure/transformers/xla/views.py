"""Views and coordinates over JAX: slices, reversals and transpositions where an index map has only these, else gathers.

Coordinates are grids: arrays with one dimension for each of a domain, of length 1 where they do not depend on it.

>>> import numpy as np
>>> from nervure.types.dim import index
>>> x = jnp.asarray(np.arange(6).reshape(2, 3))
>>> shown(x, (3, 2), (index(1), 2 - index(0))).tolist()
[[2, 5], [1, 4], [0, 3]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.transformers.xla.element_types import wide_integer
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import numbers
from nervure.types.dim import Dim, DimLike, evaluate_arrays, index_symbols, substitute
from nervure.types.index_map import affine_form
from nervure.types.view import ComplexView, ConcatenateView, PadView, ReshapeView, SimpleView

Shape = tuple[int, ...]


class Line(NamedTuple):
    """A coordinate that depends on at most one dimension of a domain: ``start + step * index``."""

    dimension: int | None
    start: int
    step: int


class Positions(NamedTuple):
    """A coordinate that depends on one dimension of a domain in some other way: its values there."""

    dimension: int
    values: np.ndarray


def static_grid(expression: DimLike, domain: Shape) -> np.ndarray:
    """Returns the values of an expression without symbols over a domain, as a grid of NumPy."""
    used = index_symbols(expression)
    ranges = np.ix_(*[np.arange(length) if f"%{d}" in used else np.zeros(1, np.int64)
                      for d, length in enumerate(domain)])
    found = np.asarray(evaluate_arrays(expression, {f"%{d}": grid for d, grid in enumerate(ranges)}), np.int64)
    return found.reshape(found.shape or (1,) * len(domain))


def grid(expression: DimLike, domain: Shape) -> Array:
    """Returns the values of an expression without symbols over a domain, as a grid. What is affine is counted by the
    program; anything else is a constant of it.
    """
    form = affine_form(expression, domain) if isinstance(expression, Dim) else None
    if form is None:
        return jnp.asarray(static_grid(expression, domain))
    total = jnp.full((1,) * len(domain), form.offset, jnp.int64)
    for d, coefficient in enumerate(form.coefficients):
        if coefficient != 0:
            extents = tuple([length if other == d else 1 for other, length in enumerate(domain)])
            total = total + lax.broadcasted_iota(jnp.int64, extents, d) * coefficient
    return total


def shown(x: Array, domain: Shape, coordinates: Sequence[DimLike]) -> Array:
    """Returns the elements of x at coordinates without symbols, which are inside, as a grid."""
    if 0 in domain or not x.size:
        return jnp.zeros([length if length == 0 else 1 for length in domain], x.dtype)
    lines = _lines(coordinates, domain)
    if lines is None:
        grids = [grid(entry, domain) for entry in coordinates]
        return x[tuple(jnp.broadcast_arrays(*grids))] if grids else x.reshape((1,) * len(domain))
    for axis, line in enumerate(lines):
        if isinstance(line, Positions):
            x = jnp.take(x, line.values, axis=axis, mode="clip")
    return _along(x, domain, [line if isinstance(line, Line) else Line(line.dimension, 0, 1) for line in lines])


def _lines(coordinates: Sequence[DimLike], domain: Shape) -> list[Line | Positions] | None:
    """Returns each coordinate as a line, or as positions along one dimension; None unless each depends on one of its
    own.
    """
    found = [_along_one(entry, domain) for entry in coordinates]
    dimensions = [line.dimension for line in found if line is not None and line.dimension is not None]
    if len(set(dimensions)) < len(dimensions):
        return None
    known = [line for line in found if line is not None]
    return known if len(known) == len(found) else None


def line_of(coordinate: DimLike, domain: Shape) -> Line | None:
    """Returns a coordinate without symbols as a line over a domain, if it is one."""
    found = _along_one(coordinate, domain)
    return found if isinstance(found, Line) else None


def _along_one(coordinate: DimLike, domain: Shape) -> Line | Positions | None:
    if not isinstance(coordinate, Dim):
        return Line(None, coordinate, 0)
    if str(coordinate)[:1] == "%" and str(coordinate)[1:].isdecimal():
        return Line(int(str(coordinate)[1:]), 0, 1)
    values = static_grid(coordinate, domain)
    used = [d for d, length in enumerate(values.shape) if length != 1]
    if len(used) > 1 or not values.size:
        return None
    flat = values.reshape(-1)
    if not used:
        return Line(None, int(flat[0]), 0)
    steps = np.diff(flat)
    is_even = bool((steps == steps[0]).all()) and steps[0] != 0
    return Line(used[0], int(flat[0]), int(steps[0])) if is_even else Positions(used[0], flat)


def boxed(lines: Sequence[Line], lengths: Sequence[int]) -> tuple[tuple[slice, ...], list[int]]:
    """Returns the slices in which lines with these numbers of places lie, and the axes along which lines go backward.
    """
    box, backward = [], []
    for axis, (line, length) in enumerate(zip(lines, lengths, strict=True)):
        first, step = line.start, line.step or 1
        last = first + step * (length - 1)
        if step < 0:
            first, last, step = last, first, -step
            backward.append(axis)
        box.append(slice(first, last + 1, step))
    return tuple(box), backward


def _along(x: Array, domain: Shape, lines: Sequence[Line]) -> Array:
    """Returns a slice of x along each line, with its dimensions in the order of the domain."""
    box, reversed_axes = boxed(lines, [1 if line.dimension is None else domain[line.dimension] for line in lines])
    if any([part != slice(0, length, 1) for part, length in zip(box, x.shape, strict=True)]):
        x = lax.slice(x, *zip(*[(part.start, part.stop, part.step) for part in box], strict=True))
    x = lax.rev(x, reversed_axes) if reversed_axes else x
    order = [math.inf if line.dimension is None else line.dimension for line in lines]
    permutation = sorted(range(len(order)), key=order.__getitem__)
    if permutation != list(range(len(order))):
        x = lax.transpose(x, permutation)
    kept = {line.dimension for line in lines if line.dimension is not None}
    return x.reshape([length if d in kept else 1 for d, length in enumerate(domain)])


def view(description: SimpleView | ComplexView, operands: Sequence[Array], bindings: Mapping[str, int]) -> Array:
    """Returns the elements that a view shows of the operands."""
    shape = numbers(description.shape, bindings)
    if isinstance(description, ReshapeView):
        return operands[0].reshape(shape)
    if isinstance(description, SimpleView):
        return _mapped(operands[0], shape, description.index_map.coordinates, bindings)
    if isinstance(description, ConcatenateView):
        # XLA's CPU device ends the process when it compiles one of elements of 2 bits: bytes are moved in their place.
        return jnp.concatenate([wide_integer(x) for x in operands], axis=description.axis).astype(operands[0].dtype)
    if isinstance(description, PadView):
        padding = [(*numbers(pair, bindings), 0) for pair in description.padding]
        value = np.asarray(description.value if operands[0].dtype.kind == "c" else description.value.real)
        return lax.pad(operands[0], value.astype(operands[0].dtype), padding)
    return _assembled(description, shape, operands, bindings)


def _mapped(x: Array, shape: Shape, coordinates: Sequence[DimLike], bindings: Mapping[str, int]) -> Array:
    return jnp.broadcast_to(shown(x, shape, [substitute(entry, bindings) for entry in coordinates]), shape)


def _assembled(description: ComplexView, shape: Shape, operands: Sequence[Array],
               bindings: Mapping[str, int]) -> Array:
    """Returns a view of several tensors, piece by piece."""
    result = jnp.zeros(shape, operands[0].dtype)
    for piece in description.pieces:
        starts, extents = numbers(piece.starts, bindings), numbers(piece.extents, bindings)
        if min(extents, default=1) <= 0:
            continue
        if piece.index_map is None:
            part = jnp.full(extents, np.asarray(piece.constant).astype(result.dtype))
        else:
            part = _mapped(operands[piece.operand or 0], extents, piece.index_map.coordinates, bindings)
        result = lax.dynamic_update_slice(result, part, [np.int64(start) for start in starts])
    return result
