"""Fourier transforms along axes that are given by name or by position, with NumPy's meaning.

>>> import numpy as np
>>> import nervure as nv
>>> signal = nv.constant(np.cos(2 * np.pi * np.arange(8) / 8), axes="T=8")
>>> spectrum = nv.fft.rfft(signal, axis="T")
>>> nv.absolute(spectrum).numpy().round(3).tolist(), str(spectrum.axes)
([0.0, 4.0, 0.0, 0.0, 0.0], '(T: 5)')

float32, float16, bfloat16 and integers are transformed in single precision, float64 in double precision. The length of
an axis that is transformed is a number, that of all others may be a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, NotSupported
from nervure.front.argument_parsing import integer, members, position_of, positions_of, real
from nervure.front.arranging.rearranging import moveaxis, roll
from nervure.front.arranging.views import pad
from nervure.front.creation import as_tensor, constant, expression
from nervure.front.pointwise.complex_parts import conj
from nervure.front.pointwise.elementwise import as_floats, convert
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Op, Value
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import DimLike
from nervure.types.dtype import DTypeLike, as_dtype, complex64, complex128, float32, float64

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
           "rfftn"]

_FORWARD = {None: "none", "backward": "none", "ortho": "root", "forward": "length"}
_BACKWARD = {None: "length", "backward": "length", "ortho": "root", "forward": "none"}
"""What divides the sums of a transform by the word of ``norm=``."""

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# -- one axis ----------------------------------------------------------------------------------------------------


def fft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the discrete Fourier transform of x along an ``axis``, which is cropped or filled with zeros to ``n``.

    It is complex. ``norm`` says what divides the sums: nothing ("backward"), the root of n ("ortho") or n ("forward").

    >>> nv.fft.fft([1, 0, -1, 0]).tolist()
    [0j, (2+0j), 0j, (2+0j)]
    """
    return _complex(x, n, axis, norm, "fft")


def ifft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the inverse of ``fft`` along an ``axis`` of x, of ``n`` numbers; by default it divides by n.

    >>> nv.fft.ifft([0, 2, 0, 2]).tolist()
    [(1+0j), 0j, (-1+0j), 0j]
    """
    return _complex(x, n, axis, norm, "ifft")


def rfft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the first n // 2 + 1 numbers of ``fft`` of real numbers x, which are cropped or filled to ``n``.

    >>> nv.fft.rfft([1, 0, -1, 0]).tolist()
    [0j, (2+0j), 0j]
    """
    own = _floats(x, "rfft")
    if own.dtype.is_complex:
        raise InvalidArgument("this transform is one of real numbers", op="rfft", operand=1, got=str(own.type),
                              expected="a float element type", help="nv.fft.fft(x) takes complex numbers")
    division = _division(norm, _FORWARD, "rfft")
    return _along(own, n, axis, "rfft", lambda value: ops.RealFourier(value, division=division))


def irfft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the inverse of ``rfft``: ``n`` real numbers of a spectrum x, by default 2 * (length - 1).

    >>> nv.fft.irfft([0, 2, 0]).tolist()
    [1.0, 0.0, -1.0, 0.0]
    """
    own = _as_complex(x, "irfft")
    at = position_of(own, axis, "irfft")
    points = 2 * (_length(own, at, "irfft") - 1) if n is None else _points(n, "irfft")
    division = _division(norm, _BACKWARD, "irfft")
    return _along(own, _points(points, "irfft") // 2 + 1, at, "irfft",
                  lambda value: ops.InverseRealFourier(value, length=points, division=division))


def hfft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the ``n`` real numbers of the spectrum of a signal x that is conjugated by turning it round.

    >>> nv.fft.hfft([1, 0, 0]).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    _division(norm, _FORWARD, "hfft")
    return irfft(conj(_as_complex(x, "hfft")), n, axis, _SWAPPED[norm])


def ihfft(x: TensorLike, n: int | None = None, axis: AxisLike = -1, norm: str | None = None) -> Tensor:
    """Returns the inverse of ``hfft``: n // 2 + 1 complex numbers of a real spectrum x of ``n`` numbers.

    >>> nv.fft.ihfft([1, 1, 1, 1]).numpy().real.tolist()
    [1.0, 0.0, 0.0]
    """
    _division(norm, _FORWARD, "ihfft")
    return conj(rfft(x, n, axis, _SWAPPED[norm]))


# -- several axes ------------------------------------------------------------------------------------------------


def fftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
         norm: str | None = None) -> Tensor:
    """Returns the Fourier transform of x along several ``axes`` (absent: all), of the lengths ``s``.

    >>> nv.fft.fftn([[1, 0], [0, 0]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    own = _as_complex(x, "fftn")
    for at, n in reversed(_plan(own, s, axes, "fftn")):
        own = fft(own, n, at, norm)
    return expression(own)


def ifftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
          norm: str | None = None) -> Tensor:
    """Returns the inverse of ``fftn`` along several ``axes`` of x (absent: all), of the lengths ``s``.

    >>> nv.fft.ifftn([[1, 1], [1, 1]]).numpy().real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    own = _as_complex(x, "ifftn")
    for at, n in reversed(_plan(own, s, axes, "ifftn")):
        own = ifft(own, n, at, norm)
    return expression(own)


def rfftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
          norm: str | None = None) -> Tensor:
    """Returns ``fftn`` of real numbers x: the last one of the ``axes`` has the first half of its numbers, as in
    ``rfft``.

    >>> nv.fft.rfftn([[1, 0], [0, 0], [0, 0]]).shape
    (3, 2)
    """
    own = _floats(x, "rfftn")
    *others, (last, points) = _plan(own, s, axes, "rfftn")
    own = rfft(own, points, last, norm)
    for at, n in reversed(others):
        own = fft(own, n, at, norm)
    return own


def irfftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
           norm: str | None = None) -> Tensor:
    """Returns the inverse of ``rfftn``: real numbers of a spectrum x, of the lengths ``s`` along ``axes``.

    >>> nv.fft.irfftn(nv.fft.rfftn([[1, 2], [3, 4]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    own = _as_complex(x, "irfftn")
    *others, (last, points) = _plan(own, s, axes, "irfftn")
    for at, n in others:
        own = ifft(own, n, at, norm)
    return irfft(own, points, last, norm)


def hfftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
          norm: str | None = None) -> Tensor:
    """Returns the real spectrum of a signal x that is conjugated by turning it round in all ``axes``.

    The last axis has the first half of the signal, as in ``hfft``; ``s`` has the lengths of the spectrum.

    >>> nv.fft.hfftn([[1, 0], [0, 0]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    _division(norm, _FORWARD, "hfftn")
    return irfftn(conj(_as_complex(x, "hfftn")), s, axes, _SWAPPED[norm])


def ihfftn(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike | None = None,
           norm: str | None = None) -> Tensor:
    """Returns the inverse of ``hfftn`` along ``axes`` of real numbers x, after a change to the lengths ``s``.

    >>> nv.fft.ihfftn([[1, 1], [1, 1]]).numpy().real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    _division(norm, _FORWARD, "ihfftn")
    return conj(rfftn(x, s, axes, _SWAPPED[norm]))


def fft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1), norm: str | None = None) -> Tensor:
    """Returns the Fourier transform of x along two ``axes``, the last ones unless they are given.

    >>> nv.fft.fft2([[1, 0], [0, 0]]).numpy().real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return fftn(x, s, axes, norm)


def ifft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1), norm: str | None = None) -> Tensor:
    """Returns the inverse of ``fft2`` along two ``axes`` of x.

    >>> nv.fft.ifft2([[1, 1], [1, 1]]).numpy().real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return ifftn(x, s, axes, norm)


def rfft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1), norm: str | None = None) -> Tensor:
    """Returns ``fft2`` of real numbers x: the second one of the ``axes`` has the first half of its numbers.

    >>> nv.fft.rfft2([[1, 0, 0], [0, 0, 0]]).shape
    (2, 2)
    """
    return rfftn(x, s, axes, norm)


def irfft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1),
           norm: str | None = None) -> Tensor:
    """Returns the inverse of ``rfft2``: real numbers of a spectrum x, of the lengths ``s`` along two ``axes``.

    >>> nv.fft.irfft2(nv.fft.rfft2([[1, 2], [3, 4]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return irfftn(x, s, axes, norm)


def hfft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1), norm: str | None = None) -> Tensor:
    """Returns ``hfftn`` of x along two ``axes``.

    >>> nv.fft.hfft2([[1, 0], [0, 0]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return hfftn(x, s, axes, norm)


def ihfft2(x: TensorLike, s: Sequence[int] | None = None, axes: AxesLike = (-2, -1),
           norm: str | None = None) -> Tensor:
    """Returns ``ihfftn`` of x along two ``axes``.

    >>> nv.fft.ihfft2([[1, 1], [1, 1]]).numpy().real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return ihfftn(x, s, axes, norm)


# -- frequencies -------------------------------------------------------------------------------------------------


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Returns the frequencies of the ``n`` numbers of ``fft``, in cycles per unit of the distance ``d`` of samples.

    >>> nv.fft.fftfreq(4, 0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    return constant(np.fft.fftfreq(_points(n, "fftfreq"), _distance(d, "fftfreq")), dtype=as_dtype(dtype))


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Returns the frequencies of ``rfft`` of ``n`` numbers, in cycles per unit of the distance ``d`` of samples.

    >>> nv.fft.rfftfreq(4, 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return constant(np.fft.rfftfreq(_points(n, "rfftfreq"), _distance(d, "rfftfreq")), dtype=as_dtype(dtype))


def fftshift(x: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Moves the frequency 0 of x to the middle of the ``axes``, which are all unless they are given.

    >>> nv.fft.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    return _shifted(x, axes, "fftshift", lambda length: length // 2)


def ifftshift(x: TensorLike, axes: AxesLike | None = None) -> Tensor:
    """Moves the middle of the ``axes`` of x to their front, as the inverse of ``fftshift``.

    >>> nv.fft.ifftshift([-2, -1, 0, 1, 2]).tolist()
    [0.0, 1.0, 2.0, -2.0, -1.0]
    """
    return _shifted(x, axes, "ifftshift", lambda length: -(length // 2))


# -- parts -------------------------------------------------------------------------------------------------------


def _complex(x: TensorLike, n: int | None, axis: AxisLike, norm: str | None, op: str) -> Tensor:
    inverse = op == "ifft"
    division = _division(norm, _BACKWARD if inverse else _FORWARD, op)
    return _along(_as_complex(x, op), n, axis, op,
                  lambda value: ops.Fourier(value, inverse=inverse, division=division))


def _along(x: Tensor, n: int | None, axis: object, op: str, transform: Callable[[Value], Op]) -> Tensor:
    """Returns x transformed along one axis, which is first cropped or filled with zeros to ``n``."""
    at = position_of(x, axis, op)
    length = _points(_length(x, at, op), op)
    wanted = length if n is None else _points(n, op)
    if wanted != length:
        x = pad(x, [(0, wanted - length if place == at else 0) for place in range(x.ndim)])
    moved = moveaxis(x, at, -1)
    made = transform(moved.value)
    result = made.output
    axes = None
    if moved._axes is not None and moved.is_named:
        *others, last = moved.axes
        axes = Axes([*others, last if wanted == result.shape[-1] == length else last.resized(result.shape[-1])])
    return moveaxis(Tensor(made, axes), -1, at)


def _floats(x: TensorLike, op: str) -> Tensor:
    own = as_floats(x, op)
    return convert(own, own.dtype.compute)


def _as_complex(x: TensorLike, op: str) -> Tensor:
    own = _floats(x, op)
    return own if own.dtype.is_complex else convert(own, complex128 if own.dtype is float64 else complex64)


def _length(x: Tensor, at: int, op: str) -> int:
    """Returns the length of an axis; NotSupported for a symbol."""
    length = x.type.shape[at]
    if not isinstance(length, int):
        raise NotSupported("the length of a transform is a number", op=op, operand=1, got=str(x.type),
                           expected=f"a number as the length of axis {at}", help="give n=, or s= for several axes, "
                           "after nv.pad(x, ...) to a known length; the other axes may be symbols")
    return length


def _points(n: object, op: str) -> int:
    return integer(n, op, "n", help="give the length of the result: n=8", least=1)


def _distance(d: object, op: str) -> float:
    found = real(d, op, "d")
    if found == 0:
        raise InvalidArgument("samples have a distance", op=op, operand="d", got=found,
                              expected="another number than 0", help="leave it out: the unit is a sample")
    return found


def _division(norm: object, words: dict[str | None, str], op: str) -> str:
    if norm is not None and not isinstance(norm, str) or norm not in words:
        raise InvalidArgument("there is no such norm", op=op, operand="norm", got=f"{norm!r:.40}",
                              expected='"backward", "ortho" or "forward"', help="leave it out for \"backward\"")
    return words[norm]


def _plan(x: Tensor, s: object, axes: AxesLike | None, op: str) -> list[tuple[int, int | None]]:
    """Returns the positions of the axes to transform, in order, and the length of each, or None as it is."""
    lengths = None if s is None else members(s, op, "s", "a length for each axis")
    if axes is not None:
        places = positions_of(x, axes, op)
    else:
        places = tuple(range(0 if lengths is None else max(x.ndim - len(lengths), 0), x.ndim))
    if not places or lengths is not None and len(lengths) != len(places):
        raise InvalidArgument("each axis has a length", op=op, operand="s", got=f"{lengths} for {len(places)} axes",
                              expected="one axis or more, and as many lengths", help="leave s out to keep the lengths")
    sizes = [None] * len(places) if lengths is None else [integer(n, op, "s") for n in lengths]
    return [(at, _length(x, at, op) if n == -1 else n) for at, n in zip(places, sizes, strict=True)]


def _shifted(x: TensorLike, axes: AxesLike | None, op: str, shift: Callable[[DimLike], DimLike]) -> Tensor:
    own = as_tensor(x, op)
    places = tuple(range(own.ndim)) if axes is None else positions_of(own, axes, op)
    return roll(own, [shift(own.type.shape[at]) for at in places], places) if places else expression(own)


explain_keywords(globals(), __all__)
