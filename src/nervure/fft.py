"""Fourier transforms along one axis or several, of real and of complex numbers, and their frequencies.

>>> import nervure as nv
>>> nv.fft.irfft(nv.fft.rfft([1, 2, 3, 4])).tolist()
[1.0, 2.0, 3.0, 4.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.front.signals.fourier_transforms import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from nervure.front.signals.short_transforms import istft, mel_filters, stft
from nervure.support.elsewhere import unknown_name

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "istft", "mel_filters", "rfft",
           "rfft2", "rfftfreq", "rfftn", "stft"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.fft", name, __all__)
