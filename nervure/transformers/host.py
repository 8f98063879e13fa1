"""Steps that Python runs: host calls, prints and guards, and what has no native kernel yet.

Operands are read where they lie: views of stored values become NumPy views.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> x, filters = nv.Parameter(nv.float32, (1, 1, 4)), nv.Parameter(nv.float32, (1, 1, 3))
>>> slid = nv.ops.Convolution(x, nv.ops.Reverse(filters, (2,)))
>>> step, = make_plan(nv.Function([slid], [x, filters])).steps
>>> arrays = [np.arange(length, dtype=np.float32).reshape(1, 1, -1) for length in (4, 3)]
>>> host_program(step, {})(dict(zip(step.bases.values(), arrays)))[0].tolist()
[[[1.0, 4.0]]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Value
from nervure.ir.traverse import postorder
from nervure.kernel.plan import HostStep
from nervure.memory.storage import Storage
from nervure.transformers.binding import Bindings
from nervure.transformers.interpreter.evaluate import Step, Values, make_step, static_value
from nervure.transformers.memory_estimate import numbers

Arrays = Mapping[Storage, np.ndarray]


def host_program(step: HostStep, bindings: Bindings) -> Callable[[Arrays], list[np.ndarray]]:
    """A function from the arrays of stored values to the arrays of the op's outputs, for these sizes."""
    known = {value.op for value in step.bases}
    order = [op for op in postorder([step.op], set(known)) if op is not step.op]
    slots: dict[Value, int] = {}
    values: Values = []
    for value in [*step.bases, *[output for op in [*order, step.op] for output in op.outputs]]:
        slots[value] = len(values)
        values.append(None)
    program = []
    for op in [*order, step.op]:
        if isinstance(op, (Constant, Full)):
            values[slots[op.outputs[0]]] = static_value(op, bindings)
            continue
        inputs = tuple([slots[value] for value in op.operands])
        program.append(make_step(op, inputs, tuple([slots[value] for value in op.outputs]), bindings))
    return _runner(step, slots, values, program, bindings)


def _runner(step: HostStep, slots: dict[Value, int], start: Values, program: Sequence[Step],
            bindings: Bindings) -> Callable[[Arrays], list[np.ndarray]]:
    shapes = {value: numbers(value.shape, bindings) for value in step.bases}

    def run(arrays: Arrays) -> list[np.ndarray]:
        values = start.copy()
        for value, storage in step.bases.items():
            values[slots[value]] = arrays[storage].reshape(shapes[value])  # a reshape of the value may lie there
        with np.errstate(all="ignore"):
            for each in program:
                each(values)
        return [values[slots[output]] for output in step.op.outputs]
    return run
