"""Metrics of whole epochs, against scikit-learn and NumPy over all examples at once."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.training import AUC, Confusion, Gathered, Metric, Perplexity
from nervure.training.epoch_metrics import area

sklearn = pytest.importorskip("sklearn.metrics")
generator = np.random.default_rng(6)
LOGITS = generator.standard_normal((50, 3)).astype(np.float32).round(1)
LABELS = generator.integers(3, size=50)
BINARY = (LABELS > 0).astype(np.int64)
W = generator.integers(0, 4, size=50).astype(np.float32)


def evaluated(metrics: object, data: tuple, size: int = 7, **settings: object) -> dict:
    loss = settings.pop("loss", nn.losses.cross_entropy)
    return nv.Trainer(lambda x: x, nv.optim.SGD(0.1), loss, metrics, **settings).evaluate(data, size=size)


def test_they_are_of_all_examples():
    """T376: whatever the batches; a mean over batches would be another number."""
    found = evaluated([AUC(), Confusion()], (LOGITS[:, :2], BINARY))
    scores = LOGITS[:, 1] - LOGITS[:, 0]
    assert found["auc"] == pytest.approx(sklearn.roc_auc_score(BINARY, scores), abs=1e-12)
    assert found["confusion"] == sklearn.confusion_matrix(BINARY, LOGITS[:, :2].argmax(axis=1)).tolist()
    three = evaluated([Confusion(), Perplexity()], (LOGITS, LABELS))
    assert three["confusion"] == sklearn.confusion_matrix(LABELS, LOGITS.argmax(axis=1)).tolist()
    assert three["perplexity"] == pytest.approx(math.exp(three["loss"]), rel=1e-5)
    assert three == evaluated([Confusion(), Perplexity()], (LOGITS, LABELS), size=7)


def test_weights_count():
    """T373, T376: as in scikit-learn."""
    data, chosen = (LOGITS, LABELS, W), {"weights": 2, "targets": 1}
    found = evaluated([Confusion(), Perplexity()], data, **chosen)
    assert found["confusion"] == sklearn.confusion_matrix(LABELS, LOGITS.argmax(axis=1), sample_weight=W).tolist()
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]), rel=1e-5)
    one = evaluated([AUC()], (LOGITS[:, 0], BINARY, W), loss=nn.losses.binary_cross_entropy, **chosen)
    assert one["auc"] == pytest.approx(sklearn.roc_auc_score(BINARY, LOGITS[:, 0], sample_weight=W), abs=1e-12)


def test_what_has_no_weight_may_lose_without_end():
    """T373, T376: the loss leaves it out, too."""
    data = np.array([[0.0, -np.inf], [0.0, 1.0]]), np.array([1, 0]), np.array([0.0, 1.0])
    found = evaluated([Perplexity()], data, weights=2, targets=1)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]), rel=1e-5)


def test_areas():
    """T376: ties count by half; of one class alone there is none."""
    for _ in range(20):
        scores, right = generator.integers(5, size=9), generator.random(9) < 0.5
        pairs = [(a > b) + 0.5 * (a == b) for a in scores[right] for b in scores[~right]]
        expected = np.mean(pairs) if pairs else math.nan
        assert area(scores, right, np.ones(9)) == pytest.approx(expected, nan_ok=True)
    assert math.isnan(evaluated([AUC()], (LOGITS[:, :1], np.ones((50, 1))), loss=nn.losses.mean_squared_error)["auc"])
    with pytest.raises(nv.InvalidArgument, match="targets are of class 0 or 1"):
        evaluated([AUC()], (LOGITS[:, :2], LABELS % 3), loss=lambda x, y: nv.mean(x, out_axes=()))
    with pytest.raises(nv.AxisMismatch, match="is of two classes"):
        evaluated([AUC()], (LOGITS, LABELS))


def test_words_in_sequences():
    """T376: perplexity over positions, of which some are ignored; confusion with classes along any axis."""
    logits = generator.standard_normal((8, 5, 4)).astype(np.float32)
    words = generator.integers(4, size=(8, 5))
    logs = logits - np.log(np.exp(logits.astype(np.float64)).sum(axis=-1, keepdims=True))
    each = -np.take_along_axis(logs, words[..., None], -1)[..., 0]
    axes = ("N=n, T=5, C=4", "N=n, T=5")
    found = evaluated({"all": Perplexity(), "kept": Perplexity(ignore_index=0), "matrix": Confusion()}, (logits, words),
                      size=3, axes=axes)
    assert found["all"] == pytest.approx(math.exp(each.mean()), rel=1e-5)
    assert found["kept"] == pytest.approx(math.exp(each[words != 0].mean()), rel=1e-5)
    assert found["matrix"] == sklearn.confusion_matrix(words.ravel(), logits.argmax(axis=-1).ravel()).tolist()
    some = np.where(words == 2, -100, words)
    left = evaluated([Perplexity(ignore_index=-100), Confusion(-100)], (logits, some), size=3, axes=axes,
                     loss=functools.partial(nn.losses.cross_entropy, ignore_index=-100))
    assert left["perplexity"] == pytest.approx(math.exp(each[words != 2].mean()), rel=1e-5)
    expected = np.array(found["matrix"])
    expected[2] = 0
    assert left["confusion"] == expected.tolist()
    assert math.isnan(Perplexity().result(0.0, 0.0)) and Perplexity().result(1e9, 1.0) == math.inf


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_class_that_there_is_not_is_counted_nowhere(name, wrong):
    """T376, T352: it is an IndexError, also -1, unless it is ignored."""
    logits, labels = np.eye(3, dtype=np.float32), np.array([0, 1, wrong])
    loss = functools.partial(nn.losses.cross_entropy, ignore_index=wrong)
    with nv.transformers.make_transformer(name) as transformer:
        for metric in (Confusion(), Perplexity()):
            with pytest.raises(IndexError, match="ignore_index"):
                evaluated([metric], (logits, labels), loss=loss, transformer=transformer)
        found = evaluated([Confusion(wrong)], (logits, labels), loss=loss, transformer=transformer)
        assert found["confusion"] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


def test_a_function_of_all_outputs_and_targets():
    """T376: structures as the model gives them and the data have them."""
    def largest(outputs, targets):
        return np.abs(outputs["x"] - targets[0]).max() + len(targets[1])
    own = nv.Trainer(lambda x: {"x": x * 2}, lambda loss: nv.doall([]), lambda x, y: nv.mean(x["x"], out_axes=()),
                     [Gathered(largest)])
    entry, = own.fit((LOGITS, (LOGITS, LABELS)), 1, (LOGITS, (LOGITS, LABELS)), size=8, shows=False)
    assert entry["largest"] == entry["validation_largest"] == np.abs(LOGITS).max() + 50  # twice as much, less itself
    assert repr(Gathered(largest)) == "Gathered(largest)"


def test_sums_are_exact_beyond_float32():
    """T376: in float64 or int64; bytes do not overflow."""
    class Sums(Metric):
        def update(self, outputs, targets):
            return {"whole": nv.sum(outputs, out_axes=()), "bytes": nv.max(targets, out_axes=())}

        def result(self, parts):
            return [parts["whole"], parts["bytes"]]
    data = (np.float32([[2.0**24], [1.0]]), np.uint8([[200], [200]]))
    assert evaluated([Sums()], data, size=1, loss=lambda x, y: nv.mean(x, out_axes=()))["sums"] == [2.0**24 + 1, 400.0]


def test_classes_are_the_axis_that_targets_lack():
    """T376: by names where both sides have them, else the last axis."""
    scores = np.float32([[0.1, 0.9], [0.2, 0.8]])
    named, labels = nv.constant(scores, "N=2, Y=2"), nv.constant([1, 1], "N=2")
    assert [nv.training.accuracy(own, goal).item() for own in (named, scores) for goal in (labels, [1, 1])] == [1.0] * 4
    assert nv.training.accuracy(nv.constant(scores.T, "Y=2, N=2"), labels).item() == 1.0
    assert Confusion().update(named, np.array([1, 1])).tolist() == [[0, 0], [0, 2]]
    for goal in (nv.constant([1, 1], "M=2"), nv.constant([[1], [1]], "N=2, Y=1")):
        with pytest.raises(nv.errors.AxisMismatch, match="one axis more"):
            nv.training.accuracy(named, goal)


class Halved(Metric):
    def __init__(self, value: object, gathers: bool = False, made: object = "half") -> None:
        self.value, self.gathers, self.made = value, gathers, made

    def update(self, outputs, targets):
        return self.value(outputs)

    def result(self, value):
        return self.made


@pytest.mark.parametrize(("metric", "kind", "message"), [
    *[(Halved(lambda x: nv.sum(x, out_axes=()), made=made), nv.WrongKind, "halved is a number, or an array")
      for made in ("half", None, [[1], [1, 2]])],
    (Halved(lambda x: x), nv.WrongKind, "halved adds up tensors that have one shape"),
    (Halved(lambda x: nv.outer(x[:, 0], x[:, 1])), nv.WrongKind, "halved adds up tensors that have one shape"),
    (Halved(lambda x: 3.0), nv.WrongKind, "halved is a tensor"),
    (Halved(lambda x: nv.sum(x, out_axes=()), True), nv.WrongKind, "halved gathers tensors"),
    (Metric(), nv.NotSupported, "metric has no update")])
def test_metrics_that_make_no_sense(metric, kind, message):
    """T320, T376."""
    with pytest.raises(kind, match=message):
        evaluated([metric], (LOGITS, LABELS), size=50)
    with pytest.raises(nv.WrongKind, match="is a function"):
        Gathered(AUC)
