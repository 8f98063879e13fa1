"""Errors of failed calls: the report of a kernel becomes the error that the user gets.

Kernels report the op and one value. The position is found by computing the op's operand once more on the reference,
since a failed call has changed nothing. A branch or a loop runs again there, and the check that fails names itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from nervure.errors import InternalError, InvalidArgument, NotSupported
from nervure.ir.function import Function, is_effect
from nervure.ir.op import Op
from nervure.ir.region import RegionOp, without_effects
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.ir.whole_op import WholeOp
from nervure.kernel.failures import Failure, IndexFailure
from nervure.kernel.plan import KernelStep, OpaqueStep, Plan
from nervure.ops.choosing import required_size
from nervure.ops.effects import Guard
from nervure.transformers.binding import Binder
from nervure.transformers.cpu.runtime.records import Status, StatusCode
from nervure.transformers.interpreter.step_list import StepList
from nervure.types.dim import symbols
from nervure.types.shape import index_at


def fail(plan: Plan, status: Status, arguments: Sequence[np.ndarray],
         states: Mapping[Variable, np.ndarray]) -> NoReturn:
    """Raises the error of a call that ended with this status."""
    function = plan.function
    if status.code == StatusCode.NO_MEMORY:
        raise InvalidArgument("there is not enough memory for this call", op=function.name, got="no memory",
                              expected="enough memory for results and intermediate values",
                              help="nothing was changed by it")
    if status.code > 0 and 0 <= status.step < len(plan.steps):
        step = plan.steps[status.step]
        if isinstance(step, OpaqueStep) and isinstance(step.op, (RegionOp, WholeOp)):
            _run_again(function, step.op, arguments, states)
        if isinstance(step, KernelStep) and not status.op:  # a choice among elements, of which there are none
            for op in step.cluster.ops:
                if required_size(op) is not None:
                    _run_again(function, op, arguments, states)
    failures = plan.steps[status.step].failures if 0 <= status.step < len(plan.steps) and status.code > 0 else ()
    if not 0 < status.op <= len(failures):
        raise InternalError(f"a call ended with code {status.code} in step {status.step}")
    failure = failures[status.op - 1]
    _, bindings = Binder(function).bind(arguments)
    if isinstance(failure, IndexFailure) and symbols(failure.element.bound) - {
            name for op in function.parameters for name in op.value.type.symbols}:
        _run_again(function, failure.op, arguments, states)  # a length that is found is no binding, but its most is
    place = _position(function, failure, arguments, states, bindings)
    raise failure.error(*(place or (status.value, None)), bindings)


def _run_again(function: Function, op: Op, arguments: Sequence[np.ndarray],
               states: Mapping[Variable, np.ndarray]) -> None:
    """Runs an op, and what it needs, on the reference, without what it prints: the check that fails there raises the
    error. A body that calls Python with an effect does not run again.
    """
    _, bindings = Binder(function).bind(arguments)
    alone = Function(op.outputs, function.parameters, effects=[op] if is_effect(op) else [])
    try:
        again = without_effects(alone, (Guard,))
    except NotSupported:
        raise op.fail(InvalidArgument, "a check inside of it has failed", operand="body", got="a failed check",
                      expected="indices in range, and guards that hold",
                      help="nothing was changed by this call; the interpreter names the check") from None
    StepList(again, bindings).run(arguments, states)


def _position(function: Function, failure: Failure, arguments: Sequence[np.ndarray],
              states: Mapping[Variable, np.ndarray],
              bindings: dict[str, int]) -> tuple[object, tuple[int, ...]] | None:
    """Returns the first wrong element of a ``failure``, and its position; None if it cannot be computed again."""
    value = failure.checked
    if any(map(is_effect, postorder([value]))):
        return None
    again = Function([value], function.parameters)
    elements = np.asarray(StepList(again, bindings).run(arguments, states)[0])
    wrong = failure.wrong(elements, bindings)
    if not wrong.any():
        return None
    place = index_at(int(np.argmax(wrong)), elements.shape)
    return elements[place], place
