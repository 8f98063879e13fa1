"""Values that derivatives take for something else become themselves: what is compiled is differentiated no more.

This comes before dead regions, so that a loop does not keep a variable for its derivative alone.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> straight(nv.Function([nv.ops.Exp(nv.ops.StraightThrough(x, y))], [x, y])).results
(f32[3] Exp(Parameter),)
"""

from __future__ import annotations

from nervure.ir.function import Function
from nervure.ops.conversion import StraightThrough
from nervure.passes.inner_functions import within_bodies
from nervure.passes.rewrite import Local, Rewriter

_rewriter = Rewriter("straight", [Local("straight", [StraightThrough], lambda op: op.operands[0])])


def straight(function: Function) -> Function:
    """Returns the function with x in place of each StraightThrough(x, y), in bodies too; itself if there is none."""
    if any([isinstance(op, StraightThrough) for op in function.operations]):
        function = _rewriter(function)
    return within_bodies(function, straight)
