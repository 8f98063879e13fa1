"""Live columns: the columns of shared memory that any row of a block can see, where a mask hides the others.

A causal mask, or a window, is an affine condition on row and column. In a block of rows all columns behind the last
one that its last row sees are dead: scores are -inf there, their exponentials 0, and so are products with them. Loops
over columns leave the dead ones out, as long as that changes nothing: the largest of a row, a sum of exponentials and
a sum of products do not need them, nor does a value that is multiplied by such a 0. What is not finite elsewhere may
tell the difference: 0 times infinity is left out.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.shared_loops import OuterLoops, joined
>>> masked = parse_kernel('''
... kernel masked(in x: f32[10000], out s: f32[10000]):
...   for i < 100 parallel:
...     for j < 100 vector:
...       v0 = x[100*i + j]
...       v1 = index i
...       v2 = index j
...       v3 = less_equal(v2, v1)
...       v4 = where(v3, v0, -inf_f32)
...       s[100*i + j] = v4
... ''')
>>> total = parse_kernel('''
... kernel total(in s: f32[10000], out t: f32[100]):
...   for i < 100 parallel:
...     v0 = reduce add over j < 100:
...       v1 = s[100*i + j]
...       v2 = exp(v1)
...       give v2
...     t[i] = v0
... ''')
>>> shared = with_live_columns(joined([masked, total], ["s"], OuterLoops((), 100, block=20)))
>>> print(print_kernel(shared.kernel(shared.nests)), end="")
kernel shared(in x: f32[10000], out t: f32[100], scratch s: f32[2000]):
  for i < 1 parallel:
    for j < 5:
      for k < 20:
        for l < min(20*j + 20, 100) vector:
          v0 = x[2000*j + 100*k + l]
          v1 = index 20*j + k
          v2 = index l
          v3 = less_equal(v2, v1)
          v4 = where(v3, v0, -inf_f32)
          s[100*k + l] = v4
      for k < 20:
        v5 = reduce add over l < min(20*j + 20, 100):
          v6 = s[100*k + l]
          v7 = exp(v6)
          give v7
        t[20*j + k] = v5
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from nervure.kernel.ir import (
    CONTRACT_BLOCK,
    CONTRACT_GROUP,
    Apply,
    Body,
    Buffer,
    Contract,
    Fold,
    For,
    Index,
    Literal,
    Load,
    Loop,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
    substituted,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.margins import margins_of
from nervure.kernel.shared_loops import FIRST, ROW, START, SharedLoops
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, dim_max, dim_min


class _Bound(NamedTuple):
    """A condition on a row and a column: column <= row + ``offset`` if it ``is_upper``, else column >= row + offset."""

    is_upper: bool
    offset: int


def with_live_columns(shared: SharedLoops) -> SharedLoops:
    """Returns shared loops whose loops over columns leave out the dead ones, on each side where there are any."""
    for is_upper in (True, False):
        found = [bound for nest in shared.nests for bound in _bounds(nest) if bound.is_upper is is_upper]
        if found and shared.loops.rows is not None:
            bound = max(found) if is_upper else min(found)
            shared = _cut(shared, bound) or shared
    return shared


def _bounds(nest: Statement) -> Iterator[_Bound]:
    """Yields the conditions on columns under which a nest gives something else than -inf."""
    for loop in [entry for entry in walk((nest,)) if isinstance(entry, For) and entry.index is not ROW]:
        defined = {entry.results[0]: entry for entry in loop.body if isinstance(entry, Apply | Index)}
        for entry in loop.body:
            if isinstance(entry, Apply) and entry.function == "where" and _is_nothing(entry.operands[2]):
                yield from _conditions(entry.operands[0], defined, loop.index)


def _is_nothing(x: Scalar) -> bool:
    return isinstance(x, Literal) and x.value == -math.inf


def _conditions(x: Scalar, defined: Mapping[Variable, Statement], column: LoopIndex) -> Iterator[_Bound]:
    """Yields the bounds all of which hold where a truth value is true."""
    for margin in margins_of(x, defined).known:
        parts = affine(margin, (column.name, ROW.name, FIRST.name))
        if parts is None or not isinstance(parts[1], int):
            continue
        steps, rest = tuple([parts[0][index.name] for index in (column, ROW, FIRST)]), parts[1]
        if steps == (-1, 1, 1):
            yield _Bound(True, rest)
        if steps == (1, -1, -1):
            yield _Bound(False, -rest)


# -- leaving columns out ---------------------------------------------------------------------------------------------


class _NeededError(Exception):
    """Raised where a dead column is needed: one of some ``buffers``, if it is one of memory."""

    def __init__(self, buffers: Iterable[Buffer] = ()) -> None:
        self.buffers = {*buffers}


def _cut(shared: SharedLoops, bound: _Bound) -> SharedLoops | None:
    """Returns shared loops without the columns that a bound hides; None where something needs them.

    It is supposed at first that nothing needs what kept memory has there, even where that is not known.
    """
    spare = {*shared.kept}
    while True:
        cutting = _Cutting(shared, bound, spare)
        try:
            return shared._replace(nests=tuple([cutting.nest(nest) for nest in shared.nests]), start=cutting.start)
        except _NeededError as needed:
            if not spare & needed.buffers:
                return None
            spare -= needed.buffers


class _Cutting:
    """A walk through nests in order. ``dead`` are the values of memory of rows in dead columns, None for unknown ones.

    Dead columns behind the live ones are left out of all loops, those in front of them of sums of products alone, from
    the multiple of a block of these on that is ``start``: operands of products are packed from their first column on.
    """

    def __init__(self, shared: SharedLoops, bound: _Bound, spare: Collection[Buffer]) -> None:
        self._bound, self._spare, self.start = bound, spare, shared.start
        self._own = {*shared.kept, *[buffer for buffer in shared.buffers if not buffer.is_given]}
        self.dead: dict[Buffer, float | None] = {}
        self._rows: DimLike = 0

    def nest(self, nest: Statement) -> Statement:
        """Returns a nest over rows without dead columns."""
        if not isinstance(nest, For) or nest.index is not ROW:
            raise _NeededError
        self._rows = nest.extent
        return replace(nest, body=self._body(nest.body))

    def _body(self, body: Body) -> Body:
        return tuple([self._statement(entry) for entry in body])

    def _statement(self, entry: Statement) -> Statement:
        made = self._without_dead(entry) if isinstance(entry, Loop) and len(entry.indices) == 1 else None
        if made is not None:
            return made
        read = {each.buffer for each in walk((entry,)) if isinstance(each, Load) and each.buffer in self.dead}
        if read and self._bound.is_upper and not isinstance(entry, For):
            raise _NeededError(read)
        for store in [entry] if isinstance(entry, Store) else []:
            self.dead.pop(store.buffer, None)
        return entry.map_bodies(self._body)

    def _without_dead(self, loop: Loop) -> Statement | None:
        """Returns a loop over columns without the dead ones; None where it is none, or needs them."""
        (index, extent), = loop.indices
        if not self._is_over_columns(loop, index):
            return None
        if self._bound.is_upper and self._reads_elsewhere(loop, index):
            return None
        values = _Values(self._bound, index, self.dead)
        stored = values.of(loop.body)
        if not all([store.buffer in self._own and (value is not None or self._is_spare(store))
                    for store, value in stored]):
            return None
        if isinstance(loop, Reduce) and not all([
                (combine, values.known.get(value)) in (("maximum", -math.inf), ("add", 0.0))
                for combine, value in zip(loop.combine, loop.values, strict=True)]):
            return None
        if isinstance(loop, Contract) and 0.0 not in (values.known.get(loop.left), values.known.get(loop.right)):
            return None
        if isinstance(loop, Fold) or isinstance(loop, For) and not stored:
            return None
        self.dead.update({store.buffer: value for store, value in stored})
        return self._shorter(loop, index, extent)

    def _reads_elsewhere(self, loop: Loop, index: LoopIndex) -> bool:
        """Whether a loop over columns reads dead columns, if there are any, other than its own."""
        here = {id(entry) for entry in loop.body if isinstance(entry, Load) and entry.address.step(index) == 1}
        return any([isinstance(entry, Load) and entry.buffer in self.dead and id(entry) not in here
                    for entry in walk(loop.body)])

    def _is_spare(self, store: Store) -> bool:
        return store.buffer in self._spare and store.combine is None and store.valid is None

    def _is_over_columns(self, loop: Loop, index: LoopIndex) -> bool:
        """Whether a loop goes through the columns of memory of rows, from the first one on."""
        own = [entry.address for entry in walk(loop.body)
               if isinstance(entry, Load | Store) and entry.buffer in self._own and entry.address.mentions(index)]
        return bool(own) and all([
            address.base == 0 and not address.terms and address.step(index) == 1
            and {each for each, _ in address.steps} <= {ROW, index} for address in own])

    def _shorter(self, loop: Loop, index: LoopIndex, extent: DimLike) -> Statement:
        """Returns a loop over the live columns, of which there is at least one if there are columns."""
        edge = FIRST.dim + self._bound.offset
        if self._bound.is_upper:
            last = edge + self._rows
            length = dim_min(extent, last if self._bound.offset >= 0 else dim_max(last, 1))
            if isinstance(loop, For):
                return replace(loop, extent=length)
            assert isinstance(loop, Reduce | Contract)
            return replace(loop, indices=((index, length),))
        most = CONTRACT_BLOCK * CONTRACT_GROUP
        if not isinstance(loop, Contract) or not isinstance(extent, int) or extent > most:
            return loop
        blocks = dim_min(dim_max(edge, 0) // CONTRACT_BLOCK, (extent - 1) // CONTRACT_BLOCK)
        if self.start not in (0, blocks * CONTRACT_BLOCK):
            return loop
        self.start = blocks * CONTRACT_BLOCK
        body = substituted(loop.body, {index: START.dim + index.dim})
        return replace(loop, indices=((index, extent - START.dim),), body=body)


class _Values:
    """The values of scalars in a dead column, as far as they are ``known``: 0 or -inf."""

    def __init__(self, bound: _Bound, column: LoopIndex, dead: Mapping[Buffer, float | None]) -> None:
        self._bound, self._column, self._dead = bound, column, dead
        self._defined: dict[Variable, Statement] = {}
        self.known: dict[Scalar, float | None] = {}

    def of(self, body: Iterable[Statement]) -> list[tuple[Store, float | None]]:
        """Returns the stores of a body, with what they store in a dead column."""
        stored: list[tuple[Store, float | None]] = []
        for entry in body:
            self._defined.update(dict.fromkeys(entry.results, entry))
            if isinstance(entry, Store):
                stored.append((entry, None if entry.combine or entry.valid else self._value(entry.value)))
            elif isinstance(entry, Load):
                is_here = entry.valid is None and entry.address.step(self._column) == 1
                self.known[entry.result] = self._dead.get(entry.buffer) if is_here else None
            elif isinstance(entry, Apply):
                self.known[entry.result] = self._applied(entry)
            elif isinstance(entry, Loop) and any([isinstance(each, Store) for each in walk(entry.body)]):
                stored += [(each, None) for each in walk(entry.body) if isinstance(each, Store)]
        return stored

    def _value(self, x: Scalar) -> float | None:
        if isinstance(x, Literal):
            return float(x.value) if x.value in (0, -math.inf) and not isinstance(x.value, complex) else None
        return self.known.get(x)

    def _applied(self, entry: Apply) -> float | None:
        """Returns what a function gives, if one of its operands tells. Operands that are unknown are finite numbers."""
        values = [self._value(operand) for operand in entry.operands]
        match entry.function:
            case "where":
                is_false = any([self._hides(bound) for bound in _conditions(
                    entry.operands[0], self._defined, self._column)])
                return values[2] if is_false or values[1] == values[2] else None
            case "add":
                return 0.0 if values == [0.0, 0.0] else None
            case "subtract":
                return -math.inf if values[0] == -math.inf else None
            case "multiply":
                return 0.0 if 0.0 in values and -math.inf not in values else None
            case "exp":
                return 0.0 if values == [-math.inf] else None
        return None

    def _hides(self, bound: _Bound) -> bool:
        """Whether a bound holds in no dead column."""
        if bound.is_upper is not self._bound.is_upper:
            return False
        return bound.offset <= self._bound.offset if bound.is_upper else bound.offset >= self._bound.offset
