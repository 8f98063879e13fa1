"""Windows, transforms of short pieces and back, and bands of hearing, against NumPy, SciPy and formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import nervure as nv
from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind

RNG = np.random.default_rng(0)
SIGNAL = RNG.normal(size=(3, 50))


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
def test_windows_are_those_of_numpy(name):
    """A455: symmetric ones; periodic ones are SciPy's for spectra."""
    more = (8.5,) if name == "kaiser" else ()
    for count in (1, 2, 7, 64):
        found = getattr(nv, name)(count, *more, dtype=nv.float64)
        np.testing.assert_array_equal(found.numpy(), getattr(np, name)(count, *more))
        periodic = getattr(nv, name)(count, *more, periodic=True, dtype=nv.float64).numpy()
        kind = ("kaiser", 8.5) if more else name.removesuffix("ning")
        np.testing.assert_allclose(periodic, scipy.signal.get_window(kind, count), atol=1e-15)
    assert getattr(nv, name)(3).dtype is nv.float32
    with pytest.raises(InvalidArgument):
        getattr(nv, name)(0)
    with pytest.raises(WrongKind):
        getattr(nv, name)(4, dtype=nv.int32)


@pytest.mark.parametrize("settings", [{}, {"hop": 3}, {"center": False}, {"normalized": True, "hop": 5},
                                      {"onesided": False}, {"pad_mode": "edge"}])
@pytest.mark.parametrize("width", [None, 12, 10])
def test_pieces_are_transformed(settings, width):
    """A454: the definition, piece by piece; odd numbers of points and short windows too."""
    for points in (12, 13):
        window = None if width is None else np.hanning(width + 2)[1:-1]
        found = nv.fft.stft(SIGNAL, points, window=window, **settings).numpy()
        hop, half = settings.get("hop", points // 4), points // 2
        padded = SIGNAL if settings.get("center") is False else np.pad(
            SIGNAL, ((0, 0), (half, half)), mode=settings.get("pad_mode", "reflect"))
        full = np.ones(points)
        if window is not None:
            before = (points - width) // 2
            full = np.pad(window, (before, points - width - before))
        pieces = [padded[:, at:at + points] * full for at in range(0, padded.shape[1] - points + 1, hop)]
        transform = np.fft.fft if settings.get("onesided") is False else np.fft.rfft
        expected = np.stack([transform(piece, norm="ortho" if settings.get("normalized") else None)
                             for piece in pieces], -1)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"normalized": True}, {"onesided": False}, {"hop": 2}])
def test_the_signal_comes_back(settings):
    """A454: up to where whole pieces reach; `length` crops and fills."""
    window = nv.hamming(12, periodic=True, dtype=nv.float64)
    spectrum = nv.fft.stft(SIGNAL, 12, window=window, **settings)
    back = nv.fft.istft(spectrum, 12, window=window, **settings).numpy()
    np.testing.assert_allclose(back.real, SIGNAL[:, :back.shape[1]], atol=1e-12)
    assert back.shape[1] >= 48
    cropped, filled = [nv.fft.istft(spectrum, 12, window=window, length=n, **settings).numpy() for n in (40, 70)]
    np.testing.assert_allclose(cropped.real, SIGNAL[:, :40], atol=1e-12)
    assert filled.shape == (3, 70) and not filled[:, 62:].any()


@pytest.mark.parametrize("made", [lambda window: window, lambda window: window.numpy(), lambda window: window.tolist(),
                                  lambda window: (window * 2)[:8]], ids=["tensor", "array", "list", "computed"])
def test_a_known_window_without_weight_at_an_end_is_an_error(made):
    """A454: also while a function is traced, and where the window is shorter than a piece."""
    x, window = np.arange(16.0), made(nv.hanning(8, periodic=True, dtype=nv.float64))
    spectrum = nv.fft.stft(x, 8, 4, window, center=False)
    for call in (lambda s: nv.fft.istft(s, 8, 4, window, center=False),
                 nv.jit(lambda s: nv.fft.istft(s, 8, 4, window, center=False)),
                 lambda s: nv.fft.istft(np.ones((6, 3), complex), 10, 10, window, center=False)):
        with pytest.raises(InvalidArgument, match="have no weight"):
            call(spectrum)
    given = nv.placeholder((8,), dtype=nv.float64)
    back = nv.computation(nv.fft.istft(spectrum, 8, 4, given, center=False), given)
    np.testing.assert_allclose(back(np.asarray(window))[1:], x[1:], atol=1e-12)


def test_derivatives_and_symbols():
    """A454: derivatives are transposes; axes in front may be symbols."""
    n = nv.dim("n", min=1)
    x = nv.placeholder((n, 20), dtype=nv.float64)
    energy = nv.sum(nv.absolute(nv.fft.stft(x, 8, window=np.hanning(8))) ** 2)
    slope = nv.computation(nv.deriv(energy, x), x)(SIGNAL[:2, :20])

    def value(signal):
        return float(np.sum(np.abs(nv.fft.stft(signal, 8, window=np.hanning(8)).numpy()) ** 2))
    direction = RNG.normal(size=(2, 20))
    expected = (value(SIGNAL[:2, :20] + 1e-5 * direction) - value(SIGNAL[:2, :20] - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(np.sum(slope * direction), expected, rtol=1e-7)
    back = nv.grad(lambda s: nv.sum(nv.fft.istft(nv.fft.stft(s, 8, window=np.hanning(9)[:-1]), 8,
                                                 window=np.hanning(9)[:-1]) ** 2))(SIGNAL[0, :24])
    np.testing.assert_allclose(back, 2 * SIGNAL[0, :24], atol=1e-12)


def test_spectra_in_several_dimensions_of_conjugated_signals():
    """A451: hfftn and its inverse are those of one axis, after transforms along the others."""
    x = RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))
    for norm in (None, "ortho", "forward"):
        expected = np.fft.hfft(np.fft.fft(x, axis=0, norm=norm), axis=1, norm=norm)
        np.testing.assert_allclose(nv.fft.hfft2(x, norm=norm).numpy(), expected, atol=1e-12)
        np.testing.assert_allclose(nv.fft.hfftn(x, norm=norm).numpy(), expected, atol=1e-12)
        real = RNG.normal(size=(4, 6))
        inverse = np.fft.ifft(np.fft.ihfft(real, axis=1, norm=norm), axis=0, norm=norm)
        np.testing.assert_allclose(nv.fft.ihfft2(real, norm=norm).numpy(), inverse, atol=1e-12)
        np.testing.assert_allclose(nv.fft.ihfftn(real, norm=norm).numpy(), inverse, atol=1e-12)


@pytest.mark.parametrize("scale", ["htk", "slaney"])
def test_bands_of_hearing(scale):
    """A456: triangles with corners as many mels apart."""
    filters = nv.fft.mel_filters(10, 2048, 16000.0, 100.0, 7000.0, scale, dtype=nv.float64).numpy()
    peaks = np.arange(1025)[filters.argmax(1)] * 16000 / 2048
    mels = 2595 * np.log10(1 + peaks / 700) if scale == "htk" else np.where(
        peaks < 1000, peaks * 3 / 200, 15 + 27 * np.log(peaks / 1000 + 1e-30) / np.log(6.4))
    assert filters.shape == (10, 1025) and filters.max() <= 1 and np.ptp(np.diff(mels)) < 0.1 * np.diff(mels).mean()
    between = slice(int(peaks[0] * 2048 / 16000) + 1, int(peaks[-1] * 2048 / 16000))
    np.testing.assert_allclose(filters.sum(0)[between], 1, atol=1e-12)  # each place falls from one to the next
    areas = nv.fft.mel_filters(10, 2048, 16000.0, 100.0, 7000.0, scale, equal_areas=True, dtype=nv.float64).numpy()
    np.testing.assert_allclose(areas.sum(1) * 16000 / 2048, 1, rtol=0.01)


def test_mistakes_are_named():
    for wrong, error in ((lambda: nv.fft.stft(SIGNAL, 0), InvalidArgument),
                         (lambda: nv.fft.stft(SIGNAL, 64, center=False), ShapeMismatch),
                         (lambda: nv.fft.stft(SIGNAL, 8, window=np.ones(9)), ShapeMismatch),
                         (lambda: nv.fft.stft(nv.placeholder({"T": 9}), 4),
                          ShapeMismatch),
                         (lambda: nv.fft.stft(nv.placeholder((nv.dim("n", min=9),)), 4, center=False), NotSupported),
                         (lambda: nv.fft.istft(np.ones((4, 3), complex), 8), ShapeMismatch),
                         (lambda: nv.fft.istft(np.ones((5, 3), complex), 8, window=np.zeros(8)), InvalidArgument),
                         (lambda: nv.fft.stft(SIGNAL, 8, window=np.ones(8) * 1j), WrongKind),
                         (lambda: nv.fft.istft(np.ones((5, 3), complex), 8, window=np.ones(8) * 1j), WrongKind),
                         (lambda: nv.fft.mel_filters(4, 64, 100.0, scale="bark"), InvalidArgument),
                         (lambda: nv.fft.mel_filters(4, 64, 100.0, high=90.0), InvalidArgument)):
        with pytest.raises(error) as found:
            wrong()
        assert found.value.op and found.value.help
