"""Functions on a device of XLA: one program for each set of values of the symbols, and the contract of its calls."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import jax
import numpy as np

from nervure import flags
from nervure.errors import InvalidArgument, warn_user
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.processes import lost
from nervure.transformers.binding import Bindings
from nervure.transformers.cells import Cell, store_together
from nervure.transformers.executable import Executable
from nervure.transformers.given_memory import GivenMemory
from nervure.transformers.interpreter.step_list import StepList
from nervure.transformers.xla.device_binding import DeviceBinder
from nervure.transformers.xla.device_cells import DeviceCell, fetched, keep_together, placed
from nervure.transformers.xla.fast_entry import fast_entry, is_default, is_fast
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.jax_program import XlaProgram
from nervure.transformers.xla.rounded_lengths import RoundedLengths

if TYPE_CHECKING:
    from nervure.transformers.report import CompilationReport
    from nervure.transformers.xla.transformer import XlaTransformer

_Answer = TypeVar("_Answer")

MANY_BINDINGS = 8
"""The number of programs of one function from which on a call warns."""


class XlaExecutable(Executable):
    """A function that JAX compiles, once for each set of values of its symbols."""

    transformer: XlaTransformer

    def __init__(self, function: Function, transformer: XlaTransformer) -> None:
        super().__init__(function, transformer)
        self._binder = DeviceBinder(function, transformer)
        self._leaves_results = transformer.options.results == "device"
        self._lengths = RoundedLengths(function, transformer.options.pad_to, self._binder.bounds)
        self._made = 0

    @property
    def kept_bindings(self) -> int:
        return max(1, flags.xla_bindings)

    def entry(self, slow: Callable[..., _Answer], is_single: bool) -> Callable[..., _Answer] | None:
        found = self._known.get(())
        if found is None or not found.is_made:
            return None
        program = cast("XlaProgram", found.value)
        is_here = self.transformer.sharding is None and is_default(self.transformer.device)
        if not (is_fast(self.function, program) and is_here):
            return None
        return fast_entry(self.function, program, self.transformer, slow, is_single, self._leaves_results)

    def specialise(self, bindings: Bindings) -> XlaProgram:
        self._made += 1
        if self._made == MANY_BINDINGS:
            names = ", ".join(bindings)
            warn_user(f"{self.function.name} is compiled for the {MANY_BINDINGS}th time, for {names} = "
                      f"{', '.join(map(str, bindings.values()))}: XLA compiles a program for each length. pad_to= "
                      f"rounds lengths up to a few; or declare {names} as a number")
        function = self._lengths.function
        return XlaProgram(function, bindings, self.transformer.placement(function, bindings))

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        report = super().make_report(bindings)
        program: XlaProgram | None = None if bindings is None else self._specialised(
            self._lengths.rounded(bindings))
        places = [] if program is None else program.placement.reports()
        if program is None or not places:
            return report
        from nervure.transformers.xla.exchanges import exchanges_in  # loaded for explanations alone
        return replace(report, places=tuple(places), exchanges=exchanges_in(program.compiled_text()))

    def run(self, specialised: XlaProgram, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        place = specialised.placement.of_variable
        read, replaced = [[placed(states[variable], place(variable)) for variable in listed]
                          for listed in (specialised.read, specialised.replaced)]
        results, updates, status = _called(self.transformer.device, specialised, arguments, read, replaced)
        self._raise(specialised, status)
        return [fetched(value) for value in (*results, *updates)]

    def _transact(self, arrays: Sequence[np.ndarray], cells: Mapping[Variable, Cell], updated: Sequence[Cell],
                  bindings: Bindings, given: GivenMemory | None) -> list[np.ndarray]:
        if given is not None and self._leaves_results and any([target is not None for target in given.targets]):
            raise InvalidArgument("results that stay on the device have no arrays of NumPy", op=self.function.name,
                                  operand="out", got="out= and results='device'", expected="one of them",
                                  help="leave out= out, or results='device'")
        for cell in cells.values():
            cell.begin()
        if any([cell.is_lent() for cell in updated]):
            for cell in updated:
                cell.look()  # a value that the program replaces stays in memory, since storing the new ones may fail
        if flags.check_nan:
            return self._checked(arrays, cells, updated, bindings)
        rounded = self._lengths.rounded(bindings)
        program: XlaProgram = self._specialised(rounded)
        arrays = self._lengths.arguments(arrays, bindings, rounded)
        known = cast("Mapping[Variable, DeviceCell]", cells)
        place = program.placement.of_variable
        read, replaced = [[known[variable].on_device(place(variable)) for variable in listed]
                          for listed in (program.read, program.replaced)]
        places = [place(variable) for variable in program.replaced]
        made: list[Array] = []
        try:
            # Nothing of Python runs between the end of the program and its results' arrival in the list.
            made.extend(itertools.starmap(_called, [(self.transformer.device, program, arrays, read, replaced)]))
        finally:
            del read, replaced
            if made and self.function.updates:
                keep_together(cast("Sequence[DeviceCell]", updated), made[0][1], places)
        results, _, status = made[0]
        self._raise(program, status)
        results = results if self._leaves_results else [fetched(value) for value in results]
        return self._lengths.cut(results, bindings)

    def _raise(self, program: XlaProgram, status: Sequence[Array]) -> None:
        """Raises the error with which a call ended, if any."""
        if program.may_fail:
            error = program.checks.error([int(each) for each in status])
            if error is not None:
                raise error

    def _checked(self, arrays: Sequence[np.ndarray], cells: Mapping[Variable, Cell], updated: Sequence[Cell],
                 bindings: Bindings) -> list[np.ndarray]:
        """Calls the reference, which checks every value."""
        steps, arrays = StepList(self.function, bindings), [np.asarray(array) for array in arrays]
        values = steps.run(arrays, {variable: cell.array for variable, cell in cells.items()})
        owned = self._owned(values, {id(array) for array in arrays}, bindings)
        count = len(self.function.results)
        store_together(updated, owned[count:])
        results = owned[:count]
        return [placed(value, self.transformer.device) for value in results] if self._leaves_results else results


def _called(device: jax.Device, program: XlaProgram, arrays: Sequence[np.ndarray], read: Sequence[Array],
            replaced: Sequence[Array]) -> Array:
    """Returns what a program has computed on a device: results, new values of variables, and the status."""
    elsewhere = contextlib.nullcontext() if is_default(device) else jax.default_device(device)
    try:
        with jax.enable_x64(True), elsewhere:
            given = program.placement.arguments(arrays)
            return jax.block_until_ready(program.call(given, list(read), list(replaced)))
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        raise lost(error) or error from None
