"""The verifier of kernels: the invariants of every kernel before it becomes machine code.

>>> from nervure.kernel.parser import parse_kernel
>>> text = "kernel fill(out y: f32[12]):\\n  for i < {}:\\n    y[i + 1] = 0.0_f32"
>>> verify_kernel(parse_kernel(text.format(11)))
>>> verify_kernel(parse_kernel(text.format(12)))
Traceback (most recent call last):
    ...
nervure.errors.InternalError: fill: y[i + 1] = 0.0_f32: not all of its places are inside of y, which has 12 elements
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from nervure.errors import InternalError
from nervure.kernel import ir
from nervure.kernel.combiners import FUNCTIONS
from nervure.kernel.dependence import conflicting_accesses
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.printer import describe
from nervure.kernel.reach import reach
from nervure.kernel.routines import is_routine
from nervure.kernel.scalar_types import carries_type, result_type
from nervure.types.dim import Dim, DimLike, dim_min, evaluate, highest, index_symbols, less_equal, substitute, symbols
from nervure.types.dtype import DType, bool_, int64

ROLES = ("in", "out", "inout", "scratch", "private")


def verify_kernel(kernel: ir.Kernel, unproved: list[ir.Statement] | None = None) -> None:
    """Raises InternalError, naming the first statement that violates an invariant.

    Variables are defined once, before they are read and in a loop around the read. Functions take their operands'
    types. Loop indices are those of loops around, whose names differ. Every place is inside of its buffer: that is
    proved, or tried if everything is a number; else the access has a condition, or its place depends on data, or it is
    appended to ``unproved``, if given. Nothing is stored to ``in`` buffers, and ``out`` and scratch buffers are read
    only after a store. Iterations of parallel and vector loops do not touch elements that another iteration writes, as
    far as that can be decided.
    """
    _check_buffers(kernel)
    _Verifier(kernel, unproved).block(kernel.body)


def _check_buffers(kernel: ir.Kernel) -> None:
    names: set[str] = set()
    for buffer in kernel.buffers:
        if buffer.name in names:
            raise InternalError(f"{kernel.name}: two buffers are called {buffer.name}")
        names.add(buffer.name)
        if buffer.role not in ROLES:
            raise InternalError(f"{kernel.name}: the buffer {buffer.name} is {buffer.role!r}, not {' or '.join(ROLES)}")
        if index_symbols(buffer.size) or less_equal(0, buffer.size) is False:
            raise InternalError(f"{kernel.name}: the buffer {buffer.name} has {buffer.size} elements")


class _Verifier:
    def __init__(self, kernel: ir.Kernel, unproved: list[ir.Statement] | None) -> None:
        self._kernel, self._unproved = kernel, unproved
        self._buffers = set(kernel.buffers)
        self._defined: set[ir.Variable] = set()
        self._visible: set[ir.Variable] = set()
        self._ranges: dict[str, tuple[DimLike, DimLike]] = {}  # ranges of the indices of the loops around
        self._loops: Indices = ()  # the same, from the outside in
        self._runs = True  # False in a loop that certainly has no iteration
        self._written: set[ir.Buffer] = set()
        self._in_parallel = False
        self._lanes: LoopIndex | None = None  # the index of the outermost loop around that runs in lanes
        self._has_parallel = any([isinstance(entry, ir.For) and entry.parallel for entry in ir.walk(kernel.body)])

    def block(self, statements: Iterable[ir.Statement]) -> None:
        """Verifies statements in order."""
        for statement in statements:
            check = _CHECKS.get(type(statement))
            if check is None:
                raise InternalError(f"{self._kernel.name}: {statement!r:.80} stands among its statements")
            check(self, statement)

    def _require(self, holds: bool, statement: ir.Statement, problem: str) -> None:
        if not holds:
            self._fail(statement, problem)

    def _fail(self, statement: ir.Statement, problem: str) -> NoReturn:
        raise InternalError(f"{describe(self._kernel, statement)}: {problem}")

    # -- scalars -----------------------------------------------------------------------------------------

    def _define(self, statement: ir.Statement, variables: Iterable[ir.Variable]) -> None:
        for variable in variables:
            self._require(variable not in self._defined, statement, "it defines a variable that is defined already")
            self._defined.add(variable)
            self._visible.add(variable)

    def _read(self, statement: ir.Statement, scalars: Iterable[ir.Scalar]) -> None:
        for scalar in scalars:
            if isinstance(scalar, ir.Variable) and scalar not in self._visible:
                when = "outside of the loop that defines it" if scalar in self._defined else "before it is defined"
                self._fail(statement, f"it reads a variable {when}")

    def _typed(self, statement: ir.Statement, scalar: ir.Scalar, dtype: DType, what: str) -> None:
        self._require(scalar.dtype is dtype, statement, f"{what} is of {scalar.dtype}, not of {dtype}")

    def _apply(self, statement: ir.Apply) -> None:
        self._read(statement, statement.operands)
        carried = statement.result.dtype if carries_type(statement.function) else None
        try:
            found = result_type(statement.function, [operand.dtype for operand in statement.operands], carried)
        except InternalError as error:
            self._fail(statement, str(error))
        self._typed(statement, statement.result, found, "its result")
        self._define(statement, statement.results)

    def _index(self, statement: ir.Index) -> None:
        self._check_dims(statement)
        self._typed(statement, statement.result, int64, "its result")
        self._define(statement, statement.results)

    def _check(self, statement: ir.Check) -> None:
        self._read(statement, statement.operands)
        self._typed(statement, statement.condition, bool_, "its condition")
        self._require(statement.value.dtype.is_integer, statement, f"its value is of {statement.value.dtype}")
        is_number = type(statement.failure) is int and statement.failure >= 0
        self._require(is_number, statement, "its failure is no number")

    # -- memory ------------------------------------------------------------------------------------------

    def _load(self, statement: ir.Load) -> None:
        self._check_access(statement)
        self._require((statement.valid is None) == (statement.fill is None), statement,
                      "it has a condition without another scalar, or another scalar without a condition")
        if statement.fill is not None:
            self._typed(statement, statement.fill, statement.buffer.dtype, "its other scalar")
        self._require_written(statement)
        self._typed(statement, statement.result, statement.buffer.dtype, "its result")
        self._define(statement, statement.results)

    def _store(self, statement: ir.Store) -> None:
        self._check_access(statement)
        self._typed(statement, statement.value, statement.buffer.dtype, "its value")
        if statement.combine is not None:
            self._check_combine(statement, statement.combine, statement.buffer.dtype)
            self._require_written(statement)
        self._require_writable(statement)

    def _interleaved_store(self, statement: ir.InterleavedStore) -> None:
        self._check_access(statement)
        for value in statement.values:
            self._typed(statement, value, statement.buffer.dtype, "its value")
        self._require_writable(statement)

    def _require_writable(self, statement: ir.Store | ir.InterleavedStore) -> None:
        self._require(statement.buffer.role != "in", statement, f"{statement.buffer.name} is only read")
        self._require(not index_symbols(statement.streaming), statement, "how it is stored depends on a loop index")
        self._written.add(statement.buffer)

    def _require_written(self, statement: ir.Access) -> None:
        buffer = statement.buffer
        is_readable = buffer.role in ("in", "inout") or buffer in self._written
        self._require(is_readable, statement, f"it reads {buffer.name} before anything is stored there")

    def _check_access(self, statement: ir.Access) -> None:
        self._check_address(statement)
        if statement.valid is not None:
            self._typed(statement, statement.valid, bool_, "its condition")
        for place in statement.addresses if self._runs and not (statement.valid or statement.address.terms) else ():
            self._check_place(statement, place)

    def _check_address(self, statement: ir.Access | ir.Prefetch) -> None:
        """Checks that an address is one in a buffer of the kernel, with only known names."""
        buffer, address = statement.buffer, statement.address
        self._require(buffer in self._buffers, statement, f"{buffer.name} is no buffer of this kernel")
        self._require(buffer.is_given or self._in_parallel or not self._has_parallel, statement,
                      f"{buffer.name} belongs to a turn of the parallel loop, and this is outside of it")
        self._require(buffer.role != "private" or self._is_uniform(address), statement,
                      f"{buffer.name} belongs to a turn of a vector loop, and this is outside of one or differs in it")
        self._check_dims(statement)
        self._read(statement, statement.operands)
        for _, scalar in address.terms:
            self._require(scalar.dtype.is_integer, statement, f"a term of its address is of {scalar.dtype}")
        names = [index.name for index, _ in address.steps]
        self._require(len(set(names)) == len(names), statement, "a loop index has two steps")
        self._require(self._ranges.keys() >= set(names), statement, "it has a step of an index of no loop around it")
        strides = [stride for _, stride in address.steps] + [stride for stride, _ in address.terms]
        self._require(not any(map(index_symbols, strides)), statement, "a step has an index")

    def _is_uniform(self, address: ir.Address) -> bool:
        """Whether an address is in a vector loop, and certainly the same in all iterations of it."""
        return self._lanes is not None and not address.terms and not address.mentions(self._lanes)

    def _check_place(self, statement: ir.Access, address: ir.Address) -> None:
        """Checks that every place is inside of the buffer, for all values of the loop indices."""
        is_inside = self._is_inside(statement.buffer.size, address)
        if is_inside is None and self._unproved is not None:
            self._unproved.append(statement)
        elif not is_inside:
            self._fail(statement, f"not all of its places are inside of {statement.buffer.name}, which has "
                                  f"{statement.buffer.size} elements")

    def _is_inside(self, size: DimLike, address: ir.Address) -> bool | None:
        """Whether all places are at least 0 and below a size; None if that is not known."""
        lowest, highest = self._ends(address)
        proved = [less_equal(0, lowest, self._ranges), less_equal(highest, size - 1, self._ranges)]
        if all(proved):
            return True
        written = [size, *address.dims, *[extent for _, extent in self._loops]]
        tried = reach(address, self._loops) if all([symbols(x) == index_symbols(x) for x in written]) else None
        if tried is not None:
            return 0 <= tried[0] and tried[1] < evaluate(size, {})
        return False if False in proved else None

    def _ends(self, address: ir.Address) -> tuple[DimLike, DimLike]:
        """Returns the address at its lowest and highest for each index whose extent depends on a loop around it."""
        low = high = address.base
        steps = {index.name: step for index, step in address.steps}
        for index, step in address.steps:
            low, high = low + step * index.dim, high + step * index.dim
        for name, (_, last) in reversed(self._ranges.items()):
            if name in steps and index_symbols(last) and less_equal(0, steps[name]):
                low, high = substitute(low, {name: 0}), substitute(high, {name: last})
        return low, high

    def _check_dims(self, statement: ir.Statement) -> None:
        for x in statement.dims:
            unknown = index_symbols(x) - self._ranges.keys() if isinstance(x, Dim) else ()
            self._require(not unknown, statement, f"{x} has an index of no loop around it")

    # -- loops -------------------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, statement: ir.Statement, indices: Indices) -> Iterator[None]:
        """Opens loops; variables defined inside are not visible after them."""
        self._check_dims(statement)
        outer = self._visible, self._ranges, self._loops, self._runs
        self._visible, self._ranges, self._loops = set(self._visible), dict(self._ranges), (*self._loops, *indices)
        for index, extent in indices:
            self._require(index.name not in self._ranges, statement, f"the index {index} is that of a loop around it")
            self._require(less_equal(0, extent, outer[1]) is not False, statement, f"it has {extent} turns")
            self._ranges[index.name] = (0, extent - 1)
            self._runs = self._runs and highest(extent) != 0
        yield
        self._visible, self._ranges, self._loops, self._runs = outer

    def _for(self, loop: ir.For) -> None:
        is_settled = loop.widths is not None or loop.tile is not None
        self._require(loop.vector or not is_settled, loop, "it has lanes, but is no vector loop")
        is_copied = loop.widths is not None and isinstance(loop.extent, int)
        self._require(is_copied or not loop.unrolled, loop, "it is unrolled, but has no lanes or no known extent")
        self._require(loop.strip is None or (loop.strip.most > 0 and not loop.vector), loop,
                      "its strips have no iteration, or lanes of their own")
        self._require(is_routine(loop), loop, f"it is no {loop.routine}")
        in_parallel, lanes = self._in_parallel, self._lanes
        self._in_parallel = in_parallel or loop.parallel
        self._lanes = loop.index if lanes is None and loop.in_lanes else lanes
        with self._inside(loop, loop.indices):
            if loop.strip is not None:
                length, most = loop.strip
                self._ranges[length.name] = (1, dim_min(most, loop.extent - loop.index.dim))
            self.block(loop.body)
        self._in_parallel, self._lanes = in_parallel, lanes
        if (loop.parallel or loop.vector) and loop.strip is None:
            self._check_iterations(loop)

    def _check_iterations(self, loop: ir.For) -> None:
        pair = conflicting_accesses(loop)
        if pair is not None:
            other = "it" if pair[0] is pair[1] else describe(self._kernel, pair[1]).partition(": ")[2]
            self._fail(pair[0], f"in another turn of a loop {other} touches what it stores in one")

    def _reduce(self, loop: ir.Reduce) -> None:
        outer = self._lanes
        self._read(loop, loop.start)
        self._lanes = loop.indices[-1][0] if outer is None and loop.in_lanes else outer
        with self._inside(loop, loop.indices):
            self.block(loop.body)
            self._read(loop, loop.values)
        self._lanes = outer
        lanes, block, group = loop.order
        self._require(lanes > 0 and lanes & (lanes - 1) == 0 and block > 0 and block % lanes == 0, loop,
                      "its lanes are no power of two, or its blocks no multiple of them")
        self._require(group > 0, loop, "its groups have no blocks")
        self._require(not loop.start or lanes == group == 1, loop,
                      "it starts from scalars in an order of several lanes, or groups")
        for index, extent in loop.indices[-1:] if lanes > 1 else ():  # the index that may run in lanes
            self._check_iterations(ir.For(index, extent, loop.body, vector=True))
        self._check_lengths(loop, loop.results, loop.combine, loop.values, loop.start or loop.values)
        for result, combine, value in zip(loop.results, loop.combine, loop.values, strict=True):
            self._check_combine(loop, combine, value.dtype)
            self._typed(loop, result, value.dtype, "its result")
        for value, first in zip(loop.values, loop.start):
            self._typed(loop, first, value.dtype, "what it starts from")
        self._define(loop, loop.results)

    def _fold(self, loop: ir.Fold) -> None:
        self._check_lengths(loop, loop.results, loop.values, loop.left, loop.right, loop.combined)
        with self._inside(loop, loop.indices):
            self.block(loop.body)
            self._read(loop, loop.values)
        with self._inside(loop, ()):
            self._define(loop, loop.arguments)
            self.block(loop.combine)
            self._read(loop, loop.combined)
        for value, *others in zip(loop.values, loop.results, loop.left, loop.right, loop.combined, strict=True):
            for other in others:
                self._typed(loop, other, value.dtype, "what it combines")
        self._define(loop, loop.results)

    def _contract(self, loop: ir.Contract) -> None:
        with self._inside(loop, loop.indices):
            self.block(loop.body)
            self._read(loop, loop.operands)
        for what, scalar in (("its left side", loop.left), ("its right side", loop.right)):
            self._typed(loop, scalar, loop.result.dtype, what)
        dtype = loop.result.dtype
        self._require(dtype.compute is dtype, loop, f"nothing is added up in {dtype}")
        self._define(loop, loop.results)

    def _check_lengths(self, loop: ir.Loop, *lists: Sequence[object]) -> None:
        lengths = {len(entries) for entries in lists}
        self._require(len(lengths) == 1 and 0 not in lengths, loop, "its lists differ in length, or are empty")

    def _check_combine(self, statement: ir.Statement, combine: str, dtype: DType) -> None:
        self._require(combine in FUNCTIONS, statement, f"there is no combine {combine}")
        try:
            found = result_type(FUNCTIONS[combine], [dtype, dtype])
        except InternalError as error:
            self._fail(statement, str(error))
        self._require(found is dtype, statement, f"{combine} of {dtype} gives {found}")


_CHECKS: dict[type, Callable[[_Verifier, Any], None]] = {
    ir.For: _Verifier._for, ir.Reduce: _Verifier._reduce, ir.Fold: _Verifier._fold, ir.Contract: _Verifier._contract,
    ir.Apply: _Verifier._apply, ir.Index: _Verifier._index, ir.Load: _Verifier._load, ir.Store: _Verifier._store,
    ir.InterleavedStore: _Verifier._interleaved_store, ir.Prefetch: _Verifier._check_address,
    ir.Check: _Verifier._check}
