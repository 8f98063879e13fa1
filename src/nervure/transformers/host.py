"""Steps that Python runs: host calls, prints and guards, and ops that have no native kernel yet.

Operands are read in place: views of stored values become NumPy views.

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

from collections.abc import Callable, Mapping

import numpy as np

from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Parameter
from nervure.ir.traverse import postorder, rebuild
from nervure.kernel.plan import OpaqueStep
from nervure.memory.storage import Storage
from nervure.transformers.binding import Bindings
from nervure.transformers.interpreter.step_list import StepList
from nervure.transformers.memory_estimate import numbers

Arrays = Mapping[Storage, np.ndarray]


def host_program(step: OpaqueStep, bindings: Bindings) -> Callable[[Arrays], list[np.ndarray]]:
    """Returns a function from the arrays of stored values to the arrays of the op's outputs, for these sizes."""
    steps = StepList(_alone(step), bindings)
    shapes = [numbers(value.shape, bindings) for value in step.bases]

    def run(arrays: Arrays) -> list[np.ndarray]:
        given = zip(step.bases.values(), shapes, strict=True)  # the storage may hold a reshape of the value
        return steps.run([arrays[storage].reshape(shape) for storage, shape in given], {})
    return run


def _alone(step: OpaqueStep) -> Function:
    """Returns the op of a step, and the views before it, as a function of the stored values."""
    table = {value: Parameter.of(value.type).output for value in step.bases}
    parameters = list(table.values())
    rebuild(postorder([step.op], {value.op for value in step.bases}), table)
    op = step.op.with_operands([table.get(value, value) for value in step.op.operands])
    return Function(op.outputs, parameters, effects=[op] if is_effect(op) else [])
