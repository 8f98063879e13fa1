"""Embeddings: rows of a table by their numbers, and one-hot vectors.

>>> import nervure as nv
>>> words = nv.Parameter(nv.int64, (2, 3))
>>> LookupTable(nv.Parameter(nv.float32, (10, 4)), words, pad_idx=0)
f32[2, 3, 4] LookupTable(Parameter, Parameter)
>>> OneHot(words, 10, nv.float32)
f32[10, 2, 3] OneHot(Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Access, Composite, Element, Structure, Structured
from nervure.ir.leaves import Full
from nervure.ir.op import Gradients, Operand, Value
from nervure.ops.checking import checked_axis
from nervure.ops.conversion import converted
from nervure.ops.indexing import Gather, Scatter
from nervure.ops.update import UpdateView
from nervure.ops.views import Broadcast
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, index
from nervure.types.dtype import int64
from nervure.types.index_map import IndexMap, indices


class OneHot(Structured):
    """Adds a dimension of ``depth`` at ``axis``: 1 at the position that the index names, else 0.

    A negative index counts from the end, once, unless ``from_end`` is False; an index out of range is an IndexError
    when the graph runs.
    """

    signature = "index:integers[~axis ~] -> y:dtype[~axis depth ~]"
    depth = field.dimension()
    dtype = field.dtype()
    axis = field.integer(0)
    from_end = field.boolean(True)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"axis": checked_axis(self, self.axis, len(types[0].shape) + 1)}

    def structure(self, *types: BasicTensorDescription) -> Structure:
        here = tuple([index(d) for d in range(len(types[0].shape))])
        dtype = self.dtype
        # Each place is written at most once, so adding to zeros sets it.
        place = Element(0, here, self.depth, self.from_end)
        return Structure(domain=types[0].shape, reads=(None,), body=lambda s: s.constant(1, dtype), combine="add",
                         writes=(Access((*here[:self.axis], place, *here[self.axis:])),), accumulate=dtype)

    def vjp(self, gradient: Value, index: Value) -> Gradients:
        return (None,)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {**self.attributes, "axis": self.axis + 1}


class LookupTable(Composite):
    """Looks up the rows of ``table`` that ``index`` names; the result has shape index.shape + table.shape[1:].

    The row ``pad_idx``, if given, has gradient zero, however often it is looked up. With ``by_frequency`` the gradient
    of a row is divided by how often it is looked up.
    """

    signature = "table[rows ~row] index:integers[~] -> found[~ ~row]"
    pad_idx = field.integer(None, optional=True)
    by_frequency = field.boolean(False)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        rows = types[0].shape[0] if types[0].shape else None
        if self.pad_idx is not None and isinstance(rows, int) and not -rows <= self.pad_idx < rows:
            raise self.fail(InvalidArgument, "attribute pad_idx is no row of the table", operand="pad_idx",
                            got=self.pad_idx, expected=f"{-rows} to {rows - 1}",
                            help="pad_idx=None for a table without such a row")
        return {}

    def decompose(self, table: Value, index: Value) -> Operand:
        return Gather(table, index, 0)

    def vjp(self, gradient: Value, table: Value, index: Value) -> Gradients:
        if self.by_frequency:
            gradient = divided_by_frequency(gradient, index, table.shape[0])
        result = Scatter(table.full(0), index, gradient, 0, "add").output
        if self.pad_idx is None:
            return result, None
        shape = table.shape[1:]
        row = self.pad_idx if self.pad_idx >= 0 else self.pad_idx + table.shape[0]
        here = (row, *indices(len(shape)))
        return UpdateView(result, Full(0, table.dtype, shape), IndexMap(shape, here)), None


def divided_by_frequency(rows: Value, index: Value, count: DimLike) -> Value:
    """Divides each of some ``rows`` by how often its index, one of ``count``, is among those of all rows."""
    ones = Full(1, int64, index.shape)
    frequencies = Scatter(Full(0, int64, (count,)), index, ones, 0, "add")
    wide = converted(rows, rows.dtype.compute)
    own = converted(Gather(frequencies, index, 0).output, wide.dtype)
    quotient = wide / Broadcast(own, wide.shape, list(range(index.rank, wide.rank))).output
    return converted(quotient, rows.dtype)
