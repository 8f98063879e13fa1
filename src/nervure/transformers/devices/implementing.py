"""Functions given to ``nv.implement`` for an op on a device that a transformer runs.

Such an op becomes a call of the function, or an elementwise op with the function as its meaning.

>>> import nervure as nv
>>> @nv.defnode("A[~ n] B[~ n] -> C[~ n]")
... class LargerElement:
...     "The larger of two elements."
>>> @nv.implement(LargerElement, device=nv.CPUTensor, mode="generate")
... def larger(s, a, b):
...     return s.where(s.greater(a, b), a, b)
>>> x = nv.Parameter(nv.float32, (4,))
>>> implemented(LargerElement.op(x, x), nv.CPUTensor)
f32[4] Generated(Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nervure.errors import InvalidArgument, NervureError, WrongKind, shown
from nervure.ir import field
from nervure.ir.device import Device, Implementation, implementation_of
from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, Scalar
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op
from nervure.ir.provenance import on_behalf_of
from nervure.ops.effects import HostCall
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.devices.elements import Elements, at_home, filled, to_array
from nervure.transformers.devices.pool import Lease, lease
from nervure.transformers.interpreter.evaluate import evaluate
from nervure.transformers.memory_estimate import numbers
from nervure.types.dtype import DType


def implemented(op: Op, device: type[Device]) -> Op:
    """Returns the op for the device's transformer: itself, if no function was given for it."""
    found = None if device.transformer is None else implementation_of(type(op), device)
    if found is None:
        return op
    with on_behalf_of(op.provenance):
        fresh = _generated(op, found) if found.mode == "generate" else _called(op, found, device)
    fresh.name = op.name
    for new, old in zip(fresh.outputs, op.outputs, strict=True):
        new.labels = old.labels
    return fresh


def is_pointwise(op: Op) -> bool:
    """Whether all operands and the only result have one shape, and all operands one element type."""
    types = [value.type for value in op.operands]
    return (len(op.outputs) == 1 and len({entry.dtype for entry in types}) == 1
            and all([entry.shape == op.outputs[0].type.shape for entry in types]))


def run_implementation(found: Implementation, op: Op, operands: Sequence[Elements],
                       results: Sequence[Elements]) -> None:
    """Calls a ``found`` implementation of an op with ``operands``; it writes the ``results``."""
    returned = found.function(op, *operands, *results)
    if returned is not None and not any([returned is result for result in results]):
        raise op.fail(WrongKind, "an implementation writes its results and returns nothing", operand=_name(found),
                      got=shown(returned), expected="None",
                      help="the last parameters are the results: set their elements with out.set_vref(i, value)")


def _name(found: Implementation) -> str:
    return getattr(found.function, "__name__", type(found.function).__name__)


# -- functions called in each run --------------------------------------------------------------------------------------


def _called(op: Op, found: Implementation, device: type[Device]) -> HostCall:
    parameters = [Parameter.of(value.type) for value in op.operands]
    alone = op.copied([parameter.output for parameter in parameters])  # without its graph
    binder = Binder(Function(alone.outputs, parameters, name=type(op).__name__))

    def forward(*arrays: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        with lease() as made:
            operands = [at_home(device, array) for array in arrays]
            results = results_of(alone, device, operands, binder.bind(arrays)[1], made)
            run_implementation(found, alone, operands, results)
            copies = [np.array(to_array(result), order="C", copy=True) for result in results]
        return copies[0] if len(copies) == 1 else tuple(copies)

    forward.__name__ = _name(found)
    return HostCall(*op.operands, function=forward, types=[value.type for value in op.outputs], effectful=False)


def results_of(op: Op, device: type[Device], operands: Sequence[Elements], bindings: Bindings,
               made: Lease) -> list[Elements]:
    """Returns tensors for the results of an op: undefined, or with the elements of the operand that the op writes in
    place.
    """
    results = []
    for output, target in zip(op.outputs, targets_of(op), strict=True):
        result = made.take(device, output.type.dtype, numbers(output.type.shape, bindings))
        results.append(result if target is None else filled(result, to_array(operands[target])))
    return results


def targets_of(op: Op) -> tuple[int | None, ...]:
    """For each result, returns the operand that its where string names as its place."""
    return (None,) * len(op.outputs) if op.type_rule is None else op.type_rule.targets


# -- a scalar expression ---------------------------------------------------------------------------------------------


class Generated(Elementwise, abstract=True):  # an abstract class, since no text refers to it by name
    """``function(s, *elements)`` at every index, as an element of ``dtype``."""

    operand_names = "*xs"
    function = field.function_of_host()
    dtype = field.dtype()

    def result_dtype(self, dtype: DType) -> DType:
        return self.dtype

    def evaluate(self, s: object, *elements: Scalar) -> Scalar:
        found: Scalar = self.function(s, *elements)
        return found


def _generated(op: Op, found: Implementation) -> Generated:
    attributes = op.attributes

    def expression(s: object, *elements: object) -> object:
        return found.function(s, *elements, **attributes)

    expression.__name__ = _name(found)
    fresh = Generated(*op.operands, function=expression, dtype=op.outputs[0].type.dtype)
    _try_once(op, found, fresh)
    return fresh


def _try_once(op: Op, found: Implementation, fresh: Generated) -> None:
    """Evaluates the expression for one element, so that a mistake in it is reported here."""
    alone = fresh.copied([Parameter(value.dtype, ()).output for value in op.operands])
    try:
        evaluate(alone, [np.ones((), value.dtype.numpy) for value in op.operands])
    except Exception as error:
        message = error.message if isinstance(error, NervureError) else f"{type(error).__name__}: {error}"
        raise op.fail(InvalidArgument, "the scalar expression cannot be evaluated", operand=_name(found), got=message,
                      expected=f"{_name(found)}(s, {', '.join(type(op).operand_names)}), by functions of s alone",
                      help="s has the functions of docs/ops.md: s.where(s.greater(a, b), a, b)") from None
