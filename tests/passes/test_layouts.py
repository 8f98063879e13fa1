"""What has its channels last in memory is computed so, as far as no bit changes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ops.update import FilledView
from nervure.passes.layouts import with_layouts
from nervure.passes.rearranged import in_memory, joined
from nervure.types.index_map import IndexMap, indices
from tests.passes.agreement import assert_agree, classes

ORDER, BACK = (0, 3, 1, 2), (0, 2, 3, 1)
MAP = IndexMap((2, 6, 3, 5), tuple([entry * step - start for entry, step, start in zip(
    indices(4), (1, 1, 2, 1), (0, 0, 1, 2), strict=True)]))


def moved(x):
    return FilledView(x, MAP, -1.5)


BELOW = {
    "elementwise": lambda x: ops.Relu(ops.Permute(x, ORDER) * 2.0) + ops.Permute(x, ORDER),
    "factors": lambda x: ops.Multiply(ops.Permute(x, ORDER), ops.Slice(
        ops.Broadcast(ops.Iota(shape=(6,), dtype=nv.float32), (4, 6, 9, 7), [0, 2, 3]),
        [(0, 2, 1), (0, 6, 1), (1, 4, 2), (2, 5, 1)])),
    "moved": lambda x: moved(ops.Permute(x, ORDER).output),
    "slice": lambda x: ops.Slice(ops.Permute(x, ORDER), [(1, 1, 1), (0, 3, 2), (3, 4, -1), (2, 2, 1)]),
    "concatenation": lambda x: ops.Concatenate(ops.Permute(x, ORDER), ops.Permute(ops.Exp(x), ORDER), axis=1),
    "reduction": lambda x: ops.Max(ops.Permute(x, ORDER), [2, 3]),
    "reduction of all images": lambda x: ops.Sum(ops.Permute(x, ORDER), [0, 2, 3]),
}


def function(name: str) -> Function:
    x = nv.Parameter(nv.float32, (2, 4, 5, 6))
    return Function([BELOW[name](x)], [x])


@pytest.mark.parametrize("name", BELOW)
def test_a_permutation_goes_below(name):
    before = function(name)
    after = with_layouts(before)
    made = classes(after)
    assert made.count("Permute") == int(not name.startswith("reduction")) and made[-1] in ("Permute", "Max", "Sum")
    values = np.random.default_rng(5).integers(-8, 8, (2, 4, 5, 6)).astype(np.float32)
    assert_agree(before, after, [values])


def test_two_that_meet_vanish():
    x = nv.Parameter(nv.float32, (2, 4, 5, 6))
    both = ops.Permute(ops.Exp(ops.Permute(x, ORDER)), BACK)
    assert classes(with_layouts(Function([both], [x]))) == ["Exp"]


def test_what_is_not_all_permuted_stays():
    """Nor does what has another order: nothing says that it is better."""
    x, y = nv.Parameter(nv.float32, (2, 4, 5, 6)), nv.Parameter(nv.float32, (2, 6, 4, 5))
    for kept in (ops.Permute(x, ORDER) + y, ops.Exp(ops.Permute(x, (0, 2, 1, 3))),
                 ops.Sum(ops.Permute(x, ORDER), [1, 2]), ops.Concatenate(ops.Permute(x, ORDER), y, axis=3)):
        before = Function([kept], [x, y])
        assert with_layouts(before) is before


def test_what_is_computed_lies_in_memory_as_it_is():
    x = nv.Parameter(nv.float32, (2, 4, 5, 6))
    computed, view = ops.Exp(x).output, ops.Permute(x, BACK).output
    assert in_memory(computed) is computed and in_memory(joined(computed, 0)).op.operands == (computed,)
    assert type(in_memory(view).op) is ops.Contiguous


def test_labels_and_names_go_with_dimensions():
    x = nv.Parameter(nv.float32, (2, 4, 5, 6))
    images = ops.Permute(x, ORDER).output
    images.labels = ("N", "C", "H", "W")
    raised = ops.Exp(images)
    raised.name = "raised"
    made, = with_layouts(Function([raised], [x])).results
    assert made.labels == ("N", "C", "H", "W") and made.op.name == "raised"
    assert made.op.operands[0].labels == ("N", "H", "W", "C")
    assert x.value.labels is None
