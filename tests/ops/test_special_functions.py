"""Special functions against mpmath and SciPy, at their borders, on every transformer; derivatives to second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
import scipy.special as scipy_s

import nervure as nv
from nervure import ops
from nervure.errors import InvalidArgument
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ops.formulas.table import FORMULAS
from tests.conformance.differences import check_derivatives
from tests.conformance.running import DEEP, run

RNG = np.random.default_rng(3)
MANY = 10 ** RNG.uniform(-4, 2.8, 24)
POSITIVE = np.r_[MANY, RNG.uniform(0.1, 12, 24)]
REAL = np.r_[POSITIVE, -POSITIVE]
CHANCES = np.r_[RNG.uniform(0, 1, 30), 10 ** RNG.uniform(-300, 0, 15), 1 - 10 ** RNG.uniform(-15, 0, 15)]
A, B = 10 ** RNG.uniform(-3, 3, (2, 40))
UP_TO = A * 10 ** RNG.uniform(-1.5, 1, 40)
PART = np.clip(A / (A + B) + RNG.normal(size=40) * np.sqrt(A * B / (A + B + 1)) / (A + B), 1e-9, 1 - 1e-9)
ORDERS = np.r_[1 + 10 ** RNG.uniform(-6, 1.5, 20), RNG.integers(2, 12, 20)]
PLACES = np.r_[10 ** RNG.uniform(-3, 4, 20), RNG.uniform(-30, 0, 20)]
mp = mpmath.mp


def _zeta(s: Any, q: Any) -> Any:
    whole = int(mp.floor(q)) if q < 0 else 0
    return mp.zeta(s, q - whole) + sum([(q + k) ** -int(s) for k in range(-whole)])


def _slope(function: Callable[..., Any], at: int) -> Callable[..., Any]:
    def difference(*operands: Any) -> Any:
        def moved(x: Any) -> Any:
            return function(*operands[:at], x, *operands[at + 1:])
        return mp.diff(moved, operands[at], h=mp.mpf(10) ** -15)
    return difference


def _gammainc(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


class Row(NamedTuple):
    """What mpmath says, arguments, and the greatest error: relative, or ``absolute``."""

    exact: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    error: float = 1e-15
    absolute: bool = False


ROWS: dict[str, Row] = {
    "i0": Row(lambda x: mp.besseli(0, x), (REAL,)), "i1": Row(lambda x: mp.besseli(1, x), (REAL,)),
    "i0e": Row(lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (REAL,)),
    "i1e": Row(lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (REAL,)),
    "k0": Row(lambda x: mp.besselk(0, x), (POSITIVE,)), "k1": Row(lambda x: mp.besselk(1, x), (POSITIVE,)),
    "k0e": Row(lambda x: mp.besselk(0, x) * mp.exp(x), (POSITIVE,)),
    "k1e": Row(lambda x: mp.besselk(1, x) * mp.exp(x), (POSITIVE,)),
    "j0": Row(lambda x: mp.besselj(0, x), (REAL,), 2e-15, True), "j1": Row(lambda x: mp.besselj(1, x), (REAL,), 1e-15,
                                                                           True),
    "y0": Row(lambda x: mp.bessely(0, x), (POSITIVE,), 8e-15, True),
    "y1": Row(lambda x: mp.bessely(1, x), (POSITIVE[POSITIVE > 0.1],), 4e-15, True),
    "erfcx": Row(lambda x: mp.exp(x * x) * mp.erfc(x), (np.r_[POSITIVE, -RNG.uniform(0, 26, 30)],), 2e-15),
    "gamma": Row(mp.gamma, (RNG.uniform(-30, 170, 60),), 2e-13),
    "gammainc": Row(_gammainc, (A, UP_TO), 3e-13),
    "gammaincc": Row(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (A, UP_TO), 3e-13),
    "gammainc_slope": Row(_slope(_gammainc, 0), (A[:5] ** 0.5, A[:5] ** 0.5 * 1.5), 1e-12),
    "betainc": Row(_betainc, (A, B, PART), 1e-11),
    "betainc_slope_in_a": Row(_slope(_betainc, 0), (A[:3] ** 0.5, B[:3] ** 0.5, PART[:3]), 1e-11),
    "betainc_slope_in_b": Row(_slope(_betainc, 1), (A[:3] ** 0.5, B[:3] ** 0.5, PART[:3]), 1e-11),
    "zeta": Row(_zeta, (ORDERS, PLACES), 2e-14),
    "polygamma": Row(lambda n, x: mp.polygamma(int(n), x), (np.arange(12.0) % 5, RNG.uniform(0.1, 30, 12)), 5e-14),
    "comb": Row(mp.binomial, (RNG.uniform(20, 60, 30), RNG.uniform(0, 20, 30)), 1e-13),
    "exp1": Row(mp.e1, (POSITIVE[POSITIVE < 600],), 2e-13),
    "expi": Row(mp.ei, (REAL[np.abs(REAL) < 600],), 2e-13),
    "expn": Row(lambda n, x: mp.expint(int(n), x), (np.arange(30.0) % 9, RNG.uniform(0.01, 20, 30)), 5e-13),
    "dawsn": Row(lambda x: mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2, (REAL[np.abs(REAL) < 20],), 2e-13),
    "sine_integral": Row(mp.si, (REAL,), 2e-14, True), "cosine_integral": Row(mp.ci, (POSITIVE,), 2e-14, True),
    "spherical": Row(lambda x: mp.sin(x) / x, (REAL,), 1e-15, True),
    "fresnel_sine": Row(mp.fresnels, (REAL[np.abs(REAL) < 50],), 5e-14),
    "fresnel_cosine": Row(mp.fresnelc, (REAL[np.abs(REAL) < 50],), 5e-14),
    "spence": Row(lambda x: mp.re(mp.polylog(2, 1 - x)), (POSITIVE,), 2e-14, True),
    "owens_t": Row(lambda h, a: mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi),
                   (RNG.normal(size=10) * 2, RNG.normal(size=10) * 2), 1e-14),
    "ndtri": Row(lambda p: mp.findroot(lambda x: mp.log(mp.ncdf(x)) - mp.log(p), float(scipy_s.ndtri(float(p)))),
                 (CHANCES,), 2e-15),
}


def called(name: str, transformer: str, *arguments: np.ndarray) -> np.ndarray:
    parameters = [nv.Parameter(nv.as_dtype(array.dtype), array.shape) for array in arguments]
    function = nv.Function([ops.SpecialFunction(*parameters, function=name)], parameters)
    return run(transformer, function, list(arguments))[0]


SLOW = ("betainc_slope_in_b", "gammainc_slope")
"""Of two slopes that are computed alike the deep run tries both."""

TRIED = [name for name in ROWS if DEEP or name not in SLOW]


def test_every_formula_has_a_row():
    assert set(ROWS) == set(FORMULAS)


@pytest.mark.parametrize("name", TRIED)
def test_special_functions_are_those_of_mpmath(name):
    """A520: in double precision to the digits that the page of accuracy claims; float32 is the rounding of that."""
    row = ROWS[name]
    with mpmath.workdps(40):
        exact = np.array([float(row.exact(*map(mpmath.mpf, map(float, numbers)))) for numbers in zip(*row.arguments)])
    found = called(name, "cpu", *row.arguments)
    usual = np.abs(exact) > 1e-290
    errors = np.abs(found - exact) / (1 if row.absolute else np.where(usual, np.abs(exact), 1))
    assert np.max(errors[usual]) <= row.error, row.arguments[-1][np.argmax(np.where(usual, errors, 0))]


@pytest.mark.parametrize("name", TRIED)
def test_transformers_agree(name):
    """A520: at all points and at the borders, to the digits of what each makes of exponentials."""
    row = ROWS[name]
    odd = np.array([0.0, 1.0, 0.5, 2.0, -1.5, -2.0, np.inf, -np.inf, np.nan, 1e-300, 40.0])
    borders = [entry.ravel() for entry in np.meshgrid(*[odd] * len(row.arguments))]
    arguments = [np.r_[array, border[::1 + len(border) // 400]] for array, border in zip(row.arguments, borders)]
    expected = called(name, "interpreter", *arguments)
    for transformer, digits in (("cpu", 1e-11), ("xla", 2e-9)):
        if transformer == "xla" and not DEEP and name not in TRIED_ON_XLA:
            continue
        found = called(name, transformer, *arguments)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=digits, atol=1e-14)


TRIED_ON_XLA = ("j1", "zeta")
"""XLA compiles slowly: the deep run tries all."""


@pytest.mark.parametrize("name", ["k0e", "gammainc"])
def test_narrow_types_are_rounded_once(name):
    """A520: float32 is the rounding of what float64 gives."""
    narrow = [np.asarray(array, np.float32) for array in ROWS[name].arguments]
    with np.errstate(all="ignore"):
        rounded = called(name, "interpreter", *[array.astype(np.float64) for array in narrow]).astype(np.float32)
    np.testing.assert_array_equal(called(name, "interpreter", *narrow), rounded)


SMOOTH = {"normal": np.array([0.3, -1.7, 2.4, 9.5, -12.0]), "positive": np.array([0.7, 3.1, 0.4, 9.0, 14.0]),
          "unit": np.array([0.2, 0.55, 0.8, 0.02, 0.97]), "chance": np.array([0.2, 0.55, 0.8, 0.1, 0.6]),
          "above one": np.array([1.5, 2.0, 3.7, 6.0, 1.2]), "count": np.array([0.0, 1.0, 2.0, 3.0, 4.0])}


@pytest.mark.parametrize("name", [name for name in TRIED if name not in ("polygamma", "expn")])
def test_derivatives_are_those_of_differences(name):
    """A520: to second order, in all operands: first ones of slopes that have rows of their own are second ones."""
    row = FORMULAS[name]
    arrays = [SMOOTH[row.sample[min(at, len(row.sample) - 1)]] for at in range(len(row.operands))]
    arrays = [array * (1 + 0.1 * at) if array.max() > 1 else array for at, array in enumerate(arrays)]
    check_derivatives("interpreter", lambda *operands: ops.SpecialFunction(*operands, function=name), arrays,
                      1 if len(arrays) > 1 else 2, tolerance=1e-5)


def test_derivatives_of_polygamma_are_polygammas():
    x = nv.variable((4,), [0.5, 2.0, 7.5, -1.3], dtype=nv.float64)
    n = np.arange(4)
    slope = nv.deriv(nv.sum(nv.special.polygamma(n, x)), x)
    np.testing.assert_allclose(slope.numpy(), scipy_s.polygamma(n + 1, x.numpy()), rtol=1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["i0e", "i1e", "k0", "k0e", "k1", "k1e", "erfcx", "ndtri", "gamma", "gammainc",
                                  "gammaincc", "betainc"])
def test_borders_are_those_of_scipy(name):
    """A520: zeros, infinities, NaN and what lies outside."""
    count = len(FORMULAS[name].operands)
    odd = np.array([0.0, -0.0, 1.0, 2.0, 0.5, -1.0, np.nan] + [np.inf] * (name != "betainc")
                   + [-2.5, -np.inf] * (name != "gamma"))
    arguments = [entry.ravel() for entry in np.meshgrid(*[odd] * count)]
    np.testing.assert_allclose(called(name, "cpu", *arguments), getattr(scipy_s, name)(*arguments), rtol=1e-13)


def test_symbolic_lengths_many_elements_and_narrow_types():
    """A520: sizes that a call gives; nv.vmap; bfloat16 is computed in double precision and rounded once."""
    n = nv.dim("n", min=0)
    a, x = nv.placeholder({"N": n}), nv.placeholder({"N": n})
    function = nv.computation(nv.special.gammainc(a, x), a, x)
    for size in (0, 1, 17):
        left, right = RNG.uniform(0.1, 9, (2, size)).astype(np.float32)
        np.testing.assert_allclose(function(left, right), scipy_s.gammainc(left, right), rtol=3e-7)
    mapped = nv.vmap(lambda t: nv.grad(lambda u: nv.special.i1(u))(t))(nv.constant(MANY[:5]))
    np.testing.assert_allclose(np.asarray(mapped), scipy_s.ivp(1, MANY[:5]), rtol=1e-12)
    narrow = nv.special.zeta(nv.constant(np.float32([2.0, 3.0])).astype(nv.bfloat16))
    assert narrow.dtype is nv.bfloat16 and narrow.astype(nv.float32).tolist() == [1.6484375, 1.203125]


def test_orthogonal_polynomials():
    """A520: by their recurrences; derivatives follow."""
    x = np.linspace(-0.95, 0.95, 7)
    turn = np.arccos(x)
    for n in (0, 1, 2, 7):
        for name, expected in (
                ("chebyshev_t", scipy_s.eval_chebyt(n, x)), ("chebyshev_u", scipy_s.eval_chebyu(n, x)),
                ("chebyshev_v", np.cos((n + 0.5) * turn) / np.cos(turn / 2)),
                ("chebyshev_w", np.sin((n + 0.5) * turn) / np.sin(turn / 2)),
                ("hermite_h", scipy_s.eval_hermite(n, x)), ("hermite_he", scipy_s.eval_hermitenorm(n, x)),
                ("laguerre_l", scipy_s.eval_laguerre(n, x)), ("legendre_p", scipy_s.eval_legendre(n, x))):
            np.testing.assert_allclose(getattr(nv.special, name)(n, x).numpy(), expected, rtol=1e-11, atol=1e-12)
            if name.startswith("chebyshev"):
                shifted = getattr(nv.special, f"shifted_{name}")(n, (x + 1) / 2)
                np.testing.assert_allclose(shifted.numpy(), expected, rtol=1e-11, atol=1e-12)
    slope = nv.grad(lambda t: nv.sum(nv.special.legendre_p(3, t)))(x)
    np.testing.assert_allclose(slope, (15 * x * x - 3) / 2, rtol=1e-12)
    with pytest.raises(InvalidArgument, match="order"):
        nv.special.legendre_p(-1, x)


def test_names_and_counts_are_checked():
    x = nv.Parameter(nv.float64, (3,))
    for name, operands in (("i9", [x]), ("zeta", [x])):
        with pytest.raises(InvalidArgument) as found:
            ops.SpecialFunction(*operands, function=name)
        assert found.value.op == "SpecialFunction" and found.value.operand == "function" and found.value.help


def test_saved_functions_have_them():
    x = nv.Parameter(nv.float64, (3,))
    function = nv.Function([ops.SpecialFunction(x, function="k1e")], [x])
    assert print_function(parse_function(print_function(function))) == print_function(function)
