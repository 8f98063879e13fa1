"""Views and coordinates over JAX: slices, reversals and transpositions where an index map has only these, else gathers.

Coordinates are grids: arrays with one dimension for each of a domain, of length 1 where they do not depend on it. They
have numbers for their symbols, except for those of which ``bindings`` have symbols of JAX.

>>> import numpy as np
>>> from nervure.types.dim import index
>>> x = jnp.asarray(np.arange(6).reshape(2, 3))
>>> shown(x, (3, 2), (index(1), 2 - index(0)), {}).tolist()
[[2, 5], [1, 4], [0, 3]]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.transformers.xla import functions
from nervure.transformers.xla.element_types import wide_integer
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import is_at_most, numbers
from nervure.types.dim import Dim, DimLike, evaluate_arrays, index_symbols, substitute, symbols
from nervure.types.dim.evaluation import evaluate_with
from nervure.types.dim.queries import affine
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

    dimension: int | None
    values: Array


def known(expression: DimLike, bindings: Mapping[str, int]) -> DimLike:
    """Returns an expression with numbers for the symbols that have some."""
    return substitute(expression, {name: value for name, value in bindings.items() if type(value) is int})


def _is_static(expression: DimLike, domain: Shape) -> bool:
    """Whether the values of an expression over a domain are numbers."""
    used = index_symbols(expression)
    return symbols(expression) == used and all([type(domain[int(name[1:])]) is int for name in used])


def static_grid(expression: DimLike, domain: Shape) -> np.ndarray:
    """Returns the values of an expression without symbols over a domain, as a grid of NumPy."""
    used = index_symbols(expression)
    ranges = np.ix_(*[np.arange(length) if f"%{d}" in used else np.zeros(1, np.int64)
                      for d, length in enumerate(domain)])
    found = np.asarray(evaluate_arrays(expression, {f"%{d}": grid for d, grid in enumerate(ranges)}), np.int64)
    return found.reshape(found.shape or (1,) * len(domain))


def grid(expression: DimLike, domain: Shape, bindings: Mapping[str, int]) -> Array:
    """Returns the values of an expression over a domain, as a grid. What is affine, or has symbols of JAX, is computed
    by the program; anything else is a constant of it.
    """
    if not _is_static(expression, domain):
        return _open_grid(expression, domain, bindings)
    lengths = [length if type(length) is int else 1 for length in domain]
    form = affine_form(expression, lengths) if isinstance(expression, Dim) else None
    if form is None:
        return jnp.asarray(static_grid(expression, domain))
    total = jnp.full((1,) * len(domain), form.offset, jnp.int64)
    for d, coefficient in enumerate(form.coefficients):
        if coefficient != 0:
            extents = tuple([length if other == d else 1 for other, length in enumerate(domain)])
            total = total + lax.broadcasted_iota(jnp.int64, extents, d) * coefficient
    return total


def _open_grid(expression: DimLike, domain: Shape, bindings: Mapping[str, int]) -> Array:
    values = {name: jnp.asarray(number, jnp.int64) for name, number in bindings.items()}
    for d in [int(name[1:]) for name in index_symbols(expression)]:
        extents = tuple([length if other == d else 1 for other, length in enumerate(domain)])
        values[f"%{d}"] = lax.broadcasted_iota(jnp.int64, extents, d)
    found: Array = evaluate_with(expression, values, functions.floor_divide, functions.modulo, jnp.minimum, jnp.maximum)
    return found.reshape(found.shape or (1,) * len(domain))


def shown(x: Array, domain: Shape, coordinates: Sequence[DimLike], bindings: Mapping[str, int]) -> Array:
    """Returns the elements of x at coordinates, which are inside, as a grid."""
    if 0 in domain or not x.size:
        return jnp.zeros([length if length == 0 else 1 for length in domain], x.dtype)
    lines = _lines(coordinates, domain, bindings)
    if lines is None:
        grids = [grid(entry, domain, bindings) for entry in coordinates]
        return x[tuple(jnp.broadcast_arrays(*grids))] if grids else x.reshape((1,) * len(domain))
    for axis, line in enumerate(lines):
        if isinstance(line, Line) and not is_inside(line, domain, x.shape[axis]):
            line = lines[axis] = Positions(line.dimension, grid(coordinates[axis], domain, bindings).reshape(-1))
        if isinstance(line, Positions):
            x = jnp.take(x, line.values, axis=axis, mode="clip")
    return _along(x, domain, [line if isinstance(line, Line) else Line(line.dimension, 0, 1) for line in lines])


def _lines(coordinates: Sequence[DimLike], domain: Shape,
           bindings: Mapping[str, int]) -> list[Line | Positions] | None:
    """Returns each coordinate as a line, or as positions along one dimension; None unless each depends on one of its
    own.
    """
    found = [_along_one(entry, domain, bindings) for entry in coordinates]
    dimensions = [line.dimension for line in found if line is not None and line.dimension is not None]
    if len(set(dimensions)) < len(dimensions):
        return None
    known = [line for line in found if line is not None]
    return known if len(known) == len(found) else None


def line_of(coordinate: DimLike, domain: Shape, bindings: Mapping[str, int]) -> Line | None:
    """Returns a coordinate as a line over a domain, if it is one."""
    found = _along_one(coordinate, domain, bindings)
    return found if isinstance(found, Line) else None


def is_inside(line: Line, domain: Shape, length: int) -> bool:
    """Whether all places of a line are known to be inside of a dimension of this ``length``, and a slice of it."""
    extent = 1 if line.dimension is None else domain[line.dimension]
    ends = line.start, line.start + line.step * (extent - 1)
    low, high = ends if line.step >= 0 else ends[::-1]
    if type(extent) is int:
        return extent == 0 or is_at_most(0, low) and is_at_most(high + 1, length)
    return abs(line.step) == 1 and is_at_most(0, low) and is_at_most(high + 1, length)


def ends(expression: DimLike, domain: Shape, bindings: Mapping[str, int]) -> tuple[int, int]:
    """Returns the least and the largest value of an expression over a domain. NotImplementedError if lengths of JAX's
    symbols hide them: a file of such a program needs their numbers (X13).
    """
    if _is_static(expression, domain):
        values = static_grid(expression, domain)
        return int(values.min()), int(values.max())
    parts = affine(expression, [f"%{d}" for d in range(len(domain))])
    steps = [] if parts is None else [step for step in parts[0].values() if isinstance(step, int)]
    if parts is None or len(steps) < len(domain):
        raise NotImplementedError(f"how far {expression} goes is not known")
    low = high = numbers((parts[1],), bindings)[0]
    for step, length in zip(steps, domain, strict=True):
        low, high = low + min(step, 0) * (length - 1), high + max(step, 0) * (length - 1)
    return low, high


def _along_one(coordinate: DimLike, domain: Shape, bindings: Mapping[str, int]) -> Line | Positions | None:
    if not isinstance(coordinate, Dim):
        return Line(None, coordinate, 0)
    if str(coordinate)[:1] == "%" and str(coordinate)[1:].isdecimal():
        return Line(int(str(coordinate)[1:]), 0, 1)
    if not _is_static(coordinate, domain):
        return _open_line(coordinate, domain, bindings)
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


def _open_line(coordinate: Dim, domain: Shape, bindings: Mapping[str, int]) -> Line | Positions | None:
    used = [int(name[1:]) for name in index_symbols(coordinate)]
    if len(used) > 1:
        return None
    parts = affine(coordinate, [f"%{d}" for d in used])
    if parts is not None and not used:
        return Line(None, numbers((parts[1],), bindings)[0], 0)
    step = None if parts is None else parts[0][f"%{used[0]}"]
    if parts is not None and isinstance(step, int):
        return Line(used[0], numbers((parts[1],), bindings)[0], step)
    return Positions(used[0], grid(coordinate, domain, bindings).reshape(-1))


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
    return jnp.broadcast_to(shown(x, shape, [known(entry, bindings) for entry in coordinates], bindings), shape)


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
