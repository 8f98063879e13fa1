"""Vector math: every function as straight-line code over registers of any number of lanes, float or double.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F64
>>> b = Builder("f", [("x", F64.vector(4))], F64.vector(4))
>>> VECTOR_MATH["exp"](b.arguments[0]).type
<4 x double>
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.math import (
    activation,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    root,
    trigonometric,
)

_FAMILIES = (activation, error_function, exponential, gamma, hyperbolic, inverse_trigonometric, logarithm, power, root,
             trigonometric)

VECTOR_MATH: dict[str, Callable[..., Register]] = {
    name: vars(family)[name] for family in _FAMILIES for name in SCALAR_FUNCTIONS if name in vars(family)}
"""The functions of scalars that a family has under their names."""
