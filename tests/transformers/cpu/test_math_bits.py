"""Mathematics has the same bits in NumPy as on the cpu; only the sign and the payload of a NaN are open.

``DEEP_TESTS=1`` tries ten times as many numbers.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from nervure.kernel.math import FUNCTIONS
from nervure.kernel.math.arrays import evaluate
from tests.transformers.cpu.math_accuracy import ROWS, power_arguments, specials
from tests.transformers.cpu.math_harness import LANES, on_arrays, random_of_each_exponent

pytestmark = pytest.mark.usefixtures("silent_infinities")

COUNT = 40_000 if os.environ.get("DEEP_TESTS") == "1" else 4_000


def arguments(dtype: type[np.floating]) -> np.ndarray:
    """Numbers of every exponent, specials, whole and half ones, multiples of what arguments are reduced by, huge
    angles, and where functions bend.
    """
    rng, info = np.random.default_rng(11), np.finfo(dtype)
    whole = rng.integers(-2000, 2000, COUNT // 4)
    steps = np.concatenate([whole * np.pi / 4, whole * np.log(2) / 2]).astype(dtype)
    angles = np.ldexp(rng.uniform(1, 2, COUNT // 4), rng.integers(10, info.maxexp - 1, COUNT // 4)) * (-1.0) ** whole
    bends = [rng.uniform(-size, size, COUNT // 4) for size in (1, 5, 30, 120, 750)]
    near_one = 1 + np.ldexp(rng.uniform(-1, 1, COUNT // 4), rng.integers(-info.nmant, 0, COUNT // 4))
    powers = np.ldexp(dtype(1), np.arange(info.minexp - info.nmant, info.maxexp))
    neighbours = [np.nextafter(entry, dtype(end)) for entry in (steps, powers) for end in (-np.inf, np.inf)]
    anywhere = random_of_each_exponent(dtype, max(1, COUNT >> (info.iexp + 1)), 12)
    return np.concatenate([rng.choice(anywhere, COUNT), specials(dtype), whole, whole / 2, steps, angles, *bends,
                           near_one, -near_one, powers, -powers, *neighbours]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_bits_in_numpy(name, dtype):
    base, rng = arguments(dtype), np.random.default_rng(13)
    columns = [base, *[rng.permutation(base) for _ in range(ROWS[name].operands - 1)]]
    if name == "power":
        columns = [np.concatenate(pair) for pair in zip(columns, power_arguments(dtype, COUNT))]
    got, wanted = evaluate(FUNCTIONS[name], *columns), on_arrays(name, dtype, LANES[dtype][1], len(columns))(*columns)
    word = f"u{got.itemsize}"
    same = (got.view(word) == wanted.view(word)) | np.isnan(got) & np.isnan(wanted)
    assert same.all(), [column[~same][:3].tolist() for column in (*columns, got, wanted)]
