"""The 1,797 handwritten digits of 8x8 pixels that come with scikit-learn (extra ``train``), split in two.

They are from the UCI repository (Alpaydin and Kaynak, 1998). Pixels count from 0 to 16 and are scaled to [0, 1].

>>> images = np.zeros((6, 8, 8), np.float32)
>>> data = split_by_class(images, np.array([0, 0, 0, 1, 1, 1]), held_back=1 / 3, seed=0)
>>> len(data.train), len(data.test), sorted(data.test.labels.tolist())
(4, 2, [0, 1])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, NotSupported


class Examples(NamedTuple):
    """Images (number, 8, 8) in float32 and labels (number,) in int64."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


class Split(NamedTuple):
    """Examples for training, and those that are held back."""

    train: Examples
    test: Examples


def load_digits(held_back: float = 0.2, seed: int = 0) -> Split:
    """Loads the digits, with a fraction of each class held back; the ``seed`` decides which. NotSupported without
    scikit-learn.

    >>> data = nv.data.load_digits(held_back=0.2)
    >>> len(data.train), len(data.test), data.train.images.shape[1:]
    (1438, 359, (8, 8))
    """
    if not 0 < held_back < 1:
        raise InvalidArgument("the fraction that is held back lies between 0 and 1", op="load_digits",
                              operand="held_back", got=held_back, expected="more than 0, less than 1",
                              help="0.2 is usual")
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise NotSupported("the digits come with scikit-learn, which is not installed", op="load_digits",
                           got="no module sklearn", expected="scikit-learn",
                           help="pip install 'nervure[train]'") from None
    images, labels = load(return_X_y=True)
    return split_by_class(images.reshape(-1, 8, 8).astype(np.float32) / np.float32(16), labels, held_back, seed)


def split_by_class(images: np.ndarray, labels: np.ndarray, held_back: float, seed: int) -> Split:
    """Splits ``images`` and ``labels``: the fraction ``held_back`` of every class, chosen by the ``seed``, is held
    back.
    """
    generator = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        chosen[members[:round(held_back * len(members))]] = True
    parts = [Examples(np.ascontiguousarray(images[mask]), labels[mask].astype(np.int64)) for mask in (~chosen, chosen)]
    return Split(*parts)
