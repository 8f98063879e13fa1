"""Iterations that write at places of their own: first the initial value is stored, then every point writes, in order.

Axes of the domain whose index is itself a coordinate of what is written never meet in one place: threads share them,
and the last one runs in lanes. The other axes run in order, inside of what is shared, so that the last write wins and
sums add up in one order.
"""

from __future__ import annotations

from nervure.ir.kinds import Element, Structure
from nervure.ir.op import Value
from nervure.kernel.cluster.steps import Scattering
from nervure.kernel.ir import For, Scalar, Statement
from nervure.kernel.lower.kernels import Lowered, Maker, Memory, here, loops_over, nested, size_of, unit
from nervure.kernel.lower.scalars import converted
from nervure.kernel.points import position
from nervure.types.dim import DimLike, dim_min, index, symbols

STRIPE = 64
"""Where the last axis alone can be shared, it is shared in stripes of so many elements."""


def lower_scatter(step: Scattering, memory: Memory) -> list[Lowered]:
    """A kernel that fills the outputs and one that writes into them."""
    structure = memory.facts.structure(step.op)
    return [*[_filled(step, memory, structure, value) for value in step.op.outputs], _written(step, memory, structure)]


def _filled(step: Scattering, memory: Memory, structure: Structure, output: Value) -> Lowered:
    maker = Maker(memory, output.shape, {step.op: None})
    point = here(output.shape)
    with maker.elements.body() as body:
        if structure.initial is None:
            element: Scalar = unit(None if callable(structure.combine) else structure.combine, output.dtype)
        else:
            element = maker.elements.of(step.op.operands[structure.initial], point)
        maker.store(maker.buffer(memory.of(output), "out"), position(point, output.shape), element)
    return maker.finish("fill", nested(loops_over(output.shape), body.list), size_of(output.shape), [step.op])


def _written(step: Scattering, memory: Memory, structure: Structure) -> Lowered:
    op, domain, rank = step.op, structure.domain, len(structure.domain)
    shared = _shared_axes(structure)
    stripe, lane = index(rank), index(rank + 1)
    striped = shared == [rank - 1]
    more = [(str(stripe), -(-domain[-1] // STRIPE)), (str(lane), STRIPE)] if striped else []
    maker = Maker(memory, domain, {op: None}, more)
    elements = maker.elements
    point: tuple[DimLike, ...] = here(domain)
    if striped:
        point = (*point[:-1], stripe * STRIPE + lane)

    with elements.body() as body:
        given = elements.body_at(op, point)
        for output, access, value in zip(op.outputs, structure.writes, given if isinstance(given, tuple) else (given,),
                                         strict=True):
            place = elements.place(op, access, elements.at(point))
            valid = elements.inside(place, output.shape) if access.drop else None
            buffer = maker.buffer(memory.of(output), "inout")
            _store(maker, buffer, position(place, output.shape), value, structure.combine, output, valid)
    loops: tuple[Statement, ...]
    if striped:
        inner = (For(str(lane), dim_min(STRIPE, domain[-1] - stripe * STRIPE), tuple(body.list), vector=True),)
        loops = nested([(str(stripe), more[0][1]), *loops_over(domain, range(rank - 1))], inner, vector=False)
    else:
        loops = _ordered_loops(domain, shared, body.list)
    return maker.finish("scatter", loops, size_of(domain), [op])


def _store(maker: Maker, buffer: object, offset: DimLike, value: Scalar, combine: object, output: Value,
           valid: Scalar | None) -> None:
    """One write. Low-precision sums are read, added to and rounded at each write."""
    elements = maker.elements
    if combine in (None, "set"):
        maker.store(buffer, offset, converted(elements.statements, value, output.dtype), None, valid)  # type: ignore[arg-type]
        return
    maker.store(buffer, offset, converted(elements.statements, value, output.dtype), str(combine), valid)  # type: ignore[arg-type]


def _ordered_loops(domain: tuple[DimLike, ...], shared: list[int], body: list[Statement]) -> tuple[Statement, ...]:
    """The shared axes outside and the others inside, in their order; a shared last axis innermost, in lanes."""
    rank = len(domain)
    last = [rank - 1] if shared and shared[-1] == rank - 1 and len(shared) > 1 else []
    if len(shared) == rank:
        return nested(loops_over(domain), body)
    outer = [axis for axis in shared if axis not in last]
    rest = [axis for axis in range(rank) if axis not in shared]
    return nested(loops_over(domain, [*outer, *rest, *last]), body, vector=bool(last), parallel=bool(outer))


def _shared_axes(structure: Structure) -> list[int]:
    """The axes of the domain whose index is a coordinate of every write."""
    found = []
    for axis in range(len(structure.domain)):
        symbol = index(axis)
        alone = [any([not isinstance(entry, Element) and _is_alone(entry, str(symbol)) for entry in access.coordinates])
                 for access in structure.writes]
        if all(alone):
            found.append(axis)
    return found


def _is_alone(coordinate: DimLike, name: str) -> bool:
    """Whether a coordinate is this index and a constant."""
    if isinstance(coordinate, int) or name not in symbols(coordinate):
        return False
    rest = coordinate - index(int(name[1:]))
    return isinstance(rest, int) or not any([entry.startswith("%") for entry in symbols(rest)])
