"""Kernels that share an outer loop: the same bits as apart, for random sizes, threads and blocks."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.kernel.plan import make_plan
from nervure.kernel.verify import verify_kernel
from nervure.ops.attention import Scores, attention_gradients
from nervure.ops.selection import where
from nervure.ops.softmax import Statistics
from nervure.passes.pipelines import native
from nervure.support.machine import Machine
from nervure.transformers import make_transformer

CASES = 16


def computed(function, arrays, machine: Machine | None, threads=(1,)):
    """The results of a function of tensors for each number of threads, and the names of its kernels. Kernels share
    loops on a machine with these caches; without one none does.
    """
    with flags.overriding(share_loops=machine is not None), make_transformer("cpu") as cpu:
        if machine is not None:
            cpu.target = cpu.target._replace(machine=cpu.target.machine._replace(
                first_cache=1024, own_cache=machine.own_cache, threads=machine.threads))
        inputs = [nv.placeholder(array.shape, dtype=array.dtype) for array in arrays]
        made = nv.computation(function(*inputs), *inputs, transformer=cpu)
        found = []
        for number in threads:
            with flags.overriding(threads=number):
                found.append(made(*arrays))
        return found, [step.name for step in made.executable.report().steps]


def same(found, expected) -> None:
    for one in found:
        for array, other in zip(one, expected, strict=True) if isinstance(one, list | tuple) else [(one, expected)]:
            np.testing.assert_array_equal(array.view(np.uint8), other.view(np.uint8))


def attention(random: np.random.Generator):
    """An attention of random sizes, with a mask, a window or heads that share keys, and its operands."""
    lengths = random.integers(1, 90, 2)
    widths = random.integers(1, 40, 2)
    groups, times = random.integers(1, 4, 2)
    batch = [int(random.integers(1, 3))] if random.random() < 0.5 else []
    shapes = [(*batch, groups * times, lengths[0], widths[0]), (*batch, groups, lengths[1], widths[0]),
              (*batch, groups, lengths[1], widths[1])]
    arrays = [random.standard_normal([int(length) for length in shape]).astype(np.float32) for shape in shapes]
    settings = [{}, {"causal": True}, {"window": (int(random.integers(0, 20)), int(random.integers(0, 20)))},
                {"scale": 0.25}][random.integers(0, 4)]
    if random.random() < 0.3:
        seen = random.random((lengths[0], lengths[1])) < 0.7
        return (lambda q, k, v, mask: nv.attention(q, k, v, mask=mask, **settings)), [*arrays, seen]
    return (lambda q, k, v: nv.attention(q, k, v, **settings)), arrays


@pytest.mark.parametrize("seed", range(CASES))
def test_attention_has_the_same_bits_in_shared_loops(seed):
    """A391: whatever caches are there, and however many threads."""
    random = np.random.default_rng([7, seed])
    function, arrays = attention(random)
    (expected,), apart = computed(function, arrays, None)
    machine = Machine(own_cache=int(2 ** random.uniform(13, 16)), threads=int(random.integers(1, 20)))
    found, shared = computed(function, arrays, machine, threads=(1, 2, 3))
    same(found, expected)
    assert "shared" not in apart and len(shared) <= len(apart)


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_that_make_weights_again_have_the_same_bits_in_shared_loops(seed, monkeypatch):
    """A391: two chains of products, over rows of queries and over rows of keys."""
    monkeypatch.setattr("nervure.ops.attention.MOST_SCORES", 0)
    random = np.random.default_rng([11, seed])
    function, arrays = attention(random)

    def gradients(q, k, v, *mask):
        y = function(q, k, v, *mask)
        return [y, *[nv.deriv(nv.sum(nv.square(y), out_axes=()), x) for x in (q, k, v)]]

    (expected,), _ = computed(gradients, arrays, None)
    found, _ = computed(gradients, arrays, Machine(own_cache=int(2 ** random.uniform(13, 16))), threads=(1, 2, 3))
    same(found, expected)


def test_a_long_attention_and_its_derivative_need_little_memory():
    """O91: at 8,192 rows, 4 heads of 32, less than 64 MB beside arguments and results, none of it scores."""
    inputs = [nv.placeholder((1, 4, 8192, 32)) for _ in range(4)]
    y = nv.attention(*inputs[:3])
    results = [y, *[nv.deriv(nv.sum(y * inputs[3], out_axes=()), x) for x in inputs[:3]]]
    executable = nv.computation(results, *inputs).executable
    scratch = max([kernel.launch.scratch for kernel in executable.compilation.loaded.compiled.kernels])
    needed = executable.memory({}).bytes - 4 * 4 * 8192 * 32 * 4
    assert needed + 16 * scratch < 64_000_000
    shared = [step.kernel for step in executable.compilation.plan.steps if step.kernel.name == "shared"]
    assert len(shared) == 3
    for kernel in shared:
        verify_kernel(kernel)


def test_a_gradient_that_is_an_argument_makes_weights_again_behind_the_result():
    """O91: all three chains share loops, and no weights are in memory."""
    inputs = [nv.placeholder((8, 512, 64)) for _ in range(4)]
    y = nv.attention(*inputs[:3], causal=True)
    made = nv.computation([nv.deriv(nv.sum(y * inputs[3], out_axes=()), x) for x in inputs[:3]], *inputs)
    shared = [step.kernel for step in made.executable.compilation.plan.steps if step.kernel.name == "shared"]
    assert len(shared) == 3
    assert made.executable.memory({}).bytes < 8 * 512 * 512 * 4


@pytest.mark.parametrize("rows", [300, 2048])
def test_causal_attention_keeps_all_features_of_queries_in_small_blocks(rows):
    """A394: the queries of a block are kept, too, and their features are no columns of scores."""
    random = np.random.default_rng(rows)
    arrays = [random.standard_normal((2, rows, 64), dtype=np.float32) for _ in range(3)]
    (expected,), _ = computed(lambda q, k, v: nv.attention(q, k, v, causal=True), arrays, None)
    machine = Machine(own_cache=1 << (17 if rows == 300 else 20))
    found, names = computed(lambda q, k, v: nv.attention(q, k, v, causal=True), arrays, machine)
    same(found, expected)
    assert "shared" in names


@pytest.mark.parametrize(("rows", "columns", "window"), [(1300, 1700, None), (1100, 1100, 200)])
def test_gradients_of_long_attention_are_those_of_the_formula(rows, columns, window):
    """O91, A391: beside float64, with a mask, and with the same bits for a batch that is a symbol."""
    random = np.random.default_rng(rows)
    q, k, v, g = arrays = [random.standard_normal((2, length, 48), dtype=np.float32)
                           for length in (rows, columns, columns, rows)]
    mask, distance = random.random((rows, columns)) < 0.7, np.subtract.outer(np.arange(rows), np.arange(columns))
    sees = mask & (distance >= 0) & (distance <= (columns if window is None else window))
    scores = np.where(sees, q.astype(float) @ k.swapaxes(1, 2) / np.sqrt(48), -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e9))
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-30)
    slopes = g @ v.swapaxes(1, 2).astype(float)
    slopes = weights * (slopes - (slopes * weights).sum(-1, keepdims=True)) / np.sqrt(48)
    expected = slopes @ k, slopes.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ g

    found = []
    for batch in (2, nv.dim("n", min=1)):
        inputs = [nv.placeholder((batch, *array.shape[1:])) for array in arrays]
        y = nv.attention(*inputs[:3], mask=nv.constant(mask), causal=True, window=window)
        made = nv.computation([nv.deriv(nv.sum(y * inputs[3], out_axes=()), x) for x in inputs[:3]], *inputs)
        assert [step.name for step in made.executable.report().steps].count("shared") == 3
        found.append(made(*arrays))
    same(found[1:], found[0])
    for array, other in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(array, other, rtol=0, atol=3e-6 * np.abs(other).max())


@pytest.mark.parametrize(("rows", "causal", "is_kept"), [(512, False, True), (2048, False, True), (256, True, True),
                                                         (512, True, False)])
def test_weights_are_kept_where_that_is_faster(rows, causal, is_kept):
    """O91: a causal mask halves what is made again, so that fewer weights are kept."""
    inputs = [nv.placeholder((8, rows, 64)) for _ in range(3)]
    y = nv.attention(*inputs, causal=causal)
    made = nv.computation([nv.deriv(nv.sum(nv.square(y), out_axes=()), x) for x in inputs], *inputs)
    assert (made.executable.memory({}).bytes > 8 * rows * rows * 4) is is_kept


def test_scores_of_real_networks_stay_out_of_memory():
    """A392: those of 8 heads of 64, and 512 rows, are scratch memory of a block."""
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((1, 8, 512, 64), dtype=np.float32) for _ in range(3)]
    inputs = [nv.placeholder(array.shape) for array in arrays]
    made = nv.computation(nv.attention(*inputs), *inputs)
    assert [step.name for step in made.executable.report().steps] == ["shared"]
    assert made.executable.memory({})[:2] == (1, arrays[0].nbytes)
    (expected,), apart = computed(nv.attention, arrays, None)
    assert len(apart) == 3
    same([made(*arrays)], expected)


def test_a_batch_of_several_axes_is_that_of_the_kernel_with_the_most_loops():
    """A391: products go through 4*12 matrices in one loop, what reads numbers that lie in another order in two."""
    def gradients(q, k, v, shifts):
        query, key, value = q.value, k.value, v.value
        shift = nv.ops.Permute(shifts.value, (0, 2, 1)).output
        shift = where(nv.ops.Equal(shift, shift.full(0)).output, 1, shift)
        known, mean = Statistics(shift, shift.full(1)), nv.ops.Sum(query * value, [3]).output
        of_query, *_ = attention_gradients(Scores(after=0), known, query, mean, query, key, value)
        return nv.Tensor(of_query)

    random = np.random.default_rng(3)
    arrays = [random.standard_normal(shape, dtype=np.float32) for shape in ((4, 12, 128, 8),) * 3 + ((4, 128, 12),)]
    (expected,), apart = computed(gradients, arrays, None)
    found, names = computed(gradients, arrays, Machine(own_cache=1 << 16, threads=3), threads=(1, 3))
    same(found, expected)
    assert apart.count("product") == 3 and names.count("shared") == 1 and "product" not in names


def test_a_symbolic_batch_shares_loops_as_numbers_do():
    """A391, A392: the bits are those of a batch that is known, and no scores are in memory."""
    n = nv.dim("n", min=1)
    inputs = [nv.placeholder((n, 4, 300, 32)) for _ in range(3)]
    made = nv.computation(nv.attention(*inputs, causal=True), *inputs)
    assert [step.name for step in made.executable.report().steps] == ["shared"]
    for batch in (1, 3):
        random = np.random.default_rng(batch)
        arrays = [random.standard_normal((batch, 4, 300, 32), dtype=np.float32) for _ in range(3)]
        (expected,), _ = computed(lambda q, k, v: nv.attention(q, k, v, causal=True), arrays, None)
        same([made(*arrays)], expected)


@pytest.mark.parametrize("seed", range(6))
def test_symbolic_lengths_share_loops_with_the_same_bits(seed, monkeypatch):
    """A391: rows, and their length, are symbols; at random sizes, also of no rows, with parts of an element, masks and
    derivatives.
    """
    monkeypatch.setattr("nervure.kernel.loop_sharing.LENGTH_OF_ROWS", 64)
    random = np.random.default_rng([13, seed])
    function, arrays = attention(random)
    rows, columns = nv.dim("t", min=1), nv.dim("s", min=1)
    mask = arrays[3:]
    shapes = [(*array.shape[:-2], length, array.shape[-1]) for array, length in zip(
        arrays, (rows, columns, columns), strict=False)] + [(rows, columns) for _ in mask]

    def gradients(*given):
        y = function(*given)
        return [y, *[nv.deriv(nv.sum(nv.square(y), out_axes=()), x) for x in given[:3]]] if seed % 2 else [y]

    def made(machine):
        with flags.overriding(share_loops=machine is not None):
            cpu = make_transformer("cpu")
        if machine is not None:
            cpu.target = cpu.target._replace(machine=cpu.target.machine._replace(
                first_cache=1024, own_cache=machine.own_cache, threads=machine.threads))
        inputs = [nv.placeholder(shape, dtype=array.dtype) for shape, array in zip(shapes, arrays, strict=True)]
        return nv.computation(gradients(*inputs), *inputs, transformer=cpu), cpu

    machine = Machine(own_cache=int(2 ** random.uniform(13, 16)), threads=int(random.integers(1, 20)))
    (shared, first), (apart, second) = made(machine), made(None)
    names = [[step.name for step in each.executable.report().steps] for each in (shared, apart)]
    assert len(names[0]) <= len(names[1]) and "shared" not in names[1]
    for sizes in [(1, 1), *random.integers(1, 150, (3, 2)).tolist()]:
        bindings = {"t": sizes[0], "s": sizes[1]}
        lengths = [[nv.types.dim.evaluate(length, bindings) for length in shape] for shape in shapes]
        given = [random.random(shape) < 0.7 if array.dtype == bool else random.standard_normal(shape).astype(np.float32)
                 for shape, array in zip(lengths, arrays, strict=True)]
        expected = apart(*given)
        for threads in (1, 3):
            with flags.overriding(threads=threads):
                same([shared(*given)], expected)
    first.close(), second.close()


@pytest.mark.parametrize("causal", [False, True])
def test_scores_of_symbolic_lengths_stay_out_of_memory(causal):
    """A392: whatever the length; a causal mask bounds the columns of each block."""
    n, t = nv.dim("n", min=1), nv.dim("t", min=1)
    inputs = [nv.placeholder((n, 4, t, 32)) for _ in range(3)]
    made = nv.computation(nv.attention(*inputs, causal=causal), *inputs)
    step, = made.executable.compilation.plan.steps
    assert step.kernel.name == "shared"
    verify_kernel(step.kernel)
    assert made.executable.memory({"n": 1, "t": 300})[:2] == (1, 4 * 300 * 32 * 4)
    random = np.random.default_rng(5)
    for batch, length in ((2, 70), (1, 600)):
        arrays = [random.standard_normal((batch, 4, length, 32), dtype=np.float32) for _ in range(3)]
        (expected,), _ = computed(lambda q, k, v: nv.attention(q, k, v, causal=causal), arrays, None)
        same([made(*arrays)], expected)


def test_symbolic_lengths_may_be_zero():
    """A391: no rows, and rows of no columns."""
    t, s = nv.dim("t"), nv.dim("s")
    inputs = [nv.placeholder((2, length, 8)) for length in (t, s, s)]
    made = nv.computation(nv.attention(*inputs, mask=nv.constant(True)), *inputs)
    assert "shared" in [step.name for step in made.executable.report().steps]
    for rows, columns in ((0, 3), (4, 0), (0, 0), (3, 2)):
        given = [np.ones((2, length, 8), np.float32) for length in (rows, columns, columns)]
        assert made(*given).tolist() == np.full((2, rows, 8), float(columns > 0)).tolist()


def test_layers_of_one_structure_share_the_kernel_of_their_loops():
    inputs = [nv.placeholder((8, 300, 64)) for _ in range(3)]
    y = nv.attention(nv.attention(*inputs, scale=1), *inputs[1:], scale=1)
    one, other = nv.computation(y, *inputs).executable.compilation.plan.steps
    assert one.kernel.name == other.kernel.name == "shared" and one.kernel.body is other.kernel.body
    assert one.kernel.origins != other.kernel.origins


def test_a_value_that_something_else_reads_stays_in_memory():
    """A392: the weights are a result, too; their scores still are scratch memory."""
    random = np.random.default_rng(1)
    arrays = [random.standard_normal((2, 60, 16), dtype=np.float32) for _ in range(3)]

    def both(q, k, v):
        weights = nv.softmax(nv.matmul(q, k.mT), axis=-1)
        return [nv.matmul(weights, v), weights]

    (expected,), _ = computed(both, arrays, None)
    found, names = computed(both, arrays, Machine(own_cache=8192), threads=(1, 2))
    same(found, expected)
    assert "shared" in names


def test_rows_that_differ_keep_kernels_apart():
    """A392, A393: a softmax over columns needs all rows of a product; explanations say so."""
    random = np.random.default_rng(2)
    arrays = [random.standard_normal((2, 300, 30), dtype=np.float32) for _ in range(2)]

    def columns(x, y):
        return nv.softmax(nv.matmul(x, y.mT), axis=-2)

    (expected,), _ = computed(columns, arrays, None)
    found, names = computed(columns, arrays, Machine(own_cache=8192))
    same(found, expected)
    assert "shared" not in names
    large = nv.placeholder((2, 600, 30))
    explained = nv.explain(nv.computation(columns(large, large), large)).details()
    assert "shares no loop with the kernel that reads its result: they do not go through the same" in explained


def test_symbolic_rows_and_large_weights_keep_kernels_apart():
    """Q44, A393: of dense layers an explanation gives both times, or says that a weight is packed once."""
    n = nv.dim("n", min=1)
    wide, small, narrow = nv.placeholder((n, 64)), nv.placeholder((64, 500)), nv.placeholder((500, 64))
    few = nv.explain(nv.computation(nv.matmul(nv.relu(nv.matmul(wide, small)), narrow), wide, small, narrow))
    assert "the number of rows is a symbol, so that there may be too few blocks for all threads" in few.details()
    x, first, second = [nv.placeholder(shape) for shape in ((512, 768), (768, 3072), (3072, 768))]

    def notes(first, second, *inputs):
        made = nv.computation(nv.matmul(nv.relu(nv.matmul(x, first)), second), x, *inputs)
        return " ".join([note for step in made.executable.compilation.plan.steps for note in step.lowered.notes])

    assert "to read operands again for each 42 rows takes" in notes(first, second, first, second)
    weights = [nv.variable(shape, 0.1) for shape in ((768, 3072), (3072, 768))]
    assert "packed once for many calls" in notes(*weights)


def test_lines_of_images_are_columns_that_kernels_do_not_share():
    """Two convolutions that are added, with filters as arguments: rows of their products are filters, not lines."""
    inputs = [nv.Parameter(nv.float32, shape) for shape in (
        (8, 64, 56, 56), (8, 128, 28, 28), (128, 64, 1, 1), (128, 128, 3, 3))]
    x, y, narrow, wide = inputs
    added = nv.ops.Add(nv.ops.Convolution(y, wide, (1, 1), (1, 1), ((1, 1), (1, 1))),
                       nv.ops.Convolution(x, narrow, (2, 2))).output
    steps = make_plan(native(nv.Function([nv.ops.Maximum(added, added.full(0))], inputs))).steps
    assert "shared" not in [step.kernel.name for step in steps]
    assert any(["the outer loops go over columns" in note for step in steps for note in step.lowered.notes])
