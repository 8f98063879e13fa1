"""Complex numbers: made of their parts or in polar form, and taken apart.

>>> import numpy as np
>>> import nervure as nv
>>> z = nv.complex(np.float32([3, 0]), np.float32([4, 1]))
>>> z.tolist(), nv.real(z).tolist(), nv.imag(z).tolist()
([(3+4j), 1j], [3.0, 0.0], [4.0, 1.0])
>>> nv.absolute(z).tolist(), nv.conj(z).tolist()
([5.0, 1.0], [(3-4j), -1j])

The derivative of a real function with respect to a complex z = x + iy is that in x minus i times that in y, as in JAX.
PyTorch's is its conjugate. A step downhill is ``z - rate * nv.conj(gradient)``:

>>> w = nv.variable((), 3 + 4j, dtype=nv.complex64)
>>> nv.deriv(nv.real(w * nv.conj(w)), w).item()
(6-8j)
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import DtypeMismatch
from nervure.front import alignment
from nervure.front.apply import operand_tensors
from nervure.front.arranging.filled import zeros_like
from nervure.front.creation import as_tensor, expression
from nervure.front.op_functions import cos, multiply, sin
from nervure.front.pointwise.elementwise import atan2, both_as_floats
from nervure.front.tensor import Operand, Tensor
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import float32, float64

__all__ = ["angle", "complex", "conj", "conjugate", "imag", "iscomplex", "isreal", "polar", "real"]


def complex(x: Operand, y: Operand) -> Tensor:
    """Returns the complex numbers with the real parts x and the imaginary parts y.

    Of float64 they are complex128, else complex64.

    >>> nv.complex(np.float32([1, 2]), 3.0).tolist()
    [(1+3j), (2+3j)]
    """
    parts = both_as_floats(x, y, "complex")
    dtype = parts[0].dtype
    if dtype.is_complex:
        raise DtypeMismatch("both parts are real numbers", op="complex", got=dtype.name,
                            expected="a float element type", help="x + 1j * y adds complex numbers")
    dtype = dtype if dtype is float64 else float32
    values, axes, _ = alignment.aligned(parts, "complex")
    return Tensor(ops.Complex(*[converted(value, dtype) for value in values]), axes)


def real(x: Operand) -> Tensor:
    """Returns the real part of x; real numbers are their own.

    >>> nv.real(np.array([1 + 2j, 3])).tolist()
    [1.0, 3.0]
    """
    own = as_tensor(x, "real")
    return Tensor(ops.Real(own.value), own._axes) if own.dtype.is_complex else expression(own)


def imag(x: Operand) -> Tensor:
    """Returns the imaginary part of x; that of real numbers is 0.

    >>> nv.imag(np.array([1 + 2j, 3])).tolist()
    [2.0, 0.0]
    """
    own = as_tensor(x, "imag")
    return Tensor(ops.Imaginary(own.value), own._axes) if own.dtype.is_complex else zeros_like(own)


def conj(x: Operand) -> Tensor:
    """Returns the complex conjugate of x; real numbers are their own.

    >>> nv.conj(np.array([1 + 2j, 3])).tolist()
    [(1-2j), (3-0j)]
    """
    own = as_tensor(x, "conj")
    return Tensor(ops.Conjugate(own.value), own._axes) if own.dtype.is_complex else expression(own)


def conjugate(x: Operand) -> Tensor:
    """Returns the complex conjugate of x, as ``nv.conj`` does.

    >>> nv.conjugate(np.array([1 + 2j])).tolist()
    [(1-2j)]
    """
    return conj(x)


def angle(x: Operand) -> Tensor:
    """Returns the angle of x in radians, in [-pi, pi]: that of a negative real number is pi.

    >>> nv.angle(np.array([1, 1j, -1])).numpy().round(4).tolist()
    [0.0, 1.5708, 3.1416]
    """
    own = as_tensor(x, "angle")
    return atan2(imag(own), real(own))


def polar(radius: Operand, angle: Operand) -> Tensor:
    """Returns the complex numbers with the magnitude ``radius`` and an ``angle`` in radians.

    >>> nv.polar(2.0, np.array([0.0, np.pi])).numpy().round(4).real.tolist()
    [2.0, -2.0]
    """
    size, turn = operand_tensors((radius, angle), "polar")
    return complex(multiply(size, cos(turn)), multiply(size, sin(turn)))


def isreal(x: Operand) -> Tensor:
    """Whether an element of x has the imaginary part 0.

    >>> nv.isreal(np.array([1 + 2j, 3])).tolist()
    [False, True]
    """
    part = imag(x)
    return Tensor(ops.Equal(part.value, part.value.full(0)), part._axes)


def iscomplex(x: Operand) -> Tensor:
    """Whether an element of x has another imaginary part than 0.

    >>> nv.iscomplex(np.array([1 + 2j, 3])).tolist()
    [True, False]
    """
    part = imag(x)
    return Tensor(ops.NotEqual(part.value, part.value.full(0)), part._axes)


explain_keywords(globals(), __all__)
