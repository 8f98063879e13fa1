"""Iterations that write at computed places: first the initial value is stored, then every point writes, in order.

Axes of the domain whose index is itself a coordinate of the writes never meet in one place: threads share them, and
the last one runs in lanes. The other axes run in order, inside of the shared ones, so that the last write wins and
sums add up in one order. Where no order matters, as for integers, and there are many iterations for each element, each
thread has a private copy of the output, and the copies are combined behind.

Where the new value of a variable is made of its old one, a kernel of its own checks all indices before: what writes
cannot fail any more, and may write in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nervure.ir.kinds import Element, Structure
from nervure.ir.op import Op, Value
from nervure.kernel.cluster.steps import Scatter
from nervure.kernel.ir import Check, For, Scalar, Statement
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.kernel_builder import (
    BufferAssignment,
    KernelBuilder,
    LoweredKernel,
    here,
    initial_value,
    loops_over,
    lower_store,
    nested,
    place_in,
)
from nervure.kernel.lower.scalars import converted
from nervure.kernel.tuning import PRIVATE_COPIES, STRIPE, STRIPES
from nervure.memory.storage import Storage, StorageKind
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_min, index_symbols, product


def lower_scatter(step: Scatter, memory: BufferAssignment) -> list[LoweredKernel]:
    """Returns a kernel that fills the outputs, one that writes into them, and one that rounds sums in a wider type.

    In front of these stands one that checks the indices, if the outputs may lie in place of a variable.
    """
    structure = memory.ops.structure(step.op)
    if _has_private_copies(step.op, structure):
        return _by_private_copies(step, memory, structure)
    targets = [_target(memory, structure, output) for output in step.op.outputs]
    filled = [_filled(step, memory, structure, *pair) for pair in zip(step.op.outputs, targets, strict=True)]
    rounded = [_rounded(step, memory, output, target) for output, target in zip(step.op.outputs, targets, strict=True)
               if target is not memory.of(output)]
    written = _written(step, memory, structure, targets)
    checks = _checks(step, memory, structure) if written.failures and _updates_variable(step, memory, structure) else []
    if checks and len(checks[0].failures) == len(written.failures):  # the updates themselves cannot fail
        return [*checks, *filled, _unchecked(written), *rounded]
    return [*filled, written, *rounded]


def _updates_variable(step: Scatter, memory: BufferAssignment, structure: Structure) -> bool:
    """Whether the output takes the place of a variable that it updates."""
    old = None if structure.initial is None else memory.places.get(step.op.operands[structure.initial])
    is_root = memory.of(step.op.outputs[0]).kind is StorageKind.ROOT
    return old is not None and old.kind is StorageKind.VARIABLE and is_root


def _checks(step: Scatter, memory: BufferAssignment, structure: Structure) -> list[LoweredKernel]:
    """Returns a kernel that checks each index once; none if there may be no iterations that use it."""
    domain, entries = structure.domain, [entry for access in structure.writes for entry in access.coordinates]
    coordinates = [place for entry in entries if isinstance(entry, Element) for place in entry.coordinates]
    axes = [axis for axis in range(len(domain)) if any([LoopIndex(axis).occurs_in(place) for place in coordinates])]
    if not all([isinstance(length, int) and length for axis, length in enumerate(domain) if axis not in axes]):
        return []
    builder = KernelBuilder(memory, domain, {step.op: None})
    point = tuple([place if axis in axes else 0 for axis, place in enumerate(here(domain))])
    with builder.elements.body() as body:
        for access in structure.writes:
            builder.elements.place(step.op, access, builder.elements.at(point))
    loops = nested(loops_over(domain, axes), body.list, vector=False, parallel=False)
    return [builder.finish("check", loops, product([domain[axis] for axis in axes]), [step.op])]


def _unchecked(lowered: LoweredKernel) -> LoweredKernel:
    """Returns a kernel without its checks."""
    body = tuple(_without_checks(lowered.kernel.body))
    return lowered._replace(kernel=replace(lowered.kernel, body=body), failures=())


def _without_checks(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For):
            yield replace(statement, body=tuple(_without_checks(statement.body)))
        elif not isinstance(statement, Check):
            yield statement


def _target(memory: BufferAssignment, structure: Structure, output: Value) -> Storage:
    """Returns the target of the writes: the output itself, unless it is too narrow to add up in."""
    if structure.combine in (None, "set") or output.dtype.compute is output.dtype:
        return memory.of(output)
    return memory.temporary(output.dtype.compute, output.shape, output)


def _has_private_copies(op: Op, structure: Structure) -> bool:
    """Whether threads write to copies of the output, between which iterations may be divided in any way."""
    length, size = (structure.domain or (1,))[0], product(op.outputs[0].shape)
    if structure.combine in (None, "set") or callable(structure.combine) or structure.initial is None:
        return False
    if len(op.outputs) > 1 or op.outputs[0].dtype.is_inexact or _shared_axes(structure):
        return False
    return isinstance(length, int) and isinstance(size, int) and length >= PRIVATE_COPIES * max(size, STRIPE)


def _by_private_copies(step: Scatter, memory: BufferAssignment, structure: Structure) -> list[LoweredKernel]:
    """Returns a kernel that clears the copies, one that writes into them, and one that combines them."""
    output, combine = step.op.outputs[0], str(structure.combine)
    shape, point = (PRIVATE_COPIES, *output.shape), here(output.shape)
    copies = memory.temporary(output.dtype, shape, output)

    def combined(builder: KernelBuilder) -> Scalar:
        statements, buffer = builder.elements.statements, builder.buffer(copies)
        total = builder.elements.of(step.op.operands[structure.initial or 0], point)
        for number in range(PRIVATE_COPIES):
            one = builder.elements.load(buffer, place_in(copies, (number, *point), shape))
            total = statements.apply(combine, (total, one), output.dtype)
        return total

    place = place_in(copies, here(shape), shape)
    cleared = lower_store(memory, "clear", step.op, shape, copies, place,
                          lambda _: initial_value(combine, output.dtype))
    return [cleared, _written(step, memory, structure, [copies], PRIVATE_COPIES),
            lower_store(memory, "combine", step.op, output.shape, memory.of(output),
                        memory.position(output, point), combined)]


def _filled(step: Scatter, memory: BufferAssignment, structure: Structure, output: Value,
            target: Storage) -> LoweredKernel:
    point = here(output.shape)

    def element(builder: KernelBuilder) -> Scalar:
        if structure.initial is None:
            return initial_value(None if callable(structure.combine) else structure.combine, target.dtype)
        given = builder.elements.of(step.op.operands[structure.initial], point)
        return converted(builder.elements.statements, given, target.dtype)

    return lower_store(memory, "fill", step.op, output.shape, target,
                       place_in(target, point, output.shape), element)


def _rounded(step: Scatter, memory: BufferAssignment, output: Value, target: Storage) -> LoweredKernel:
    point = here(output.shape)

    def element(builder: KernelBuilder) -> Scalar:
        total = builder.elements.load(builder.buffer(target), place_in(target, point, output.shape))
        return converted(builder.elements.statements, total, output.dtype)

    return lower_store(memory, "round", step.op, output.shape, memory.of(output),
                       memory.position(output, point), element)


def _written(step: Scatter, memory: BufferAssignment, structure: Structure, targets: list[Storage],
             copies: int = 1) -> LoweredKernel:
    """Returns the kernel of the iterations; each of some private ``copies`` gets those of a piece of the first axis."""
    op, domain, rank = step.op, structure.domain, len(structure.domain)
    shared = _shared_axes(structure)
    piece, within = LoopIndex(rank), LoopIndex(rank + 1)  # of an axis that is cut
    striped = shared == [rank - 1] and rank > 1
    cut = 0 if copies > 1 else rank - 1 if striped else None
    width = _stripe(domain[-1]) if striped else -(-(domain or (1,))[0] // copies)
    pieces = [] if cut is None else [(piece, -(-domain[cut] // width)), (within, width)]
    builder = KernelBuilder(memory, domain, {op: None}, pieces)
    elements = builder.elements
    point = tuple([piece.dim * width + within.dim if axis == cut else place for axis, place in enumerate(here(domain))])
    front = (piece.dim,) if copies > 1 else ()
    combine = None if structure.combine in (None, "set") else str(structure.combine)
    with elements.body() as body:
        given = elements.body_at(op, point)
        for output, target, access, value in zip(op.outputs, targets, structure.writes,
                                                 given, strict=True):
            place = elements.place(op, access, elements.at(point))
            valid = elements.inside(place, output.shape) if access.drop else None
            element = converted(elements.statements, value, target.dtype)
            offset = place_in(target, (*front, *place), (copies, *output.shape) if front else output.shape)
            builder.store(builder.buffer(target, "inout"), offset, element, combine, valid)
    if cut is None:
        return builder.finish("scatter", _ordered_loops(domain, shared, body.list), product(domain), [op])
    extent, others = dim_min(width, domain[cut] - piece.dim * width), [axis for axis in range(rank) if axis != cut]
    if striped:  # the others run in order, outside of the lanes
        inner: tuple[Statement, ...] = (For(within, extent, tuple(body.list), vector=True),)
        loops = [pieces[0], *loops_over(domain, others)]
    else:
        inner, loops = tuple(body.list), [pieces[0], (within, extent), *loops_over(domain, others)]
    nest = nested(loops, inner, vector=False, parallel=pieces[0][1] != 1)
    return builder.finish("scatter", nest, product(domain), [op])


def _stripe(length: DimLike) -> int:
    """Returns the number of elements of an axis that a thread takes at a time."""
    return max(length // STRIPES // STRIPE * STRIPE, STRIPE) if isinstance(length, int) else STRIPE


def _ordered_loops(domain: tuple[DimLike, ...], shared: list[int], body: list[Statement]) -> tuple[Statement, ...]:
    """Nests the shared axes outside and the others inside, in their order; a shared last axis innermost, in lanes."""
    rank = len(domain)
    last = [rank - 1] if shared and shared[-1] == rank - 1 and len(shared) > 1 else []
    if len(shared) == rank:
        return nested(loops_over(domain), body)
    outer = [axis for axis in shared if axis not in last]
    rest = [axis for axis in range(rank) if axis not in shared]
    return nested(loops_over(domain, [*outer, *rest, *last]), body, vector=any([domain[axis] != 1 for axis in last]),
                  parallel=any([domain[axis] != 1 for axis in outer]))


def _shared_axes(structure: Structure) -> list[int]:
    """Returns the axes of the domain whose index is a coordinate of every write."""
    found = []
    for axis in range(len(structure.domain)):
        alone = [any([not isinstance(entry, Element) and _is_alone(entry, LoopIndex(axis))
                      for entry in access.coordinates]) for access in structure.writes]
        if all(alone):
            found.append(axis)
    return found


def _is_alone(coordinate: DimLike, index: LoopIndex) -> bool:
    """Whether a coordinate is this index plus a constant."""
    return index.occurs_in(coordinate) and not index_symbols(coordinate - index.dim)
