"""Branches and loops as steps of a program: their functions are compiled, and native code runs them.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total * 2.0 + x], [total, x])
>>> start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (3,))
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=3)
>>> loaded = compile_function(nv.Function(scan.outputs, [start, xs]), Target.host()).loaded
>>> result, = loaded.program({}).make_results()
>>> loaded.program({}).run([np.array(1, np.float32), np.float32([1, 2, 3])], [result]).code, result.item()
(0, 19.0)
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.region import RegionOp
from nervure.kernel.plan import OpaqueStep, make_plan
from nervure.kernel.producers import dense_base
from nervure.ops.branching import Branches
from nervure.ops.looping import LoopOp, Scan, While
from nervure.transformers.binding import Bindings
from nervure.transformers.call_memory import total
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.cache.library_cache import kernel_key
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.compile.codegen.scalar_loops import generate_scalar_loop
from nervure.transformers.cpu.compile.compiler import Compilations
from nervure.transformers.cpu.loaded import LoadedFunction
from nervure.transformers.cpu.runtime import records, runtime_library
from nervure.transformers.cpu.target import Target
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import DimLike, evaluate
from nervure.types.dtype import bool_
from nervure.types.duration import MOST_NANOSECONDS

LINE = 64
ITERATIONS = 1000
"""The iterations that a loop is expected to run if their number is open."""

AT_ONCE = 1 << 14
"""The iterations of a loop over single numbers between two looks for signals."""

STATEMENT = 2
"""The nanoseconds of an op on single numbers."""

ITERATION = 50
"""The nanoseconds of an iteration besides its steps."""


class RegionCode(NamedTuple):
    """A branch or a loop as the code of a compiled function: the step, the numbers of its storages, and its functions,
    compiled.
    """

    planned: OpaqueStep
    buffers: Sequence[int]
    functions: tuple[LoadedFunction, ...]

    @classmethod
    def of(cls, step: OpaqueStep, buffers: Sequence[int],
           compiled: Callable[[Function, range], LoadedFunction]) -> RegionCode:
        """Returns the code of a step; ``compiled`` compiles a function with these invariant parameters."""
        op = step.op
        assert isinstance(op, RegionOp)
        same = [range(0)] * len(op.bodies)
        if isinstance(op, LoopOp):
            same[-1] = range(op.carries + (op.slices if isinstance(op, Scan) else 0), len(op.operands))
        known = {pair: compiled(*pair) for pair in dict.fromkeys(zip(op.bodies, same, strict=True))}
        return cls(step, buffers, tuple([known[pair] for pair in zip(op.bodies, same, strict=True)]))

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        op = self.planned.op
        programs = [function.program(bindings, function.panels(())) for function in self.functions]
        record = _Record(self, bindings, programs, self.functions[-1].compiled.preheader)
        each = sum([program.record.nanoseconds for program in programs]) + ITERATION
        times = 1
        if isinstance(op, LoopOp):
            times = evaluate(op.length, bindings) if isinstance(op, Scan) else ITERATIONS
        name = "run_branch" if isinstance(op, Branches) else "run_scan" if isinstance(op, Scan) else "run_while"
        return runtime.ProgramStep(
            ctypes.addressof(record.record), self.buffers, nanoseconds=min(each * max(times, 1), MOST_NANOSECONDS),
            scratch=max([program.record.scratch_bytes for program in programs]), owner=record,
            runner=runtime_library.library().address(name),
            longest=max([program.record.longest for program in programs]),
            borrowed=record.bytes + max([program.borrowed for program in programs]))

    def most_borrowed(self) -> DimLike:
        """Returns a bound of the bytes that a run takes, in symbols: every value of its functions, and its carries."""
        op = self.planned.op
        carried = op.operands[:op.carries] if isinstance(op, LoopOp) else ()
        words = 2 * len(op.operands) + 2 * len(op.outputs) + 1
        sizes: list[DimLike] = [2 * (value.type.nbytes + LINE) for value in carried]
        for function in self.functions:
            compiled = function.compiled
            own = [compiled.storages[number] for number in compiled.lives]
            words += len(compiled.storages) + sum([len(kernel.buffers) for kernel in compiled.kernels])
            sizes += [function.most_borrowed(), *[each.size * each.dtype.itemsize + LINE for each in own]]
        return total([8 * words + 2 * LINE, *sizes])

    def described(self) -> str:
        """Returns which steps run, and how often: ``runs 3 steps n times``."""
        op = self.planned.op
        counts = [len(function.codes) for function in self.functions]
        steps = " or ".join([f"{count} step{'s' * (count != 1)}" for count in counts])
        if isinstance(op, Branches):
            return f"runs {steps}"
        times = f"{op.length} times" if isinstance(op, Scan) else "while a condition holds"
        return f"runs {steps if isinstance(op, Scan) else ' and '.join(steps.split(' or '))} {times}"


class ScalarLoopCode(NamedTuple):
    """A while loop over single numbers as the code of a compiled function: one kernel runs all of it."""

    planned: OpaqueStep
    buffers: Sequence[int]
    library: Library

    @classmethod
    def of(cls, step: OpaqueStep, buffers: Sequence[int], target: Target) -> ScalarLoopCode | None:
        """Returns the code of a step; None if it is another kind of region, or does more than a kernel can."""
        op = step.op
        if not isinstance(op, While) or any([value.shape != () for value in op.operands]):
            return None
        condition, body = [make_plan(function, target.machine) for function in op.bodies]
        text = generate_scalar_loop(condition, body, op.carries, target)
        if text is None:
            return None
        key = kernel_key(text, target)
        with Compilations(target) as compilations:
            compilations.begin(key, text)
            return cls(step, buffers, compilations.libraries()[key])

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        op = self.planned.op
        assert isinstance(op, While)
        count, statements = len(op.operands), sum([len(body.operations) for body in op.bodies])
        kernel = runtime.ProgramStep(
            self.library.address("kernel"), range(count + 1), (), AT_ONCE, ordered=True, owner=self.library,
            nanoseconds=AT_ONCE * STATEMENT * statements)
        program = runtime.Program([kernel], [*[runtime.argument(at) for at in range(count)], runtime.result(0)])
        record = _Record(self, bindings, [program], 0)
        return runtime.ProgramStep(
            ctypes.addressof(record.record), self.buffers, nanoseconds=kernel.nanoseconds, owner=record,
            runner=runtime_library.library().address("run_scalar_while"), longest=0, borrowed=record.bytes)

    def most_borrowed(self) -> DimLike:
        """Returns a bound of the bytes that a run takes: places of single numbers."""
        op = self.planned.op
        return 8 * (2 * len(op.operands) + 3 * len(op.outputs) + 4) + (2 * len(op.outputs) + 2) * LINE

    def described(self) -> str:
        """Returns how it runs."""
        return "runs as one kernel, whose carries are in registers, while a condition holds"


class _Record:
    """The record of a region for some sizes, and everything that it points at."""

    def __init__(self, code: RegionCode | ScalarLoopCode, bindings: Bindings, programs: Sequence[runtime.Program],
                 preheader: int) -> None:
        op = code.planned.op
        if preheader:
            *others, whole = programs
            programs = *others, whole.part(preheader, whole.record.step_count - preheader), whole.part(0, preheader)
        self._kept: list[object] = [*programs]
        operands = [place_of(code.planned, value) for value in op.operands]
        outputs = [code.planned.storages.index(storage) for storage in code.planned.outputs]
        fields = {"arguments": operands, "results": outputs}
        sizes: list[int] = []
        if isinstance(op, Branches):
            fields["arguments"] = operands[1:]
            self.record = records.RegionRecord(choice=operands[0], is_bool=op.operands[0].dtype is bool_)
        elif isinstance(op, Scan):
            sizes = [_bytes(value, bindings) for value in op.operands[:op.carries]]
            self.record = records.RegionRecord(trips=evaluate(op.length, bindings), reverse=op.reverse)
            self._fill_scan(op, fields, bindings)
        else:
            assert isinstance(op, LoopOp)
            sizes = [_bytes(value, bindings) for value in op.outputs]
            self.record = records.RegionRecord()
        fields["carry_bytes"] = sizes
        fields["results"] = fields["results"] or [0]  # never read from, but there is room for a flag
        for name, entries in fields.items():
            setattr(self.record, name, self._integers(entries))
        record = self.record
        spare = sum([-(-size // LINE) * LINE for size in sizes])
        record.argument_count, record.carries = len(fields["arguments"]), len(sizes)
        record.result_count = len(fields["results"])
        record.spare_bytes = spare if isinstance(op, Scan) else 2 * spare
        record.programs = self._integers([program.address for program in programs])
        record.program_count, record.preheader = len(programs), int(preheader > 0)
        record.buffer_count = max([program.record.buffer_count + program.record.table_count for program in programs])
        record.arena_bytes = max([program.record.arena_bytes for program in programs])
        if isinstance(op, While):  # what the body keeps for all iterations stays, while the condition runs
            record.condition_at = -(-programs[-1].record.arena_bytes // LINE) * LINE
            record.arena_bytes = record.condition_at + programs[0].record.arena_bytes

    @property
    def bytes(self) -> int:
        """The bytes of the block that one run takes: tables, carries between iterations, and the arena of a function.
        """
        record = self.record
        words = record.argument_count + record.result_count + record.carries + record.buffer_count
        return -(-8 * words // LINE) * LINE + record.spare_bytes + record.arena_bytes

    def _fill_scan(self, op: Scan, fields: dict[str, list[int]], bindings: Bindings) -> None:
        first, results = op.carries + op.slices, len(op.body.results)
        parameters = [parameter.output for parameter in op.body.parameters]
        fields["argument_strides"] = [_bytes(value, bindings) if op.carries <= at < first else 0
                                      for at, value in enumerate(parameters)]
        fields["result_strides"] = [_bytes(value, bindings) if at >= op.carries else 0
                                    for at, value in enumerate(op.body.results)] or [0]
        places = dict(zip(op.saved, fields["results"][results:], strict=True))
        fields["saved"] = [places.get(at, -1) for at in range(op.carries)]
        fields["results"] = fields["results"][:results]

    def _integers(self, entries: Sequence[int]) -> int:
        table = (ctypes.c_int64 * len(entries))(*entries)
        self._kept.append(table)
        return ctypes.addressof(table)


def place_of(planned: OpaqueStep, value: Value) -> int:
    """Returns the place of an operand among the buffers of a step."""
    storage = planned.bases.get(dense_base(value))
    if storage is None or storage.layout is not None:
        raise InternalError(f"an operand of {planned.op!r} is not in memory in row-major order: {value!r}")
    return planned.storages.index(storage)


def _bytes(value: Value, bindings: Bindings) -> int:
    size = value.dtype.itemsize
    for length in numbers(value.shape, bindings):
        size *= length
    return size
