"""The meaning of the loop IR: a kernel run statement by statement, point by point. Clarity over speed.

>>> import numpy as np
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.interpreter.scalar import NumPyScalars
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[3], out y: f32[1]):
...   v0 = reduce add over i < 3:
...     v1 = x[i]
...     give v1
...   y[0] = v0
... ''')
>>> buffers = {"x": np.float32([1, 2, 3]), "y": np.empty(1, np.float32)}
>>> interpret(kernel, buffers, {}, NumPyScalars()), buffers["y"]
([], array([6.], dtype=float32))

A kernel that relies on undefined behaviour is an InternalError here: it uses a place outside of a buffer, or an
element of a scratch or an ``out`` buffer that has not been written in the same iteration of the loop that threads
share, or of a private buffer, written in another iteration of a loop in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any, NamedTuple, NoReturn

import numpy as np

from nervure.errors import InternalError
from nervure.kernel import ir
from nervure.kernel.combiners import FUNCTIONS, unit
from nervure.kernel.groups import BlockGroups
from nervure.kernel.printer import describe
from nervure.kernel.scalar_types import carries_type
from nervure.ops.scalar import ScalarNamespace
from nervure.types.dim import DimLike, compile_dim
from nervure.types.dtype import DType


class CheckFailed(NamedTuple):
    """A check that did not hold."""

    number: int
    value: int


def interpret(kernel: ir.Kernel, buffers: Mapping[str, np.ndarray], bindings: Mapping[str, int],
              scalars: ScalarNamespace[np.ndarray], backwards: bool = False) -> list[CheckFailed]:
    """Runs a kernel on flat arrays, one for each buffer except the scratch ones, by name; writes into them.

    ``bindings`` are the values of the symbols; ``scalars``, over NumPy's scalars, gives the functions their meaning.
    Returns all checks that did not hold, in order: a call reports one of them. With ``backwards`` the iterations of
    parallel and vector loops run from the last to the first, which must change nothing else.
    """
    run = _Run(kernel, buffers, bindings, scalars, backwards)
    with np.errstate(all="ignore"):
        run.block(kernel.body)
    return run.failures


class Accumulator:
    """A reduction in its order: it combines numbers that arrive one after the other.

    >>> from nervure.transformers.interpreter.scalar import NumPyScalars
    >>> from nervure.types.dtype import float32
    >>> numbers = Accumulator("add", float32, NumPyScalars())
    >>> for number in (1e8, 1.0, -1e8):
    ...     numbers.add(np.float32(number))
    >>> float(numbers.result())        # (0 + (1e8 + -1e8)) + (1 + 0): lane 2 meets lane 0 before lane 1 does
    1.0
    """

    def __init__(self, combine: str, dtype: DType, scalars: ScalarNamespace[np.ndarray],
                 order: ir.Order = ir.DEFAULT_ORDER, start: Any = None) -> None:
        self._order = order
        self._combine: Callable[[Any, Any], Any] = getattr(scalars, FUNCTIONS[combine])
        self._unit = dtype.numpy.type(unit(combine, dtype).value) if start is None else start
        self._groups = BlockGroups(self._combine, self._unit, order.group)
        self._lanes = [self._unit] * order.lanes
        self._count = 0

    def add(self, value: Any) -> None:
        """Adds the next point."""
        if self._count == self._order.block:
            if self._order.group == 1:
                raise InternalError("a reduction of one block has more points")
            self._end_block()
        lane = self._count % self._order.lanes
        self._lanes[lane] = self._combine(self._lanes[lane], value)
        self._count += 1

    def result(self) -> Any:
        """Returns the result of the points so far."""
        if self._count:
            self._end_block()
        return self._groups.result()

    def _end_block(self) -> None:
        lanes = self._lanes
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [self._combine(lanes[lane], lanes[lane + half]) for lane in range(half)]
        self._groups.add(lanes[0])
        self._lanes = [self._unit] * self._order.lanes
        self._count = 0


class _Memory:
    """A buffer in a run. ``written`` are the places that this iteration has written, None if all may be read."""

    def __init__(self, array: np.ndarray, written: set[int] | None) -> None:
        self.array, self.written = array, written


class _Run:
    def __init__(self, kernel: ir.Kernel, buffers: Mapping[str, np.ndarray], bindings: Mapping[str, int],
                 scalars: ScalarNamespace[np.ndarray], backwards: bool) -> None:
        self._kernel, self._scalars, self._backwards = kernel, scalars, backwards
        self._has_lanes = False  # in a loop that runs in lanes
        self._names = dict(bindings)  # values of symbols and loop indices
        self._values: dict[ir.Variable, Any] = {}
        self._compiled: dict[int, tuple[DimLike, Callable[[Mapping[str, int]], int]]] = {}  # by the id of each
        self._memory = {buffer: self._open(buffer, buffers) for buffer in kernel.buffers}
        self.failures: list[CheckFailed] = []

    def _open(self, buffer: ir.Buffer, arrays: Mapping[str, np.ndarray]) -> _Memory:
        size = self._number(buffer.size)
        if not buffer.is_given:
            return _Memory(np.zeros(size, buffer.dtype.numpy), set())
        array = arrays[buffer.name]
        if array.shape != (size,) or array.dtype != buffer.dtype.numpy:
            raise InternalError(f"{self._kernel.name}: the buffer {buffer.name} has {size} elements of {buffer.dtype}, "
                                f"not {array.shape} of {array.dtype}")
        return _Memory(array, set() if buffer.role == "out" else None)

    # -- numbers -----------------------------------------------------------------------------------------

    def _number(self, x: DimLike) -> int:
        if isinstance(x, int):
            return x
        found = self._compiled.get(id(x))
        if found is None:
            found = self._compiled[id(x)] = x, compile_dim(x)
        return found[1](self._names)

    def _scalar(self, x: ir.Scalar) -> Any:
        return x.dtype.numpy.type(x.value) if isinstance(x, ir.Literal) else self._values[x]

    def _define(self, statement: ir.Statement, variable: ir.Variable, value: Any) -> None:
        if value.dtype != variable.dtype.numpy:
            self._fail(statement, f"it gives {value.dtype}, not {variable.dtype}")
        self._values[variable] = value[()]  # a scalar, also from an array without dimensions

    def _place(self, statement: ir.Access, address: ir.Address) -> int:
        """Returns the place of a load or store, which must be inside of its buffer."""
        place = self._position(address)
        size = len(self._memory[statement.buffer].array)
        if not 0 <= place < size:
            self._fail(statement, f"place {place} is outside of {statement.buffer.name}, which has {size}")
        return place

    def _position(self, address: ir.Address) -> int:
        base, names = address.base, self._names
        place = base if isinstance(base, int) else self._number(base)
        for index, step in address.steps:
            place += (step if isinstance(step, int) else self._number(step)) * names[index.name]
        for stride, variable in address.terms:
            place += self._number(stride) * int(self._scalar(variable))
        return place

    def _fail(self, statement: ir.Statement, problem: str) -> NoReturn:
        raise InternalError(f"{describe(self._kernel, statement)}: {problem}")

    # -- statements --------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ir.Statement]) -> None:
        """Runs statements in order."""
        for statement in statements:
            _RUNS[type(statement)](self, statement)

    def _for(self, loop: ir.For) -> None:
        extent, most = self._number(loop.extent), 1 if loop.strip is None else loop.strip.most
        iterations, is_shared = range(0, extent, most), loop is self._kernel.parallel
        for iteration in reversed(iterations) if self._backwards and (loop.parallel or loop.vector) else iterations:
            if is_shared:
                self._forget("out", "scratch")
            self._names[loop.index.name] = iteration
            if loop.strip is not None:
                self._names[loop.strip.length.name] = min(most, extent - iteration)
            self._iteration(loop)

    def _iteration(self, loop: ir.For | ir.Reduce | ir.Fold | ir.Contract) -> None:
        """Runs the body of a loop, whose iterations have private memory if it is the outermost one in lanes."""
        if self._has_lanes or not loop.in_lanes:
            self.block(loop.body)
            return
        self._has_lanes = True
        self._forget("private")
        self.block(loop.body)
        self._has_lanes = False

    def _forget(self, *roles: str) -> None:
        for buffer, memory in self._memory.items():
            if memory.written is not None and buffer.role in roles:
                memory.written.clear()

    def _points(self, loop: ir.Reduce | ir.Fold | ir.Contract) -> Any:
        """Runs the body at each point, in row-major order, and yields its values."""
        names = [index.name for index, _ in loop.indices]
        given = (loop.left, loop.right) if isinstance(loop, ir.Contract) else loop.values
        for point in product(*[range(self._number(extent)) for _, extent in loop.indices]):
            self._names.update(zip(names, point, strict=True))
            self._iteration(loop)
            yield [self._scalar(value) for value in given]

    def _reduce(self, loop: ir.Reduce) -> None:
        start = [self._scalar(value) for value in loop.start] or [None] * len(loop.results)
        accumulators = [Accumulator(combine, variable.dtype, self._scalars, loop.order, value)
                        for combine, variable, value in zip(loop.combine, loop.results, start, strict=True)]
        for values in self._points(loop):
            for accumulator, value in zip(accumulators, values, strict=True):
                accumulator.add(value)
        for variable, accumulator in zip(loop.results, accumulators, strict=True):
            self._define(loop, variable, accumulator.result())

    def _fold(self, loop: ir.Fold) -> None:
        total: list[Any] | None = None
        for values in self._points(loop):
            if total is None:
                total = values
                continue
            self._values.update(zip((*loop.left, *loop.right), (*total, *values), strict=True))
            self.block(loop.combine)
            total = [self._scalar(value) for value in loop.combined]
        if total is None:
            self._fail(loop, "there is no point")
        for variable, value in zip(loop.results, total, strict=True):
            self._define(loop, variable, value)

    def _contract(self, loop: ir.Contract) -> None:
        zero = loop.result.dtype.numpy.type(0)
        blocks = [zero]
        for number, (left, right) in enumerate(self._points(loop)):
            if number and number % ir.CONTRACT_BLOCK == 0:
                blocks.append(zero)
            blocks[-1] = self._scalars.fma(left, right, blocks[-1])
        totals = [reduce(self._scalars.add, blocks[start:start + ir.CONTRACT_GROUP], *((zero,) if start else ()))
                  for start in range(0, len(blocks), ir.CONTRACT_GROUP)]
        self._define(loop, loop.result, reduce(self._scalars.add, totals))

    def _apply(self, statement: ir.Apply) -> None:
        function = getattr(self._scalars, statement.function)
        operands = [self._scalar(operand) for operand in statement.operands]
        if carries_type(statement.function):
            operands.append(statement.result.dtype)
        self._define(statement, statement.result, function(*operands))

    def _index(self, statement: ir.Index) -> None:
        self._define(statement, statement.result, np.int64(self._number(statement.expression)))

    def _load(self, statement: ir.Load) -> None:
        if statement.valid is not None and not self._scalar(statement.valid):
            assert statement.fill is not None
            self._define(statement, statement.result, self._scalar(statement.fill))
            return
        self._define(statement, statement.result, self._read(statement, self._place(statement, statement.address)))

    def _read(self, statement: ir.Load | ir.Store, place: int) -> Any:
        memory = self._memory[statement.buffer]
        if memory.written is not None and place not in memory.written:
            self._fail(statement, f"place {place} of {statement.buffer.name} has not been written in this turn")
        return memory.array[place]

    def _store(self, statement: ir.Store) -> None:
        if statement.valid is not None and not self._scalar(statement.valid):
            return
        place = self._place(statement, statement.address)
        value = self._scalar(statement.value)
        if statement.combine is not None:
            value = getattr(self._scalars, FUNCTIONS[statement.combine])(self._read(statement, place), value)
        self._write(statement.buffer, place, value)

    def _interleaved_store(self, statement: ir.InterleavedStore) -> None:
        for address, value in zip(statement.addresses, statement.values, strict=True):
            self._write(statement.buffer, self._place(statement, address), self._scalar(value))

    def _write(self, buffer: ir.Buffer, place: int, value: Any) -> None:
        memory = self._memory[buffer]
        memory.array[place] = value
        if memory.written is not None:
            memory.written.add(place)

    def _prefetch(self, statement: ir.Prefetch) -> None:
        """Computes the address of a prefetch, which has no other effect."""
        self._position(statement.address)

    def _check(self, statement: ir.Check) -> None:
        if not self._scalar(statement.condition):
            self.failures.append(CheckFailed(statement.failure, int(self._scalar(statement.value))))


_RUNS: dict[type, Callable[[_Run, Any], None]] = {
    ir.For: _Run._for, ir.Reduce: _Run._reduce, ir.Fold: _Run._fold, ir.Contract: _Run._contract, ir.Apply: _Run._apply,
    ir.Index: _Run._index, ir.Load: _Run._load, ir.Store: _Run._store, ir.InterleavedStore: _Run._interleaved_store,
    ir.Prefetch: _Run._prefetch, ir.Check: _Run._check}
