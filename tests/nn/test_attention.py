"""Attention with several heads: shared heads, turned rows and caches, against formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, ShapeMismatch, WrongKind

generator = np.random.default_rng(0)


def drawn(*shape):
    return generator.standard_normal(shape).astype(np.float32)


def turned(x, base):
    """Rows (heads, T, D): pairs as complex numbers, which turn."""
    steps, half = x.shape[-2], x.shape[-1] // 2
    angles = np.arange(steps)[:, None] * base ** (-np.arange(half) / half)
    found = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([found.real, found.imag], -1)


def attended(layer, x, seen, base=None):
    """The formula for one sequence x (T, F), head by head."""
    w, b = [place.numpy().astype(np.float64) for place in (layer.in_proj_weights, layer.in_proj_bias)]
    out, bias = [place.numpy().astype(np.float64) for place in (layer.out_proj.weights, layer.out_proj.bias)]
    width, heads, shared = x.shape[1], layer.heads, layer.kv_heads
    size = width // heads
    q, k, v = np.split(x @ w + b, [width, width + shared * size], axis=1)
    q, k, v = [part.reshape(len(x), -1, size).transpose(1, 0, 2) for part in (q, k, v)]
    if base is not None:
        q, k = turned(q, base), turned(k, base)
    rows = []
    for head in range(heads):
        own = head * shared // heads
        scores = np.where(seen, q[head] @ k[own].T / np.sqrt(size), -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        rows.append(weights / weights.sum(1, keepdims=True) @ v[own])
    return np.concatenate(rows, 1) @ out + bias


@pytest.mark.parametrize("kv_heads, base", [(8, None), (2, None), (8, 10000.0), (1, 500.0)])
def test_heads_and_turns_follow_their_formula(kv_heads, base):
    """T414: at a real size, to the past."""
    layer = nn.MultiHeadAttention(128, 8, kv_heads, rotary=base, batch_first=True)
    x = drawn(3, 50, 128)
    found = layer(x, causal=True).numpy()
    for row, own in zip(found, x, strict=True):
        np.testing.assert_allclose(row, attended(layer, own, np.tri(50, dtype=bool), base), atol=2e-5)


@pytest.mark.parametrize("base", [None, 10000.0])
def test_steps_that_come_one_by_one_are_the_whole(base, transformer):
    """T415: pieces of any length, through one program, with the heads of keys shared."""
    layer = nn.MultiHeadAttention("F=16", 4, 2, rotary=base)
    cache = layer.cache(2, 10)
    x = nv.placeholder([nv.axis("N", 2), nv.axis("T", nv.dim("t")), nv.axis("F", 16)])
    decode = transformer.computation(layer(x, cache=cache), x)
    given = drawn(2, 9, 16)
    pieces = [decode(given[:, start:stop]) for start, stop in ((0, 3), (3, 4), (4, 4), (4, 8), (8, 9))]
    whole = transformer.computation(layer(nv.constant(given, "N=2, T=9, F=16"), causal=True))()
    np.testing.assert_allclose(np.concatenate(pieces, 1), whole, atol=1e-6)
    assert transformer.get(cache.count) == 9
    kept = transformer.get(cache.keys)
    with pytest.raises(IndexOutOfRange, match="index 10"):
        decode(given[:, :2])
    assert transformer.get(cache.count) == 9 and transformer.get(cache.keys).tobytes() == kept.tobytes()
    decode(np.full((2, 1, 16), np.nan))
    transformer.computation(cache.clear())()
    np.testing.assert_array_equal(decode(given[:, :3]), pieces[0])


@pytest.mark.parametrize("base", [None, 10000.0])
def test_steps_of_one_call_that_follow_from_each_other_are_those_of_calls(base, transformer):
    """T415: each sees those before it, which the cache has by then."""
    layer = nn.MultiHeadAttention(8, 4, 2, rotary=base, batch_first=True, dtype=nv.float64).eval()
    alone, together, x = layer.cache(2, 6), layer.cache(2, 6), nv.placeholder((2, 1, 8), nv.float64)
    step, given = transformer.computation(layer(x, cache=alone), x), drawn(2, 1, 8).astype(np.float64)
    found = x
    for _ in range(3):
        found = layer(found, cache=together)
    three = transformer.computation(found, x)
    for _ in range(2):
        np.testing.assert_allclose(three(given), step(step(step(given))), rtol=1e-12)
    for name in ("keys", "values", "count"):
        np.testing.assert_allclose(transformer.get(getattr(together, name)), transformer.get(getattr(alone, name)),
                                   rtol=1e-12)


@pytest.mark.parametrize("own, kept, tolerance", [(nv.float32, nv.bfloat16, 2e-2), (nv.float32, nv.float64, 1e-6),
                                                  (nv.bfloat16, nv.float32, 5e-2)])
def test_a_cache_may_have_another_element_type(own, kept, tolerance, transformer):
    """T415: the means are in the type of the layer."""
    layer = nn.MultiHeadAttention(16, 4, 2, batch_first=True, dtype=own)
    cache, x = layer.cache(2, 6, dtype=kept), nv.placeholder((2, nv.dim("t"), 16), dtype=own)
    decode, given = transformer.computation(layer(x, cache=cache), x), drawn(2, 6, 16).astype(own.numpy)
    found = np.concatenate([decode(given[:, start:stop]) for start, stop in ((0, 2), (2, 3), (3, 6))], 1)
    assert found.dtype == own.numpy and transformer.get(cache.keys).dtype == kept.numpy
    whole = transformer.computation(layer(nv.constant(given, dtype=own), causal=True))()
    np.testing.assert_allclose(found.astype(np.float64), whole.astype(np.float64), atol=tolerance)


@pytest.mark.parametrize("names", [False, True])
def test_the_batch_beside_a_cache_may_be_a_symbol(names, transformer):
    """T415: a call with another batch is an error, and changes nothing."""
    n, t = nv.dim("n"), nv.dim("t")
    layer = nn.MultiHeadAttention("F=8" if names else 8, 2, rotary=10.0, batch_first=True)
    cache = layer.cache(3, 5)
    x = nv.placeholder([nv.axis("N", n), nv.axis("T", t), nv.axis("F", 8)] if names else (n, t, 8))
    decode, given = transformer.computation(layer(x, cache=cache), x), drawn(3, 5, 8)
    found = [decode(given[:, start:stop]) for start, stop in ((0, 2), (2, 3))]
    with pytest.raises(ShapeMismatch):
        decode(given[:2, 3:])
    assert transformer.get(cache.count) == 3
    found.append(decode(given[:, 3:]))
    whole = transformer.computation(layer(nv.constant(given, "N=3, T=5, F=8" if names else None), causal=True))()
    np.testing.assert_allclose(np.concatenate(found, 1), whole, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 1, 8), (3, 2, 1, 8), (1, 8)])
def test_a_cache_for_another_batch_is_named(shape):
    """T415"""
    layer = nn.MultiHeadAttention(8, 2, batch_first=True)
    with pytest.raises(ShapeMismatch, match="the cache is one for other sequences"):
        layer(nv.ones(shape), cache=layer.cache(3, 5))
    with pytest.raises(ShapeMismatch, match="the cache is one for other sequences"):
        layer(nv.ones((3, 1, 8)), cache=nn.MultiHeadAttention(8, 4).cache(3, 5))


def test_steps_are_written_in_place():
    """T415: nothing copies the cache."""
    layer = nn.MultiHeadAttention(16, 4, 2, rotary=100.0, batch_first=True)
    cache = layer.cache(2, 100)
    text = nv.explain(nv.computation(layer(nv.ones((2, 1, 16)), cache=cache))).details()
    assert all([f"{name} is updated in place" in text for name in ("keys", "values", "count")])


def test_a_layer_of_a_decoder_keeps_its_steps():
    """T415, T416: through residuals and norms."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True).eval()
    cache, x = layer.self_attn.cache([2], 6), nv.placeholder((2, 1, 16))
    decode, given = nv.computation(layer(x, cache=cache), x), drawn(2, 6, 16)
    found = np.concatenate([decode(given[:, t:t + 1]) for t in range(6)], 1)
    np.testing.assert_allclose(found, layer(given, causal=True).numpy(), atol=1e-5)


def test_one_program_takes_any_steps_keys_and_batch(transformer):
    """T414: a symbol each; no keys give the bias."""
    layer = nn.MultiHeadAttention(8, 2)
    for place in (layer.in_proj_bias, layer.out_proj.bias):
        transformer.set(place, drawn(*place.shape))
    x, memory = [nv.placeholder((nv.dim(name), nv.dim("n"), 8)) for name in "ts"]
    compute = transformer.computation(layer(x, memory), x, memory)
    w, b, out, bias = [transformer.get(place).astype(np.float64) for place in (
        layer.in_proj_weights, layer.in_proj_bias, layer.out_proj.weights, layer.out_proj.bias)]
    for steps, keys, batch in ((3, 5, 2), (1, 1, 1), (0, 4, 2), (4, 0, 2), (2, 2, 0)):
        given, other = drawn(steps, batch, 8), drawn(keys, batch, 8)
        found = compute(given, other)
        q, k, v = [part @ w[:, at:at + 8] + b[at:at + 8] for part, at in ((given, 0), (other, 8), (other, 16))]
        q, k, v = [part.reshape(len(part), batch, 2, 4).transpose(1, 2, 0, 3) for part in (q, k, v)]
        weights = np.exp(q @ k.swapaxes(2, 3) / 2)
        mean = weights / np.maximum(weights.sum(3, keepdims=True), 1e-300) @ v
        right = mean.transpose(2, 0, 1, 3).reshape(steps, batch, 8) @ out + bias
        np.testing.assert_allclose(found, right, atol=1e-5)


def test_masks_for_each_sequence_and_each_head():
    """T414: truth values of (N, T, S) and of (N, heads, T, S) say the same here, with numbers of keys beside them."""
    layer, x = nn.MultiHeadAttention(8, 2, batch_first=True), drawn(3, 5, 8)
    seen = generator.random((3, 5, 5)) < 0.5
    seen[:, :, 0] = True
    lengths = np.array([5, 2, 3])
    found = [layer(x, mask=mask, lengths=lengths).numpy() for mask in (seen, np.repeat(seen[:, None], 2, 1))]
    np.testing.assert_array_equal(*found)
    for at in range(3):
        right = attended(layer, x[at], seen[at] & (np.arange(5) < lengths[at]))
        np.testing.assert_allclose(found[0][at], right, atol=1e-6)


def test_weights_are_dropped_in_training_alone():
    """T414: their mean over many draws is that of evaluation."""
    layer, x = nn.MultiHeadAttention(8, 2, dropout=0.5, batch_first=True), drawn(1, 6, 8)
    whole = layer.eval()(x, causal=True).numpy()
    many = layer.train()(np.repeat(x, 4000, 0), causal=True).numpy()
    assert np.abs(many[0] - whole[0]).max() > 1e-3
    np.testing.assert_allclose(many.mean(0), whole[0], atol=0.03)
    nothing = nn.MultiHeadAttention(8, 2, dropout=1.0)
    np.testing.assert_array_equal(nothing(x[0]).numpy(), np.broadcast_to(nothing.out_proj.bias.numpy(), (6, 8)))


def test_turns_are_as_accurate_as_rows():
    """T414: positions and angles of float64 are not rounded to float32."""
    layer = nn.MultiHeadAttention(8, 2, rotary=50.0, batch_first=True, dtype=nv.float64)
    x = generator.standard_normal((1, 12, 8))
    expected = attended(layer, x[0], np.tri(12, dtype=bool), 50.0)
    np.testing.assert_allclose(layer(x, causal=True).numpy()[0], expected, atol=1e-13)


def test_gradients_are_those_of_differences():
    """T414: in float64, with respect to the input and all parameters."""
    layer = nn.MultiHeadAttention(4, 2, 1, rotary=100.0, dtype=nv.float64)
    for place in layer.parameters():
        nv.evaluate(nv.assign(place, 0.3 * generator.standard_normal(place.shape)))
    x = nv.variable((5, 2, 4), generator.standard_normal((5, 2, 4)), dtype=nv.float64)
    places = [x, *layer.parameters()]
    loss = nv.sum(nv.sin(layer(x, causal=True)))
    value, gradients = nv.computation(loss), nv.computation(nv.deriv(loss, places))()
    for place, gradient in zip(places, gradients, strict=True):
        kept, direction = place.numpy(), generator.standard_normal(place.shape)
        found = []
        for step in (1e-6, -1e-6):
            nv.evaluate(nv.assign(place, kept + step * direction))
            found.append(value().item())
        nv.evaluate(nv.assign(place, kept))
        assert abs((found[0] - found[1]) / 2e-6 - (gradient * direction).sum()) < 1e-6


def test_axes_are_found_by_name():
    """T414, T416: wherever they stand; the keys have their own name for steps."""
    layer = nn.MultiHeadAttention("F=8", 2)
    x, memory = drawn(2, 3, 5, 8), drawn(2, 3, 7, 8)
    right = layer(nv.constant(x, "A=2, B=3, T=5, F=8"), nv.constant(memory, "A=2, B=3, S=7, F=8"))
    found = layer(nv.constant(x.transpose(3, 2, 0, 1), "F=8, T=5, A=2, B=3"),
                  nv.constant(memory.transpose(2, 1, 3, 0), "S=7, B=3, F=8, A=2"))
    assert str(right.axes) == "(A: 2, B: 3, T: 5, F: 8)" and str(found.axes) == "(T: 5, A: 2, B: 3, F: 8)"
    np.testing.assert_allclose(found.numpy().transpose(1, 2, 0, 3), right.numpy(), atol=1e-6)


def test_bad_input_is_named():
    """T210, T414: the operand, what came and what was expected."""
    layer, x = nn.MultiHeadAttention(8, 2), drawn(5, 3, 8)
    with pytest.raises(InvalidArgument, match="heads divide the features"):
        nn.MultiHeadAttention(8, 3)
    with pytest.raises(InvalidArgument, match="pairs of features"):
        nn.MultiHeadAttention(6, 2, rotary=100.0)
    with pytest.raises(InvalidArgument, match="see all up to themselves"):
        layer(x, x, cache=layer.cache(3, 4))
    with pytest.raises(WrongKind, match="steps are kept in a cache"):
        layer(x, cache=3)
    with pytest.raises(WrongKind, match="truth values, or floats"):
        layer(x, mask=np.ones((5, 5), np.int64))
    with pytest.raises(AxisMismatch, match="a mask has no names"):
        layer(x, mask=nv.ones("T=5, S=5"))
    with pytest.raises(ShapeMismatch, match="another batch"):
        layer(x, x[:, 0])
    with pytest.raises(AxisMismatch, match="one axis of steps"):
        nn.MultiHeadAttention("F=8", 2)(nv.ones("N=3, T=5, F=8"), nv.ones("M=3, S=5, F=8"))
    with pytest.raises(InvalidArgument, match="unknown activation"):
        nn.TransformerEncoderLayer(8, 2, activation="sin")
    with pytest.raises(WrongKind, match="num_heads") as caught:
        nn.MultiHeadAttention(8, num_heads=2)
    assert caught.value.help == "here it is heads="
