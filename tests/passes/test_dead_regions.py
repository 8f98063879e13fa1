"""Branches and loops lose each value that no reader needs."""

from __future__ import annotations

import nervure as nv
from nervure import ops
from nervure.passes.dead_regions import dead_regions


def number() -> nv.Parameter:
    return nv.Parameter(nv.float32, ())


def test_a_loop_captures_only_what_it_uses():
    """All that it carries stays, and it is the same loop if there is nothing to leave out."""
    x, y, z = number(), number(), number()
    condition = nv.Function([ops.Less(x, ops.Full(9, nv.float32, ()))], [x, y, z])
    x, y, z = number(), number(), number()
    body = nv.Function([x + y], [x, y, z])
    loop = ops.While(number(), number(), number(), condition=condition, body=body, carries=1)
    given = [operand.op for operand in loop.operands]
    lean = dead_regions(nv.Function(loop.outputs, given))
    assert lean.results[0].op.operands == loop.operands[:2]
    assert dead_regions(lean) is lean
