"""Elementary and special functions of floats, written over a small namespace of primitives that each backend provides.

Nothing here knows a backend: :mod:`.namespace` lists the primitives, and :mod:`.arrays` provides them over NumPy.

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(FUNCTIONS["exp"], np.array([1.0]))
array([2.71828183])
"""

from __future__ import annotations

from nervure.kernel.math import (
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)
from nervure.kernel.math.namespace import AnyFunction
from nervure.ops.scalar import SCALAR_FUNCTIONS

_FAMILIES = (error_function, exponential, gamma, hyperbolic, inverse_trigonometric, logarithm, power, trigonometric)

FUNCTIONS: dict[str, AnyFunction] = {
    name: vars(family)[name] for family in _FAMILIES for name in SCALAR_FUNCTIONS if name in vars(family)}
"""The functions of the scalar namespace that a family defines, by their names."""
