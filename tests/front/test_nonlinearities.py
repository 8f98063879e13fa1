"""Activations that are made of others: NaN, symbolic lengths, gates, drawn slopes, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import InvalidArgument, ShapeMismatch

ODD = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.25, 3.0])


@pytest.mark.parametrize("function", [
    nv.relu6, nv.hard_tanh, nv.hard_shrink, nv.soft_shrink, nv.tanh_shrink, nv.celu, nv.soft_sign, nv.squareplus,
    nv.rrelu, lambda x: nv.threshold(x, 0.5, 2.0), lambda x: nv.softmin(x, axis=0)])
def test_nan_stays(function):
    """T216."""
    assert np.isnan(function(ODD[:1]).item())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities():
    """T216: as the formulas have them in the limit."""
    assert nv.hard_shrink(ODD[1:]).tolist() == [np.inf, -np.inf, 0.0, 0.0, 3.0]
    assert nv.soft_shrink(ODD[1:]).tolist() == [np.inf, -np.inf, 0.0, 0.0, 2.5]
    assert nv.celu(ODD[1:4], 2.0).tolist() == [np.inf, -2.0, 0.0]
    assert nv.relu6(ODD[1:3]).tolist() == [6.0, 0.0] and nv.hard_tanh(ODD[1:3], -2.0, 3.0).tolist() == [3.0, -2.0]


def test_a_gate_halves_its_axis():
    """T216: by name, and for lengths that are symbols."""
    x, n = np.arange(12, dtype=np.float32).reshape(3, 4), nv.dim("n")
    expected = x[:, :2] * (x[:, 2:] / (1 + np.exp(-x[:, 2:])))
    named = nv.glu(nv.constant(x, "N=3, F=4"), "F", nv.silu)
    assert str(named.axes) == "(N: 3, F: 2)"
    np.testing.assert_allclose(named.numpy(), expected, rtol=1e-6)
    given = nv.placeholder((n, 4))
    np.testing.assert_allclose(nv.computation(nv.glu(given, gate=nv.silu), given)(x), expected, rtol=1e-6)


def test_slopes_are_drawn_for_each_element():
    """T216: evenly, in training alone."""
    nv.seed(3)
    x = -np.ones(20_000, np.float32)
    slopes = -nn.RReLU(0.25, 0.75)(x).numpy()
    assert 0.25 <= slopes.min() < 0.251 and 0.749 < slopes.max() <= 0.75 and abs(slopes.mean() - 0.5) < 0.005
    assert nn.RReLU(0.25, 0.75).eval()(x[:2]).tolist() == [-0.5, -0.5]
    assert nv.rrelu([-1.0, 2.0], 0.5, 0.5).tolist() == [-0.5, 2.0]


@pytest.mark.parametrize("call", [
    lambda: nv.hard_tanh(1.0, 2.0, 1.0), lambda: nv.hard_shrink(1.0, -1.0), lambda: nv.soft_shrink(1.0, -1.0),
    lambda: nv.celu(1.0, 0.0), lambda: nv.rrelu(1.0, 2.0, 1.0), lambda: nv.squareplus(1.0, -1.0)], ids=range(6))
def test_settings_out_of_range_are_refused(call):
    """T216."""
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.help and caught.value.location.file == __file__


def test_an_odd_length_has_no_half():
    with pytest.raises(ShapeMismatch, match="equal parts"):
        nv.glu(np.zeros((2, 3), np.float32))
    with pytest.raises(nv.WrongKind, match="glu takes a function"):
        nv.glu(np.zeros((2, 4), np.float32), gate=2.0)
