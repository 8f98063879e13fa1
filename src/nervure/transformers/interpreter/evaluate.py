"""Evaluation of one op: a step that takes its operands from a list of values and puts its results there.

What an op means is looked at once, when the step is made: its kind, its shapes with the symbols' values
filled in, its plan.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> values = [np.float32([1, 2]), None]
>>> make_step(nv.ops.Add(x, x), (0, 0), (1,), {})(values)
>>> values[1]
array([2., 4.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from nervure.ir.kinds import Elementwise, ScalarExpression, Structured, View
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Op, Value
from nervure.ir.ordered_locks import Visit, visiting
from nervure.ops.effects import Guard, HostCall, PrintOp
from nervure.transformers.arguments import as_array
from nervure.transformers.binding import Bindings
from nervure.transformers.convert import convert
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.transformers.interpreter.structure import Plan
from nervure.transformers.interpreter.views import view_of
from nervure.transformers.memory_estimate import numbers
from nervure.types.dtype import DType

Values = list[Any]
Step = Callable[[Values], None]
Slots = Sequence[int]

_SCALARS = NumPyScalars()


def make_step(op: Op, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    """The step of an op whose operands and results lie in these slots."""
    for kind, maker in _MAKERS.items():
        if isinstance(op, kind):
            return maker(op, inputs, outputs, bindings)
    raise op.fail(NotSupported, "the interpreter has no meaning for this op", got=type(op).__name__,
                  expected="an elementwise op, a view, a structured op or an effect",
                  help="give the op a decomposition, or a forward: @nv.implement(..., device=...)")


def evaluate(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of one op of a supported class, without symbols, from the arrays of its operands.

    The arrays are not written; a result may be a view of one.
    """
    count = len(arrays)
    values = [*arrays, *[None] * len(op.outputs)]
    step = make_step(op, range(count), range(count, len(values)), {})
    with np.errstate(all="ignore"):
        step(values)
    return [np.asarray(value) for value in values[count:]]


def supports(op_class: type[Op]) -> bool:
    """Whether there is a step for the ops of a class."""
    return issubclass(op_class, tuple(_MAKERS))


def static_value(op: Op, bindings: Bindings) -> np.ndarray:
    """The value of a constant."""
    if isinstance(op, Constant):
        return op.array
    assert isinstance(op, Full)
    # One element with strides of zero: it takes no memory, whatever its shape.
    return np.broadcast_to(op.dtype.numpy.type(op.number), numbers(op.shape, bindings))


# -- elementwise -------------------------------------------------------------------------------------------


def _elementwise(op: Elementwise, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    results = [(output._type.dtype, numbers(output._type.shape, bindings)) for output in op.outputs]
    if len(outputs) != 1:
        return partial(_apply_several, op.evaluate, inputs, outputs, results)
    dtype, shape = results[0]
    return partial(_apply, op.evaluate, inputs, outputs[0], dtype, dtype.numpy, shape)


def _apply(evaluate: ScalarExpression, inputs: Slots, target: int, dtype: DType, wanted: np.dtype,
           shape: tuple[int, ...], values: Values) -> None:
    result = evaluate(_SCALARS, *[values[slot] for slot in inputs])
    values[target] = result if result.dtype == wanted and result.shape == shape else _settled(result, dtype, shape)


def _apply_several(evaluate: ScalarExpression, inputs: Slots, outputs: Slots,
                   results: Sequence[tuple[DType, tuple[int, ...]]], values: Values) -> None:
    elements = evaluate(_SCALARS, *[values[slot] for slot in inputs])
    for slot, element, (dtype, shape) in zip(outputs, elements, results, strict=True):
        values[slot] = _settled(element, dtype, shape)


def _settled(result: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """A result rounded to its element type; a constant one is broadcast."""
    result = convert(result, dtype)
    return result if result.shape == shape else np.broadcast_to(result, shape)


# -- views and structures ------------------------------------------------------------------------------------


def _shapes(values: Sequence[Value], bindings: Bindings) -> list[tuple[int, ...]]:
    return [numbers(value.type.shape, bindings) for value in values]


def _view(op: View, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    take, target = view_of(op.view, _shapes(op.operands, bindings), bindings, op), outputs[0]

    def step(values: Values) -> None:
        values[target] = take([values[slot] for slot in inputs])
    return step


def _structured(op: Structured, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    structure = op.structure(*[operand.type for operand in op.operands])
    results = [(numbers(output.type.shape, bindings), output.type.dtype) for output in op.outputs]
    plan = Plan(structure, _shapes(op.operands, bindings), results, op, bindings)

    def step(values: Values) -> None:
        for slot, result in zip(outputs, plan.run([values[slot] for slot in inputs]), strict=True):
            values[slot] = result
    return step


# -- effects -------------------------------------------------------------------------------------------------


def _print(op: PrintOp, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    (source,), (target,) = inputs, outputs
    start = f"{op.prefix}: " if op.prefix else ""

    def step(values: Values) -> None:
        visiting(Visit("PrintOp", op.location), print, f"{start}{np.asarray(values[source])}")
        values[target] = values[source]
    return step


def _guard(op: Guard, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    def step(values: Values) -> None:
        condition = np.asarray(values[inputs[0]])
        if not condition.all():
            raise op.failure(tuple([int(k) for k in np.unravel_index(int(np.argmin(condition)), condition.shape)]))
    return step


def _host_call(op: HostCall, inputs: Slots, outputs: Slots, bindings: Bindings) -> Step:
    declared = [(output.type.dtype, numbers(output.type.shape, bindings)) for output in op.outputs]

    def step(values: Values) -> None:
        results = visiting(Visit("HostCall", op.location), op.function, *[_lent(values[slot]) for slot in inputs])
        results = results if isinstance(results, (tuple, list)) and len(declared) != 1 else (results,)
        if len(declared) == 0:
            return
        if len(results) != len(declared):
            raise op.fail(WrongKind, "the host function returned another number of results", got=len(results),
                          expected=len(declared), help="return a tuple with an array for each declared result")
        for slot, result, (dtype, shape) in zip(outputs, results, declared, strict=True):
            values[slot] = _returned(op, result, dtype, shape)
    return step


def _lent(value: np.ndarray) -> np.ndarray:
    """A value for a host function: a copy, which it may keep, since the memory of values does not outlive the call."""
    array = np.array(value, order="C", copy=True)
    array.flags.writeable = False
    return array


def _returned(op: HostCall, result: object, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """What a host function returned, copied: the function may keep its array and write it later."""
    if result is None:
        raise op.fail(WrongKind, "the host function returned None", got=None, expected=f"{dtype.short}{list(shape)}",
                      help="return an array for each declared result")
    try:
        array = as_array(result, dtype, type(op).__name__, "result")
    except (WrongKind, InvalidArgument) as error:
        raise op.fail(type(error), f"what the host function returned does not fit: {error.message}", got=error.got,
                      expected=error.expected, help=error.help) from None
    if array.shape != shape:
        raise op.fail(ShapeMismatch, "the host function returned another shape", got=array.shape, expected=shape,
                      help="like= declares the results' axes and types")
    return np.array(array, order="C", copy=True)


_MAKERS: dict[type[Op], Callable[[Any, Slots, Slots, Bindings], Step]] = {
    Elementwise: _elementwise, View: _view, Structured: _structured,
    HostCall: _host_call, PrintOp: _print, Guard: _guard}
