"""Stacks of layers, and layers whose weights are made of others; their numbers are in ``torch_stack_cases.py``."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.nn import losses

RNG = np.random.default_rng(13)


def test_a_stack_with_caches_is_the_stack(transformer):
    """T445: step by step, with a cache for each layer."""
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 2, nn.LayerNorm(8)).eval()
    x = RNG.standard_normal((2, 3, 8)).astype(np.float32)
    whole = transformer.computation(stack(x, causal=True))()
    caches, one = stack.caches(2, 3), nv.placeholder((2, 1, 8))
    step = transformer.computation(stack(one, caches=caches), one)
    for at in range(3):
        np.testing.assert_allclose(step(x[:, at:at + 1]), whole[:, at:at + 1], rtol=1e-4, atol=1e-5)
    with pytest.raises(nv.InvalidArgument, match="each layer has a cache"):
        stack(x, caches=caches[:1])


def test_copies_are_layers_of_their_own():
    """T445: they start from the same values, and a list of layers is taken as it is."""
    first = nn.TransformerEncoderLayer(4, 2, 8)
    stack = nn.TransformerEncoder(first, 3)
    weights = [layer.linear1.weights for layer in stack.layers]
    assert stack.layers[0] is first and len({id(entry) for entry in weights}) == 3
    np.testing.assert_array_equal(weights[1].numpy(), weights[0].numpy())
    assert len(stack.parameters()) == 3 * len(first.parameters())
    assert nn.TransformerEncoder([first, first]).layers == [first, first]
    for call in (lambda: nn.TransformerEncoder(3), lambda: nn.TransformerDecoder([first], 2)):
        with pytest.raises(nv.WrongKind) as caught:
            call()
        assert caught.value.help


@pytest.mark.parametrize("kind", [nn.WeightNorm, nn.SpectralNorm])
def test_the_parameter_is_the_layer_s_again(kind):
    """T446: after a call, and after one that fails; a state dict has it and what is beside it."""
    layer = nn.LinearLayer(3, 2)
    made, own = kind(layer), layer.weights
    made(np.ones((4, 3), np.float32))
    with pytest.raises(nv.NervureError):
        made(np.ones((4, 5), np.float32))
    assert layer.weights is own and any([entry is own for entry in made.parameters()])
    assert {*made.state_paths().values()} >= {"inner.weights", "inner.bias"}
    for name in ("bases", "forward"):
        with pytest.raises(nv.InvalidArgument, match="no such parameter"):
            kind(layer, name)
    with pytest.raises(nv.WrongKind):
        kind(nv.relu)


def test_a_scale_trains_apart(transformer):
    """T446: the gradient of the parameter has no part along it; one scale may be for all."""
    layer = nn.WeightNorm(nn.LinearLayer(3, 2, bias=False), axes=[])
    assert layer.scale.shape == (1, 1)
    loss = nv.sum(nv.square(layer(RNG.standard_normal((4, 3)).astype(np.float32))))
    slope, weights = transformer.computation([nv.deriv(loss, layer.inner.weights), layer.inner.weights])()
    assert abs((slope * weights).sum()) < 1e-3 * np.abs(slope).max()


def test_the_largest_singular_value_is_1(transformer):
    """T446: near enough after some calls, which move the buffers in training alone."""
    layer = nn.SpectralNorm(nn.LinearLayer(6, 5, bias=False))
    layer.u, layer.v = [nv.persistent_tensor((n,), RNG.standard_normal(n) / n) for n in (5, 6)]
    x = nv.constant(np.eye(6, dtype=np.float32))
    step, look = [transformer.computation(layer.train(mode)(x)) for mode in (True, False)]
    for _ in range(40):
        step()
    before = transformer.get(layer.u)
    assert np.linalg.norm(look(), 2) == pytest.approx(1, rel=1e-3)
    np.testing.assert_array_equal(transformer.get(layer.u), before)


def test_float16_weights_are_divided_by_what_float16_cannot_hold(transformer):
    """T446: squares of the products of the power method are beyond 65,504."""
    weights = 100 * RNG.standard_normal((300, 200)).astype(np.float32)
    half, whole = [transformer.computation(nn.SpectralNorm(
        nn.LinearLayer(300, 200, weights=weights, bias=False, dtype=dtype))(nv.ones((1, 300), dtype)))()
        for dtype in (nv.float16, nv.float32)]
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, whole, atol=2e-2)


def test_probabilities_of_many_classes_add_up(transformer):
    """T447: to 1; a target's is among them, and what is no class is an error of the run."""
    layer = nn.AdaptiveLogSoftmax(8, 12, [3, 7], head_bias=True)
    x, targets = nv.placeholder((nv.dim("n"), 8)), nv.placeholder((nv.dim("n"),), nv.int64)
    compute = transformer.computation([layer(x, targets), layer.log_probabilities(x), layer.predict(x)], x, targets)
    given, labels = RNG.standard_normal((12, 8)).astype(np.float32), np.arange(12)
    found, whole, best = compute(given, labels)
    np.testing.assert_allclose(np.exp(whole).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(found, whole[labels, labels], rtol=1e-5)
    np.testing.assert_array_equal(best, whole.argmax(axis=1))
    for wrong in (12, -1):
        with pytest.raises(nv.IndexOutOfRange):
            compute(given[:1], [wrong])
    for cutoffs in ([], [7, 3], [12], [0]):
        with pytest.raises(nv.InvalidArgument, match="cutoffs"):
            nn.AdaptiveLogSoftmax(8, 12, cutoffs)


def test_rows_of_logits_at_a_time(transformer):
    """T450: with any number of rows, the same loss and derivatives; no value of the loss has all logits."""
    x, targets = nv.placeholder((nv.dim("n", min=1), 4)), nv.placeholder((nv.dim("n"),), nv.int64)
    weights = nv.variable((4, 200), RNG.standard_normal((4, 200)))
    given, labels = RNG.standard_normal((7, 4)).astype(np.float32), RNG.integers(0, 200, 7)
    results = []
    for rows in (None, 3, 7, 20):
        loss = losses.linear_cross_entropy(x, weights, targets, rows=rows)
        compute = transformer.computation([loss, *nv.deriv(loss, [x, weights])], x, targets)
        results.append(compute(given, labels))
        if rows == 3:
            forward = transformer.computation(loss, x, targets).optimised
            assert {value.type.shape for op in forward.operations for value in op.outputs
                    if 200 in value.type.shape} == {(4, 200)}
            step = transformer.computation([loss, *nv.deriv(loss, [x, weights])], x, targets)
            assert not any([200 in value.type.shape and value.type.symbols for op in step.optimised.operations
                            for value in op.outputs])
            if transformer.name == "cpu":
                assert step.executable.memory({"n": 3000}).bytes < 3000 * 200 * 4 / 4
    for other in results[1:]:
        for one, expected in zip(other, results[0], strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(nv.ShapeMismatch) as caught:
        losses.linear_cross_entropy(given, np.zeros((200, 4)), labels)
    assert "transposed" in caught.value.help
    with pytest.raises(nv.ShapeMismatch, match="a bias has a number for each class"):
        losses.linear_cross_entropy(given, weights, labels, bias=np.zeros((7, 200)), rows=7)


@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize(("x_axes", "axes"), [
    ("N=n, F=4", "F=4, K=4"), ("N=n, F=4", "K=4, F=4"), ("F=4, N=n", "K=4, F=4"), ("F=4, N=n", "F=4, K=4"),
    ("N=n, F=4", "G=4, K=4")])
def test_names_find_the_features_of_a_square_matrix(transformer, rows, x_axes, axes):
    """T450: where a length would not; without a common name, positions do."""
    given, square, labels = RNG.standard_normal((7, 4)), RNG.standard_normal((4, 4)), RNG.integers(0, 4, 7)
    expected = losses.linear_cross_entropy(given, square, labels).item()
    x = nv.placeholder(x_axes, dtype=nv.float64)
    matrix = nv.constant(square.T if axes.startswith("K") else square, axes)
    loss = losses.linear_cross_entropy(x, matrix, nv.constant(labels, "N=7"), rows=rows)
    assert transformer.computation(loss, x)(given.T if x_axes.startswith("F") else given).item() == pytest.approx(
        expected, rel=1e-6)
