"""Fashion-MNIST: 70,000 images of clothing, 28x28 pixels, in ten classes (Xiao, Rasul and Vollgraf, 2017).

The four files come from Debian's package ``dataset-fashion-mnist`` or from any folder that has them, compressed or not.
Pixels count from 0 to 255 and are scaled to [0, 1].

>>> len(CLASSES), CLASSES[9]
(10, 'ankle boot')
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from nervure.data.digits import Examples, Split
from nervure.data.idx import read_idx
from nervure.errors import FormatError, NotSupported

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
CLASSES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def load_fashion(folder: str | os.PathLike[str] | None = None) -> Split:
    """Loads 60,000 examples to learn from and 10,000 to test, float32 of shape (number, 28, 28) and int64 labels.

    Raises NotSupported if the files are not in the ``folder`` (absent: that of Debian's package); FormatError if one
    of them is damaged.

    >>> nv.data.load_fashion("nowhere")
    Traceback (most recent call last):
        ...
    nervure.errors.NotSupported: load_fashion: Fashion-MNIST is not in nowhere
    ...
    """
    where = DEBIAN if folder is None else Path(folder)
    return Split(_examples(where, "train"), _examples(where, "t10k"))


def _examples(folder: Path, part: str) -> Examples:
    images = _read(folder, f"{part}-images-idx3-ubyte")
    labels = _read(folder, f"{part}-labels-idx1-ubyte")
    belongs = images.ndim == 3 and images.shape[1:] == (28, 28) and labels.shape == images.shape[:1]
    if not belongs or not labels.size or labels.max() > 9:
        raise FormatError("these are not images with their labels", op="load_fashion", operand=os.fspath(folder),
                          got=f"images {images.shape}, labels {labels.shape}",
                          expected="one or more images (number, 28, 28), and a label from 0 to 9 for each",
                          help="take all four files of dataset-fashion-mnist as they are")
    return Examples(images.astype(np.float32) / np.float32(255), labels.astype(np.int64))


def _read(folder: Path, name: str) -> np.ndarray:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return read_idx(path)
    raise NotSupported(f"Fashion-MNIST is not in {folder}", op="load_fashion", operand=name, got="no such file",
                       expected=f"{name}, or {name}.gz",
                       help="apt-get install dataset-fashion-mnist, or name the folder that has them: --data FOLDER")
