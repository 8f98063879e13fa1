"""Rewrites of loops: those of one turn go, two that walk memory as one become one.

>>> from nervure.kernel.ir import Buffer, Literal
>>> from nervure.types.dtype import float32
>>> y = Buffer("y", float32, 12, "out")
>>> store = Store(y, Address(0, (("%0", 4), ("%1", 1))), Literal(0.0, float32))
>>> loop, = with_collapsed_loops((For("%0", 3, (For("%1", 4, (store,), vector=True),), parallel=True),))
>>> loop.index, loop.extent, loop.parallel, loop.vector, loop.body[0].address.steps
('%1', 12, True, True, (('%1', 1),))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.kernel.combining import FUNCTIONS, unit
from nervure.kernel.ir import (
    Address,
    Apply,
    Fold,
    For,
    Index,
    Load,
    Reduce,
    Statement,
    Store,
    dims,
    walk,
)
from nervure.kernel.simplify.rewriting import Body, Rewrite, Simple, moved
from nervure.kernel.turns import Access, accesses_to_written
from nervure.types.dim import Dim, DimLike, affine, index_symbols, less_equal, substitute

Indices = tuple[tuple[str, DimLike], ...]


# -- loops of one turn ---------------------------------------------------------------------------------------


def without_unit_loops(body: Body) -> Body:
    """Loops of one turn give way to their body, loops of none to nothing; a reduction of no point is the unit."""
    return _UnitLoops().block(body)


class _UnitLoops(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._zeros: dict[str, DimLike] = {}  # the indices of the loops around that are gone

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        extent = self._dim(loop.extent)
        if extent == 0:
            return
        if extent == 1:
            self._zeros[loop.index] = 0
            out.extend(self.block(loop.body))
            del self._zeros[loop.index]
            return
        out.append(For(loop.index, extent, self.block(loop.body), loop.parallel, loop.vector))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        indices = [(index, self._dim(extent)) for index, extent in loop.indices]
        if any([extent == 0 for _, extent in indices]):
            self.replaced.update({result: unit(combine, result.dtype)
                                  for result, combine in zip(loop.results, loop.combine, strict=True)})
            return
        kept = tuple([(index, extent) for index, extent in indices if extent != 1])
        if not kept and not any([combine == "multiply" and result.dtype.is_complex
                                 for result, combine in zip(loop.results, loop.combine, strict=True)]):
            self._inline_reduce(loop, indices, out)
            return
        kept = kept or tuple(indices[-1:])
        body = self._inner(loop.body, indices, kept)
        out.append(Reduce(loop.results, loop.combine, kept, body, self.scalars(loop.values)))

    def _inline_reduce(self, loop: Reduce, indices: Sequence[tuple[str, DimLike]], out: list[Statement]) -> None:
        """One point: adding it to 0.0 may change the sign of a zero, all other units change nothing."""
        out.extend(self._inner(loop.body, indices, ()))
        for result, combine, value in zip(loop.results, loop.combine, self.scalars(loop.values), strict=True):
            if combine == "add" and (result.dtype.is_float or result.dtype.is_complex):
                out.append(Apply(result, FUNCTIONS[combine], (unit(combine, result.dtype), value)))
            else:
                self.replaced[result] = value

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        indices = [(index, self._dim(extent)) for index, extent in loop.indices]
        kept = tuple([(index, extent) for index, extent in indices if extent != 1])
        body = self._inner(loop.body, indices, kept)
        values = self.scalars(loop.values)
        if not kept:
            out.extend(body)
            self.replaced.update(zip(loop.results, values, strict=True))
            return
        combine = self.block(loop.combine)
        out.append(Fold(loop.results, kept, body, values, loop.left, loop.right, combine, self.scalars(loop.combined)))

    def _inner(self, body: Body, indices: Sequence[tuple[str, DimLike]], kept: Indices) -> Body:
        """A body inside indices of which some are kept."""
        gone = [index for index, _ in indices if index not in dict(kept)]
        self._zeros.update(dict.fromkeys(gone, 0))
        inner = self.block(body)
        for index in gone:
            del self._zeros[index]
        return inner

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if self._zeros and isinstance(statement, Index):
            statement = Index(statement.result, self._dim(statement.expression))
        elif self._zeros and isinstance(statement, (Load, Store)):
            address = statement.address
            steps = tuple([(index, step) for index, step in address.steps if index not in self._zeros])
            statement = moved(statement, Address(self._dim(address.base), steps, address.terms))
        out.append(statement)

    def _dim(self, x: DimLike) -> DimLike:
        return substitute(x, self._zeros) if self._zeros and isinstance(x, Dim) else x


# -- loops that walk memory as one ---------------------------------------------------------------------------


def with_collapsed_loops(body: Body) -> Body:
    """Two loops of which the inner one is all of the outer one's body become one, where every address inside goes
    on at the end of an inner loop as it went before; so do the indices of a reduction.
    """
    return _Collapse().block(body)


class _Collapse(Rewrite):
    def for_loop(self, loop: For, out: list[Statement]) -> None:
        body = self.block(loop.body)
        inner = body[0] if len(body) == 1 else None
        joined = _joined(loop, inner) if isinstance(inner, For) else None
        out.append(joined or For(loop.index, loop.extent, body, loop.parallel, loop.vector))

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        indices, body = _joined_indices(loop.indices, self.block(loop.body))
        out.append(Reduce(loop.results, loop.combine, indices, body, loop.values))

    def fold(self, loop: Fold, out: list[Statement]) -> None:
        indices, body = _joined_indices(loop.indices, self.block(loop.body))
        combine = self.block(loop.combine)
        out.append(Fold(loop.results, indices, body, loop.values, loop.left, loop.right, combine, loop.combined))


def _joined(outer: For, inner: For) -> For | None:
    """The loop that two loops make, None if they do not walk as one or something known of one would be lost."""
    if not walks_on(inner.body, outer.index, inner.index, inner.extent):
        return None
    parallel, vector = outer.parallel or inner.parallel, outer.vector or inner.vector
    body = _Joined(outer.index).block(inner.body)
    if parallel or vector:
        known = [loop.parallel or loop.vector for loop in (outer, inner)]
        if not all(known) and not has_independent_turns(For(inner.index, outer.extent * inner.extent, body)):
            return None
    return For(inner.index, outer.extent * inner.extent, body, parallel, vector)


def _joined_indices(indices: Indices, body: Body) -> tuple[Indices, Body]:
    kept = list(indices)
    for position in reversed(range(len(indices) - 1)):
        (outer, rows), (inner, extent) = kept[position:position + 2]
        if walks_on(body, outer, inner, extent):
            body = _Joined(outer).block(body)
            kept[position:position + 2] = [(inner, rows * extent)]
    return tuple(kept), body


def walks_on(body: Body, outer: str, inner: str, extent: DimLike) -> bool:
    """Whether a turn of the outer index does to everything in a body what ``extent`` turns of the inner one do."""
    if index_symbols(extent):
        return False
    for statement in walk(body):
        if isinstance(statement, Index):
            parts = affine(statement.expression, (outer, inner))
            if parts is None or parts[0][outer] != parts[0][inner] * extent:
                return False
        elif isinstance(statement, (Load, Store)):
            steps = dict(statement.address.steps)
            if steps.get(outer, 0) != steps.get(inner, 0) * extent or _uses(statement.address.base, outer, inner):
                return False
        elif any([_uses(x, outer, inner) for x in dims(statement)]):
            return False
    return True


def _uses(x: DimLike, outer: str, inner: str) -> bool:
    return isinstance(x, Dim) and not index_symbols(x).isdisjoint((outer, inner))


class _Joined(Rewrite):
    """What stands inside of both loops, once the inner one counts for both."""

    def __init__(self, outer: str) -> None:
        super().__init__()
        self._outer = outer

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Index):
            statement = Index(statement.result, substitute(statement.expression, {self._outer: 0}))
        elif isinstance(statement, (Load, Store)):
            address = statement.address
            steps = tuple([(index, step) for index, step in address.steps if index != self._outer])
            if len(steps) != len(address.steps):
                statement = moved(statement, Address(address.base, steps, address.terms))
        out.append(statement)


def has_independent_turns(loop: For) -> bool:
    """Whether each turn of a loop surely has elements of its own wherever something is written."""
    return all([_is_own(loop, entries) for entries in accesses_to_written(loop.body)])


def _is_own(loop: For, entries: Sequence[Access]) -> bool:
    """Whether all accesses to a buffer are at one address, that of an element of this turn."""
    address = entries[0].statement.address
    if any([entry.statement.address != address for entry in entries]) or address.terms or index_symbols(address.base):
        return False
    inner = {pair for entry in entries for pair in entry.inner}
    if len(dict(inner)) != len(inner):
        return False
    is_scratch = entries[0].statement.buffer.role == "scratch"
    return _is_renewed(entries[0]) if is_scratch else _is_stride(loop, inner, address)


def _is_renewed(first: Access) -> bool:
    """Whether the first access stores all of the elements that any later one at the same address can touch."""
    statement = first.statement
    is_plain = isinstance(statement, Store) and statement.valid is None and statement.combine is None
    return is_plain and {index for index, _ in first.inner} == {index for index, _ in statement.address.steps}


def _is_stride(loop: For, inner: Iterable[tuple[str, DimLike]], address: Address) -> bool:
    """Whether an address moves further in each turn of a loop than all loops inside move it."""
    steps = dict(address.steps)
    reach: DimLike = 1
    for index, extent in inner:
        reach = reach + steps.get(index, 0) * (extent - 1)
        if less_equal(0, steps.get(index, 0)) is not True:
            return False
    ranges = {index: (0, extent - 1) for index, extent in (*inner, (loop.index, loop.extent))}
    return less_equal(reach, steps.get(loop.index, 0), ranges) is True
