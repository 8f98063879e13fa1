"""Loop nests: the order in which loops visit the elements of tensors of one shape, and the part left for a block.

A nest has loops outside and a block inside: the block receives sizes, strides and an offset for each tensor, and
visits the elements that the loops leave to it. Loops are interchanged so that memory is walked through in small steps,
and neighbours that walk as one are collapsed.

>>> from nervure.types.layout import Layout, row_major
>>> print(loop_nest((4, 5, 6), [row_major((4, 5, 6)), Layout((5, 1, 0))]))
for i < 20:
  block(6 by 1 from 6*i; 6 by 0 from i)
>>> print(loop_nest((4, 5, 6), [row_major((4, 5, 6))]))
block(120 by 1 from 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from nervure.errors import InvalidArgument
from nervure.types.dim import Dim, DimLike
from nervure.types.layout import Layout, collapse, collapsed

INDICES = "ijklmnopqrstuvwxyz"


class BlockView(NamedTuple):
    """A block's view of one tensor: the sizes and strides of its dimensions, and the offset of its first element.

    All are counted in elements of the storage. ``size`` and ``stride`` are those of the first dimension.
    """

    sizes: tuple[DimLike, ...]
    strides: tuple[DimLike, ...]
    offset: DimLike

    @property
    def size(self) -> DimLike:
        """The number of elements along the first dimension."""
        return self.sizes[0]

    @property
    def stride(self) -> DimLike:
        """The distance between elements of the first dimension."""
        return self.strides[0]


class LoopNest(NamedTuple):
    """Loops of ``lengths``, outermost first, around blocks of ``sizes``; a layout over both for each tensor."""

    lengths: tuple[DimLike, ...]
    sizes: tuple[DimLike, ...]
    layouts: tuple[Layout, ...]

    @property
    def is_symbolic(self) -> bool:
        """Whether the loops, rather than the blocks, have symbolic lengths."""
        return any([isinstance(length, Dim) for length in self.lengths])

    def views(self, index: Sequence[DimLike]) -> tuple[BlockView, ...]:
        """Returns the view of each tensor at one point of the loops."""
        depth, block = len(self.lengths), (0,) * len(self.sizes)
        return tuple([BlockView(self.sizes, layout.strides[depth:], layout.place((*index, *block)))
                      for layout in self.layouts])

    def blocks(self) -> Iterator[tuple[BlockView, ...]]:
        """Yields the views of every point, in the order of the loops. Their lengths must be numbers."""
        if 0 in self.sizes:
            return
        for index in product(*[range(length) for length in self.lengths if isinstance(length, int)]):
            yield self.views(index)

    def parts(self, count: int) -> list[LoopNest]:
        """Splits the nest into at most ``count`` nests: parts of the outermost loop, or of a one-dimensional block
        without loops.
        """
        whole = (*self.lengths, *self.sizes)
        if not whole or not isinstance(whole[0], int) or (not self.lengths and len(self.sizes) > 1):
            return [self]
        bounds = [whole[0] * part // count for part in range(count + 1)]
        return [self._part(start, stop) for start, stop in zip(bounds, bounds[1:], strict=False) if start < stop]

    def _part(self, start: int, stop: int) -> LoopNest:
        layouts = tuple([Layout(layout.strides, layout.offset + start * layout.strides[0]) for layout in self.layouts])
        if self.lengths:
            return LoopNest((stop - start, *self.lengths[1:]), self.sizes, layouts)
        return LoopNest((), (stop - start,), layouts)

    def __str__(self) -> str:
        names = [INDICES[d] if d < len(INDICES) else f"i{d}" for d in range(len(self.lengths))]
        lines = [f"{'  ' * depth}for {name} < {length}:" for depth, (name, length)
                 in enumerate(zip(names, self.lengths, strict=True))]
        seen = "; ".join([_described(self.sizes, layout, names) for layout in self.layouts])
        return "\n".join([*lines, f"{'  ' * len(names)}block({seen})"])


def _described(sizes: Sequence[DimLike], layout: Layout, names: Sequence[str]) -> str:
    """Describes sizes, strides and offset of one tensor: ``6 by 1 from 6*i``."""
    depth = len(names)
    spans = " x ".join([f"{size} by {stride}" for size, stride in zip(sizes, layout.strides[depth:], strict=True)])
    terms = [] if layout.offset == 0 and any(layout.strides[:depth]) else [str(layout.offset)]
    terms += [name if stride == 1 else f"{stride}*{name}"
              for name, stride in zip(names, layout.strides, strict=False) if stride != 0]
    return f"{spans or 1} from {' + '.join(terms) or 0}"


def loop_nest(shape: Sequence[DimLike], layouts: Sequence[Layout], block_rank: int = 1,
              keep_order: bool = False) -> LoopNest:
    """Returns the loops over tensors of one shape, which leave ``block_rank`` dimensions to each block.

    A block of rank 1 works on single elements, so any dimensions may be interchanged and collapsed. A block of a
    higher rank gets the last dimensions as they are, and the loops around it are free. ``keep_order`` keeps all
    dimensions as they are. Raises InvalidArgument if the shape has fewer dimensions than the block; a scalar is one
    element.
    """
    if block_rank == 1 and not shape:
        shape, layouts = (1,), [Layout((1,), layout.offset) for layout in layouts]
    if block_rank > len(shape):
        raise InvalidArgument("the tensors have fewer dimensions than a block",
                              got=f"{block_rank} for the shape {tuple(shape)}", expected=f"1 to {len(shape)}",
                              help="a block of rank 1 visits single elements, of any tensors")
    split = len(shape) - block_rank
    if keep_order:
        return LoopNest(tuple(shape[:split]), tuple(shape[split:]), tuple(layouts))
    free = len(shape) if block_rank == 1 else split
    order = [*_by_locality(shape[:free], layouts), *range(free, len(shape))]
    shape, layouts = [shape[d] for d in order], [_moved(layout, order) for layout in layouts]
    return _collapsed(shape, layouts, block_rank)


def _moved(layout: Layout, order: Sequence[int]) -> Layout:
    """Returns a layout with its dimensions in another order, or without some."""
    return Layout(tuple([layout.strides[d] for d in order]), layout.offset)


def _by_locality(shape: Sequence[DimLike], layouts: Sequence[Layout]) -> list[int]:
    """Returns the dimensions with the longest steps first, without those of one position. Symbolic steps stay as they
    are.
    """
    moving = [d for d, length in enumerate(shape) if length != 1]
    steps = {d: sum([abs(stride) for layout in layouts if isinstance(stride := layout.strides[d], int)])
             for d in moving}
    is_known = all([isinstance(layout.strides[d], int) for layout in layouts for d in moving])
    return sorted(moving, key=lambda d: -steps[d]) if is_known else moving


def _collapsed(shape: Sequence[DimLike], layouts: Sequence[Layout], block_rank: int) -> LoopNest:
    """Returns the nest of dimensions in their final order: those outside of blocks are collapsed; for single elements,
    all are.
    """
    kept = 0 if block_rank == 1 else block_rank
    outer = shape[:len(shape) - kept]
    heads = [Layout(layout.strides[:len(outer)], layout.offset) for layout in layouts]
    groups = collapse(outer, *heads)
    pairs = [collapsed(outer, groups, head) for head in heads]
    lengths = list(pairs[0][0]) if pairs else []
    strides = [[*pair[1].strides, *layout.strides[len(outer):]] for pair, layout in zip(pairs, layouts, strict=True)]
    if not kept and not lengths:  # one element: all dimensions have one position
        lengths, strides = [1], [[1] for _ in layouts]
    whole = [*lengths, *shape[len(outer):]]
    split = len(whole) - block_rank
    found = [Layout(tuple(entry), layout.offset) for entry, layout in zip(strides, layouts, strict=True)]
    return LoopNest(tuple(whole[:split]), tuple(whole[split:]), tuple(found))
