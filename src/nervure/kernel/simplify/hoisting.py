"""Hoisting of loop-invariant checks: those that are the same in every iteration of a loop are made once, before it.

>>> from nervure.kernel.parser import parse_kernel
>>> rows, = parse_kernel('''
... kernel rows(in places: i64[3], out y: i64[12]):
...   for i < 3 parallel:
...     for j < 4 vector:
...       v0 = places[i]
...       v1 = less(v0, 9_i64)
...       check v1 else 1, v0
...       y[4*i + j] = v0
... ''').body
>>> outer, = with_checks_outside((rows,))
>>> [type(statement).__name__ for statement in outer.body], len(outer.body[-1].body)
(['Load', 'Apply', 'Check', 'For'], 1)

A loop that may have no iteration keeps its checks, and so does the loop that threads share.
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.kernel.ir import Body, Buffer, Check, Definition, For, Load, Scalar, Statement, Variable, Write, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import Rewrite
from nervure.support.replacing import replace
from nervure.types.dim import less_equal


def with_checks_outside(body: Body) -> Body:
    """Moves checks, and the statements that they need, out of the loops that they do not depend on."""
    return _Hoisting().block(body)


class _Hoisting(Rewrite):
    def for_loop(self, loop: For, out: list[Statement]) -> None:
        body = self.block(loop.body)
        if not loop.parallel and less_equal(1, loop.extent) is True:
            fixed = _fixed_checks(loop.index, body)
            out.extend([statement for statement in body if statement in fixed])
            body = tuple([statement for statement in body if statement not in fixed])
        if body:
            out.append(replace(loop, body=body))


def _fixed_checks(index: LoopIndex, body: Body) -> set[Statement]:
    """Returns the checks in a body that do not change with an index, and the statements that define their operands."""
    written = {statement.buffer for statement in walk(body) if isinstance(statement, Write)}
    makers: dict[Scalar, Definition] = {}
    fixed: set[Statement] = set()
    for statement in body:
        if isinstance(statement, Definition) and _is_fixed(statement, index, written, makers):
            makers[statement.result] = statement
        elif isinstance(statement, Check) and _are_known(statement.operands, makers):
            fixed |= {statement, *_needed(statement, makers)}
    return fixed


def _is_fixed(statement: Definition, index: LoopIndex, written: set[Buffer], makers: dict[Scalar, Definition]) -> bool:
    if statement.mentions(index) or (isinstance(statement, Load) and statement.buffer in written):
        return False
    return _are_known(statement.operands, makers)


def _are_known(scalars: Iterable[Scalar], makers: dict[Scalar, Definition]) -> bool:
    """Whether all ``scalars`` are loop-invariant here."""
    return all([scalar in makers for scalar in scalars if isinstance(scalar, Variable)])


def _needed(check: Check, makers: dict[Scalar, Definition]) -> set[Statement]:
    """Returns the statements that a check needs, directly or indirectly."""
    found: set[Statement] = set()
    stack = list(check.operands)
    while stack:
        maker = makers.get(stack.pop())
        if maker is not None and maker not in found:
            found.add(maker)
            stack.extend(maker.operands)
    return found
