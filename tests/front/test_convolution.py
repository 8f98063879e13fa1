"""Convolution and pooling by axes, against plain loops over NumPy arrays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.types.axis import axis
from nervure.types.dim import dim
from tests.front.tensors import check_close as check

N, C, H, W, D = axis("N", 2), axis("C", 3), axis("H", 8), axis("W", 7), axis("D", 5)
RNG = np.random.default_rng(9)


def tensor(axes):
    axes = nv.make_axes(axes)
    array = np.random.default_rng([5, *axes.lengths]).standard_normal(axes.lengths)
    return nv.constant(array, axes=axes, dtype=nv.float64), array


def reference(x, f, strides, dilations, paddings, groups=1):
    """x (N, C, spatial), f (K, C // groups, spatial): the definition."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *paddings])
    spans = [dilation * (length - 1) + 1 for dilation, length in zip(dilations, f.shape[2:])]
    places = [(length - span) // stride + 1 for length, span, stride in zip(x.shape[2:], spans, strides)]
    result = np.zeros((x.shape[0], f.shape[0], *places))
    size = f.shape[0] // groups
    for place in itertools.product(*map(range, places)):
        window = x[(slice(None), slice(None),
                    *[slice(place[d] * strides[d], place[d] * strides[d] + spans[d], dilations[d])
                      for d in range(rank)])]
        for k in range(f.shape[0]):
            group = k // size
            channels = window[:, group * f.shape[1]:(group + 1) * f.shape[1]]
            result[(slice(None), k, *place)] = (channels * f[k]).sum(tuple(range(1, rank + 2)))
    return result


def test_the_example():
    """A230, A233, A235, A236: (N, C, H, W) with (C, H, W, K) gives (N, K, H, W)."""
    x, a = tensor("N=2, C=3, H=8, W=7")
    f, b = tensor("C=3, H=3, W=3, K=4")
    expected = reference(a, b.transpose(3, 0, 1, 2), (1, 1), (1, 1), [(1, 1), (1, 1)])
    for spatial in ([H, W], ["H", "W"], [2, 3], "H=8, W=7"):
        check(nv.convolution(x, f, spatial, padding=1), expected, "N=2, K=4, H=8, W=7")
    big = nv.convolution(nv.placeholder("N=n, C=3, H=32, W=32"), nv.placeholder("C=3, H=3, W=3, K=64"),
                         ["H", "W"], padding=1)
    assert [str(one) for one in big.axes] == ["N: n", "K: 64", "H: 32", "W: 32"]


def test_any_order_of_axes():
    """A230, A235: the result has x's order, with the output channels in the place of the contracted ones."""
    x, a = tensor("H=8, C=3, N=2, W=7")
    f, b = tensor("W=3, K=4, C=3, H=2")
    expected = reference(a.transpose(2, 1, 0, 3), b.transpose(1, 2, 3, 0), (1, 1), (1, 1), [(0, 0), (0, 0)])
    check(nv.convolution(x, f, [H, W]), expected.transpose(2, 1, 0, 3), "H=7, K=4, N=2, W=5")
    check(nv.convolution(x, f, [W, H]), expected.transpose(2, 1, 0, 3), "H=7, K=4, N=2, W=5")


def test_several_channels():
    """A233, A235: several axes are contracted, several are output channels; without contraction these precede
    the windows.
    """
    x, a = tensor("N=2, C=3, E=2, H=8")
    f, b = tensor("K=2, E=2, H=3, C=3, L=3")
    expected = reference(a.reshape(2, 6, 8), b.transpose(0, 4, 3, 1, 2).reshape(6, 6, 3), (1,), (1,), [(0, 0)])
    check(nv.convolution(x, f, ["H"]), expected.reshape(2, 2, 3, 6), "N=2, K=2, L=3, H=6")
    y, c = tensor("N=2, H=8")
    g, d = tensor("H=3, K=4")
    expected = reference(c[:, None], d.T[:, None], (1,), (1,), [(0, 0)])
    check(nv.convolution(y, g, ["H"]), expected, "N=2, K=4, H=6")
    h, e = tensor("C=3, H=3")
    check(nv.convolution(tensor("C=3, H=8")[0], h, ["H"]),
          reference(tensor("C=3, H=8")[1][None], e[None], (1,), (1,), [(0, 0)])[0, 0], "H=6")


def test_square_filters():
    """A234, A237: of two axes of one class and length, the one of level -1 is contracted and the other remains."""
    x, a = tensor("N=2, C=3, H=8, W=7")
    for order in ([C.offset(-1), axis("H", 3), axis("W", 3), C], [C, axis("H", 3), axis("W", 3), C.offset(-1)]):
        f, b = tensor(order)
        moved = b.transpose(3, 0, 1, 2) if order[0].level else b.transpose(0, 3, 1, 2)
        check(nv.convolution(x, f, [H, W], padding="same"), reference(a, moved, (1, 1), (1, 1), [(1, 1)] * 2), x.axes)
    f, b = tensor([C, axis("H", 3), axis("C", 5)])
    y, c = tensor("N=2, C=3, H=8")
    check(nv.convolution(y, f, [H]), reference(c, b.transpose(2, 0, 1), (1,), (1,), [(0, 0)]), "N=2, C=5, H=6")


def test_which_axis_is_contracted_must_be_clear():
    """A234: two axes of one class and length of which none has level -1 are an AxisMismatch."""
    with pytest.raises(AxisMismatch, match="several axes of the filter could be contracted with C"):
        nv.convolution(tensor("N=2, C=3, H=8")[0], tensor([C, axis("H", 3), C.offset(1)])[0], [H])
    x, a = tensor([N, C, C.offset(1), H])
    f, b = tensor([C, axis("H", 3), axis("K", 2)])
    expected = reference(a.transpose(0, 2, 1, 3).reshape(6, 3, 8), b.transpose(2, 0, 1), (1,), (1,), [(0, 0)])
    expected = expected.reshape(2, 3, 2, 6).transpose(0, 2, 1, 3)
    check(nv.convolution(x, f, [H]), expected, [N, axis("K", 2), C.offset(1), axis("H", 6)])


def test_channels_of_two_lengths():
    """A244: a class of x's channels in f with another length, where nothing contracts, is an AxisMismatch."""
    with pytest.raises(AxisMismatch, match="axis C has two lengths") as caught:
        nv.convolution(tensor("N=2, C=3, H=8")[0], tensor("C=4, H=3, K=2")[0], ["H"])
    assert (caught.value.got, caught.value.expected, caught.value.op) == ("C: 4", "C: 3", "convolution")


@pytest.mark.parametrize("spatial", ["H", "HW", "HWD"])
def test_dimensions(spatial):
    """A238: one, two and three spatial axes, with strides, dilations and paddings of their own."""
    lengths, windows = {"H": 8, "W": 7, "D": 5}, {"H": 3, "W": 2, "D": 2}
    x, a = tensor({"N": 2, "C": 3, **{one: lengths[one] for one in spatial}})
    f, b = tensor({"K": 4, "C": 3, **{one: windows[one] for one in spatial}})
    count = len(spatial)
    settings = {"strides": [2, 1, 3][:count], "dilations": [1, 2, 1][:count],
                "padding": [(1, 0), (2, 1), (0, 3)][:count]}
    expected = reference(a, b, settings["strides"], settings["dilations"], settings["padding"])
    axes = {"N": 2, "K": 4, **dict(zip(spatial, expected.shape[2:]))}
    check(nv.convolution(x, f, list(spatial), **settings), expected, axes)
    named = {name: dict(zip(spatial, values)) for name, values in settings.items()}
    check(nv.convolution(x, f, list(spatial), **named), expected, axes)
    each = {one: {"strides": settings["strides"][d], "dilation": settings["dilations"][d],
                  "padding": settings["padding"][d]}
            for d, one in enumerate(spatial)}
    check(nv.convolution(x, f, each), expected, axes)


def test_settings_of_an_axis():
    """A231: a dict from axes to settings; what an axis does not say is taken from the arguments."""
    x, a = tensor("N=2, C=3, H=8, W=7")
    f, b = tensor("C=3, H=3, W=3, K=4")
    expected = reference(a, b.transpose(3, 0, 1, 2), (2, 3), (1, 1), [(0, 0), (1, 1)])
    result = nv.convolution(x, f, {H: {"stride": 2}, "W": {"padding": "same", "strides": 3}})
    check(result, expected, {"N": 2, "K": 4, "H": 3, "W": 3})
    check(nv.convolution(x, f, {H: {}, W: {"padding": 1}}, strides=(2, 3)), expected, {"N": 2, "K": 4, "H": 3, "W": 3})
    with pytest.raises(InvalidArgument, match="unknown setting 'strid'") as caught:
        nv.convolution(x, f, {H: {"strid": 2}, W: {}})
    assert "did you mean" in caught.value.help


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same(stride, window, dilation):
    """A232: "same" gives length / stride places, rounded up, the odd element of padding behind."""
    x, a = tensor("N=2, C=3, H=8")
    f, b = tensor({"K": 2, "C": 3, "H": window})
    places = -(-8 // stride)
    total = max((places - 1) * stride + dilation * (window - 1) + 1 - 8, 0)
    expected = reference(a, b, (stride,), (dilation,), [(total // 2, total - total // 2)])
    check(nv.convolution(x, f, [H], stride, dilation, "same"), expected, {"N": 2, "K": 2, "H": places})
    y = nv.placeholder("N=2, C=3, H=h", nv.float64)
    result = nv.convolution(y, f, ["H"], stride, dilation, "same")
    np.testing.assert_allclose(nv.computation(result, y)(a), expected, rtol=1e-10)


def test_paddings():
    """A232: an int, a pair, "valid"; for all axes or for each; negative ones crop."""
    x, a = tensor("N=2, C=3, H=8, W=7")
    f, b = tensor("K=4, C=3, H=3, W=3")
    for padding, pairs in ((2, [(2, 2)] * 2), ((1, 1), [(1, 1)] * 2), ("valid", [(0, 0)] * 2),
                           ([1, 2], [(1, 1), (2, 2)]), ([(0, 1), 2], [(0, 1), (2, 2)]), ([(1, 2)] * 2, [(1, 2)] * 2),
                           (["valid", (2, 0)], [(0, 0), (2, 0)]), ({W: 1}, [(0, 0), (1, 1)])):
        expected = reference(a, b, (1, 1), (1, 1), pairs)
        np.testing.assert_allclose(nv.convolution(x, f, [H, W], padding=padding).numpy(), expected,
                                   rtol=1e-10, atol=1e-12)
    cropped = nv.convolution(x, f, [H, W], padding=[(-1, 0), 0])
    np.testing.assert_allclose(cropped.numpy(), reference(a[:, :, 1:], b, (1, 1), (1, 1), [(0, 0)] * 2),
                               rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("settings", "kind"), [
    ({"padding": "sane"}, InvalidArgument), ({"padding": 1.5}, WrongKind), ({"padding": [1, 2, 3]}, InvalidArgument),
    ({"padding": (1, 2)}, InvalidArgument),
    ({"strides": 0}, InvalidArgument), ({"strides": 1.5}, WrongKind), ({"dilations": [1]}, InvalidArgument),
    ({"groups": 2}, InvalidArgument), ({"groups": 0}, InvalidArgument), ({"padding": {C: 1}}, AxisMismatch),
    ({"strides": {"V": 1}}, AxisMismatch)])
def test_wrong_settings(settings, kind):
    """A245: named in the error."""
    with pytest.raises(kind) as caught:
        nv.convolution(tensor("N=2, C=3, H=8, W=7")[0], tensor("K=4, C=3, H=3, W=3")[0], [H, W], **settings)
    assert isinstance(caught.value, NervureError) and caught.value.op == "convolution"


@pytest.mark.parametrize(("x", "f", "spatial"), [
    ("N=2, C=3, H=8", "C=3, W=3, K=2", ["H"]), ("N=2, C=3, H=8", "C=3, H=9, K=2", ["H"]),
    ("N=2, C=3, H=8", "C=3, H=3, N=2", ["V"]),
    ("N=2, C=3, H=8", "C=3, H=3, K=2", []), ("N=2, C=3, H=8", "C=3, H=3, K=2", None),
    ("N=2, C=3, H=8", "C=3, H=3, H=4", ["H"]),
    ("A=1, B=1, D=1, E=1", "A=1, B=1, D=1, E=1", ["A", "B", "D", "E"])])
def test_wrong_axes(x, f, spatial):
    """A245: no window, a window that is too long, no spatial axes, too many, two windows for one axis."""
    with pytest.raises(ValueError) as caught:
        nv.convolution(nv.placeholder(x), nv.placeholder(f), spatial)
    assert isinstance(caught.value, NervureError)


@pytest.mark.parametrize("groups", [2, 4])
def test_groups(groups):
    """A239: the contracted axis of f is shorter by the number of groups, in any order of axes; depthwise has 1."""
    x, a = tensor("N=2, C=4, H=8")
    f, b = tensor({"H": 3, "C": 4 // groups, "K": 8})
    expected = reference(a, b.transpose(2, 1, 0), (1,), (1,), [(1, 1)], groups)
    check(nv.convolution(x, f, ["H"], padding=1, groups=groups), expected, "N=2, K=8, H=8")
    y, c = tensor("C=4, H=8, E=2, N=2")
    g, d = tensor({"E": 2, "H": 3, "C": 4 // groups, "K": 8})
    flat = d.transpose(3, 2, 0, 1).reshape(8, -1, 3)
    expected = reference(c.transpose(3, 0, 2, 1).reshape(2, 8, 8), flat, (1,), (1,), [(0, 0)], groups)
    check(nv.convolution(y, g, ["H"], groups=groups), expected.transpose(1, 2, 0), "K=8, H=6, N=2")
    with pytest.raises(ValueError, match="groups"):
        nv.convolution(x, tensor({"H": 3, "C": 4 // groups, "K": 7})[0], ["H"], groups=groups)


def transposed(x, f, strides, dilations, paddings, extra=0):
    """x (N, C, places), f (C, K, window): each element adds its multiple of f; one spatial dimension."""
    length = strides * (x.shape[2] - 1) - sum(paddings) + dilations * (f.shape[2] - 1) + 1 + extra
    result = np.zeros((x.shape[0], f.shape[1], length + sum(paddings) + extra))
    for place in range(x.shape[2]):
        for offset in range(f.shape[2]):
            result[:, :, place * strides + offset * dilations] += x[:, :, place] @ f[:, :, offset]
    return result[:, :, paddings[0]:paddings[0] + length]


@pytest.mark.parametrize(("stride", "dilation", "padding", "extra"), [
    (1, 1, (0, 0), 0), (2, 1, (1, 1), 1), (3, 1, (0, 1), 2), (2, 2, (1, 0), 0), (2, 4, (3, 1), 3), (1, 2, (0, 0), 1)])
def test_deconvolution(stride, dilation, padding, extra):
    """A240: the same roles; each element of x adds a multiple of f to its window."""
    x, a = tensor("N=2, C=3, H=8")
    f, b = tensor("H=3, K=4, C=3")
    expected = transposed(a, b.transpose(2, 1, 0), stride, dilation, padding, extra)
    result = nv.deconvolution(x, f, ["H"], stride, dilation, padding, output_padding=extra)
    check(result, expected, {"N": 2, "K": 4, "H": expected.shape[2]})


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_deconvolution_same(stride, window):
    """A240: "same" multiplies the length by the stride."""
    x, _ = tensor("N=2, C=3, H=8")
    f, _ = tensor({"C": 3, "H": window, "K": 2})
    assert nv.deconvolution(x, f, ["H"], stride, padding="same").shape == (2, 2, 8 * stride)
    back = nv.convolution(nv.placeholder({"N": 2, "K": 2, "H": 8 * stride}), f, ["H"], stride, padding="same")
    assert back.shape == (2, 3, 8)
    with pytest.raises(InvalidArgument, match="decides the output padding"):
        nv.deconvolution(x, f, ["H"], stride, padding="same", output_padding=1)


def test_deconvolution_is_the_transpose():
    """A240: sum(conv(x) * y) is sum(x * deconv(y)), with groups, in two dimensions."""
    x, a = tensor("N=2, C=4, H=8, W=7")
    f, _ = tensor("C=2, K=6, H=3, W=2")
    settings = {"strides": 2, "padding": (1, 1), "groups": 2}
    forward = nv.convolution(x, f, ["H", "W"], **settings)
    y, b = tensor(forward.axes)
    back = nv.deconvolution(y, f, ["H", "W"], **settings, output_padding=[1, 1])
    assert str(back.axes) == str(x.axes)
    np.testing.assert_allclose((forward.numpy() * b).sum(), (a * back.numpy()).sum(), rtol=1e-10)


def test_out_axes():
    """A242: the result's axes in another order, or others of its lengths."""
    x, a = tensor("N=2, C=3, H=8")
    f, b = tensor("C=3, H=3, K=4")
    expected = reference(a, b.transpose(2, 0, 1), (1,), (1,), [(0, 0)])
    check(nv.convolution(x, f, ["H"], out_axes="K=4, N=2, H=6"), expected.transpose(1, 0, 2), "K=4, N=2, H=6")
    check(nv.convolution(x, f, ["H"], out_axes="N=2, C=4, V=6"), expected, "N=2, C=4, V=6")
    with pytest.raises(AxisMismatch):
        nv.convolution(x, f, ["H"], out_axes="N=2, C=4, V=7")


def test_anonymous_tensors():
    """A243: by position: x (N, C, spatial), f (K, C // groups, spatial), for the transpose f (C, K // groups,
    spatial).
    """
    a, b = RNG.standard_normal((2, 4, 8, 7)), RNG.standard_normal((6, 2, 3, 2))
    x, f = nv.constant(a, dtype=nv.float64), nv.constant(b, dtype=nv.float64)
    result = nv.convolution(x, f, strides=(2, 1), padding=[1, "same"], groups=2)
    np.testing.assert_allclose(result.numpy(), reference(a, b, (2, 1), (1, 1), [(1, 1), (0, 1)], 2),
                               rtol=1e-10, atol=1e-12)
    assert not result.is_named and nv.convolution(x, f, [2, 3], groups=2).shape == (2, 6, 6, 6)
    y, g = RNG.standard_normal((2, 3, 8)), RNG.standard_normal((3, 4, 2))
    np.testing.assert_allclose(nv.deconvolution(y, g, strides=2).numpy(), transposed(y, g, 2, 1, (0, 0)),
                               rtol=1e-4, atol=1e-5)
    for call in (lambda: nv.convolution(x, f, [1, 2], groups=2),
                 lambda: nv.convolution(nv.zeros((2, 3)), nv.zeros((2, 3))),
                 lambda: nv.convolution(x, nv.zeros((6, 2, 3)), groups=2), lambda: nv.convolution(x, f)):
        with pytest.raises((InvalidArgument, ShapeMismatch)):
            call()
    with pytest.raises(AxisMismatch, match="both be named"):
        nv.convolution(x, tensor("C=4, H=3, K=2")[0], [2, 3])


def pooled(a, windows, strides, paddings, kind, count_padding=False):
    """Pooling over the last dimensions."""
    rank = len(windows)
    lead = a.ndim - rank
    fill = -np.inf if kind == "max" else 0.0
    x = np.pad(a, [(0, 0)] * lead + paddings, constant_values=fill)
    ones = np.pad(np.ones_like(a), [(0, 0)] * lead + paddings, constant_values=float(count_padding))
    places = [(x.shape[lead + d] - windows[d]) // strides[d] + 1 for d in range(rank)]
    result = np.zeros((*a.shape[:lead], *places))
    for place in itertools.product(*map(range, places)):
        at = (..., *[slice(place[d] * strides[d], place[d] * strides[d] + windows[d]) for d in range(rank)])
        last = tuple(range(-rank, 0))
        result[(..., *place)] = x[at].max(last) if kind == "max" else x[at].sum(last) / ones[at].sum(last)
    return result


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("count_padding", [False, True])
def test_pooling(kind, count_padding):
    """A241, A246: over the axes of the window, with strides of its length unless given; padding counts only if
    asked.
    """
    x, a = tensor("N=2, C=3, H=8, W=7")
    check(nv.pooling(x, kind, {H: 2, "W": 3}), pooled(a, (2, 3), (2, 3), [(0, 0)] * 2, kind), "N=2, C=3, H=4, W=2")
    expected = pooled(a, (3, 3), (2, 1), [(1, 1), (0, 2)], kind, count_padding)
    result = nv.pooling(x, kind, {H: 3, W: 3}, strides={H: 2}, padding=[1, (0, 2)], count_padding=count_padding)
    check(result, expected, {"N": 2, "C": 3, "H": 4, "W": 7})
    assert nv.pooling(x, kind, {H: 3, W: 3}, strides=1, padding="same").shape == x.shape
    turned = nv.axes_with_order(x, ["W", "N", "H", "C"])
    check(nv.pooling(turned, kind, {H: 2}),
          pooled(a.transpose(0, 1, 3, 2), (2,), (2,), [(0, 0)], kind).transpose(2, 0, 3, 1),
          "W=7, N=2, H=4, C=3")
    channels = nv.pooling(x, kind, {C: 3})
    check(channels, (a.max(1) if kind == "max" else a.mean(1))[:, None], "N=2, C=1, H=8, W=7")
    plain = nv.constant(a, dtype=nv.float64)
    np.testing.assert_allclose(nv.pooling(plain, kind, 2).numpy(), pooled(a, (2, 2), (2, 2), [(0, 0)] * 2, kind))
    np.testing.assert_allclose(nv.pooling(plain, kind, [2, 3]).numpy(), pooled(a, (2, 3), (2, 3), [(0, 0)] * 2, kind))


def test_pooling_errors():
    """A241: the kind, the window and its axes."""
    x, _ = tensor("N=2, C=3, H=8")
    with pytest.raises(InvalidArgument, match="unknown kind") as caught:
        nv.pooling(x, "mix", {"H": 2})
    assert caught.value.expected == "'max' or 'avg'"
    for window, kind in (({"V": 2}, AxisMismatch), (2, WrongKind), ({}, InvalidArgument), ({"H": 0}, InvalidArgument),
                         ({"H": 9}, ShapeMismatch), ({"H": 1.5}, WrongKind)):
        with pytest.raises(kind):
            nv.pooling(x, "max", window)


def test_symbolic_lengths():
    """A238, A241: batch and spatial lengths may be symbolic."""
    x = nv.placeholder([axis("N", dim("n")), C, axis("H", nv.dim("h", min=3))], nv.float64)
    f, b = tensor("C=3, H=3, K=2")
    result = nv.convolution(x, f, ["H"], padding=1)
    assert str(result.axes) == "(N: n, K: 2, H: h)"
    a = RNG.standard_normal((4, 3, 6))
    expected = reference(a, b.transpose(2, 0, 1), (1,), (1,), [(1, 1)])
    np.testing.assert_allclose(nv.computation(result, x)(a), expected, rtol=1e-10)
    mean = nv.pooling(x, "avg", {"H": 2})
    np.testing.assert_allclose(nv.computation(mean, x)(a), pooled(a, (2,), (2,), [(0, 0)], "avg"))


def test_element_types():
    """A230, A241: operands are promoted; averages of integers are float32."""
    x, f = nv.placeholder("N=1, C=2, H=4", nv.float16), nv.placeholder("C=2, H=2, K=3", nv.float32)
    assert nv.convolution(x, f, ["H"]).dtype is nv.float32
    k = nv.placeholder("N=1, H=4", nv.int32)
    assert nv.pooling(k, "avg", {"H": 2}).dtype is nv.float32 and nv.pooling(k, "max", {"H": 2}).dtype is nv.int32


@pytest.mark.parametrize("build", [
    lambda x, f: nv.convolution(x, f, ["H"], strides=2, padding=1),
    lambda x, f: nv.deconvolution(x, f, ["H"], strides=2),
    lambda x, f: nv.convolution(x, f, ["H"], dilations=2, padding="same") * nv.sum(f)])
def test_derivatives(build):
    """A230, A240: with respect to both, twice."""
    nv.testing.check_grads(build, [tensor("N=2, C=3, H=5")[0], tensor("C=3, H=3, K=2")[0]])


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_derivatives_of_pooling(kind):
    """A241: twice."""
    x, _ = tensor("N=2, H=6, W=5")
    nv.testing.check_grads(lambda x: nv.pooling(x, kind, {"H": 3, "W": 2}, strides=1, padding="same") ** 2.0, [x])


FILTER = np.float32([[[1, 2, 4]]])
ON_WINDOWS = {
    "convolution": lambda x: nv.convolution(x, FILTER), "strided": lambda x: nv.convolution(x, FILTER, strides=2),
    "far": lambda x: nv.convolution(x, FILTER, strides=4), "same": lambda x: nv.convolution(x, FILTER, padding="same"),
    "dilated": lambda x: nv.convolution(x, FILTER, dilations=2, padding=1),
    "of 1": lambda x: nv.convolution(x, FILTER[..., :1]),
    "cropped": lambda x: nv.convolution(x, FILTER[..., :1], padding=(-1, -1), strides=2),
    "transposed": lambda x: nv.deconvolution(x, FILTER, strides=2),
    "padded": lambda x: nv.deconvolution(x, FILTER, padding=1),
    "largest": lambda x: nv.pooling(x, "max", 3), "mean": lambda x: nv.pooling(x, "avg", 3, strides=1, padding=1),
    "mean of 1": lambda x: nv.pooling(x, "avg", 1),
    "slope": lambda x: nv.deriv(nv.sum(nv.convolution(x, FILTER, strides=4)), x),
    "view": lambda x: nv.Tensor(nv.ops.Windows(x.value, (2,), (3,), (4,)))}


def outcome(compute):
    """The elements, or the kind of the error."""
    try:
        return compute().tolist()
    except ValueError as error:
        return type(error)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", ON_WINDOWS)
def test_symbolic_lengths_give_what_numbers_give(name, transformer):
    """A245, A268: results, empty ones and errors, for lengths that the window fits and for others."""
    function = ON_WINDOWS[name]
    with nv.transformers.make_transformer(transformer) as made:
        x = nv.placeholder((1, 1, dim("n")))
        compute = made.computation(function(x), x)
        for length in range(6):
            array = np.arange(1.0, length + 1, dtype=np.float32).reshape(1, 1, length)
            known = nv.placeholder((1, 1, length))
            expected = outcome(lambda: made.computation(function(known), known)(array))  # noqa: B023  # at once
            assert outcome(lambda: compute(array)) == expected  # noqa: B023  # at once


def test_a_length_that_no_window_fits_is_named():
    """A268: with the length that would do and the user's line."""
    x = nv.placeholder((1, 1, dim("n")))
    compute = nv.computation(nv.pooling(x, "max", 3), x)
    with pytest.raises(ShapeMismatch, match="n is too small in this call") as caught:
        compute(np.zeros((1, 1, 2), np.float32))
    assert caught.value.op == "MaxPool" and "at least 3" in caught.value.expected
    assert caught.value.location.file == __file__ and "min=" in caught.value.help
    safe = nv.placeholder((1, 1, dim("n", min=3)))
    assert nv.computation(nv.pooling(safe, "max", 3), safe).function.assumptions == ()
