"""Borders apart: rows whose conditions all hold are a loop of their own, without them.

What is read around an element lies outside of memory at the border alone. A condition on the row costs as much in all
the rows where it holds; so the first rows, those in the middle and the last ones become three loops.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel above(in x: f32[640], out y: f32[640]):
...   for i < 4 parallel:
...     for j < 10:
...       for k < 16 vector:
...         v0 = index j - 1
...         v1 = less_equal(0_i64, v0)
...         v2 = x[160*i + 16*j + k - 16] if v1 else 0.0_f32
...         y[160*i + 16*j + k] = v2
... ''')
>>> print("\\n".join(print_kernel(with_borders_apart(kernel, GENERIC)).splitlines()[2:]))
    for j < 1:
      for k < 16 vector:
        y[160*i + 16*j + k] = 0.0_f32
    for j < 9:
      for k < 16 vector:
        v0 = x[160*i + 16*j + k]
        y[160*i + 16*j + k + 16] = v0
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.kernel.ir import Apply, For, Index, Kernel, Literal, Loop, Simple, Statement, Variable, walk
from nervure.kernel.margins import margins_of
from nervure.kernel.rewriting import Rewrite, fresh_copy
from nervure.kernel.schedule.loop_partition import Bound, bound_on, valid_ends
from nervure.kernel.simplify.dead_code import without_dead_statements
from nervure.kernel.simplify.folding import with_folded_scalars
from nervure.kernel.tuning import BORDER_STATEMENTS
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_max, dim_min, index_symbols
from nervure.types.dtype import bool_


def with_borders_apart(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel whose innermost loops over rows of vectors have no conditions on the row in the middle."""
    return replace(kernel, body=_Borders(kernel.sliced, machine.products.inner_rows).block(kernel.body))


class _Borders(Rewrite):
    def __init__(self, sliced: For | None, inner_rows: int) -> None:
        super().__init__()
        self._sliced, self._inner_rows = sliced, inner_rows

    def for_loop(self, loop: For, out: list[Statement]) -> None:
        inside = [entry for entry in walk(loop.body) if isinstance(entry, Loop)]
        is_rows = bool(inside) and all([isinstance(entry, For) and entry.vector for entry in inside])
        if not is_rows or loop.vector or loop is self._sliced:
            out.append(self.rebuilt(loop))
            return
        middle = _middle_of(loop, self._inner_rows)
        out.extend([loop] if middle is None else _parts(loop, middle))


class _Condition(NamedTuple):
    """A condition on the index of a loop, and its result."""

    result: Variable
    bound: Bound

    def holds(self, row: DimLike) -> bool | None:
        """Whether it holds in a row; None where that is not known."""
        value = self.bound.slope * row + self.bound.rest
        return value >= 0 if isinstance(value, int) else None


class _Middle(NamedTuple):
    """The iterations from the first up to the end, in which all of these conditions hold."""

    first: DimLike
    end: DimLike
    conditions: list[_Condition]


def _middle_of(loop: For, least: int) -> _Middle | None:
    """Returns the iterations of a loop in which the conditions hold that depend on it alone.

    None where that is of no use, as it is of fewer than ``least``.
    """
    conditions = _conditions(loop)
    if not conditions or 3 * len(tuple(walk(loop.body))) > BORDER_STATEMENTS:  # there will be three loops
        return None
    first, end = valid_ends([condition.bound for condition in conditions], loop.extent)
    first = dim_min(first, loop.extent)
    end = dim_max(end, first)
    is_short = isinstance(first, int) and isinstance(end, int) and end - first < least
    return None if is_short else _Middle(first, end, conditions)


def _conditions(loop: For) -> list[_Condition]:
    """Returns the comparisons of places that depend on the index of a loop, and on no other one."""
    defined = {entry.results[0]: entry for entry in walk(loop.body) if isinstance(entry, Index | Apply)}
    found = []
    for entry in defined.values():
        if not isinstance(entry, Apply) or entry.function != "less_equal":
            continue
        bounds = [bound_on(margin, loop.index) for margin in margins_of(entry.results[0], defined).known]
        found += [_Condition(entry.results[0], bound) for bound in bounds
                  if bound is not None and not index_symbols(bound.rest)]
    return found


def _parts(loop: For, middle: _Middle) -> list[For]:
    """Returns the rows before the middle, the middle without its conditions, and the rows behind it. A few short rows
    are told apart, since it is known of each what holds.
    """
    count = middle.first + loop.extent - middle.end
    is_few = isinstance(count, int) and (count + 1) * len(tuple(walk(loop.body))) <= BORDER_STATEMENTS
    every = {condition.result: True for condition in middle.conditions}
    parts = [*_border(middle, 0, middle.first, is_few), (middle.first, middle.end - middle.first, every),
             *_border(middle, middle.end, loop.extent - middle.end, is_few)]
    return [_part(loop, *part) for part in parts if part[1] != 0]


Part = tuple[DimLike, DimLike, "dict[Variable, bool]"]
"""Rows: the first one, how many there are, and what holds in them."""


def _border(middle: _Middle, start: DimLike, count: DimLike, is_few: bool) -> list[Part]:
    """Rows in which not all conditions hold."""
    if not is_few or not isinstance(count, int) or not isinstance(start, int):
        return [(start, count, {})]
    return [(row, 1, {entry.result: holds for entry in middle.conditions if (holds := entry.holds(row)) is not None})
            for row in range(start, start + count)]


def _part(loop: For, start: DimLike, count: DimLike, known: dict[Variable, bool]) -> For:
    body = without_dead_statements(with_folded_scalars(_Knowing(known).block(loop.body)))
    return replace(loop, extent=count, body=fresh_copy(body, (), {loop.index: start + loop.index.dim})[0])


class _Knowing(Rewrite):
    """With what is known of some conditions."""

    def __init__(self, known: dict[Variable, bool]) -> None:
        super().__init__()
        self._known = known

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Apply) and statement.result in self._known:
            self.replaced[statement.result] = Literal(self._known[statement.result], bool_)
        else:
            out.append(statement)
