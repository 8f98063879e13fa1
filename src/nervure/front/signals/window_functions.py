"""Windows that fade a piece of a signal in and out, with the meaning of NumPy's functions.

>>> import nervure as nv
>>> nv.hanning(5).tolist(), nv.hanning(4, periodic=True).tolist()
([0.0, 0.5, 1.0, 0.5, 0.0], [0.0, 0.5, 1.0, 0.5])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nervure.errors import WrongKind
from nervure.front.argument_parsing import integer, real, truth
from nervure.front.creation import constant
from nervure.front.tensor import Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import DTypeLike, as_dtype, float32

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def hanning(M: int, periodic: bool = False, dtype: DTypeLike = float32) -> Tensor:  # NumPy's name
    """Returns Hann's window of ``M`` numbers, half a period of cosine: 0.5 - 0.5 cos(2 pi k / (M - 1)).

    A window that is ``periodic`` is one of M + 1 numbers without the last one, as transforms want it; one number is 1.

    >>> nv.hanning(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window(np.hanning, M, periodic, dtype, "hanning")


def hamming(M: int, periodic: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Returns Hamming's window of ``M`` numbers, 0.54 - 0.46 cos(2 pi k / (M - 1)); ``periodic`` as in ``nv.hanning``.

    >>> nv.hamming(3).numpy().round(2).tolist() == np.float32([0.08, 1.0, 0.08]).tolist()
    True
    """
    return _window(np.hamming, M, periodic, dtype, "hamming")


def blackman(M: int, periodic: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Returns Blackman's window of ``M`` numbers, with two cosines; ``periodic`` as in ``nv.hanning``.

    >>> round(nv.blackman(5)[1].item(), 2)
    0.34
    """
    return _window(np.blackman, M, periodic, dtype, "blackman")


def bartlett(M: int, periodic: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Returns the triangle of ``M`` numbers, with 0 at its ends; ``periodic`` as in ``nv.hanning``.

    >>> nv.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window(np.bartlett, M, periodic, dtype, "bartlett")


def kaiser(M: int, beta: float = 12.0, periodic: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Returns Kaiser's window of ``M`` numbers, i0(beta sqrt(1 - t**2)) / i0(beta) for t from -1 to 1.

    ``periodic`` is that of ``nv.hanning``.

    >>> nv.kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    shape = real(beta, "kaiser", "beta")
    return _window(lambda count: np.kaiser(count, shape), M, periodic, dtype, "kaiser")


def _window(function: Callable[[int], np.ndarray], count: object, periodic: bool, dtype: DTypeLike, op: str) -> Tensor:
    found = integer(count, op, "M", help="the number of elements of a piece of the signal", least=1)
    wanted = as_dtype(dtype)
    if not wanted.is_float:
        raise WrongKind("a window has fractions", op=op, operand="dtype", got=wanted.name,
                        expected="a float element type", help="leave it out for float32")
    is_longer = truth(periodic, op, "periodic") and found > 1  # one number is 1, as in PyTorch
    numbers = function(found + 1)[:-1] if is_longer else function(found)
    return constant(numbers, dtype=wanted)


explain_keywords(globals(), __all__)
