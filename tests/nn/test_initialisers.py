"""Initialisers: distributions, fans by axes, seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import InvalidArgument, WrongKind
from nervure.nn import initialisers

AXES = "C=16, H=3, W=3, K=64"
INPUTS, OUTPUTS = 16 * 9, 64 * 9
VARIANCES = {"xavier": 2 / (INPUTS + OUTPUTS), "glorot": 2 / (INPUTS + OUTPUTS), "he": 2 / INPUTS,
             "kaiming": 2 / INPUTS, "lecun": 1 / INPUTS}


@pytest.mark.parametrize("family", VARIANCES)
@pytest.mark.parametrize("shape", ["uniform", "normal"])
def test_the_variance_follows_from_the_fans(family, shape):
    """T230: an element of a window is an input and an output; draws are centred."""
    make = getattr(initialisers, f"{family}_{shape}")
    drawn = make(seed=5, window_axes=["H", "W"])(AXES)
    assert drawn.shape == (16, 3, 3, 64)
    assert drawn.var() == pytest.approx(VARIANCES[family], rel=0.05) and abs(drawn.mean()) < 0.05 * drawn.std()
    ratio = abs(drawn).max() / drawn.std()
    assert (ratio < 1.8) == (shape == "uniform") and (shape == "normal" or ratio > 1.7)


def test_outputs_are_named():
    """T230: in any place, and several."""
    last, first = (initialisers.lecun_normal(seed=1, out_axes=axes)("A=400, B=4, C=5").var() for axes in ("C", "A"))
    assert last == pytest.approx(1 / 1600, rel=0.1) and first == pytest.approx(1 / 20, rel=0.1)
    both = initialisers.lecun_normal(seed=1, out_axes=["B", "C"])("A=400, B=4, C=5").var()
    assert both == pytest.approx(1 / 400, rel=0.1)


def test_layers_say_which_axes_are_outputs():
    """T230: a filter without names has them first."""
    start = initialisers.he_normal(seed=1)
    assert nn.Conv(16, 64, (3, 3), weights=start).weights.numpy().var() == pytest.approx(2 / 144, rel=0.1)
    assert nn.Conv("C=16", "K=64", "H=3, W=3", weights=start).weights.numpy().var() == pytest.approx(2 / 144, rel=0.1)
    assert nn.LinearLayer("H=20, W=20", "K=8", weights=start).weights.numpy().var() == pytest.approx(2 / 400, rel=0.1)


@pytest.mark.parametrize(("start", "fans"), [
    (initialisers.he_normal, lambda into, _: 2 / into),
    (initialisers.xavier_normal, lambda into, out: 2 / (into + out))])
@pytest.mark.parametrize(("make", "named", "fans_of"), [
    (lambda **given: nn.ConvTranspose(32, 24, (3, 2), **given), lambda **given: nn.ConvTranspose(
        "C=32", "K=24", "H=3, W=2", **given), (32 * 6, 24 * 6)),
    (lambda **given: nn.ConvTranspose(32, 24, (3, 2), groups=2, **given), lambda **given: nn.ConvTranspose(
        "C=32", "K=24", "H=3, W=2", groups=2, **given), (32 * 6, 12 * 6)),
    (lambda **given: nn.Bilinear(30, 4, 50, **given), lambda **given: nn.Bilinear("F=30", "G=4", "K=50", **given),
     (120, 50))])
def test_names_and_positions_start_alike(make, named, fans_of, start, fans):
    """T230: by the outputs that the layer says."""
    for layer in (make(weights=start(seed=1)), named(weights=start(seed=1))):
        assert layer.weights.numpy().var() == pytest.approx(fans(*fans_of), rel=0.1)


def test_the_simple_ones():
    """T229: numbers, even draws, the normal distribution, whole and truncated."""
    assert initialisers.zeros()((2,)).tolist() == [0, 0] and initialisers.ones()("F=1").tolist() == [1]
    assert initialisers.constant(3)((1, 2)).tolist() == [[3, 3]]
    even = initialisers.uniform(2, 3, seed=1)((10_000,))
    assert 2 <= even.min() < 2.01 and 2.99 < even.max() < 3
    bell = initialisers.normal(1, 2, seed=1)((10_000,))
    assert bell.mean() == pytest.approx(1, abs=0.1) and bell.std() == pytest.approx(2, rel=0.05)
    cut = initialisers.truncated_normal(1, 2, -1, 0.5, seed=1)((10_000,))
    assert -1 <= cut.min() < -0.9 and 1.9 < cut.max() <= 2


@pytest.mark.parametrize(("axes", "out"), [("A=6, B=4", None), ("A=3, B=8", None), ("A=4, B=2, C=3", ["A"]),
                                           ("A=4, B=2, C=3", ["B", "C"])])
def test_orthogonal_weights_are_orthogonal(axes, out):
    """T231: columns where inputs are more, else rows."""
    drawn = initialisers.orthogonal(2.0, out_axes=out, seed=1)(axes)
    own = nv.make_axes(axes)
    positions = [len(own) - 1] if out is None else [own.index(own.find_by_name(name)) for name in out]
    matrix = np.moveaxis(drawn, positions, range(-len(positions), 0))
    matrix = matrix.reshape(-1, math.prod(matrix.shape[-len(positions):]))
    square = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(square, 4 * np.eye(len(square)), atol=1e-12)


def test_a_seed_gives_the_same_weights_in_the_same_order():
    """T232: the first of an initialiser is always the same, its second another."""
    one, other = initialisers.normal(seed=7), initialisers.normal(seed=7)
    first, second = one("F=3"), one("F=3")
    assert (first == other("F=3")).all() and (second == other("F=3")).all() and (first != second).all()
    assert (first != initialisers.normal(seed=8)("F=3")).all()


def test_models_made_after_one_seed_start_alike():
    """T232: in whatever order their weights are first used; layers of one model differ."""
    found = []
    for backwards in (False, True):
        nv.seed(11)
        model = nn.Sequential(nn.LinearLayer(3, 3), nn.LinearLayer(3, 3), nn.Embedding(4, 2))
        places = model.parameters()
        values = {place: place.numpy() for place in (reversed(places) if backwards else places)}
        found.append([values[place] for place in places])
    assert all((a == b).all() for a, b in zip(*found)) and (found[0][0] != found[0][2]).all()
    nv.seed(12)
    assert (nn.LinearLayer(3, 3).weights.numpy() != found[0][0]).all()


def test_the_seed_of_any_transformer_is_that_of_first_weights():
    """T232: the seed that was set last."""
    found = []
    with nv.transformers.make_transformer("interpreter") as transformer:
        for seed in (1, 2, 1):
            nv.seed(seed, transformer)
            found.append(nn.LinearLayer(3, 3).weights.numpy())
    assert (found[0] == found[2]).all() and (found[0] != found[1]).all()


def test_an_initialiser_is_an_initial_value():
    """T229: of a variable, like nv.glorot."""
    w = nv.variable("F=3, K=2", initial_value=initialisers.xavier_uniform(seed=1))
    assert (w.numpy() == initialisers.xavier_uniform(seed=1)("F=3, K=2").astype(np.float32)).all()


@pytest.mark.parametrize(("make", "kind"), [
    (lambda: initialisers.uniform(2, 1), InvalidArgument), (lambda: initialisers.normal(scale=-1), InvalidArgument),
    (lambda: initialisers.truncated_normal(low=5, high=6), InvalidArgument),
    (lambda: initialisers.he_normal("steep"), WrongKind), (lambda: initialisers.normal(seed=-1), InvalidArgument),
    (lambda: initialisers.normal(seed="x"), WrongKind),
    (lambda: initialisers.he_normal(seed=1)("F=n"), InvalidArgument),
    (lambda: initialisers.normal(std=1), WrongKind)], ids=range(8))
def test_what_makes_no_sense_is_refused(make, kind):
    """T229: with what to do."""
    with pytest.raises(kind) as caught:
        make()
    assert caught.value.help and caught.value.location.file == __file__
