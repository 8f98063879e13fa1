"""The choice of kernels that share an outer loop, so that what passes between them stays in a core's own caches.

A value that one kernel writes and one kernel reads, nothing else, need not be in memory if both go through the same
rows. Kernels around products are joined, one after the other, where that is right and saves time.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.passes.pipelines import standard
>>> from nervure.support.machine import GENERIC
>>> q, k, v = [nv.Parameter(nv.float32, (8, 512, 64)) for _ in range(3)]
>>> scores = nv.ops.MatMul(q, nv.ops.Permute(k, (0, 2, 1)))
>>> attended = standard(nv.Function([nv.ops.MatMul(nv.ops.Softmax(scores, [2]), v)], [q, k, v]))
>>> step, = make_plan(attended).steps
>>> print(step)
kernel shared: reads argument 0, argument 1, argument 2; writes root 0
>>> print(*step.lowered.notes)
Contract, Multiply and Contract share their loop over (8, 90 rows at a time), of which 180 KiB stay in scratch memory
>>> len(make_plan(attended, GENERIC._replace(shares_loops=False)).steps)
3
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nervure.kernel.cluster.steps import SharedSteps, Step
from nervure.kernel.ir import Contract, Kernel, Load, walk
from nervure.kernel.live_columns import with_live_columns
from nervure.kernel.lower import LoweredKernel, LoweredOpaque
from nervure.kernel.routines import sides_of
from nervure.kernel.schedule.inner_nests import scheduled
from nervure.kernel.schedule.nests import nest_of
from nervure.kernel.shared_loops import OuterLoops, SharedLoops, joined, with_buffers
from nervure.kernel.tuning import FROM_MEMORY, LEAST_SHARED_ROWS, LENGTH_OF_ROWS, LENGTHS_OF_SYMBOLS
from nervure.memory.storage import Storage, StorageKind
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, equal, evaluate, product, symbols


class Made(NamedTuple):
    """A kernel, not yet scheduled, or a call that a step becomes."""

    lowered: LoweredKernel | LoweredOpaque
    step: Step


class SharingGroup(NamedTuple):
    """Kernels, by their numbers in a plan, that share loops."""

    numbers: tuple[int, ...]
    shared: SharedLoops
    storages: Mapping[str, Storage]

    def step(self, made: Sequence[Made]) -> SharedSteps:
        """Returns the steps that the kernels come from."""
        return SharedSteps(tuple(dict.fromkeys([made[number].step for number in self.numbers])))

    def scheduled(self, made: Sequence[Made], machine: Machine, known: dict[int, Kernel]) -> LoweredKernel:
        """Returns the kernel of all, with its loops in order. Groups of one structure share it: ``known`` has those so
        far, by the identity of their loops.
        """
        if id(self.shared) not in known:
            known[id(self.shared)] = scheduled(with_live_columns(self.shared), machine)
        origins = tuple([origin for number in self.numbers for origin in _kernel(made[number]).kernel.origins])
        kernel = replace(known[id(self.shared)], origins=origins)
        given = tuple([self.storages[buffer.name] for buffer in kernel.buffers if buffer.is_given])
        points: DimLike = 0
        for number in self.numbers:
            points = points + _kernel(made[number]).points
        return LoweredKernel(kernel, given, (), points, (self._described(made),))

    def _described(self, made: Sequence[Made]) -> str:
        """Describes which ops share which loops."""
        loops, size = self.shared.loops, self.shared.bytes_kept
        names = [type(step.ops[-1]).__name__ for step in dict.fromkeys([made[number].step for number in self.numbers])]
        kept = f"{size // 1024} KiB" if isinstance(size, int) else "some"
        over = ", ".join([*map(str, loops.batch), f"{loops.block} rows at a time"])
        return (f"{', '.join(names[:-1])} and {names[-1]} share their loop over ({over}), of which {kept} stay in "
                f"scratch memory")


def groups_of(made: Sequence[Made], lasting: Container[Storage],
              machine: Machine) -> tuple[list[SharingGroup], dict[int, str]]:
    """Returns the groups of kernels that share loops, and why others do not, where much memory passes between them.

    Operands of products in ``lasting`` memory are packed once for many calls, which is better.
    """
    found: dict[int, SharingGroup] = {}
    crossings, choices = _Crossings(made), _Choices(machine)
    left = [touching for storage, touching in crossings.inner()
            if _is_large(storage, machine) and any([_is_product(made[number]) for number in touching])]
    apart: dict[int, str] = {}
    while left:  # kernels that had to run between two others may have joined them meanwhile
        apart, tried = {}, left
        for touching in tried:
            numbers = tuple(sorted({number for own in touching
                                    for number in (found[own].numbers if own in found else (own,))}))
            group = _group(numbers, made, crossings, lasting, choices)
            if isinstance(group, SharingGroup):
                found.update(dict.fromkeys(numbers, group))
            else:
                apart[touching[0]] = f"shares no loop with the kernel that reads its result: {group}"
        left = [touching for touching in tried if touching[0] in apart]
        if len(left) == len(tried):
            break
    return list({group.numbers: group for group in found.values()}.values()), apart


def _kernel(made: Made) -> LoweredKernel:
    assert isinstance(made.lowered, LoweredKernel)
    return made.lowered


def _is_product(made: Made) -> bool:
    return isinstance(made.lowered, LoweredKernel) and _contract(made.lowered.kernel) is not None


def _contract(kernel: Kernel) -> Contract | None:
    """Returns the first contraction of a kernel, if it has one."""
    return next((entry for entry in walk(kernel.body) if isinstance(entry, Contract)), None)


def _is_large(storage: Storage, machine: Machine) -> bool:
    """Whether a storage does not fit in a core's own caches."""
    return _bytes(storage) > machine.own_cache


class _Crossings:
    """The storages of a call that one kernel writes and another one reads, and the kernels that touch each storage."""

    def __init__(self, made: Sequence[Made]) -> None:
        self._made = made
        self.readers: dict[Storage, list[int]] = {}
        self.writers: dict[Storage, list[int]] = {}
        for number, entry in enumerate(made):
            for storage, role in _touched(entry.lowered):
                if role != "out":
                    self.readers.setdefault(storage, []).append(number)
                if role != "in":
                    self.writers.setdefault(storage, []).append(number)

    def is_inner(self, storage: Storage, numbers: Sequence[int]) -> bool:
        """Whether only some kernels touch a storage, which the first of them writes and the others read."""
        writers, readers = self.writers.get(storage, ()), self.readers.get(storage, ())
        return (storage.kind is StorageKind.TEMPORARY and len(writers) == 1 and bool(readers)
                and {*writers, *readers} <= {*numbers} and writers[0] < min(readers))

    def inner(self) -> list[tuple[Storage, tuple[int, ...]]]:
        """Returns the storages that one kernel writes and others read, each with the numbers of these kernels."""
        touching = [(storage, (*writers, *self.readers.get(storage, ()))) for storage, writers in self.writers.items()]
        return [(storage, numbers) for storage, numbers in touching if self.is_inner(storage, numbers)]

    def may_wait(self, numbers: Sequence[int]) -> bool:
        """Whether all of some kernels may run in place of the last one."""
        for number in numbers:
            own = dict(_touched(self._made[number].lowered))
            for other in range(number + 1, numbers[-1]):
                if other in numbers:
                    continue
                theirs = dict(_touched(self._made[other].lowered))
                if any([storage in theirs and (role != "in" or theirs[storage] != "in")
                        for storage, role in own.items()]):
                    return False
        return True


def _touched(lowered: LoweredKernel | LoweredOpaque) -> list[tuple[Storage, str]]:
    if isinstance(lowered, LoweredOpaque):
        return [*[(storage, "in") for storage in lowered.bases.values()],
                *[(storage, "out") for storage in lowered.outputs]]
    given = [buffer for buffer in lowered.kernel.buffers if buffer.is_given]
    return [(storage, buffer.role) for buffer, storage in zip(given, lowered.storages, strict=True)]


def _group(numbers: tuple[int, ...], made: Sequence[Made], crossings: _Crossings, lasting: Container[Storage],
           choices: _Choices) -> SharingGroup | str:
    """Returns the group of some kernels; or why they share no loops."""
    members = [made[number].lowered for number in numbers]
    lowered = [entry for entry in members if isinstance(entry, LoweredKernel) and not entry.failures]
    if len(lowered) < len(numbers):
        return "one of them may fail"
    if not crossings.may_wait(numbers):
        return "another kernel has to run between them"
    if any([_packs_once(entry, lasting) for entry in lowered]):
        return "an operand that is packed once for many calls would be packed in each"
    names = {storage: f"m{number}" for number, storage in enumerate(dict.fromkeys(
        [storage for entry in lowered for storage in entry.storages]))}
    inner = [storage for storage in names if crossings.is_inner(storage, numbers)]
    shared = choices.of(lowered, names, inner)
    if isinstance(shared, str):
        return shared
    return SharingGroup(numbers, shared, {name: storage for storage, name in names.items() if storage not in inner})


class _Choices:
    """The choices for kernels that may share loops on a machine, each made once for all kernels of one structure."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[Hashable, tuple[Sequence[LoweredKernel], SharedLoops | str]] = {}

    def of(self, lowered: Sequence[LoweredKernel], names: Mapping[Storage, str],
           inner: Sequence[Storage]) -> SharedLoops | str:
        """Returns the loops that kernels share, whose memory has ``names`` and is partly theirs alone; or why none."""
        key = tuple([(id(entry.kernel.body), tuple([names[storage] for storage in entry.storages]))
                     for entry in lowered]), tuple([names[storage] for storage in inner])
        if key not in self._known:  # bodies are known by their identity, as those in the table live
            self._known[key] = lowered, self._choice(lowered, names, inner)
        return self._known[key][1]

    def _choice(self, lowered: Sequence[LoweredKernel], names: Mapping[Storage, str],
                inner: Sequence[Storage]) -> SharedLoops | str:
        machine, own = self._machine, [names[storage] for storage in inner]
        kernels = [_named(entry, names) for entry in lowered]
        outer = next((found for entry in lowered if (found := _outer(entry.kernel)) is not None), None)
        if outer is None:
            return "the product has no rows"
        if any([_has_columns_outside(kernel) for kernel in kernels]):
            return "the outer loops go over columns of a product, whose rows would be apart from each other"
        rows = outer[-1]
        batches = dict.fromkeys([outer[:-1], *_splits(kernels, outer)])
        ways = (joined(kernels, own, OuterLoops(batch, rows)) for batch in batches)
        row = next((way for way in ways if way is not None), None)
        if row is None:
            return f"they do not go through the same ({', '.join(map(str, outer))}) rows"
        batch = row.loops.batch
        if not isinstance(rows, int) and isinstance(row.bytes_kept, int) and _number(product(batch)) < machine.threads:
            return "the number of rows is a symbol, so that there may be too few blocks for all threads"
        loops = _loops(row, machine)
        if loops is None:
            return f"half of a core's own cache holds fewer than {LEAST_SHARED_ROWS} rows of what passes between them"
        saved = sum([2 * _moving(_bytes(storage), machine) for storage in inner])
        spent = sum([_read_again(kernel, loops, machine) for kernel in kernels])
        if spent >= saved:
            return (f"to read operands again for each {loops.block} rows takes {spent / 1000:.0f} us, more than the "
                    f"{saved / 1000:.0f} us that it saves")
        shared = joined(kernels, own, loops)
        assert shared is not None
        return shared


def _packs_once(lowered: LoweredKernel, lasting: Container[Storage]) -> bool:
    """Whether a product reads memory that stays the same from call to call."""
    stays = {buffer.name for buffer in lowered.kernel.buffers
             if buffer.is_given and lowered.memory[buffer.name] in lasting}
    return any([isinstance(entry, Load) and entry.buffer.name in stays for contract in walk(lowered.kernel.body)
                if isinstance(contract, Contract) for entry in contract.body])


def _bytes(storage: Storage) -> int:
    """Returns the bytes of memory. The last two dimensions are rows, and their length."""
    rows, batch = storage.shape[-2:], storage.shape[:-2]
    return _length(product(rows)) * _number(product(batch)) * storage.dtype.itemsize


def _number(x: DimLike) -> int:
    """Returns the elements of a batch, with the number that is assumed of symbols."""
    return evaluate(x, dict.fromkeys(symbols(x), LENGTHS_OF_SYMBOLS[1]))


def _length(x: DimLike) -> int:
    """Returns a number or a length of rows, with the one that is assumed of symbols."""
    return evaluate(x, dict.fromkeys(symbols(x), LENGTH_OF_ROWS))


def _moving(size: int, machine: Machine) -> float:
    """Returns the nanoseconds to read, or to write, memory of a size once."""
    if size <= machine.first_cache:
        return 0.0
    if size <= machine.own_cache:
        return size * machine.byte_from_cache
    return size * machine.byte_outside * (1.0 if size <= machine.shared_cache else FROM_MEMORY)


def _read_again(kernel: Kernel, loops: OuterLoops, machine: Machine) -> float:
    """Returns the nanoseconds to read the right operand of a product for each block.

    Those for each block of a product by itself do not count.
    """
    contract = _contract(kernel)
    if contract is None or loops.rows is None:
        return 0.0
    rows, batch = _length(loops.rows), _number(product(loops.batch))
    points = _length(product([extent for _, extent in contract.indices]))
    columns = _length(nest_of(kernel.parallel).loops[-1].extent) if kernel.parallel is not None else 0
    more = -(-rows // loops.block) - -(-rows // machine.products.packed_rows)
    return max(more, 0) * batch * _moving(points * columns * contract.result.dtype.itemsize, machine)


def _named(lowered: LoweredKernel, names: Mapping[Storage, str]) -> Kernel:
    """Returns a kernel whose memory has names that all kernels know it by."""
    given = iter(lowered.storages)
    table = {buffer: replace(buffer, name=names[next(given)]) if buffer.is_given else buffer
             for buffer in lowered.kernel.buffers}
    kernel = lowered.kernel
    return replace(kernel, buffers=tuple(table.values()), body=with_buffers(kernel.body, table))


def _outer(kernel: Kernel) -> tuple[DimLike, ...] | None:
    """Returns the extents of the loops outside a product's loop over columns; None for another kernel."""
    if kernel.parallel is None:
        return None
    nest = nest_of(kernel.parallel)
    if not any([isinstance(entry, Contract) for entry in nest.body]) or len(nest.loops) < 2:
        return None
    return tuple([loop.extent for loop in nest.loops[:-1]])


def _splits(kernels: Sequence[Kernel], outer: tuple[DimLike, ...]) -> Iterator[tuple[DimLike, ...]]:
    """Yields the loops over a batch in kernels that have more of them, with rows as in the ``outer`` loops behind."""
    for kernel in kernels:
        extents = () if kernel.parallel is None else tuple([loop.extent for loop in nest_of(kernel.parallel).loops])
        for count in range(len(outer), len(extents)):
            if extents[count] == outer[-1] and equal(product(extents[:count]), product(outer[:-1])) is True:
                yield extents[:count]


def _has_columns_outside(kernel: Kernel) -> bool:
    """Whether the loop just outside a product's loop over columns runs over columns, too, as lines of an image do."""
    contract = _contract(kernel)
    if contract is None or kernel.parallel is None:
        return False
    *outer, columns = nest_of(kernel.parallel).loops
    sides = sides_of(contract, columns.index)
    return sides is not None and bool(outer) and sides[1].mentions(outer[-1].index)


def _loops(row: SharedLoops, machine: Machine) -> OuterLoops | None:
    """Returns the loops of kernels in blocks of as many rows as fit half of a core's own cache.

    Those in blocks of a single ``row`` are given. None where too few rows fit.
    """
    assert row.loops.rows is not None
    batch, rows, each = _number(product(row.loops.batch)), _length(row.loops.rows), _length(row.bytes_kept)
    most = min(machine.own_cache // 2 // max(each, 1), machine.panel_rows)
    if most < min(LEAST_SHARED_ROWS, rows):
        return None
    block = _even(rows, most, machine.tile_rows)
    parts = min(-(-rows // block), -(-machine.threads // batch))
    return row.loops._replace(block=block, parts=parts)


def _even(rows: int, most: int, multiple: int) -> int:
    """Returns the rows of a block: at most ``most``, about as many in each, and a ``multiple`` if there are more."""
    blocks = -(-rows // most)
    each = -(-rows // blocks)
    if blocks == 1 or each <= multiple:
        return each
    whole = -(-each // multiple) * multiple
    return whole if whole <= most else most // multiple * multiple
