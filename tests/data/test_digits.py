"""The reader of the digits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import nervure as nv
from nervure.data.digits import load_digits, split_by_class
from nervure.errors import InvalidArgument, NotSupported

pytest.importorskip("sklearn")


def test_the_digits_are_all_there():
    data = load_digits(held_back=0.2, seed=0)
    assert len(data.train) + len(data.test) == 1_797
    assert data.train.images.shape[1:] == (8, 8) and data.train.images.dtype == np.float32
    assert data.train.images.min() == 0.0 and data.train.images.max() == 1.0
    assert data.train.labels.dtype == np.int64 and set(data.train.labels) == set(range(10))


def test_the_same_part_of_every_class_is_held_back():
    data = load_digits(held_back=0.2, seed=5)
    whole = np.bincount(np.concatenate([data.train.labels, data.test.labels]))
    np.testing.assert_array_equal(np.bincount(data.test.labels), np.round(whole * 0.2).astype(int))


def test_the_split_depends_on_the_seed_and_shares_nothing():
    first, again, other = (load_digits(seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.test.images, again.test.images)
    assert not np.array_equal(first.test.labels, other.test.labels)
    images = np.arange(20, dtype=np.float32).reshape(20, 1, 1)
    split = split_by_class(images, np.arange(20) % 2, 0.3, seed=1)
    assert sorted(np.concatenate([split.train.images, split.test.images]).ravel()) == list(range(20))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5])
def test_impossible_fractions_are_refused(fraction):
    with pytest.raises(InvalidArgument, match="between 0 and 1") as caught:
        load_digits(held_back=fraction)
    assert (caught.value.op, caught.value.operand) == ("load_digits", "held_back")
    assert caught.value.expected and caught.value.help


@pytest.mark.parametrize(("package", "call"), [
    ("sklearn.datasets", load_digits), ("tensorboardX", lambda: nv.training.TensorBoard("run")),
    ("matplotlib.figure", lambda: nv.training.plot([{"epoch": 1, "loss": 1.0}], "plot.png"))])
def test_what_is_not_installed_is_named(package, call, monkeypatch):
    """The error has all its parts, for whatever package is needed."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotSupported, match="not installed") as caught:
        call()
    assert caught.value.got == f"no module {package.partition('.')[0]}"
    assert caught.value.expected and caught.value.help
