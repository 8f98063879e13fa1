"""Products on the cpu have the bits of the rule, whatever the sizes, layouts, batches and threads."""

from __future__ import annotations

import random
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.cluster import Opaque, cluster
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import standard
from nervure.transformers.cpu import loaded
from nervure.transformers.cpu.cache import executable_cache
from tests.kernel.contraction_rule import contraction

CPU = nv.transformers.make_transformer("cpu")
TYPES = [np.float32, np.float64, np.int32, np.uint8]
LENGTHS = (1, 2, 3, 5, 17, 70)


def drawn(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 100, shape).astype(dtype)


def by_rule(x: np.ndarray, y: np.ndarray, x_indices, y_indices, indices) -> np.ndarray:
    """The contraction, pair of matrices by pair, from operands in the order of their indices."""
    extents = dict(zip((*x_indices, *y_indices), (*x.shape, *y.shape)))
    both = set(x_indices) & set(y_indices)
    batch = [entry for entry in indices if entry in both]
    rows, columns = [[entry for entry in indices if entry in own and entry not in both]
                     for own in (x_indices, y_indices)]
    points = sorted(both.difference(indices))

    def matrices(array, own, first, second):
        order = [own.index(entry) for entry in (*batch, *first, *second)]
        sizes = [prod([extents[entry] for entry in group]) for group in (batch, first, second)]
        return array.transpose(order).reshape(sizes)
    pairs = zip(matrices(x, x_indices, rows, points), matrices(y, y_indices, points, columns))
    results = np.stack([contraction(left, right) for left, right in pairs])
    made = results.reshape([extents[entry] for entry in (*batch, *rows, *columns)])
    return made.transpose([(*batch, *rows, *columns).index(entry) for entry in indices])


def random_contraction(seed: int):
    """Indices of two operands and the result, at least one of them free, and the length of each index."""
    chosen = random.Random(seed)
    roles = [chosen.choice("batch row column point".split()) for _ in range(chosen.choice((2, 3, 4, 5)))]
    roles[0] = chosen.choice(["row", "column"])
    numbers = chosen.sample(range(9), len(roles))
    extents = {number: chosen.choice(LENGTHS if role != "batch" else (1, 2, 3)) for number, role in zip(numbers, roles)}
    if chosen.random() < 0.2 and "point" in roles:
        extents[numbers[roles.index("point")]] = chosen.choice((511, 512, 513, 1100))
    members = [[number for number, role in zip(numbers, roles) if role not in without]
               for without in (("column",), ("row",), ("point",))]
    for each in members:
        chosen.shuffle(each)
    return *[tuple(each) for each in members], extents


@pytest.mark.parametrize("seed", range(60))
def test_random_contractions_have_the_bits_of_the_rule(seed):
    """O48."""
    x_indices, y_indices, indices, extents = random_contraction(seed)
    dtype = TYPES[seed % len(TYPES)]
    if prod(extents.values()) > 200_000:
        extents = {number: min(length, 17) for number, length in extents.items()}
    x, y = [drawn(tuple([extents[entry] for entry in own]), dtype, seed + number)
            for number, own in enumerate((x_indices, y_indices))]
    a, b = [nv.Parameter(nv.as_dtype(dtype), array.shape) for array in (x, y)]
    function = nv.Function([nv.ops.Contract(a, b, x_indices, y_indices, indices)], [a, b])
    result, = CPU.build(function)(x, y)
    np.testing.assert_array_equal(result, by_rule(x, y, x_indices, y_indices, indices))


@pytest.mark.parametrize("indices", [(0, 3, 1, 4), (1, 3, 0, 4), (3, 0, 4, 1)])
def test_two_axes_of_rows_among_two_of_columns_have_the_bits_of_the_rule(indices):
    """O48: the rows are joined, as are the columns, which lie in lines where the last axis is one of them."""
    lengths, x_indices, y_indices = (2, 3, 3, 5, 4), (1, 0, 2), (2, 3, 4)
    x, y, more = [drawn(tuple([lengths[entry] for entry in own]), np.float32, seed)
                  for seed, own in enumerate((x_indices, y_indices, indices))]
    a, b, c = parameters = [nv.Parameter(nv.float32, array.shape) for array in (x, y, more)]
    product = nv.ops.Contract(a, b, x_indices, y_indices, indices)
    result, = CPU.build(nv.Function([product + c], parameters))(x, y, more)
    np.testing.assert_array_equal(result, by_rule(x, y, x_indices, y_indices, indices) + more)


@pytest.mark.parametrize("sizes", [(1, 700, 300), (3, 40, 530), (9, 1500, 20), (100, 90, 513), (65, 129, 1030),
                                   (50, 1024, 520), (70, 1024, 40)])
def test_products_in_blocks_have_the_bits_of_the_rule(sizes):
    rows, columns, points = sizes
    x, y = drawn((rows, points), np.float32, 0), drawn((points, columns), np.float32, 1)
    expected = contraction(x, y)
    for left in (x, np.asfortranarray(x)):
        for right in (y, np.asfortranarray(y)):
            np.testing.assert_array_equal(product_of(left, right), expected)


@pytest.mark.parametrize("heads, width", [(3, 32), (5, 128), (6, 200), (2, 7)])
def test_points_that_a_reshape_has_numbered_are_added_up_in_their_order(heads, width):
    """The heads of an attention as the left side and as the right one."""
    rows, columns, points = 9, 20, heads * width
    x, y = drawn((heads, rows, width), np.float32, 0), drawn((points, columns), np.float32, 1)
    a, b = parameters = [nv.Parameter(nv.float32, array.shape) for array in (x, y)]
    merged = nv.ops.Reshape(nv.ops.Permute(a, (1, 0, 2)), (rows, points))
    results = [nv.ops.Contract(merged, b, (0, 2), (2, 1), (0, 1)), nv.ops.Contract(b, merged, (2, 1), (0, 2), (1, 0))]
    expected = contraction(x.transpose(1, 0, 2).reshape(rows, points), y)
    forward, backward = CPU.build(nv.Function(results, parameters))(x, y)
    np.testing.assert_array_equal(forward, expected)
    np.testing.assert_array_equal(backward, expected.T)


def product_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product on the cpu of operands that lie in memory as these do."""
    arrays = [array if array.flags.c_contiguous else np.ascontiguousarray(array.T) for array in (x, y)]
    a, b = parameters = [nv.Parameter(nv.float32, array.shape) for array in arrays]
    left, right = [value if array.flags.c_contiguous else nv.ops.Permute(value, (1, 0))
                   for value, array in zip((a, b), (x, y))]
    function = nv.Function([nv.ops.Contract(left, right, (0, 2), (2, 1), (0, 1))], parameters)
    result, = CPU.build(function)(*arrays)
    return result


def test_a_row_has_the_same_bits_alone_and_among_others_and_for_any_number_of_threads(monkeypatch):
    x, y = drawn((200, 600), np.float32, 0), drawn((600, 300), np.float32, 1)
    whole = product_of(x, y)
    for count in (1, 7, 64):
        np.testing.assert_array_equal(product_of(x[:count], y), whole[:count])
    monkeypatch.setattr(nv.flags, "threads", 1)
    np.testing.assert_array_equal(product_of(x, y), whole)


def test_symbolic_sizes_give_the_bits_of_fixed_ones():
    rows, columns, points = [nv.dim(name) for name in ("rows", "columns", "points")]
    x, y = nv.placeholder({"R": rows, "P": points}), nv.placeholder({"P": points, "C": columns})
    product = CPU.computation(nv.dot(x, y), x, y)
    for m, n, k in ((3, 5, 7), (70, 200, 600), (1, 1, 1), (0, 4, 3), (4, 3, 0), (600, 20, 513)):
        left, right = drawn((m, k), np.float32, 0), drawn((k, n), np.float32, 1)
        np.testing.assert_array_equal(product(left, right), contraction(left, right))


@pytest.mark.parametrize("seed", range(24))
def test_products_of_bytes_that_add_up_in_int32_are_exact(seed):
    """O49."""
    x_indices, y_indices, indices, extents = random_contraction(seed)
    extents = {number: min(length, 70) for number, length in extents.items()}
    types = [(np.uint8, np.int8)[seed >> number & 1] for number in range(2)]
    generator = np.random.default_rng(seed)
    x, y = [generator.integers(0, 256, [extents[entry] for entry in own], np.uint8).view(dtype)
            for own, dtype in zip((x_indices, y_indices), types)]
    a, b = [nv.Parameter(nv.as_dtype(array.dtype), array.shape) for array in (x, y)]
    wide = [nv.ops.Convert(entry, nv.int32) for entry in (a, b)]
    result, = CPU.build(nv.Function([nv.ops.Contract(*wide, x_indices, y_indices, indices)], [a, b]))(x, y)
    expected = by_rule(x.astype(np.int32), y.astype(np.int32), x_indices, y_indices, indices)
    np.testing.assert_array_equal(result, expected)


def test_bytes_that_are_made_of_floats_are_packed_as_bytes_and_follow_their_variable():
    """O49."""
    generator = np.random.default_rng(0)
    x, w = generator.integers(0, 256, (20, 70), np.uint8), generator.uniform(-128, 128, (70, 33)).astype(np.float32)
    weights, place = nv.variable(w.shape, w), nv.placeholder(x.shape, dtype=nv.uint8)
    product = nv.matmul(place, nv.convert(weights, nv.int8), dtype=nv.int32)
    computation, new = CPU.computation(product, place), nv.placeholder(w.shape)
    assert "i8[" in nv.explain(computation).details().partition("derived")[2]
    for values in (w, -w):
        CPU.computation(nv.assign(weights, new), new)(values)
        np.testing.assert_array_equal(computation(x), x.astype(np.int32) @ values.astype(np.int8).astype(np.int32))


def test_what_follows_a_product_shares_its_kernel():
    x, w, b = nv.Parameter(nv.float32, (64, 32)), nv.Parameter(nv.float32, (32, 48)), nv.Parameter(nv.float32, (48,))
    product = nv.ops.Contract(x, w, (0, 2), (2, 1), (0, 1))
    dense = nv.ops.Tanh(product + nv.ops.Broadcast(b, (64, 48), [0]))
    step, = cluster(standard(nv.Function([dense], [x, w, b])))
    assert [type(op).__name__ for op in step.ops] == ["Contract", "Add", "Tanh"]
    assert not isinstance(step, Opaque)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("sizes", [(1, 40, 70), (9, 30, 600), (100, 33, 20)])
def test_low_precision_adds_up_in_float32(name, sizes):
    rows, columns, points = sizes
    dtype = nv.as_dtype(name)
    x, y = [drawn(shape, np.float32, number).astype(dtype.numpy)
            for number, shape in enumerate(((rows, points), (points, columns)))]
    a, b = [nv.Parameter(dtype, array.shape) for array in (x, y)]
    result, = CPU.build(nv.Function([nv.ops.Contract(a, b, (0, 2), (2, 1), (0, 1))], [a, b]))(x, y)
    expected = contraction(x.astype(np.float32), y.astype(np.float32)).astype(dtype.numpy)
    assert result.tobytes() == expected.tobytes()


def tasks_of(rows: int, columns: int, points: int, is_transposed: bool) -> int:
    x, w = nv.placeholder((rows, points)), nv.placeholder((columns, points) if is_transposed else (points, columns))
    product = CPU.computation(nv.matmul(x, w.T if is_transposed else w), x, w)
    return make_plan(product.optimised).steps[-1].kernel.sliced.extent


@pytest.mark.parametrize("is_transposed", [False, True])
def test_products_are_shared_out_if_they_take_long(is_transposed):
    """A short one is one task, a longer one an even number of them, and the more there is to do, the more tasks."""
    found = [tasks_of(rows, 256, 256, is_transposed) for rows in (2, 100, 300, 3000)]
    assert found == sorted(found) and found[0] == 1 < found[1] and found[1] % 2 == 0
    assert tasks_of(100, 64, 16, is_transposed) == 1 < tasks_of(10_000, 256, 2_000, is_transposed)


@pytest.mark.parametrize(("rows", "columns", "points"), [(1, 1024, 256), (8, 256, 256), (40, 196, 240)])
def test_a_product_that_two_threads_do_in_half_the_time_has_two_tasks(rows, columns, points):
    """A vector by a matrix, and products of fewer rows than are worth a task of their own."""
    assert tasks_of(rows, columns, points, False) == 2


def dense_network(rows=20):
    """A training step of two dense layers, and its arguments."""
    x, labels = nv.placeholder({"N": rows, "F": 30}), nv.placeholder({"N": rows, "K": 5})
    generator, h = np.random.default_rng(0), x
    for left, right, lengths in (("F", "H", (30, 40)), ("H", "K", (40, 5))):
        start = (generator.standard_normal(lengths) / 5).astype(np.float32)
        weights = nv.variable(dict(zip((left, right), lengths)), start)
        bias = nv.variable({right: lengths[1]}, 0.0)
        h = nv.dot(h, weights) + bias
        h = nv.relu(h) if right == "H" else h
    loss = nv.mean(nv.cross_entropy_multi(nv.softmax(h, axis="K"), labels), out_axes=())
    step = CPU.computation([loss, nv.optim.Adam(0.01)(loss)], x, labels)
    return step, generator.standard_normal((20, 30)).astype(np.float32), np.eye(5, dtype=np.float32)[np.arange(20) % 5]


def test_a_training_step_of_dense_layers_enters_python_once():
    step, *arguments = dense_network()
    losses = [float(step(*arguments)[0]) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    files: list[str] = []

    def note(frame, event, _):
        if event == "call":
            files.append(Path(frame.f_code.co_filename).name)
    sys.setprofile(note)
    step(*arguments)
    sys.setprofile(None)
    assert set(files) == {"computation.py"} and len(files) <= 4, files  # the call, and its results as asked for
    plan = step.executable.compilation.plan
    assert all([each.kernel is not None for each in plan.steps])
    assert executable_cache.describe(step.function, step.executable.compilation) is not None


def test_the_memory_of_a_training_step_is_what_is_alive_at_once():
    """Beside weights and moments, which are updated where they lie: activations, and never a gradient of weights."""
    step, *arguments = dense_network()
    report = nv.explain(step, *arguments, repeat=0).report
    alive = [sum([-(-each.bytes // 64) * 64 for each in report.temporaries if each.first <= number <= each.last])
             for number in range(len(report.steps))]
    assert max(alive) <= report.together_bytes <= 1.1 * max(alive)
    assert max([each.bytes for each in report.temporaries]) == 20 * 40 * 4 < 30 * 40 * 4


def test_updates_by_a_batch_of_any_size_lie_where_the_weights_do_unless_they_take_long(monkeypatch):
    """A call that would take long in place makes new arrays, so that it can be stopped; its bits are the same."""
    step, x, labels = dense_network(nv.dim("n", min=1))
    large = np.concatenate([x] * 50), np.concatenate([labels] * 50)
    assert [len(root.shape) for root in step.executable.compilation.plan.in_place].count(2) == 6
    alike, *_ = dense_network(nv.dim("n", min=1))
    limit = max([each.step({"n": 20}).nanoseconds for each in step.executable.compilation.loaded.codes])
    monkeypatch.setattr(loaded, "UNSTOPPED", limit)
    written = {rows: len(step.executable.specialise({"n": rows}).usual.in_place) for rows in (20, 1000)}
    assert written == {20: len(step.executable.compilation.plan.in_place), 1000: 0}
    some = [step(*each)[0].item() for each in ((x, labels), large, (x, labels), large)]
    monkeypatch.undo()
    assert some == [alike(*each)[0].item() for each in ((x, labels), large, (x, labels), large)]


def test_updates_of_weights_lie_where_the_weights_do():
    """The weights and their two moments; what has sums over rows gets memory of its own."""
    step, *_ = dense_network()
    assert [len(root.shape) for root in step.executable.compilation.plan.in_place].count(2) == 6
