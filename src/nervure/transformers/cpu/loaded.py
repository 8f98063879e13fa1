"""A compiled function with its machine code in memory: it makes the program for each binding of the symbols.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> x = nv.Parameter(nv.float32, (3,))
>>> loaded = compile_function(nv.Function([nv.ops.Add(x, x)], [x]), Target.host()).loaded
>>> program = loaded.program({})
>>> results = program.make_results()
>>> program.run([np.float32([1, 2, 3])], results).code, results[0].tolist()
(0, [2.0, 4.0, 6.0])

Nothing here compiles: neither the plan nor its sources are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np

from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.memory.storage import UNSTOPPED, StorageKind
from nervure.transformers.binding import Bindings
from nervure.transformers.cells import Cell
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.cache.loader import Library
from nervure.transformers.cpu.compiled import CompiledFunction, CompiledKernel, LaunchParameters, byte_size
from nervure.transformers.cpu.kept_panels import NO_PANELS, Panels, PanelSource
from nervure.transformers.given_memory import GivenMemory
from nervure.transformers.memory_estimate import most, numbers
from nervure.types.dim import DimLike, compile_dim, symbols
from nervure.types.ordered_arrays import in_order

InPlace = Mapping[int, int]
"""The roots that lie in the memory of variables and of donated arguments, with the storages of these, by number."""

_Number = Callable[[Mapping[str, int]], int]


class StepCode(Protocol):
    """The code of a step."""

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes, with its buffers numbered as the storages are."""


@runtime_checkable
class Borrows(StepCode, Protocol):
    """The code of a step that takes memory from the pool while it runs: of a branch, a loop, or a whole op."""

    def most_borrowed(self, panels: Sequence[Panels] = ()) -> DimLike:
        """Returns a bound of the bytes that it takes, in symbols."""


@runtime_checkable
class HoldsFunctions(Borrows, Protocol):
    """The code of a step that runs functions in memory of their own: a branch or a loop."""

    functions: tuple[LoadedFunction, ...]

    def step(self, bindings: Bindings, panels: Sequence[Panels] = ()) -> runtime.ProgramStep:
        """Returns the step for these sizes. The functions have the ``panels`` in their order, or none."""


class LoadedFunction:
    """A compiled function, as far as calls need it. ``codes`` are the code of its steps; ``constants`` are the arrays
    of constant storages, by their numbers. ``function`` is None inside of a branch or a loop, where no arrays are made.
    """

    def __init__(self, compiled: CompiledFunction, function: Function | None, codes: Sequence[StepCode],
                 constants: Sequence[np.ndarray]) -> None:
        self.compiled, self.codes, self.constants = compiled, tuple(codes), tuple(constants)
        self._function, self._constants = function or _NOTHING, [plain(array) for array in constants]
        self._makes_arrays = function is not None
        self._certain = compiled.certain_results
        # Those of constants.
        self._panels: WeakValueDictionary[tuple[object, ...], runtime.PanelMemory] = WeakValueDictionary()

    def panels(self, cells: Mapping[Variable, Cell] | None = None,
               arguments: Mapping[int, PanelSource] = MappingProxyType({})) -> Panels:
        """Returns the panels that there is room for, here and in the functions of branches and loops.

        A variable's cell keeps its panels, for all functions that pack it by the same code for the same sizes; those of
        constants are kept here. Without ``cells`` everything has room, and no memory: then it serves for estimates.
        ``arguments`` are those that last, by their numbers.
        """
        sources, packs = self._lasting(arguments), self.compiled.packs
        own: dict[int, runtime.PanelMemory] = {}
        inside: dict[int, tuple[Panels, ...]] = {}
        for number, (kernel, code) in enumerate(zip(self.compiled.kernels, self.codes, strict=True)):
            if isinstance(code, HoldsFunctions):
                given = {at: sources[storage] for at, storage in kernel.captured.items() if storage in sources}
                inside[number] = tuple([function.panels(cells, given) for function in code.functions])
            elif number in packs and all([read in sources for read in kernel.reads]):
                storage, size = packs[number], byte_size(self.compiled.storages[packs[number]], {})
                # A kernel that reads nothing, such as a pad that crops all elements, always makes the same.
                read = sources[kernel.reads[0]] if kernel.reads else PanelSource(None)
                sources[storage] = source = read.packed(kernel, size)
                panel = self._panel(source, storage, size, cells)
                own |= {} if panel is None else {storage: panel}
        return Panels(own, sources, inside)

    def _lasting(self, arguments: Mapping[int, PanelSource]) -> dict[int, PanelSource]:
        """Returns the sources of the storages that stay the same from call to call, by numbers."""
        updated = {variable for variable, _ in self._function.updates}
        variables = {number: PanelSource(variable) for number, variable in enumerate(self.variables)
                     if variable not in updated}
        constants = {number: PanelSource(None) for number in range(len(self.constants))}
        last: Mapping[StorageKind, Mapping[int, PanelSource]] = {
            StorageKind.ARGUMENT: arguments, StorageKind.VARIABLE: variables, StorageKind.CONSTANT: constants}
        return {number: last[storage.kind][storage.number] for number, storage in enumerate(self.compiled.storages)
                if storage.number in last.get(storage.kind, ())}

    def _panel(self, source: PanelSource, storage: int, size: int,
               cells: Mapping[Variable, Cell] | None) -> runtime.PanelMemory | None:
        if cells is None:
            return runtime.PanelMemory(0, runtime.CONSTANT)
        if source.variable is None:
            return runtime.panel_of(self._panels, (storage,), size, runtime.CONSTANT)
        cell = cells[source.variable]
        return runtime.panel_of(cell.derived, source.made, size, cell.stamp)

    def program(self, bindings: Bindings, panels: Panels = NO_PANELS, in_place: InPlace | None = None,
                updated: Collection[int] = ()) -> runtime.Program:
        """Returns the program for one of the ``bindings`` of the symbols. Derived storages without a panel are made in
        each call. Those results that are ``updated`` lie, in all calls, where the arguments of the same numbers do.
        """
        in_place = self.in_place(bindings) if in_place is None else in_place
        offsets, arena_bytes = self.compiled.arena(bindings, panels.own)
        steps = self.steps(bindings, panels, {**in_place, **self.compiled.updates(updated)})
        buffers = self.buffers(offsets, panels, in_place)
        if not self._makes_arrays:
            return runtime.Program(steps, buffers, arena_bytes)
        return runtime.Program(steps, buffers, arena_bytes, self._arguments(bindings),
                               self._new_arrays(bindings, in_place), self._variables(in_place))

    def borrowed(self, bindings: Bindings, panels: Panels) -> int:
        """Returns the most bytes that its branches, loops and whole ops take at one time, beside the block of a call.
        """
        return max([self._step(number, bindings, panels).borrowed for number, code in enumerate(self.codes)
                    if isinstance(code, Borrows)], default=0)

    def functions(self) -> Iterator[LoadedFunction]:
        """Yields itself, and the functions of its branches and loops, as ``CompiledFunction.functions`` does."""
        yield self
        for code in self.codes:
            for function in code.functions if isinstance(code, HoldsFunctions) else ():
                yield from function.functions()

    def functions_with(self, panels: Panels) -> Iterator[tuple[LoadedFunction, Panels]]:
        """Yields them with their ``panels``."""
        yield self, panels
        for number, inside in panels.inside.items():
            code = self.codes[number]
            for function, own in zip(code.functions if isinstance(code, HoldsFunctions) else (), inside, strict=True):
                yield from function.functions_with(own)

    def most_borrowed(self, panels: Panels) -> DimLike:
        """Returns a symbolic upper bound of ``borrowed``."""
        bytes: DimLike = 0
        for number, code in enumerate(self.codes):
            if isinstance(code, Borrows):
                bytes = bytes + code.most_borrowed(panels.inside.get(number, ()))
        return bytes

    def in_place(self, bindings: Bindings) -> InPlace:
        """Returns the roots that lie in place of their variables, for these sizes. There are none if a step that
        writes there takes so long that the call must stay interruptible.
        """
        is_long = any([code.step(bindings).nanoseconds > UNSTOPPED for code in self.codes
                       if isinstance(code, KernelCode) and code.is_in_place])
        return {} if is_long else dict(self.compiled.in_place)

    def steps(self, bindings: Bindings, panels: Panels, in_place: InPlace) -> list[runtime.ProgramStep]:
        """Returns the steps for these ``bindings``, with their buffers numbered as in ``buffers``. A copy of memory to
        itself has nothing to do.
        """
        steps = [self._step(number, bindings, panels) for number in range(len(self.codes))]
        if not self.written(in_place):
            steps = [step._replace(in_place=False) for step in steps]
        for number, kernel in enumerate(self.compiled.kernels):
            if kernel.copies_in_place(in_place):
                steps[number] = steps[number]._replace(extent=0, nanoseconds=0, in_place=False)
        for number, storage in self.compiled.packs.items():
            steps[number] = steps[number]._replace(panel=panels.own.get(storage))
        if not self.compiled.memory.is_possible(bindings):  # it is inside: a call has checked the whole
            for number in range(self.compiled.preheader, len(steps)):
                steps[number] = steps[number]._replace(found=runtime.IMPOSSIBLE)
        return steps

    def _step(self, number: int, bindings: Bindings, panels: Panels) -> runtime.ProgramStep:
        code = self.codes[number]
        if isinstance(code, HoldsFunctions):
            return code.step(bindings, panels.inside.get(number, ()))
        return code.step(bindings)

    def buffers(self, offsets: Mapping[int, int], panels: Panels, in_place: InPlace) -> list[runtime.BufferLocation]:
        """Returns the places of the storages, given the offsets of temporaries in the arena."""
        results = self._results(in_place)
        return [self._buffer(in_place.get(number, number), offsets, panels, results)
                for number in range(len(self.compiled.storages))]

    def _results(self, in_place: InPlace) -> dict[int, int]:
        """Returns the numbers of the arrays that a call makes (the caller's, then new values) by the roots that they
        hold.
        """
        return {root: number for number, root in enumerate([
            root for root in self.compiled.roots if root not in in_place])}

    def _buffer(self, number: int, offsets: Mapping[int, int], panels: Panels,
                results: Mapping[int, int]) -> runtime.BufferLocation:
        storage = self.compiled.storages[number]
        if number in panels.own:
            return runtime.panel(panels.own[number])
        if storage.kind is StorageKind.ARGUMENT:
            return runtime.argument(storage.number)
        if storage.kind is StorageKind.VARIABLE:
            return runtime.variable(storage.number)
        if storage.kind is StorageKind.CONSTANT:
            return runtime.constant(self._constants[storage.number])
        if storage.kind is StorageKind.ROOT:
            return runtime.result(results[number])
        return runtime.arena(offsets[number])

    def values_of_roots(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray],
                        variables: Sequence[np.ndarray], in_place: InPlace) -> list[np.ndarray]:
        """Returns the values of the roots in order, after a run with these arrays and with roots ``in_place``."""
        memory = {StorageKind.ARGUMENT: arguments, StorageKind.VARIABLE: variables}
        places = {root: self.compiled.storages[place] for root, place in in_place.items()}
        numbers = self._results(in_place)
        return [memory[places[root].kind][places[root].number] if root in places else results[numbers[root]]
                for root in self.compiled.roots]

    def written(self, in_place: InPlace) -> set[int]:
        """Returns the numbers of the variables in whose memory new values lie."""
        places = [self.compiled.storages[place] for place in in_place.values()]
        return {place.number for place in places if place.kind is StorageKind.VARIABLE}

    # -- memory that callers give --------------------------------------------------------------------------

    def replaced(self, given: GivenMemory, arguments: Sequence[np.ndarray]) -> InPlace:
        """Returns the results that lie in place of donated ``arguments``, each with another one."""
        storages = self.compiled.storages
        found: dict[int, int] = {}
        for root, place in self.compiled.replaceable:
            result, number = storages[root].number, storages[place].number
            is_free = root not in found and place not in found.values() and number in given.donated
            if is_free and any([arguments[number] is array for array in given.places(result, arguments)]) \
                    and _is_plain(arguments[number]):
                found[root] = place
        return found

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the code reads and writes, in the order of its tables."""
        return self._function.variables

    def replaced_by(self, writes: Mapping[int, int]) -> InPlace:
        """Returns the results that may lie in place of arguments, of those that are to: ``writes`` maps results to
        parameters.
        """
        storages = self.compiled.storages
        return {root: place for root, place in self.compiled.replaceable
                if writes.get(storages[root].number) == storages[place].number}

    def direct(self, given: GivenMemory, arguments: Sequence[np.ndarray], in_place: InPlace) -> dict[int, np.ndarray]:
        """Returns the targets among the ``given`` arrays that results are written into without a copy, by number among
        the arrays that a call makes. They are no arguments, and nothing can fail any more when they are written.
        """
        passed, numbers = {id(array) for array in arguments}, self._results(in_place)
        return {numbers[root]: target for root, target in zip(self.compiled.roots, given.targets, strict=False)
                if target is not None and root in self._certain and root in numbers
                and id(target) not in passed and _is_plain(target)}

    # -- arrays ------------------------------------------------------------------------------------------

    def placed(self, states: Sequence[np.ndarray], in_place: InPlace) -> list[np.ndarray]:
        """Returns the values of the variables in memory as kernels expect it. A variable that is written in place is
        copied: others may hold its current array.
        """
        written = self.written(in_place)
        return [in_order(state, variable.type.order, number in written)
                for number, (state, variable) in enumerate(zip(states, self._function.variables, strict=True))]

    def _arguments(self, bindings: Bindings) -> list[runtime.Array]:
        types = [parameter.value.type for parameter in self._function.parameters]
        return [runtime.Array(type.dtype.numpy, numbers(type.shape, bindings)) for type in types]

    def _new_arrays(self, bindings: Bindings, in_place: InPlace) -> list[runtime.Array]:
        """Returns the arrays that a call makes: the caller's results, then the new values of variables."""
        function, variables = self._function, self._function.variables
        takers = [*[-1] * len(function.results), *[variables.index(variable) for variable, _ in function.updates]]
        orders = [None if taker < 0 else variables[taker].type.order for taker in takers]
        roots = [self.compiled.storages[root] for root in self._results(in_place)]
        return [runtime.Array(root.dtype.numpy, most(root.shape, bindings), takers[root.number],
                              orders[root.number]) for root in roots]

    def _variables(self, in_place: InPlace) -> list[runtime.Array]:
        written = self.written(in_place)
        types = [variable.type for variable in self._function.variables]
        updated = {variable for variable, _ in self._function.updates}
        takers = [number if number in written else runtime.REPLACED if variable in updated else -1
                  for number, variable in enumerate(self._function.variables)]
        return [runtime.Array(type.dtype.numpy, numbers(type.shape, {}), takers[number], type.order)
                for number, type in enumerate(types)]


_NOTHING = Function([], [])


class KernelCode(NamedTuple):
    """Machine code of a kernel, and functions that compute its sizes from the symbols."""

    kernel: CompiledKernel
    library: Library
    is_in_place: bool
    sizes: tuple[_Number, ...]
    extent: _Number
    found: runtime.FoundSizes | None = None

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        launch = self.kernel.launch
        return runtime.ProgramStep(
            self.library.address("kernel"), self.kernel.buffers, [size(bindings) for size in self.sizes],
            max(self.extent(bindings), 0), launch.alignment, launch.duration.nanoseconds(bindings),
            most((launch.scratch,), bindings)[0], self.is_in_place, launch.ordered, self.library,
            found=() if self.found is None else self.found.instructions(bindings))


def kernel_code(compiled: CompiledFunction, kernel: CompiledKernel, library: Library) -> KernelCode:
    """Returns the code of one kernel of a function."""
    in_place = dict(compiled.in_place)
    is_in_place = not in_place.keys().isdisjoint(kernel.writes) and not kernel.copies_in_place(in_place)
    launch = kernel.launch
    return KernelCode(kernel, library, is_in_place, tuple(map(compile_dim, launch.sizes)),
                      compile_dim(launch.extent), found_sizes(compiled, launch))


def found_sizes(compiled: CompiledFunction, launch: LaunchParameters) -> runtime.FoundSizes | None:
    """Returns the sizes of a kernel if they depend on lengths that kernels find, else None."""
    slots = dict(compiled.found)
    if not slots or slots.keys().isdisjoint(
            [name for size in (*launch.sizes, launch.extent, *launch.required) for name in symbols(size)]):
        return None
    sizes = ((runtime.EXTENT, launch.extent), *enumerate(launch.sizes))
    return runtime.FoundSizes(slots, sizes, launch.required)


def _is_plain(array: np.ndarray) -> bool:
    """Whether the memory of an array is as kernels expect, and may be written."""
    return plain(array) is array and array.flags.writeable


def plain(array: np.ndarray) -> np.ndarray:
    """Returns the array itself if its memory is as kernels expect, else a copy that is."""
    return in_order(array, None)
