"""The meaning of branches and loops: their functions run as lists of steps, as often as it takes.

>>> import numpy as np
>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total + x, total], [total, x])
>>> xs, start = nv.Parameter(nv.float32, (4,)), nv.ops.Full(0.0, nv.float32, ())
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=4)
>>> run = nv.transformers.make_transformer("interpreter").compile(nv.Function(scan.outputs, [xs]))
>>> last, before = run(np.float32([1, 2, 3, 4]))
>>> last.item(), before.tolist()
(10.0, [0.0, 1.0, 3.0, 6.0])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.region import RegionOp
from nervure.ops.branching import Branches
from nervure.ops.looping import Scan, While
from nervure.ops.rematerialising import Checkpoint
from nervure.transformers.binding import Bindings
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import evaluate

Arrays = Sequence[np.ndarray]
Runner = Callable[[Function], Callable[[Arrays], list[np.ndarray]]]
"""Makes a function of Python, from parameters to results, of a function that an op holds."""


def run_region(op: RegionOp, operands: Arrays, bindings: Bindings, runner: Runner) -> Arrays:
    """Returns the results of an op with functions, which ``runner`` makes callable, for these values of the symbols."""
    if isinstance(op, Branches):
        return runner(op.branches[op.chosen(int(operands[0]))])(operands[1:])
    if isinstance(op, Scan):
        return _run_scan(op, operands, bindings, runner)
    if isinstance(op, While):
        return _run_while(op, operands, runner)
    if isinstance(op, Checkpoint):
        return runner(op.body)(operands)
    raise op.fail(NotSupported, "the interpreter has no meaning for this op", got=type(op).__name__,
                  expected="If, Switch, Scan, While or Checkpoint", help="give the op a decomposition")


def _run_while(op: While, operands: Arrays, runner: Runner) -> Arrays:
    goes_on, step = runner(op.condition), runner(op.body)
    carries, captured = list(operands[:op.carries]), operands[op.carries:]
    while bool(goes_on([*carries, *captured])[0]):
        carries = step([*carries, *captured])
    return carries


def _run_scan(op: Scan, operands: Arrays, bindings: Bindings, runner: Runner) -> Arrays:
    length, first = evaluate(op.length, bindings), op.carries + op.slices
    carries, slices, captured = list(operands[:op.carries]), operands[op.carries:first], operands[first:]
    stacked = [np.empty(numbers(value.shape, bindings), value.dtype.numpy) for value in op.outputs[op.carries:]]
    step = runner(op.body)
    for at in reversed(range(length)) if op.reverse else range(length):
        before = [carries[number] for number in op.saved]
        results = step([*carries, *[np.asarray(each[at]) for each in slices], *captured])
        carries = results[:op.carries]
        for whole, part in zip(stacked, [*results[op.carries:], *before], strict=True):
            whole[at] = part
    return [*carries, *stacked]
