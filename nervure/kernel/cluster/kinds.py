"""What clustering asks of an op: how its result depends on its operands' indices.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> facts = Facts()
>>> facts.kind(nv.ops.Sum(x, [0])), facts.kind(nv.ops.Exp(x)), facts.kind(nv.ops.Pad(x, [(1, 1), (0, 0)]))
('reduction', 'pointwise', 'pieces')
"""

from __future__ import annotations

from typing import Any

from nervure.ir.kinds import Element, Elementwise, Structure, Structured, View, identity_access, multiply_body
from nervure.ir.leaves import Full, Leaf
from nervure.ir.op import Op
from nervure.ops.views import AssumeShape, Diagonal, Permute, Reshape, Reverse, Slice
from nervure.types.dim import index
from nervure.types.index_map import IndexMap

LEAF, NUMBER, VIEW, PIECES, POINTWISE, MAPPED, REDUCTION, SCATTER, HOST = (
    "leaf", "number", "view", "pieces", "pointwise", "mapped", "reduction", "scatter", "host")

ONCE = (Permute, Reverse, Slice, Reshape, AssumeShape, Diagonal)
"""Views that show no element twice."""

ALL = (Permute, Reverse, Reshape, AssumeShape)
"""Those of them that show every element."""

DENSE = (Reshape, AssumeShape)
"""Views that show all elements in their order in memory."""


class Facts:
    """What is known of the ops of one function; each is looked at once."""

    def __init__(self) -> None:
        self._kinds: dict[Op, str] = {}
        self._structures: dict[Op, Structure] = {}
        self._maps: dict[Op, IndexMap] = {}

    def kind(self, op: Op) -> str:
        """How an op is treated.

        number: one number everywhere; view: an index map; pieces: several index maps, each for a box; pointwise: an
        expression of the operands at the same index; mapped: operands at other indices, or the index alone;
        reduction: combined over some axes of a domain; scatter: any other iteration; host: a call of Python.
        """
        found = self._kinds.get(op)
        if found is None:
            found = self._kinds[op] = self._kind(op)
        return found

    def structure(self, op: Any) -> Structure:
        """The structure of a structured op."""
        found = self._structures.get(op)
        if found is None:
            found = self._structures[op] = op.structure(*[operand.type for operand in op.operands])
        return found

    def index_map(self, op: Any) -> IndexMap:
        """The index map of a view of one tensor."""
        found = self._maps.get(op)
        if found is None:
            found = self._maps[op] = op.view.index_map
        return found

    def reads_in_place(self, op: Op) -> bool:
        """Whether a structured op reads one operand, at the domain's own index."""
        structure = self.structure(op)
        return structure.reads == (identity_access(len(structure.domain)),)

    def operands_read(self, op: Op) -> set[int]:
        """The numbers of the operands whose elements a structured op reads."""
        structure = self.structure(op)
        numbers = {at for at, access in enumerate(structure.reads) if access is not None}
        accesses = [*[access for access in structure.reads if access is not None], *structure.writes]
        numbers |= {entry.operand for access in accesses for entry in access.coordinates if isinstance(entry, Element)}
        return numbers if structure.initial is None else numbers | {structure.initial}

    def _kind(self, op: Op) -> str:
        if isinstance(op, Elementwise):
            return POINTWISE
        if isinstance(op, View):
            return VIEW if hasattr(op.view, "index_map") else PIECES
        if isinstance(op, Leaf):
            return NUMBER if isinstance(op, Full) else LEAF
        if isinstance(op, Structured):
            return _kind_of_structure(self.structure(op))
        return HOST


def _kind_of_structure(structure: Structure) -> str:
    if structure.body is multiply_body and structure.combine == "add":
        return HOST
    if structure.initial is not None or structure.combine == "set":
        return SCATTER
    if structure.combine is None:
        own = identity_access(len(structure.domain))
        return MAPPED if all([write == own for write in structure.writes]) else SCATTER
    kept = tuple([index(d) for d in structure.written])
    return REDUCTION if all([write.coordinates == kept and not write.drop for write in structure.writes]) else SCATTER
