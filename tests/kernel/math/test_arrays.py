"""The namespace over NumPy: a fused multiply-add rounded once, integers of 128 bits, rare lanes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from nervure.kernel.math.arrays import Arrays, fused_multiply_add_of_floats
from nervure.kernel.math.namespace import DOUBLE, FLOAT, FloatFormat

pytestmark = pytest.mark.usefixtures("silent_infinities")

FORMATS = [FLOAT, DOUBLE]
TYPES = {FLOAT: np.float32, DOUBLE: np.float64}


def nearest(value: Fraction, format: FloatFormat) -> float:
    """The number of a format that is nearest to a fraction other than 0, of two the even one."""
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    unit = max(exponent, 1 - format.bias) - format.mantissa
    whole = round(value / Fraction(2) ** unit)
    if abs(whole) * Fraction(2) ** unit >= Fraction(2) ** (format.bias + 1):
        return math.copysign(math.inf, whole)
    return math.copysign(math.ldexp(whole, unit), value)


def exact_fma(x: float, y: float, z: float, format: FloatFormat) -> float:
    """x * y + z as IEEE 754 defines it."""
    if not all(map(math.isfinite, (x, y, z))):
        return z if math.isfinite(x) and math.isfinite(y) else x * y + z
    value = Fraction(x) * Fraction(y) + Fraction(z)
    if value:
        return nearest(value, format)
    both_negative = math.copysign(1, x) * math.copysign(1, y) < 0 and math.copysign(1, z) < 0
    return -0.0 if both_negative and z == 0 else 0.0


def assert_exact(format: FloatFormat, *columns: np.ndarray) -> None:
    got = Arrays(format).fma(*columns)
    assert got.dtype == TYPES[format]
    for numbers, result in zip(zip(*[column.tolist() for column in columns]), got.tolist(), strict=True):
        wanted = exact_fma(*numbers, format)
        assert repr(result) == repr(wanted) or math.isnan(result) and math.isnan(wanted), numbers
        if format is FLOAT:
            single = float(np.float32(fused_multiply_add_of_floats(*numbers)))
            assert repr(single) == repr(wanted) or math.isnan(single) and math.isnan(wanted), numbers


def random_bits(format: FloatFormat, count: int, seed: int) -> list[np.ndarray]:
    bits = np.random.default_rng(seed).integers(0, 1 << format.bits, (3, count), np.uint64)
    return list(bits.astype(f"u{format.bits // 8}").view(TYPES[format]))


@pytest.mark.parametrize("format", FORMATS)
def test_fma_is_exact_on_any_bits(format):
    assert_exact(format, *random_bits(format, 4000, 1))


@pytest.mark.parametrize("format", FORMATS)
def test_fma_is_exact_where_its_terms_cancel(format):
    x, y, _ = random_bits(format, 1500, 2)
    z = -(x * y)
    assert_exact(format, x, y, z)
    assert_exact(format, x, y, np.nextafter(z, TYPES[format](0)))


@pytest.mark.parametrize("shift", ["normal", "subnormal", "largest"])
@pytest.mark.parametrize("format", FORMATS)
def test_fma_is_exact_at_ties(format, shift):
    """Products of numbers with few digits and sums with a few more are often half way between two neighbours."""
    rng, count, half = np.random.default_rng(3), 3000, (format.mantissa + 3) // 2
    x, y, z = rng.integers(-(1 << half), 1 << half, (3, count)).astype(np.float64)
    z = np.ldexp(z, rng.integers(-4, format.mantissa + 4, count))
    scales = {"normal": 0, "subnormal": 1 - format.bias - format.mantissa - half, "largest": format.bias - 2 * half}
    scale = scales[shift]
    first = scale // 2
    columns = [np.ldexp(x, first), np.ldexp(y, scale - first), np.ldexp(z, scale)]
    assert_exact(format, *[column.astype(TYPES[format]) for column in columns])


@pytest.mark.parametrize("format", FORMATS)
def test_fma_is_exact_next_to_ties(format):
    """Half a unit in the last place of z, and a little more or less: (1 + k u) (1 + m u) / 2 where m is about -k."""
    rng, count, unit = np.random.default_rng(5), 1000, 2.0**-format.mantissa
    k, sign, other_sign = rng.integers(-999, 999, count), *rng.choice([-1.0, 1.0], (2, count))
    m = rng.integers(-1, 2, count) - k
    columns = [sign * (1 + k * unit) / 2, 1 + m * unit, other_sign * (1 / unit + rng.integers(0, 8, count))]
    assert_exact(format, *[column.astype(TYPES[format]) for column in columns])


@pytest.mark.parametrize("format", FORMATS)
def test_fma_is_exact_where_one_term_is_far_smaller(format):
    rng, count = np.random.default_rng(4), 1000
    x, y, z = rng.choice([-1.0, 1.0, 1.5, 1 + 2.0**-20], (3, count))
    for term in (x, z):
        distance = rng.integers(format.mantissa - 3, format.bias - 2, count)
        columns = [np.ldexp(x, -distance) if term is x else x, y, np.ldexp(z, -distance) if term is z else z]
        assert_exact(format, *[column.astype(TYPES[format]) for column in columns])


@pytest.mark.parametrize("format", FORMATS)
def test_fma_of_special_values(format):
    info = np.finfo(TYPES[format])
    numbers = [0.0, 1.0, np.inf, np.nan, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    triples = list(product([sign * number for number in numbers for sign in (1, -1)], repeat=3))
    assert_exact(format, *np.array(triples, TYPES[format]).T)


def test_a_sum_rounded_twice_would_be_wrong():
    x = np.float32([1 + 2.0**-12])
    z = np.float32([2.0**-60])
    assert Arrays(FLOAT).fma(x, x, z).tolist() == [1 + 2.0**-11 + 2.0**-23]
    assert np.float32(x.astype(np.float64) * x + z).tolist() == [1 + 2.0**-11]


def test_integers_of_128_bits_wrap_and_shift():
    s, numbers = Arrays(DOUBLE), [2**64 - 1, 0x0123456789ABCDEF]
    x = s.resized(np.array(numbers, np.uint64), 128)
    moved = s.shift_left(x * x, 64) + x
    wanted = [((number * number << 64) + number) % 2**128 for number in numbers]
    assert s.shift_right(moved, 0).tolist() == wanted
    assert s.shift_right(moved, 100).tolist() == [number >> 100 for number in wanted]
    low = s.resized(moved, 64)
    assert low.dtype == np.uint64 and low.tolist() == [number % 2**64 for number in wanted]
    assert s.from_integer(low).tolist() == [float(number - (number >> 63 << 64)) for number in low.tolist()]


def test_words_of_a_table_have_their_first_byte_on_top():
    found = Arrays(DOUBLE).table_word("digits", bytes(range(20)), np.array([0, 11], np.uint64))
    assert [f"{word:016x}" for word in found.tolist()] == ["0001020304050607", "0b0c0d0e0f101112"]


def test_rare_lanes_alone_are_computed_again():
    seen: list[list[float]] = []

    def slow(s: Arrays, x: np.ndarray) -> np.ndarray:
        seen.append(x.tolist())
        return -x

    x = np.array([1.0, 20.0, 3.0, 40.0])
    usual = x * 2
    assert Arrays(DOUBLE).rarely(lambda s, x: x > 10, slow, x, usual).tolist() == [2.0, -20.0, 6.0, -40.0]
    assert seen == [[20.0, 40.0]] and usual.tolist() == [2.0, 40.0, 6.0, 80.0]
