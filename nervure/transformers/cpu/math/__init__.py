"""Vector math: every function as straight-line code over registers of any number of lanes, float or double.

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import F64
>>> b = Builder("f", [("x", F64.vector(4))], F64.vector(4))
>>> VECTOR_MATH["exp"](b.arguments[0]).type
<4 x double>
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.math.activation import sigmoid, softplus
from nervure.transformers.cpu.math.error_function import erf, erf_inv, erfc
from nervure.transformers.cpu.math.exponential import exp, exp2, expm1
from nervure.transformers.cpu.math.gamma import digamma, lgamma
from nervure.transformers.cpu.math.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from nervure.transformers.cpu.math.inverse_trigonometric import acos, asin, atan, atan2
from nervure.transformers.cpu.math.logarithm import log, log1p, log2, log10
from nervure.transformers.cpu.math.power import power
from nervure.transformers.cpu.math.root import cbrt, rsqrt, sqrt
from nervure.transformers.cpu.math.trigonometric import cos, sin, tan

VECTOR_MATH: dict[str, Callable[..., Register]] = {
    "exp": exp, "exp2": exp2, "expm1": expm1,
    "log": log, "log2": log2, "log10": log10, "log1p": log1p,
    "sqrt": sqrt, "rsqrt": rsqrt, "cbrt": cbrt, "power": power,
    "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan, "atan2": atan2,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "asinh": asinh, "acosh": acosh, "atanh": atanh,
    "sigmoid": sigmoid, "softplus": softplus, "erf": erf, "erfc": erfc, "erf_inv": erf_inv,
    "lgamma": lgamma, "digamma": digamma,
}
