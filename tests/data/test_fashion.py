"""The reader of Fashion-MNIST, on files of its form: the data themselves are no part of the tests."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from nervure.data.fashion import CLASSES, load_fashion
from nervure.errors import FormatError, NotSupported
from tests.data.test_idx import encoded


def written(folder, count=5, packed=False, pixels=28, labels=None):
    """Files of the form of the data, with a few examples each."""
    for number, part in enumerate(("train", "t10k")):
        images = np.full((count + number, pixels, pixels), 255, np.uint8)
        marks = np.arange(count + number, dtype=np.uint8) if labels is None else labels
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", marks)):
            data = encoded(array)
            path = folder / (f"{name}.gz" if packed else name)
            path.write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_labels_are_read(packed, tmp_path):
    written(tmp_path, packed=packed)
    data = load_fashion(tmp_path)
    assert (len(data.train), len(data.test)) == (5, 6)
    assert data.train.images.shape == (5, 28, 28) and data.train.images.dtype == np.float32
    assert data.train.images.max() == 1.0 and data.test.labels.tolist() == [0, 1, 2, 3, 4, 5]
    assert data.test.labels.dtype == np.int64 and len(CLASSES) == 10


def test_missing_files_say_how_to_get_them(tmp_path):
    with pytest.raises(NotSupported, match="apt-get install dataset-fashion-mnist") as caught:
        load_fashion(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in str(caught.value)


@pytest.mark.parametrize("wrong", [{"pixels": 27}, {"labels": np.zeros(3, np.uint8)},
                                   {"labels": np.full(5, 10, np.uint8)}, {"count": 0}])
def test_files_that_do_not_belong_together_are_refused(wrong, tmp_path):
    written(tmp_path, **wrong)
    with pytest.raises(FormatError, match="these are not images with their labels") as caught:
        load_fashion(tmp_path)
    assert caught.value.got and caught.value.expected and caught.value.help
