"""Values whose channels lie last in memory are computed in that order, as far as no bit changes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ops.update import FilledView
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.layouts import with_layouts
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.pipelines import minimal
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


# -- products ----------------------------------------------------------------------------------------------------------


def heads(count: int) -> nv.Function:
    """Two products, one of the other, each permuted, of which the first is read so many times."""
    x, y, z = [nv.Parameter(nv.float32, shape) for shape in ((3, 7, 600), (3, 600, 5), (7, 3, 4))]
    first = ops.Contract(x, y, (0, 1, 2), (0, 2, 3), (0, 1, 3))
    turned = ops.Permute(first, (1, 0, 2))
    second = ops.Contract(turned, z, (0, 1, 2), (0, 1, 3), (2, 3))
    results = [ops.Permute(second, (1, 0)), turned, *[first] * (count - 1)]
    return nv.Function(results, [x, y, z])


def kinds(function: nv.Function) -> list[str]:
    return [type(op).__name__ for op in function.operations if type(op) in (ops.Contract, ops.Permute)]


def test_a_product_that_only_a_permutation_reads_is_made_in_its_order() -> None:
    after = with_layouts(heads(1))
    assert kinds(after) == ["Contract", "Contract"]
    assert [value.shape for value in after.results] == [(4, 5), (7, 3, 5)]
    assert kinds(with_layouts(heads(2))) == ["Contract", "Permute", "Contract"]
    assert kinds(with_layouts(after)) == kinds(after)


def test_its_sums_have_the_bits_that_they_had() -> None:
    """O48."""
    generator = np.random.default_rng(0)
    before = heads(1)
    arrays = [generator.standard_normal(entry.value.shape).astype(np.float32) for entry in before.parameters]
    plain = nv.transformers.make_transformer("cpu").compile(minimal(common_subexpressions(before)))(arrays)
    moved = nv.transformers.make_transformer("cpu").compile(with_layouts(before))(arrays)
    assert all([x.tobytes() == y.tobytes() for x, y in zip(plain, moved, strict=True)])


def after_products(*shown: int, order: tuple[int, ...] = (1, 0, 2)) -> nv.Function:
    """The sum of two products and a row of numbers, through tanh and permuted, beside ``shown`` of the products."""
    w, row = nv.Parameter(nv.float32, (70, 9)), nv.Parameter(nv.float32, (9,))
    given = [nv.Parameter(nv.float32, (5, 6, 70)) for _ in range(2)]
    products = [ops.Contract(x, w, (0, 1, 2), (2, 3), (0, 1, 3)).output for x in given]
    total = products[0] + products[1] + ops.Broadcast(row, (5, 6, 9), [0, 1]).output
    return nv.Function([ops.Permute(ops.Tanh(total), order), *[products[at] for at in shown]], [*given, w, row])


def test_what_is_computed_of_products_element_by_element_is_made_in_the_order_of_a_permutation() -> None:
    before = after_products()
    after = with_layouts(before)
    assert kinds(after) == ["Contract", "Contract"] and after.results[0].shape == (6, 5, 9)
    for shown in (0, 1):
        assert kinds(with_layouts(after_products(shown))) == ["Contract", "Contract", "Permute"]
    assert kinds(with_layouts(after_products(order=(0, 2, 1)))) == ["Contract", "Contract", "Permute"]  # columns move
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(entry.value.shape).astype(np.float32) for entry in before.parameters]
    plain, moved = [nv.transformers.make_transformer("cpu").compile(function)(arrays)[0]
                    for function in (common_subexpressions(before), after)]
    assert plain.tobytes() == moved.tobytes()


def test_names_and_labels_stay() -> None:
    x, y = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 4))
    turned = ops.Permute(ops.Contract(x, y, (0, 2), (2, 1), (0, 1)), (1, 0))
    turned.name, turned.outputs[0].labels = "turned", ("K", "N")
    made, = with_layouts(nv.Function([turned], [x, y])).results
    assert (made.op.name, made.labels) == ("turned", ("K", "N"))


def test_filters_that_lie_across_the_channels_are_moved_once():
    """A depthwise convolution reads one element of each channel's filter at each position of the window."""
    x, f = nv.Parameter(nv.float32, (2, 9, 8, 24)), nv.Parameter(nv.float32, (24, 1, 3, 3))
    slid = ops.Convolution(ops.Permute(x, ORDER), f, paddings=[(1, 1), (1, 1)], groups=24)
    before = lower_depthwise(Function([ops.Permute(slid, BACK)], [x, f]))
    after = common_subexpressions(with_layouts(before))
    near, = [op for op in after.operations if type(op) is ops.Contiguous]
    assert near.outputs[0].shape == (1, 3, 3, 24)
    assert {type(op) for op in after.operations if f.value in op.operands} == {ops.Permute}
    rng = np.random.default_rng(3)
    assert_agree(before, after, [rng.standard_normal((2, 9, 8, 24)).astype(np.float32),
                                 rng.standard_normal((24, 1, 3, 3)).astype(np.float32)])


def test_what_lies_side_by_side_or_is_read_once_is_not_moved():
    x, scale = nv.Parameter(nv.float32, (2, 4, 5, 6)), nv.Parameter(nv.float32, (6,))
    table = nv.Parameter(nv.float32, (6, 1000))
    images = ops.Permute(x, ORDER).output
    column = ops.Reshape(ops.Slice(table, [(0, 6, 1), (3, 1, 1)]), (6,)).output
    for factor in (scale.value, column):
        after = with_layouts(Function([images * ops.Broadcast(factor, images.shape, [0, 2, 3])], [x, scale, table]))
        assert "Contiguous" not in classes(after)
