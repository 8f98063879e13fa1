"""Room behind the rows of scratch buffers, where lanes without an iteration may be read and written, too.

Masked stores are slow, and their values are not forwarded to later loads. If all loads and stores of a buffer go along
its rows, none of them past the end of one, the gap up to a multiple of some lanes belongs to no row, and behind the
last row is memory for as many lanes as there are.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel turns(scratch one: f32[100], scratch two: f32[48], scratch near: f32[40]):
...   for i < 12 vector:
...     one[i] = 0.0_f32
...     two[i + 16] = 0.0_f32
...     near[i + 12] = 0.0_f32
... ''')
>>> rooms = Rooms(kernel.body, 8)
>>> [rooms.behind(buffer) for buffer in kernel.buffers]
[64, 8, 0]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nervure.kernel.dependence import NestedAccess, accesses_in
from nervure.kernel.ir import LANES, Apply, Body, Buffer, Index, Load, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.support.lazy import lazy
from nervure.types.dim import DimLike
from nervure.types.dim.polynomial import TooLarge


class Rooms:
    """The rooms behind the rows of scratch buffers in a body, for registers of some lanes. Each is found when it is
    asked for: most buffers are seen by routines alone.
    """

    def __init__(self, body: Body, lanes: int) -> None:
        self._body, self._lanes = body, lanes
        self._found: dict[Buffer, int] = {}

    def behind(self, buffer: Buffer) -> int:
        """Returns the lanes for which a buffer has room behind each row: all, those of a register, or none."""
        if buffer not in self._found:
            accesses = self._touched.get(buffer)
            self._found[buffer] = _room(accesses, self._lanes) if accesses else 0
        return self._found[buffer]

    @lazy
    def _touched(self) -> dict[Buffer, list[NestedAccess]]:
        touched: dict[Buffer, list[NestedAccess]] = {}
        for access in accesses_in(self._body):
            if access.statement.buffer.role == "scratch":
                touched.setdefault(access.statement.buffer, []).append(access)
        return touched


def has_room(rooms: Rooms, statement: Load | Store, index: LoopIndex, width: int) -> bool:
    """Whether a ``statement`` in ``width`` lanes of an ``index`` may run in those without an iteration, too."""
    if statement.valid is not None or statement.address.step(index) != 1:
        return False
    room = rooms.behind(statement.buffer)
    return room != 0 and (isinstance(statement, Load) or width <= room)


def needs_mask(rooms: Rooms, body: Body, index: LoopIndex, width: int) -> bool:
    """Whether a ``body`` in ``width`` lanes of an ``index`` has to know which of them have an iteration. It does not
    if it only computes, and reads and writes where there is room.
    """
    return not all([isinstance(entry, (Apply, Index))
                    or isinstance(entry, (Load, Store)) and has_room(rooms, entry, index, width) for entry in body])


def _room(accesses: Sequence[NestedAccess], lanes: int) -> int:
    """Returns the lanes for which there is room behind each row; 0 if there is none."""
    rows = [_row(access) for access in accesses]
    starts = {start for _, entries in rows for start in entries}
    lengths = {length for length, _ in rows if length is not None}
    for length in lengths if len({length for length, _ in rows}) == len(lengths) else ():
        others = lengths - {length}
        if not starts and not others:
            return LANES
        distance = (length + (lanes - 1)) // lanes * lanes
        if distance != 0 and all(map(partial(divides, distance), (*starts, *others))):  # seldom more than one is asked
            return lanes
    return 0


def divides(distance: DimLike, x: DimLike) -> bool:
    """Whether ``x`` is a multiple of a distance, as far as one sees; an expression beyond all bounds is not."""
    try:
        return x % distance == 0
    except TooLarge:
        return False


def _row(access: NestedAccess) -> tuple[DimLike | None, tuple[DimLike, ...]]:
    """Returns the length of the row that an access goes along, and the strides from row to row. The length is None if
    it goes along no row.
    """
    address, extents = access.address, dict(access.inner)
    along = [index for index, step in address.steps if step == 1]
    if len(along) != 1 or address.terms or along[0].occurs_in(address.base):
        return None, ()
    others = [step for index, step in address.steps if index is not along[0]]
    return extents[along[0]], tuple([x for x in (address.base, *others) if x != 0])
