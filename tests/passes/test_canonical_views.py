"""Canonical views: chains are one view, of the simplest class that says it; what shows everything in place vanishes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.passes.canonical_views import canonical_views, simplest_view
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from nervure.types.view import IndexMapView
from tests.passes.agreement import assert_agree, classes

N = nv.dim("N", min=1)


def views_of(x, *results):
    """The classes that are left of some views of x, whose values must be what they were."""
    function = Function(list(results), [x])
    after = canonical_views(function)
    shape = [3 if isinstance(length, nv.Dim) else length for length in x.shape]
    assert_agree(function, after, [np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)])
    assert [value.type for value in after.results] == [value.type for value in function.results]
    return classes(after)


@pytest.fixture
def x():
    return nv.Parameter(nv.float32, (2, 3, 4))


def reversal(length):
    return length - 1, length, -1


class TurnedByUser(View):
    """A matrix with its dimensions exchanged, as a user may say it."""

    operand_names = "x"

    def describe(self, x):
        return IndexMapView(x.shape, IndexMap(x.shape[::-1], (index(1), index(0))))


class AloneByUser(TurnedByUser):
    """The same, to stay as it is."""

    composes = False


def test_a_user_s_own_view_is_composed():
    x = nv.Parameter(nv.float32, (3, 4))
    assert views_of(x, TurnedByUser(TurnedByUser(x))) == []
    assert views_of(x, ops.Permute(TurnedByUser(x), (1, 0))) == []
    assert views_of(x, ops.Reverse(TurnedByUser(x), [0])) == ["IndexView"]
    assert views_of(x, TurnedByUser(ops.Slice(x, [(1, 2, 1), (0, 4, 1)]))) == ["IndexView"]
    assert views_of(x, TurnedByUser(ops.Broadcast(ops.Slice(ops.Reshape(x, (12,)), [(1, 4, 2)]), (3, 4), (0,)))) == [
        "Reshape", "IndexView"]


def test_a_view_that_does_not_compose_stays():
    x = nv.Parameter(nv.float32, (3, 4))
    assert views_of(x, ops.Permute(AloneByUser(x), (1, 0))) == ["AloneByUser", "Permute"]
    assert views_of(x, ops.Slice(ops.FoldedPad(x, [(1, 1), (0, 0)], "wrap"), [(0, 2, 1), (0, 4, 1)])) == [
        "FoldedPad", "Slice"]


IDENTITIES = {
    "permute": lambda x: ops.Permute(x, (0, 1, 2)),
    "reshape": lambda x: ops.Reshape(x, x.shape),
    "slice": lambda x: ops.Slice(x, [(0, length, 1) for length in x.shape]),
    "reverse of nothing": lambda x: ops.Reverse(x, ()),
    "broadcast to nothing": lambda x: ops.Broadcast(x, x.shape, ()),
    "pad": lambda x: ops.Pad(x, [(0, 0)] * 3),
    "folded pad": lambda x: ops.FoldedPad(x, [(0, 0)] * 3, "edge"),
    "concatenation of one": lambda x: ops.Concatenate(x, axis=0),
    "index view": lambda x: ops.IndexView(x, IndexMap.identity(x.shape)),
    "assumption of what is known": lambda x: ops.AssumeShape(x, x.shape),
    "there and back": lambda x: ops.Permute(ops.Permute(x, (2, 0, 1)), (1, 2, 0)),
    "reversed twice": lambda x: ops.Reverse(ops.Reverse(x, (0, 2)), (2, 0)),
    "broadcast and sliced": lambda x: ops.Reshape(ops.Slice(ops.Broadcast(x, (5, *x.shape), (0,)), [
        (2, 1, 1), *[(0, length, 1) for length in x.shape]]), x.shape),
    "sliced backwards twice": lambda x: ops.Slice(ops.Slice(x, [reversal(length) for length in x.shape]),
                                                  [reversal(length) for length in x.shape]),
}


@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.parametrize("shape", [(2, 3, 4), (N, 3, 4), (1, 1, 1)], ids=str)
def test_what_changes_nothing_vanishes(name, shape):
    x = nv.Parameter(nv.float32, shape)
    assert views_of(x, IDENTITIES[name](x)) == []


ONE_CLASS = {
    "Permute": lambda x: ops.Permute(ops.Permute(x, (1, 2, 0)), (1, 2, 0)),
    "Reshape": lambda x: ops.Reshape(ops.Reshape(x, (24,)), (3, 8)),
    "Slice": lambda x: ops.Slice(ops.Slice(x, [(0, 2, 1), (2, 3, -1), (0, 2, 2)]), [(0, 1, 1), (2, 2, -1), (1, 1, 1)]),
    "Reverse": lambda x: ops.Reverse(ops.Reverse(x, (0, 1)), (1, 2)),
    "Broadcast": lambda x: ops.Broadcast(ops.Broadcast(x, (5, 2, 3, 4), (0,)), (5, 2, 3, 6, 4, 7), (3, 5)),
}


@pytest.mark.parametrize("name", ONE_CLASS)
def test_two_of_one_class_are_one(name, x):
    assert views_of(x, ONE_CLASS[name](x)) == [name]


SIMPLEST = {
    "Permute": lambda x: ops.Reverse(ops.Permute(ops.Reverse(x, (0,)), (1, 0, 2)), (1,)),
    "Broadcast": lambda x: ops.Reverse(ops.Broadcast(x, (5, 2, 3, 4), (0,)), (0,)),
    "Reverse": lambda x: ops.Permute(ops.Reverse(ops.Permute(x, (1, 0, 2)), (0,)), (1, 0, 2)),
    "Slice": lambda x: ops.Reverse(ops.Slice(x, [(0, 2, 1), (1, 2, 1), (0, 2, 2)]), (1,)),
    "IndexView": lambda x: ops.Reverse(ops.Permute(x, (2, 1, 0)), (1,)),
}


@pytest.mark.parametrize("name", SIMPLEST)
def test_mixed_chains_are_the_simplest_view(name, x):
    assert views_of(x, SIMPLEST[name](x)) == [name]


def test_a_map_says_which_view_it_is(x):
    shape, (i, j, k) = x.shape, (index(0), index(1), index(2))
    found = [simplest_view(x.value, IndexMap(*entry)).op for entry in [
        ((4, 2, 3), (j, k, i)), ((2, 9, 3, 4), (i, k, index(3))), (shape, (1 - i, j, 3 - k)),
        ((2, 2, 4), (i, 2 - 2 * j, k)), ((3, 4), (1, i, j)), ((2, 3), (i, j, j))]]
    assert [type(op).__name__ for op in found] == ["Permute", "Broadcast", "Reverse", "Slice", "IndexView", "IndexView"]
    assert (found[0].order, found[1].axes, found[2].axes) == ((2, 0, 1), (1,), (0, 2))
    assert found[3].slices == ((0, 2, 1), (2, 2, -2), (0, 4, 1))
    assert simplest_view(x.value, IndexMap.identity(shape)) is x.value
    assert simplest_view(x.value, IndexMap((24,), (i // 12, i // 4 % 3, i % 4))) is None


def test_reshapes_of_what_is_not_in_row_major_order_stay(x):
    assert views_of(x, ops.Reshape(ops.Permute(x, (2, 1, 0)), (24,))) == ["Permute", "Reshape"]
    assert views_of(x, ops.Reverse(ops.Reshape(x, (24,)), (0,))) == ["Reshape", "Reverse"]
    assert views_of(x, ops.Reverse(ops.Reshape(x, (2, 1, 3, 4)), (0,))) == ["IndexView"]


def test_padding_stays(x):
    padded = ops.FoldedPad(x, [(1, 1), (0, 0), (0, 0)], "wrap")
    assert views_of(x, ops.Reverse(padded, (0,))) == ["FoldedPad", "Reverse"]
    assert views_of(x, ops.Reverse(ops.Pad(x, [(1, 1), (0, 0), (0, 0)]), (0,))) == ["Pad", "Reverse"]


def test_an_inner_view_with_other_users_is_kept_for_them(x):
    inner = ops.Permute(x, (1, 0, 2))
    assert views_of(x, ops.Permute(inner, (1, 0, 2)), inner) == ["Permute"]


def test_assumptions_outlive_the_ops_that_made_them():
    x = nv.Parameter(nv.float32, (nv.dim("M"), 3))
    twice = ops.AssumeShape(ops.AssumeShape(x, (nv.dim("K"), 3)), (4, 3))
    function = Function([twice], [x])
    assert len(function.assumptions) == 2
    after = canonical_views(function)
    assert classes(after) == ["AssumeShape"] and set(function.assumptions) <= set(after.assumptions)
    assert after.results[0].type == twice.type
    same = ops.AssumeShape(ops.AssumeShape(x, (4, 3)), (nv.dim("M"), 3))
    gone = canonical_views(Function([same], [x]))
    assert gone.results == (x.value,) and [str(entry) for entry in gone.assumptions] == ["M = 4", "4 = M"]


def test_a_long_chain_is_one_view():
    x = nv.Parameter(nv.float32, (2, 3))
    value = x.value
    for number in range(2_001):
        value = (ops.Permute(value, (1, 0)) if number % 2 else ops.Reverse(value, (0,))).output
    after = canonical_views(Function([value], [x]))
    assert len(classes(after)) == 1


def test_labels_survive():
    x = nv.Parameter(nv.float32, (2, 3))
    x.value.labels = ("H", "W")
    after = canonical_views(Function([ops.Reverse(ops.Permute(x, (1, 0)), (0,))], [x]))
    assert after.results[0].labels == ("W", "H")


@st.composite
def chains(draw):
    """A parameter of rank 0 to 3 and some views, one of the other."""
    x = nv.Parameter(nv.float32, tuple(draw(st.lists(st.integers(0, 4), max_size=3))))
    value = x.value
    for _ in range(draw(st.integers(1, 5))):
        rank, shape = value.rank, value.shape
        kind = draw(st.sampled_from(["permute", "reverse", "slice", "broadcast", "reshape", "flatten"]))
        if kind == "permute":
            op = ops.Permute(value, draw(st.permutations(range(rank))))
        elif kind == "reverse":
            op = ops.Reverse(value, [d for d in range(rank) if draw(st.booleans())])
        elif kind == "slice":
            op = ops.Slice(value, [drawn_range(draw, length) for length in shape])
        elif kind == "broadcast":
            at = draw(st.integers(0, rank))
            op = ops.Broadcast(value, (*shape[:at], draw(st.integers(1, 3)), *shape[at:]), (at,))
        elif kind == "reshape":
            at = draw(st.integers(0, rank))
            op = ops.Reshape(value, (*shape[:at], 1, *shape[at:]))
        else:
            op = ops.Reshape(value, (int(np.prod(shape)),))
        value = op.output
    return Function([value], [x])


def drawn_range(draw, length):
    picked = range(*slice(draw(st.integers(-1, length)), None, draw(st.sampled_from([1, 2, -1, -2]))).indices(length))
    return (picked.start, len(picked), picked.step) if picked else (0, 0, 1)


@given(chains())
def test_random_chains_agree(function):
    after = canonical_views(function)
    assert len(after.operations) <= len(function.operations)
    shape = function.parameters[0].shape
    assert_agree(function, after, [np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)])
    assert canonical_views(after) is after


def test_symbolic_lengths():
    n, m = nv.dim("N"), nv.dim("M")
    x = nv.Parameter(nv.float32, (n * m,))
    reshaped = ops.Reshape(ops.Reshape(x, (n, m)), (m, n))
    assert classes(canonical_views(Function([reshaped], [x]))) == ["Reshape"]
    y = nv.Parameter(nv.float32, (N, 3))
    assert views_of(y, ops.Reverse(ops.Slice(y, [(0, N, 1), (0, 2, 1)]), (0, 1))) == ["Slice"]
    assert views_of(y, ops.Permute(ops.Reverse(ops.Permute(y, (1, 0)), (1,)), (1, 0))) == ["Reverse"]
