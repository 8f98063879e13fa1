"""The structured form over JAX: reads as grids over the domain, the body on them, and one reduction or scatter.

What is written at an index of its own is the body itself. Dimensions that the write lacks are reduced; where the write
goes along lines, what is left is written to a slice; anything else is a scatter. Nothing of a domain exists but what
XLA's fusion leaves of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.errors import IndexOutOfRange, NervureError, NotSupported
from nervure.ir.kinds import Access, Element, ScalarExpression, Structure, Structured, as_results
from nervure.transformers.interpreter.structure import unit
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.element_types import convert, wide, wrap
from nervure.transformers.xla.functions import Array, summed
from nervure.transformers.xla.sizes import larger, numbers
from nervure.transformers.xla.spreading import spread
from nervure.transformers.xla.views import Line, Shape, boxed, ends, grid, is_inside, known, line_of, shown
from nervure.transformers.xla.xla_scalars import XlaScalars
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, as_dtype
from nervure.types.shape import index_at


def structured(trace: CallTrace, op: Structured, operands: Sequence[Array]) -> list[Array]:
    """Returns the outputs of a structured op."""
    structure = op.structure(*[operand.type for operand in op.operands])
    domain = domain_of(trace, op, operands)
    outputs = [(numbers(output.type.shape, trace.bindings), output.type.dtype) for output in op.outputs]
    if callable(structure.combine) and 0 in domain.lengths:
        return [jnp.zeros(shape, dtype.numpy) for shape, dtype in outputs]
    s = XlaScalars(domain.values)
    read = [domain.read(operand, access) for operand, access in zip(operands, structure.reads, strict=True)
            if access is not None]
    values = as_results(structure.body(s, *read))
    if callable(structure.combine):
        return _folded(s, structure, structure.combine, domain, values, outputs)
    return [_combined(structure, access, domain, value, shape, dtype)
            for value, access, (shape, dtype) in zip(values, structure.writes, outputs, strict=True)]


class Domain:
    """The domain of an ``op``, of numeric ``lengths``, whose coordinates may depend on ``operands``."""

    def __init__(self, trace: CallTrace, op: Structured, lengths: Shape, operands: Sequence[Array]) -> None:
        self.trace, self.op, self.lengths, self.operands = trace, op, lengths, operands

    def known(self, expression: DimLike) -> DimLike:
        """Returns an expression with numbers for the symbols that have some."""
        return known(expression, self.trace.bindings)

    def values(self, expression: DimLike) -> Array:
        """Returns the values of an expression, as a grid."""
        return grid(self.known(expression), self.lengths, self.trace.bindings)

    def read(self, x: Array, access: Access) -> Array:
        """Returns the elements that are read at each point, as a grid."""
        if not any([isinstance(entry, Element) for entry in access.coordinates]):
            coordinates = [self.known(entry) for entry in access.coordinates if not isinstance(entry, Element)]
            if access.fill is not None and 0 not in self.lengths:
                x, coordinates = _bordered(x, coordinates, self, access.fill)
            return shown(x, self.lengths, coordinates, self.trace.bindings)
        grids = [jnp.clip(each, 0, larger(length - 1, 0)) for each, length in
                 zip(self.places(access.coordinates), x.shape, strict=True)]
        extents = np.broadcast_shapes(*[each.shape for each in grids])
        return x[tuple(jnp.broadcast_arrays(*grids))] if x.size else jnp.zeros(extents, x.dtype)

    def places(self, coordinates: Sequence[DimLike | Element]) -> list[Array]:
        """Returns the grid of each coordinate; indices that are data are checked."""
        return [self._named(entry) if isinstance(entry, Element) else self.values(entry) for entry in coordinates]

    def _named(self, element: Element) -> Array:
        """Returns the places that an index operand names, negative ones counted from the end once."""
        named = wide(self.read(self.operands[element.operand], Access(element.coordinates)))
        bound, = numbers((element.bound,), self.trace.bindings)
        reached = named if as_dtype(named.dtype).is_signed else jnp.minimum(named.astype(jnp.uint64), 2**63 - 1)
        places, low = reached.astype(jnp.int64), -bound if element.from_end else 0
        bad = (places < low) | (places >= bound)
        self.trace.check(bad, functools.partial(self._out_of_range, element, bound, bad.shape, named.dtype), named)
        if self.trace.checks is None:
            places = jnp.clip(places, low, larger(bound - 1, 0))
        return jnp.where(places < 0, places + bound, places)

    def _out_of_range(self, element: Element, bound: int, extents: Sequence[int], dtype: DType, position: int,
                      value: int) -> NervureError:
        point = {f"%{d}": k for d, k in enumerate(index_at(position, extents))}
        at = numbers(element.coordinates, {**self.trace.bindings, **point})
        got = f"{np.int64(value).astype(dtype)} at position {at}"
        return self.op.fail(IndexOutOfRange, f"index {got} is out of range", got=got, **element.refused(bound),
                            operand=self.op.operand_label(element.operand))


def domain_of(trace: CallTrace, op: Structured, operands: Sequence[Array]) -> Domain:
    """Returns the domain of an ``op`` on ``operands``."""
    structure = op.structure(*[operand.type for operand in op.operands])
    return Domain(trace, op, numbers(structure.domain, trace.bindings), operands)


def _bordered(x: Array, coordinates: Sequence[DimLike], domain: Domain,
              fill: complex) -> tuple[Array, list[DimLike]]:
    """x with as much of ``fill`` around it as the coordinates reach, and the coordinates in it."""
    padding, moved = [], []
    for entry, length in zip(coordinates, x.shape, strict=True):
        low, high = ends(entry, domain.lengths, domain.trace.bindings)
        before, after = larger(0, -low), larger(0, high + 1 - length)
        if type(before) is not int:
            raise NotImplementedError(f"how far {entry} goes is not known")
        padding.append((before, after, 0))
        moved.append(entry + before)
    if padding != [(0, 0, 0)] * len(padding):
        x = lax.pad(x, np.asarray(fill).astype(x.dtype), padding)
    return x, moved


# -- writing -----------------------------------------------------------------------------------------------------


def _combined(structure: Structure, access: Access, domain: Domain, value: Array, shape: Shape,
              dtype: DType) -> Array:
    """Returns one output, whose elements combine by a function that has a name."""
    combine = structure.combine
    assert not callable(combine)
    moves = combine in (None, "set")
    exact = dtype if moves else (structure.accumulate or dtype).compute
    value = convert(value, exact)
    initial = None if structure.initial is None else convert(domain.operands[structure.initial], exact)
    lines = _written_lines(access, domain, shape)
    if lines is None:
        made = _spread(combine, access, domain, value, initial, shape)
        if made is not None:
            return accumulated(made, dtype)
        return accumulated(_scattered(combine, access, domain, value, initial, shape, exact), dtype)
    if moves and 0 in domain.lengths:  # nothing is written
        return accumulated(_start(combine, shape, exact) if initial is None else initial, dtype)
    used = [line.dimension for line in lines if line.dimension is not None]
    others = [d for d in range(len(domain.lengths)) if d not in used]
    part = _reduced(combine, jnp.broadcast_to(value, domain.lengths), others, exact)
    rest = sorted(used)
    part = lax.transpose(part, [rest.index(d) for d in used]) if used != rest else part
    extents = tuple([1 if line.dimension is None else domain.lengths[line.dimension] for line in lines])
    part = part.reshape(extents)
    if initial is None and extents == shape and all([line.start == 0 for line in lines]):
        return accumulated(part, dtype)
    base = _start(combine, shape, exact) if initial is None else initial
    if 0 in extents:
        return accumulated(base, dtype)
    return accumulated(_on_slice(combine, base, part, lines), dtype)


def _spread(combine: str | None, access: Access, domain: Domain, value: Array, initial: Array | None,
            shape: Shape) -> Array | None:
    """Returns a sum to which few slices add, without a scatter; None for anything else."""
    coordinates = [domain.known(entry) for entry in access.coordinates if not isinstance(entry, Element)]
    is_sum = combine == "add" and value.dtype != jnp.bool_ and len(coordinates) == len(access.coordinates)
    if not is_sum or 0 in domain.lengths or 0 in shape:
        return None
    made = spread(value, domain.lengths, shape, coordinates, domain.trace.bindings)
    return made if made is None or initial is None else initial + made


def _written_lines(access: Access, domain: Domain, shape: Shape) -> list[Array] | None:
    """Returns the coordinates of a write as lines inside of the output, each along a dimension of its own; None
    otherwise.
    """
    lines, taken = [], set()
    for entry, length in zip(access.coordinates, shape, strict=True):
        line = None if isinstance(entry, Element) else line_of(
            domain.known(entry), domain.lengths, domain.trace.bindings)
        if line is None or (line.dimension is not None and line.dimension in taken):
            return None
        if not is_inside(line, domain.lengths, length):
            return None
        taken.add(line.dimension)
        lines.append(line)
    return lines


def _on_slice(combine: str | None, base: Array, part: Array, lines: Sequence[Line]) -> Array:
    """Returns a tensor with a part combined into the slice along lines."""
    box, backward = boxed(lines, part.shape)
    part = lax.rev(part, backward) if backward else part
    return _update(combine, base, box, part)


def _scattered(combine: str | None, access: Access, domain: Domain, value: Array, initial: Array | None, shape: Shape,
               exact: DType) -> Array:
    """Returns an output to whose elements any points may write; what leaves it is dropped."""
    base = _start(combine, shape, exact) if initial is None else initial
    grids = domain.places(access.coordinates)
    if 0 in domain.lengths or not base.size:
        return base
    outside = functools.reduce(jnp.logical_or, [(each < 0) | (each >= length) for each, length in
                                                zip(grids, shape, strict=True)], jnp.zeros((), jnp.bool_))
    flat: Array = jnp.zeros((), jnp.int64)
    for each, length in zip(grids, shape, strict=True):
        flat = flat * length + each
    flat = jnp.broadcast_to(jnp.where(outside, base.size, flat), domain.lengths).reshape(-1)
    value = jnp.broadcast_to(value, domain.lengths).reshape(-1)
    whole = base.reshape(-1)
    if combine not in (None, "set"):
        return _update(combine, whole, flat, value).reshape(shape)
    # The last write stays, whatever the order in which the device writes.
    last = jnp.full(base.size, -1, jnp.int64).at[flat].max(jnp.arange(flat.size), mode="drop")
    return jnp.where(last >= 0, value[jnp.maximum(last, 0)], whole).reshape(shape)


def _update(combine: str | None, base: Array, place: Array, part: Array) -> Array:
    """Returns a tensor with a part combined into some place."""
    if base.dtype == jnp.bool_ and combine not in (None, "set"):
        words = _update("maximum" if combine in _OR else "minimum", base.astype(jnp.uint8), place,
                        part.astype(jnp.uint8))
        return words != 0
    at = base.at[place]
    method = {None: at.set, "set": at.set, "add": at.add, "multiply": at.multiply, "maximum": at.max,
              "minimum": at.min}[combine]
    return method(part, mode="drop")


_OR = ("add", "maximum", "or")
"""The combiners that are "or" of truth values; the others are "and"."""

FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lax.add, "multiply": lax.mul, "maximum": lax.max, "minimum": lax.min, "and": lax.bitwise_and,
    "or": lax.bitwise_or}


def _start(combine: str | None, shape: Shape, exact: DType) -> Array:
    return jnp.full(shape, unit_of(combine, exact))


def unit_of(combine: str | None, exact: DType) -> np.ndarray:
    """Returns the unit of a combiner, in an element type."""
    return np.asarray(unit(combine, exact.numpy)).astype(exact.numpy)


def _reduced(combine: str | None, value: Array, axes: Sequence[int], exact: DType) -> Array:
    """Returns the values combined along axes; the last of them where nothing combines."""
    if not axes:
        return value
    if combine in (None, "set"):
        return value[tuple([-1 if d in axes else slice(None) for d in range(value.ndim)])]
    if exact.kind == "bool":
        combine = "or" if combine in _OR else "and"
    if combine == "add":
        return summed(value, axes)
    return lax.reduce(value, unit_of(combine, exact), FUNCTIONS[combine], list(axes))


def _folded(s: XlaScalars, structure: Structure, combine: ScalarExpression, domain: Domain, values: Sequence[Array],
            outputs: Sequence[tuple[Shape, DType]]) -> list[Array]:
    """Outputs that a combiner of tuples makes: pairwise and in order along the dimensions that the write lacks."""
    lines = _written_lines(structure.writes[0], domain, outputs[0][0])
    if lines is None:
        raise domain.op.fail(NotSupported, "xla has no scatter with a combiner of tuples", got=type(domain.op).__name__,
                             expected="a write at each index once", help="give the op a decomposition")
    kept = [line.dimension for line in lines if line.dimension is not None]
    axes = [d for d in range(len(domain.lengths)) if d not in kept]
    rows = []
    for value in values:
        whole = lax.transpose(jnp.broadcast_to(wide(value), domain.lengths), [*kept, *axes])
        rows.append(whole.reshape(*whole.shape[:len(kept)], -1))
    if type(rows[0].shape[-1]) is not int:
        rows = _folded_in_order(s, combine, rows)
    while (count := rows[0].shape[-1]) > 1:
        even = count - count % 2
        pairs = combine(s, tuple([row[..., :even:2] for row in rows]), tuple([row[..., 1:even:2] for row in rows]))
        rows = [jnp.concatenate([pair, row[..., even:]], axis=-1) for pair, row in zip(pairs, rows, strict=True)]
    found: Array = tuple([row[..., 0] for row in rows])
    found = found if structure.finish is None else as_results(structure.finish(s, found))
    return [accumulated(value, dtype).reshape(shape) for value, (shape, dtype) in zip(found, outputs, strict=True)]


def _folded_in_order(s: XlaScalars, combine: ScalarExpression, rows: Sequence[Array]) -> list[Array]:
    """Returns rows of one element, which a loop combines, for a length that has no number."""
    def step(at: Array, found: Sequence[Array]) -> list[Array]:
        part = tuple([lax.dynamic_slice_in_dim(row, at, 1, axis=-1) for row in rows])
        made = as_results(combine(s, tuple(found), part))
        return [new.astype(old.dtype) for new, old in zip(made, found, strict=True)]
    return list(lax.fori_loop(1, rows[0].shape[-1], step, [row[..., :1] for row in rows]))


def accumulated(value: Array, dtype: DType) -> Array:
    """Returns a value in the element type of its output. What adds up in integers wraps, as the sum itself does."""
    if value.dtype == dtype.numpy:
        return value
    return wrap(value, dtype)
