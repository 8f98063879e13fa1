"""The structured form over NumPy: any iteration that an op declares, evaluated on whole arrays.

A plan is made once per op and shapes: how each operand is read, which dimensions are reduced, how results
are written. Running it takes the domain in boxes that fit memory, gives the body whole arrays of elements,
reduces, and writes. Sums of products become matrix products
(:mod:`nervure.transformers.interpreter.contraction`).

>>> from nervure.ir.kinds import Access, identity_body
>>> from nervure.transformers.interpreter.box import index
>>> from nervure.types.dtype import float32
>>> rows = Structure((2, 3), (Access((index(0), index(1))),), (Access((index(0),)),), identity_body, "add")
>>> Plan(rows, [(2, 3)], [((2,), float32)]).run([np.ones((2, 3), np.float32)])[0].tolist()
[3.0, 3.0]

Sums and products of float32 and narrower add up in float64 and are rounded once, to the type of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from nervure.errors import ErrorParts, InternalError, InvalidArgument, NervureError
from nervure.ir.kinds import Access, Element, ScalarExpression, Structure, multiply_body
from nervure.ir.op import Op
from nervure.transformers.convert import convert, widen
from nervure.transformers.interpreter.box import Box, boxes
from nervure.transformers.interpreter.contraction import Roles
from nervure.transformers.interpreter.reading import Read, Taker, plan_read
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.transformers.interpreter.writing import Combiner, LineWrite, Output, Write, combiner, plan_write
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import DimLike, evaluate, substitute
from nervure.types.dtype import DType, complex64, complex128, float32, float64

Shape = tuple[int, ...]

Evaluated = Iterator[tuple[Box, Sequence[np.ndarray]]]
"""What each box of a domain gives to each output, over the dimensions that its write depends on."""

BOX_LIMIT = 2**24
"""How many points of a domain are evaluated at once."""

_WIDER = {float32: float64, complex64: complex128}


class Plan:
    """One iteration on operands of given shapes. ``results`` are the shape and element type of each output.
    """

    def __init__(self, structure: Structure, shapes: Sequence[Shape], results: Sequence[tuple[Shape, DType]],
                 op: Op | None = None, bindings: Mapping[str, int] | None = None) -> None:
        self._op, self._results, self._bindings = op, results, bindings or {}
        self._structure = structure = _bound(structure, self._bindings)
        self._domain = numbers(structure.domain, {})  # there are no symbols any more
        self._is_empty = 0 in self._domain
        if self._is_empty:
            return
        self._reads: list[Read | None] = [
            None if access is None else plan_read(access, self._domain, shapes[at], op, shapes)
            for at, access in enumerate(structure.reads)]
        self._combiner: Combiner = combiner(None if callable(structure.combine) else structure.combine)
        self._writes: list[Write] = [
            plan_write(access, self._domain, shape, self._combiner, op, shapes)
            for access, (shape, _) in zip(structure.writes, results, strict=True)]
        self._roles = self._as_contraction()

    def run(self, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The outputs, in their element types."""
        if self._is_empty:
            return self._of_nothing(operands)
        initial = None if self._structure.initial is None else operands[self._structure.initial]
        outputs: list[Output | None] = [None] * len(self._writes)
        moved: dict[int, np.ndarray] = {}
        for box, results in self._parts(operands):
            for at, elements in enumerate(results):
                write = self._writes[at]
                if box.whole and initial is None and isinstance(write, LineWrite) and write.moves:
                    moved[at] = write.arranged(elements)
                    continue
                output = outputs[at] = outputs[at] or self._start(at, initial, operands)
                output.put(box, elements)
        return tuple([self._stored(at, moved[at] if output is None else output.result)
                      for at, output in enumerate(outputs)])

    def _parts(self, operands: Sequence[np.ndarray]) -> Evaluated:
        if callable(self._structure.combine):
            return self._folded(operands, self._structure.combine)
        return self._evaluated(operands) if self._roles is None else self._contracted(operands, self._roles)

    # -- an empty domain ---------------------------------------------------------------------------------

    def _of_nothing(self, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """What is left where nothing is visited: the initial value or the combiner's unit."""
        structure = self._structure
        if structure.initial is not None:
            return (operands[structure.initial],)
        combine = structure.combine
        if structure.needs_elements and any(math.prod(shape) for shape, _ in self._results):
            raise self._fail(InvalidArgument, "there is no element to choose from",
                             got=f"an empty axis: {self._domain}", expected="at least one element",
                             help="the reduced axes must not be empty")
        make = combiner(None if callable(combine) else combine).unit
        return tuple([np.full(shape, dtype.numpy.type(make(dtype.compute.numpy)), dtype.numpy)
                      for shape, dtype in self._results])

    # -- body, reduction, write ----------------------------------------------------------------------------

    def _evaluated(self, operands: Sequence[np.ndarray]) -> Evaluated:
        takers = self._open(operands)
        for box in boxes(self._domain, BOX_LIMIT, self._bindings):
            yield box, [self._reduced(elements, at, box) for at, elements in enumerate(self._elements(takers, box))]

    def _open(self, operands: Sequence[np.ndarray]) -> list[Taker]:
        return [read.open(operand, operands) for read, operand in zip(self._reads, operands, strict=True)
                if read is not None]

    def _elements(self, takers: Sequence[Taker], box: Box) -> tuple[np.ndarray, ...]:
        """What the body gives for the points of a box; each broadcasts over it."""
        values = self._structure.body(NumPyScalars(box.values), *[take(box) for take in takers])
        return values if isinstance(values, tuple) else (values,)

    def _reduced(self, elements: np.ndarray, at: int, box: Box) -> np.ndarray:
        """The elements over the dimensions that output ``at`` depends on, in the type in which it adds up."""
        elements = convert(elements, self._results[at][1]) if self._combiner.function is None else widen(elements)
        elements = np.broadcast_to(elements, box.lengths)
        axes = tuple([d for d in range(len(box.lengths)) if d not in self._writes[at].dims])
        return self._combiner.reduce(elements, axes, self._adding_type(at))

    def _start(self, at: int, initial: np.ndarray | None, operands: Sequence[np.ndarray]) -> Output:
        dtype = self._adding_type(at)
        if initial is not None:
            initial = widen(initial).astype(dtype) if initial.dtype != dtype else initial
        return self._writes[at].start(dtype, initial, operands)

    def _adding_type(self, at: int) -> np.dtype:
        """The type in which an output adds up."""
        dtype = self._results[at][1]
        if self._combiner.function is None:
            return dtype.numpy
        exact = (self._structure.accumulate or dtype).compute
        if self._structure.combine in ("add", "multiply"):
            exact = _WIDER.get(exact, exact)
        return exact.numpy

    def _stored(self, at: int, result: np.ndarray) -> np.ndarray:
        """A result in its element type. What adds up in integers wraps, as the sum itself does."""
        dtype = self._results[at][1]
        if result.dtype == dtype.numpy:
            return result
        return result.astype(dtype.numpy) if dtype.is_integer else convert(result, dtype)

    # -- contractions --------------------------------------------------------------------------------------

    def _as_contraction(self) -> Roles | None:
        """The roles of the dimensions where this is a sum of products of two operands."""
        structure = self._structure
        reads = [read for read in self._reads if read is not None]
        if structure.body is not multiply_body or structure.combine != "add" or len(reads) != 2:
            return None
        left, right, kept = reads[0].dims, reads[1].dims, self._writes[0].dims
        everywhere = {*left, *right}
        if structure.initial is not None or any(d not in everywhere for d in range(len(self._domain))):
            return None
        return Roles.of(left, right, kept)

    def _contracted(self, operands: Sequence[np.ndarray], roles: Roles) -> Evaluated:
        dtype, kept = self._adding_type(0), self._writes[0].dims
        left, right = self._open([operand if read is None else widen(operand).astype(dtype)
                                  for read, operand in zip(self._reads, operands, strict=True)])
        groups = [(*roles.batch, *roles.left, *roles.contracted), (*roles.batch, *roles.right, *roles.contracted),
                  (*roles.batch, *roles.left, *roles.right)]
        for box in boxes(self._domain, BOX_LIMIT, self._bindings, groups, kept):
            yield box, [roles.product(left(box), right(box))]

    # -- custom combiners ------------------------------------------------------------------------------------

    def _folded(self, operands: Sequence[np.ndarray], combine: ScalarExpression) -> Evaluated:
        """Tuples combined pairwise in order, all positions of the output at once."""
        takers, kept, finish = self._open(operands), self._writes[0].dims, self._structure.finish
        for box in boxes(self._domain, BOX_LIMIT, self._bindings, splittable=kept):
            scalars = NumPyScalars(box.values)
            rows = tuple([self._rows(entry, box, kept) for entry in self._elements(takers, box)])
            combined = _fold(scalars, combine, rows)
            values = combined if finish is None else finish(scalars, combined)
            lengths = [box.lengths[d] for d in kept]
            yield box, [np.broadcast_to(self._stored(at, value), lengths)
                        for at, value in enumerate(values if isinstance(values, tuple) else (values,))]

    def _rows(self, elements: np.ndarray, box: Box, kept: Sequence[int]) -> np.ndarray:
        """The elements with the reduced dimensions in front, flattened in row-major order."""
        reduced = [d for d in range(len(box.lengths)) if d not in kept]
        elements = np.broadcast_to(widen(elements), box.lengths).transpose([*reduced, *kept])
        return elements.reshape(-1, *elements.shape[len(reduced):])

    def _fail(self, kind: type[NervureError], message: str, **parts: Unpack[ErrorParts]) -> NervureError:
        return kind(message, **parts) if self._op is None else self._op.fail(kind, message, **parts)


def _fold(scalars: NumPyScalars, combine: ScalarExpression, rows: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    while (count := len(rows[0])) > 1:
        even = count - count % 2
        pairs = combine(scalars, tuple([row[:even:2] for row in rows]), tuple([row[1:even:2] for row in rows]))
        rows = pairs if even == count else tuple([
            np.concatenate([pair, row[even:].astype(pair.dtype)]) for pair, row in zip(pairs, rows, strict=True)])
    return tuple([row[0] for row in rows])


def _bound(structure: Structure, bindings: Mapping[str, int]) -> Structure:
    """The structure with numbers in place of symbols."""
    def number(entry: DimLike) -> int:
        return entry if isinstance(entry, int) else evaluate(entry, bindings)

    def coordinate(entry: DimLike | Element) -> DimLike | Element:
        if isinstance(entry, Element):
            return Element(entry.operand, tuple([substitute(part, bindings) for part in entry.coordinates]),
                           number(entry.bound), entry.from_end)
        return substitute(entry, bindings)

    def access(entry: Access | None) -> Access | None:
        return None if entry is None else Access(tuple(map(coordinate, entry.coordinates)), entry.fill, entry.drop)

    writes = tuple([bound for bound in map(access, structure.writes) if bound is not None])
    if len(writes) != len(structure.writes):
        raise InternalError("every output of a structure has a write")
    return replace(structure, domain=tuple(map(number, structure.domain)),
                   reads=tuple(map(access, structure.reads)), writes=writes)
