"""Views as NumPy views: an index map that strides can express copies nothing.

>>> from nervure.types.dim import index
>>> from nervure.types.index_map import IndexMap
>>> backwards = view_taker(IndexMap((3,), (2 - index(0),)), (3,))
>>> backwards(np.arange(3)).tolist()
[2, 1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nervure.ir.kinds import Access
from nervure.ir.op import Op
from nervure.transformers.binding import Bindings
from nervure.transformers.interpreter.box import whole_box
from nervure.transformers.interpreter.reading import LineRead, plan_read, strided
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import substitute
from nervure.types.index_map import IndexMap
from nervure.types.layout import Layout, row_major
from nervure.types.view import ComplexView, ReshapeView, SimpleView

Shape = tuple[int, ...]
Assemble = Callable[[Sequence[np.ndarray]], np.ndarray]
Taker = Callable[[np.ndarray], np.ndarray]
_NOTHING: Bindings = {}


def view_of(view: SimpleView | ComplexView, sources: Sequence[Shape], bindings: Bindings,
            op: Op | None = None) -> Assemble:
    """A view description as a function of the operands, which have these shapes; ``op`` is named in errors."""
    if isinstance(view, SimpleView):
        shape = numbers(view.shape, bindings)
        if isinstance(view, ReshapeView):
            return lambda operands: np.reshape(operands[0], shape)
        take = view_taker(_bound(view.index_map, shape, bindings), sources[0], op)
        return lambda operands: take(operands[0])
    return _assembled(view, sources, bindings)


def _assembled(view: ComplexView, sources: Sequence[Shape], bindings: Bindings) -> Assemble:
    """A view over several tensors: its pieces copied side by side."""
    shape = numbers(view.shape, bindings)
    pieces = []
    for piece in view.pieces:
        starts, extents = numbers(piece.starts, bindings), numbers(piece.extents, bindings)
        if min(extents, default=1) <= 0:
            continue
        box = tuple([slice(start, start + extent) for start, extent in zip(starts, extents, strict=True)])
        take, operand = None, piece.operand or 0
        if piece.index_map is not None:
            take = view_taker(_bound(piece.index_map, extents, bindings), sources[operand])
        pieces.append((box, operand, take, piece.constant))

    def assemble(operands: Sequence[np.ndarray]) -> np.ndarray:
        result = np.empty(shape, operands[0].dtype)
        for box, operand, take, constant in pieces:
            result[box] = constant if take is None else take(operands[operand])
        return result
    return assemble


def _bound(index_map: IndexMap, shape: Shape, bindings: Bindings) -> IndexMap:
    """An index map over a shape of numbers, with numbers in place of symbols."""
    return IndexMap(shape, tuple([substitute(entry, bindings) for entry in index_map.coordinates]))


def view_taker(index_map: IndexMap, source: Shape, op: Op | None = None) -> Taker:
    """The view by an index map without symbols, as a function of an array of shape ``source``.

    Affine coordinates give a view of any array; those that are affine only together, as a reshape's are, a
    view of a contiguous one; the rest (folded and wrapped indices) a new array.
    """
    shape = numbers(index_map.shape, _NOTHING)
    if 0 in shape:
        return lambda array: np.empty(shape, array.dtype)
    read = plan_read(Access(index_map.coordinates), shape, source, op)
    if isinstance(read, LineRead):
        view = read.view
        return lambda array: _of_shape(view(array), shape)
    layout = index_map.layout(row_major(source))
    if layout is not None:
        return lambda array: _strided(array, shape, layout)
    box = whole_box(shape)
    return lambda array: _of_shape(read.open(array, ())(box), shape)


def _of_shape(array: np.ndarray, shape: Shape) -> np.ndarray:
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _strided(array: np.ndarray, shape: Shape, layout: Layout) -> np.ndarray:
    """A row-major array, walked with other strides (in elements)."""
    flat = np.ascontiguousarray(array).reshape(-1)
    strides, offset = numbers(layout.strides, _NOTHING), layout.offset
    return strided(flat[offset:], shape, [stride * flat.itemsize for stride in strides])
