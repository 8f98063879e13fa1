"""Loop nests visit what plain loops visit, in few and long blocks."""

from __future__ import annotations

import random
from itertools import product

import pytest

import nervure as nv
from nervure.errors import InvalidArgument
from nervure.types.layout import Layout, row_major
from nervure.types.loop_nest import loop_nest


def visited(nest):
    """The places of all tensors, one tuple an element, in the order of the visit."""
    return [tuple([view.offset + sum(k * stride for k, stride in zip(index, view.strides)) for view in views])
            for views in nest.blocks() for index in product(*map(range, views[0].sizes))]


def plain(shape, layouts):
    return [tuple([layout.place(index) for layout in layouts]) for index in product(*map(range, shape))]


def random_layouts(chosen, rank):
    """Layouts of one random shape: permuted, padded, reversed, broadcast."""
    shape = tuple([chosen.choice((0, 1, 1, 2, 3, 4)) for _ in range(rank)])
    layouts = []
    for _ in range(chosen.randint(1, 3)):
        order = chosen.sample(range(rank), rank)
        dense = row_major([shape[d] for d in order], [shape[d] + chosen.choice((0, 0, 1)) for d in order]).strides
        strides = [dense[order.index(d)] * chosen.choice((1, 1, 1, -1, 2, 0)) for d in range(rank)]
        layouts.append(Layout(tuple(strides), chosen.randint(0, 50)))
    return shape, layouts


@pytest.mark.parametrize("seed", range(60))
def test_every_element_is_visited_once(seed):
    """T170 T174: what a plain loop of n dimensions visits, whatever the layouts."""
    chosen = random.Random(seed)
    shape, layouts = random_layouts(chosen, chosen.randint(0, 4))
    assert sorted(visited(loop_nest(shape, layouts))) == sorted(plain(shape, layouts))


@pytest.mark.parametrize("seed", range(30))
def test_dimensions_of_a_block_keep_their_order(seed):
    """T172: a block of two dimensions has the last two, whole; loops over the others may take any order."""
    chosen = random.Random(seed)
    shape, layouts = random_layouts(chosen, chosen.randint(2, 4))
    nest = loop_nest(shape, layouts, block_rank=2)
    assert nest.sizes == shape[-2:]
    assert all([layout.strides[-2:] == ours.strides[-2:] for layout, ours in zip(layouts, nest.layouts)])
    assert sorted(visited(nest)) == sorted(plain(shape, layouts))


@pytest.mark.parametrize("seed", range(30))
def test_dimensions_that_keep_their_order_are_not_collapsed(seed):
    """T173: a loop a dimension, in row-major order."""
    chosen = random.Random(seed)
    rank = chosen.randint(1, 4)
    shape, layouts = random_layouts(chosen, rank)
    nest = loop_nest(shape, layouts, keep_order=True)
    assert (nest.lengths, nest.sizes) == (shape[:-1], shape[-1:])
    assert visited(nest) == plain(shape, layouts)


def test_contiguous_tensors_are_one_block():
    """T171"""
    dense = row_major((100, 100, 100))
    views, = loop_nest((100, 100, 100), [dense, dense]).blocks()
    assert [(view.size, view.stride, view.offset) for view in views] == [(1_000_000, 1, 0)] * 2


def test_a_transposed_tensor_is_walked_as_it_lies():
    """T171: all operands lie alike, so that interchanged loops are one."""
    flipped = Layout((1, 4))
    assert str(loop_nest((4, 5), [flipped, flipped])) == "block(20 by 1 from 0; 20 by 1 from 0)"


def test_the_longest_steps_are_outermost():
    """T171: the sum over all operands counts; what is equal stays in order."""
    nest = loop_nest((3, 4, 5), [Layout((1, 100, 10)), Layout((0, 7, 1))])
    assert (nest.lengths, nest.sizes) == ((4, 5), (3,))
    assert loop_nest((3, 4), [Layout((8, 1)), Layout((1, 8))]).lengths == (3,)


def test_lengths_may_be_symbols():
    """T175: blocks are told lengths and strides as expressions."""
    n = nv.dim("n", min=1)
    views, = loop_nest((n, 4), [row_major((n, 4))]).blocks()
    assert views[0].size == 4 * n
    nest = loop_nest((n, 4), [Layout((8, 1))])
    assert nest.is_symbolic
    assert str(nest) == "for i < n:\n  block(4 by 1 from 8*i)"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_parts_of_a_nest_are_all_of_it(count):
    """T176"""
    layouts = [Layout((7, 2), 3), Layout((1, 40), 0)]
    for nest in (loop_nest((5, 6), layouts), loop_nest((30,), [Layout((2,), 1)])):
        parts = nest.parts(count)
        assert len(parts) <= count
        assert [place for part in parts for place in visited(part)] == visited(nest)


def test_a_block_has_at_most_the_dimensions_of_the_tensors():
    """T178"""
    with pytest.raises(InvalidArgument, match="the tensors have fewer dimensions than a block") as caught:
        loop_nest((4,), [row_major((4,))], block_rank=2)
    assert caught.value.got == "2 for the shape (4,)"
