"""Views of one tensor keep the traits that kernels rely on; other ops have none."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.analysis import ViewTraits, traits_of
from nervure.types.dim import index
from nervure.types.index_map import IndexMap

X, EMPTY = nv.Parameter(nv.float32, (4, 6)), nv.Parameter(nv.float32, (0, 6))


@pytest.mark.parametrize(("op", "traits"), [
    (ops.Reshape(X, (3, 8)), ViewTraits(is_injective=True, is_onto=True, keeps_order=True)),
    (ops.Permute(X, (0, 1)), ViewTraits(is_injective=True, is_onto=True, keeps_order=True)),
    (ops.Permute(X, (1, 0)), ViewTraits(is_injective=True, is_onto=True, keeps_order=False)),
    (ops.Reverse(X, [1]), ViewTraits(is_injective=True, is_onto=True, keeps_order=False)),
    (ops.Slice(X, ((1, 2, 1), (0, 6, 1))), ViewTraits(is_injective=True, is_onto=False, keeps_order=False)),
    (ops.Diagonal(X), ViewTraits(is_injective=True, is_onto=False, keeps_order=False)),
    (ops.Broadcast(X, (2, 4, 6), (0,)), ViewTraits(is_injective=False, is_onto=False, keeps_order=False)),
    (ops.IndexView(X, IndexMap((4, 6), (index(0), index(1) // 2))),
     ViewTraits(is_injective=False, is_onto=False, keeps_order=False)),
    (ops.Concatenate(X, EMPTY, axis=0), ViewTraits(is_injective=False, is_onto=False, keeps_order=False)),
    (ops.Exp(X), ViewTraits(is_injective=False, is_onto=False, keeps_order=False)),
], ids=lambda entry: type(entry).__name__)
def test_what_a_view_shows(op, traits):
    """All of them are promises: what is not a view of one tensor keeps none."""
    assert traits_of(op.output.op) == traits
