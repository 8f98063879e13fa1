"""The functions of ``nv.special`` by the intervals where people use them, with their exact values by mpmath.

A row of ``ROWS`` is a row of docs/accuracy.md; ``python -m tests.deep.special_accuracy`` writes them.

>>> row = ROWS["i0"]
>>> x, = row.points(np.float32, 3)
>>> x.dtype.name, len(x), row.errors(np.float64([1.0]), np.float64([0.0])).round(1).tolist()
('float32', 3, [0.0...])
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np

import nervure as nv
from tests.transformers.cpu.math_harness import exact_parts, ulps

mp = mpmath.mp
Samples = Callable[[np.random.Generator, int], np.ndarray]


class Row(NamedTuple):
    """The exact function, and for each operand what its numbers are drawn from, and how the page writes that.

    ``call`` is the function of the package. Where the exact value has zeros, the error is ``absolute``.
    """

    exact: Callable[..., Any]
    call: Callable[..., Any]
    where: str
    samples: tuple[Samples, ...]
    is_absolute: bool = False

    def points(self, dtype: Any, count: int) -> list[np.ndarray]:
        """The first ``count`` arguments, which are the same whatever the count."""
        seed = zlib.crc32(self.where.encode())
        drawn = [[make(np.random.default_rng([seed, at, part]), CHUNK) for part in range(-(-count // CHUNK))]
                 for at, make in enumerate(self.samples)]
        return [np.concatenate(parts)[:count].astype(dtype) for parts in drawn]

    def errors(self, got: np.ndarray, *points: np.ndarray) -> np.ndarray:
        """The errors of what was ``got`` at ``points``: in units in the last place, or absolute."""
        if got.dtype.kind == "c":
            return self._complex_errors(got, points)
        exact, rest = exact_parts(self.exact, *points)
        return np.abs((got.astype(np.float64) - exact) - rest) if self.is_absolute else ulps(got, exact, rest)

    def _complex_errors(self, got: np.ndarray, points: tuple[np.ndarray, ...]) -> np.ndarray:
        real = exact_parts(lambda *x: mp.re(self.exact(*x)), *points)
        imaginary = exact_parts(lambda *x: mp.im(self.exact(*x)), *points)
        error = np.hypot((got.real - real[0]) - real[1], (got.imag - imaginary[0]) - imaginary[1])
        size = np.hypot(real[0], imaginary[0])
        return error if self.is_absolute else error / np.spacing(size.astype(got.real.dtype)).astype(np.float64)


CHUNK = 8
"""The numbers that are drawn at once: a test may take the first ones of those that were measured."""


# -- numbers to draw from ----------------------------------------------------------------------------------------------


def between(low: float, high: float) -> Samples:
    """Evenly from an interval."""
    return lambda rng, count: rng.uniform(low, high, count)


def sizes(low: float, high: float) -> Samples:
    """Positive numbers whose logarithms are even."""
    return lambda rng, count: np.exp(rng.uniform(np.log(low), np.log(high), count))


def signed(low: float, high: float) -> Samples:
    """Numbers of both signs, whose sizes have even logarithms."""
    return lambda rng, count: sizes(low, high)(rng, count) * rng.choice([-1.0, 1.0], count)


def whole(low: int, high: int) -> Samples:
    """Whole numbers."""
    return lambda rng, count: rng.integers(low, high, count, endpoint=True).astype(np.float64)


def _far_or_close(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of Gauss's function: far from 0 to the left, or close to 1."""
    return np.where(rng.uniform(size=count) < 0.5, 1 - sizes(1e-3, 0.5)(rng, count), -sizes(1, 1e6)(rng, count))


# -- the exact functions that mpmath has under no name -----------------------------------------------------------------


def _wofz(x: Any, y: Any) -> Any:
    z = mp.mpc(x, y)
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def _ndtri(p: Any) -> Any:
    if p > 0.5:
        return -_ndtri(1 - p)
    size = mp.sqrt(-2 * mp.log(p))
    return mp.findroot(lambda x: mp.log(mp.ncdf(x)) - mp.log(p), -size * (0.6 if p > 0.1 else 0.9))


def _log_ndtr(x: Any) -> Any:
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def _multigammaln(x: Any) -> Any:
    return mp.log(mp.pi) * 3 / 2 + sum([mp.loggamma(x - mp.mpf(k) / 2) for k in range(3)])


def _box(logarithm: Any, power: Any) -> Any:
    return mp.expm1(power * logarithm) / power if power else logarithm


def _polynomial(family: Callable[..., Any], order: int) -> Callable[[Any], Any]:
    return lambda x: family(order, x)


def _chebyshev_v(n: int, x: Any) -> Any:
    turn = mp.acos(x)
    return mp.cos((n + mp.mpf(1) / 2) * turn) / mp.cos(turn / 2)


def _chebyshev_w(n: int, x: Any) -> Any:
    turn = mp.acos(x)
    return mp.sin((n + mp.mpf(1) / 2) * turn) / mp.sin(turn / 2)


def _hermite_he(n: int, x: Any) -> Any:
    return mp.hermite(n, x / mp.sqrt(2)) * mp.mpf(2) ** (-mp.mpf(n) / 2)


_UNIT, _DEGREE = between(-1, 1), 10
_ANGLES = (between(0, np.pi), between(-np.pi, np.pi))
_CHEBYSHEV = {"t": mp.chebyt, "u": mp.chebyu, "v": _chebyshev_v, "w": _chebyshev_w}


def _named(name: str) -> Callable[..., Any]:
    return lambda *operands: getattr(nv.special, name)(*operands)


def _of_degree(name: str, degree: int = _DEGREE) -> Callable[..., Any]:
    return lambda x: getattr(nv.special, name)(degree, x)


def _plain(name: str, exact: Callable[..., Any], where: str, *samples: Samples, is_absolute: bool = False) -> Row:
    return Row(exact, _named(name), where, samples, is_absolute)


def _shifted(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: function(_DEGREE, 2 * x - 1)


def _scaled(function: Callable[..., Any], order: int, sign: int) -> Callable[[Any], Any]:
    return lambda x: function(order, x) * mp.exp(sign * abs(x))


_BESSEL_SIZES, _POSITIVE_SIZES = signed(1e-3, 80), sizes(1e-3, 80)

ROWS: dict[str, Row] = {
    # Bessel functions
    "i0": _plain("i0", lambda x: mp.besseli(0, x), "±(0.001 to 80)", _BESSEL_SIZES),
    "i0e": _plain("i0e", _scaled(mp.besseli, 0, -1), "±(0.001 to 1e4)", signed(1e-3, 1e4)),
    "i1": _plain("i1", lambda x: mp.besseli(1, x), "±(0.001 to 80)", _BESSEL_SIZES),
    "i1e": _plain("i1e", _scaled(mp.besseli, 1, -1), "±(0.001 to 1e4)", signed(1e-3, 1e4)),
    "k0": _plain("k0", lambda x: mp.besselk(0, x), "0.001 to 80", _POSITIVE_SIZES),
    "k0e": _plain("k0e", _scaled(mp.besselk, 0, 1), "0.001 to 1e4", sizes(1e-3, 1e4)),
    "k1": _plain("k1", lambda x: mp.besselk(1, x), "0.001 to 80", _POSITIVE_SIZES),
    "k1e": _plain("k1e", _scaled(mp.besselk, 1, 1), "0.001 to 1e4", sizes(1e-3, 1e4)),
    "j0": _plain("j0", lambda x: mp.besselj(0, x), "0 to 2", between(0, 2)),
    "j0, with zeros": _plain("j0", lambda x: mp.besselj(0, x), "±700", between(-700, 700), is_absolute=True),
    "j1": _plain("j1", lambda x: mp.besselj(1, x), "0.001 to 3", sizes(1e-3, 3)),
    "j1, with zeros": _plain("j1", lambda x: mp.besselj(1, x), "±700", between(-700, 700), is_absolute=True),
    "y0, with zeros": _plain("y0", lambda x: mp.bessely(0, x), "0.001 to 700", sizes(1e-3, 700), is_absolute=True),
    "y1": _plain("y1", lambda x: mp.bessely(1, x), "0.001 to 2", sizes(1e-3, 2)),
    "y1, with zeros": _plain("y1", lambda x: mp.bessely(1, x), "1 to 700", sizes(1, 700), is_absolute=True),
    "spherical_bessel_j0": _plain("spherical_bessel_j0", lambda x: mp.sin(x) / x, "0.001 to 3", sizes(1e-3, 3)),
    "bessel_jn(x, 10), the last": Row(lambda x: mp.besselj(10, x), lambda x: nv.special.bessel_jn(x, 10)[10], "±50",
                                      (between(-50, 50),), True),
    "airy_ai, to the right": _plain("airy_ai", mp.airyai, "-1 to 20", between(-1, 20)),
    "airy_ai, with zeros": _plain("airy_ai", mp.airyai, "-50 to 0", between(-50, 0), is_absolute=True),
    # gamma functions
    "gamma": _plain("gamma", mp.gamma, "0.001 to 34", sizes(1e-3, 34)),
    "gamma, below 0": _plain("gamma", mp.gamma, "-10 to 0", between(-10, 0)),
    "gammasgn": _plain("gammasgn", lambda x: mp.sign(mp.gamma(x)), "-30 to 30", between(-30, 30)),
    "gammainc": _plain("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), "0.1 to 100, 0.1 to 100",
                       sizes(0.1, 100), sizes(0.1, 100)),
    "gammaincc": _plain("gammaincc", lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
                        "0.1 to 100, 0.1 to 100", sizes(0.1, 100), sizes(0.1, 100)),
    "betainc": _plain("betainc", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                      "0.1 to 50, 0.1 to 50, 0.05 to 0.95", sizes(0.1, 50), sizes(0.1, 50), between(0.05, 0.95)),
    "beta": _plain("beta", mp.beta, "0.05 to 30, 0.05 to 30", sizes(0.05, 30), sizes(0.05, 30)),
    "betaln": _plain("betaln", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
                     "1.5 to 1e4, 1.5 to 1e4", sizes(1.5, 1e4), sizes(1.5, 1e4)),
    "betaln, with zeros": _plain("betaln", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
                                 "0.05 to 2, 0.05 to 2", sizes(0.05, 2), sizes(0.05, 2), is_absolute=True),
    "multigammaln(x, 3)": Row(_multigammaln, lambda x: nv.multigammaln(x, 3), "3 to 1e4", (sizes(3, 1e4),)),
    "polygamma": Row(lambda n, x: (-1) ** int(n + 1) * mp.factorial(n) * mp.zeta(n + 1, x),
                     lambda n, x: nv.special.polygamma(n.astype(nv.int32), x), "1 to 5, 0.05 to 50",
                     (whole(1, 5), sizes(0.05, 50))),
    "zeta": _plain("zeta", mp.zeta, "1.05 to 20, 0.05 to 50", between(1.05, 20), sizes(0.05, 50)),
    "factorial": _plain("factorial", mp.factorial, "0 to 33", between(0, 33)),
    "comb": _plain("comb", mp.binomial, "20 to 60, 0 to 20", between(20, 60), between(0, 20)),
    "poch": _plain("poch", mp.rf, "0.1 to 20, 0 to 10", sizes(0.1, 20), between(0, 10)),
    "boxcox": _plain("boxcox", lambda x, p: _box(mp.log(x), p), "0.01 to 100, ±3", sizes(0.01, 100), between(-3, 3)),
    "boxcox1p": _plain("boxcox1p", lambda x, p: _box(mp.log1p(x), p), "0.001 to 100, ±3", sizes(1e-3, 100),
                       between(-3, 3)),
    # the normal distribution, entropies
    "erfcx": _plain("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), "-9 to 100", between(-9, 100)),
    "ndtr": _plain("ndtr", mp.ncdf, "-12 to 6", between(-12, 6)),
    "log_ndtr": _plain("log_ndtr", _log_ndtr, "-50 to 5", between(-50, 5)),
    "ndtri, lower tail": _plain("ndtri", _ndtri, "1e-30 to 0.4", sizes(1e-30, 0.4)),
    "ndtri, with a zero": _plain("ndtri", _ndtri, "0.001 to 0.999", between(1e-3, 0.999), is_absolute=True),
    "owens_t": _plain("owens_t", _owens_t, "±4, ±4", between(-4, 4), between(-4, 4)),
    "wofz": Row(_wofz, lambda x, y: nv.special.wofz(nv.complex(x, y)), "±5 and 0 to 5 i", (between(-5, 5),
                                                                                          between(0, 5))),
    "entr": _plain("entr", lambda x: -x * mp.log(x), "0.001 to 0.9", sizes(1e-3, 0.9)),
    "rel_entr": _plain("rel_entr", lambda x, y: x * mp.log(x / y), "0.01 to 1, 2 to 100", sizes(0.01, 1),
                       sizes(2, 100)),
    "kl_div": _plain("kl_div", lambda x, y: x * mp.log(x / y) - x + y, "0.01 to 1, 0.01 to 1", sizes(0.01, 1),
                     sizes(0.01, 1)),
    "logit": _plain("logit", lambda x: mp.log(x / (1 - x)), "1e-6 to 0.4", sizes(1e-6, 0.4)),
    "xlogy": _plain("xlogy", lambda x, y: x * mp.log(y), "±10, 1e-3 to 1e3", between(-10, 10), sizes(1e-3, 1e3)),
    "xlog1py": _plain("xlog1py", lambda x, y: x * mp.log1p(y), "±10, 1e-6 to 1e3", between(-10, 10),
                      sizes(1e-6, 1e3)),
    "sinc": _plain("sinc", lambda x: mp.sincpi(x), "0.001 to 0.9", sizes(1e-3, 0.9)),
    # integrals
    "exp1": _plain("exp1", mp.e1, "0.001 to 80", _POSITIVE_SIZES),
    "expi": _plain("expi", mp.ei, "0.5 to 80", sizes(0.5, 80)),
    "expi, with a zero": _plain("expi", mp.ei, "-80 to 1", between(-80, 1), is_absolute=True),
    "expn": _plain("expn", lambda n, x: mp.expint(int(n), x), "0 to 9, 0.01 to 50", whole(0, 9), sizes(0.01, 50)),
    "dawsn": _plain("dawsn", lambda x: mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2, "±(0.001 to 30)",
                    signed(1e-3, 30)),
    "sici, the first": Row(mp.si, lambda x: nv.special.sici(x)[0], "±(0.001 to 300)", (signed(1e-3, 300),)),
    "sici, the second": Row(mp.ci, lambda x: nv.special.sici(x)[1], "0.001 to 300", (sizes(1e-3, 300),), True),
    "fresnel, the first": Row(mp.fresnels, lambda x: nv.special.fresnel(x)[0], "±(0.01 to 50)", (signed(0.01, 50),)),
    "fresnel, the second": Row(mp.fresnelc, lambda x: nv.special.fresnel(x)[1], "±(0.01 to 50)",
                               (signed(0.01, 50),)),
    "spence": _plain("spence", lambda x: mp.re(mp.polylog(2, 1 - x)), "0 to 0.9", between(0, 0.9)),
    "spence, with a zero": _plain("spence", lambda x: mp.re(mp.polylog(2, 1 - x)), "0.5 to 100", sizes(0.5, 100),
                                  is_absolute=True),
    # hypergeometric functions
    "hyp1f1": _plain("hyp1f1", mp.hyp1f1, "±20, ±20, ±30", between(-20, 20), between(-20, 20), between(-30, 30)),
    "hyp2f1": _plain("hyp2f1", mp.hyp2f1, "±20, ±20, ±20, ±1", between(-20, 20), between(-20, 20), between(-20, 20),
                     between(-1, 1)),
    "hyp2f1, far and close to 1": _plain("hyp2f1", lambda a, b, c, x: mp.hyp2f1(a, b, c, mp.mpf(x)),
                                         "±4, ±4, ±4, -1e6 to 0.999", between(-4, 4), between(-4, 4), between(-4, 4),
                                         _far_or_close),
    # orthogonal polynomials
    **{f"chebyshev_{kind}(10, x)": Row(_polynomial(exact, _DEGREE), _of_degree(f"chebyshev_{kind}"), "±0.95",
                                       (between(-0.95, 0.95),), True) for kind, exact in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_{kind}(10, x)": Row(_shifted(exact), _of_degree(f"shifted_chebyshev_{kind}"), "0.03 to 0.97",
                                               (between(0.03, 0.97),), True) for kind, exact in _CHEBYSHEV.items()},
    "legendre_p(10, x)": Row(_polynomial(mp.legendre, _DEGREE), _of_degree("legendre_p"), "±1", (_UNIT,), True),
    "laguerre_l(10, x)": Row(lambda x: mp.laguerre(_DEGREE, 0, x), _of_degree("laguerre_l"), "0 to 2",
                             (between(0, 2),), True),
    "hermite_h(10, x), beyond its zeros": Row(_polynomial(mp.hermite, _DEGREE), _of_degree("hermite_h"), "4 to 20",
                                              (between(4, 20),)),
    "hermite_he(10, x), beyond its zeros": Row(_polynomial(_hermite_he, _DEGREE), _of_degree("hermite_he"),
                                               "6 to 20", (between(6, 20),)),
    "sph_harm_y(5, 2, ...)": Row(lambda theta, phi: mp.spherharm(5, 2, theta, phi),
                                 lambda theta, phi: nv.special.sph_harm_y(5, 2, theta, phi), "all angles", _ANGLES,
                                 True),
}


def function_of(label: str) -> str:
    """The name of the function of a row: ``j0`` of ``j0, with zeros``."""
    return label.split("(")[0].split(",")[0]


def results(row: Row, points: list[np.ndarray], transformer: str) -> np.ndarray:
    """What a transformer gives at the points."""
    operands = [nv.placeholder(array.shape, dtype=array.dtype) for array in points]
    with nv.transformers.make_transformer(transformer) as made:
        return np.asarray(made.computation(row.call(*operands), *operands)(*points))
