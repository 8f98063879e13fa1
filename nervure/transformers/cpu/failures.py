"""What a kernel reports, as the error that the user gets.

Kernels report the op and one value. Which position it was is found by computing the op's indices once more on
the reference: a call that failed has changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from nervure.errors import IndexOutOfRange, InternalError, InvalidArgument
from nervure.ir.function import Function, is_effect
from nervure.ir.kinds import Element
from nervure.ir.op import Op
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.kernel.plan import Plan
from nervure.transformers.binding import Binder
from nervure.transformers.cpu.runtime.records import Code, Status
from nervure.transformers.interpreter.program import Program
from nervure.types.dim import evaluate


def fail(plan: Plan, status: Status, arguments: Sequence[np.ndarray],
         states: Mapping[Variable, np.ndarray]) -> NoReturn:
    """Raises the error of a call that ended with this status."""
    function = plan.function
    if status.code == Code.NO_MEMORY:
        raise InvalidArgument("there is not enough memory for this call", op=function.name, got="no memory",
                              expected="enough memory for results and intermediate values",
                              help="nothing was changed by it")
    failures = plan.steps[status.step].failures if 0 <= status.step < len(plan.steps) and status.code > 0 else ()
    if not 0 < status.op <= len(failures):
        raise InternalError(f"a call ended with code {status.code} in step {status.step}")
    op, operand = failures[status.op - 1]
    raise _out_of_range(function, op, operand, int(status.value), arguments, states)


def _out_of_range(function: Function, op: Op, operand: int, value: int, arguments: Sequence[np.ndarray],
                  states: Mapping[Variable, np.ndarray]) -> Exception:
    _, bindings = Binder(function).bind(arguments)
    bound = _bound(op, operand, bindings)
    place = _position(function, op, operand, bound, arguments, states, bindings)
    got = f"{value}" if place is None else f"{place[0]} at position {place[1]}"
    return op.fail(IndexOutOfRange, f"index {got} is out of range", operand=op.operand_label(operand), got=got,
                   expected=f"{-bound} to {bound - 1}" if bound else "nothing: the axis is empty",
                   help="an index counts from the end once when negative; nothing was changed by this call")


def _bound(op: Any, operand: int, bindings: Mapping[str, int]) -> int:
    """The length of the axis that an operand of indices names."""
    structure = op.structure(*[entry.type for entry in op.operands])
    accesses = [*[access for access in structure.reads if access is not None], *structure.writes]
    elements = [entry for access in accesses for entry in access.coordinates
                if isinstance(entry, Element) and entry.operand == operand]
    return evaluate(elements[0].bound, bindings)


def _position(function: Function, op: Op, operand: int, bound: int, arguments: Sequence[np.ndarray],
              states: Mapping[Variable, np.ndarray], bindings: dict[str, int]) -> tuple[Any, tuple[int, ...]] | None:
    """The first index that is out of range, and where it is; None if it cannot be computed again."""
    value = op.operands[operand]
    below = postorder([value])
    if any(map(is_effect, below)):
        return None
    again = Function([value], function.parameters)
    indices = np.asarray(Program(again, bindings).run(arguments, states)[0])
    outside = (indices < -bound) | (indices >= bound)
    if not outside.any():
        return None
    place = tuple([int(k) for k in np.unravel_index(int(np.argmax(outside)), indices.shape)])
    return indices[place], place
