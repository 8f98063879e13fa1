"""Fourier transforms of short pieces of a signal, back, and the bands of hearing.

>>> import numpy as np
>>> import nervure as nv
>>> signal = np.sin(2 * np.pi * 0.25 * np.arange(64))
>>> spectrum = nv.fft.stft(signal, 16, hop=8, window=nv.hanning(16, periodic=True))
>>> spectrum.shape, nv.absolute(spectrum)[:, 4].numpy().argmax()
((9, 9), np.int64(4))
>>> back = nv.fft.istft(spectrum, 16, hop=8, window=nv.hanning(16, periodic=True))
>>> bool(np.allclose(back, signal, atol=1e-6))
True
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from nervure.front.argument_parsing import integer, one_of, real
from nervure.front.arranging.filled import zeros
from nervure.front.arranging.found import is_constant, known_array
from nervure.front.arranging.gathering import gather, scatter
from nervure.front.arranging.rearranging import broadcast_to, moveaxis
from nervure.front.arranging.views import pad
from nervure.front.creation import as_tensor, constant
from nervure.front.op_functions import divide, multiply
from nervure.front.pointwise.elementwise import as_floats, convert
from nervure.front.signals.fourier_transforms import fft, ifft, irfft, rfft
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import DTypeLike, as_dtype, float32

__all__ = ["istft", "mel_filters", "stft"]

_LEAST = 1e-11  # a sum of squared windows that may divide


def stft(x: TensorLike, n_fft: int, hop: int | None = None, window: TensorLike | None = None, center: bool = True,
         pad_mode: str = "reflect", normalized: bool = False, onesided: bool = True) -> Tensor:
    """Returns the Fourier transforms of pieces of ``n_fft`` elements along the last axis of x, ``hop`` elements apart.

    The result has (frequencies, pieces) in place of that axis, as PyTorch's has. ``hop`` is n_fft // 4 if it is absent.
    ``window`` (real numbers; absent: ones) multiplies each piece; a shorter one has zeros on both sides. With
    ``center`` the middle of piece t is element t * hop, and x is continued by n_fft // 2 elements at both ends, by
    ``pad_mode`` of ``nv.pad``. ``normalized`` divides by sqrt(n_fft). ``onesided`` gives the first n_fft // 2 + 1
    frequencies of real numbers. The length of the axis is a number, those of others may be symbols.

    >>> nv.fft.stft(np.ones(8), 4, hop=2, center=False).numpy()[0].real.tolist()
    [4.0, 4.0, 4.0]
    """
    count, step = _count(n_fft, "stft", "n_fft"), _hop(hop, n_fft, "stft")
    own = _unnamed(as_floats(x, "stft"), "stft", 1)
    own = convert(own, own.dtype.compute)
    faded = _padded_window(window, count, own, "stft")
    if center:
        own = pad(own, [(0, 0)] * (own.ndim - 1) + [(count // 2, count // 2)], mode=pad_mode)
    length = _number(own, -1, "stft")
    if length < count:
        raise ShapeMismatch("the signal is shorter than a piece", op="stft", operand=1, got=str(own.type),
                            expected=f"{count} elements or more", help="a smaller n_fft, or nv.pad(x, ...)")
    pieces = multiply(gather(own, _places(1 + (length - count) // step, count, step), -1), faded)
    division = "ortho" if normalized else "backward"
    is_half = onesided and not own.dtype.is_complex
    return moveaxis(rfft(pieces, norm=division) if is_half else fft(pieces, norm=division), -1, -2)


def istft(x: TensorLike, n_fft: int, hop: int | None = None, window: TensorLike | None = None, center: bool = True,
          normalized: bool = False, onesided: bool = True, length: int | None = None) -> Tensor:
    """Returns the signal whose ``stft`` is nearest to x, which has (frequencies, pieces) as its last axes.

    Pieces of ``n_fft`` elements are multiplied by the ``window`` again and added, ``hop`` apart; the sum is divided by
    that of the squared windows. ``center``, ``normalized`` and ``onesided`` say how x was made. ``length`` crops the
    result, or fills it with zeros. Known windows that leave elements without weight are InvalidArgument.

    >>> nv.fft.istft(nv.fft.stft([1, 2, 3, 4], 4, hop=2), 4, hop=2).numpy().round(5).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    count, step = _count(n_fft, "istft", "n_fft"), _hop(hop, n_fft, "istft")
    own = _unnamed(as_tensor(x, "istft"), "istft", 2)
    pieces, division = moveaxis(own, -1, -2), "ortho" if normalized else "backward"
    expected = count // 2 + 1 if onesided else count
    if _number(pieces, -1, "istft") != expected:
        raise ShapeMismatch("the spectrum has another number of frequencies", op="istft", operand=1, got=str(own.type),
                            expected=f"{expected} frequencies for n_fft={count}",
                            help="the axes are (frequency, piece)")
    parts = irfft(pieces, count, norm=division) if onesided else ifft(pieces, norm=division)
    faded = _padded_window(window, count, parts, "istft")
    number = _number(parts, -2, "istft")
    total = count + step * (number - 1)
    places = _places(number, count, step)
    start = count // 2 if center else 0
    stop = total - start if length is None else min(start + _count(length, "istft", "length"), total)
    sums = _overlapped(multiply(parts, faded), places, total)
    squares = multiply(faded, faded)
    weights = _overlapped(broadcast_to(squares, (number, count)), places, total)
    _check_weights(faded, places, total, slice(start, stop))
    found = divide(sums[..., start:stop], weights[start:stop])
    missing = 0 if length is None else int(length) - (stop - start)
    return pad(found, [(0, 0)] * (found.ndim - 1) + [(0, missing)]) if missing > 0 else found


def mel_filters(bands: int, n_fft: int, rate: float, low: float = 0.0, high: float | None = None, scale: str = "htk",
                equal_areas: bool = False, dtype: DTypeLike = float32) -> Tensor:
    """Returns triangles that sum the frequencies of ``stft`` into ``bands`` of hearing: [bands, n_fft // 2 + 1].

    Their corners are as many mels apart, from ``low`` to ``high`` hertz (absent: half of the ``rate`` of samples a
    second), of which a triangle reaches from the one before its own to the next. With the ``scale`` "htk" a frequency
    has 2595 log10(1 + f / 700) mels (O'Shaughnessy 1987); with "slaney" it is linear up to 1000 hertz (Slaney 1998).
    A triangle is 1 at its corner, or has the area 1 with ``equal_areas``.

    >>> nv.fft.mel_filters(3, 16, 8000.0).shape
    (3, 9)
    """
    count, points = _count(bands, "mel_filters", "bands"), _count(n_fft, "mel_filters", "n_fft")
    per_second = real(rate, "mel_filters", "rate")
    top = per_second / 2 if high is None else real(high, "mel_filters", "high")
    bottom = real(low, "mel_filters", "low")
    to_mels, to_hertz = _SCALES[one_of(scale, _SCALES, "mel_filters", "scale", "'htk' is usual")]
    if not 0 <= bottom < top <= per_second / 2:
        raise InvalidArgument("the range of frequencies is empty or too wide", op="mel_filters", operand="low",
                              got=f"{bottom} to {top}", expected=f"0 <= low < high <= {per_second / 2}",
                              help="high is at most half of the rate of samples")
    first, last = to_mels(np.array([bottom, top])).tolist()
    corners = to_hertz(np.linspace(first, last, count + 2))
    places = np.arange(points // 2 + 1) * (per_second / points)
    rising = (places - corners[:-2, None]) / np.diff(corners)[:-1, None]
    falling = (corners[2:, None] - places) / np.diff(corners)[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    if equal_areas:
        triangles *= 2 / (corners[2:] - corners[:-2])[:, None]
    return constant(triangles, dtype=as_dtype(dtype))


_STEP, _BREAK, _RATIO = 200 / 3, 1000.0, math.log(6.4) / 27


def _slaney_mels(hertz: np.ndarray) -> np.ndarray:
    above = _BREAK / _STEP + np.log(np.maximum(hertz, _BREAK) / _BREAK) / _RATIO
    return np.where(hertz < _BREAK, hertz / _STEP, above)


def _slaney_hertz(mels: np.ndarray) -> np.ndarray:
    above = _BREAK * np.exp(_RATIO * np.maximum(mels - _BREAK / _STEP, 0.0))
    return np.where(mels < _BREAK / _STEP, mels * _STEP, above)


def _htk_mels(hertz: np.ndarray) -> np.ndarray:
    return np.asarray(2595 * np.log10(1 + hertz / 700))


def _htk_hertz(mels: np.ndarray) -> np.ndarray:
    return np.asarray(700 * (10 ** (mels / 2595) - 1))


_Scale = Callable[[np.ndarray], np.ndarray]

_SCALES: dict[str, tuple[_Scale, _Scale]] = {"htk": (_htk_mels, _htk_hertz), "slaney": (_slaney_mels, _slaney_hertz)}
"""The mels of frequencies, and the frequencies of mels."""


# -- parts -------------------------------------------------------------------------------------------------------


def _places(pieces: int, count: int, step: int) -> np.ndarray:
    return np.arange(pieces)[:, None] * step + np.arange(count)


def _overlapped(parts: Tensor, places: np.ndarray, total: int) -> Tensor:
    """Returns the sums of the elements of pieces at their places."""
    ground = zeros((*parts.type.shape[:-2], total), parts.dtype)
    return scatter(ground, places, parts, -1, "add")


def _padded_window(window: TensorLike | None, count: int, like: Tensor, op: str) -> Tensor:
    """Returns a window of as many numbers as a piece has, in the type of a signal's real parts."""
    dtype = like.dtype.part
    if window is None:
        return constant(np.ones(count), dtype=dtype)
    given = as_tensor(window, op, "window")
    if given.dtype.is_complex:
        raise WrongKind("a window has real numbers", op=op, operand="window", got=str(given.type),
                        expected="real numbers", help="nv.real(window) takes the real parts")
    own = convert(given, dtype)
    width = own.type.shape[0] if own.ndim == 1 else None
    if not isinstance(width, int) or width > count:
        raise ShapeMismatch("the window does not fit a piece", op=op, operand="window", got=str(own.type),
                            expected=f"one axis of at most {count} numbers", help="nv.hanning(n_fft, periodic=True)")
    before = (count - width) // 2
    return pad(own, [(before, count - width - before)])


def _check_weights(window: Tensor, places: np.ndarray, total: int, kept: slice) -> None:
    """Raises InvalidArgument where a padded window of known numbers leaves elements of the result without weight."""
    if not is_constant(window.value):
        return
    numbers = np.asarray(known_array(window.value), np.float64)
    weights = np.bincount(places.ravel(), np.tile(numbers ** 2, len(places)), total)
    if np.any(weights[kept] < _LEAST):
        raise InvalidArgument("elements of the signal have no weight", op="istft", operand="window",
                              got=f"a sum of squares of {weights[kept].min():.3g}", expected="one above 0 everywhere",
                              help="a smaller hop, so that windows overlap")


def _hop(hop: int | None, n_fft: int, op: str) -> int:
    return max(int(n_fft) // 4, 1) if hop is None else _count(hop, op, "hop")


def _count(value: object, op: str, operand: str) -> int:
    return integer(value, op, operand, help="n_fft=512, hop=128", least=1)


def _unnamed(x: Tensor, op: str, rank: int) -> Tensor:
    if x.is_named or x.ndim < rank:
        raise ShapeMismatch("it takes tensors without names", op=op, operand=1, got=str(x.type),
                            expected=f"{rank} axes or more", help="nv.cast_axes(x, shape) takes the names off")
    return x


def _number(x: Tensor, at: int, op: str) -> int:
    length = x.type.shape[at]
    if not isinstance(length, int):
        raise NotSupported("the length of a signal is a number", op=op, operand=1, got=str(x.type),
                           expected="a number as the length of the last axes", help="the other axes may be symbols")
    return length


explain_keywords(globals(), __all__)
