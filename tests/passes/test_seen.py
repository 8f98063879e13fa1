"""Values through index maps: the same elements as a view of them has, a number outside, and nothing large in memory."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.passes.seen import DEEPEST, seen, shown, stays_inside
from nervure.types.dim import index
from nervure.types.index_map import IndexMap
from tests.passes.agreement import assert_agree, classes

I, J = index(0), index(1)
X, B = nv.Parameter(nv.float32, (4, 6)), nv.Parameter(nv.float32, (6,))
ARRAYS = [np.arange(24, dtype=np.float32).reshape(4, 6) - 9, np.arange(6, dtype=np.float32)]
SPREAD = ops.Broadcast(B, (4, 6), (0,)).output
PADDED = ops.Pad(X, [(1, 2), (0, 1)], 7).output
VALUES = {
    "a parameter": X.output,
    "elementwise": ops.Exp(X) * SPREAD + 1,
    "a choice": ops.Where(X < SPREAD, X, X.full(0)).output,
    "a choice of two": ops.Where(X < SPREAD, X, SPREAD).output,
    "a number": X.full(3),
    "a conversion": ops.Convert(X, nv.int32).output,
    "a comparison": ops.Less(X, SPREAD).output,
    "another view": ops.Reverse(X, [1]).output,
    "a border": PADDED,
    "a border that is cut": ops.Pad(X, [(-1, 2), (0, -1)], 7).output,
    "a reduction": ops.Softmax(X, [1]).output,
    "windows": ops.Windows(PADDED, [0], [3]).output,
}


def on_both(before: nv.ops.Value, after: nv.ops.Value) -> None:
    assert before.type == after.type
    assert_agree(Function([before], [X, B]), Function([after], [X, B]), ARRAYS)


@pytest.mark.parametrize("name", VALUES)
def test_inside_it_is_the_view(name):
    x = VALUES[name]
    rest = (0,) * (x.rank - 2)
    for map in (IndexMap((3, 2), (I, 2 * J + 1, *rest)), IndexMap((2, 3), (2 - J, I, *rest))):
        on_both(ops.IndexView(x, map).output, seen(x, map))


@pytest.mark.parametrize("number", [0, 7])
@pytest.mark.parametrize("name", VALUES)
def test_outside_there_is_the_number(name, number):
    x = VALUES[name]
    rest = (index(2) - 1,) * (x.rank - 2)
    for map in (IndexMap((8, 9, *[4 for _ in rest]), (I - 2, J - 1, *rest)),
                IndexMap((5, 4, *[5 for _ in rest]), (2 * I - 1, 5 - 3 * J, *rest))):
        on_both(ops.FilledView(x, map, number).output, seen(x, map, number))


def test_only_what_has_to_be_in_memory_is_moved():
    map = IndexMap((4, 6), (I - 1, J))
    assert classes(Function([seen(VALUES["a choice"], map, 0)], [X, B]))[-1] == "Where"
    inside = IndexMap((3, 6), (I, J))
    found = classes(Function([seen(VALUES["elementwise"], inside)], [X, B]))
    assert "FilledView" not in found and found[-1] == "Add"
    assert "Pad" not in classes(Function([seen(PADDED, IndexMap((4, 6), (I + 1, J)))], [X, B]))


def test_a_long_chain_is_moved_as_a_whole():
    x = X.output
    for _ in range(3 * DEEPEST):
        x = ops.Tanh(x).output
    found = classes(Function([seen(x, IndexMap((3, 6), (I, J)))], [X, B]))
    assert found.count("Tanh") == 3 * DEEPEST and found.count("Slice") == 1


def test_what_surely_stays_inside_is_a_view():
    n = nv.dim("n", min=2)
    x = nv.Parameter(nv.float32, (n,))
    assert stays_inside(IndexMap((n - 1,), (I + 1,)), (n,)) and not stays_inside(IndexMap((n,), (I + 1,)), (n,))
    assert isinstance(shown(x.output, IndexMap((n - 1,), (I + 1,))).op, ops.Slice)
    assert isinstance(shown(x.output, IndexMap((n,), (I + 1,))).op, ops.FilledView)
