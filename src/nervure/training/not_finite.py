"""A search for the origin of a number that is not finite: the forward part runs again, op by op, on the interpreter.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.placeholder((2,)).named("x")
>>> loss = nv.sum(nv.log(x) * 2.0)
>>> function = nv.computation(loss, x).function
>>> error = origin(function, [np.float32([1, 0])], nv.transformers.default(), "at a step")
>>> error.op, error.got
('Log', '-inf in 1 of 2 elements')
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nervure.errors import NumericError
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.passes.decompose import decompose
from nervure.transformers.base import Transformer
from nervure.transformers.binding import Binder
from nervure.transformers.convert import widen
from nervure.transformers.interpreter.step_list import StepList
from nervure.transformers.interpreter.transformer import Interpreter

HELP = "nothing was changed by this step; a smaller learning rate, nv.optim.Clipped, or an epsilon may help"


def origin(function: Function, arguments: Sequence[object], transformer: Transformer, where: str) -> NumericError:
    """Returns an error that names the first op from which infinities or NaN spread to the first result that has one.

    Variables are read from the transformer as they are; random numbers are drawn as the failed call drew them.
    """
    with Interpreter() as interpreter:
        forward = decompose(Function(function.results[:1], function.parameters), interpreter.supports)
    values = transformer.snapshot(forward.variables)
    arrays, bindings = Binder(forward).bind(arguments)
    found: dict[Value, str] = {}

    def watch(op: Op, outputs: Sequence[np.ndarray]) -> None:
        for value, array in zip(op.outputs, outputs, strict=True):
            text = _not_finite(array)
            if text is not None:
                found[value] = text
    for leaf in forward.operations:
        if isinstance(leaf, ReadVariable):
            watch(leaf, [values[leaf.variable]])
    for parameter, array in zip(forward.parameters, arrays, strict=True):
        watch(parameter, [array])
    StepList(forward, bindings).run(arrays, values, watch=watch)
    return _blamed(forward, found, where)


def _blamed(forward: Function, found: dict[Value, str], where: str) -> NumericError:
    reached = _reached(forward.results[0], found)
    for op in forward.operations:
        first = next((value for value in op.outputs if value in reached), None)
        if first is not None and not any([operand in found for operand in op.operands]):
            return _error(op, found[first], where)
    return NumericError("the loss is not finite, and is when it is computed op by op", op="fit", got=where,
                        expected="finite numbers", help=HELP)


def _reached(root: Value, found: dict[Value, str]) -> set[Value]:
    """Returns the values that are not finite and lead to ``root`` through such values alone."""
    reached, waiting = set[Value](), [root] if root in found else []
    while waiting:
        value = waiting.pop()
        if value not in reached:
            reached.add(value)
            waiting.extend([operand for operand in value.op.operands if operand in found])
    return reached


def _error(op: Op, got: str, where: str) -> NumericError:
    scope = op.provenance.scope
    if isinstance(op, ReadVariable):
        return NumericError("a variable is not finite, and so is the loss", op="fit", operand=op.variable.name, got=got,
                            expected="finite numbers", location=op.variable.location,
                            help=f"{where}: {HELP}; its gradient at a step before was not finite")
    if isinstance(op, Parameter):
        return NumericError("the data are not finite, and so is the loss", op="fit", operand=op.name, got=got,
                            expected="finite numbers", help=f"{where}: look at this batch")
    return op.fail(NumericError, "this made the loss not finite, from finite numbers", got=got,
                   operand=f"in {scope}" if scope else None, expected="finite numbers", help=f"{where}: {HELP}")


def _not_finite(array: np.ndarray) -> str | None:
    """Describes the first element that is not finite, and their number; None if all are finite."""
    wide = widen(array)
    if wide.dtype.kind not in "fc":
        return None
    bad = ~np.isfinite(wide)
    count = int(np.count_nonzero(bad))
    return f"{wide[bad].flat[0]} in {count:,} of {bad.size:,} elements" if count else None
