"""Analysis of ops: the dependence of a result's index on the operands' indices.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> analysis = OpAnalysis()
>>> [str(analysis.kind(op)) for op in (nv.ops.Sum(x, [0]), nv.ops.Exp(x), nv.ops.Pad(x, [(1, 1), (0, 0)]))]
['reduction', 'pointwise', 'segments']
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from nervure.ir.kinds import (
    Element,
    Elementwise,
    Structure,
    Structured,
    View,
    identity_access,
    identity_body,
    multiply_body,
)
from nervure.ir.leaves import Full, Leaf
from nervure.ir.op import Op
from nervure.kernel.known_integers import KnownIntegers
from nervure.ops.effects import Guard
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from nervure.types.view import ComplexView, Piece, SimpleView


class OpKind(StrEnum):
    """The kinds of ops that planning distinguishes."""

    LEAF = "leaf"
    NUMBER = "number"           # one number everywhere
    VIEW = "view"               # an index map over one tensor
    SEGMENTS = "segments"       # several index maps, each for a box
    POINTWISE = "pointwise"     # an expression of the operands at the same index
    INDEXED = "indexed"         # operands at other indices, or the index alone
    REDUCTION = "reduction"     # combined over some axes of a domain
    SCATTER = "scatter"         # any other iteration
    CHECK = "check"             # conditions that must hold
    OPAQUE = "opaque"           # what has no loops: a call of Python, a branch, a loop


class Level(StrEnum):
    """The part of the shared loops for whose indices an op has an element."""

    FULL = "full"               # each point of the loops
    ROW = "row"                 # each index of the axes that stay: reductions, and computations on their results
    CROSS_ROW = "cross-row"     # each index of the other axes: a reduction over the axes that stay


class ViewTraits(NamedTuple):
    """The properties of a view of one tensor: it shows no element twice, shows every one, shows all in row-major
    order.
    """

    is_injective: bool
    is_onto: bool
    keeps_order: bool


class OpAnalysis:
    """The analysis of the ops of one function; each op is analysed once."""

    def __init__(self) -> None:
        self._kinds: dict[Op, OpKind] = {}
        self._structures: dict[Op, Structure] = {}
        self._maps: dict[Op, IndexMap] = {}
        self._traits: dict[Op, ViewTraits] = {}
        self._alike: dict[SimpleView | ComplexView | None, ViewTraits] = {}
        self.integers = KnownIntegers()

    def kind(self, op: Op) -> OpKind:
        """Returns the kind of an op."""
        found = self._kinds.get(op)
        if found is None:
            found = self._kinds[op] = self._kind(op)
        return found

    def structure(self, op: Any) -> Structure:
        """Returns the structure of a structured op."""
        found = self._structures.get(op)
        if found is None:
            found = self._structures[op] = op.structure(*[operand.type for operand in op.operands])
        return found

    def index_map(self, op: Any) -> IndexMap:
        """Returns the index map of a view of one tensor."""
        found = self._maps.get(op)
        if found is None:
            found = self._maps[op] = op.view.index_map
        return found

    def traits(self, op: Op) -> ViewTraits:
        """Returns the properties of an op as a view of one tensor; equal views share them."""
        found = self._traits.get(op)
        if found is None:
            view = op.view if isinstance(op, View) else None
            if view not in self._alike:
                self._alike[view] = traits_of(op)
            found = self._traits[op] = self._alike[view]
        return found

    def reads_in_place(self, op: Op) -> bool:
        """Whether a structured op reads its operands at the domain's own index."""
        structure = self.structure(op)
        own = identity_access(len(structure.domain))
        return bool(structure.reads) and all([access == own for access in structure.reads])

    def is_moved(self, op: Op) -> bool:
        """Whether an op shows elements of one operand in other places, which do not depend on data, and a number
        elsewhere.
        """
        if self.kind(op) is not OpKind.INDEXED or self.structure(op).body is not identity_body:
            return False
        reads = self.structure(op).reads
        return len(reads) == 1 and reads[0] is not None and not any(
            [isinstance(entry, Element) for entry in reads[0].coordinates])

    def is_contraction(self, op: Op) -> bool:
        """Whether an op adds up products, and some operand has no element of its own for each."""
        return isinstance(op, Structured) and _is_contraction(self.structure(op))

    def operands_read(self, op: Op) -> set[int]:
        """Returns the numbers of the operands whose elements a structured op reads."""
        structure = self.structure(op)
        numbers = {at for at, access in enumerate(structure.reads) if access is not None}
        accesses = [*[access for access in structure.reads if access is not None], *structure.writes]
        numbers |= {entry.operand for access in accesses for entry in access.coordinates if isinstance(entry, Element)}
        return numbers if structure.initial is None else numbers | {structure.initial}

    def _kind(self, op: Op) -> OpKind:
        if isinstance(op, Elementwise):
            return OpKind.POINTWISE
        if isinstance(op, View):
            return OpKind.VIEW if isinstance(op.view, SimpleView) else OpKind.SEGMENTS
        if isinstance(op, Leaf):
            return OpKind.NUMBER if isinstance(op, Full) else OpKind.LEAF
        if isinstance(op, Structured):
            return _kind_of_structure(self.structure(op))
        return OpKind.CHECK if isinstance(op, Guard) else OpKind.OPAQUE


def _kind_of_structure(structure: Structure) -> OpKind:
    if _is_product(structure) and not _is_plain(structure):
        return OpKind.OPAQUE
    if structure.initial is not None or structure.combine == "set":
        return OpKind.SCATTER
    if structure.combine is None:
        own = identity_access(len(structure.domain))
        return OpKind.INDEXED if all([write == own for write in structure.writes]) else OpKind.SCATTER
    kept = tuple([index(d) for d in structure.written])
    is_reduction = all([write.coordinates == kept and not write.drop for write in structure.writes])
    return OpKind.REDUCTION if is_reduction else OpKind.SCATTER


def _is_product(structure: Structure) -> bool:
    """Whether the structure adds up products."""
    return structure.body is multiply_body and structure.combine == "add"


def _is_plain(structure: Structure) -> bool:
    """Whether all operands are read at indices of the domain, one for each dimension."""
    indices = {index(d) for d in range(len(structure.domain))}
    return all([access is not None and access.fill is None and indices.issuperset(access.coordinates)
                for access in structure.reads])


def _is_contraction(structure: Structure) -> bool:
    """Whether products are added up, and some axis of the result is not in all operands."""
    axes = [set(access.coordinates) for access in structure.reads if access is not None]
    return _is_product(structure) and _is_plain(structure) and not all(
        [index(d) in each for d in structure.written for each in axes])


def traits_of(op: Op) -> ViewTraits:
    """Returns the properties of an op as a view of one tensor; all are false for another op."""
    view = op.view if isinstance(op, View) else None
    if not isinstance(view, SimpleView):
        return ViewTraits(False, False, False)
    return ViewTraits(view.is_injective(thorough=False) is True, view.is_onto(), view.keeps_order())


def segments_of(op: Op) -> tuple[Piece, ...]:
    """Returns the parts of a view of several tensors."""
    view: Any = op
    pieces: tuple[Piece, ...] = view.view.pieces
    return pieces
