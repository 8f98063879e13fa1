"""A part on a device that is written in Python: its ops one after the other, over storage.

Views move no element if strides can describe them. Functions given to ``nv.implement`` do everything else.

>>> import nervure as nv
>>> class Paper(nv.CPUTensor):
...     transformer = None
>>> @nv.implement(nv.ops.Negative, device=Paper)
... def negative(op, x, out):
...     for i in range(x.count):
...         out.set_vref(i, -x.vref(i))
>>> from nervure.transformers.devices.elements import at_home, to_array
>>> from nervure.transformers.devices.pool import lease
>>> x = nv.Parameter(nv.float32, (2, 2))
>>> program = PythonProgram(nv.Function([nv.ops.Permute(-x, (1, 0))], [x]), Paper)
>>> with lease() as made:
...     result, = program.run([at_home(Paper, np.float32([[1, 2], [3, 4]]))], {}, made)
...     to_array(result).tolist()
[[-1.0, -3.0], [-2.0, -4.0]]
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from nervure.errors import InternalError, NervureError
from nervure.ir.device import Device, implementation_of
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full, Leaf, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.ordered_locks import Visit, visiting
from nervure.transformers.binding import Bindings
from nervure.transformers.devices.elements import Elements, filled, places, seen
from nervure.transformers.devices.implementing import results_of, run_implementation
from nervure.transformers.devices.pool import Lease
from nervure.transformers.interpreter.evaluate import static_value
from nervure.transformers.interpreter.reading import view_through
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import substitute
from nervure.types.index_map import IndexMap
from nervure.types.view import SimpleView


class PythonProgram:
    """A function whose ops all have an implementation on ``device``, or are views of one tensor, or leaves."""

    def __init__(self, function: Function, device: type[Device]) -> None:
        self._function, self._device = function, device

    def run(self, arguments: Sequence[Elements], bindings: Bindings, made: Lease,
            ticks: list[int] | None = None) -> list[Elements]:
        """Returns the function's results; the storage that they lie in belongs to the lease, or to an argument.
        ``ticks`` receives the nanosecond at which each op but the leaves was done.
        """
        function = self._function
        given = function.parameters[:len(arguments)]  # the other parameters only give sizes
        known: dict[Value, Elements] = dict(zip([op.output for op in given], arguments, strict=True))
        for op in function.operations:
            if isinstance(op, Parameter):
                continue
            operands = [known[value] for value in op.operands]
            try:
                results = self._results(op, operands, bindings, made)
            except NervureError:
                raise
            except Exception as error:
                error.add_note(f"while running {op!r} on {self._device.__name__}, built at {op.location}")
                raise
            known.update(zip(op.outputs, results, strict=True))
            if ticks is not None and not isinstance(op, Leaf):
                ticks.append(time.perf_counter_ns())
        return [known[value] for value in function.results]

    def _results(self, op: Op, operands: Sequence[Elements], bindings: Bindings, made: Lease) -> Sequence[Elements]:
        found = implementation_of(type(op), self._device)
        if found is not None:
            results = results_of(op, self._device, operands, bindings, made)
            visiting(Visit(type(op).__name__, op.location), run_implementation, found, op, operands, results)
            return results
        if isinstance(op, (Constant, Full)):
            array = static_value(op, bindings)
            return [filled(made.take(self._device, op.output.type.dtype, array.shape), array)]
        if isinstance(op, View):
            return [self._view(op, operands[0], bindings, made)]
        raise InternalError(f"{op!r} was placed on {self._device.__name__}, which does not implement it")

    def _view(self, op: View, operand: Elements, bindings: Bindings, made: Lease) -> Elements:
        """Returns the operand seen through strides; a copy if they cannot describe the view."""
        view, shape = op.view, numbers(op.output.type.shape, bindings)
        assert isinstance(view, SimpleView)
        coordinates = [substitute(entry, bindings) for entry in view.index_map.coordinates]
        layout = IndexMap(shape, tuple(coordinates)).layout(operand.layout)
        if layout is not None:
            return seen(operand, layout, shape)
        taken = view_through(view.index_map, places(operand), bindings, op)
        fresh = made.take(self._device, operand.type.dtype, shape)
        for place, source in enumerate(np.asarray(taken).ravel().tolist()):
            fresh.set_vref(place, operand.vref(source))
        return fresh
