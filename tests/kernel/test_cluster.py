"""Clustering: which ops share loops, what gets memory, and that it never computes much more than was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.kinds import Elementwise, View
from nervure.kernel.cluster import Copy, Loops, Opaque, Scatter, Segments, cluster
from nervure.kernel.ir import Apply, walk
from nervure.kernel.plan import KernelStep, make_plan
from nervure.kernel.printer import print_kernel
from nervure.kernel.tuning import MOST_WAITING
from nervure.memory.storage import StorageKind
from nervure.passes.pipelines import native, standard
from nervure.types.dim import evaluate, index
from nervure.types.index_map import IndexMap
from nervure.types.view import IndexMapView
from tests.kernel.loops_transformer import Loops as LoopsTransformer


def steps_of(results, parameters):
    return cluster(standard(nv.Function(results, parameters)))


def ops_in(step):
    return [type(op).__name__ for op in step.ops]


def matrix(rows=64, columns=128):
    return nv.Parameter(nv.float32, (rows, columns))


def across(x, shape, axes):
    return nv.ops.Broadcast(x, shape, axes)


class TurnedByUserOfKernels(View):
    """A matrix with its dimensions exchanged, as a user may say it."""

    operand_names = "x"

    def describe(self, x):
        return IndexMapView(x.shape, IndexMap(x.shape[::-1], (index(1), index(0))))


class FlatByUserOfKernels(View):
    """All elements in one dimension, as a user may say it."""

    operand_names = "x"

    def describe(self, x):
        rows, columns = x.shape
        return IndexMapView(x.shape, IndexMap((rows * columns,), (index(0) // columns, index(0) % columns)))


@pytest.mark.parametrize(("own", "built_in"), [
    (TurnedByUserOfKernels, lambda x: nv.ops.Permute(x, (1, 0))),
    (FlatByUserOfKernels, lambda x: nv.ops.Reshape(x, (64 * 128,)))])
def test_a_user_s_own_view_is_inlined_as_one_of_the_vocabulary_is(own, built_in):
    def kernels(view):
        x = matrix()
        seen = view(nv.ops.Exp(x) + x)
        z = nv.Parameter(nv.float32, seen.shape)
        plan = make_plan(nv.Function([seen * z, nv.ops.Sum(seen * seen, [0])], [x, z]))
        return [print_kernel(step.lowered.kernel) for step in plan.steps]
    assert kernels(own) == kernels(built_in)


def test_a_chain_of_pointwise_ops_is_one_step_that_stores_its_result():
    x, y = matrix(), matrix()
    step, = steps_of([nv.ops.Exp(x + y) * x], [x, y])
    assert isinstance(step, Loops) and ops_in(step) == ["Add", "Exp", "Multiply"]
    assert [type(value.op).__name__ for value in step.stored] == ["Multiply"]


@pytest.mark.parametrize("axes", [[1], [0]])
def test_a_softmax_is_one_step_along_any_axis(axes):
    x = matrix()
    step, = steps_of([nv.ops.Softmax(x, axes)], [x])
    assert step.reduced == tuple(axes) and len(step.stored) == 1


@pytest.mark.parametrize(("shape", "axis"), [((1, 512, 64), 2), ((512, 1, 64), 2), ((512, 64, 1), 1), ((1, 64, 512), 1),
                                             ((1, 1, 512, 1, 64), 4)])
def test_axes_of_one_element_make_no_difference(shape, axis):
    """A batch of one is as fused, and as much shared by threads, as if the axis were not there."""
    x = nv.Parameter(nv.float32, shape)
    step, = make_plan(standard(nv.Function([nv.ops.Softmax(x, [axis])], [x]))).steps
    loop = step.lowered.kernel.sliced
    assert loop.extent == 512 and loop.parallel
    y = nv.Parameter(nv.float32, (*shape[:-1], 1))
    step, = make_plan(standard(nv.Function([nv.ops.Exp(y) * 2.0], [y]))).steps
    loop = step.lowered.kernel.sliced
    assert loop.extent == np.prod(shape[:-1]) and loop.parallel and loop.vector


def test_what_a_result_shows_through_a_view_is_computed_where_it_is_shown():
    x, places = matrix(), nv.Parameter(nv.int64, (5,))
    for value in (nv.ops.Permute(nv.ops.Exp(x), (1, 0)), nv.ops.Reverse(nv.ops.Exp(x * 2.0) + x, (0,)),
                  nv.ops.Permute(nv.ops.Exp(nv.ops.Permute(nv.ops.Gather(x, places, 0), (1, 0))), (1, 0))):
        step, = steps_of([value], [x, places])
        assert isinstance(step, (Copy, Loops))


@pytest.mark.parametrize("between", [lambda x: x, nv.ops.Exp,
                                     lambda x: nv.ops.Exp(nv.ops.Permute(x, (1, 0)))], ids=["none", "exp", "turned"])
def test_an_index_is_checked_even_where_a_view_hides_its_element(between):
    x, places = matrix(), nv.Parameter(nv.int64, (5,))
    shown = nv.ops.Slice(between(nv.ops.Gather(x, places, 0)), ((0, 2, 1), (0, 2, 1)))
    assert len(steps_of([shown], [x, places])) == 2
    step = LoopsTransformer().build(nv.Function([shown], [x, places]))
    with pytest.raises(IndexError):
        step([np.zeros((64, 128), np.float32), np.array([0, 1, 2, 3, 64])])


def test_parts_share_the_loops_over_the_axes_that_all_have_whole():
    def kernels(rows, value):
        x = matrix(rows, 5)
        return [step.lowered.kernel.name for step in make_plan(standard(nv.Function([value(x)], [x]))).steps]

    assert kernels(32, lambda x: nv.ops.Pad(x, [(0, 0), (1, 2)])) == ["pieces"]
    assert kernels(32, lambda x: nv.ops.Concatenate(x, nv.ops.Slice(x, ((0, 32, 1), (0, 3, 1))), axis=1)) == ["pieces"]
    assert kernels(nv.dim("N"), lambda x: nv.ops.Pad(x, [(0, 0), (1, 2)])) == ["pieces"]
    assert kernels(32, lambda x: nv.ops.Pad(x, [(1, 0), (0, 2)])) == ["piece"] * 3  # all axes are cut
    assert kernels(8, lambda x: nv.ops.Pad(x, [(0, 0), (1, 2)])) == ["piece"] * 3  # too few rows for threads


def test_loops_that_fill_a_view_are_joined_by_ops_that_do_not_read_it():
    """The multiple of the exponential needs nothing else of these loops; that of a part of the view reads the view."""
    x = matrix()
    e = nv.ops.Exp(x).output
    parts = [nv.ops.Reshape(part, (64, 1, 128)) for part in (e * x, e + x)]
    whole = nv.ops.Concatenate(*parts, axis=1).output
    steps = steps_of([whole, e * 3.0], [x])
    assert [ops_in(step) for step in steps] == [["Exp", "Concatenate", "Multiply"]]
    read = steps_of([whole, nv.ops.Slice(whole, ((0, 64, 1), (0, 1, 1), (0, 128, 1))) * 3.0], [x])
    assert [len(step.stored) for step in read] == [1, 1]
    data, = LoopsTransformer().build(nv.Function([e * 3.0], [x]))([np.ones((64, 128), np.float32)])
    assert np.allclose(data, 3 * np.e)


def test_loops_store_a_value_that_is_several_results_in_each():
    """A product is copied, since it is stored tile by tile, and so is a new value of a variable, which comes last."""
    x = matrix(8, 8)
    y = nv.ops.Exp(x).output
    step, = steps_of([y, x.value + 1.0, y, y], [x])
    assert step.repeated == {y: [2, 3]} and len(step.stored) == 2
    got = LoopsTransformer().build(nv.Function([y, y], [x]))([np.zeros((8, 8), np.float32)])
    assert got[0] is not got[1] and all([np.array_equal(each, np.ones((8, 8))) for each in got])
    product = nv.ops.MatMul(x, x).output
    assert [type(step) for step in steps_of([product, product], [x])] == [Loops, Copy]
    w = nv.variable("N=8", 1.0)
    new = w * 2.0
    assert [type(step) for step in cluster(nv.computation([new, nv.assign(w, new)]).optimised)] == [Loops, Copy]


def test_rows_may_have_lengths_of_one():
    x = matrix()
    total = nv.ops.Reshape(nv.ops.Sum(x, [1]), (64, 1))
    scaled = x * across(nv.ops.Reshape(nv.ops.Rsqrt(total), (64,)), x.shape, [1])
    step, = steps_of([scaled], [x])
    assert ops_in(step) == ["Sum", "Rsqrt", "Multiply"]


def test_other_axes_need_other_loops_and_what_is_cheap_is_not_stored_between_them():
    x, y = matrix(), matrix()
    product = x * y
    rows, columns = steps_of([nv.ops.Sum(product, [1]), nv.ops.Sum(product, [0])], [x, y])
    assert rows.reduced == (1,) and columns.reduced == (0,)
    assert [type(value.op).__name__ for value in (*rows.stored, *columns.stored)] == ["Sum", "Sum"]


def test_what_is_dear_is_stored_between_loops():
    x = matrix()
    e = nv.ops.Exp(x)
    rows, columns = steps_of([nv.ops.Sum(e, [1]), nv.ops.Sum(e, [0])], [x])
    assert [type(value.op).__name__ for value in rows.stored] == ["Exp", "Sum"]
    assert [type(value.op).__name__ for value in columns.stored] == ["Sum"]


def test_multiples_of_a_product_are_computed_again_beside_it_and_not_stored():
    """As in the backward pass of a layer normalisation; what is dear is stored."""
    x, y, z = [nv.Parameter(nv.float32, shape) for shape in ((64, 32), (32, 48), (64, 48))]
    product = nv.ops.Contract(x, y, (0, 2), (2, 1), (0, 1)).output
    for made, stored in ((product * z, ["Contract"]), (nv.ops.Erf(product * z).output, ["Contract", "Erf"])):
        columns = [nv.ops.Sum(product, [0]), nv.ops.Sum(made, [0])]
        first, *_ = cluster(standard(nv.Function(columns, [x, y, z])))
        assert [type(value.op).__name__ for value in first.stored] == stored


def test_what_is_cheap_behind_a_product_is_computed_from_what_is_dear():
    """As in a GELU, whose derivative needs the square of its argument and x * (1 - x) of a sigmoid."""
    x, y = [nv.Parameter(nv.float32, shape) for shape in ((64, 32), (32, 48))]
    product = nv.ops.Contract(x, y, (0, 2), (2, 1), (0, 1)).output
    gate = nv.ops.Sigmoid(product).output
    made = [product, product * product, gate, gate * (gate.full(1) - gate)]
    first, *_ = cluster(standard(nv.Function([nv.ops.Sum(value, [0]) for value in made], [x, y])))
    assert [type(value.op).__name__ for value in first.stored] == ["Contract", "Sigmoid"]


def test_few_long_rows_are_not_kept_in_one_step_with_what_follows_from_them():
    x = matrix(2, 1 << 20)
    total = nv.ops.Sum(x, [1])
    first, second = steps_of([x * across(total, x.shape, [1])], [x])
    assert ops_in(first) == ["Sum"] and ops_in(second) == ["Multiply"]


def test_what_is_read_once_through_a_view_is_computed_by_its_reader():
    x, y = matrix(), matrix(128, 64)
    step, = steps_of([nv.ops.Permute(nv.ops.Exp(x), (1, 0)) + y], [x, y])
    assert ops_in(step) == ["Add"] and len(step.stored) == 1


def test_what_a_broadcast_repeats_is_stored():
    row, x = nv.Parameter(nv.float32, (128,)), matrix()
    first, second = steps_of([x + across(nv.ops.Exp(row), x.shape, [0])], [row, x])
    assert ops_in(first) == ["Exp"] and ops_in(second) == ["Add"]


def test_steps_without_loops_of_their_own():
    x, index = matrix(), nv.Parameter(nv.int64, (5,))
    updates = nv.Parameter(nv.float32, (5, 128))
    steps = steps_of([nv.ops.Pad(x, [(1, 1), (0, 0)]), nv.ops.Scatter(x, index, updates, 0, "add"), x],
                     [x, index, updates])
    assert {type(step): str(step) for step in steps} == {
        Segments: "pieces: Pad", Scatter: "scatter: Scatter", Copy: "copy Parameter for root 2"}


def test_a_convolution_that_no_pass_has_lowered_runs_on_the_host():
    x, filters = nv.Parameter(nv.float32, (2, 3, 8)), nv.Parameter(nv.float32, (4, 3, 3))
    step, = steps_of([nv.ops.Convolution(x, filters)], [x, filters])
    assert isinstance(step, Opaque)


def test_factors_of_a_batch_norm_come_before_the_product_that_they_follow():
    """They are computed from parameters, behind the product in the function; what follows them is its epilogue."""
    x, w = nv.Parameter(nv.float32, (100, 60)), nv.Parameter(nv.float32, (60, 50))
    mean, variance = nv.Parameter(nv.float32, (50,)), nv.Parameter(nv.float32, (50,))
    y = nv.ops.MatMul(x, w)
    centred = y - nv.ops.Broadcast(mean, y.shape, [0])
    scaled = centred * nv.ops.Broadcast(nv.ops.Rsqrt(variance), y.shape, [0])
    factors, product = cluster(standard(nv.Function([scaled], [x, w, mean, variance])))
    assert ops_in(factors) == ["Rsqrt"] and ops_in(product) == ["Contract", "Subtract", "Multiply"]


def test_a_training_step_of_adam_is_one_pass_over_the_parameter():
    place = nv.placeholder("N=1000")
    variable = nv.variable("N=1000", 1.0)
    optimiser = nv.optim.Adam(0.1)
    step = LoopsTransformer().computation([optimiser(nv.sum(variable * place, out_axes=()))], place)
    long = [entry for entry in cluster(standard(step.function)) if isinstance(entry, Loops) and entry.shape == (1000,)]
    assert len(long) == 1 and len(long[0].stored) == 3


def test_an_update_by_adam_is_made_where_the_product_is_that_is_its_gradient():
    x, y = nv.placeholder("N=32, F=100"), nv.placeholder("N=32, G=50")
    weights = nv.variable("F=100, G=50", 1.0)
    loss = nv.sum(nv.dot(x, weights) * y, out_axes=())
    step = LoopsTransformer().computation([nv.optim.Adam(0.1)(loss)], x, y)
    scalars, product = cluster(standard(step.function))
    assert scalars.shape == () and product.has_contraction and len(product.stored) == 3


def test_the_numbers_of_an_optimiser_are_computed_in_one_step_for_all_parameters():
    """Each parameter counts its own updates; what is made of counts, rates and decays are single elements."""
    x, y = nv.placeholder("N=32, F=100"), nv.placeholder("N=32, G=50")
    weights, bias = nv.variable("F=100, G=50", 1.0), nv.variable("G=50")
    loss = nv.sum((nv.dot(x, weights) + bias) * y, out_axes=())
    step = LoopsTransformer().computation([nv.optim.AdamW(nv.optim.cosine(0.1, 100))(loss)], x, y)
    steps = cluster(standard(step.function))
    assert sorted([entry.shape for entry in steps]) == [(), (32, 50), (100, 50, 32)]


@pytest.mark.parametrize(("count", "kernels"), [(MOST_WAITING, 1), (MOST_WAITING + 1, 2)])
def test_short_chains_of_ops_on_leaves_are_placed_with_what_reads_the_last(count, kernels):
    x, y, z = matrix(32, 16), matrix(16, 32), matrix(32, 32)
    chain = z
    for _ in range(count):
        chain = nv.ops.Sin(chain)
    assert len(steps_of([nv.ops.MatMul(x, y) + chain], [x, y, z])) == kernels


def test_values_that_all_readers_compute_again_make_no_step():
    x = matrix()
    doubled = x + x
    steps = steps_of([nv.ops.Sum(doubled, [1]), nv.ops.Sum(doubled, [0])], [x])
    assert all(step.stored for step in steps)


# -- the two invariants ------------------------------------------------------------------------------------


def random_function(seed, size):
    """Pointwise ops, reductions, broadcasts and transposes of each other, some read often."""
    rng = np.random.default_rng(seed)
    x = nv.Parameter(nv.float32, (8, 8))
    values = [x.output, nv.ops.Exp(x).output]
    for _ in range(size):
        left, right = [values[int(rng.integers(max(len(values) - 6, 0), len(values)))] for _ in range(2)]
        made = [lambda a, b: nv.ops.Add(a, b), lambda a, b: nv.ops.Multiply(a, b), lambda a, b: nv.ops.Tanh(a),
                lambda a, b: nv.ops.Permute(a, (1, 0)),
                lambda a, b: across(nv.ops.Sum(a, [int(rng.integers(2))]), (8, 8), [int(rng.integers(2))])]
        values.append(nv.ops.Add(made[int(rng.integers(len(made)))](left, right), right).output)
    return standard(nv.Function(values[-3:], [x]))


def computed(plan):
    """How many scalar functions run in all, each as often as its loops turn."""
    total = 0
    for step in plan.steps:
        assert isinstance(step, KernelStep)
        kernel = step.lowered.kernel
        functions = [entry for entry in walk(kernel.body) if isinstance(entry, Apply)]
        total += len(functions) * evaluate(step.lowered.points, {})
    return total


@pytest.mark.parametrize("seed", range(20))
def test_no_more_than_twice_the_operations(seed):
    function = random_function(seed, 40)
    before = sum([64 for op in function.operations if isinstance(op, Elementwise)])
    assert computed(make_plan(function)) <= 2 * before


def test_the_text_of_kernels_grows_with_the_graph():
    sizes = []
    for size in (50, 200):
        plan = make_plan(random_function(7, size))
        sizes.append(sum([len(list(walk(step.lowered.kernel.body))) for step in plan.steps]) / size)
    assert sizes[1] <= 1.5 * sizes[0]


def test_what_follows_from_variables_alone_is_there_before_products_that_it_is_multiplied_with():
    x, w, scale = nv.placeholder("N=64, F=32"), nv.placeholder("F=32, C=48"), nv.variable("C=48", 2.0)
    factor = 1.0 / nv.sqrt(scale * scale + 1.0)
    scaled = nv.relu(nv.dot(x, w) * factor + factor * scale)
    first, last = cluster(LoopsTransformer().computation(scaled, x, w).optimised)
    assert "Sqrt" in ops_in(first) and ops_in(last)[0] == "Contract" and ops_in(last)[-1] == "Relu"


def test_what_follows_a_product_is_not_computed_again_where_others_pack_it():
    """Whatever shape it is read in: the product's own result then needs no memory."""
    x, w = matrix(60, 32), matrix(32, 48)
    turned = nv.ops.Relu(nv.ops.Reshape(nv.ops.MatMul(x, w), (60, 1, 48)) * 2.0)
    others = [matrix(48, 8), matrix(48, 9)]
    results = [nv.ops.MatMul(nv.ops.Reshape(turned, (60, 48)), other) for other in others]
    first, *_ = steps_of(results, [x, w, *others])
    assert [type(value.op).__name__ for value in first.stored] == ["Relu"]


def test_what_waits_for_its_reader_comes_after_the_single_elements_that_it_reads():
    """A row of a few that follows from constants is made first, single elements after it; what reads both follows."""
    x = nv.Parameter(nv.float32, (16, 17))
    row = nv.ops.Exp(nv.ops.Exp(nv.ops.Full(1.0, nv.float32, x.shape)))
    element = nv.ops.Exp(nv.ops.Convert(nv.ops.Full(1.0, nv.float16, ()), nv.float32))
    waiting = nv.ops.Negative(across(element, x.shape, [0, 1]))
    shifted = row - across(nv.ops.Max(row, [0, 1]), x.shape, [0, 1])
    function = nv.Function([row, (waiting * shifted) * nv.ops.Sign(x)], [x])
    steps = make_plan(standard(function)).steps
    filled = set()
    for step in steps:
        assert {storage for storage in step.read if storage.kind is StorageKind.TEMPORARY} <= filled
        filled.update(step.written)
    array = np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    for got, wanted in zip(LoopsTransformer().build(function)([array]),
                           nv.transformers.make_transformer("interpreter").compile(function)([array]), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_what_is_dear_inside_of_a_cheap_op_is_not_computed_for_each_reduction():
    """An exponential behind a view is computed inside its reader: the reader costs as much."""
    x = nv.Parameter(nv.float32, (1, 4, 10))
    raised = nv.ops.Absolute(nv.ops.Broadcast(nv.ops.Exp(x), (1, 1, 4, 10), [0]))
    shifted = raised - across(nv.ops.Max(raised, [0, 2, 3]), raised.shape, [0, 2, 3])
    total = nv.ops.Sum(shifted * shifted, [0, 2, 3])
    plan = make_plan(standard(nv.Function([shifted / across(total, raised.shape, [0, 2, 3])], [x])))
    applied = [entry for step in plan.steps for entry in walk(step.kernel.body)
               if isinstance(entry, Apply) and entry.function == "exp"]
    assert len(applied) == 1


@pytest.mark.parametrize("count", [1, 3])
def test_products_read_bytes_and_windows_where_they_lie_however_many_read_them(count):
    """Each product widens the bytes, or shows itself the windows, as it packs them."""
    x, weights = nv.Parameter(nv.int8, (300, 64)), [nv.Parameter(nv.int8, (64, 500)) for _ in range(count)]
    wide = nv.ops.Convert(x, nv.int32)
    products = [nv.ops.MatMul(wide, nv.ops.Convert(w, nv.int32)) for w in weights]
    assert {name for step in steps_of(products, [x, *weights]) for name in ops_in(step)} == {"Contract"}
    x, filters = nv.Parameter(nv.float32, (8, 64, 14, 14)), [
        nv.Parameter(nv.float32, (64, 64, 3, 3)) for _ in range(count)]
    slid = [nv.ops.Convolution(x, f, paddings=[(1, 1), (1, 1)]) for f in filters]
    steps = cluster(native(nv.Function(slid, [x, *filters])))
    assert {name for step in steps for name in ops_in(step)} == {"Contiguous", "Contract"}  # of the filters


def test_totals_of_rows_that_indices_choose_are_stored_before_any_is_read():
    x, rows = matrix(), nv.Parameter(nv.int64, (64, 128))
    steps = steps_of([x - nv.ops.Gather(nv.ops.Max(x, [1]), rows, 0)], [x, rows])
    assert [ops_in(step) for step in steps] == [["Max"], ["Gather", "Subtract"]]
