"""Recurrent layers against their formulas in NumPy: at real sizes, of any length, with lengths for each sequence."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.types.dim import evaluate

generator = np.random.default_rng(0)
KINDS = {"RNN": 1, "LSTM": 4, "GRU": 3}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_step(kind, x, states, weights):
    """The formulas, with PyTorch's order of gates."""
    w, u, b, c = weights
    left, right, hidden = x @ w + b, states[0] @ u + c, states[0]
    if kind == "RNN":
        return [np.tanh(left + right)]
    if kind == "GRU":
        (r, z, n), (s, t, m) = np.split(left, 3, -1), np.split(right, 3, -1)
        share, reset = sigmoid(z + t), sigmoid(r + s)
        return [(1 - share) * np.tanh(n + reset * m) + share * hidden]
    i, f, g, o = np.split(left + right, 4, -1)
    cell = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(cell), cell]


def run(kind, x, states, weights, lengths=None, is_reversed=False):
    """A direction over x (T, N, F), in Python: each sequence for itself."""
    steps, batch = x.shape[:2]
    y, last = np.zeros((steps, batch, states[0].shape[-1])), [np.array(state) for state in states]
    for at in range(batch):
        own = [state[at] for state in states]
        count = steps if lengths is None else min(lengths[at], steps)
        for t in range(count)[::-1] if is_reversed else range(count):
            own = one_step(kind, x[t, at], own, weights)
            y[t, at] = own[0]
        for state, value in zip(last, own, strict=True):
            state[at] = value
    return y, last


def layer_of(kind, inputs, outputs, **settings):
    """A layer, and its parameters as float64: for each direction of each layer."""
    layer = getattr(nn, kind)(inputs, outputs, **settings)
    names = ("weights_ih", "weights_hh", "bias_ih", "bias_hh")
    ends = [f"_l{number}{end}" for number in range(layer.layers) for end in ("", "_reverse")[:1 + layer.bidirectional]]
    return layer, [[getattr(layer, name + end).numpy().astype(np.float64) for name in names] for end in ends]


@pytest.mark.parametrize("kind", KINDS)
def test_real_sizes(kind):
    """T413: 64 steps, a batch of 32, 256 units, both directions, with lengths from 0 to all steps."""
    layer, weights = layer_of(kind, 48, 256, bidirectional=True)
    x = generator.standard_normal((64, 32, 48)).astype(np.float32)
    lengths = generator.integers(0, 65, 32)
    y, last = nv.computation(layer(x, lengths=lengths))()
    last = last if kind == "LSTM" else [last]
    zeros = [np.zeros((32, 256))] * len(last)
    for direction in range(2):
        right, final = run(kind, x, zeros, weights[direction], lengths, direction == 1)
        np.testing.assert_allclose(y[..., direction * 256:][..., :256], right, atol=2e-5)
        for state, expected in zip(last, final, strict=True):
            np.testing.assert_allclose(state[direction], expected, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_program_takes_any_length_and_batch(kind, transformer):
    """T413, A361: no steps leave the states as they were."""
    layer, weights = layer_of(kind, 2, 3, batch_first=True)
    x, h = nv.placeholder((nv.dim("n"), nv.dim("t"), 2)), nv.placeholder((1, nv.dim("n"), 3))
    found = layer(x, (h, h) if kind == "LSTM" else h)
    compute = transformer.computation([found[0], found[1][0] if kind == "LSTM" else found[1]], x, h)
    for batch, steps in ((3, 0), (2, 1), (1, 6), (0, 2)):
        given = generator.standard_normal((batch, steps, 2)).astype(np.float32)
        state = generator.standard_normal((1, batch, 3)).astype(np.float32)
        y, last = compute(given, state)
        right, final = run(kind, given.swapaxes(0, 1), [state[0]] * (1 + (kind == "LSTM")), weights[0])
        np.testing.assert_allclose(y, right.swapaxes(0, 1), atol=1e-5, strict=False)
        np.testing.assert_allclose(last[0], final[0], atol=1e-5)
        if steps == 0:
            assert last.tobytes() == state.tobytes() and y.shape == (batch, 0, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_sequence_and_several_batch_axes(kind):
    """T413: x (T, F) has no batch; with names a batch has any number of axes, wherever they stand."""
    layer, weights = layer_of(kind, "F=2", "H=3")
    x = generator.standard_normal((2, 3, 2, 4)).astype(np.float32)  # A, B, F, T
    y, last = layer(nv.constant(x, "A=2, B=3, F=2, T=4"))
    last = last[0] if kind == "LSTM" else last
    assert str(y.axes) == "(A: 2, B: 3, T: 4, H: 3)" and str(last.axes) == "(layers: 1, A: 2, B: 3, H: 3)"
    moved = x.transpose(3, 0, 1, 2).reshape(4, 6, 2)
    right, _ = run(kind, moved, [np.zeros((6, 3))] * (1 + (kind == "LSTM")), weights[0])
    np.testing.assert_allclose(y.numpy(), right.reshape(4, 2, 3, 3).transpose(1, 2, 0, 3), atol=1e-6)
    plain, weights = layer_of(kind, 2, 3)
    y, _ = plain(moved[:, 0])
    right, _ = run(kind, moved[:, :1], [np.zeros((1, 3))] * (1 + (kind == "LSTM")), weights[0])
    np.testing.assert_allclose(y.numpy(), right[:, 0], atol=1e-6)


def test_states_that_are_returned_go_on():
    """T413: two halves one after the other are the whole, to the bit; named states in any order."""
    layer = nn.LSTM("F=2", "H=3", layers=2)
    x = nv.constant(generator.standard_normal((4, 6, 2)).astype(np.float32), "N=4, T=6, F=2")
    whole, last = layer(x)
    first, states = layer(x[:, :3])
    turned = tuple([nv.axes_with_order(state, state.axes[::-1]) for state in states])
    second, final = layer(x[:, 3:], turned)
    found = np.concatenate([first.numpy(), second.numpy()], axis=1)
    assert found.tobytes() == whole.numpy().tobytes()
    assert all([mine.numpy().tobytes() == theirs.numpy().tobytes() for mine, theirs in zip(final, last, strict=True)])


@pytest.mark.parametrize("kind", KINDS)
def test_cells_have_the_derivatives_of_differences(kind):
    """T413: in float64, with respect to everything given."""
    cell = getattr(nn, f"{kind}Cell")(2, 3, dtype=nv.float64)
    shapes = [place.shape for place in cell.parameters()]

    def output(x, h, c, *parameters):
        for (name, _), value in zip(list(cell.named_parameters()), parameters, strict=True):
            setattr(cell, f"_{name}", value)
        weights = nn.recurrence.CellWeights(*parameters)
        found = cell._cell(x, (h, c)[:len(cell._cell.names)], weights)
        return sum([nv.sum(nv.sin(state)) for state in found])
    arrays = [generator.standard_normal(shape) for shape in ((4, 2), (4, 3), (4, 3), *shapes)]
    nv.testing.check_grads(output, arrays)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_many_steps_are_those_of_an_unrolled_loop(kind):
    """T413: with lengths, so that the last steps of some sequences count nothing."""
    layer, _ = layer_of(kind, 3, 5)
    x = nv.variable((7, 4, 3), generator.standard_normal((7, 4, 3)).astype(np.float32))
    lengths = np.array([7, 0, 3, 1])
    cell = layer._cell
    weights = layer._weights("_l0")
    states = tuple([nv.zeros((4, 5)) for _ in cell.names])
    outputs = []
    for t in range(7):
        is_present = nv.constant((t < lengths)[:, None])
        new = cell(x[t], states, weights)
        outputs.append(nv.where(is_present, new[0], 0))
        states = tuple([nv.where(is_present, *pair) for pair in zip(new, states, strict=True)])
    y, last = layer(x, lengths=lengths)
    places = [x, *layer.parameters()]
    losses = [nv.sum(nv.sin(own)) + nv.sum(nv.cos(final)) for own, final in (
        (y, last[0] if kind == "LSTM" else last), (nv.stack(outputs, 0), states[0]))]
    found, expected = [nv.computation(nv.deriv(loss, places))() for loss in losses]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_elements_between_layers_are_dropped_in_training_alone():
    """T413: the outputs themselves are whole."""
    layer = nn.LSTM(2, 8, layers=2, dropout=1.0)
    x = generator.standard_normal((3, 4, 2)).astype(np.float32)
    trained, evaluated = layer(x)[0].numpy(), layer.eval()(x)[0].numpy()
    second = [getattr(layer, f"{name}_l1").numpy().astype(np.float64) for name in (
        "weights_ih", "weights_hh", "bias_ih", "bias_hh")]
    right, _ = run("LSTM", np.zeros((3, 4, 8)), [np.zeros((4, 8))] * 2, second)
    np.testing.assert_allclose(trained, right, atol=1e-6)
    assert not np.allclose(evaluated, right, atol=1e-3)


def test_inputs_are_one_product_for_all_steps():
    """T413: kernels do not depend on the length, and only the product of states is inside of the loop."""
    layer, found = nn.LSTM(8, 16), set()
    for steps in (5, 50):
        x = nv.placeholder((steps, 4, 8))
        explained = nv.explain(nv.computation(layer(x)[0], x))
        inside = re.search(rf"runs (\d+) steps {steps} times", explained.details())
        assert inside and f"Contract   f32[{steps}, 4, 64]" in explained.details()
        found.add((len(explained.kernels), inside[1]))
    assert len(found) == 1


def test_a_summary_counts_all_steps_and_shows_all_states():
    """T207: two products and three sums for each gate; five functions, three products and a sum for each unit."""
    lines = [nn.LSTM("F=8", "H=16").summary(f"N=2, T={steps}, F=8").lines[0] for steps in ("10", "t")]
    assert lines[0].result == "f32[N=2, T=10, H=16], f32[layers=1, N=2, H=16], f32[layers=1, N=2, H=16]"
    assert lines[0].operations == 10 * 2 * (64 * (2 * (8 + 16) + 3) + 16 * (5 * 16 + 4))
    assert evaluate(lines[1].operations, {"t": 10}) == lines[0].operations


def test_weights_start_as_torch_s_do():
    """T413: evenly from +-1 / sqrt(states), the biases, too."""
    layer = nn.GRU(64, 100, layers=2)
    for place in layer.parameters():
        drawn = place.numpy()
        assert 0.098 < abs(drawn).max() <= 0.1 and abs(drawn.mean()) < 0.02


def test_bad_input_is_named():
    """T210, T413: the operand, what came and what was expected."""
    layer, x = nn.LSTM("F=2", "H=3"), nv.zeros("N=4, T=5, F=2")
    with pytest.raises(AxisMismatch, match="the layer has names"):
        layer(np.zeros((4, 5, 2)))
    with pytest.raises(AxisMismatch, match="T"):
        layer(nv.zeros("N=4, F=2"))
    with pytest.raises(ShapeMismatch, match="another length"):
        layer(nv.zeros("N=4, T=5, F=3"))
    with pytest.raises(WrongKind, match="the states are \\(h, c\\)"):
        layer(x, nv.zeros("L=1, N=4, H=3"))
    with pytest.raises(ShapeMismatch, match="the state c has other axes"):
        layer(x, (nv.zeros("L=1, N=4, H=3"), nv.zeros("L=2, N=4, H=3")))
    with pytest.raises(WrongKind, match="lengths are integers"):
        layer(x, lengths=nv.zeros("N=4"))
    with pytest.raises(InvalidArgument, match="a length for each sequence"):
        nn.GRU(2, 3)(np.zeros((5, 4, 2)), lengths=[1, 2])
    with pytest.raises(InvalidArgument, match="unknown nonlinearity"):
        nn.RNN(2, 3, nonlinearity="sin")
    with pytest.raises(InvalidArgument, match="dropout is from 0 to 1"):
        nn.GRU(2, 3, dropout=2.0)
    with pytest.raises(AxisMismatch, match="names"):
        nn.LSTM("F=2", 3)
    with pytest.raises(WrongKind, match="hidden_size") as caught:
        nn.LSTM(2, hidden_size=3)
    assert caught.value.help == "here it is outputs="
