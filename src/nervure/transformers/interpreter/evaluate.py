"""The meaning of one op: its results as arrays, from the arrays of its operands.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> evaluate(nv.ops.Add(x, x), [np.float32([1, 2])] * 2)[0]
array([2., 4.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from nervure.ir.kinds import Elementwise, Structured, View, as_results
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Op
from nervure.ir.ordered_locks import Visit, visiting
from nervure.ir.region import RegionOp
from nervure.ir.whole_op import WholeOp
from nervure.ops.effects import Guard, HostCall, PrintOp
from nervure.transformers.arguments import as_array
from nervure.transformers.binding import Bindings
from nervure.transformers.convert import convert
from nervure.transformers.interpreter.reading import view
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.transformers.interpreter.structure import iterate
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import evaluate as evaluate_dim
from nervure.types.dtype import DType
from nervure.types.shape import index_at

Arrays = Sequence[np.ndarray]

_SCALARS = NumPyScalars()


def results_of(op: Op, operands: Arrays, bindings: Bindings) -> Arrays:
    """Returns the results of an op for these values of the symbols. NotSupported if it has no kind of meaning."""
    for kind, meaning in _MEANINGS.items():
        if isinstance(op, kind):
            return meaning(op, operands, bindings)
    raise op.fail(NotSupported, "the interpreter has no meaning for this op", got=type(op).__name__,
                  expected="an elementwise op, a view, a structured op, an effect, a branch or a loop",
                  help="give the op a decomposition, or a forward: @nv.implement(..., device=...)")


def evaluate(op: Op, arrays: Arrays) -> list[np.ndarray]:
    """Returns the results of one op of a supported class, without symbols, from the arrays of its operands.

    The arrays are not written; a result may be a view of one.
    """
    with np.errstate(all="ignore"):
        return [np.asarray(result) for result in results_of(op, arrays, {})]


def supports(op_class: type[Op]) -> bool:
    """Whether ops of a class have a meaning here; branches and loops have theirs in :mod:`control_flow`."""
    return issubclass(op_class, (*_MEANINGS, RegionOp))


def static_value(op: Op, bindings: Bindings) -> np.ndarray:
    """Returns the value of a constant."""
    if isinstance(op, Constant):
        return op.array
    assert isinstance(op, Full)
    # One element with strides of zero: it takes no memory, whatever its shape.
    return np.broadcast_to(op.dtype.numpy.type(op.number), numbers(op.shape, bindings))


def _declared(op: Op, bindings: Bindings) -> list[tuple[tuple[int, ...], DType]]:
    """Returns the shape and the element type of each output."""
    return [(numbers(output._type.shape, bindings), output._type.dtype) for output in op.outputs]


# -- the kinds of meaning ------------------------------------------------------------------------------------


def _elementwise(op: Elementwise, operands: Arrays, bindings: Bindings) -> Arrays:
    """Returns the results, each rounded to its element type; a constant one is broadcast."""
    results = as_results(op.evaluate(_SCALARS, *operands))
    return [np.broadcast_to(convert(result, dtype), shape) for result, (shape, dtype)
            in zip(results, _declared(op, bindings), strict=True)]


def _view(op: View, operands: Arrays, bindings: Bindings) -> Arrays:
    return [view(op.view, operands, bindings, op)]


def _structured(op: Structured, operands: Arrays, bindings: Bindings) -> Arrays:
    structure = op.structure(*[operand.type for operand in op.operands])
    return iterate(structure, operands, _declared(op, bindings), op, bindings)


# -- effects -------------------------------------------------------------------------------------------------


def _print(op: PrintOp, operands: Arrays, bindings: Bindings) -> Arrays:
    start = f"{op.prefix}: " if op.prefix else ""
    visiting(Visit("PrintOp", op.location), print, f"{start}{np.asarray(operands[0])}")
    return operands


def _guard(op: Guard, operands: Arrays, bindings: Bindings) -> Arrays:
    condition = np.asarray(operands[0])
    if not condition.all():
        raise op.failure(index_at(int(np.argmin(condition)), condition.shape))
    return ()


def _host_call(op: HostCall, operands: Arrays, bindings: Bindings) -> Arrays:
    declared = _declared(op, bindings)
    results = visiting(Visit("HostCall", op.location), op.function, *[_lent(operand) for operand in operands])
    if not declared:
        return ()
    results = results if isinstance(results, (tuple, list)) and len(declared) != 1 else (results,)
    if len(results) != len(declared):
        raise op.fail(WrongKind, "the host function returned another number of results", got=len(results),
                      expected=len(declared), help="return a tuple with an array for each declared result")
    return [_returned(op, result, shape, dtype) for result, (shape, dtype) in zip(results, declared, strict=True)]


def _whole_op(op: WholeOp, operands: Arrays, bindings: Bindings) -> Arrays:
    bounds = [evaluate_dim(length.bound, bindings) for length in op.found]
    return op.compute(*operands, bound=max(bounds, default=0))


def _lent(value: np.ndarray) -> np.ndarray:
    """Returns a value for a host function: a copy, which it may keep, since the memory of values does not outlive the
    call.
    """
    array = np.array(value, order="C", copy=True)
    array.flags.writeable = False
    return array


def _returned(op: HostCall, result: object, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Returns a result of a host function, checked and copied: the function may keep its array and write it later."""
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


_MEANINGS: dict[type[Op], Callable[[Any, Arrays, Bindings], Arrays]] = {
    Elementwise: _elementwise, View: _view, Structured: _structured,
    HostCall: _host_call, PrintOp: _print, Guard: _guard, WholeOp: _whole_op}
