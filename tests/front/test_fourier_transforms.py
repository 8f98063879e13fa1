"""nv.fft against NumPy: lengths, axes by name and position, norms, derivatives; the cpu's bits; mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

RNG = np.random.default_rng(11)


def numbers(*shape: int, dtype: type = np.float64) -> np.ndarray:
    made = RNG.standard_normal(shape)
    return (made + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
REAL = {"rfft", "ihfft", "rfft2", "rfftn"}


def operand(name: str, *shape: int) -> np.ndarray:
    return numbers(*shape, dtype=np.float64 if name in REAL else np.complex128)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm):
    """A450, A451: any axis, cropped, filled or as it is; in doubles with NumPy's bits."""
    x = operand(name, 3, 6, 5)
    for n in (None, 1, 4, 5, 8):
        for axis in (0, 1, -1):
            expected = getattr(np.fft, name)(x, n, axis, norm)
            np.testing.assert_array_equal(getattr(nv.fft, name)(x, n, axis, norm).numpy(), expected)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name, norm):
    """A451: in NumPy's order, with lengths or without."""
    x = operand(name, 3, 4, 5)
    for s, axes in ((None, (-2, -1)), (None, (0, 2)), ((4, 6), (2, 0)), ((5, -1), (1, 2))):
        expected = getattr(np.fft, name)(x, s, axes, norm)
        np.testing.assert_array_equal(getattr(nv.fft, name)(x, s, axes, norm).numpy(), expected)
    if name.endswith("n"):
        np.testing.assert_array_equal(getattr(nv.fft, name)(x).numpy(), getattr(np.fft, name)(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_cpu_has_the_bits_of_the_interpreter(dtype):
    """A450: in single precision, too, where NumPy's own functions compute in doubles."""
    x = numbers(3, 97, dtype=dtype)
    place = nv.placeholder(x.shape, dtype=np.dtype(dtype).name)
    functions = [nv.fft.fft, nv.fft.ifft, nv.fft.rfft, nv.fft.irfft, lambda v: nv.fft.fft(v, norm="ortho")]
    found = {}
    for name in ("interpreter", "cpu"):
        with nv.transformers.make_transformer(name) as transformer:
            found[name] = transformer.computation([function(place) for function in functions], place)(x)
    for mine, theirs, function in zip(found["cpu"], found["interpreter"], [
            np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, lambda v: np.fft.fft(v, norm="ortho")], strict=True):
        np.testing.assert_array_equal(mine, theirs)
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(mine, expected, atol=20 * np.finfo(dtype).eps * np.abs(expected).max())
        assert mine.dtype.itemsize == (2 if expected.dtype.kind == "c" else 1) * np.dtype(dtype).itemsize


def test_axes_have_names():
    """A451: an axis is given by its name, and the result has the name and the new length."""
    x = nv.constant(numbers(4, 6), axes="C=4, T=6", dtype=nv.float64)
    spectrum = nv.fft.rfft(x, axis="C")
    assert str(spectrum.axes) == "(C: 3, T: 6)"
    np.testing.assert_array_equal(spectrum.numpy(), np.fft.rfft(x.numpy(), axis=0))
    assert str(nv.fft.irfft2(spectrum, (4, 6), axes=("T", "C")).axes) == "(C: 6, T: 4)"
    assert nv.fft.fft(x, axis="T").axes == x.axes
    np.testing.assert_array_equal(nv.fft.fftshift(x, "C").numpy(), np.fft.fftshift(x.numpy(), 0))
    np.testing.assert_array_equal(nv.fft.ifftshift(x).numpy(), np.fft.ifftshift(x.numpy()))


def test_frequencies():
    """A451: they are NumPy's."""
    for n in (1, 4, 5):
        np.testing.assert_array_equal(nv.fft.fftfreq(n, 0.1, dtype=nv.float64).numpy(), np.fft.fftfreq(n, 0.1))
        np.testing.assert_array_equal(nv.fft.rfftfreq(n, 0.1, dtype=nv.float64).numpy(), np.fft.rfftfreq(n, 0.1))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_derivatives_are_differences(name, norm):
    """A452: by the convention of complex derivatives, for even and odd lengths; the transforms are linear."""
    for n in (1, 6, 7):
        x = operand(name, 2, 5)
        weights = numbers(*getattr(np.fft, name)(x, n).shape, dtype=np.complex128)

        def loss(v, n=n, weights=weights):
            return nv.real(nv.sum(getattr(nv.fft, name)(v, n, norm=norm) * weights))
        direction = operand(name, 2, 5)
        slope = (nv.grad(loss)(x) * direction).sum().real
        assert abs(loss(direction).item() - slope) < 1e-10 * max(1, abs(slope))
        tangent = nv.jvp(loss, (x,), (direction,))[1].item()
        assert abs(tangent - slope) < 1e-10 * max(1, abs(slope))


def test_batches_of_symbolic_length_and_maps():
    """A453: one program serves all lengths of a batch; vmap adds one."""
    n = nv.dim("n")
    x = nv.placeholder((n, 8), dtype=nv.float64)
    spectrum = nv.computation(nv.fft.rfft(x), x)
    for count in (0, 1, 5):
        given = numbers(count, 8)
        np.testing.assert_array_equal(spectrum(given), np.fft.rfft(given))
    given = numbers(3, 8)
    np.testing.assert_array_equal(nv.vmap(nv.fft.irfft)(given), np.fft.irfft(given))
    with pytest.raises(nv.NotSupported, match="the length of a transform is a number"):
        nv.fft.rfft(x, axis=0)


def test_any_length_is_shifted(transformer):
    """A453: elements move by half of a length that a call brings; so do derivatives, and rolls by such a length."""
    n, m = nv.dim("n"), nv.dim("m")
    x = nv.placeholder((n, 3), dtype=nv.float64)
    weights = nv.convert(nv.iota(n), nv.float64)
    slope = nv.deriv(nv.sum(nv.fft.fftshift(x, 0)[:, 0] * weights), x)
    found = transformer.computation([nv.fft.fftshift(x), nv.fft.ifftshift(x, 0), nv.roll(x, n // 2 + 1),
                                     nv.roll(x, x.shape[0] // 2, 1), slope], x)
    for count in (0, 1, 4, 5):
        given = numbers(count, 3)
        expected = [np.fft.fftshift(given), np.fft.ifftshift(given, 0), np.roll(given, count // 2 + 1),
                    np.roll(given, count // 2, 1), np.zeros((count, 3))]
        expected[-1][:, 0] = np.fft.ifftshift(np.arange(count))
        for mine, theirs in zip(found(given), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    named = nv.placeholder({"H": m, "W": 2})
    assert str(nv.fft.fftshift(named, "H").axes) == str(named.axes)


def test_mistakes_are_told():
    """A451: norms, lengths, and complex numbers where real ones are."""
    with pytest.raises(nv.InvalidArgument, match="no such norm"):
        nv.fft.hfft([1.0, 2.0], norm="none")
    with pytest.raises(nv.InvalidArgument, match="n is 1 or more"):
        nv.fft.fft([1.0, 2.0], 0)
    with pytest.raises(nv.InvalidArgument, match="n is 1 or more"):
        nv.fft.fft(np.ones((2, 0)))
    with pytest.raises(nv.InvalidArgument, match="one of real numbers"):
        nv.fft.rfft(np.ones(3, np.complex64))
    with pytest.raises(nv.InvalidArgument, match="each axis has a length"):
        nv.fft.fft2(np.ones((2, 2)), s=(2,))
    with pytest.raises(nv.InvalidArgument, match="samples have a distance"):
        nv.fft.fftfreq(4, 0)
