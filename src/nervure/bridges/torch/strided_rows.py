"""Rows of views by strides, which count elements in the memory of a tensor.

Where that has no gaps, they are views of its elements in the order in which they lie.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.float32, (2, 3)).output
>>> columns_first = TracedMemory(order=(1, 0), offset=0)
>>> strided_view(Parameter(nv.float32, (3, 2)).type, x, [3, 2], [2, 1], 0, memory=columns_first)
f32[3, 2] Reshape(Reshape)
>>> strided_view(Parameter(nv.float32, (5, 2)).type, x, [5, 2], [1, 1], 0, memory=columns_first)
f32[5, 2] IndexView(Reshape)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import TracedMemory, memory_row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.alignment import reordered
from nervure.ir.op import Value
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, equal, index, less_equal, product
from nervure.types.index_map import IndexMap
from nervure.types.shape import inverse_permutation


@memory_row("as_strided.default", "as_strided_copy.default")
def strided_view(result: Type, x: Value, size: Sequence[DimLike], strides: Sequence[DimLike], first: DimLike | None,
                 *, memory: TracedMemory) -> Value:
    flat, start = _flat(x, memory), _start(first, memory)
    order = _order_in_range(result.shape, strides)
    if order is None:
        return ops.IndexView(flat, _places(result.shape, strides, start)).output
    count = product(result.shape)
    if start != 0 or equal(count, flat.shape[0]) is not True:
        flat = ops.Slice(flat, [(start, count, 1)]).output
    return _shaped(flat, result.shape, order)


@memory_row("as_strided_scatter.default")
def strided_scatter(result: Type, x: Value, source: Value, size: Sequence[DimLike], strides: Sequence[DimLike],
                    first: DimLike | None, *, memory: TracedMemory) -> Value:
    source, start = converted(source, x.dtype), _start(first, memory)
    order = _order_in_range(source.shape, strides)
    if order is not None and start == 0 and equal(product(source.shape), product(x.shape)) is True:
        return _shaped(_flat(source, TracedMemory(order, 0)), x.shape, memory.order)
    if not _visits_once(source.shape, strides):
        raise Unsupported("a write by strides to places that may be the same")
    written = ops.UpdateView(_flat(x, memory), source, _places(source.shape, strides, start)).output
    return _shaped(written, x.shape, memory.order)


@memory_row("resize.default")
def resized(result: Type, x: Value, size: Sequence[DimLike], form: object, *, memory: TracedMemory) -> Value:
    """Returns the first elements in memory in another shape; of more elements than there are PyTorch says nothing."""
    if tuple(result.shape) == tuple(x.shape):
        return x
    if form is not None or not all([isinstance(length, int) for length in (*x.shape, *result.shape)]):
        raise Unsupported("a tensor of another size in a memory format, or of lengths that are symbols")
    count = product(result.shape)
    if less_equal(count, product(x.shape)) is not True:
        raise Unsupported("a tensor that becomes larger in its memory")
    return ops.Reshape(ops.Slice(_flat(x, memory), [(0, count, 1)]), result.shape).output


def _start(first: DimLike | None, memory: TracedMemory) -> DimLike:
    """Returns the place of a view's first element, counted from that of the tensor; None is the tensor's own."""
    if first is None:
        return 0
    if memory.offset is None:
        raise Unsupported("a place in the memory of an argument that symbols decide")
    return first - memory.offset


def _places(shape: Sequence[DimLike], strides: Sequence[DimLike], start: DimLike) -> IndexMap:
    return IndexMap(tuple(shape), (sum([index(d) * stride for d, stride in enumerate(strides)], start),))


def _order_in_range(shape: Sequence[DimLike], strides: Sequence[DimLike]) -> tuple[int, ...] | None:
    """Returns the dimensions from the outermost in memory, if strides lead to each place of a range once; else None."""
    rest, inner = [d for d, length in enumerate(shape) if length != 1], list[int]()
    expected: DimLike = 1
    while rest:
        found = next((d for d in rest if equal(strides[d], expected) is True), None)
        if found is None:
            return None
        rest.remove(found)
        inner.append(found)
        expected = expected * shape[found]
    return (*[d for d, length in enumerate(shape) if length == 1], *reversed(inner))


def _visits_once(shape: Sequence[DimLike], strides: Sequence[DimLike]) -> bool:
    """Whether each stride is known to pass over all places that the smaller ones reach."""
    moving = [(stride, length) for stride, length in zip(strides, shape, strict=True)
              if length != 1 and isinstance(stride, int) and isinstance(length, int)]
    if len(moving) < len([length for length in shape if length != 1]):
        return False
    reached = 0
    for stride, length in sorted(moving):
        if stride <= reached:
            return False
        reached += stride * (length - 1)
    return True


def _flat(x: Value, memory: TracedMemory) -> Value:
    """Returns the elements of x in the order of memory."""
    return ops.Reshape(reordered(x, memory.order), (product(x.shape),)).output


def _shaped(flat: Value, shape: Sequence[DimLike], order: Sequence[int]) -> Value:
    """Returns elements in the order of memory in a shape, whose dimensions lie there from the outermost."""
    return reordered(ops.Reshape(flat, [shape[d] for d in order]).output, inverse_permutation(order))
