"""Losses beyond their numbers: axes, extremes, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.nn import loss_parts, losses

LOGITS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
LABELS = np.array([2, 0, 3])


def test_the_axis_of_classes_is_found():
    """T225: the one that class numbers lack; the second of plain axes; or the one that is given."""
    expected = losses.cross_entropy(LOGITS, LABELS).item()
    for logits, labels, axis in (
            (nv.constant(LOGITS, "N=3, Y=4"), nv.constant(LABELS, "N=3"), None),
            (nv.constant(LOGITS.T.copy(), "Y=4, N=3"), nv.constant(LABELS, "N=3"), None),
            (nv.constant(LOGITS, "N=3, Y=4"), LABELS, None), (nv.constant(LOGITS, "M=3, Y=4"), LABELS, "Y"),
            (LOGITS.T.copy(), LABELS, 0), (LOGITS, [2, 0, 3], -1)):
        assert losses.cross_entropy(logits, labels, axis).item() == pytest.approx(expected, rel=1e-6)


def test_a_class_number_alone():
    """T225: Python's integer is one, as in a list."""
    for number in (2, np.int32(2), np.array(2)):
        for loss in (losses.cross_entropy, losses.negative_log_likelihood, losses.multi_margin):
            assert loss(LOGITS[0], number).item() == pytest.approx(loss(LOGITS[:1], [2]).item(), rel=1e-6)
    with pytest.raises(WrongKind, match="class numbers are integers"):
        losses.cross_entropy(LOGITS[0], 2.0)


def test_extreme_logits_stay_finite():
    """T225: and so do their gradients."""
    x = nv.variable((1, 2), [[0.0, 1000.0]])
    loss = losses.cross_entropy(x, [0])
    assert loss.item() == 1000.0 and nv.deriv(loss, x).tolist() == [[-1.0, 1.0]]
    y = nv.variable((2,), [1000.0, -1000.0])
    loss = losses.binary_cross_entropy(y, [0.0, 1.0], reduction="sum")
    assert loss.item() == 2000.0 and nv.deriv(loss, y).tolist() == [1.0, -1.0]


def test_reductions():
    """T224: over all numbers, over the batch, or not at all."""
    x = nv.constant([[1, 2], [3, 4], [5, 6]], "N=3, F=2")
    found = {name: losses.mean_squared_error(x, 0.0, name).tolist() for name in loss_parts.REDUCTIONS}
    assert found["sum"] == 91.0 and found["mean"] == pytest.approx(91 / 6) and found["batch"] == pytest.approx(91 / 3)
    assert found["none"] == [[1.0, 4.0], [9.0, 16.0], [25.0, 36.0]]
    assert losses.mean_squared_error(x.numpy(), 0.0, "batch").item() == pytest.approx(91 / 3)


def test_scores_meet_signs():
    """T227: what is on the right side by the margin costs nothing."""
    assert losses.hinge([0.5, 2.0, -3.0], [1.0, 1.0, -1.0], reduction="none").tolist() == [0.5, 0.0, 0.0]
    assert losses.hinge([0.5], [-1.0], margin=2.0).item() == 2.5


def test_any_batch_is_served_by_one_graph():
    """T224: lengths may be symbols, of axes with names and without."""
    for axes, own in (("N=n, Y=4", "N=n"), ((nv.dim("n"), 4), (nv.dim("n"),))):
        x, t = nv.placeholder(axes), nv.placeholder(own, dtype=nv.int64)
        loss = nv.computation(losses.cross_entropy(x, t, weights=[1, 2, 3, 4], smoothing=0.1, ignore_index=0), x, t)
        found = [float(loss(LOGITS[:rows], LABELS[:rows])) for rows in (1, 3)]
        expected = [losses.cross_entropy(LOGITS[:rows], LABELS[:rows], weights=[1, 2, 3, 4], smoothing=0.1,
                                         ignore_index=0).item() for rows in (1, 3)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("shape", [(3, 4), (nv.dim("n"), nv.dim("k", min=1))], ids=["numbers", "symbols"])
def test_smoothing_has_the_digits_of_the_logits(shape, transformer):
    """T224: what each class gets is computed in float64 where they are."""
    x = np.random.default_rng(3).standard_normal((3, 4))
    place = nv.placeholder(shape, nv.float64)
    loss = losses.cross_entropy(place, nv.constant(LABELS, dtype=nv.int64), smoothing=0.1)
    with nv.transformers.make_transformer(transformer) as made:
        found = made.computation([loss, nv.deriv(loss, place)], place)(x)
    shares = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    goal = 0.9 * np.eye(4)[LABELS] + 0.1 / 4
    np.testing.assert_allclose(found[0], -(goal * np.log(shares)).sum() / 3, rtol=1e-14)
    np.testing.assert_allclose(found[1], (shares - goal) / 3, rtol=1e-13, atol=1e-15)


def test_low_precision_is_rounded_once():
    """T224: sums are taken in float32."""
    x = nv.constant(np.float16([[1, 2, 3, 4]] * 3))
    found = losses.cross_entropy(x, LABELS)
    assert found.dtype == nv.float16
    assert found.item() == pytest.approx(losses.cross_entropy(x.astype(nv.float32), LABELS).item(), rel=1e-3)


@pytest.mark.parametrize(("make", "kind", "words"), [
    (lambda: losses.mean_squared_error(np.zeros((3, 1)), np.zeros(3)), AxisMismatch, "would be spread"),
    (lambda: losses.mean_squared_error(np.zeros((3, 1)), np.zeros((3, 2))), ShapeMismatch, "other lengths"),
    (lambda: losses.mean_squared_error(np.zeros((3, 2)), np.zeros((3, 1))), ShapeMismatch, "other lengths"),
    (lambda: losses.cross_entropy(LOGITS, [1]), ShapeMismatch, "do not fit"),
    (lambda: losses.cross_entropy(LOGITS, LOGITS[:1]), ShapeMismatch, "do not fit"),
    (lambda: losses.mean_squared_error(nv.zeros("N=3"), nv.zeros("M=3")), AxisMismatch, "lacks"),
    (lambda: losses.mean_squared_error([1.0], [1.0], "avg"), InvalidArgument, "unknown reduction"),
    (lambda: losses.cross_entropy(LOGITS, np.float32([0, 1, 2])), WrongKind, "class numbers are integers"),
    (lambda: losses.cross_entropy(LOGITS, LABELS, weights=np.ones((3, 4))), ShapeMismatch, "each class"),
    (lambda: losses.cross_entropy(LOGITS, LABELS, weights=[1.0, 2.0]), ShapeMismatch, "broadcast"),
    (lambda: losses.cross_entropy(LOGITS, LABELS, smoothing=2), InvalidArgument, "smoothing"),
    (lambda: losses.cross_entropy(LOGITS, np.abs(LOGITS), ignore_index=1), InvalidArgument, "class numbers"),
    (lambda: losses.cross_entropy(nv.zeros("N=3, A=4, B=5"), nv.zeros("N=3, A=4, B=5")), AxisMismatch, "axis="),
    (lambda: losses.cross_entropy(1.0, 0), ShapeMismatch, "axis of classes"),
    (lambda: losses.cross_entropy(LOGITS, LABELS, ignore=3), WrongKind, "here it is ignore_index="),
    (lambda: losses.huber([1.0], [2.0], delta=0), InvalidArgument, "delta is positive"),
    (lambda: losses.cosine_similarity(nv.zeros("N=2, A=3, B=4"), nv.zeros("N=2, A=3, B=4")), AxisMismatch, "axis=")],
    ids=range(17))
def test_what_does_not_fit_is_refused(make, kind, words):
    """T228: a target that would be spread along an axis, above all."""
    with pytest.raises(kind) as caught:
        make()
    assert words in f"{caught.value} {caught.value.help}" and caught.value.location.file == __file__


X, Y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[0.5, 2.5], [2.0, 4.0]])
OF_TWO = {
    **{name: getattr(losses, name) for name in (
        "mean_squared_error", "mean_absolute_error", "huber", "smooth_l1", "poisson", "binary_cross_entropy",
        "kl_divergence", "hinge", "cosine_similarity", "cross_entropy", "negative_log_likelihood")},
    "gaussian": lambda x, y: losses.gaussian(x, y, [[1.0, 2.0], [3.0, 4.0]]),
    "weighted": lambda x, y: losses.binary_cross_entropy(x, y, weights=np.ones((2, 2)),
                                                         positive_weights=[[2.0, 1.0]] * 2),
    "margin_ranking": lambda x, y: losses.margin_ranking(x, y, [[1.0, -1.0]] * 2),
    "cosine_embedding": lambda x, y: losses.cosine_embedding(x, y, np.array([1.0, -1.0])),
    "hinge of signs": lambda x, y: losses.hinge(x, np.array([[1.0, -1.0]] * 2)),
    "triplet_margin": lambda x, y: losses.triplet_margin(x, y, nv.negative(y))}


@pytest.mark.parametrize("loss", OF_TWO.values(), ids=OF_TWO)
def test_a_loss_has_the_type_of_what_is_compared(loss):
    """T350: computed in float32 and rounded once; signs, weights and variances do not count."""
    whole = loss(nv.constant(X, dtype=nv.float64), nv.constant(Y, dtype=nv.float64))
    for dtype in (nv.float16, nv.bfloat16, nv.float32):
        found = loss(nv.constant(X, dtype=dtype), nv.constant(Y, dtype=dtype))
        wide = loss(nv.constant(X, dtype=nv.float32), nv.constant(Y, dtype=nv.float32))
        assert found.dtype is dtype and (found == wide.astype(dtype)).numpy().all()
    assert whole.dtype is nv.float64
    np.testing.assert_allclose(wide.numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mean_squared_error", "mean_absolute_error", "huber", "smooth_l1"])
def test_a_distance_of_complex_numbers_is_real(name):
    """T351: that of their difference, a real number."""
    x, y = np.complex64([3 + 4j, 1j]), np.complex64([0, 1])
    for dtype, real in ((np.complex64, nv.float32), (np.complex128, nv.float64)):
        found = getattr(losses, name)(x.astype(dtype), y.astype(dtype))
        expected = getattr(losses, name)(np.abs(x - y), np.zeros(2))
        assert found.dtype is real and found.item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("loss", [losses.cross_entropy, losses.negative_log_likelihood])
def test_a_class_below_0_is_none(transformer, dtype, loss):
    """T352: not the last one; ``ignore_index`` may be such a number, and the rest counts as it does without."""
    labels = nv.placeholder((3,), dtype)
    with nv.transformers.make_transformer(transformer) as made:
        step = made.computation([loss(LOGITS, labels), loss(LOGITS, labels, ignore_index=1)], labels)
        if dtype != "uint8":
            with pytest.raises(IndexError, match="ignore_index"):
                step([0, -1, 2])
            skipping = made.computation(loss(LOGITS, labels, ignore_index=-1), labels)
            assert skipping([0, -1, 2]).item() == pytest.approx(loss(LOGITS[::2], [0, 2]).item(), rel=1e-6)
        with pytest.raises(IndexError):
            step([0, 4, 2])
        assert step([0, 1, 2])[1].item() == pytest.approx(loss(LOGITS[::2], [0, 2]).item(), rel=1e-6)


def test_a_class_that_there_is_not_is_found_when_it_runs():
    """T228: as an index out of range."""
    with pytest.raises(IndexError):
        losses.cross_entropy(LOGITS, [0, 1, 4]).item()


@pytest.mark.parametrize(("shape", "targets", "expected", "told"), [
    ((4, 10), np.zeros(5, int), "class numbers (4,), or probabilities (4, 10)", "here it is axis=1"),
    ((4, 10), np.zeros((4, 1), int), "class numbers (4,), or probabilities (4, 10)", "nv.squeeze(targets, 1)"),
    ((4, 10, 7), np.zeros((4, 10), int), "class numbers (4, 7), or probabilities (4, 10, 7)", "axis=2 would fit"),
    ((4, 10), np.zeros((4, 3, 3), int), "class numbers (4,), or probabilities (4, 10)", "axis="),
    ((nv.dim("n"), 10), np.zeros(4, np.float32), "class numbers (n,), or probabilities (n, 10)", "nv.int64"),
    ("N=n, Y=10", np.zeros((4, 3, 3), int), "class numbers (N: n), or probabilities (N: n, Y: 10)", "axis='Y'")],
    ids=range(6))
def test_targets_that_fit_no_logits(shape, targets, expected, told):
    """T412: what shape they must have, and how the axis of the classes is said."""
    for loss in (losses.cross_entropy, losses.negative_log_likelihood):
        with pytest.raises(nv.NervureError) as caught:
            loss(nv.placeholder(shape), targets)
        assert caught.value.operand == "targets" and caught.value.expected == expected
        assert told in caught.value.help


POSITIVE, SHARES, SIGNS = np.exp(LOGITS), 1 / (1 + np.exp(-LOGITS[::-1])), np.sign(LOGITS)
STEPS = np.log(np.random.default_rng(1).dirichlet(np.ones(4), (3, 2))).astype(np.float32)
PREDICTED = (LOGITS, "NY")
OF_NAMES = {
    **{name: [PREDICTED, (SHARES, "NY")] for name in (
        "binary_cross_entropy", "cosine_similarity", "cross_entropy", "dice", "focal", "huber", "info_nce",
        "kl_divergence", "mean_absolute_error", "mean_squared_error", "pairwise_distance", "poisson", "smooth_l1")},
    **{name: [PREDICTED, (SIGNS, "NY")] for name in ("hinge", "hinge_embedding", "soft_margin")},
    **{name: [PREDICTED, (np.maximum(SIGNS, 0), "NY")] for name in ("multilabel_margin", "multilabel_soft_margin")},
    **{name: [PREDICTED, (LABELS, "N")] for name in ("multi_margin", "negative_log_likelihood")},
    "cosine_embedding": [PREDICTED, (SHARES, "NY"), (np.float32([1, -1, 1]), "N")],
    "ctc": [(STEPS, "TNY"), (np.array([[1, 2], [3, 1]]), "NS")],
    "gaussian": [PREDICTED, (SHARES, "NY"), (POSITIVE, "NY")],
    "linear_cross_entropy": [PREDICTED, (SIGNS.T, "YK"), (np.array([1, 0, 1]), "N")],
    "margin_ranking": [PREDICTED, (SHARES, "NY"), (SIGNS, "NY")],
    "triplet_margin": [PREDICTED, (SHARES, "NY"), (POSITIVE, "NY")]}


@pytest.mark.parametrize("name", losses.__all__)
@pytest.mark.parametrize("order", [1, -1])
def test_names_say_what_positions_do(name, order):
    """T228: forwards and backwards; so do they in the gradient."""
    settings = {} if name in ("cosine_similarity", "pairwise_distance") else {"reduction": "none"}
    found = []
    for has_names in (False, True):
        x, *others = [nv.constant(array, dict(zip(names, array.shape)) if has_names else None,
                                  dtype=nv.as_dtype(array.dtype)) for array, names in OF_NAMES[name]]
        own = nv.variable(x.axes, x.numpy())
        loss = getattr(losses, name)(*[nv.axes_with_order(entry, entry.axes[::order]) if has_names else entry
                                       for entry in (own, *others)], **settings)
        if loss.is_named:
            loss = nv.axes_with_order(loss, [axis for axis in x.axes if axis in loss.axes])
        found.append(nv.evaluate([loss, nv.deriv(nv.sum(loss, out_axes=()), own)]))
    for mine, expected in zip(*found):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


def test_margins_of_weighted_classes_with_names():
    """T420."""
    expected = losses.multi_margin(LOGITS, LABELS, 2, 0.7, [1, 2, 3, 4]).item()
    for axes, scores in (("N=3, Y=4", LOGITS), ("Y=4, N=n", LOGITS.T)):
        x = nv.placeholder(axes)
        loss = losses.multi_margin(x, nv.constant(LABELS, "N=3"), 2, 0.7, [1, 2, 3, 4])
        assert nv.computation(loss, x)(scores).item() == pytest.approx(expected, rel=1e-6)


# -- margins, pairs, labels without places ---------------------------------------------------------------


def test_focal_counts_less_what_is_found():
    """T420: the formula of Lin et al. 2017, equation 5; without gamma and alpha it is the cross entropy."""
    x, t = LOGITS, (LOGITS > 0.3).astype(np.float32)
    p = 1 / (1 + np.exp(-x.astype(np.float64)))
    found = np.where(t == 1, -0.25 * (1 - p) ** 2 * np.log(p), -0.75 * p**2 * np.log(1 - p))
    np.testing.assert_allclose(losses.focal(x, t, reduction="none").numpy(), found, rtol=1e-5, atol=1e-6)
    plain = losses.binary_cross_entropy(x, t).item()
    assert losses.focal(x, t, 0.0, None).item() == pytest.approx(plain, rel=1e-6)
    assert losses.focal([1000.0], [0.0], 0.0, None).item() == 1000.0


def test_overlaps():
    """T420: of each sample, the formula of Milletari et al. 2016 with sums in place of squares."""
    p, t = np.float32([[[0.5, 1], [0, 0]], [[0, 0], [0, 0]]]), np.float32([[[1, 1], [0, 1]], [[0, 0], [0, 0]]])
    expected = [1 - (2 * 1.5 + 1) / (1.5 + 3 + 1), 0.0]
    for axes in (None, "N=2, H=2, W=2"):
        found = losses.dice(nv.constant(p, axes), nv.constant(t, axes), reduction="none").numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_pairs_are_found_among_all():
    """T420: the cross entropy of cosines (van den Oord et al. 2018, equation 4)."""
    x, y = LOGITS.astype(np.float64), np.cos(LOGITS).astype(np.float64)
    cosines = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (y / np.linalg.norm(y, axis=1, keepdims=True)).T / 0.2
    expected = np.log(np.exp(cosines).sum(axis=1)) - np.diag(cosines)
    for axes in (None, "N=3, F=4"):
        own, other = nv.constant(LOGITS, axes), nv.constant(np.cos(LOGITS), axes)
        found = losses.info_nce(own, other, 0.2, reduction="none")
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_labels_of_symbolic_lengths():
    """T421: numbers of steps, samples and labels may be symbols."""
    t, n, s = nv.dim("t", min=1), nv.dim("n", min=1), nv.dim("s", min=1)
    x, labels = nv.placeholder((t, n, 4)), nv.placeholder((n, s), dtype=nv.int64)
    run = nv.computation(losses.ctc(nv.log_softmax(x, axis=2), labels, reduction="none"), x, labels)
    values, spelled = np.random.default_rng(3).standard_normal((5, 2, 4)).astype(np.float32), np.array([[1, 2], [3, 3]])
    expected = losses.ctc(nv.log_softmax(values, axis=2), spelled, reduction="none").numpy()
    np.testing.assert_allclose(run(values, spelled), expected, rtol=1e-6)
    p = np.exp(values[:2, :1, :] - np.log(np.exp(values[:2, :1, :]).sum(axis=2, keepdims=True)))[:, 0]
    assert run(values[:2, :1], [[1, 2]]).item() == pytest.approx(-np.log(p[0, 1] * p[1, 2]), rel=1e-5)


def test_labels_with_names_have_any_order():
    """T421: samples are N, as those of the logarithms."""
    x = np.random.default_rng(0).standard_normal((3, 2, 4))
    spelled, lengths, counts = np.array([[1, 2], [3, 1]]), np.array([3, 2]), np.array([2, 1])
    expected = losses.ctc(nv.log_softmax(x, axis=2), spelled, lengths, counts, reduction="none").tolist()
    named = nv.log_softmax(nv.constant(x, "T=3, N=2, Y=4"), ["Y"])
    for labels, axes in ((spelled, "N=2, S=2"), (spelled.T.copy(), "S=2, N=2")):
        found = losses.ctc(named, nv.constant(labels, axes), nv.constant(lengths, "N=2"), counts, reduction="none")
        assert found.tolist() == expected


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_lengths_and_labels_that_there_are_not(transformer):
    """T421: are an IndexError of the run; a label that does not count may be any number."""
    t, n, s = nv.dim("t", min=1), nv.dim("n", min=1), nv.dim("s", min=1)
    x, labels = nv.placeholder((t, n, 4)), nv.placeholder((n, s), dtype=nv.int64)
    lengths, counts = nv.placeholder((n,), dtype=nv.int64), nv.placeholder((n,), dtype=nv.int64)
    loss = losses.ctc(nv.log_softmax(x, axis=2), labels, lengths, counts, reduction="none")
    values = np.random.default_rng(3).standard_normal((3, 2, 4)).astype(np.float32)
    with nv.transformers.make_transformer(transformer) as made:
        run = made.computation([loss, nv.deriv(nv.sum(loss, out_axes=()), x)], x, labels, lengths, counts)
        expected = [entry.tolist() for entry in run(values, [[1, 2], [3, 1]], [3, 2], [2, 1])]
        for padded in (-1, 4, 0):
            found = run(values, [[1, 2], [3, padded]], [3, 2], [2, 1])
            assert [entry.tolist() for entry in found] == expected
        for wrong in (([[1, 2], [3, 1]], [4, 2], [2, 1]), ([[1, 2], [3, 1]], [3, -1], [2, 1]),
                      ([[1, 2], [3, 1]], [3, 2], [3, 1]), ([[1, 2], [3, 1]], [3, 2], [2, -1]),
                      ([[1, -1], [3, 1]], [3, 2], [2, 1]), ([[1, 2], [4, 1]], [3, 2], [2, 1])):
            with pytest.raises(IndexError):
                run(values, *wrong)
        with pytest.raises(IndexError):
            made.computation(losses.ctc(nv.log_softmax(values, axis=2), [[-1, 2], [3, 1]]))()


def test_a_target_that_cannot_be_spelled():
    """T421: is infinitely unlikely, or left out; its gradient is finite."""
    x = nv.variable((2, 1, 3), LOGITS.reshape(-1)[:6].reshape(2, 1, 3))
    for skipped, expected in ((False, np.inf), (True, 0.0)):
        loss = losses.ctc(nv.log_softmax(x, axis=2), [[1, 1]], zero_infinity=skipped)
        assert loss.item() == expected and nv.deriv(loss, x).tolist() == [[[0.0] * 3]] * 2


@pytest.mark.parametrize(("call", "kind"), [
    (lambda: losses.ctc(LOGITS, [[1]]), ShapeMismatch), (lambda: losses.ctc(LOGITS[None], [1]), ShapeMismatch),
    (lambda: losses.ctc(LOGITS[None], [[1.5]] * 3), WrongKind),
    (lambda: losses.ctc(LOGITS[None], [[1]] * 3, blank=4), InvalidArgument),
    (lambda: losses.ctc(LOGITS[None], [[1]]), ShapeMismatch),
    (lambda: losses.ctc(LOGITS[None], [[1]] * 3, [1]), ShapeMismatch),
    (lambda: losses.ctc(LOGITS[None], [[1]] * 3, None, [[1]] * 3), ShapeMismatch),
    (lambda: losses.ctc(LOGITS[None], nv.constant([[1]] * 3, "M=3, S=1", dtype=nv.int64)), ShapeMismatch),
    (lambda: losses.multi_margin(LOGITS, LABELS, p=3), InvalidArgument),
    (lambda: losses.info_nce(LOGITS[None], LOGITS[None]), ShapeMismatch),
    (lambda: losses.triplet_margin(LOGITS, LOGITS, LOGITS, metric=2), WrongKind),
    (lambda: losses.info_nce(LOGITS, LOGITS, 0.0), InvalidArgument)], ids=range(12))
def test_losses_of_labels_refuse_what_does_not_fit(call, kind):
    """T412."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help
