"""The scalar namespace over NumPy: a scalar is a whole array, or an array that broadcasts over the domain.

This is the reference for the other backends. What IEEE 754 does not fix (exp, sin, erf, ...) is computed in
the next wider type and rounded once, so a float32 result is right to the last bit but for rare ties.

>>> import numpy as np
>>> s = NumPyScalars()
>>> s.power(np.array([2, -1, 3]), np.array([10, -3, -1])).tolist()
[1024, -1, 0]

Elements come in their storage type; each function widens low-precision floats itself, so that what only
moves elements moves bits. Callers silence NumPy's floating-point warnings (``np.errstate``): infinities and
NaN are values here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nervure.errors import InternalError
from nervure.ir.notation import Number
from nervure.kernel.math.arrays import fused_multiply_add, fused_multiply_add_of_floats
from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.transformers import convert as conversions
from nervure.transformers.convert import widen
from nervure.transformers.interpreter import special
from nervure.types.dim import DimLike
from nervure.types.dtype import DType

PRECISE = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}
"""The types in which is computed what is rounded once, to narrower ones."""


def dense(*arrays: np.ndarray) -> list[np.ndarray]:
    """Returns the arrays in one shape, without gaps; themselves where they are. How an array lies in memory decides how
    NumPy rounds some functions, so what IEEE 754 does not fix is computed of dense copies, and depends on the elements
    alone.
    """
    shaped = arrays if len(arrays) == 1 else np.broadcast_arrays(*arrays)
    return [np.asarray(array, order="C") for array in shaped]


def _exact(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns a function that has one right result; of complex numbers it has not, hence dense arrays."""
    def method(self: NumPyScalars, *operands: np.ndarray) -> np.ndarray:
        operands = tuple([widen(x) for x in operands])
        return function(*dense(*operands) if operands[0].dtype.kind == "c" else operands)
    return method


def _precise(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns a function of floats, computed in twice the width and rounded once."""
    def method(self: NumPyScalars, *operands: np.ndarray) -> np.ndarray:
        arrays = dense(*[widen(x) for x in operands])
        wide = PRECISE.get(arrays[0].dtype)
        if wide is None:
            return function(*arrays)
        return function(*[x.astype(wide) for x in arrays]).astype(arrays[0].dtype)
    return method


def _rounding(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns a rounding to integers: integers and bool pass."""
    def method(self: NumPyScalars, x: np.ndarray) -> np.ndarray:
        x = widen(x)
        return function(x) if x.dtype.kind == "f" else x
    return method


_EXACT = {name: name for name in (
    "negative absolute add subtract multiply divide maximum minimum sqrt equal not_equal less less_equal "
    "bitwise_and bitwise_or bitwise_xor real conjugate").split()} | {
    "floordivide": "floor_divide", "modulo": "remainder", "is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite",
    "bitwise_not": "invert", "shift_left": "left_shift", "shift_right": "right_shift", "imaginary": "imag"}
"""The functions that have one right result, and NumPy's names of them."""


def _functions() -> dict[str, Callable[..., np.ndarray]]:
    """Returns the functions that NumPy or :mod:`special` has: exact ones, and those that IEEE 754 does not fix."""
    exact = {name: _exact(getattr(np, spelled)) for name, spelled in _EXACT.items()}
    return exact | {name: _precise(getattr(special, name, None) or getattr(np, name))
                    for name, declared in SCALAR_FUNCTIONS.items()
                    if declared.ulps and name != "power" and name not in exact}


class NumPyScalars(ScalarNamespace[np.ndarray]):
    """The functions over NumPy arrays. ``indices`` gives the value of an expression over the domain's
    indices.
    """

    def __init__(self, indices: Callable[[DimLike], np.ndarray | int] | None = None) -> None:
        self._indices = indices

    # -- values ------------------------------------------------------------------------------------------

    def constant(self, value: Number, like: np.ndarray | DType) -> np.ndarray:
        return (like.compute.numpy if isinstance(like, DType) else widen(like).dtype).type(value)

    def index(self, expression: DimLike) -> np.ndarray:
        if self._indices is None:
            raise InternalError("an elementwise expression has no domain whose index it could read")
        return np.asarray(self._indices(expression), np.int64)

    convert = staticmethod(conversions.convert)
    wrap = staticmethod(conversions.wrap)
    bitcast = staticmethod(conversions.bitcast)

    def where(self, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(condition, x, y) if x.dtype == y.dtype else np.where(condition, widen(x), widen(y))

    # -- arithmetic --------------------------------------------------------------------------------------

    locals().update(_functions())

    def sign(self, x: np.ndarray) -> np.ndarray:
        x = widen(x)
        return np.where(x == 0, x, np.sign(x)) if x.dtype.kind == "f" else np.sign(*dense(x))

    def power(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = widen(x), widen(y)
        if x.dtype.kind not in "iu":
            return np.where(y == 1, x, self._float_power(x, y))  # exact, whatever NumPy's power is on this processor
        if x.dtype.kind == "u":
            return np.power(x, y)
        reciprocal = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0)).astype(x.dtype)
        return np.where(y < 0, reciprocal, np.power(x, np.where(y < 0, 0, y).astype(x.dtype)))

    _float_power = _precise(np.power)

    def fma(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        x, y, z = widen(x), widen(y), widen(z)
        if x.dtype.kind != "f":
            return self.add(self.multiply(x, y), z)
        if x.dtype == np.float32 and not (x.ndim or y.ndim or z.ndim):
            return np.asarray(fused_multiply_add_of_floats(float(x), float(y), float(z)), np.float32)
        x, y, z = np.broadcast_arrays(x, y, z)
        return fused_multiply_add(x.ravel(), y.ravel(), z.ravel()).reshape(x.shape)

    # -- rounding ----------------------------------------------------------------------------------------

    floor = _rounding(np.floor)
    ceil = _rounding(np.ceil)
    round = _rounding(np.rint)
    truncate = _rounding(np.trunc)

    # -- complex ---------------------------------------------------------------------------------------------

    def complex(self, re: np.ndarray, im: np.ndarray) -> np.ndarray:
        # Not re + 1j * im: the product would turn an infinite part into NaN.
        pair = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.result_type(re.dtype, np.complex64))
        pair.real, pair.imag = re, im
        return pair
