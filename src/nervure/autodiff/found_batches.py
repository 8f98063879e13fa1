"""Lengths that differ between examples: the part of a graph that has them becomes a loop over the examples.

What one example finds, as the number of its positive elements, has no dimension in front: each finds another length. So
the ops from those that find lengths to those that have used them up run for one example after the other.

>>> import nervure as nv
>>> nv.vmap(lambda row: nv.sum(row[row > 0]) + 1)(nv.constant([[1.0, -1.0], [2.0, 3.0]])).tolist()
[2.0, 6.0]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from nervure.ir.function import Function, is_effect, moved
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.whole_op import WholeOp, found_lengths, fresh_lengths, rebuild_with
from nervure.ops.looping import Scan
from nervure.types.dim import DimLike


class Apart(NamedTuple):
    """The ops of a walk that run for one example after the other, those that find lengths among them.

    ``front`` are the ops that do not need them, ``behind`` all others; each list is in order.
    """

    front: list[Op]
    inside: list[Op]
    behind: list[Op]
    finders: list[WholeOp]

    @classmethod
    def of(cls, order: Sequence[Op], mapped: Collection[Value]) -> Apart | None:
        """Splits the ops of a walk in which some values are ``mapped``; None if no length depends on these."""
        depends: set[Value] = set(mapped)
        for op in order:
            if not depends.isdisjoint(op.operands):
                depends.update(op.outputs)
        finders = [op for op in order if isinstance(op, WholeOp) and op.found and not depends.isdisjoint(op.operands)
                   and not any([output in mapped for output in op.outputs])]
        if not finders:
            return None
        names = found_lengths(finders).keys()
        core = {op for op in order if op in finders or any([
            not names.isdisjoint(value.type.symbols) for value in (*op.operands, *op.outputs)])}
        below = _reached(order, core)
        users: dict[Op, list[Op]] = {}
        for op in order:
            for operand in op.operands:
                users.setdefault(operand.op, []).append(op)
        above = set(core)
        for op in reversed(order):
            if any([user in above for user in users.get(op, ())]):
                above.add(op)
        inside = below & above
        return cls([op for op in order if op not in below], [op for op in order if op in inside],
                   [op for op in order if op in below and op not in inside], finders)

    def outputs(self, roots: Collection[Value], known: Mapping[Value, Value], shared: Mapping[Value, Value],
                length: DimLike) -> dict[Value, Value]:
        """Returns, for each value inside that is read outside or is a root, that for all ``length`` examples.

        ``known`` has what stands for the mapped values, ``shared`` what stands for others.
        """
        made = {output for op in self.inside for output in op.outputs}
        read = dict.fromkeys([operand for op in self.inside for operand in op.operands if operand not in made
                              and not isinstance(operand.op, (Constant, Full))])
        slices = [value for value in read if value in known]
        captured = [value for value in read if value not in known]
        wanted = [*dict.fromkeys([value for value in (*[operand for op in self.behind for operand in op.operands],
                                                      *roots) if value in made])]
        parameters = [Parameter.of(value.type) for value in (*slices, *captured)]
        table = {value: entry.output for value, entry in zip((*slices, *captured), parameters, strict=True)}
        rebuild_with(self.inside, table, fresh_lengths(self.finders))
        effects = [moved(op, table) for op in self.inside if is_effect(op) and op.outputs]
        body = Function([table.get(value, value) for value in wanted], parameters, effects=effects, name="example")
        scan = Scan(*[known[value] for value in slices], *[shared.get(value, value) for value in captured], body=body,
                    carries=0, slices=len(slices), length=length)
        return dict(zip(wanted, scan.outputs, strict=True))


def _reached(order: Sequence[Op], core: Collection[Op]) -> set[Op]:
    """Returns ops and all that depend on them."""
    found = set(core)
    for op in order:
        if any([operand.op in found for operand in op.operands]):
            found.add(op)
    return found
