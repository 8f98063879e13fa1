"""Random arrays of the tests."""

from __future__ import annotations

from typing import Any

import numpy as np


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Numbers from the standard normal distribution, the same ones for the same shape and seed."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)
