"""The structured form over NumPy: any iteration that an op declares, evaluated on whole arrays.

A plan says, for given shapes, where elements are read and written. Running it takes the domain in boxes that fit
memory. In each box the operands are read through their index maps, the body is evaluated, its results are reduced along
the dimensions that an output does not keep, and then combined with the elements that lie where they are written.

>>> from nervure.ir.kinds import identity_body
>>> from nervure.types.dim import index
>>> from nervure.types.dtype import float32
>>> rows = Structure((2, 3), (Access((index(0), index(1))),), (Access((index(0),)),), identity_body, "add")
>>> Plan(rows, [(2, 3)], [((2,), float32)]).run([np.ones((2, 3), np.float32)])[0].tolist()
[3.0, 3.0]

Sums and products of float32 and narrower add up in float64 and are rounded once, to the type of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir.kinds import Access, ScalarExpression, Structure, multiply_body
from nervure.ir.op import Op
from nervure.transformers.convert import convert, widen
from nervure.transformers.interpreter.combine import FUNCTIONS, Roles, fold, reduce, unit
from nervure.transformers.interpreter.reading import Box, Domain, PlannedAccess, Read, Shape
from nervure.transformers.interpreter.scalar import PRECISE, NumPyScalars
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import index
from nervure.types.dtype import DType
from nervure.types.layout import row_major

Arrays = Sequence[np.ndarray]

Evaluated = Iterator[tuple[Box, Arrays]]
"""The boxes of a domain, each with its contribution to each output, over the dimensions that the write keeps."""

BOX_LIMIT = 2**24
"""The most points of a domain that are evaluated at once."""


class Write(PlannedAccess):
    """A write to an output of ``shape``, over the dimensions ``kept`` of the domain; the others are reduced before.

    Elements that are written to one place combine in row-major order of the domain, with one exception: of affine
    coordinates that share no dimension, as those of windows, the longest dimension of each runs innermost.
    ``is_permutation`` says that each element is written by one point, so that the output is a transpose.
    """

    def __init__(self, access: Access, shape: Shape, domain: Domain, combine: str | None) -> None:
        super().__init__(access.coordinates, shape, domain, "written", access.drop)
        self.kept = tuple(sorted(self.used))
        order: Sequence[int] = self.kept
        if self.is_affine and len(self.used) == sum(map(len, self.dims)) and combine != "set":
            longest = [max(dims, key=domain.lengths.__getitem__) for dims in self.dims if dims]
            order = sorted(self.used, key=longest.__contains__)
        self._order = (*[d for d in range(len(domain.lengths)) if d not in order], *order)
        self.is_permutation = (self.coordinates == [index(d) for d in self.used]
                               and shape == tuple([domain.lengths[d] for d in self.used]))

    def permuted(self, elements: np.ndarray) -> np.ndarray:
        """The output, from the elements over the whole domain, where ``is_permutation``."""
        return elements.transpose([self.kept.index(d) for d in self.used])

    def put(self, buffer: np.ndarray, elements: np.ndarray, function: np.ufunc | None, box: Box,
            operands: Arrays) -> None:
        """Combines the ``elements`` of a ``box`` with those in a flat ``buffer`` by ``function`` (None: replaces them).

        The last element of the buffer is none of the output; dropped elements go there.
        """
        grids, outside = self.at(box, operands)
        extents = [length if d in self.kept else 1 for d, length in enumerate(box.lengths)]
        strides = numbers(row_major(self.shape).strides, {})
        flat = sum([grid * stride for grid, stride in zip(grids, strides, strict=True)], np.zeros((), np.int64))
        flat = np.broadcast_to(flat, extents).transpose(self._order).copy()
        if outside is not None:
            np.copyto(flat, buffer.size - 1, where=outside.transpose(self._order))
        elements = elements.reshape(extents).transpose(self._order).ravel()
        if function is None:
            buffer[flat.ravel()] = elements  # one index array: NumPy assigns in order, so the last write stays
        else:
            function.at(buffer, flat.ravel(), elements.astype(buffer.dtype, copy=False))


class Plan:
    """One iteration on operands of given shapes. ``results`` are the shape and element type of each output."""

    def __init__(self, structure: Structure, shapes: Sequence[Shape], results: Sequence[tuple[Shape, DType]],
                 op: Op | None = None, bindings: Mapping[str, int] | None = None) -> None:
        self._structure, self._results = structure, results
        self._domain = Domain(numbers(structure.domain, bindings or {}), op, shapes, bindings or {})
        self._combine = None if callable(structure.combine) else structure.combine
        if 0 in self._domain.lengths:
            return
        self._reads = [None if access is None else Read(access.coordinates, shapes[at], self._domain, access.fill)
                       for at, access in enumerate(structure.reads)]
        self._writes = [Write(access, shape, self._domain, self._combine)
                        for access, (shape, _) in zip(structure.writes, results, strict=True)]

    def run(self, operands: Arrays) -> Arrays:
        """The outputs, in their element types."""
        operands = [np.asarray(operand) for operand in operands]
        if 0 in self._domain.lengths:
            return self._of_nothing(operands)
        initial = None if self._structure.initial is None else operands[self._structure.initial]
        buffers: dict[int, np.ndarray] = {}
        outputs: dict[int, np.ndarray] = {}
        for box, results in self._parts(operands):
            for at, (write, elements) in enumerate(zip(self._writes, results, strict=True)):
                if write.is_permutation and initial is None and box.lengths == self._domain.lengths:
                    outputs[at] = write.permuted(elements)
                    continue
                if at not in buffers:
                    buffers[at] = self._start(at, initial)
                    outputs[at] = buffers[at][:-1].reshape(write.shape)
                write.put(buffers[at], elements, FUNCTIONS.get(self._combine or ""), box, operands)
        return [self._stored(at, outputs[at]) for at in range(len(self._writes))]

    def _start(self, at: int, initial: np.ndarray | None) -> np.ndarray:
        """The buffer of an output before anything is written."""
        shape, dtype = self._results[at][0], self._adding_type(at)
        buffer = np.full(math.prod(shape) + 1, dtype.type(unit(self._combine, dtype)), dtype)
        if initial is not None:
            buffer[:-1] = (initial if initial.dtype == dtype else widen(initial)).ravel()
        return buffer

    def _of_nothing(self, operands: Arrays) -> Arrays:
        """The outputs where nothing is visited: the initial value or the combiner's unit."""
        structure = self._structure
        if structure.initial is not None:
            return [operands[structure.initial]]
        if structure.needs_elements and any(math.prod(shape) for shape, _ in self._results):
            raise self._domain.fail(InvalidArgument, "there is no element to choose from",
                                    got=f"an empty axis: {self._domain.lengths}", expected="at least one element",
                                    help="the reduced axes must not be empty")
        return [np.full(shape, dtype.numpy.type(unit(self._combine, dtype.compute.numpy)), dtype.numpy)
                for shape, dtype in self._results]

    # -- the ways to evaluate ------------------------------------------------------------------------------

    def _parts(self, operands: Arrays) -> Evaluated:
        structure = self._structure
        if callable(structure.combine):
            return self._folded(operands, structure.combine)
        reads, dims = [read for read in self._reads if read is not None], range(len(self._domain.lengths))
        is_product = structure.body is multiply_body and self._combine == "add" and len(reads) == 2
        if is_product and structure.initial is None and {*reads[0].used, *reads[1].used}.issuperset(dims):
            return self._contracted(operands, Roles.of(reads[0].used, reads[1].used, self._writes[0].kept))
        return self._evaluated(operands)

    def _evaluated(self, operands: Arrays) -> Evaluated:
        for box in self._domain.boxes(BOX_LIMIT):
            yield box, [self._reduced(elements, at, box) for at, elements in enumerate(self._elements(operands, box))]

    def _elements(self, operands: Arrays, box: Box) -> tuple[np.ndarray, ...]:
        """The results of the body for the points of a box; each broadcasts over it."""
        values = self._structure.body(NumPyScalars(box.values), *self._read(operands, box))
        return values if isinstance(values, tuple) else (values,)

    def _read(self, operands: Arrays, box: Box) -> list[np.ndarray]:
        return [read.elements(operand, operands, box) for read, operand in zip(self._reads, operands, strict=True)
                if read is not None]

    def _reduced(self, elements: np.ndarray, at: int, box: Box) -> np.ndarray:
        """The elements over the dimensions that output ``at`` depends on, in the type in which it adds up."""
        moves = self._combine not in FUNCTIONS
        elements = convert(elements, self._results[at][1]) if moves else widen(elements)
        axes = tuple([d for d in range(len(box.lengths)) if d not in self._writes[at].kept])
        return reduce(self._combine, np.broadcast_to(elements, box.lengths), axes, self._adding_type(at))

    def _contracted(self, operands: Arrays, roles: Roles) -> Evaluated:
        """Sums of products of two operands, as matrix products: the body is never evaluated over the domain."""
        dtype, kept = self._adding_type(0), (*roles.batch, *roles.left, *roles.right)
        wide = [operand if read is None else widen(operand).astype(dtype)
                for read, operand in zip(self._reads, operands, strict=True)]
        groups = [(*roles.batch, *roles.left, *roles.contracted), (*roles.batch, *roles.right, *roles.contracted), kept]
        for box in self._domain.boxes(BOX_LIMIT, groups, kept):
            yield box, [roles.product(*self._read(wide, box))]

    def _folded(self, operands: Arrays, combine: ScalarExpression) -> Evaluated:
        """Tuples combined in order by a custom combiner, all positions of the output at once."""
        kept, finish = self._writes[0].kept, self._structure.finish
        for box in self._domain.boxes(BOX_LIMIT, splittable=kept):
            scalars = NumPyScalars(box.values)
            rows = tuple([self._rows(entry, box, kept) for entry in self._elements(operands, box)])
            combined = fold(scalars, combine, rows)
            values = combined if finish is None else finish(scalars, combined)
            lengths = [box.lengths[d] for d in kept]
            yield box, [np.broadcast_to(self._stored(at, value), lengths)
                        for at, value in enumerate(values if isinstance(values, tuple) else (values,))]

    def _rows(self, elements: np.ndarray, box: Box, kept: Sequence[int]) -> np.ndarray:
        """The elements with the reduced dimensions in front, flattened in row-major order."""
        reduced = [d for d in range(len(box.lengths)) if d not in kept]
        elements = np.broadcast_to(widen(elements), box.lengths).transpose([*reduced, *kept])
        return elements.reshape(-1, *elements.shape[len(reduced):])

    # -- element types ---------------------------------------------------------------------------------------

    def _adding_type(self, at: int) -> np.dtype:
        """The type in which an output adds up."""
        dtype = self._results[at][1]
        if self._combine not in FUNCTIONS:
            return dtype.numpy
        exact = (self._structure.accumulate or dtype).compute.numpy
        return PRECISE.get(exact, exact) if self._combine in ("add", "multiply") else exact

    def _stored(self, at: int, result: np.ndarray) -> np.ndarray:
        """A result in its element type. What adds up in integers wraps, as the sum itself does."""
        dtype = self._results[at][1]
        if result.dtype == dtype.numpy:
            return result
        return result.astype(dtype.numpy) if dtype.is_integer else convert(result, dtype)
