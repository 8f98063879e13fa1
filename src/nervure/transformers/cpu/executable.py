"""An executable of the cpu transformer: compiled kernels, a program for each binding of sizes, and the fast path.

A call takes the fast path if its arguments are of the usual kind; then no Python runs between the caller and the
results. Every other call goes once through the checks and conversions that all transformers share, and gives the same
bits.

The modules that compile, explain or make errors are imported on demand: a function in the cache needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakMethod

import numpy as np

from nervure import flags
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.memory.arena import LINE
from nervure.support import forks
from nervure.transformers.base import Executable
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compiled import byte_size
from nervure.transformers.cpu.found_results import cut, lengths_of_results
from nervure.transformers.cpu.kept_panels import Panels
from nervure.transformers.cpu.loaded import InPlace, LoadedFunction, plain
from nervure.transformers.cpu.runtime import pooled_arrays
from nervure.transformers.cpu.runtime.records import KEPT_PROGRAMS
from nervure.transformers.given_memory import GivenMemory
from nervure.transformers.memory_estimate import check_fits
from nervure.transformers.tensor_calls import TensorCall
from nervure.types.dlpack import ExchangeFunctions, exchange_functions
from nervure.types.layout import Layout

if TYPE_CHECKING:
    from nervure.ir.op import Value
    from nervure.kernel.memory_limit import Dropped
    from nervure.transformers.call_memory import CallMemory
    from nervure.transformers.cpu.compile.compilation import Compilation
    from nervure.transformers.cpu.transformer import CpuTransformer
    from nervure.transformers.report import CompilationReport, Times
    from nervure.types.description import TensorDescription

_Answer = TypeVar("_Answer")


class Variant(NamedTuple):
    """A program, and the results and new values that lie in place of arguments and variables when it runs."""

    program: runtime.Program
    in_place: InPlace


class Specialised(NamedTuple):
    """The programs for one binding of the symbols: the ``usual`` one, and others that calls have asked for.

    The others are those in which some results lie in place of donated arguments.
    """

    bindings: Bindings
    usual: Variant
    others: dict[frozenset[tuple[int, int]], Variant]


class CpuExecutable(Executable):
    """A function as machine code.

    An executable from the cache has everything that calls need. Its passes run, and it is compiled, when a call fails
    or its report or ``optimised`` is asked for; until then ``function`` is as it was built.
    """

    transformer: CpuTransformer

    def __init__(self, function: Function, transformer: CpuTransformer, gate: runtime.Gate, loaded: LoadedFunction,
                 compilation: Compilation | None = None) -> None:
        super().__init__(function, transformer)
        self._variables = loaded.variables  # the last passes may find that one is not read
        self._gate, self._loaded, self._compilation = gate, loaded, compilation
        self._last_panels: Panels | None = None
        self._fast: runtime.FastEntry | None = None
        self._call: Callable[..., tuple[np.ndarray, ...]] | None = None
        self._tensor_calls: list[_Tensors] = []
        self._recent: list[Specialised] = []
        self._lengths = lengths_of_results(function)

    @property
    def compilation(self) -> Compilation:
        """The plan and the texts from which it was made."""
        if self._compilation is None:
            self._compilation = self.compiled_again()
        return self._compilation

    def compiled_again(self) -> Compilation:
        """Returns what was compiled when the entry of the cache was made."""
        optimised = self.transformer.optimised(self.function)
        return self.transformer.compilation(self.transformer.prepared(optimised))

    @property
    def _panels(self) -> Panels:
        """The panels of the last program; before there is one, all are assumed to find room."""
        return self._loaded.panels() if self._last_panels is None else self._last_panels

    @property
    def made_again(self) -> tuple[Dropped, ...]:
        """The values that a limit of memory does not let it keep."""
        return ()

    @property
    def is_from_cache(self) -> bool:
        """Whether nothing has been compiled for it yet."""
        return self._compilation is None

    @property
    def optimised(self) -> Function:
        return self.compilation.plan.function

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        from nervure.transformers.cpu.inspect.homes import homes_of
        from nervure.transformers.descriptions import described_values

        return described_values(self.optimised, homes_of(self.compilation.plan, self._loaded.compiled))

    def check_fits(self, bindings: Bindings) -> None:
        if flags.check_nan:  # the reference checks every value
            check_fits(self.optimised, bindings)
        else:
            self._check_with(bindings, 0)

    def _check_with(self, bindings: Bindings, borrowed: int) -> None:
        """Raises InvalidArgument if a call whose steps take ``borrowed`` bytes while they run needs too much memory."""
        peak, allowed = self._loaded.compiled.memory.peak(bindings)[0], flags.allowed_bytes()
        if not 0 <= peak <= allowed - borrowed and not (
                self.made_again and self.memory(bindings).bytes <= allowed):
            check_fits(self.optimised, bindings, self.compilation.plan.stored, borrowed)

    def specialise(self, bindings: Bindings) -> Specialised:
        cells = self.transformer.cells.of(self._variables)
        self._last_panels = panels = self._loaded.panels(dict(zip(self._variables, cells, strict=True)))
        in_place = self._loaded.in_place(bindings)
        program = self._loaded.program(bindings, panels, in_place)
        if program.borrowed and not flags.check_nan:
            self._check_with(bindings, program.borrowed)
        specialised = Specialised(bindings, Variant(program, in_place), {})
        if self._lengths or any([isinstance(variable.type.order, Layout) for variable in self._variables]):
            return specialised  # the fast path handles only memory without gaps, and results of known lengths
        with self._lock:  # one entry, which one thread at a time adds to
            if self._fast is None:
                self._fast = runtime.FastEntry(self._failed_fast, cells, self._gate)
                self._call = self._fast.function(super().__call__)
            self._fast.add(program)
            self._recent = [specialised, *self._recent][:KEPT_PROGRAMS]
            for tensors in self._tensor_calls:
                tensors.entry.add(self._variant(specialised, tensors.replaced).program)
        return specialised

    def __call__(self, *arguments: Any, **keywords: Any) -> tuple[np.ndarray, ...]:
        call = self._call or super().__call__
        return call(*arguments, **keywords)

    def entry(self, slow: Callable[..., _Answer], is_single: bool) -> Callable[..., _Answer] | None:
        return None if self._fast is None else self._fast.function(slow, is_single)

    def tensor_entry(self, call: TensorCall,
                     slow: Callable[[list[object]], _Answer]) -> Callable[[list[object]], _Answer] | None:
        functions = exchange_functions(call.kinds[0])
        if functions is None or self._fast is None or self.function.updates or not pooled_arrays.is_known():
            return None
        replaced = self._loaded.replaced_by(call.writes)
        in_place = {self._loaded.compiled.storages[root].number for root in replaced}
        with self._lock:
            tensors = _Tensors(self, call, functions, replaced, in_place)
            for specialised in reversed(self._recent):
                tensors.entry.add(self._variant(specialised, replaced).program)
            self._tensor_calls.append(tensors)
        return tensors.entry.tensor_function(slow)

    def run(self, specialised: Specialised, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        if flags.check_nan:
            return self._checked(arguments, states)
        results = specialised.usual.program.make_results()
        return self._run(specialised.usual, results, arguments, states, specialised.bindings)

    def run_into(self, specialised: Specialised, arguments: Sequence[np.ndarray],
                 states: Mapping[Variable, np.ndarray], given: GivenMemory) -> Sequence[np.ndarray]:
        if flags.check_nan:
            return self._checked(arguments, states)
        variant = self._variant(specialised, self._loaded.replaced(given, arguments))
        results = variant.program.make_results(self._loaded.direct(given, arguments, variant.in_place))
        return self._run(variant, results, arguments, states, specialised.bindings)

    def _variant(self, specialised: Specialised, replaced: InPlace) -> Variant:
        """Returns the program in which these results lie in place of arguments."""
        if not replaced:
            return specialised.usual
        key = frozenset(replaced.items())
        if key not in specialised.others:
            in_place = {**specialised.usual.in_place, **replaced}
            program = self._loaded.program(specialised.bindings, self._panels, in_place)
            specialised.others[key] = Variant(program, in_place)
        return specialised.others[key]

    def _run(self, variant: Variant, results: list[np.ndarray], arguments: Sequence[np.ndarray],
             states: Mapping[Variable, np.ndarray], bindings: Bindings) -> Sequence[np.ndarray]:
        program, in_place = variant
        variables = self._loaded.placed([states[variable] for variable in self._variables], in_place)
        arrays = [plain(array) for array in arguments]
        status = program.run(arrays, results, variables)
        if status.code:
            self._fail(status, arguments, states)
        values = self._loaded.values_of_roots(arrays, results, variables, in_place)
        return cut(self.function, self._lengths, values, bindings) if self._lengths else values

    def _checked(self, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        """Computes the values op by op, and checks each for NaN: fused ops could not be distinguished."""
        with forks.importing():
            from nervure.transformers.interpreter.step_list import StepList

        _, bindings = Binder(self.optimised).bind(arguments)
        return StepList(self.optimised, bindings).run(arguments, states)

    def memory(self, bindings: Bindings | None = None) -> CallMemory:
        from nervure.transformers.call_memory import CallMemory, total

        compiled, panels = self._loaded.compiled, self._panels
        bindings = None if bindings is None else self._binder.sizes(bindings)
        in_place = {} if bindings is None else self._loaded.in_place(bindings)
        made = [compiled.storages[number] for number in {*compiled.roots}.difference(in_place)]
        temporary = [compiled.storages[number] for number in compiled.lives if number not in panels.own]
        tensors = len(made) + len(temporary)
        if bindings is not None:
            returned = sum([byte_size(storage, bindings) for storage in made])
            own = compiled.arena(bindings, panels.own)[1] + self._loaded.borrowed(bindings, panels)
            return CallMemory(tensors, returned + own, not self._binder.found)
        rounded = len(temporary) * (LINE - 1)
        size = total([storage.nbytes for storage in (*made, *temporary)])
        inside = self._loaded.most_borrowed(panels)
        return CallMemory(tensors, size + rounded + inside, not (temporary or compiled.in_place or inside != 0))

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        from dataclasses import replace

        from nervure.transformers.cpu.inspect.report import report_of
        from nervure.transformers.report import MadeAgain

        report = report_of(self.compilation, self.transformer.target, bindings, self._panels)
        return replace(report, made_again=tuple([
            MadeAgain(f"{entry.value.type} {type(entry.value.op).__name__}", entry.bytes, entry.nanoseconds)
            for entry in self.made_again]))

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        from nervure.transformers.cpu.inspect.timing import measured_limits, time_steps
        from nervure.transformers.cpu.runtime.cores import threads

        results = self._specialised(bindings).usual.program.make_results()
        loaded, variables = self.compilation.loaded, self.optimised.variables
        values = [states[variable] for variable in variables]
        times = time_steps(loaded, bindings, arguments, results, values, repeat,
                           lambda status: self._fail(status, arguments, states),
                           loaded.panels(dict(zip(variables, self.transformer.cells.of(variables), strict=True))))
        return times._replace(limits=measured_limits(self.transformer.target, threads(flags.threads)))

    def _failed_fast(self, status: runtime.Status, arguments: Sequence[np.ndarray]) -> None:
        """Raises the error of a call on the fast path. The call has changed nothing, so variables are as they were."""
        cells = self.transformer.cells.of(self._variables)
        states = {variable: cell.array for variable, cell in zip(self._variables, cells, strict=True)}
        self._fail(status, arguments, states)

    def _fail(self, status: runtime.Status, arguments: Sequence[np.ndarray],
              states: Mapping[Variable, np.ndarray]) -> None:
        with forks.importing():
            from nervure.transformers.cpu.compile.call_errors import fail

        fail(self.compilation.plan, status, arguments, states)


class _Tensors:
    """The entry of a cpu executable for calls with tensors. Its programs have the results ``replaced`` where arguments
    lie.
    """

    def __init__(self, executable: CpuExecutable, call: TensorCall, functions: ExchangeFunctions, replaced: InPlace,
                 in_place: Collection[int]) -> None:
        self.replaced, self._call = replaced, call
        self._failed = WeakMethod(executable._failed_fast)
        function = executable.function
        self.entry = runtime.TensorEntry(
            self._fail, executable.transformer.cells.of(function.variables), executable._gate, call, functions,
            [op.value.type for op in function.parameters], [value.type for value in function.results], in_place)

    def _fail(self, status: runtime.Status, tensors: Sequence[object]) -> None:
        """Raises the error of a call with these tensors for the parameters."""
        failed = self._failed()
        if failed is not None:
            failed(status, [self._call.read(number, tensor) for number, tensor in enumerate(tensors)])
