"""Discrete Fourier transforms along the last axis, by NumPy's pocketfft.

>>> import nervure as nv
>>> RealFourier(nv.Parameter(nv.float32, (2, 6)))
c64[2, 4] RealFourier(Parameter)
>>> InverseRealFourier(nv.Parameter(nv.complex64, (2, 4)), length=6)
f32[2, 6] InverseRealFourier(Parameter)

The transforms are linear. Their derivatives are their transposes, by the convention of
:mod:`nervure.autodiff.reverse`: that of a complex transform is itself, and each of the real ones has the other one's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import numpy as np

from nervure.errors import NotSupported, ShapeMismatch
from nervure.ir import field
from nervure.ir.op import Gradient, Gradients, Operand, Value
from nervure.ops.arithmetic import Conjugate
from nervure.ops.comparison import Equal
from nervure.ops.iota import Iota
from nervure.ops.library_op import LibraryOp
from nervure.ops.selection import where
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, complex64, complex128, float32, float64, int64

LOOPS = import_module("numpy.fft._pocketfft_umath")  # NumPy's loops of transforms, which have no stubs

_COMPLEX = {float32: complex64, float64: complex128}


class _Transform(LibraryOp, abstract=True):
    """A transform, whose sums are divided by nothing, by the root of the ``length`` or by the length."""

    operand_names = "x"
    core = "m -> n"
    scale = True
    division = field.choice("none", "root", "length", default="none")

    @property
    def points(self) -> int:
        """The length of the transform, of which a spectrum of real numbers has about half."""
        return known(self.operands[0].shape[-1])

    @property
    def function(self) -> np.ufunc:
        found: np.ufunc = getattr(LOOPS, self.loop_name)
        return found

    @property
    def factor(self) -> np.ndarray:
        kind = self.operands[0].dtype.part.numpy
        if self.division == "none":
            return np.ones((), kind)
        root = self.division == "root"
        divisor = np.sqrt(self.points, dtype=kind) if root else np.asarray(self.points, kind)
        return np.reciprocal(divisor, dtype=kind)

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription | tuple[BasicTensorDescription, ...]:
        x, = types
        if not x.shape or x.shape[-1] == 0:
            raise self.fail(ShapeMismatch, "a transform has one point or more", operand=self.operand_label(0), got=x,
                            expected="a last dimension that is not empty", help="give the length of the result: n=8")
        if not isinstance(x.shape[-1], int):
            raise self.fail(NotSupported, "the length of a transform is a number", operand=self.operand_label(0),
                            got=x, expected="a last dimension without symbols", help="the other axes may be symbols")
        return super().infer(*types)

    def _called(self, given: Sequence[np.ndarray]) -> object:
        output, = self.outputs
        made = np.empty((*given[0].shape[:-1], known(output.shape[-1])), output.dtype.numpy)
        return self.function(*given, out=made, signature=self.loop_types)


class Fourier(_Transform):
    """The sums over j of x[j] exp(-2 pi i j k / n) for each k below n; ``inverse`` changes the sign."""

    admits = frozenset([complex64, complex128])
    inverse = field.boolean(False)

    @property
    def loop_name(self) -> str:
        return "ifft" if self.inverse else "fft"

    def extents(self, known: Mapping[str, DimLike]) -> Mapping[str, DimLike]:
        return {"n": known["m"]}

    def vjp(self, gradient: Gradient, x: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        return (Fourier(gradient, inverse=self.inverse, division=self.division).output,)


class RealFourier(_Transform):
    """The first n // 2 + 1 sums of ``Fourier`` over n real numbers: the others are conjugates of these."""

    admits = frozenset([float32, float64])

    @property
    def loop_name(self) -> str:
        return "rfft_n_odd" if self.points % 2 else "rfft_n_even"

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return (_COMPLEX[dtype],)

    def extents(self, known: Mapping[str, DimLike]) -> Mapping[str, DimLike]:
        return {"n": known["m"] // 2 + 1}

    def vjp(self, gradient: Gradient, x: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        halves = where(_is_single(gradient, self.points), gradient, gradient.value * 0.5)
        return (InverseRealFourier(Conjugate(halves), length=self.points, division=self.division).output,)


class InverseRealFourier(_Transform):
    """The ``length`` real numbers that ``Fourier`` with ``inverse`` makes of a spectrum and its conjugates.

    x has length // 2 + 1 numbers. The imaginary part of the first one counts as 0, and that of the last one where
    ``length`` is even.
    """

    admits = frozenset([complex64, complex128])
    loop_name = "irfft"
    length = field.integer()

    @property
    def points(self) -> int:
        return int(self.length)

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription | tuple[BasicTensorDescription, ...]:
        made = super().infer(*types)
        if self.length < 1 or types[0].shape[-1] != self.length // 2 + 1:
            raise self.fail(ShapeMismatch, "the spectrum has another length", operand=self.operand_label(0),
                            got=types[0], expected=f"{max(self.length, 0) // 2 + 1} numbers for length={self.length}",
                            help="slice or pad the spectrum to length // 2 + 1")
        return made

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return (dtype.part,)

    def extents(self, known: Mapping[str, DimLike]) -> Mapping[str, DimLike]:
        return {"n": self.length}

    def vjp(self, gradient: Gradient, x: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        turned = Conjugate(RealFourier(gradient, division=self.division)).output
        return (where(_is_single(turned, self.length), turned, turned * 2),)


def known(length: DimLike) -> int:
    """Returns a ``length`` that is a number, as those of transforms are."""
    assert isinstance(length, int)
    return length


def _is_single(spectrum: Operand, points: int) -> Value:
    """Returns where a number of a spectrum has no conjugate of its own: at 0, and in the middle of an even length."""
    places = Iota(spectrum.shape, spectrum.rank - 1, int64).output
    mirrored = places if points % 2 else places * (places - points // 2)
    return Equal(mirrored, places.full(0)).output
