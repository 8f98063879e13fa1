"""An executable of the cpu transformer: compiled kernels, a program for each binding of sizes, and the fast way in.

A call takes the fast way if its arguments are as they usually are; then no Python runs between the caller and the
results. Every other call goes once through the checks and conversions that all transformers share, and gives the same
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nervure import flags
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.failures import fail
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.native import NativePlan, plain
from nervure.transformers.cpu.plan import KernelStep, Plan, make_plan
from nervure.transformers.interpreter.program import Program as Reference
from nervure.transformers.sizes import check_fits

if TYPE_CHECKING:
    from nervure.transformers.account import Account, Times
    from nervure.transformers.cpu.kept import Kept


class CpuExecutable(Executable):
    """A function as machine code.

    One that was found in the cache has what calls need. Its passes run, and its plan is made, when a call fails or
    somebody asks for what it was made from; until then ``function`` is as it was built.
    """

    def __init__(self, function: Function, transformer: Transformer, target: Target, gate: runtime.Gate,
                 kept: Kept | None = None) -> None:
        super().__init__(function, transformer)
        self._target, self._gate, self._demand = target, gate, kept and kept.demand
        self._native = kept.native if kept else NativePlan(make_plan(function), target)
        self._complete = None if kept else self._native
        self._fast: runtime.FastEntry | None = None

    @property
    def native(self) -> NativePlan:
        """The kernels, with what they were made from."""
        if self._complete is None:
            self._complete = NativePlan(make_plan(self.transformer.optimised(self.function)), self._target)
        return self._complete

    @property
    def plan(self) -> Plan:
        """Steps and memory."""
        return self.native.plan

    @property
    def optimised(self) -> Function:
        return self.plan.function

    def check_fits(self, bindings: Bindings) -> None:
        if flags.check_nan:  # the reference stores every value
            check_fits(self.optimised, bindings)
        elif self._demand is None or not 0 <= self._demand.peak(bindings)[0] <= flags.allowed_bytes():
            check_fits(self.optimised, bindings, self.plan.stored)

    def specialise(self, bindings: Bindings) -> runtime.Program:
        program = self._native.program(bindings)
        if self._fast is None:
            cells = self.transformer.cells.of(self._variables)
            self._fast = runtime.FastEntry(self._slow_call, self._failed_fast, cells, self._gate)
            self.call = self._fast.function
        self._fast.add(program)
        return program

    def _slow_call(self, *arguments: Any, **keywords: Any) -> tuple[np.ndarray, ...]:
        return super().__call__(*arguments, **keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> tuple[np.ndarray, ...]:
        call = self.call or self._slow_call
        return call(*arguments, **keywords)

    def single(self, slow: Callable[..., Any]) -> Callable[..., Any] | None:
        return None if self._fast is None else self._fast.single(slow)

    def run(self, specialised: runtime.Program, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[Any]:
        if flags.check_nan:
            return self._checked(arguments, states)
        results = specialised.make_results()
        # What is written in place is written in a copy: others may hold the array that the variable has now.
        plan = self._native.plan
        written = {storage.source for storage in plan.in_place.values()}
        variables = [np.array(states[variable], order="C", copy=True) if variable in written
                     else plain(states[variable]) for variable in self._variables]
        status = specialised.run([plain(array) for array in arguments], results, variables)
        if status.code:
            self._fail(status, arguments, states)
        remaining = iter(results)
        own = {storage: variables[storage.number] for storage in plan.in_place.values()}
        return [own[plan.in_place[root]] if root in plan.in_place else next(remaining) for root in plan.roots]

    def _checked(self, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray]) -> Sequence[Any]:
        """The values op by op, each looked at for NaN: fused ops cannot be told apart."""
        _, bindings = Binder(self.optimised).bind(arguments)
        return Reference(self.optimised, bindings).run(arguments, states)

    def make_account(self, bindings: Bindings | None) -> Account:
        # What only explanations need is loaded for them.
        from nervure.transformers.cpu.accounting import account_of

        return account_of(self.native, self._target, bindings)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        from nervure.transformers.cpu.limits import measured_limits
        from nervure.transformers.cpu.runtime.cores import threads
        from nervure.transformers.cpu.timing import time_steps

        results = self._specialised(bindings).make_results()
        values = [states[variable] for variable in self.optimised.variables]
        times = time_steps(self.native, bindings, arguments, results, values, repeat,
                           lambda status: self._fail(status, arguments, states))
        return times._replace(limits=measured_limits(self._target, threads(flags.threads)))

    def _failed_fast(self, status: runtime.Status, arguments: Sequence[np.ndarray]) -> None:
        """Raises the error of a call on the fast way. It has changed nothing, so variables are as they were."""
        cells = self.transformer.cells.of(self._variables)
        states = {variable: cell.array for variable, cell in zip(self._variables, cells, strict=True)}
        self._fail(status, arguments, states)

    def _fail(self, status: runtime.Status, arguments: Sequence[np.ndarray],
              states: Mapping[Variable, np.ndarray]) -> None:
        step = self.plan.steps[status.step] if 0 <= status.step < len(self.plan.steps) else None
        lowered = step.lowered if isinstance(step, KernelStep) and status.code > 0 else None
        fail(self.optimised, lowered, status, arguments, states)
