"""Groups of blocks in memory: a total for each size of groups, of which a group that is full joins the larger one.

This is what :class:`nervure.kernel.groups.Groups` does, as loops. Nearly all reductions are of one group, so that it
stands in branches that are seldom taken.

>>> from nervure.kernel.parser import parse_kernel
>>> text = "kernel ones():\\n  v0 = reduce add over i < {}:\\n    give 1.0_f32"
>>> [group_sizes(parse_kernel(text.format(points)).body[0]) for points in (2**18 - 1, 2**18, 2**21)]
[0, 1, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nervure.kernel.combiners import FUNCTIONS, is_associative, unit
from nervure.kernel.ir import (
    DEFAULT_ORDER,
    GROUPS,
    Address,
    Apply,
    Buffer,
    For,
    Index,
    Literal,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.scalar_types import result_type
from nervure.types.dim import DimLike, highest, product
from nervure.types.dtype import int64

GROUP_BITS = GROUPS.bit_length() - 1

MOST_GROUPS = 1 << 33
"""Groups of 64 blocks that there may be: no index reaches 2**51."""


def group_sizes(reduce: Reduce) -> int:
    """Returns the sizes of larger groups that there may be; 0 where one group is all, or where the order changes no
    bit.
    """
    order = reduce.order
    points = order.block * order.group if order == DEFAULT_ORDER else order.block  # of a group
    most = highest(product(reduce.dims))
    groups = MOST_GROUPS if most is None else min(most // points, MOST_GROUPS)
    return 0 if is_associative(reduce) or order.group == 1 else -(-groups.bit_length() // GROUP_BITS)


@dataclass(frozen=True)
class GroupsInMemory:
    """Totals of groups in memory: those of a size lie ``here`` in a row, and ``each`` goes through its columns."""

    totals: Sequence[Buffer]
    combine: Sequence[str]
    here: Callable[[DimLike], Address]
    each: Callable[[Sequence[Statement]], Iterable[Statement]]

    def join(self, level: LoopIndex, sizes: int, groups: DimLike) -> For:
        """A full group, the last of ``groups``, joins the larger one, and that the next if it is full, too."""
        body: list[Statement] = []
        count, shift = number(body, groups), number(body, level.dim * GROUP_BITS)
        ended = applied(body, "shift_right", count, shift)
        is_full = applied(body, "equal", applied(body, "shift_left", ended, shift), count)
        is_old = applied(body, "bitwise_and", is_full, applied(body, "not_equal", ended, Literal(1, int64)))
        inner: list[Statement] = []
        for total, combine in zip(self.totals, self.combine, strict=True):
            here, above, nothing = self.here(level.dim), self.here(level.dim + 1), unit(combine, total.dtype)
            larger, smaller = loaded(inner, total, above, is_old, nothing), loaded(inner, total, here, is_full, nothing)
            inner.append(Store(total, above, applied(inner, FUNCTIONS[combine], larger, smaller), valid=is_full))
            inner.append(Store(total, here, nothing, valid=is_full))
        return For(level, sizes, (*body, *self.each(inner)))

    def finish(self, level: LoopIndex, sizes: int, groups: DimLike) -> For:
        """After the last block, of ``groups`` full groups: all that have begun join, and become the total."""
        body: list[Statement] = []
        ended = applied(body, "shift_right", number(body, groups), number(body, level.dim * GROUP_BITS))
        has_begun = applied(body, "not_equal", ended, Literal(0, int64))
        inner: list[Statement] = []
        for total, combine in zip(self.totals, self.combine, strict=True):
            first, nothing = self.here(0), unit(combine, total.dtype)
            larger = loaded(inner, total, self.here(level.dim + 1), has_begun, nothing)
            smaller = loaded(inner, total, first, has_begun, nothing)
            inner.append(Store(total, first, applied(inner, FUNCTIONS[combine], larger, smaller), valid=has_begun))
        return For(level, sizes, (*body, *self.each(inner)))


def number(body: list[Statement], x: DimLike) -> Scalar:
    """Returns a dimension as a scalar that a body defines."""
    body.append(Index(Variable(int64), x))
    return body[-1].results[0]


def applied(body: list[Statement], function: str, *operands: Scalar) -> Scalar:
    """Returns a function of scalars, which a body computes."""
    body.append(Apply(Variable(result_type(function, [operand.dtype for operand in operands])), function, operands))
    return body[-1].results[0]


def loaded(body: list[Statement], buffer: Buffer, address: Address, valid: Scalar, fill: Scalar) -> Scalar:
    """Returns an element that a body loads where a condition holds."""
    body.append(Load(Variable(buffer.dtype), buffer, address, valid, fill))
    return body[-1].results[0]
