"""Networks at real sizes on the cpu: a share of the cases in each run, more of them, and larger ones, in the deep one.

Small tests do not see blocks and tiles: here every batch goes beyond one. The float64 oracle computes no more than a
few hundred elements need.
"""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from tests.conformance.running import DEEP
from tests.real_sizes.cases import STAGES, Case, Program, arguments, check, draw_case, program
from tests.real_sizes.elements import elements_of

CASES, SHORT, WORK = (400, 40, 6e9) if DEEP else (12, 1, 1e9)

FOUND = [
    # A block of a symbolic number of rows did not hold whole images.
    Case(11, "colours", 0, 4, (22, 1), False, "gradients"), Case(25, "U-Net", 0, 4, (9, 5), True, "forward"),
    Case(30, "digits", 1, 4, (94, 68), True, "gradients"), Case(54, "ResNet", 2, 2, (7, 5), True, "gradients"),
    # The last task of eight rows that read columns across memory has two, by a formula.
    Case(1022, "wide MLP", 0, 2, (6, 8), True, "step"),
]

FEW_ROWS = [
    # Weights as variables are packed for any number of rows, as arguments they are read where they lie.
    Case(1023, "wide MLP", 0, 2, (1, 5), True, "forward"), Case(1023, "wide MLP", 0, 2, (12, 3), False, "forward"),
    Case(1023, "wide MLP", 0, 2, (1, 5), True, "forward", True), Case(1024, "MLP", 0, 3, (2, 1), True, "forward"),
    # Two convolutions that are added share no loop over lines of images.
    Case(31, "ResNet", 3, 1, (16, 3), True, "forward", True),
    Case(31, "ResNet", 3, 1, (16, 3), False, "gradients", True),
]

STENCILS = [
    # A convolution of each channel alone, then its mean; batch norms whose factors follow from weights.
    Case(0, "MobileNetV3", 0, 2, (2, 1), True, "forward"), Case(1, "MobileNetV3", 1, 2, (2, 1), False, "forward", True),
    Case(2, "MobileNetV3", 4, 2, (3, 2), True, "forward", True), Case(3, "MobileNetV3", 5, 2, (1, 3), False, "forward"),
    Case(4, "MobileNetV3", 3, 1, (2, 1), False, "gradients"), Case(5, "MobileNetV3", 6, 1, (2, 3), True, "gradients"),
]

LONG = [
    # What a mask hides of long rows is left out, and a derivative makes weights again.
    Case(0, "long GPT", 0, 2, (2, 1), False, "forward"), Case(1, "long GPT", 0, 1, (2, 1), False, "gradients"),
]

LAST = [
    # Few channels, which come last: what windows are read from has them first.
    Case(0, "photographs", 0, 1, (16, 3), False, "forward"), Case(1, "photographs", 0, 2, (16, 5), True, "gradients"),
    Case(2, "photographs", 0, 1, (9, 2), False, "gradients", True),
    Case(3, "photographs", 1, 1, (5, 17), False, "step"),
]

NULL, INTERPRETER = [nv.transformers.make_transformer(name) for name in ("null", "interpreter")]


@pytest.mark.parametrize("case", FOUND, ids=str)
def test_cases_that_were_wrong_once(case):
    check(case)


@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_rows_of_causal_attention(case):
    check(case)


@pytest.mark.parametrize("case", LAST, ids=str)
def test_images_with_channels_last(case):
    check(case)


@pytest.mark.parametrize("case", FEW_ROWS, ids=str)
def test_weights_that_few_rows_read(case):
    check(case)


@pytest.mark.parametrize(("steps", "batch"), [(5, 1), (5, 3), (5, 70), (2, 1), (2, 70)])
def test_a_loop_packs_weights_of_a_real_size(steps, batch):
    """Steps of an LSTM of 512 units: the bits of a symbolic batch or number of steps, and of weights as arguments, and
    float64's. Two steps that are known are inlined.
    """
    random = np.random.default_rng(batch)
    x, error = [random.standard_normal((steps, batch, width), np.float32) for width in (2048, 512)]
    weights = random.standard_normal((512, 2048), np.float32) / 30

    def step(carry, given, w):
        state, cell = carry
        enters, forgets, shows, new = nv.split(given + state @ w, 4, axis=1)
        cell = nv.sigmoid(forgets) * cell + nv.sigmoid(enters) * nv.tanh(new)
        state = nv.sigmoid(shows) * nv.tanh(cell)
        return (state, cell), state

    def results(rows, w, *inputs, length=steps):
        given, counts = nv.placeholder((length, rows, 2048)), nv.placeholder((length, rows, 512))
        start = given[0, :, :512]
        y = nv.scan(lambda carry, each: step(carry, each, w), (start, start), given)[1]
        wanted = [y, *nv.deriv(nv.sum(y * counts), [given, w])]
        with nv.transformers.make_transformer("cpu") as cpu:
            made = nv.computation(wanted, given, counts, *inputs, transformer=cpu)
            return made(x, error, *[weights for _ in inputs])

    expected, argument = results(batch, nv.variable(initial_value=weights)), nv.placeholder(weights.shape)
    symbolic = results(nv.dim("n", min=1), nv.variable(initial_value=weights))
    any_steps = results(batch, argument, argument, length=nv.dim("t", min=1))
    for found in (symbolic, any_steps, results(batch, argument, argument)):
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one, other)
    state = cell = x[0, :, :512].astype(np.float64)
    for number, given in enumerate(x.astype(np.float64)):
        enters, forgets, shows, new = np.split(given + state @ weights.astype(np.float64), 4, axis=1)
        cell = cell / (1 + np.exp(-forgets)) + np.tanh(new) / (1 + np.exp(-enters))
        state = np.tanh(cell) / (1 + np.exp(-shows))
        np.testing.assert_allclose(expected[0][number], state, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 3, 97])
def test_rows_of_products_that_change_places(batch):
    """Products in the order of a permutation of their rows, and a loss of rows in two orders."""
    random = np.random.default_rng(batch)
    x = random.standard_normal((batch, 33, 256), np.float32)
    weights, shift = random.standard_normal((256, 1024), np.float32) / 16, random.standard_normal(1024, np.float32)
    target = random.standard_normal((batch, 33, 1024), np.float32)

    def results(rows, w, *inputs):
        given, wanted = nv.placeholder((rows, 33, 256)), nv.placeholder((rows, 33, 1024))
        sums = (given @ w + shift).transpose(1, 0, 2)
        loss = nv.mean(nv.square(sums - wanted.transpose(1, 0, 2)))
        again = nv.mean(nv.square(wanted - nv.tanh(sums).transpose(1, 0, 2)))
        values, found = [[nv.tanh(sums)], [sums, loss, *nv.deriv(loss, [given, w])], [again]], []
        with nv.transformers.make_transformer("cpu") as cpu:
            programs = [nv.computation(each, given, wanted, *inputs, transformer=cpu) for each in values]
            for made in programs:
                found += made(x, target, *[weights for _ in inputs])
        product, = [op for op in programs[0].optimised.operations if type(op) is nv.ops.Contract]
        assert product.outputs[0].shape[:1] == (33,)
        return found

    expected, argument = results(batch, nv.variable(initial_value=weights)), nv.placeholder(weights.shape)
    symbolic = results(nv.dim("n", min=1), nv.variable(initial_value=weights))
    for found in (symbolic, results(batch, argument, argument)):
        for one, other in zip(found, expected, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    sums = x.astype(np.float64) @ weights + shift
    slopes = 2 * (sums - target) / target.size
    by_hand = [np.tanh(sums).swapaxes(0, 1), sums.swapaxes(0, 1), np.mean((sums - target)**2),
               slopes @ weights.T.astype(np.float64), np.einsum("nti,nto->io", x.astype(np.float64), slopes),
               np.mean((target - np.tanh(sums))**2)]
    for one, other in zip(expected, by_hand, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize(("features", "batch"), [(256, 1), (256, 1100), (289, 700), (361, 601), (7, 1543)])
def test_rows_of_gradients_of_weights(features, batch):
    """About the rows that are worth a task which packs a panel, and a last row alone; a value that is two results."""
    random = np.random.default_rng([features, batch])
    x, error = [random.standard_normal((batch, width), np.float32) for width in (features, 1024)]
    weights = random.standard_normal((features, 1024), np.float32) / 16

    def results(rows, w, *inputs):
        given, counts = nv.placeholder((rows, features)), nv.placeholder((rows, 1024))
        y = nv.tanh(given @ w)
        wanted = [y, y, *nv.deriv(nv.sum(y * counts), [given, w])]
        with nv.transformers.make_transformer("cpu") as cpu:
            made = nv.computation(wanted, given, counts, *inputs, transformer=cpu)
            return made(x, error, *[weights for _ in inputs])

    expected, argument = results(batch, nv.variable(initial_value=weights)), nv.placeholder(weights.shape)
    symbolic = results(nv.dim("n", min=1), nv.variable(initial_value=weights))
    for found in (symbolic, results(batch, argument, argument), results(nv.dim("n", min=1), argument, argument)):
        for one, other in zip(found, expected, strict=True):
            assert one.tobytes() == other.tobytes()
    y = np.tanh(x.astype(np.float64) @ weights)
    slopes = error * (1 - y * y)
    by_hand = [y, y, slopes @ weights.T.astype(np.float64), x.T.astype(np.float64) @ slopes]
    for one, other in zip(expected, by_hand, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_images_that_are_brought_to_channels_last(channels):
    """Planes become pixels, of a number of images that is a symbol: all bits are those of one image after the other."""
    images = np.random.default_rng(channels).standard_normal((5, channels, 224, 217), np.float32)
    scale = np.arange(1, channels + 1, dtype=np.float32)
    with nv.transformers.make_transformer("cpu") as cpu:
        for batch in (5, nv.dim("n", min=1)):
            x = nv.placeholder((batch, channels, 224, 217))
            made = nv.computation(nv.relu(x.transpose(0, 2, 3, 1)) * scale, x, transformer=cpu)
            for count in (5,) if batch == 5 else (1, 5):
                wanted = np.maximum(images[:count], 0).transpose(0, 2, 3, 1) * scale
                assert np.array_equal(made(images[:count]), wanted)


@pytest.mark.parametrize("case", STENCILS, ids=str)
def test_stencils_that_are_reduced(case):
    check(case)


@pytest.mark.parametrize("start", range(0, CASES, 3))
def test_networks_at_real_sizes(start):
    """O7, O67: a symbolic batch has the bits of a fixed one; elements are those of a float64 oracle."""
    for seed in range(start, min(start + 3, CASES)):
        check(draw_case(10_000 + seed, WORK))


@pytest.mark.parametrize("start", range(0, SHORT, 3))
def test_networks_with_short_vectors(start):
    """The same as a machine with AVX2 alone computes them."""
    for seed in range(start, min(start + 3, SHORT)):
        with nv.flags.overriding(cpu_features="avx2"):
            check(draw_case(20_000 + seed, WORK))


@pytest.mark.parametrize("batch", [5, 64])
def test_two_convolutions_of_digits_with_a_symbolic_batch(batch):
    """As a trainer makes it of pictures: each of them is that of a batch of its own."""
    network = nn.Sequential(nn.Conv(1, 16, (3, 3), padding=1), nn.Conv(16, 16, (3, 3), padding=1))
    x = nv.placeholder((nv.dim("n"), 1, 28, 28))
    slope = nv.deriv(nv.sum(nv.square(network(x))), x)
    computation = nv.computation([network(x), slope], x)
    pictures = np.random.default_rng(0).standard_normal((batch, 1, 28, 28)).astype(np.float32)
    results, slopes = computation(pictures)
    for number in range(0, batch, 9):
        alone, slope_alone = computation(pictures[number:number + 1])
        assert np.array_equal(results[number], alone[0]) and np.array_equal(slopes[number], slope_alone[0])


# -- the suite itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", STAGES)
def test_stages_fit_each_other(network):
    for first, (shape, _) in enumerate(STAGES[network][:-1]):
        made = program(Case(0, network, first, 1, (1, 1), True, "forward"), 1, NULL).function.results[0]
        assert made.shape[1:] == STAGES[network][first + 1][0], (network, first, shape)


@pytest.mark.parametrize("seed", [8, 12, 23, 30])
def test_the_oracle_agrees_with_the_interpreter(seed):
    """Element by element it takes other roads than a whole value does."""
    case = draw_case(seed, 2e7)
    made = program(case, 1, INTERPRETER)
    data = arguments(case, made, 1)
    whole = made.executable(data)
    count = len(made.function.results)
    sizes = [value.shape for value in (*made.function.results, *[value for _, value in made.function.updates])]
    places = [np.arange(0, np.prod(shape, dtype=int), 7)[:50] for shape in sizes]
    for number, exact in enumerate(elements_of(made.function, data, places)[:count]):
        mine = np.asarray(whole[number]).reshape(-1)[places[number]]
        assert np.allclose(mine, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max(initial=1))


def test_one_wrong_element_in_a_hundred_is_found(monkeypatch):
    """What a block of a kernel leaves out is noticed, and the error says where."""
    case = Case(0, "digits", 1, 1, (8, 8), True, "forward")

    def broken(made, data):
        whole = correct(made, data)
        whole[0].reshape(-1)[::50] += 1
        return whole
    correct = Program.outcome
    monkeypatch.setattr(Program, "outcome", broken)
    with pytest.raises(AssertionError, match=r"digits from \(16, 28, 28\).* elements are wrong, that at"):
        check(case)


@pytest.mark.parametrize("name", ["elements", "layers", "cases"])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(f"tests.real_sizes.{name}")).failed == 0


@pytest.mark.parametrize("is_given", [False, True], ids=["variable", "argument"])
@pytest.mark.parametrize("rows, features, columns", [(1, 4099, 1030), (70, 1027, 517), (300, 129, 2050)])
def test_updates_by_products_over_a_symbol(rows, features, columns, is_given, cpu):
    """O7: all lengths of what is written are numbers, and that of the sum is a symbol, or a number: equal bits.

    Elements drawn at random are those of float64.
    """
    rng, found = np.random.default_rng(features), []
    x, w, start = [rng.standard_normal(shape, np.float32) for shape in (
        (rows, features), (features, columns), (rows, columns))]
    for length in (features, nv.dim("f")):
        place, v = nv.placeholder((rows, length)), nv.variable(start.shape, start)
        weights = nv.placeholder((length, columns)) if is_given else nv.variable(w.shape, w)
        step = cpu.computation(nv.assign(v, v - nv.matmul(place, weights)), place, *[weights] * is_given)
        for _ in range(2):
            step(x, *[w] * is_given)
        found.append(cpu.get(v))
    np.testing.assert_array_equal(*found)
    at, column = rng.integers(0, rows, 200), rng.integers(0, columns, 200)
    wanted = start[at, column] - 2 * (x[at].astype(np.float64) * w[:, column].T).sum(1)
    np.testing.assert_allclose(found[0][at, column], wanted, rtol=1e-4, atol=1e-3)
