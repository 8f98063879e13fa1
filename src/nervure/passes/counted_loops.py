"""Scans between single numbers, over no slices but the number of the iteration, become while loops.

A while loop over single numbers is one kernel, whose carries stay in registers; so the counter of a ``fori_loop`` does.

>>> import nervure as nv
>>> from nervure.ops import Iota, Scan
>>> total, k = nv.Parameter(nv.int64, ()), nv.Parameter(nv.int64, ())
>>> body = nv.Function([total * 2 + k], [total, k])
>>> start = nv.Parameter(nv.int64, ())
>>> scan = Scan(start, Iota((9,)), body=body, carries=1, slices=1, length=9)
>>> counted_loops(nv.Function(scan.outputs, [start])).results
(i64[], i64[] While(Parameter, Full, Full)[0],)

Bodies that have effects, or that do more than a few ops on numbers, stay scans.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Value
from nervure.ops.comparison import Less
from nervure.ops.conversion import converted
from nervure.ops.looping import Scan, While
from nervure.ops.statistics import length_everywhere
from nervure.types.dtype import int64

MOST_OPS = 256
"""The most ops of a body on numbers, of which a kernel has one statement each."""


def counted_loops(function: Function) -> Function:
    """Returns the function with while loops in place of scans that count; itself if there are none."""
    if not any([isinstance(op, Scan) and _counts(op) for op in function.operations]):
        return function
    return function.rebuilt(lambda op: _counting(op) if isinstance(op, Scan) and _counts(op) else None)


def _counts(op: Scan) -> bool:
    """Whether a scan is a loop between single numbers, which gives its last carries alone."""
    is_plain = not op.effectful and not op.saved and 0 < op.carries == len(op.body.results)
    return (is_plain and len(op.counters) == op.slices and len(op.body.operations) <= MOST_OPS
            and all([value.shape == () for at, value in enumerate(op.operands) if at not in op.counters])
            and all([isinstance(each, (Elementwise, Full, Parameter)) and each.outputs[0].shape == ()
                     for each in op.body.operations]))


def _counting(op: Scan) -> Sequence[Value]:
    """Returns the last carries, made by a while loop. Its last carry is the number of iterations so far."""
    length = length_everywhere(op.length, int64, ())
    functions = []
    for is_body in (False, True):
        carried, captured = [[Parameter(value.dtype, ()) for value in values] for values in (
            op.operands[:op.carries], op.operands[op.carries + op.slices:])]
        done, most = Parameter(int64, ()), Parameter(int64, ())
        position = most - 1 - done if op.reverse else done.output
        slices = [converted(position, op.operands[at].dtype) for at in op.counters]
        results = [*op.body(*carried, *slices, *captured), done + 1] if is_body else [Less(done, most).output]
        functions.append(Function(results, [*carried, done, *captured, most], name=op.body.name))
    start = Full(0, int64, ())
    loop = While(*op.operands[:op.carries], start, *op.operands[op.carries + op.slices:], length,
                 condition=functions[0], body=functions[1], carries=op.carries + 1)
    return loop.outputs[:op.carries]
