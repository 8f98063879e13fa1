"""Kernels that share an outer loop: each reads what the ones before it have made in the same iteration.

What no other kernel reads is scratch memory of one iteration. Kernels with loops over the same batch and rows share
these, in blocks of rows; inside of a block, the nests of all kernels follow each other.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> double = parse_kernel('''
... kernel double(in x: f32[120], out y: f32[120]):
...   for i < 20 parallel:
...     for j < 6 vector:
...       v0 = x[6*i + j]
...       v1 = add(v0, v0)
...       y[6*i + j] = v1
... ''')
>>> largest = parse_kernel('''
... kernel largest(in y: f32[120], out z: f32[20]):
...   for i < 20 parallel:
...     v0 = reduce maximum over j < 6:
...       v1 = y[6*i + j]
...       give v1
...     z[i] = v0
... ''')
>>> shared = joined([double, largest], ["y"], OuterLoops((), 20, block=8))
>>> print(print_kernel(shared.kernel(shared.nests)), end="")
kernel shared(in x: f32[120], out z: f32[20], scratch y: f32[48]):
  for i < 1 parallel:
    for j < 3:
      for k < min(20 - 8*j, 8):
        for l < 6 vector:
          v0 = x[48*j + 6*k + l]
          v1 = add(v0, v0)
          y[6*k + l] = v1
      for k < min(20 - 8*j, 8):
        v2 = reduce maximum over l < 6:
          v3 = y[6*k + l]
          give v3
        z[8*j + k] = v2

A third kernel that reads y at another row than its own has to wait for all rows:

>>> turned = parse_kernel('''
... kernel turned(in y: f32[120], out w: f32[20]):
...   for i < 20 parallel vector:
...     v0 = y[114 - 6*i]
...     w[i] = v0
... ''')
>>> joined([double, turned], ["y"], OuterLoops((), 20, block=8)) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from nervure.kernel.dependence import is_apart
from nervure.kernel.ir import (
    Access,
    Body,
    Buffer,
    Contract,
    Fold,
    For,
    Kernel,
    Loop,
    Prefetch,
    Reduce,
    Statement,
    Write,
    substituted,
    walk,
)
from nervure.kernel.loop_index import Indices, LoopIndex, position_among
from nervure.kernel.schedule.products.extents import block_count, part_of
from nervure.kernel.simplify.loops import has_independent_iterations
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, dim_max, dim_min, equal, evaluate, index_symbols, product, symbols
from nervure.types.shape import MAX_RANK

_OUTER_INDICES = 5 + MAX_RANK
_TASK, _BLOCK, FIRST, ROW, START, *_BATCH = [LoopIndex(number) for number in range(_OUTER_INDICES)]


class OuterLoops(NamedTuple):
    """The loops that kernels share: over the ``batch``, and over its ``rows`` in blocks of ``block``.

    A task has one of ``parts`` of the rows of an element of the batch. Without rows it has the element.
    """

    batch: tuple[DimLike, ...]
    rows: DimLike | None = None
    block: int = 1
    parts: int = 1

    @property
    def indices(self) -> Indices:
        """An index for each loop: over the batch, and over rows."""
        extents = self.batch if self.rows is None else (*self.batch, self.rows)
        return tuple(zip(_BATCH, extents, strict=False))

    @property
    def in_part(self) -> DimLike:
        """The blocks of a part, the last of which may have fewer."""
        return 1 if self.rows is None else block_count(block_count(self.rows, self.block), self.parts)

    @property
    def tasks(self) -> DimLike:
        """The number of tasks."""
        return product(self.batch) * self.parts

    def places(self) -> dict[LoopIndex, DimLike]:
        """Returns the values of the indices over batches and of the first row of a block, in a task and a block."""
        number: DimLike = _TASK.dim
        found: dict[LoopIndex, DimLike] = {}
        part = 0 if self.parts == 1 else number % self.parts
        number = number if self.parts == 1 else number // self.parts
        for place in reversed(range(len(self.batch))):
            is_first = product(self.batch[:place]) == 1
            found[_BATCH[place]] = number if is_first else number % self.batch[place]
            number = number // self.batch[place]
        found[FIRST] = (part * self.in_part + _BLOCK.dim) * self.block
        return found

    def blocks(self) -> DimLike:
        """Returns the number of blocks in a task."""
        if self.parts == 1 or self.rows is None:
            return self.in_part
        left = block_count(self.rows, self.block) - _TASK.dim % self.parts * self.in_part
        is_even = isinstance(self.rows, int) and self.rows % (self.block * self.parts) == 0
        return self.in_part if is_even else dim_max(dim_min(self.in_part, left), 0)


class SharedLoops(NamedTuple):
    """Kernels that share loops: the nests of one block of rows each, and the buffers of all.

    The nests are written with an index for each loop over the batch, and one for the first row of the block. To them
    the memory that is ``kept`` for one block is given; the kernel has it as scratch memory. An index of theirs stands
    for the ``start`` of some sums.
    """

    loops: OuterLoops
    nests: Body
    buffers: tuple[Buffer, ...]
    kept: tuple[Buffer, ...]
    origins: tuple[object, ...]
    start: DimLike = 0

    def kernel(self, nests: Body, before: Body = (), buffers: Sequence[Buffer] = ()) -> Kernel:
        """Returns the kernel of such ``nests``, with what a task does ``before`` its first block, and more buffers."""
        loops, places = self.loops, self.loops.places()
        nests = substituted(nests, {START: self.start})
        blocks = loops.blocks()
        if blocks == 1:
            body = substituted(substituted((*before, *nests), places), {_BLOCK: 0})
        else:
            body = (*substituted(before, places), For(_BLOCK, blocks, substituted(nests, places)))
        own = {buffer: replace(buffer, role="scratch") for buffer in self.kept}
        task = For(_TASK, loops.tasks, with_buffers(body, own), parallel=True)
        used = {entry.buffer for entry in walk(task.body) if isinstance(entry, Access)}
        listed = [own.get(buffer, buffer) for buffer in (*self.buffers, *buffers)]
        listed.sort(key=lambda buffer: not buffer.is_given)
        return Kernel("shared", tuple([buffer for buffer in listed if buffer in used]), (task,), self.origins)

    @property
    def bytes_kept(self) -> DimLike:
        """The bytes of the memory that is kept for one block."""
        return sum([buffer.nbytes for buffer in self.kept], start=0)

    def depends_on_block(self, body: Body) -> bool:
        """Whether statements are others in another block of the same task."""
        return any([entry.mentions(index) for entry in walk(body) for index in (FIRST, ROW, START)])


def joined(kernels: Sequence[Kernel], inner: Collection[str], loops: OuterLoops) -> SharedLoops | None:
    """Returns what ``kernels`` do one after the other, in shared loops; None where that is not certainly the same.

    Buffers of one name are the same memory. The ``inner`` ones are written and read by these kernels alone.
    """
    outer = loops.indices
    given = _given(kernels)
    members: list[Body] = []
    buffers = list(given.values())
    for kernel in kernels:
        body = inside(kernel, outer)
        if body is None:
            return None
        own = {buffer: given.get(buffer.name) or replace(buffer, name=f"own{len(buffers) + number}")
               for number, buffer in enumerate(kernel.buffers)}
        buffers += [buffer for buffer in own.values() if buffer not in buffers]
        members.append(with_buffers(body, own))
    if not all([is_apart(outer, members, given[name]) for name in _crossing(kernels)]):
        return None
    steps = {buffer: _step(members, buffer, outer[-1][0]) for name, buffer in given.items() if name in inner}
    kept = {buffer: replace(buffer, size=step * (1 if loops.rows is None else loops.block), role="inout")
            for buffer, step in steps.items()}
    nests = tuple([entry for member in members for entry in _nest(member, kept, loops)])
    if loops.rows is not None:
        again = _in_place(nests, list(kept.values()))
        nests = with_buffers(nests, again)
        kept = {buffer: own for buffer, own in kept.items() if own not in again}
        buffers = [buffer for buffer in buffers if buffer in kept or buffer not in steps]
    listed = tuple([kept.get(buffer, buffer) for buffer in buffers])
    origins = tuple([origin for kernel in kernels for origin in kernel.origins])
    return SharedLoops(loops, nests, listed, tuple(kept.values()), origins)


# -- kernels around common indices -----------------------------------------------------------------------------------


def inside(kernel: Kernel, outer: Indices) -> Body | None:
    """Returns what a kernel does at a point of the ``outer`` indices.

    None unless its outermost loops go through them, in their order, with iterations that are independent of each
    other. A loop that goes through several of them is split. Loops inside get indices with numbers of their own.
    """
    if kernel.parallel is None:
        return None
    left, body = list(outer), _renumbered(kernel.body)
    while left:
        loop = body[0] if len(body) == 1 else None
        taken = _taken(loop, left) if isinstance(loop, For) else None
        if taken is None or not isinstance(loop, For):
            return None
        count, rest = taken
        value = position_among(left[:count])
        left = left[count:]
        if rest == 1:
            body = substituted(loop.body, {loop.index: value})
        else:
            body = (replace(loop, extent=rest, parallel=False,
                            body=substituted(loop.body, {loop.index: value * rest + loop.index.dim})),)
    return body


def _taken(loop: For, left: Indices | list[tuple[LoopIndex, DimLike]]) -> tuple[int, DimLike] | None:
    """Returns how many of some indices a loop goes through, and how many turns it has at each point of these.

    It has more than one only where it goes through all of them. None if it goes through none, or not in any order.
    """
    if index_symbols(loop.extent) or not (loop.parallel or has_independent_iterations(loop)):
        return None
    for count in range(1, len(left) + 1):
        if equal(product([own for _, own in left[:count]]), loop.extent) is True:
            return count, 1
    whole = product([own for _, own in left])
    extent, size = [evaluate(x, dict.fromkeys(symbols(x), 1)) for x in (loop.extent, whole)]
    turns = extent // size if size else 0
    return (len(left), turns) if turns and equal(whole * turns, loop.extent) is True else None


def _renumbered(body: Body) -> Body:
    """Returns a body whose loops have indices with larger numbers than any so far, and than those of outer loops."""
    numbers = [index.number for entry in walk(body) if isinstance(entry, Loop) for index, _ in entry.indices]
    start = max([*numbers, _OUTER_INDICES]) + 1

    def moved(index: LoopIndex) -> LoopIndex:
        return LoopIndex(start + index.number)

    def changed(statement: Statement) -> Statement:
        statement = statement.map_bodies(lambda inner: tuple([changed(entry) for entry in inner]))
        if not isinstance(statement, Loop):
            return statement
        made = statement.map_bodies(lambda inner: substituted(
            inner, {index: moved(index).dim for index, _ in statement.indices}))
        if isinstance(made, For):
            return replace(made, index=moved(made.index))
        assert isinstance(made, Reduce | Contract | Fold)
        return replace(made, indices=tuple([(moved(index), extent) for index, extent in made.indices]))

    return tuple([changed(entry) for entry in body])


def with_buffers(body: Body, table: Mapping[Buffer, Buffer]) -> Body:
    """Returns a body that accesses other buffers in place of some."""
    def changed(statement: Statement) -> Statement:
        if isinstance(statement, Access | Prefetch):
            other = table.get(statement.buffer, statement.buffer)
            return statement if other is statement.buffer else _accessing(statement, other)
        return statement.map_bodies(lambda inner: tuple([changed(entry) for entry in inner]))

    return tuple([changed(entry) for entry in body])


def _accessing(statement: Access | Prefetch, buffer: Buffer) -> Statement:
    return replace(statement, buffer=buffer)


# -- memory ----------------------------------------------------------------------------------------------------------


def _given(kernels: Sequence[Kernel]) -> dict[str, Buffer]:
    """Returns the memory that kernels are given, by its names, in the role that it has for all of them."""
    found: dict[str, Buffer] = {}
    for buffer in [buffer for kernel in kernels for buffer in kernel.buffers if buffer.is_given]:
        before = found.setdefault(buffer.name, buffer)
        if before.role != buffer.role:
            found[buffer.name] = replace(before, role="inout")
    return found


def _crossing(kernels: Sequence[Kernel]) -> list[str]:
    """Returns the names of the memory that one kernel writes and another one touches."""
    touched = [{buffer.name for buffer in kernel.buffers if buffer.is_given} for kernel in kernels]
    written = [{entry.buffer.name for entry in walk(kernel.body) if isinstance(entry, Write)} for kernel in kernels]
    return sorted({name for at, own in enumerate(written) for other, names in enumerate(touched) if other != at
                   for name in own & names})


def _step(members: Iterable[Body], buffer: Buffer, index: LoopIndex) -> DimLike:
    """Returns the elements of a buffer that one point of the outer loops has."""
    return next(entry.address.step(index) for member in members for entry in walk(member)
                if isinstance(entry, Access) and entry.buffer is buffer)


def _in_place(nests: Body, kept: Sequence[Buffer]) -> dict[Buffer, Buffer]:
    """Returns the kept memory that may be that of another value.

    Rows of that value are not needed any more when the same rows of this one are written.
    """
    found: dict[Buffer, Buffer] = {}
    for place, nest in enumerate(nests):
        last, first = _touched(nest, last=True), _touched(nest, last=False)
        for new in [buffer for buffer in kept if buffer in first and buffer not in found]:
            if any([new in _touched(entry) for entry in nests[:place]]):
                continue
            ended = [old for old in kept if (old.dtype, old.size) == (new.dtype, new.size) and old in last
                     and last[old] < first[new] and old not in (*found, *found.values())
                     and not any([old in _touched(entry) for entry in nests[place + 1:]])]
            if ended:
                found[new] = ended[0]
    return found


def _touched(nest: Statement, last: bool = False) -> dict[Buffer, int]:
    """Returns the buffers that a nest touches, each with the number of the first, or the last, statement that does."""
    found: dict[Buffer, int] = {}
    for number, entry in enumerate([entry for body in nest.bodies for entry in body]):
        for buffer in {each.buffer for each in walk((entry,)) if isinstance(each, Access)}:
            found[buffer] = number if last else found.get(buffer, number)
    return found


def _nest(member: Body, kept: Mapping[Buffer, Buffer], loops: OuterLoops) -> Body:
    """Returns what a kernel does in a block of rows, with the memory that is ``kept`` for one block."""
    row = loops.indices[-1][0]
    in_block: dict[LoopIndex, DimLike] = {index: 0 for index, _ in loops.indices}
    moved: dict[LoopIndex, DimLike] = {}
    if loops.rows is not None:
        in_block[row], moved[row] = ROW.dim, FIRST.dim + ROW.dim

    def changed(statement: Statement) -> Statement:
        if isinstance(statement, Access) and statement.buffer in kept:
            return _accessing(statement.substitute(in_block), kept[statement.buffer])
        return statement.map_bodies(lambda inner: tuple([changed(entry) for entry in inner])).substitute(moved)

    body = tuple([changed(entry) for entry in member])
    if loops.rows is None:
        return body
    return (For(ROW, part_of(loops.rows, FIRST.dim, loops.block), body),)
