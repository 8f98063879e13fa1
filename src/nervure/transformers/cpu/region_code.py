"""Branches and loops as steps of a program: native code runs the programs of their functions.

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
>>> loaded.codes[0].described()
'runs 1 step 3 times'

Nothing here compiles: everything that it needs of the op is a ``CompiledRegion``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nervure.memory.arena import LINE
from nervure.support.plurals import plural
from nervure.transformers.binding import Bindings
from nervure.transformers.call_memory import total
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compiled import CompiledKernel, CompiledRegion, RegionKind
from nervure.transformers.cpu.kept_panels import NO_PANELS, Panels
from nervure.transformers.cpu.loaded import LoadedFunction
from nervure.transformers.cpu.runtime import records, runtime_library
from nervure.transformers.memory_estimate import most
from nervure.types.dim import DimLike
from nervure.types.duration import MOST_NANOSECONDS

ITERATIONS = 1000
"""The iterations that a loop is expected to run if their number is open."""

ITERATION = 50
"""The nanoseconds of an iteration besides its steps."""


class RegionCode(NamedTuple):
    """A branch or a loop as the code of a compiled function: its step, and its functions with their code.

    ``found`` are the sizes of the step, if they depend on found lengths.
    """

    kernel: CompiledKernel
    functions: tuple[LoadedFunction, ...]
    found: runtime.FoundSizes | None = None

    @property
    def region(self) -> CompiledRegion:
        """The branch or the loop as data."""
        assert self.kernel.region is not None
        return self.kernel.region

    def step(self, bindings: Bindings, panels: Sequence[Panels] = ()) -> runtime.ProgramStep:
        """Returns the step for these sizes. The functions have the ``panels`` in their order, or none."""
        kind = self.region.kind
        *others, (body, own) = self._with(panels)
        programs = [*[each.program(bindings, kept) for each, kept in others],
                    body.program(bindings, own, updated=self.region.updated)]
        record = _Record(self.region, bindings, programs, self.functions[-1].compiled.preheader)
        each = sum([program.record.nanoseconds for program in programs]) + ITERATION
        times = record.sizes[0] if kind is RegionKind.SCAN else ITERATIONS if kind is RegionKind.WHILE else 1
        return runtime.ProgramStep(
            ctypes.addressof(record.record), self.kernel.buffers, record.sizes,
            nanoseconds=min(each * max(times, 1), MOST_NANOSECONDS),
            scratch=max([program.record.scratch_bytes for program in programs]), owner=record,
            runner=runtime_library.library(records.RUNNERS).address(f"run_{kind}"),
            longest=max([program.record.longest for program in programs]),
            borrowed=record.bytes + max([program.borrowed for program in programs]),
            found=() if self.found is None else self.found.instructions(bindings))

    def _with(self, panels: Sequence[Panels]) -> list[tuple[LoadedFunction, Panels]]:
        """Returns the functions with their panels."""
        return list(zip(self.functions, panels or [NO_PANELS] * len(self.functions), strict=True))

    def most_borrowed(self, panels: Sequence[Panels] = ()) -> DimLike:
        """Returns a bound of the bytes that a run takes, in symbols: its carries, and every value of its functions.

        What lies in their ``panels`` is left out.
        """
        region = self.region
        words = 2 * (len(region.operands) + len(region.outputs) + len(region.saved)) + 1
        sizes: list[DimLike] = [2 * (size + LINE) for at, size in enumerate(region.carries) if at not in region.updated]
        for function, kept in self._with(panels):
            compiled = function.compiled
            own = [compiled.storages[number] for number in compiled.lives if number not in kept.own]
            words += len(compiled.storages) + sum([len(kernel.buffers) for kernel in compiled.kernels])
            sizes += [function.most_borrowed(kept), *[each.nbytes + LINE for each in own]]
        return total([8 * words + 2 * LINE, *sizes])

    def described(self) -> str:
        """Returns which steps run, and how often: ``runs 3 steps n times``."""
        region = self.region
        if region.kind is RegionKind.SCALAR_WHILE:
            return "runs as one kernel, whose carries are in registers, while a condition holds"
        counts = [len(function.codes) for function in self.functions]
        steps = [f"{count} {plural(count, 'step')}" for count in counts]
        if region.kind is RegionKind.BRANCH:
            return f"runs {' or '.join(steps)}"
        times = f"{region.trips} times" if region.kind is RegionKind.SCAN else "while a condition holds"
        return f"runs {' and '.join(steps)} {times}"


class _Record:
    """The record of a region for some sizes, and everything that it points at."""

    def __init__(self, region: CompiledRegion, bindings: Bindings, programs: Sequence[runtime.Program],
                 preheader: int) -> None:
        kind, is_branch = region.kind, region.kind is RegionKind.BRANCH
        if preheader:
            *others, whole = programs
            programs = *others, whole.part(preheader, whole.record.step_count - preheader), whole.part(0, preheader)
        self._kept: list[object] = [*programs]
        self.sizes = most(region.sizes, bindings)
        self.record = record = records.RegionRecord(reverse=region.reverse, is_bool=region.is_bool)
        if is_branch:
            record.choice = region.operands[0]
        sizes = self.sizes[1:1 + len(region.carries)]
        fields: Mapping[str, Sequence[int]] = {
            "arguments": region.operands[is_branch:],
            "results": region.outputs or (0,),  # never read from, but there is room for a flag
            "saved": region.saved,
            "updated": [int(at in region.updated) for at in range(len(sizes))]}
        for name, entries in fields.items():
            setattr(record, name, self._integers(entries))
        record.argument_count, record.carries = len(fields["arguments"]), len(sizes)
        record.result_count = len(fields["results"])
        spare = sum([-(-size // LINE) * LINE for at, size in enumerate(sizes) if at not in region.updated])
        record.spare_bytes = spare if kind is RegionKind.SCAN else 2 * spare
        record.programs = self._integers([program.address for program in programs])
        record.program_count, record.preheader = len(programs), int(preheader > 0)
        record.buffer_count = max([program.record.buffer_count + program.record.table_count for program in programs])
        record.arena_bytes = max([program.record.arena_bytes for program in programs])
        if kind is RegionKind.WHILE:  # what the body keeps for all iterations stays, while the condition runs
            record.condition_at = -(-programs[-1].record.arena_bytes // LINE) * LINE
            record.arena_bytes = record.condition_at + programs[0].record.arena_bytes

    @property
    def bytes(self) -> int:
        """The bytes of the block that one run takes: tables, carries between iterations, and the arena of a function.
        """
        record = self.record
        words = record.argument_count + record.result_count + record.carries + record.buffer_count
        return -(-8 * words // LINE) * LINE + record.spare_bytes + record.arena_bytes

    def _integers(self, entries: Sequence[int]) -> int:
        table = (ctypes.c_int64 * len(entries))(*entries)
        self._kept.append(table)
        return ctypes.addressof(table)
