"""Kernel builder: the common part of all lowering rules, with memory of values, a kernel being made, and loop nests.

>>> from nervure.kernel.ir import Store
>>> loops, = nested([(LoopIndex(0), 8), (LoopIndex(1), 4)], ())
>>> (loops.index, loops.parallel, loops.vector), (loops.body[0].index, loops.body[0].parallel, loops.body[0].vector)
((%0, True, False), (%1, False, True))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.ir.op import Op, Value
from nervure.kernel import combiners
from nervure.kernel.cluster.inside import Place
from nervure.kernel.cluster.steps import Loops, Opaque
from nervure.kernel.coordinates import Coordinates, Point, position, reshaped, through, without_ones
from nervure.kernel.failures import Failure
from nervure.kernel.ir import COMBINERS, Buffer, For, Kernel, Literal, Scalar, Statement, Store
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.lower.values import ValueLowering
from nervure.kernel.producers import ProducerAnalysis, in_memory
from nervure.memory.storage import Storage, StorageKind
from nervure.types.dim import Dim, DimLike, product
from nervure.types.dtype import DType
from nervure.types.index_map import indices
from nervure.types.shape import Shape

Indices = Sequence[tuple[LoopIndex, DimLike]]


class LoweredKernel(NamedTuple):
    """A kernel and the memory of its buffers (without scratch), in their order.

    ``failures`` are those that its checks may find, in the order of their numbers, ``points`` is how often its
    innermost statements run. ``notes`` say what an explanation should.
    """

    kernel: Kernel
    storages: tuple[Storage, ...]
    failures: tuple[Failure, ...]
    points: DimLike
    notes: tuple[str, ...] = ()

    @property
    def memory(self) -> dict[str, Storage]:
        """The memory of each buffer that the kernel is given, by its name."""
        given = [buffer.name for buffer in self.kernel.buffers if buffer.is_given]
        return dict(zip(given, self.storages, strict=True))


class LoweredOpaque(NamedTuple):
    """An op that has no loops. ``bases`` are the stored values from which its operands are made by views."""

    op: Op
    bases: dict[Value, Storage]
    outputs: tuple[Storage, ...]


class BufferAssignment:
    """The memory of the values of a function, as far as they have any; some lie inside of others."""

    def __init__(self, producers: ProducerAnalysis) -> None:
        self.producers, self.ops = producers, producers.ops
        self.places: dict[Value, Storage] = {}
        self.repeated: dict[Value, list[Storage]] = {}  # more memory for values that are several results
        self.roots: dict[int, Storage] = {}
        self.held: dict[Storage, Value] = {}
        self.inside: Mapping[Value, Place] = {}

    def of(self, value: Value) -> Storage:
        """Returns the memory of a value that has some."""
        storage = self.places.get(value)
        if storage is None:
            raise InternalError(f"{value.op!r} of {value.op.location} has no memory")
        return storage

    def position(self, value: Value, point: Point) -> DimLike:
        """Returns the position of an element of a value in its memory."""
        place = self.inside.get(value)
        if place is None:
            return place_in(self.of(value), point, value.shape)
        below = without_ones(through(point, value.shape), value.shape, place.shape)
        assert below is not None  # they differ in lengths of 1 alone
        return self.position(place.whole, tuple([start + at for start, at in zip(place.starts, below, strict=True)]))

    def within(self, value: Value) -> tuple[tuple[object, ...], ...]:
        """Returns the places of a value inside of others, from one to the next; nothing if it has memory of its own."""
        places: list[tuple[object, ...]] = []
        while (place := self.inside.get(value)) is not None:
            value = place.whole
            places.append((place.starts, place.shape, value.shape))
        return tuple(places)

    def temporary(self, dtype: DType, shape: Shape, value: Value) -> Storage:
        """Allocates memory for the time of a call, for a value or for its partial results."""
        storage = Storage(StorageKind.TEMPORARY, dtype, shape, len(self.held))
        self.held[storage] = value
        return storage

    def derived(self, dtype: DType, shape: Shape, value: Value) -> Storage:
        """Allocates memory for what is derived from a ``value`` that lasts."""
        storage = Storage(StorageKind.DERIVED, dtype, shape, len(self.held))
        self.held[storage] = value
        return storage


def place_in(storage: Storage, point: Point, shape: Shape) -> DimLike:
    """Returns the position in memory of an element of a tensor of this ``shape``, which may differ from the memory's.
    """
    if storage.layout is None:
        return position(point, shape)
    return storage.layout.place(through(reshaped(point, shape, storage.shape), storage.shape))


class KernelBuilder:
    """One kernel while it is being made."""

    def __init__(self, memory: BufferAssignment, shape: Shape, computed: Mapping[Op, object],
                 more: Indices = ()) -> None:
        self.memory = memory
        self._computed = computed
        self._buffers: dict[Storage, Buffer] = {}
        self._scratch: list[Buffer] = []
        self.elements = ValueLowering(memory.ops, self._loaded, dict([*loops_over(shape), *more]), memory.position)

    def _loaded(self, value: Value) -> Buffer | None:
        storage = self.memory.places.get(value)
        return None if storage is None or value.op in self._computed else self.buffer(storage)

    def buffer(self, storage: Storage, role: str = "in") -> Buffer:
        """Returns the buffer of a storage. The first call says whether it is read, written or both."""
        found = self._buffers.get(storage)
        if found is None:
            name = f"b{len(self._buffers)}"
            found = self._buffers[storage] = Buffer(name, storage.dtype, storage.size, role)
        return found

    def scratch(self, dtype: DType, size: DimLike) -> Buffer:
        """Adds a scratch buffer, of which each thread has its own."""
        buffer = Buffer(f"s{len(self._scratch)}", dtype, size, "scratch")
        self._scratch.append(buffer)
        return buffer

    def store(self, buffer: Buffer, offset: DimLike, value: Scalar, combine: str | None = None,
              valid: Scalar | None = None) -> None:
        """Appends a store of ``value`` at an ``offset``, of nothing in an empty buffer."""
        address, valid = self.elements.address(offset), self.elements.if_any(offset, valid)
        self.elements.statements.add(Store(buffer, address, value, combine, valid))

    def store_value(self, value: Value, point: Point, element: Scalar, role: str = "out") -> None:
        """Appends a store of the ``element`` of a value at a ``point``, where the value lies, and wherever else it is
        wanted.
        """
        self.store(self.buffer(self.memory.of(value), role), self.memory.position(value, point), element)
        for storage in self.memory.repeated.get(value, ()):
            self.store(self.buffer(storage, "out"), place_in(storage, point, value.shape), element)

    def finish(self, name: str, body: Sequence[Statement], points: DimLike, origins: Sequence[Op]) -> LoweredKernel:
        """Returns the kernel, with its ``name`` and ``body``."""
        buffers = (*self._buffers.values(), *self._scratch)
        kernel = Kernel(name, buffers, tuple(body), tuple(origins))
        return LoweredKernel(kernel, tuple(self._buffers), tuple(self.elements.failures), points)


def lower_store(memory: BufferAssignment, name: str, op: Op, shape: Shape, target: Storage, place: DimLike,
                element: Callable[[KernelBuilder], Scalar], is_computed: bool = True) -> LoweredKernel:
    """Returns the kernel that stores one ``element`` at a ``place`` for each point of a ``shape``.

    The kernel computes the values of the ``op``, or reads them where they lie.
    """
    builder = KernelBuilder(memory, shape, {op: None} if is_computed else {})
    with builder.elements.body() as body:
        buffer = builder.buffer(target, "out")
        builder.store(buffer, place, element(builder))
    return builder.finish(name, nested(loops_over(shape), body.list), product(shape), [op])


def lower_opaque(step: Opaque, memory: BufferAssignment) -> list[LoweredOpaque]:
    """Returns an op that runs whole, on the stored values that it reads, through views that are applied then."""
    read = [memory.producers.base(operand)[0] for operand in in_memory(step.op)]
    bases = {value: memory.places[value] for value in read if value in memory.places}
    return [LoweredOpaque(step.op, bases, tuple([memory.of(value) for value in step.op.outputs]))]


def here(shape: Shape) -> tuple[Dim, ...]:
    """Returns the loops' own index."""
    return indices(len(shape))


def nested(loops: Indices, body: Sequence[Statement], vector: bool = True,
           parallel: bool = True) -> tuple[Statement, ...]:
    """Nests ``loops``: threads share the outermost, the innermost runs in lanes. Without loops it is the body.

    Loops of one iteration, which will vanish, count as neither: the first and the last of the others do.
    """
    inner = tuple(body)
    long = [depth for depth, (_, extent) in enumerate(loops) if extent != 1] or [0]
    for depth, (counted, extent) in reversed(list(enumerate(loops))):
        inner = (For(counted, extent, inner, parallel and depth == long[0], vector and depth == long[-1]),)
    return inner


def loops_over(shape: Shape, axes: Sequence[int] | None = None) -> list[tuple[LoopIndex, DimLike]]:
    """Returns loops over some axes of a shape, all by default."""
    return [(LoopIndex(axis), shape[axis]) for axis in (range(len(shape)) if axes is None else axes)]


def row_point(step: Loops, value: Value) -> Coordinates:
    """Returns the position of the row of the loops in a value of one element a row."""
    point = step.row_point(value.shape)
    if point is None:
        raise InternalError(f"{value.op!r} has no element for each row of {step}")
    return point


def initial_value(combine: str | None, dtype: DType) -> Literal:
    """Returns the initial value of a combiner; 0 if the last write wins."""
    return combiners.unit(combine if combine in COMBINERS else "add", dtype)
