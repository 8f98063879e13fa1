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
from nervure.transformers.cpu.cache import executable_cache
from nervure.transformers.cpu.cache.codec import encode
from nervure.transformers.cpu.executable import CpuExecutable
from nervure.transformers.given_memory import GivenMemory

if TYPE_CHECKING:
    from nervure.ir.op import Value
    from nervure.kernel.memory_limit import Dropped, Spared
    from nervure.kernel.plan import Plan
    from nervure.transformers.call_memory import CallMemory
    from nervure.transformers.cpu.compile.compilation import Compilation
    from nervure.transformers.cpu.loaded import LoadedFunction
    from nervure.transformers.cpu.transformer import LimitedTransformer
    from nervure.transformers.report import CompilationReport, Times
    from nervure.types.description import TensorDescription


class LimitedProgram(CpuExecutable):
    """A function under a limit for some values of symbols.

    One from the cache has everything that calls need. Its plan is found again when a call fails or its report is asked
    for.
    """

    transformer: LimitedTransformer

    def __init__(self, function: Function, transformer: LimitedTransformer, bindings: Bindings, loaded: LoadedFunction,
                 made: tuple[Compilation, Spared] | None = None) -> None:
        super().__init__(function, transformer, transformer._gate, loaded, made and made[0])
        self._bindings, self._spared = bindings, made and made[1]

    @property
    def made_again(self) -> tuple[Dropped, ...]:
        if self._spared is None:
            self._spared = LimitedExecutable(self.function, self.transformer, self.function).spared(self._bindings)
        return self._spared.dropped

    def compiled_again(self) -> Compilation:
        from nervure.transformers.cpu.compile.compilation import compile_function
        found = LimitedExecutable(self.function, self.transformer, self.function).spared(self._bindings)
        self._spared = found
        return compile_function(found.plan.function, self.transformer.target)

    def runs_as(self, other: LimitedProgram) -> bool:
        """Whether calls of another program run the same code on the same memory."""
        return self._described == other._described

    @lazy
    def _described(self) -> tuple[object, list[bytes]]:
        """The kernels, the memory and the bytes of constants, by which programs of one function differ."""
        constants = [array.tobytes() for each in self._loaded.functions() for array in each.constants]
        return encode(self._loaded.compiled), constants


def read(function: Function, transformer: LimitedTransformer, bindings: Bindings) -> LimitedProgram | None:
    """Returns the program of a function as it was built that the cache has for some values of symbols."""
    loaded = executable_cache.find(function, transformer.target, _limits(transformer.memory_limit, bindings))
    return None if loaded is None else LimitedProgram(function, transformer, bindings, loaded)


def _limits(limit: int, bindings: Bindings) -> tuple[object, ...]:
    return (limit, *sorted(bindings.items()))


class LimitedExecutable(Executable):
    """A function with symbols under a limit: a program for each set of values that are made again.

    ``built`` is the function in front of all passes, under which programs are kept on disk; ``function`` may be that
    one.
    """

    transformer: LimitedTransformer

    def __init__(self, function: Function, transformer: LimitedTransformer, built: Function | None = None) -> None:
        super().__init__(function, transformer)
        self._built = built
        if found_lengths(function.operations):
            raise NotSupported("a limit of memory needs lengths that are known in front of a call", op=function.name,
                               operand="memory_limit", got="a length that the call finds", expected="other lengths",
                               help="leave the limit out, or find positions in another computation")
        self._chosen: dict[tuple[tuple[str, int], ...], LimitedProgram] = {}
        self._programs: dict[object, LimitedProgram] = {}
        if function is not built:
            self._plan  # noqa: B018  # what cannot be planned is an error here

    @lazy
    def _plan(self) -> Plan:
        with forks.importing():
            from nervure.passes.pipelines import native_minimal
        function, own = self.function, self.transformer
        ready = own.prepared(own.optimised(function)) if function is self._built else function
        return self._plan_of(native_minimal(ready, own.target.machine))

    def _plan_of(self, function: Function) -> Plan:
        from nervure.kernel.plan import make_plan
        return make_plan(function, self.transformer.target.machine)

    def program(self, bindings: Bindings) -> LimitedProgram:
        """Returns the program for some values of the symbols. InvalidArgument if none is found that fits."""
        key = tuple(bindings.items())
        if key not in self._chosen:
            self._chosen[key] = self._found(bindings)
        return self._chosen[key]

    def _found(self, bindings: Bindings) -> LimitedProgram:
        limit, built = self.transformer.memory_limit, self._built
        program = read(built, self.transformer, bindings) if built else None
        if program is not None:
            same = [each for each in self._programs.values() if each.runs_as(program)]
            return same[0] if same else self._programs.setdefault(program, program)
        found = self.spared(bindings)
        if found.key not in self._programs:
            self._programs[found.key] = self._compiled(found, bindings)
        program = self._programs[found.key]
        needed = program.memory(bindings).bytes
        if needed > limit:
            raise InvalidArgument("it needs more memory than its limit", op=self.function.name, operand="memory_limit",
                                  got=f"{needed:,} bytes at least, as far as was found",
                                  expected=f"at most {limit:,} bytes",
                                  help="allow more, or compute with fewer examples at a time")
        if built:
            executable_cache.keep(built, program.compilation, self.transformer.target, _limits(limit, bindings))
        return program

    def spared(self, bindings: Bindings) -> Spared:
        """Returns the plan for some values of the symbols that needs least, or little enough."""
        from nervure.kernel.memory_limit import spared
        room = self.transformer.memory_limit - self._borrowed_inside(bindings)
        return spared(self._plan, room, bindings, self._plan_of, self.transformer.target.machine)

    def _borrowed_inside(self, bindings: Bindings) -> int:
        """Returns the bytes that branches, loops and sorts take, where all panels find room."""
        return self._inside.loaded.borrowed(bindings, self._inside.loaded.panels()) if self._inside else 0

    @lazy
    def _inside(self) -> Compilation | None:
        """The program without a limit, if it has branches, loops or sorts: these stay as they are, and so does
        their memory.
        """
        from nervure.ir.region import RegionOp
        from nervure.transformers.cpu.compile.compilation import compile_function
        from nervure.transformers.cpu.compile.whole_op_data import SORTS
        function = self._plan.function
        may_borrow = any([isinstance(op, (RegionOp, *SORTS)) for op in function.operations])
        return compile_function(function, self.transformer.target) if may_borrow else None

    def _compiled(self, found: Spared, bindings: Bindings) -> LimitedProgram:
        from nervure.transformers.cpu.compile.compilation import compile_function
        compilation = compile_function(found.plan.function, self.transformer.target)
        return LimitedProgram(found.plan.function, self.transformer, bindings, compilation.loaded, (compilation, found))

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
    def _usual(self) -> LimitedProgram:
        """The program of the last binding, or without a limit."""
        from nervure.kernel.memory_limit import Spared
        known = list(self._programs.values())
        return known[-1] if known else self._compiled(Spared(self._plan, 0, ()), {})

    @property
    def optimised(self) -> Function:
        return self._plan.function

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        return self._usual.value_descriptions

    def memory(self, bindings: Bindings | None = None) -> CallMemory:
        return self._usual.memory() if bindings is None else self.program(self._binder.sizes(bindings)).memory(bindings)

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        return (self._usual if bindings is None else self.program(bindings)).make_report(bindings)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        return self.program(bindings).time_steps(bindings, arguments, states, repeat)
