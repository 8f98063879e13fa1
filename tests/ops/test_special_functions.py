"""Special functions against mpmath and SciPy, at their borders, on every transformer; derivatives to second order."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
import scipy.special as scipy_s

import nervure as nv
from nervure import ops
from nervure.errors import InvalidArgument, NotSupported
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ops.formulas.table import FORMULAS
from tests.conformance.differences import derivatives
from tests.conformance.running import DEEP, run
from tests.front.special_accuracy import ROWS as MEASURED

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
WIDE = np.random.default_rng(5).uniform(-20, 20, (4, 16))
WIDE[:2, ::4] = np.round(WIDE[:2, ::4])
BELOW_1 = np.where(np.arange(16) % 2, 1 - 10 ** (WIDE[3] / 50 - 1), -10 ** (WIDE[3] / 20))
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


EXACT = {label: row.exact for label, row in MEASURED.items()}


class Row(NamedTuple):
    """Arguments, the greatest error, relative or ``absolute``, and what mpmath says, if the page has no such row."""

    arguments: tuple[np.ndarray, ...]
    error: float = 1e-15
    absolute: bool = False
    other: Callable[..., Any] | None = None

    def exact(self, name: str) -> Callable[..., Any]:
        """The exact function: that of the row, or the one that the page is measured by."""
        return self.other or EXACT[name]


def _up_to(most: float) -> np.ndarray:
    return REAL[np.abs(REAL) < most]


ROWS: dict[str, Row] = {
    **{name: Row((REAL,)) for name in ("i0", "i1", "i0e", "i1e")},
    **{name: Row((POSITIVE,)) for name in ("k0", "k1", "k0e", "k1e")},
    "j0": Row((REAL,), 2e-15, True), "j1": Row((REAL,), 1e-15, True),
    "y0": Row((POSITIVE,), 8e-15, True, EXACT["y0, with zeros"]),
    "y1": Row((POSITIVE[POSITIVE > 0.1],), 4e-15, True),
    "airy_ai": Row((np.r_[_up_to(40), -1.7, -2.0, 1.0, -5.0],), 2e-15, True, mp.airyai),
    "airy_ai_slope": Row((np.r_[_up_to(40), -1.7, -2.0, 1.0, -5.0],), 1e-14, True,
                         lambda x: mp.airyai(x, derivative=1)),
    "erfcx": Row((np.r_[POSITIVE, -RNG.uniform(0, 26, 30)],), 2e-15),
    "ndtr": Row((np.r_[REAL[REAL > -37]],), 2e-15), "log_ndtr": Row((REAL,), 2e-15),
    "ndtri": Row((CHANCES,), 2e-15, False, lambda p: mp.findroot(
        lambda x: mp.log(mp.ncdf(x)) - mp.log(p), float(scipy_s.ndtri(float(p))))),
    "gamma": Row((RNG.uniform(-30, 170, 60),), 5e-15), "factorial": Row((RNG.uniform(0, 169, 60),), 5e-15),
    "beta": Row((A, B), 5e-13), "betaln": Row((A, B), 2e-14),
    "poch": Row((np.r_[A, -A[:9], -2.0, -3.0, 0.0], np.r_[B[:40] % 20, B[:9] % 3, 2.0, 5.0, 1.0]), 2e-13),
    "boxcox": Row((A, RNG.uniform(-3, 3, 40)), 1e-14), "boxcox1p": Row((A, RNG.uniform(-3, 3, 40)), 1e-14),
    "kl_div": Row((A, A * np.r_[1 + MANY * 1e-4, RNG.uniform(0.1, 5, 16)]), 1e-14),
    "gammainc": Row((A, UP_TO), 3e-13), "gammaincc": Row((A, UP_TO), 3e-13),
    "gammainc_slope": Row((A[:5] ** 0.5, A[:5] ** 0.5 * 1.5), 1e-12, False, _slope(EXACT["gammainc"], 0)),
    "betainc": Row((A, B, PART), 1e-11),
    "betainc_slope_in_a": Row((A[:3] ** 0.5, B[:3] ** 0.5, PART[:3]), 1e-11, False, _slope(EXACT["betainc"], 0)),
    "betainc_slope_in_b": Row((A[:3] ** 0.5, B[:3] ** 0.5, PART[:3]), 1e-11, False, _slope(EXACT["betainc"], 1)),
    "hyp1f1": Row((*WIDE[:3:2], WIDE[3] * 1.5)), "hyp2f1": Row((*WIDE[:3], BELOW_1)),
    "hyp1f1_slope_in_a": Row((*WIDE[:3:2], WIDE[3] * 1.5), 1e-15, False, _slope(EXACT["hyp1f1"], 0)),
    "hyp1f1_slope_in_b": Row((*WIDE[:3:2], WIDE[3] * 1.5), 1e-15, False, _slope(EXACT["hyp1f1"], 1)),
    "hyp2f1_slope_in_a": Row((*WIDE[:3], BELOW_1), 1e-13, False, _slope(EXACT["hyp2f1"], 0)),
    "hyp2f1_slope_in_c": Row((*WIDE[:3], BELOW_1), 1e-13, False, _slope(EXACT["hyp2f1"], 2)),
    "zeta": Row((ORDERS, PLACES), 2e-14, False, _zeta),
    "polygamma": Row((1 + np.arange(12.0) % 5, RNG.uniform(0.1, 30, 12)), 5e-14),
    "comb": Row((RNG.uniform(20, 60, 30), RNG.uniform(0, 20, 30)), 1e-13),
    "exp1": Row((POSITIVE[POSITIVE < 600],), 1e-14), "expi": Row((_up_to(600),), 2e-13),
    "expn": Row((np.arange(30.0) % 9, RNG.uniform(0.01, 20, 30)), 1e-14), "dawsn": Row((_up_to(20),), 2e-15),
    "sine_integral": Row((REAL,), 2e-15, True, mp.si), "cosine_integral": Row((POSITIVE,), 4e-15, True, mp.ci),
    "spherical": Row((REAL,), 1e-15, True, lambda x: mp.sin(x) / x),
    "fresnel_sine": Row((_up_to(50),), 5e-15, False, mp.fresnels),
    "fresnel_cosine": Row((_up_to(50),), 5e-15, False, mp.fresnelc),
    "spence": Row((POSITIVE,), 2e-14, True),
    "owens_t": Row((RNG.normal(size=10) * 2, RNG.normal(size=10) * 2), 1e-14),
}


def called(name: str, transformer: str, *arguments: np.ndarray) -> np.ndarray:
    parameters = [nv.Parameter(nv.as_dtype(array.dtype), array.shape) for array in arguments]
    function = nv.Function([ops.SpecialFunction(*parameters, function=name)], parameters)
    return run(transformer, function, list(arguments))[0]


SLOW = ("betainc_slope_in_b", "gammainc_slope", "hyp1f1_slope_in_b", "hyp2f1_slope_in_a")
"""Of two slopes that are computed alike the deep run tries both."""

PARTS = ("beta", "betainc_slope_in_a", "comb", "factorial", "gammaincc", "hyp2f1_slope_in_c", "poch", "polygamma")
"""They are made of functions that are compiled for others: the deep run compiles them, too."""

TRIED = [name for name in ROWS if DEEP or name not in SLOW]


def test_every_formula_has_a_row():
    assert set(ROWS) == set(FORMULAS)


BORDERS = np.array([0.0, 1.0, 0.5, 2.0, -1.5, -2.0, np.inf, -np.inf, np.nan, 1e-300, 40.0, -0.0, -1.0, -2.5])


@lru_cache(maxsize=1)
def computed(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Arguments of a function, those of its row and the borders behind them, and what the cpu gives: compiled once.

    Of ``PARTS`` it is what the interpreter gives, unless the run is deep.
    """
    row = ROWS[name]
    borders = [entry.ravel() for entry in np.meshgrid(*[BORDERS] * len(row.arguments))]
    if len(borders) > 2:
        borders = [entry[::7 if len(borders) == 3 else 101] for entry in borders]
    arguments = [np.r_[array, border] for array, border in zip(row.arguments, borders)]
    return arguments, called(name, "cpu" if DEEP or name not in PARTS else "interpreter", *arguments)


@pytest.mark.parametrize("name", TRIED)
def test_special_functions_are_those_of_mpmath(name):
    """A520: in double precision to the digits that the page of accuracy claims; float32 is the rounding of that."""
    row = ROWS[name]
    with mpmath.workdps(30):
        exact = np.array([float(row.exact(name)(*map(mpmath.mpf, map(float, numbers))))
                          for numbers in zip(*row.arguments)])
    found = computed(name)[1][:len(exact)]
    usual = np.abs(exact) > 1e-290
    errors = np.abs(found - exact) / (1 if row.absolute else np.where(usual, np.abs(exact), 1))
    assert np.max(errors[usual]) <= row.error, row.arguments[-1][np.argmax(np.where(usual, errors, 0))]


@pytest.mark.parametrize("name", [name for name in TRIED if DEEP or name not in PARTS])
def test_transformers_agree(name):
    """A520: at all points and at the borders, to the digits of what each makes of exponentials."""
    arguments, on_cpu = computed(name)
    expected = called(name, "interpreter", *arguments)
    results = {"cpu": (on_cpu, 1e-11)}
    if DEEP or name in TRIED_ON_XLA:
        results["xla"] = called(name, "xla", *arguments), 2e-9
    for found, digits in results.values():
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=digits, atol=1e-14)


TRIED_ON_XLA = ("j1", "boxcox")
"""XLA compiles slowly: the deep run tries all."""


@pytest.mark.parametrize("name", ["k0e", "boxcox"])
def test_narrow_types_are_rounded_once(name):
    """A520: float32 is the rounding of what float64 gives."""
    narrow = [np.asarray(array, np.float32) for array in ROWS[name].arguments]
    with np.errstate(all="ignore"):
        rounded = called(name, "interpreter", *[array.astype(np.float64) for array in narrow]).astype(np.float32)
    np.testing.assert_array_equal(called(name, "interpreter", *narrow), rounded)


SMOOTH = {"normal": np.array([0.3, -1.7, 2.4, 9.5, -12.0]), "positive": np.array([0.7, 3.1, 0.4, 9.0, 14.0]),
          "unit": np.array([0.2, 0.55, 0.8, 0.02, 0.97]), "chance": np.array([0.2, 0.55, 0.8, 0.1, 0.6]),
          "above one": np.array([1.5, 2.0, 3.7, 6.0, 1.2]), "count": np.array([0.0, 1.0, 2.0, 3.0, 4.0])}


STEP = 1e-5


LAST = re.compile("hyp.*_slope_")
"""They have no derivatives."""

OTHERS = ("beta", "boxcox1p", "fresnel_cosine", "gammaincc", "hyp2f1")
"""Their derivatives are made as those of functions beside them: the deep run tries them, too."""


@pytest.mark.parametrize("name", [name for name in TRIED if name not in ("polygamma", "expn") and not LAST.match(name)
                                  and (DEEP or name not in OTHERS)])
def test_derivatives_are_those_of_differences(name):
    """A520: to second order, in all operands: first ones of slopes that have rows of their own are second ones.

    One call computes values and derivatives at the points and beside them, in each operand.
    """
    row = FORMULAS[name]
    count = len(row.operands)
    points = [SMOOTH[row.sample[min(at, len(row.sample) - 1)]] for at in range(count)]
    points = np.array([array * (1 + 0.1 * at) if array.max() > 1 else array for at, array in enumerate(points)])
    moves = [np.zeros((count, 1)), *[sign * STEP * np.eye(count)[:, [at]] for at in range(count) for sign in (1, -1)]]
    parameters = [nv.Parameter(nv.float64, (len(moves) * points.shape[1],)) for _ in range(count)]
    targets = [entry.value for entry in parameters]
    orders = [[ops.SpecialFunction(*parameters, function=name).output]]
    for _ in range(1 if count > 1 else 2):
        orders.append(derivatives(orders[-1], [target.full(1) for target in targets][:1], targets))
    function = nv.Function([value for order in orders for value in order], parameters)
    results = run("interpreter", function, list(np.concatenate([points + move for move in moves], axis=1)))
    results = [result.reshape(len(moves), -1) for result in results]
    for value, slopes in [(results[0], results[1:count + 1]), *([(results[1], results[2:])] if count == 1 else [])]:
        for at, slope in enumerate(slopes):
            difference = (value[2 * at + 1] - value[2 * at + 2]) / (2 * STEP)
            np.testing.assert_allclose(slope[0], difference, rtol=1e-5, atol=1e-5)


def test_derivatives_of_polygamma_are_polygammas():
    x, n = nv.placeholder((4,), dtype=nv.float64), np.arange(4)
    slope = nv.deriv(nv.sum(nv.special.polygamma(n, x)), x)
    points = np.array([0.5, 2.0, 7.5, -1.3])
    with nv.transformers.make_transformer("interpreter") as interpreter:
        found = interpreter.computation(slope, x)(points)
    np.testing.assert_allclose(found, scipy_s.polygamma(n + 1, points), rtol=1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["i0e", "i1e", "k0", "k0e", "k1", "k1e", "erfcx", "ndtr", "log_ndtr", "ndtri", "gamma",
                                  "kl_div", "gammainc", "gammaincc", "betainc"])
def test_borders_are_those_of_scipy(name):
    """A520: zeros, infinities, NaN and what lies outside."""
    arguments, found = computed(name)
    ordinary = len(ROWS[name].arguments[0])
    arguments, found = [array[ordinary:] for array in arguments], found[ordinary:]
    if name == "betainc":  # of infinite parameters SciPy's is NaN
        usual = np.all(np.isfinite(arguments), axis=0) | np.any(np.isnan(arguments), axis=0)
        arguments, found = [array[usual] for array in arguments], found[usual]
    np.testing.assert_allclose(found, getattr(scipy_s, name)(*arguments), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(("name", "rows"), [
    ("hyp1f1", [(-1, 1, 1, 0), (-1, -2, 3, 2.5), (-3, -2, 3, np.inf), (1, -2, 0, 1), (1, -2, np.nan, np.nan),
                (1, 2, 1000, np.inf), (2, 2, -800, 0), (1, 2, -1e6, 1e-6), (-600.5, 0.5, 400, np.nan)]),
    ("hyp2f1", [(2, -3, 2, 1, 0), (-2, 3, 4, 2, 0.4), (1, 2, 3, 1.5, np.nan), (1, 1, 3, 1, 2), (1, 1, 2, 1, np.inf),
                (-0.5, 1, 0.25, 1, -np.inf), (1, 1, 2, -1e300, 300 * np.log(10) * 1e-300), (17, 0, 9, 0.999, 1),
                (1, 1, 2, 1 - 2.0 ** -50, 50 * np.log(2) / (1 - 2.0 ** -50)), (-90.5, 90, 0.5, 0.9, np.nan)])])
def test_hypergeometric_functions_at_their_borders(name, rows):
    """A520: polynomials, poles and sums at 1, and close to it; NaN where no digits are left."""
    *arguments, expected = np.array(rows, np.float64).T.copy()
    np.testing.assert_allclose(called(name, "cpu", *arguments), expected, rtol=4e-15, atol=1e-300)


def test_derivatives_in_hypergeometric_parameters_have_none():
    """A520: they are first ones; an error says so, and what has more."""
    a = nv.placeholder((), dtype=nv.float64)
    slope = nv.deriv(nv.special.hyp1f1(a, 2.0, 3.0), a)
    with pytest.raises(NotSupported, match="derivative in a parameter") as found:
        nv.deriv(slope, a)
    assert found.value.op == "SpecialFunction" and "derivatives in x" in found.value.help


def test_symbolic_lengths_many_elements_and_narrow_types():
    """A520: sizes that a call gives; nv.vmap; bfloat16 is computed in double precision and rounded once."""
    n = nv.dim("n", min=0)
    x, power = nv.placeholder({"N": n}), nv.placeholder({"N": n})
    function = nv.computation(nv.special.boxcox(x, power), x, power)
    for size in (0, 1, 17):
        left, right = RNG.uniform(0.1, 9, (2, size)).astype(np.float32)
        np.testing.assert_allclose(function(left, right), scipy_s.boxcox(left, right), rtol=1e-6)
    ends = np.array([np.inf, 0.0, 1.0, np.nan])
    for power in (0.0, 1.0):
        np.testing.assert_array_equal(nv.special.boxcox(ends, power).numpy(), scipy_s.boxcox(ends, power))
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


def test_orders_of_polynomials_may_be_a_tensor():
    orders, x = np.array([[0], [1], [2], [19], [-1]]), np.array([-0.9, 0.1, 0.7])
    for name in ("chebyshev_t", "shifted_chebyshev_w", "hermite_he", "laguerre_l", "legendre_p"):
        polynomial = getattr(nv.special, name)
        expected = np.stack([*[np.asarray(polynomial(int(n), x)) for n in orders[:4, 0]], np.zeros(3)])
        np.testing.assert_allclose(np.asarray(polynomial(orders, x)), expected, rtol=1e-12)
