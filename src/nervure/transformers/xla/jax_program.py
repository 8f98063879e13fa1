"""A Function as one program of XLA, for one set of values of its symbols.

JAX traces the function once: each op is read with ``jax.numpy`` and ``jax.lax``. The program takes the arguments, the
values of variables that it only reads, and those that it replaces, whose memory it may take for the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from nervure import flags
from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, Structured, View, as_results
from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.variable import Variable
from nervure.ops.attention import Attention
from nervure.ops.branching import Branches
from nervure.ops.effects import Guard
from nervure.ops.looping import Scan, While
from nervure.ops.rematerialising import Checkpoint
from nervure.passes.decompose import decompose
from nervure.transformers.binding import Bindings
from nervure.transformers.xla import attention, branches_and_loops, primitives
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.checks import Checks, Status, may_fail
from nervure.transformers.xla.element_types import convert
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.placements import Placement
from nervure.transformers.xla.sizes import numbers
from nervure.transformers.xla.structured_form import structured
from nervure.transformers.xla.views import view
from nervure.transformers.xla.xla_scalars import XlaScalars
from nervure.types.shape import index_at

_SCALARS = XlaScalars()


class XlaProgram:
    """A function that JAX compiles at its first call, whose values lie as its ``placement`` says. ``read`` and
    ``replaced`` are its variables, in order.
    """

    def __init__(self, function: Function, bindings: Bindings, placement: Placement) -> None:
        self._function, self._bindings, self.placement = function, bindings, placement
        self.replaced = [variable for variable, _ in function.updates]
        self.read = [variable for variable in function.variables if variable not in set(self.replaced)]
        self.checks, self.may_fail = Checks(), may_fail(function, bindings)
        self._precision = flags.xla_precision
        self.call = placement.jitted(self.traced, self.read, self.replaced, self.may_fail)

    def compiled_text(self) -> str:
        """Returns the program as XLA has compiled it."""
        arguments, read, replaced = [[jax.ShapeDtypeStruct(numbers(entry.type.shape, self._bindings),
                                                           entry.type.dtype.numpy) for entry in listed]
                                     for listed in ([op.output for op in self._function.parameters], self.read,
                                                    self.replaced)]
        with jax.enable_x64(True):
            text: str = self.call.lower(arguments, read, replaced).compile().as_text()
        return text

    def traced(self, arguments: Sequence[Array], read: Sequence[Array],
               replaced: Sequence[Array]) -> tuple[list[Array], list[Array], Status | tuple[()]]:
        """Returns the results for ``arguments``, the new values of variables, and the status of the call if it may
        fail. After a failure the values of variables are the old ones.
        """
        trace = CallTrace(self._bindings, self.checks, self._precision, self.placement)
        results, fresh = self._values(trace, arguments, read, replaced)
        if not self.may_fail:
            return results, fresh, ()
        holds = trace.status[0] == 0
        return results, [jnp.where(holds, new, old) for new, old in zip(fresh, replaced, strict=True)], trace.status

    def unchecked(self, arguments: Sequence[Array], read: Sequence[Array],
                  replaced: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Returns the results for ``arguments`` and the new values of variables, without any checks; an index out of
        range is the nearest one in range.
        """
        trace = CallTrace(self._bindings, None, self._precision, self.placement)
        return self._values(trace, arguments, read, replaced)

    def _values(self, trace: CallTrace, arguments: Sequence[Array], read: Sequence[Array],
                replaced: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        states = {**dict(zip(self.read, read, strict=True)), **dict(zip(self.replaced, replaced, strict=True))}
        values = _apart(traced(trace, self._function, arguments, states), [*arguments, *read, *replaced])
        count = len(self._function.results)
        return values[:count], values[count:]


def _apart(values: Sequence[Array], given: Sequence[Array]) -> list[Array]:
    """Returns the values, each in memory of its own: one that was ``given`` to the program is a copy."""
    taken = {id(each) for each in given}
    return [jnp.array(value, copy=True) if id(value) in taken else value for value in values]


def traced(trace: CallTrace, function: Function, arguments: Sequence[Array],
           states: dict[Variable, Array]) -> list[Array]:
    """Returns the values of a function's roots, for ``arguments`` and the ``states`` of variables."""
    values: dict[Value, Array] = dict(zip([op.output for op in function.parameters], arguments, strict=True))
    for op in function.operations:
        if isinstance(op, Parameter):
            continue
        if isinstance(op, ReadVariable):
            values[op.output] = states[op.variable]
            continue
        trace.values = values
        results = _results(trace, op, [values[operand] for operand in op.operands])
        values.update(zip(op.outputs, results, strict=True))
    return [jnp.asarray(values[value]) for value in function.roots]


def supports(op_class: type[Op]) -> bool:
    """Whether ops of a class have a meaning here."""
    kinds = (Elementwise, View, Structured, Guard, Branches, Scan, While, Checkpoint)
    return issubclass(op_class, kinds) or op_class in primitives.ROWS


def _results(trace: CallTrace, op: Any, operands: Sequence[Array]) -> Sequence[Array]:
    row = primitives.ROWS.get(type(op))
    found = None if row is None else row(trace, op, operands)
    if found is not None:
        return found
    for kind, meaning in _MEANINGS.items():
        if isinstance(op, kind):
            return meaning(trace, op, operands)
    raise op.fail(NotSupported, "xla has no meaning for this op", got=type(op).__name__,
                  expected="an elementwise op, a view, a structured op, a guard, a branch or a loop",
                  help="run the function on the cpu")


# -- the kinds of meaning ----------------------------------------------------------------------------------------


def _elementwise(trace: CallTrace, op: Elementwise, operands: Sequence[Array]) -> list[Array]:
    """Returns the results, each rounded to its element type; a constant one is broadcast."""
    results = as_results(op.evaluate(_SCALARS, *operands))
    return [jnp.broadcast_to(convert(result, output.type.dtype), numbers(output.type.shape, trace.bindings))
            for result, output in zip(results, op.outputs, strict=True)]


def _view(trace: CallTrace, op: View, operands: Sequence[Array]) -> list[Array]:
    return [view(op.view, operands, trace.bindings)]


def _constant(trace: CallTrace, op: Constant, operands: Sequence[Array]) -> list[Array]:
    return [jnp.asarray(op.array)]


def _full(trace: CallTrace, op: Full, operands: Sequence[Array]) -> list[Array]:
    return [jnp.full(numbers(op.shape, trace.bindings), op.dtype.numpy.type(op.number))]


def _guard(trace: CallTrace, op: Guard, operands: Sequence[Array]) -> list[Array]:
    shape = operands[0].shape
    trace.check(~operands[0], lambda position, value: op.failure(index_at(position, shape)))
    return []


def _inner(trace: CallTrace, function: Function, arguments: Sequence[Array]) -> list[Array]:
    return traced(trace, function, arguments, {})


def _branches(trace: CallTrace, op: Branches, operands: Sequence[Array]) -> list[Array]:
    return branches_and_loops.branches(trace, op, operands, _inner)


def _scan(trace: CallTrace, op: Scan, operands: Sequence[Array]) -> list[Array]:
    return branches_and_loops.scan(trace, op, operands, _inner)


def _while(trace: CallTrace, op: While, operands: Sequence[Array]) -> list[Array]:
    return branches_and_loops.repeat(trace, op, operands, _inner)


def _attention(trace: CallTrace, op: Attention, operands: Sequence[Array]) -> list[Array]:
    """JAX's attention where it has the same meaning, else the parts of the op."""
    if attention.is_fused(trace, op):
        return [attention.fused(trace, op, operands)]
    return traced(trace, decompose(attention.parts(op), supports), operands, {})


def _checkpoint(trace: CallTrace, op: Checkpoint, operands: Sequence[Array]) -> list[Array]:
    return traced(trace, op.body, operands, {})


_MEANINGS: dict[type[Op], Callable[[CallTrace, Any, Sequence[Array]], list[Array]]] = {
    Elementwise: _elementwise, View: _view, Structured: structured, Constant: _constant, Full: _full, Guard: _guard,
    Branches: _branches, Scan: _scan, While: _while,
    Checkpoint: _checkpoint, Attention: _attention}
