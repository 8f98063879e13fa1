"""The order of combining the totals of blocks: in groups, and groups in larger groups.

If the totals of many blocks were added one after the other, later ones would be rounded to the size of all before
them. So the totals of ``Order.group`` blocks make a group's total, ``GROUPS`` of these in order the total of a larger
group, and so on. Each starts from the unit. At the end the groups that are not full join the larger ones around them,
the smallest first.

>>> groups = BlockGroups(lambda x, y: f"({x}{y})" if x else y, "", group=4)
>>> for total in "abcdefghij":
...     groups.add(total)
>>> groups.result()
'(((((ab)c)d)(((ef)g)h))(ij))'

In groups of one block there is one block at most, and its total is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from nervure.kernel.ir import GROUP, GROUPS

T = TypeVar("T")


class BlockGroups(Generic[T]):
    """Combines the totals of blocks, which arrive one after the other, ``group`` blocks to a group."""

    def __init__(self, combine: Callable[[T, T], T], unit: T, group: int = GROUP) -> None:
        self._combine, self._unit, self._group = combine, unit, group
        self._totals = [unit]  # totals of the group being filled, of the larger one around it, and so on
        self._blocks = 0

    def add(self, total: T) -> None:
        """Takes the total of the next block."""
        if self._group == 1:
            self._totals = [total]
            return
        self._totals[0] = self._combine(self._totals[0], total)
        self._blocks += 1
        count, size, level = self._blocks, self._group, 0
        while count % size == 0:
            if level + 1 == len(self._totals):
                self._totals.append(self._unit)
            self._totals[level + 1] = self._combine(self._totals[level + 1], self._totals[level])
            self._totals[level] = self._unit
            count, size, level = count // size, GROUPS, level + 1

    def result(self) -> T:
        """Returns the total of all blocks so far."""
        result, *larger = self._totals
        for total in larger:
            result = self._combine(total, result)
        return result
