"""Structured iterations over arrays: the domain is evaluated in boxes that fit memory.

In each box the operands are read through their index maps, the body is evaluated, its results are reduced along the
dimensions that an output does not keep, and then combined with the elements that lie where they are written.

>>> from nervure.ir.kinds import identity_body
>>> from nervure.types.dim import index
>>> from nervure.types.dtype import float32
>>> rows = Structure((2, 3), (Access((index(0), index(1))),), (Access((index(0),)),), identity_body, "add")
>>> iterate(rows, [np.ones((2, 3), np.float32)], [((2,), float32)])[0].tolist()
[3.0, 3.0]

Sums and products of float32 and narrower add up in float64 and are rounded once, to the type of the result. How an
array lies in memory decides in which order NumPy adds. So what is rounded is combined from dense copies, in row-major
order, and depends on the elements alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir.kinds import Access, ScalarExpression, Structure, as_results, multiply_body
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.transformers.convert import convert, widen
from nervure.transformers.interpreter.reading import DomainBox, Shape, starts_and_lengths
from nervure.transformers.interpreter.scalar import PRECISE, NumPyScalars, dense
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import index
from nervure.types.dtype import DType
from nervure.types.layout import row_major

Arrays = Sequence[np.ndarray]

BOX_LIMIT = 2**24
"""The most points of a domain that are evaluated at once."""


def iterate(structure: Structure, operands: Arrays, results: Sequence[tuple[Shape, DType]], op: Op | None = None,
            bindings: Mapping[str, int] | None = None) -> Arrays:
    """Returns the outputs of an iteration; ``results`` are the shape and element type of each. Errors name ``op``."""
    operands = [np.asarray(operand) for operand in operands]
    domain = numbers(structure.domain, bindings or {})
    whole = DomainBox((0,) * len(domain), domain, operands, bindings, op)
    nothing = any([math.prod(shape) for shape, _ in results]) and 0 in domain
    if nothing and structure.needs_elements:
        raise whole.fail(InvalidArgument, "there is no element to choose from", got=f"an empty axis: {domain}",
                         expected="at least one element", help="the reduced axes must not be empty")
    initial = None if structure.initial is None else operands[structure.initial]
    outputs = [Output(structure, access, shape, dtype, whole.depends(access.coordinates), initial)
               for access, (shape, dtype) in zip(structure.writes, results, strict=True)]
    splittable = [d for d in range(len(domain)) if not callable(structure.combine) or d in outputs[0].kept]
    for starts, lengths in [] if 0 in domain else starts_and_lengths(domain, BOX_LIMIT, splittable):
        box = DomainBox(starts, lengths, operands, bindings, op)
        for output, elements in zip(outputs, _contributions(structure, box, operands, outputs), strict=True):
            output.put(box, elements)
    return [output.result() for output in outputs]


class Output:
    """An output of ``shape`` as far as it is written, over the dimensions ``kept`` of the domain.

    Elements that are written to one place combine in row-major order of the domain. Where each place is written once,
    its element is the result itself, as it need not be with the unit: 0 + -0 is 0.
    """

    def __init__(self, structure: Structure, access: Access, shape: Shape, dtype: DType, kept: Sequence[bool],
                 initial: np.ndarray | None) -> None:
        self._access, self.shape, self._dtype = access, shape, dtype
        self.kept = [d for d, is_kept in enumerate(kept) if is_kept]
        self.reduced = [d for d, is_kept in enumerate(kept) if not is_kept]
        self._combine = None if callable(structure.combine) else structure.combine
        self._function = FUNCTIONS.get(self._combine or "")
        # The type in which the output adds up.
        exact = (structure.accumulate or dtype).compute.numpy if self._function else dtype.numpy
        self.adding_type = PRECISE.get(exact, exact) if self._combine in ("add", "multiply") else exact
        start = self.adding_type.type(unit(self._combine, self.adding_type))
        if initial is None and {*access.coordinates} == {*map(index, range(len(kept)))}:
            self._function = None  # each place is written once
        # One element more than the output has: what is dropped goes there.
        self._buffer = np.full(math.prod(shape) + 1, start, self.adding_type)
        if initial is not None:
            self._buffer[:-1] = (initial if initial.dtype == self.adding_type else widen(initial)).ravel()

    def put(self, box: DomainBox, elements: np.ndarray) -> None:
        """Combines ``elements``, over the kept dimensions of a box, with those that lie where they are written."""
        grids, outside = box.places(self._access.coordinates, self.shape, "written", self._access.drop)
        strides = numbers(row_major(self.shape).strides, {})
        place = sum([grid * stride for grid, stride in zip(grids, strides, strict=True)], np.zeros((), np.int64))
        if outside is not None:
            place = np.where(outside, self._buffer.size - 1, place)
        extents = [1 if d in self.reduced else length for d, length in enumerate(box.lengths)]
        flat, elements = np.broadcast_to(place, extents).ravel(), elements.astype(self.adding_type).ravel()
        if self._function is None:
            self._buffer[flat] = elements  # NumPy assigns in order, so the last write stays
        else:
            self._function.at(self._buffer, flat, elements)

    def reduce(self, box: DomainBox, elements: np.ndarray) -> np.ndarray:
        """Returns elements over the points of a box, combined along the dimensions that are not kept."""
        elements = widen(elements) if self._function else convert(elements, self._dtype)
        return reduce(self._combine, np.broadcast_to(elements, box.lengths), self.reduced, self.adding_type)

    def stored(self, elements: np.ndarray) -> np.ndarray:
        """Returns elements in the element type. What adds up in integers wraps, as the sum itself does."""
        if elements.dtype == self._dtype.numpy:
            return elements
        return elements.astype(self._dtype.numpy) if self._dtype.is_integer else convert(elements, self._dtype)

    def result(self) -> np.ndarray:
        """Returns the output, in its element type."""
        return self.stored(self._buffer[:-1].reshape(self.shape))


def _contributions(structure: Structure, box: DomainBox, operands: Arrays, outputs: Sequence[Output]) -> Arrays:
    """Returns the elements that a box gives each output, over the dimensions that it keeps."""
    read = [box.read(operand, access) for operand, access in zip(operands, structure.reads, strict=True)
            if access is not None]
    if structure.body is multiply_body and structure.combine == "add" and _covers(box, read):
        left, right = [widen(elements).astype(outputs[0].adding_type) for elements in read]
        return [sum_of_products(left, right, outputs[0].kept)]
    scalars = NumPyScalars(box.values)
    values = as_results(structure.body(scalars, *read))
    if not callable(structure.combine):
        return [output.reduce(box, elements) for output, elements in zip(outputs, values, strict=True)]
    rows = [rows_of(np.broadcast_to(widen(value), box.lengths), outputs[0].reduced) for value in values]
    combined = fold(scalars, structure.combine, rows)
    values = combined if structure.finish is None else as_results(structure.finish(scalars, combined))
    return [np.broadcast_to(output.stored(value), rows[0].shape[:-1])
            for output, value in zip(outputs, values, strict=True)]


def _covers(box: DomainBox, read: Arrays) -> bool:
    """Whether one of the elements that were ``read`` depends on each dimension of a box."""
    return np.broadcast_shapes(*[elements.shape for elements in read]) == box.lengths


# -- ways to combine -----------------------------------------------------------------------------------------

FUNCTIONS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
             "and": np.bitwise_and, "or": np.bitwise_or}
"""The combiners by name. Without one, and by "set", the last write to a place stays."""


def unit(combine: str | None, dtype: np.dtype) -> Number:
    """Returns the number of type ``dtype`` that changes nothing where it is combined."""
    if combine in ("maximum", "minimum"):
        ends = np.iinfo(dtype) if dtype.kind in "iu" else None
        lowest, highest = (False, True) if dtype.kind == "b" else (ends.min, ends.max) if ends else (-np.inf, np.inf)
        return lowest if combine == "maximum" else highest
    return np.invert(dtype.type(0)) if combine == "and" else int(combine == "multiply")


def rows_of(elements: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Returns the elements without gaps, with ``axes`` as one, the last: there NumPy adds pairwise.

    Along other axes it adds one after the other, which drifts where many are alike.
    """
    kept = [d for d in range(elements.ndim) if d not in axes]
    ordered = elements.transpose([*kept, *axes])
    return dense(ordered)[0].reshape(*ordered.shape[:len(kept)], math.prod(ordered.shape[len(kept):]))


def reduce(combine: str | None, elements: np.ndarray, axes: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Returns the ``elements`` combined along ``axes``, as ``dtype``; the last of them where ``combine`` names no
    function.
    """
    function = FUNCTIONS.get(combine or "")
    if not axes:
        return elements
    rows = rows_of(elements, axes)
    return rows[..., -1] if function is None else np.asarray(function.reduce(
        rows, axis=-1, dtype=dtype, initial=unit(combine, dtype)))


def fold(scalars: NumPyScalars, combine: ScalarExpression, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Returns the tuples in ``rows``, combined pairwise and in order along the last dimension of each entry."""
    while (count := rows[0].shape[-1]) > 1:
        even = count - count % 2
        pairs = combine(scalars, tuple([row[..., :even:2] for row in rows]),
                        tuple([row[..., 1:even:2] for row in rows]))
        rows = [np.concatenate([pair, row[..., even:].astype(pair.dtype)], axis=-1)
                for pair, row in zip(pairs, rows, strict=True)]
    return tuple([row[..., 0] for row in rows])


def sum_of_products(left: np.ndarray, right: np.ndarray, kept: Sequence[int]) -> np.ndarray:
    """Returns the sums of products of grids of elements over one domain, whose dimensions ``kept`` the result has.

    >>> sum_of_products(np.ones((2, 1, 3)), np.ones((1, 4, 3)), (0, 1)).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """
    dims = list(range(left.ndim))
    return np.einsum(*[part for grid in (left, right) for part in (dense(grid)[0], dims)], list(kept))
