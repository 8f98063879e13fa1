"""Attention by position and by names, against NumPy's formula in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def expected(q, k, v, seen=None, bias=0.0, scale=None):
    """The formula; of rows that see nothing 0."""
    heads = q.shape[-3] if q.ndim > 2 else 1
    k, v = [np.repeat(x, heads // x.shape[-3], -3) if x.ndim > 2 else x for x in (k, v)]
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale) + bias
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    largest = scores.max(-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def reaches(rows, columns, before=None, after=None):
    i, j = np.arange(rows)[:, None], np.arange(columns)
    return ((before is None) | (j >= i - (before or 0))) & ((after is None) | (j <= i + (after or 0)))


def test_by_position_with_masks_windows_and_shared_heads(transformer):
    """O89, O90: masks of truth values and of numbers, causal ones and windows, with any scale."""
    q, k, v = random(2, 4, 7, 8), random(2, 2, 5, 8, seed=1), random(2, 2, 5, 3, seed=2)
    near = pytest.approx
    for settings, seen, bias in (
            ({}, None, 0), ({"causal": True}, reaches(7, 5, None, 0), 0), ({"scale": 2}, None, 0),
            ({"window": 1}, reaches(7, 5, 1, 1), 0), ({"window": (None, 2)}, reaches(7, 5, None, 2), 0),
            ({"window": (2, None), "causal": True}, reaches(7, 5, 2, 0), 0),
            ({"mask": reaches(7, 5, 0, 3)}, reaches(7, 5, 0, 3), 0),
            ({"mask": reaches(7, 5, 0, 3), "causal": True}, reaches(7, 5, 0, 0), 0),
            ({"mask": random(4, 1, 5)}, None, random(4, 1, 5)),
            ({"mask": np.where(reaches(7, 5, 1, 0), 0.0, -np.inf)}, reaches(7, 5, 1, 0), 0)):
        found = nv.attention(q, k, v, **settings).numpy()
        assert found == near(expected(q, k, v, seen, bias, settings.get("scale")), rel=1e-12, abs=1e-12), settings
    matrices = nv.attention(q[0, 0], k[0, 0], v[0, 0]).numpy()
    assert matrices == near(expected(q[0, 0], k[0, 0], v[0, 0]), rel=1e-12)


def test_by_names_in_any_order(transformer):
    """O89: rows of keys have a name of their own, or that of the rows of queries; masks go by names, too."""
    q, k, v = random(2, 4, 7, 8), random(5, 2, 8, 4, seed=1), random(2, 4, 3, 5, seed=2)
    named = nv.attention(nv.constant(q, "N=2, H=4, T=7, D=8"), nv.constant(k, "S=5, N=2, D=8, H=4"),
                         nv.constant(v, "N=2, H=4, E=3, S=5"), causal=True)
    keys, values = k.transpose(1, 3, 0, 2), v.transpose(0, 1, 3, 2)
    assert str(named.axes) == "(N: 2, H: 4, T: 7, E: 3)"
    assert named.numpy() == pytest.approx(expected(q, keys, values, reaches(7, 5, None, 0)), rel=1e-6, abs=1e-6)
    mask = np.array([[True] * 7, [True, True, False, True, False, True, True]])
    x = nv.constant(q, "N=2, H=4, T=7, D=8", dtype=nv.float64)
    own = nv.attention(x, x, x, mask=nv.constant(mask, "N=2, T=7"))
    assert own.axes == x.axes
    assert own.numpy() == pytest.approx(expected(q, q, q, mask[:, None, None, :]), rel=1e-12)
    fewer = nv.constant(q[:, :2], "N=2, H=2, T=7, D=8", dtype=nv.float64)
    assert nv.attention(x, fewer, fewer).numpy() == pytest.approx(expected(q, q[:, :2], q[:, :2]), rel=1e-12)


def test_rows_that_see_nothing_have_no_derivative(transformer):
    """O90: their results and gradients are 0, and those of other rows are finite."""
    q, k, v = [nv.variable((4, 3), initial_value=random(4, 3, seed=seed), dtype=nv.float64) for seed in range(3)]
    seen = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]], bool)
    result = nv.attention(q, k, v, mask=seen)
    assert result.numpy()[1].tolist() == [0, 0, 0]
    steps = [nv.deriv(nv.sum(result * result), x).numpy() for x in (q, k, v)]
    assert steps[0][1].tolist() == [0, 0, 0] and all([np.isfinite(step).all() for step in steps])


@pytest.mark.parametrize("settings", [{}, {"causal": True}, {"window": (2, 1)}, {"mask": True}, {"mask": False}],
                         ids=str)
def test_a_derivative_that_makes_weights_again(transformer, monkeypatch, settings):
    """O91: it is that of kept weights, and of a mask of numbers, but for roundings."""
    arrays = [random(2, 4, 7, 6), random(2, 2, 9, 6, seed=1), random(2, 2, 9, 3, seed=2), random(7, 9, seed=3)]
    settings = dict(settings)
    if "mask" in settings:
        arrays[3] = arrays[3] > -2 if settings["mask"] else arrays[3]

    def gradients():
        q, k, v, mask = [nv.placeholder(x.shape, dtype=nv.as_dtype(x.dtype)) for x in arrays]
        given = {**settings, "mask": mask} if "mask" in settings else settings
        y = nv.attention(q, k, v, **given)
        wanted = [q, k, v, *([mask] if settings.get("mask") is False else [])]
        found = [nv.deriv(nv.sum(nv.square(y)), x) for x in wanted]
        return nv.computation(found, q, k, v, mask)(*arrays)

    kept = gradients()
    monkeypatch.setattr("nervure.ops.attention.MOST_SCORES", 0)
    for one, other in zip(gradients(), kept, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_types_and_symbolic_lengths(transformer):
    """O89: a low-precision result is rounded once; lengths may be symbols."""
    q = random(6, 8).astype(np.float16)
    found = nv.attention(q, q, q)
    assert found.dtype is nv.float16
    np.testing.assert_allclose(found.numpy(), expected(*[q.astype(np.float64)] * 3), rtol=2e-3)
    n, d = nv.dim("n", min=1), nv.dim("d", min=1)
    x = nv.placeholder((2, n, d), dtype=nv.float64)
    compute = nv.computation(nv.attention(x, x, x, causal=True), x)
    for rows, columns in ((1, 1), (9, 4)):
        array = random(2, rows, columns)
        assert compute(array) == pytest.approx(expected(array, array, array, reaches(rows, rows, None, 0)))


@pytest.mark.parametrize(("operands", "settings", "error", "says"), [
    ((random(3, 4), random(5, 6), random(5, 6)), {}, ShapeMismatch, "the features of k are those of q"),
    ((random(3, 4), random(5, 4), random(6, 4)), {}, ShapeMismatch, "the rows of v are those of k"),
    ((random(4), random(5, 4), random(5, 4)), {}, ShapeMismatch, "rows and features"),
    ((random(4, 3, 4), random(3, 5, 4), random(3, 5, 4)), {}, ShapeMismatch, "divide those of q"),
    ((random(3, 4),) * 3, {"window": -1}, InvalidArgument, "window is 0 or more"),
    ((random(3, 4),) * 3, {"window": (1, 2, 3)}, InvalidArgument, "two sides"),
    ((random(3, 4),) * 3, {"mask": np.ones((3, 3), int)}, WrongKind, "truth values, or floats"),
    ((random(3, 4),) * 3, {"mask": np.ones((2, 3, 3))}, ShapeMismatch, "larger shape than the scores"),
    ((nv.zeros("T=3, D=4"), nv.zeros("S=3, E=4"), nv.zeros("S=3, E=4")), {}, AxisMismatch, "several axes that q has"),
    ((nv.zeros("T=3, D=4"), nv.zeros("S=3, D=4"), nv.zeros("T=3, D=4")), {}, AxisMismatch, "v has no axis S"),
    ((nv.zeros("T=3, D=4"), nv.zeros("N=2, S=3, D=4"), nv.zeros("S=3, D=4")), {}, AxisMismatch, "several axes"),
    ((nv.zeros("T=3, D=4"), random(3, 4), nv.zeros("S=3, D=4")), {}, AxisMismatch, "all be named, or none"),
])
def test_errors_name_the_operand(operands, settings, error, says):
    with pytest.raises(error, match=says) as caught:
        nv.attention(*operands, **settings)
    assert caught.value.op == "attention" and caught.value.operand is not None and caught.value.help
