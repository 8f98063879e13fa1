"""Functions of complex numbers over arrays, against NumPy's in a wider type, and against the code of the cpu."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.math.arrays import Arrays
from nervure.kernel.math.complex_functions import FUNCTIONS
from nervure.kernel.math.namespace import DOUBLE, FLOAT

OPS = {"multiply": nv.ops.Multiply, "divide": nv.ops.Divide, "absolute": nv.ops.Absolute, "sign": nv.ops.Sign}
ORACLES = {"multiply": np.multiply, "divide": np.divide, "absolute": np.abs, "sign": lambda x: x / np.abs(x)}


def numbers(dtype, seed):
    generator = np.random.default_rng(seed)
    sizes = 10.0 ** generator.integers(-9, 9, 64)
    return (sizes * (generator.normal(size=64) + 1j * generator.normal(size=64))).astype(dtype)


def over_arrays(name, *arrays):
    s = Arrays(FLOAT if arrays[0].dtype == np.complex64 else DOUBLE)
    with np.errstate(all="ignore"):
        made = FUNCTIONS[name](s, *[(x.real.copy(), x.imag.copy()) for x in arrays])
    if not isinstance(made, tuple):
        return made
    joined = np.empty(arrays[0].shape, arrays[0].dtype)
    joined.real, joined.imag = made
    return joined


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OPS)
def test_they_are_numpys(name, dtype):
    arrays = [numbers(dtype, seed) for seed in range(1 + (name in ("multiply", "divide")))]
    expected = ORACLES[name](*[x.astype(np.clongdouble) for x in arrays])
    tolerance = 8 * np.finfo(dtype).eps
    assert np.all(np.abs(over_arrays(name, *arrays) - expected) <= tolerance * np.abs(expected))


def test_infinite_parts_and_zeros():
    inf, nan = np.inf, np.nan
    x = np.array([0, complex(inf, 1), complex(nan, inf), complex(inf, -inf), complex(-3, -inf)], "complex64")
    assert np.array_equal(over_arrays("absolute", x), np.float32([0, inf, inf, inf, inf]))
    directions = over_arrays("sign", x)
    assert directions[0] == 0 and directions[1] == 1 and directions[4] == -1j and np.isnan(directions[3])
    assert FUNCTIONS["is_inf"](Arrays(FLOAT), (x.real, x.imag)).tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OPS)
def test_the_cpu_has_the_same_bits(name, dtype, cpu):
    arrays = [numbers(dtype, seed) for seed in range(1 + (name in ("multiply", "divide")))]
    parameters = [nv.Parameter(getattr(nv, dtype), (64,)) for _ in arrays]
    made, = cpu.compile(nv.Function([OPS[name](*parameters)], parameters))(arrays)
    assert made.tobytes() == over_arrays(name, *arrays).tobytes()
