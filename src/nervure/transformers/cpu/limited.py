"""A limit of memory on the cpu: programs that need no more, since they make values again.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.placeholder("N=1000")
>>> small = nv.computation(nv.exp(x), x, memory_limit="4kB")
>>> small.executable.memory({}).bytes
4000
>>> nv.computation(nv.exp(x), x, memory_limit=3000)                              # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.InvalidArgument: computation: it needs more memory than its limit
  operand:  memory_limit
  got:      4,000 bytes at least, as far as was found
  expected: at most 3,000 bytes
...

Where lengths are symbols, each binding is looked at when a call brings it first. Bindings that make the same values
again share a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nervure.errors import InvalidArgument, NotSupported
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.ir.whole_op import found_lengths
from nervure.support import forks
from nervure.support.lazy import lazy
from nervure.transformers.base import Executable
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu.executable import CpuExecutable
from nervure.transformers.given_memory import GivenMemory

if TYPE_CHECKING:
    from nervure.ir.op import Value
    from nervure.kernel.memory_limit import Spared
    from nervure.transformers.call_memory import CallMemory
    from nervure.transformers.cpu.compile.compilation import Compilation
    from nervure.transformers.cpu.transformer import LimitedTransformer
    from nervure.transformers.report import CompilationReport, Times
    from nervure.types.description import TensorDescription


class LimitedExecutable(Executable):
    """A function with symbols under a limit: a program for each set of values that are made again."""

    transformer: LimitedTransformer

    def __init__(self, function: Function, transformer: LimitedTransformer) -> None:
        super().__init__(function, transformer)
        with forks.importing():
            from nervure.kernel.plan import make_plan
            from nervure.passes.pipelines import native_minimal
        if found_lengths(function.operations):
            raise NotSupported("a limit of memory needs lengths that are known in front of a call", op=function.name,
                               operand="memory_limit", got="a length that the call finds", expected="other lengths",
                               help="leave the limit out, or find positions in another computation")
        machine = transformer.target.machine
        self._plan_of = lambda other: make_plan(other, machine)
        self._plan = make_plan(native_minimal(function, machine), machine)
        self._chosen: dict[tuple[tuple[str, int], ...], CpuExecutable] = {}
        self._programs: dict[object, CpuExecutable] = {}

    def program(self, bindings: Bindings) -> CpuExecutable:
        """Returns the program for some values of the symbols. InvalidArgument if none is found that fits."""
        key = tuple(bindings.items())
        if key not in self._chosen:
            self._chosen[key] = self._found(bindings)
        return self._chosen[key]

    def _found(self, bindings: Bindings) -> CpuExecutable:
        from nervure.kernel.memory_limit import spared
        limit = self.transformer.memory_limit
        room = limit - (self._inside.loaded.borrowed(bindings) if self._inside else 0)
        found = spared(self._plan, room, bindings, self._plan_of, self.transformer.target.machine)
        if found.key not in self._programs:
            self._programs[found.key] = self._compiled(found)
        program = self._programs[found.key]
        needed = program.memory(bindings).bytes
        if needed > limit:
            raise InvalidArgument("it needs more memory than its limit", op=self.function.name, operand="memory_limit",
                                  got=f"{needed:,} bytes at least, as far as was found",
                                  expected=f"at most {limit:,} bytes",
                                  help="allow more, or compute with fewer examples at a time")
        return program

    @lazy
    def _inside(self) -> Compilation | None:
        """The program without a limit, if it has branches or loops: these stay as they are, and so does their memory.
        """
        from nervure.ir.region import RegionOp
        from nervure.transformers.cpu.compile.compilation import compile_function
        function = self._plan.function
        has_regions = any([isinstance(op, RegionOp) for op in function.operations])
        return compile_function(function, self.transformer.target) if has_regions else None

    def _compiled(self, found: Spared) -> CpuExecutable:
        from nervure.transformers.cpu.compile.compilation import compile_function
        own = self.transformer
        compilation = compile_function(found.plan.function, own.target)
        return CpuExecutable(found.plan.function, own, own._gate, compilation.loaded, compilation, found.dropped)

    # -- calls -------------------------------------------------------------------------------------------------

    def check_fits(self, bindings: Bindings) -> None:
        self.program(bindings).check_fits(bindings)

    def specialise(self, bindings: Bindings) -> object:
        program = self.program(bindings)
        return program, program.specialise(bindings)

    def run(self, specialised: Any, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        program, own = specialised
        results: Sequence[np.ndarray] = program.run(own, arguments, states)
        return results

    def run_into(self, specialised: Any, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                 given: GivenMemory) -> Sequence[np.ndarray]:
        program, own = specialised
        results: Sequence[np.ndarray] = program.run_into(own, arguments, states, given)
        return results

    # -- reports -----------------------------------------------------------------------------------------------

    @property
    def _usual(self) -> CpuExecutable:
        """The program of the last binding, or without a limit."""
        from nervure.kernel.memory_limit import Spared
        known = list(self._programs.values())
        return known[-1] if known else self._compiled(Spared(self._plan, 0, ()))

    @property
    def optimised(self) -> Function:
        return self._plan.function

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        return self._usual.value_descriptions

    def memory(self, bindings: Bindings | None = None) -> CallMemory:
        return self._usual.memory() if bindings is None else self.program(bindings).memory(bindings)

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        return (self._usual if bindings is None else self.program(bindings)).make_report(bindings)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        return self.program(bindings).time_steps(bindings, arguments, states, repeat)
