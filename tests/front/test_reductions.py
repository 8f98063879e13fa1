"""Reductions over axes, names or positions; softmax and losses, whose default axes are the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, WrongKind
from nervure.types.axis import axis
from nervure.types.dim import dim
from tests.front.tensors import check_close as check

N, REC, C, H = axis("N", 2), axis("REC", 3), axis("C", 4), axis("H", 5)
ARRAY = np.random.default_rng(1).standard_normal((2, 3, 4, 5))
X = nv.constant(ARRAY, axes=[N, REC, C, H], dtype=nv.float64)

REFERENCES = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "variance": np.var, "std": np.std,
    "squared_L2": lambda a, axis: np.sum(a * a, axis), "L2_norm": lambda a, axis: np.sqrt(np.sum(a * a, axis)),
    "L1_norm": lambda a, axis: np.sum(np.abs(a), axis), "logsumexp": lambda a, axis: scipy.special.logsumexp(a, axis),
    "logmeanexp": lambda a, axis: np.log(np.mean(np.exp(a), axis)),
    "any": lambda a, axis: np.any(a, axis), "all": lambda a, axis: np.all(a, axis), "count_nonzero": np.count_nonzero}
POSITIONS = {"argmax": np.argmax, "argmin": np.argmin}


@pytest.mark.parametrize("name", REFERENCES)
def test_reductions(name):
    """A160, A161, A162, A164, A171: every name, over some axes, none, all, and by default all but N and REC."""
    reduce, reference = getattr(nv, name), REFERENCES[name]
    check(reduce(X, [C]), reference(ARRAY, axis=2), [N, REC, H])
    check(reduce(X, out_axes=[N, C]), reference(ARRAY, axis=(1, 3)), [N, C])
    check(reduce(X), reference(ARRAY, axis=(2, 3)), [N, REC])
    check(reduce(X, out_axes=()), reference(ARRAY, axis=(0, 1, 2, 3)), [])
    nothing = reduce(X, reduction_axes=[])
    assert nothing.axes == X.axes
    singles = reference(ARRAY[..., None], axis=-1)
    np.testing.assert_allclose(nothing.numpy(), singles, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_of_extrema(name):
    """A160, A162, A164: positions within the reduced axes, taken as one."""
    reduce, reference = getattr(nv, name), POSITIONS[name]
    check(reduce(X, [C]), reference(ARRAY, axis=2), [N, REC, H])
    check(reduce(X), reference(ARRAY.reshape(2, 3, 20), axis=2), [N, REC])
    check(reduce(X, out_axes=()), reference(ARRAY), [])


def test_both_kinds_of_axes():
    """A163: reduction_axes and out_axes together are a partition of the axes."""
    check(nv.sum(X, [REC, H], [C, N]), ARRAY.sum((1, 3)).T, [C, N])
    for reduction_axes, out_axes in (([REC], [C, N]), ([REC, H, C], [C, N]), ([], [N])):
        with pytest.raises(InvalidArgument, match="disjoint and cover"):
            nv.sum(X, reduction_axes, out_axes)


def test_defaults():
    """A164: all but N and REC for named tensors, all for anonymous ones; positions do not matter."""
    y = nv.axes_with_order(X, [C, N, H, REC])
    check(nv.sum(y), ARRAY.sum((2, 3)), [N, REC])
    assert nv.sum(nv.constant(ARRAY)).shape == () and nv.mean(nv.placeholder("H=3, W=4")).shape == ()
    shifted = nv.placeholder([N.offset(-1), H])
    assert [str(one) for one in nv.max(shifted).axes] == ["N-1: 2"]


def test_order_of_the_result():
    """A165: out_axes may reorder."""
    check(nv.sum(X, out_axes=[C, N]), ARRAY.sum((1, 3)).T, [C, N])
    check(nv.max(X, out_axes=[H, REC, N, C]), ARRAY.transpose(3, 1, 0, 2), [H, REC, N, C])
    check(nv.argmax(X, out_axes=[C, N]), ARRAY.transpose(2, 0, 1, 3).reshape(4, 2, 15).argmax(-1), [C, N])


@pytest.mark.parametrize("axes",
                         [[C, H], (C, H), nv.make_axes([C, H]), "C=4, H=5", ["C", "H"], [2, 3], [-2, H], {C: 1, H: 1}],
                         ids=str)
def test_ways_to_give_axes(axes):
    """A166: a list, a tuple, Axes, a string, names, positions, any iterable."""
    check(nv.sum(X, axes), ARRAY.sum((2, 3)), [N, REC])


def test_other_ways_to_give_axes():
    """A166: one axis, and a generator."""
    for axes in (H, "H", 3, -1, "H=5"):
        check(nv.sum(X, axes), ARRAY.sum(3), [N, REC, C])
    check(nv.sum(X, (one for one in [C, H])), ARRAY.sum((2, 3)), [N, REC])
    with pytest.raises(AxisMismatch):
        nv.sum(X, axis("H", 6))
    with pytest.raises(InvalidArgument, match="given twice"):
        nv.sum(X, [C, C])
    with pytest.raises(IndexError):
        nv.sum(X, 4)


def test_ddof():
    """A167: variance and std divide by n - ddof."""
    check(nv.variance(X, H, ddof=1), ARRAY.var(3, ddof=1), [N, REC, C])
    check(nv.std(X, [C, H], ddof=2), ARRAY.std((2, 3), ddof=2), [N, REC])


EMPTY = {"sum": 0.0, "prod": 1.0, "mean": np.nan, "any": False, "all": True, "L1_norm": 0.0,
         "squared_L2": 0.0, "L2_norm": 0.0, "count_nonzero": 0}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    """A168: over no elements, of lengths that are known and of those that are not."""
    reduce = getattr(nv, name)
    np.testing.assert_array_equal(reduce(nv.zeros("A=2, B=0"), "B").numpy(), np.full(2, EMPTY[name]))
    x = nv.placeholder((dim("n"),))
    np.testing.assert_array_equal(nv.computation(reduce(x, 0), x)(np.zeros(0, np.float32)), EMPTY[name])


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_empty_has_no_extremum(name):
    """A168: a ValueError, when the op is built or, where the length is not known, by the call."""
    reduce = getattr(nv, name)
    with pytest.raises(InvalidArgument, match="empty"):
        reduce(nv.zeros("A=2, B=0"), "B")
    assert reduce(nv.zeros("A=2, B=0"), "A").shape == (0,)
    x = nv.placeholder((dim("n"),))
    f = nv.computation(reduce(x, 0), x)
    f(np.zeros(1, np.float32))
    with pytest.raises(ValueError):
        f(np.zeros(0, np.float32))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_softmax_of_nothing(name, transformer):
    """A168: an empty axis of symbolic length has no elements, and so does the derivative; what attends to it is 0."""
    x, v = nv.placeholder((2, dim("n"))), nv.placeholder((dim("n"), 3))
    y = getattr(nv, name)(x, axis=1)
    summed = nv.logsumexp(x, axis=1)
    loss = nv.sum(nv.sin(y)) + nv.sum(summed)
    with nv.transformers.make_transformer(transformer) as made:
        f = made.computation([y, nv.deriv(loss, x), y @ v, summed], x, v)
        y, slopes, seen, summed = f(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32))
        assert y.shape == slopes.shape == (2, 0)
        assert seen.tolist() == [[0.0] * 3] * 2 and summed.tolist() == [-np.inf] * 2
        y, slopes, seen, summed = f(np.zeros((2, 4), np.float32), np.ones((4, 3), np.float32))
        np.testing.assert_allclose(summed, np.log([4.0] * 2), rtol=1e-6)


@pytest.mark.parametrize("length", [0, dim("n")])
def test_cross_entropy_of_no_classes(length):
    """A168: of targets that are probabilities it is 0."""
    x, t = nv.placeholder((2, length)), nv.placeholder((2, length))
    loss = nv.nn.losses.cross_entropy(x, t, axis=1)
    nothing = np.zeros((2, 0), np.float32)
    value, slopes = nv.computation([loss, nv.deriv(loss, x)], x, t)(nothing, nothing)
    assert value == 0 and slopes.shape == (2, 0)


BEGUN = ["sum", "prod", "max", "min"]


@pytest.mark.parametrize("name", BEGUN)
@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_a_reduction_begins_with_a_number(name, transformer):
    """A301: as NumPy's, for any length; of the methods and NumPy's own functions, too."""
    reduce, reference = getattr(nv, name), getattr(np, name)
    x = nv.placeholder((2, dim("n")))
    with nv.transformers.make_transformer(transformer) as made:
        for initial in (0, 2.5, -np.inf):
            f = made.computation([reduce(x, axis=1, initial=initial), getattr(x, name)(axis=1, initial=initial),
                                  reference(x, axis=1, initial=initial)], x)
            for length in (0, 1, 3):
                a = np.random.default_rng(length).normal(size=(2, length)).astype(np.float32)
                for result in f(a):
                    np.testing.assert_allclose(result, reference(a, axis=1, initial=initial), rtol=1e-6)


def test_what_a_reduction_begins_with():
    """A301: a number of the element type; only an element that counts has a derivative; one rounding in all."""
    assert nv.max(np.zeros(0, np.int8), initial=-128).item() == -128 and nv.max(np.ones(2, np.int8)).dtype is nv.int8
    assert nv.min(np.zeros((2, 0)), axis=1, initial=np.inf).tolist() == [np.inf] * 2
    v = nv.variable((3,), [1.0, 2.0, 3.0])
    assert nv.deriv(nv.max(v, initial=2.5), v).tolist() == [0, 0, 1]
    assert nv.deriv(nv.max(v, initial=9), v).tolist() == [0, 0, 0]
    half = nv.constant([2048.0, 1.0], dtype=nv.float16)
    assert nv.sum(half, initial=1).item() == 2050
    assert nv.max(nv.constant([[1, 5]]), axis=1, keepdims=True, initial=7).tolist() == [[7]]
    for wrong, kind in ((2.5, InvalidArgument), (300, InvalidArgument), ("a", WrongKind), (v, WrongKind)):
        with pytest.raises(kind) as caught:
            nv.max(np.ones(2, np.int8), initial=wrong)
        assert caught.value.op == "max" and caught.value.operand == "initial"


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_lengths_of_0_are_as_symbols_that_are_0(name):
    """A168: an error where the result would have elements, in the same words, and else none."""
    reduce = getattr(nv, name)
    n, m = dim("n"), dim("m")
    x = nv.placeholder((n, m))
    f = nv.transformers.make_transformer("interpreter").computation(reduce(x, axis=1), x)
    assert f(np.zeros((0, 0), np.float32)).shape == reduce(np.zeros((0, 0)), axis=1).shape == (0,)
    with pytest.raises(InvalidArgument) as known:
        reduce(np.zeros((2, 0), np.float32), axis=1)
    with pytest.raises(InvalidArgument) as found:
        f(np.zeros((2, 0), np.float32))
    assert found.value.message == known.value.message and found.value.help == known.value.help
    assert found.value.got == f"{known.value.got}, as n is 2, m is 0"


@pytest.mark.parametrize("name", [*REFERENCES, *POSITIONS])
def test_numpy_spelling(name):
    """A169: axis= and keepdims=, for anonymous and named tensors."""
    reduce, reference = getattr(nv, name), {**REFERENCES, **POSITIONS}[name]
    x = nv.constant(ARRAY, dtype=nv.float64)
    np.testing.assert_allclose(reduce(x, axis=1).numpy(), reference(ARRAY, axis=1), rtol=1e-12)
    np.testing.assert_allclose(reduce(x, axis=-1, keepdims=True).numpy(),
                               reference(ARRAY, axis=-1)[..., None], rtol=1e-12)
    kept = reduce(X, axis=C, keepdims=True)
    assert [str(one) for one in kept.axes] == ["N: 2", "REC: 3", "C: 1", "H: 5"]
    with pytest.raises(InvalidArgument, match="say the same"):
        reduce(X, [C], axis=1)


def test_methods():
    """A169: the common ones are methods too."""
    x = nv.constant(ARRAY, dtype=nv.float64)
    for name in ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "any", "all"):
        np.testing.assert_allclose(getattr(x, name)(axis=2).numpy(), getattr(ARRAY, name)(axis=2), rtol=1e-12)
    np.testing.assert_allclose(x.var(axis=0).numpy(), ARRAY.var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "argmax", "any"])
def test_functions_of_numpy(name):
    """A169: NumPy's own functions of tensors make tensors; an array to write into is a TypeError."""
    x, function = nv.constant(ARRAY, dtype=nv.float64), getattr(np, name)
    for arguments in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}):
        result = function(x, **arguments)
        assert isinstance(result, nv.Tensor)
        np.testing.assert_allclose(result.numpy(), function(ARRAY, **arguments), rtol=1e-12)
    assert nv.constant([1.5]).sum(dtype=nv.float64).dtype is nv.float64
    with pytest.raises(TypeError, match="not computed into an array"):
        np.sum(x, axis=0, out=np.zeros(ARRAY.shape[1:]))


def test_ties_and_nan():
    """A170: the first of equal ones; NaN before all numbers; extrema carry NaN."""
    x = nv.constant([[1.0, 3.0, 3.0], [np.nan, 3.0, np.nan]])
    assert x.argmax(axis=1).tolist() == [1, 0] and x.argmin(axis=1).tolist() == [0, 0]
    assert x.max(axis=1).tolist()[0] == 3.0 and np.isnan(x.min(axis=1).numpy()[1])
    v = nv.variable((3,), [1.0, 3.0, 3.0])
    assert nv.deriv(nv.max(v), v).tolist() == [0.0, 0.5, 0.5]


def test_sizes():
    """A171: how many elements are reduced."""
    n = nv.placeholder("N=n, H=3")
    assert nv.computation(nv.tensor_size(n, out_axes=()), n)(np.zeros((4, 3), np.float32)).item() == 12.0
    assert nv.tensor_size(X).item() == 20.0 and nv.batch_size(X).item() == 2.0
    assert nv.batch_size(nv.zeros((3,))).item() == 1.0


@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "variance", "std", "squared_L2", "L2_norm",
                                  "L1_norm", "logsumexp"])
def test_derivatives(name):
    """A160: twice, against differences."""
    x = nv.constant(ARRAY[0, 0], axes=[C, H], dtype=nv.float64)
    nv.testing.check_grads(lambda x: getattr(nv, name)(x, "H") ** 2.0, [x], rtol=1e-5)


# -- softmax and losses ----------------------------------------------------------------------------


def test_softmax():
    """A172: along all but N and REC, or along the axes that are given."""
    check(nv.softmax(X), scipy.special.softmax(ARRAY, axis=(2, 3)), X.axes)
    check(nv.softmax(X, C), scipy.special.softmax(ARRAY, axis=2), X.axes)
    check(nv.log_softmax(X, ["C", "N"]), scipy.special.log_softmax(ARRAY, axis=(0, 2)), X.axes)
    np.testing.assert_allclose(nv.softmax(nv.constant(ARRAY, dtype=nv.float64), axis=-1).numpy(),
                               scipy.special.softmax(ARRAY, -1))
    assert nv.softmax(nv.constant([1000.0, 0.0])).tolist() == [1.0, 0.0]
    assert nv.softmax(nv.placeholder((3,), nv.int32)).dtype is nv.float32
    nv.testing.check_grads(nv.softmax, [X], rtol=1e-5)


NORMALISED = {"softmax": nv.softmax, "log_softmax": nv.log_softmax, "layer_norm": nv.layer_norm,
              "rms_norm": nv.rms_norm}


@pytest.mark.parametrize("name", NORMALISED)
def test_the_axes_of_an_anonymous_tensor_have_to_be_said(name):
    """A256: with two axes or more, and where there is none but N and REC; axis= says it for all alike."""
    function = NORMALISED[name]
    rows = nv.constant(np.arange(6.0).reshape(2, 3))
    for unclear in (rows, nv.ones((2, 3, 4)), nv.ones("N=4"), nv.ones("REC=3, N=4")):
        with pytest.raises(InvalidArgument, match="has to be said") as caught:
            function(unclear)
        assert "axis=-1" in caught.value.help and caught.value.op == name
    nv.testing.assert_close(function(rows, axis=-1), nv.stack([function(row) for row in rows]))
    nv.testing.assert_close(function(rows, [1]), function(rows, axis=-1))
    nv.testing.assert_close(function(rows, axis=[0, 1]), function(rows.reshape(-1)).reshape(2, 3))
    assert function(nv.ones("N=4"), "N").shape == (4,)
    with pytest.raises(InvalidArgument, match="say the same"):
        function(rows, 0, axis=0)


def test_the_channels_of_an_anonymous_vector_have_to_be_said():
    """A256: a vector has no second axis; names do not meet an anonymous tensor of another rank."""
    with pytest.raises(AxisMismatch, match="no channel axis"):
        nv.batch_norm(nv.ones((4,)))
    assert nv.batch_norm(nv.ones((4,)), channels=[]).tolist() == [0.0] * 4
    with pytest.raises(AxisMismatch, match="no axis names"):
        nv.batch_norm(nv.ones((4, 3)), scale=nv.ones("C=3"))


T = np.random.default_rng(2).dirichlet(np.ones(4), (2, 3, 5)).transpose(0, 1, 3, 2)


def entropy(y, t, axes):
    return -np.sum(t * np.log(y), axes)


@pytest.mark.parametrize("out_axes", [None, [], [N], [REC, N], [N, REC, H]], ids=str)
def test_cross_entropy(out_axes):
    """A173: summed over all axes but out_axes, by default N and REC; targets in any order of axes; nats or bits."""
    targets = nv.constant(T.transpose(3, 2, 0, 1), axes=[H, C, N, REC], dtype=nv.float64)
    y = scipy.special.softmax(ARRAY, axis=2)
    kept = [N, REC] if out_axes is None else out_axes
    reduced = tuple([at for at, one in enumerate([N, REC, C, H]) if one not in kept])
    expected = entropy(y, T, reduced)
    expected = expected.T if kept == [REC, N] else expected
    for probabilities in (nv.softmax(X, C), nv.constant(y, axes=X.axes, dtype=nv.float64), nv.log_softmax(X, C)):
        check(nv.cross_entropy_multi(probabilities, targets, out_axes=out_axes), expected, kept)
    check(nv.cross_entropy_multi(nv.softmax(X, C), targets, usebits=True, out_axes=out_axes),
          expected / np.log(2), kept)


def test_cross_entropy_of_large_logits():
    """A174: a softmax below is recognised, also through another order of axes, and when an axis of it is kept."""
    logits = nv.constant([[1e4, 0.0, -1e4]], axes="N=1, C=3")
    targets = nv.constant([[0.0, 0.0, 1.0]], axes="N=1, C=3")
    assert nv.cross_entropy_multi(nv.softmax(logits), targets).tolist() == [2e4]
    turned = nv.axes_with_order(nv.softmax(logits), ["C", "N"])
    assert nv.cross_entropy_multi(turned, targets).tolist() == [2e4]
    assert nv.cross_entropy_multi(nv.softmax(logits), targets, out_axes=["N", "C"]).tolist() == [[0.0, 0.0, 2e4]]
    x = nv.variable("N=1, C=3", [[1e4, 0.0, -1e4]])
    gradient = nv.deriv(nv.sum(nv.cross_entropy_multi(nv.softmax(x), targets), out_axes=()), x)
    assert gradient.tolist() == [[1.0, 0.0, -1.0]]
    sure = nv.constant([[1.0, 0.0, 0.0]], axes="N=1, C=3")
    assert nv.cross_entropy_multi(sure, sure).tolist() == [0.0]
    assert np.isfinite(nv.cross_entropy_multi(sure, targets).numpy()).all()


def test_binary_cross_entropy():
    """A175: of probabilities, and of a sigmoid, whose logits are used."""
    rng = np.random.default_rng(3)
    z, t = rng.standard_normal((2, 4)), rng.uniform(size=(4, 2))
    logits = nv.constant(z, axes="N=2, C=4", dtype=nv.float64)
    targets = nv.constant(t, axes="C=4, N=2", dtype=nv.float64)
    y = scipy.special.expit(z)
    expected = -(t.T * np.log(y) + (1 - t.T) * np.log(1 - y)).sum(1)
    for probabilities in (nv.sigmoid(logits), nv.constant(y, axes="N=2, C=4", dtype=nv.float64)):
        check(nv.cross_entropy_binary(probabilities, targets), expected, "N=2")
    check(nv.cross_entropy_binary(nv.sigmoid(logits), targets, usebits=True, out_axes=()),
          expected.sum() / np.log(2), [])
    far = nv.cross_entropy_binary(nv.sigmoid(nv.constant([1e4, -1e4])), nv.constant([0.0, 1.0]))
    assert far.item() == 2e4
    nv.testing.check_grads(lambda z, t: nv.cross_entropy_binary(nv.sigmoid(z), t), [logits, targets], rtol=1e-5)


def test_targets_that_do_not_fit():
    """A176: targets have y's axes, in any order."""
    y = nv.softmax(nv.placeholder("N=2, C=4"))
    for loss in (nv.cross_entropy_multi, nv.cross_entropy_binary):
        for wrong in (nv.placeholder("N=2"), nv.placeholder("N=2, H=4"), nv.placeholder("N=2, C=5")):
            with pytest.raises(AxisMismatch):
                loss(y, wrong)
    assert nv.cross_entropy_multi(y, nv.placeholder("C=4, N=2", nv.uint8)).dtype is nv.float32
    halves = nv.constant([[0.5, 0.5], [0.25, 0.75]])
    for loss in (nv.cross_entropy_multi, nv.cross_entropy_binary):
        named = loss(halves, nv.ones("N=2, C=2"))  # y takes the names, by position, so N stays
        assert named.axes == nv.make_axes("N=2") and named.tolist() == [loss(row, nv.ones(2)).item() for row in halves]


def test_normalisation():
    """A177: by mean and variance along some axes, or for each channel."""
    mean, variance = ARRAY.mean((2, 3), keepdims=True), ARRAY.var((2, 3), keepdims=True)
    check(nv.layer_norm(X), (ARRAY - mean) / np.sqrt(variance + 1e-5), X.axes)
    scale = nv.constant(np.arange(4.0), axes=[C], dtype=nv.float64)
    mean, variance = ARRAY.mean((0, 1, 3), keepdims=True), ARRAY.var((0, 1, 3), keepdims=True)
    expected = (ARRAY - mean) / np.sqrt(variance + 1e-5) * np.arange(4.0)[:, None] + 1
    check(nv.batch_norm(X, scale, 1.0), expected, X.axes)
    y = ARRAY[0]
    plain = nv.constant(y.transpose(0, 2, 1)[..., None], dtype=nv.float64)
    fixed = nv.batch_norm(plain, mean_of=np.arange(5.0), variance_of=np.ones(5))
    np.testing.assert_allclose(fixed.numpy()[..., 0],
                               (y.transpose(0, 2, 1) - np.arange(5.0)[:, None]) / np.sqrt(1 + 1e-5))
    check(nv.rms_norm(X, H), ARRAY / np.sqrt((ARRAY ** 2).mean(3, keepdims=True) + 1e-6), X.axes)
    with pytest.raises(AxisMismatch, match="no channel axis"):
        nv.batch_norm(nv.placeholder("N=2, H=3"))
    nv.testing.check_grads(lambda x: nv.layer_norm(x, H), [X], rtol=1e-4, atol=1e-5)


def test_batch_norm_with_given_statistics_is_one_product_and_one_sum_at_each_element():
    """A177."""
    x, given = nv.placeholder("N=2, C=5, H=4, W=4"), [nv.variable("C=5", value) for value in (0.5, 2.0, 1.0, -1.0)]
    mean, variance, scale, shift = given
    y = nv.batch_norm(x, scale, shift, mean, variance)
    computed = [type(op).__name__ for op in nv.computation(y, x).optimised.operations
                if op.operands and op.outputs[0].shape == x.shape]
    assert [name for name in computed if name != "Broadcast"] == ["Multiply", "Add"]
    image = np.arange(160, dtype=np.float32).reshape(2, 5, 4, 4)
    expected = (image - 0.5) / np.sqrt(2 + 1e-5) - 1
    np.testing.assert_allclose(nv.computation(y, x)(image), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axes, channels", [("N=6, C=5, H=4", None), ((6, 5, 4), None), ("A=6, B=5, H=4", ["A", "B"])],
                         ids=str)
def test_the_sums_of_a_batch_norm_s_gradient_are_the_gradients_of_its_scale_and_shift(axes, channels):
    """A177: four passes over the elements give the statistics and all gradients."""
    x, target = [nv.placeholder(axes, nv.float64) for _ in range(2)]
    own = (5,) if not x.is_named else [entry for entry in x.axes if entry.name in (channels or "C")]
    scale, shift = [nv.variable(own, value, nv.float64) for value in (1.5, 0.5)]
    loss = nv.sum(nv.batch_norm(x, scale, shift, channels=channels) * target, out_axes=())
    step = nv.computation([nv.deriv(loss, entry) for entry in (x, scale, shift)], x, target)
    assert [type(op).__name__ for op in step.optimised.operations].count("Sum") == 4
    over = (2,) if channels else (0, 2)
    a, t = np.random.default_rng(7).standard_normal((2, 6, 5, 4))
    inverse = 1 / np.sqrt(a.var(over, keepdims=True) + 1e-5)
    y = (a - a.mean(over, keepdims=True)) * inverse
    means = [np.mean(entry, over, keepdims=True) for entry in (t, t * y)]
    expected = 1.5 * inverse * (t - means[0] - y * means[1]), (t * y).sum(over), t.sum(over)
    for found, wanted in zip(step(a, t), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_gradient_that_is_scaled_along_the_axes_is_summed_as_it_is():
    """A177: the scale of a layer normalisation differs from element to element of what is normalised."""
    scale = nv.constant(np.arange(1.0, 6.0), axes=[H], dtype=nv.float64)
    nv.testing.check_grads(lambda x, s: nv.layer_norm(x, H, s), [X, scale], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [
    lambda x, t: nv.cross_entropy_multi(nv.softmax(x), t),
    lambda x, t: nv.cross_entropy_multi(nv.softmax(x), t, usebits=True, out_axes=()),
    lambda x, t: nv.cross_entropy_multi(t, t),
    lambda x, t: nv.cross_entropy_binary(nv.sigmoid(x), t, usebits=True),
    lambda x, t: nv.cross_entropy_binary(t, t),
    lambda x, t: nv.layer_norm(x, scale=t, shift=2), lambda x, t: nv.rms_norm(x, scale=t),
    lambda x, t: nv.batch_norm(x, channels="C")], ids=range(8))
def test_low_precision_is_rounded_once(function):
    """A95, A173, A175, A177: half precision gives what float32 gives, rounded at the end."""
    rng = np.random.default_rng(0)
    arrays = [entry.astype(np.float16) for entry in (rng.standard_normal((4, 6)), rng.random((4, 6)))]
    results = {}
    for dtype in (nv.float16, nv.float32):
        inputs = [nv.placeholder("N=4, C=6", dtype) for _ in arrays]
        results[dtype] = nv.computation(function(*inputs), *inputs)(*arrays)
    assert results[nv.float16].dtype == np.float16
    np.testing.assert_array_equal(results[nv.float16], results[nv.float32].astype(np.float16))


SUMS_WITHIN = {
    "mean": nv.mean, "nanmean": nv.nanmean, "nanvar": nv.nanvar, "nanstd": nv.nanstd,
    "average": lambda x: nv.average(x, weights=x), "cov": lambda x: nv.cov(nv.stack([x, x[::-1]])),
    "corrcoef": lambda x: nv.corrcoef(x, x[::-1]), "trapezoid": lambda x: nv.trapezoid(x, dx=0.01),
    "trapezoid_of_places": lambda x: nv.trapezoid(x, x),
    "segment_mean": lambda x: nv.segment_mean(x, nv.convert(x > 100, nv.int64), 2),
    "vector_norm": lambda x: nv.linalg.vector_norm(x, 3),
    "lp_pooling": lambda x: nv.lp_pooling(nv.expand_dims(nv.expand_dims(x, 0), 0), 3, 3.0),
    "density": lambda x: nv.histogram(x, 4, density=True)[0]}


@pytest.mark.parametrize("dtype", [nv.float16, nv.bfloat16])
@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", SUMS_WITHIN)
def test_what_sums_are_within_is_rounded_once(name, transformer, dtype):
    """O45: a sum of low precision that would overflow, or lose what is small, is one of float32."""
    numbers = (80 + np.arange(70_000 if "mean" in name or name == "density" else 1000) % 41).astype(dtype.numpy)
    results = []
    with nv.transformers.make_transformer(transformer) as made:
        for own in (dtype, nv.float32):
            x = nv.placeholder((dim("n", min=3),), own)
            results.append(made.computation(nv.convert(SUMS_WITHIN[name](x), dtype), x)(numbers.astype(own.numpy)))
    found, wanted = [np.asarray(entry, np.float64) for entry in results]
    assert np.isfinite(found).all() and found.any()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wrap", [
    lambda y: y.astype(nv.float64), lambda y: nv.axes_with_order(y, "C=2, N=2"),
    lambda y: nv.axes_with_order(nv.axes_with_order(y.astype(nv.float64), "C=2, N=2"), "N=2, C=2")], ids=range(3))
def test_what_made_the_probabilities_is_seen_through_permutations_and_conversions(wrap):
    """A174, A175: logits of 10,000 are safe, and log-probabilities are not taken for probabilities."""
    logits = nv.constant([[1e4, 0.0], [0.0, 1e4]], axes="N=2, C=2")
    truth = nv.constant([[0.0, 1.0], [0.0, 1.0]], axes="N=2, C=2")
    for probabilities in (nv.softmax(logits), nv.log_softmax(logits)):
        assert nv.cross_entropy_multi(wrap(probabilities), truth).tolist() == [1e4, 0.0]
    binary = nv.cross_entropy_binary(wrap(nv.sigmoid(logits)), truth)
    np.testing.assert_allclose(binary.numpy(), [1e4 + np.log(2), np.log(2)], rtol=1e-6)


@pytest.mark.parametrize(("name", "call"), [
    ("local_response_norm", lambda: nv.local_response_norm(nv.constant(np.ones(3), axes="H=3"), 3)),
    ("batch_norm", lambda: nv.batch_norm(nv.constant(np.ones(3), axes="H=3"))),
    ("cross_entropy_multi", lambda: nv.cross_entropy_multi(nv.ones("C=2"), nv.ones("C=2"), usebits="yes")),
    ("cross_entropy_binary", lambda: nv.cross_entropy_binary(nv.ones("C=2"), nv.ones("C=2"), usebits="yes"))])
def test_errors_of_norms_and_entropies_name_the_function_that_was_called(name, call):
    with pytest.raises(nv.NervureError) as caught:
        call()
    assert caught.value.op == name
