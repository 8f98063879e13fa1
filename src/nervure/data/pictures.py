"""Pictures as arrays (N, C, H, W): resized by products, and read at places between pixels.

>>> resized(np.array([[[[0.0, 2.0]]]]), 1, 4)[0, 0].tolist()
[[0.0, 0.5, 1.5, 2.0]]
>>> placed(np.array([[[[1.0, 2.0, 3.0]]]]), np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]]))[0, 0].tolist()
[[2.0, 3.0, 0.0]]
"""

from __future__ import annotations

import functools

import numpy as np


@functools.lru_cache(maxsize=32)
def _weights(before: int, after: int) -> np.ndarray:
    """Returns the matrix (``after``, ``before``) that interpolates linearly between the middles of pixels.

    Where a picture shrinks, a triangle as wide as two new pixels weighs what it sees (an antialiasing filter).
    """
    scale = before / after
    width = max(scale, 1.0)
    middles = (np.arange(after) + 0.5) * scale - 0.5
    weights = np.maximum(0, 1 - np.abs(np.arange(before) - middles[:, None]) / width)
    found: np.ndarray = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def resized(pictures: np.ndarray, height: int, width: int) -> np.ndarray:
    """Returns ``pictures`` (N, C, H, W) as (N, C, ``height``, ``width``), linearly interpolated, float32 or wider."""
    found = np.matmul(_weights(pictures.shape[2], height), pictures)
    return np.matmul(found, _weights(pictures.shape[3], width).T)


def placed(pictures: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Returns pictures whose pixel (y, x) is read at ``maps`` (N, 2, 3) times (y, x, 1), 0 outside of the picture.

    Between pixels the four nearest are interpolated linearly. The pixels of results are as many as those read.
    """
    count, _, height, width = pictures.shape
    grid = np.stack([*np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), np.ones((height, width))])
    places = np.einsum("nij,jhw->inhw", maps, grid)
    low = np.floor(places).astype(np.int64)
    share = (places - low).astype(pictures.dtype)
    found = np.zeros_like(pictures)
    example = np.arange(count)[:, None, None]
    for down in (0, 1):
        for right in (0, 1):
            y, x = low[0] + down, low[1] + right
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            weight = np.where(inside, (share[0] if down else 1 - share[0]) * (share[1] if right else 1 - share[1]), 0)
            read = pictures[example, :, np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
            found += np.moveaxis(read, -1, 1) * weight[:, None]
    return found


def cut(pictures: np.ndarray, tops: np.ndarray, lefts: np.ndarray, height: int, width: int) -> np.ndarray:
    """Returns the part (``height``, ``width``) of each picture that begins at its own top and left."""
    windows = np.lib.stride_tricks.sliding_window_view(pictures, (height, width), (2, 3))
    return np.ascontiguousarray(windows[np.arange(len(pictures)), :, tops, lefts])
