"""Layers that move, resize, drop and pair: symbolic lengths, statistics, PyTorch's names, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import AxisMismatch, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.files.torch_weights import arrays_of

X = np.random.default_rng(0).standard_normal((2, 3, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("layer", [
    nn.Upsample(2), nn.Upsample([3, 2], mode="linear"), nn.Upsample(2, mode="cubic", align_corners=True),
    nn.AdaptiveAveragePool(1), nn.AdaptiveMaxPool(1), nn.Pad(1, "reflect"), nn.PixelShuffle(1), nn.Flatten(3),
    nn.InstanceNorm(3)], ids=lambda layer: repr(layer)[:40])
def test_lengths_may_be_symbols(layer):
    """T417: of places, where a layer does not say that it needs numbers."""
    n, m = nv.dim("n", min=1), nv.dim("m", min=1)
    x = nv.placeholder((2, 3, n, m))
    np.testing.assert_allclose(nv.computation(layer(x), x)(X), layer(X).numpy(), rtol=1e-5, atol=1e-5)


def test_what_is_moved_comes_back():
    """T417: to the bit, and names stay."""
    shuffled = nn.PixelUnshuffle(2)(X)
    assert nn.PixelShuffle(2)(shuffled).tolist() == X.tolist()
    named = nn.PixelUnshuffle(2, "C", ["W", "H"])(nv.constant(X, "N=2, C=3, H=4, W=6"))
    assert str(named.axes) == "(N: 2, C: 12, H: 2, W: 3)"
    assert nn.PixelShuffle(2, "C", ["W", "H"])(named).tolist() == X.tolist()
    counts = nn.Fold([4, 6], 2, 2)(nn.Unfold(2, 2)(X))
    assert counts.tolist() == X.tolist()


def test_nearest_is_exact_for_long_axes():
    """T417: places are found in integers."""
    x = np.arange(100_003, dtype=np.float64)[None, None]
    found = nv.resize(x, 70_001).numpy()[0, 0]
    assert found.tolist() == (np.arange(70_001) * 100_003 // 70_001).tolist()


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lengths", [(1, 3), (4, 1), (7, 9)])
def test_new_lengths_may_be_symbols(mode, lengths):
    """T417: those of another tensor; one place that is both ends is the first element."""
    x, like = nv.placeholder((2, 3, 4, 6)), nv.placeholder((nv.dim("h"), nv.dim("w")))
    run = nv.computation(nv.resize(x, [*like.shape], mode, True) + nv.sum(like, out_axes=()), x, like)
    np.testing.assert_array_equal(run(X, np.zeros(lengths)), nv.resize(X, [*lengths], mode, True).numpy())


def test_channels_are_dropped_whole():
    """T418: in training alone; by names, too."""
    nv.seed(2)
    for axes in (None, "N=50, C=40, H=3, W=2"):
        layer, x = nn.ChannelDropout(0.25, "C" if axes else 1), np.ones((50, 40, 3, 2), np.float32)
        dropped = layer(nv.constant(x, axes) if axes else x).numpy()
        assert set(np.unique(dropped)) == {0.0, np.float32(4 / 3)}
        assert (dropped == dropped[:, :, :1, :1]).all() and abs((dropped == 0).mean() - 0.25) < 0.03
        assert layer.eval()(x).tolist() == x.tolist()


def test_alpha_dropout_keeps_mean_and_variance():
    """T418."""
    nv.seed(4)
    x = np.random.default_rng(1).standard_normal(200_000).astype(np.float32)
    found = nn.AlphaDropout(0.3)(x).numpy()
    assert abs(found.mean()) < 0.01 and abs(found.std() - 1) < 0.01 and not np.array_equal(found, x)
    assert nn.AlphaDropout(0.3).eval()(x).tolist() == x.tolist() == nn.AlphaDropout(0.0)(x).tolist()


def test_weights_have_the_form_of_pytorch():
    """T417: (inputs, outputs, window) of a transposed convolution, (outputs, first, second) of a bilinear form."""
    model = nn.Sequential(nn.ConvTranspose("C=4", "K=6", "H=3, W=2", groups=2), nn.Bilinear("F=3", "G=4", "Y=2"),
                          nn.InstanceNorm(3, scale=True, shift=True))
    assert {name: array.shape for name, array in arrays_of(model).items()} == {
        "0.weight": (4, 3, 3, 2), "0.bias": (6,), "1.weight": (2, 3, 4), "1.bias": (2,), "2.weight": (3,),
        "2.bias": (3,)}
    assert str(nn.ConvTranspose("C=4", "C=6", "W=2").weights.axes) == "(C-1: 4, W: 2, C: 6)"
    for groups in (1, 2):
        layer = nn.ConvTranspose("C=4", "K=6", "W=2", groups=groups)
        assert str(layer(nv.placeholder("N=n, W=5, C=4")).axes) == "(N: n, W: 6, K: 6)"


def test_rows_that_do_not_count():
    """T419: a bag of nothing else gives 0."""
    for mode in ("sum", "mean", "max"):
        layer = nn.EmbeddingBag(3, 2, mode, pad_idx=0, weights=np.float32([[9, 9], [-1, 2], [3, -4]]))
        found = layer(np.array([[0, 0], [1, 0], [1, 2]])).numpy().tolist()
        assert found[:2] == [[0.0, 0.0], [-1.0, 2.0]], mode


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_row_from_the_end_does_not_count_either(name, mode):
    """T419: in bags of any length, and in the gradient; -1 and 3 are one row, in the layer and in the indices."""
    rows = np.float32([[1, 2], [3, 4], [5, 6], [9, 9]])
    bags = nv.placeholder((nv.dim("n"), nv.dim("m")), nv.int64)
    found = []
    with nv.transformers.make_transformer(name) as transformer:
        for pad_idx, given in ((3, [[0, 3, 1], [3, 3, 3]]), (-1, [[0, 3, 1], [3, 3, 3]]),
                               (3, [[0, -1, 1], [3, -1, 3]])):
            layer = nn.EmbeddingBag(4, 2, mode, pad_idx=pad_idx, weights=rows)
            made = layer(bags)
            run = transformer.computation([made, nv.deriv(nv.sum(made, out_axes=()), layer.weights)], bags)
            found.append([entry.tolist() for entry in run(np.array(given))])
    result = {"sum": [4, 6], "mean": [2, 3], "max": [3, 4]}[mode]
    slope = {"sum": [[1, 1], [1, 1]], "mean": [[.5, .5], [.5, .5]], "max": [[0, 0], [1, 1]]}[mode]
    assert found[0] == [[result, [0, 0]], [*slope, [0, 0], [0, 0]]] and found[1:] == found[:1] * 2


def test_means_of_float16_have_sums_beyond_float16(transformer):
    """T419: a mean that fits is a number."""
    x = nv.constant(np.full((1, 1, 9), 10000, np.float16))
    bag = nn.EmbeddingBag(3, 2, weights=100.0, pad_idx=1, dtype=nv.float16)(np.zeros((1, 1000), int))
    found = transformer.computation([nv.adaptive_pooling(x, "avg", 1), nv.adaptive_pooling(x, "avg", 4), bag])()
    assert [entry.tolist() for entry in found] == [[[[10000]]], [[[10000] * 4]], [[100, 100]]]
    assert {entry.dtype for entry in found} == {np.dtype(np.float16)}


@pytest.mark.parametrize("dtype", [nv.int8, nv.uint8, nv.int16, nv.uint16, nv.int32, nv.uint32, nv.int64, nv.uint64],
                         ids=str)
@pytest.mark.parametrize("pad_idx", [None, 1, -299])
def test_bags_of_integers_of_any_type(dtype, pad_idx):
    """T419: of a table with more rows than the type has numbers, too."""
    rows = np.arange(600, dtype=np.float32).reshape(300, 2)
    for mode, whole in (("sum", [4, 6]), ("mean", [2, 3]), ("max", [4, 5])):
        layer = nn.EmbeddingBag(300, 2, mode, pad_idx=pad_idx, weights=rows)
        assert layer(nv.constant([[0, 2]], dtype=dtype)).tolist() == [whole], mode


@pytest.mark.parametrize(("make", "kind"), [
    (lambda: nn.Upsample(), InvalidArgument), (lambda: nn.Upsample(2, [3, 4]), InvalidArgument),
    (lambda: nv.resize(X, 3, "bilinear"), InvalidArgument), (lambda: nv.resize(X, [3]), InvalidArgument),
    (lambda: nv.resize(nv.constant(X, "N=2, C=3, H=4, W=6"), 3), WrongKind),
    (lambda: nv.resize(X, 0), InvalidArgument), (lambda: nv.adaptive_pooling(X, "mean", 2), InvalidArgument),
    (lambda: nv.adaptive_pooling(nv.placeholder((1, 1, nv.dim("n"))), "max", 2), InvalidArgument),
    (lambda: nv.lp_pooling(X, 2, 0.0), InvalidArgument), (lambda: nn.PixelShuffle(2)(X), ShapeMismatch),
    (lambda: nn.PixelUnshuffle(4)(X), ShapeMismatch), (lambda: nn.Unfold(7)(X), ShapeMismatch),
    (lambda: nn.Unfold([2])(X), InvalidArgument), (lambda: nn.Fold([4, 6], 2)(X[0]), ShapeMismatch),
    (lambda: nn.Unfold(2)(nv.constant(X, "N=2, C=3, H=4, W=6")), ShapeMismatch),
    (lambda: nn.Pad(1)(nv.constant(X, "N=2, C=3, H=4, W=6")), InvalidArgument),
    (lambda: nn.Flatten(4)(X), InvalidArgument), (lambda: nn.Unflatten(1, (2, 2))(X), InvalidArgument),
    (lambda: nn.Unflatten("C", (3, 1))(nv.constant(X, "N=2, C=3, H=4, W=6")), InvalidArgument),
    (lambda: nn.ChannelDropout(2.0), InvalidArgument), (lambda: nn.AlphaDropout(1.0), InvalidArgument),
    (lambda: nn.ConvTranspose(4, 6, 2, groups=4), InvalidArgument),
    (lambda: nn.ConvTranspose(4, 6, (1, 1, 1, 1)), InvalidArgument),
    (lambda: nn.ConvTranspose(4, 6, 2)(X), ShapeMismatch),
    (lambda: nn.ConvTranspose("C=4", "K=6", "W=2")(X), AxisMismatch),
    (lambda: nn.Bilinear(2, 3, 1)(X, X), ShapeMismatch), (lambda: nn.EmbeddingBag(3, 2, "median"), InvalidArgument),
    (lambda: nn.EmbeddingBag(3, 2)(np.array([[1]]), [[1.0]]), InvalidArgument),
    (lambda: nn.losses.pairwise_distance(X, X, 0.0), InvalidArgument)], ids=range(29))
def test_what_does_not_fit_is_refused(make, kind):
    """T210: by the function or the layer, with what to do."""
    with pytest.raises(kind) as caught:
        make()
    assert isinstance(caught.value, NervureError) and caught.value.help and caught.value.location.file == __file__
