"""Rewrites of loops: those of one iteration vanish, and two that walk memory as one are collapsed.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel fill(out y: f32[12]):
...   for i < 3 parallel:
...     for j < 4 vector:
...       y[4*i + j] = 0.0_f32
... ''')
>>> loop, = with_collapsed_loops(kernel.body)
>>> loop.extent, loop.parallel, loop.vector, loop.body[0].address.step(loop.index)
(12, True, True, 1)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from nervure.kernel.combiners import FUNCTIONS, keeps_units, unit
from nervure.kernel.dependence import NestedAccess, accesses_to_written
from nervure.kernel.ir import (
    Access,
    Address,
    Apply,
    Body,
    Contract,
    Fold,
    For,
    Index,
    Reduce,
    Statement,
    Store,
    substituted,
    walk,
)
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.rewriting import Rewrite
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, index_symbols, less_equal

_Reduction = TypeVar("_Reduction", Reduce, Fold, Contract)

# -- loops of one iteration ---------------------------------------------------------------------------------------


def without_unit_loops(body: Body) -> Body:
    """Replaces loops of one iteration by their body, loops of none by nothing; a reduction without points is the unit.
    """
    return _UnitLoops().block(body)


class _UnitLoops(Rewrite):
    def for_loop(self, loop: For, out: list[Statement]) -> None:
        if loop.extent == 0:
            return
        if loop.extent == 1:
            out.extend(self.block(substituted(loop.body, {loop.index: 0})))
        else:
            super().for_loop(loop, out)

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        if any([extent == 0 for _, extent in loop.indices]):
            self.replaced.update({result: unit(combine, result.dtype)
                                  for result, combine in zip(loop.results, loop.combine, strict=True)})
            return
        if _has_one_point(loop) and keeps_units(loop):
            self._inline_reduce(loop, out)
        else:
            out.append(self.rebuilt(without_unit_indices(loop)))

    def _inline_reduce(self, loop: Reduce, out: list[Statement]) -> None:
        """Inlines a reduction of one point: adding it to 0.0 may change the sign of a zero, all other units change
        nothing.
        """
        out.extend(self.block(_first_point(loop)))
        for result, combine, value in zip(loop.results, loop.combine, self.scalars(loop.values), strict=True):
            if combine == "add" and (result.dtype.is_float or result.dtype.is_complex):
                out.append(Apply(result, FUNCTIONS[combine], (unit(combine, result.dtype), value)))
            else:
                self.replaced[result] = value

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        if not _has_one_point(loop):
            out.append(self.rebuilt(without_unit_indices(loop)))
            return
        out.extend(self.block(_first_point(loop)))
        self.replaced.update(zip(loop.results, self.scalars(loop.values), strict=True))

    def contract(self, loop: Contract, out: list[Statement]) -> None:
        if any([extent == 0 for _, extent in loop.indices]):
            self.replaced[loop.result] = unit("add", loop.result.dtype)
            return
        out.append(self.rebuilt(without_unit_indices(loop)))


def without_unit_indices(loop: _Reduction) -> _Reduction:
    """Returns a reduction without the indices that have one value; if all have, the last one stays."""
    kept = tuple([(index, extent) for index, extent in loop.indices if extent != 1]) or loop.indices[-1:]
    single = {index: 0 for index, _ in loop.indices if index not in dict(kept)}
    return replace(loop, indices=kept, body=substituted(loop.body, single)) if single else loop


def _has_one_point(loop: Reduce | Fold) -> bool:
    return all([extent == 1 for _, extent in loop.indices])


def _first_point(loop: Reduce | Fold) -> Body:
    """Returns what a reduction does at its first point."""
    return substituted(loop.body, {index: 0 for index, _ in loop.indices})


# -- loops that walk memory as one ---------------------------------------------------------------------------


def with_collapsed_loops(body: Body) -> Body:
    """Collapses two loops if the inner is all of the outer's body and every address continues regularly from one inner
    loop to the next. The same holds for the indices of a reduction.
    """
    return _Collapse().block(body)


class _Collapse(Rewrite):
    def for_loop(self, loop: For, out: list[Statement]) -> None:
        body = self.block(loop.body)
        inner = body[0] if len(body) == 1 else None
        joined = _joined(loop, inner) if isinstance(inner, For) else None
        out.append(joined or replace(loop, body=body))

    def reduce(self, loop: Reduce | Contract, out: list[Statement]) -> None:
        indices, body = _joined_indices(loop.indices, self.block(loop.body))
        out.append(replace(loop, indices=indices, body=body))

    contract = reduce

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        indices, body = _joined_indices(loop.indices, self.block(loop.body))
        out.append(replace(loop, indices=indices, body=body, combine=self.block(loop.combine)))


def _joined(outer: For, inner: For) -> For | None:
    """Returns the loop that two loops make, None if they do not walk as one or a known fact about one would be lost."""
    if not walks_on(inner.body, outer.index, inner.index, inner.extent):
        return None
    parallel, vector = outer.parallel or inner.parallel, outer.vector or inner.vector
    joined = replace(inner, extent=outer.extent * inner.extent, body=substituted(inner.body, {outer.index: 0}),
                     parallel=parallel, vector=vector)
    if parallel or vector:
        known = [loop.parallel or loop.vector for loop in (outer, inner)]
        if not all(known) and not has_independent_iterations(joined):
            return None
    return joined


def _joined_indices(indices: Indices, body: Body) -> tuple[Indices, Body]:
    kept = list(indices)
    for position in reversed(range(len(indices) - 1)):
        (outer, rows), (inner, extent) = kept[position:position + 2]
        if walks_on(body, outer, inner, extent):
            body = substituted(body, {outer: 0})
            kept[position:position + 2] = [(inner, rows * extent)]
    return tuple(kept), body


def walks_on(body: Body, outer: LoopIndex, inner: LoopIndex, extent: DimLike) -> bool:
    """Whether an iteration of the ``outer`` index moves everything in a body as far as ``extent`` iterations of the
    ``inner`` one.
    """
    return not index_symbols(extent) and all([_walks_on(statement, outer, inner, extent) for statement in walk(body)])


def _walks_on(statement: Statement, outer: LoopIndex, inner: LoopIndex, extent: DimLike) -> bool:
    if isinstance(statement, Index):
        parts = affine(statement.expression, (outer.name, inner.name))
        return parts is not None and parts[0][outer.name] == parts[0][inner.name] * extent
    if isinstance(statement, Access):
        address = statement.address
        is_affine = not outer.occurs_in(address.base) and not inner.occurs_in(address.base)
        return is_affine and address.step(outer) == address.step(inner) * extent
    return not statement.mentions(outer) and not statement.mentions(inner)


def has_independent_iterations(loop: For) -> bool:
    """Whether each iteration of a loop certainly writes only elements of its own."""
    return all([_is_own(loop, entries) for entries in accesses_to_written(loop.body)])


def _is_own(loop: For, entries: Sequence[NestedAccess]) -> bool:
    """Whether all accesses to a buffer are at one address, that of an element of this iteration."""
    address = entries[0].address
    inner = {pair for entry in entries for pair in entry.inner}
    moving = {index.name for index, _ in (*inner, (loop.index, loop.extent))}
    if any([entry.address != address for entry in entries]) or address.terms or index_symbols(address.base) & moving:
        return False
    if len(dict(inner)) != len(inner):
        return False
    is_scratch = entries[0].statement.buffer.role == "scratch"
    return _is_renewed(entries[0]) if is_scratch else _is_stride(loop, inner, address)


def _is_renewed(first: NestedAccess) -> bool:
    """Whether the first access stores all of the elements that any later one at the same address can touch."""
    statement = first.statement
    is_plain = isinstance(statement, Store) and statement.valid is None and statement.combine is None
    return is_plain and {index for index, _ in first.inner} == {index for index, _ in statement.address.steps}


def _is_stride(loop: For, inner: Iterable[tuple[LoopIndex, DimLike]], address: Address) -> bool:
    """Whether an address moves further in each iteration of a loop than all loops inside move it."""
    reach: DimLike = 1
    for index, extent in inner:
        reach = reach + address.step(index) * (extent - 1)
        if less_equal(0, address.step(index)) is not True:
            return False
    ranges = {index.name: (0, extent - 1) for index, extent in (*inner, (loop.index, loop.extent))}
    return less_equal(reach, address.step(loop.index), ranges) is True
