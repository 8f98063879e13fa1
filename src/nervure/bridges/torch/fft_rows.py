"""Rows of Fourier transforms: products with small matrices, one for each factor of a length.

A transform of n = a * b elements is one of a elements, a turn of each element, and one of b elements: with the place
j = b * j1 + j2 and the frequency k = k1 + a * k2, the exponent j * k / n is j1 * k1 / a + j2 * k1 / n + j2 * k2 / b
and an integer.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x = Parameter(nv.complex64, (5, 12)).output
>>> transform(x.type, x, [1], 0, True)
c64[5, 12] Complex(Subtract, Add)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nervure import ops
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.ir.op import Value
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike

SMALL, LARGEST = 64, 512
"""A length up to which a transform is one product, and the largest prime factor of a length."""


class _Parts(NamedTuple):
    """Complex numbers by their real and imaginary parts; no imaginary part is one of 0."""

    real: Value
    imaginary: Value | None

    @classmethod
    def of(cls, x: Value) -> _Parts:
        """Returns the parts of a complex tensor, or a real one as it is."""
        return cls(ops.Real(x).output, ops.Imaginary(x).output) if x.dtype.is_complex else cls(x, None)

    def times(self, angles: np.ndarray, contract: bool, axis: int) -> _Parts:
        """Returns the products with e**(i * angles): with a matrix along an axis, or from the axis on with a tensor."""
        def by(x: Value, factors: np.ndarray) -> Value:
            known = ops.Constant(factors.astype(x.dtype.numpy)).output
            if not contract:
                others = [d for d in range(x.rank) if d not in (axis, axis + 1)]
                return x * ops.Broadcast(known, x.shape, others).output
            here = tuple(range(x.rank))
            return ops.Contract(x, known, here, (axis, x.rank), (*here[:axis], x.rank, *here[axis + 1:])).output
        cosines, sines = np.cos(angles), np.sin(angles)
        if self.imaginary is None:
            return _Parts(by(self.real, cosines), by(self.real, sines))
        return _Parts(by(self.real, cosines) - by(self.imaginary, sines),
                      by(self.real, sines) + by(self.imaginary, cosines))

    def mapped(self, view: type, *arguments: object) -> _Parts:
        """Returns a view of both parts."""
        imaginary = self.imaginary
        return _Parts(view(self.real, *arguments).output,
                      None if imaginary is None else view(imaginary, *arguments).output)


def _along(x: _Parts, axis: int, sign: int) -> _Parts:
    """Returns the sums over an axis of x times e**(sign * 2 * pi * i * place * frequency / length)."""
    shape = x.real.shape
    length = _known(shape[axis])
    first = _first_factor(length)
    turn = sign * 2 * np.pi
    if first == length:
        places = np.arange(length)
        return x.times(turn * (np.outer(places, places) % length) / length, True, axis)
    second = length // first
    split = x.mapped(ops.Reshape, (*shape[:axis], first, second, *shape[axis + 1:]))
    inner = _along(split, axis, sign)
    angles = turn * np.outer(np.arange(first), np.arange(second)) / length
    outer = _along(inner.times(angles, False, axis), axis + 1, sign)
    order = list(range(len(shape) + 1))
    order[axis], order[axis + 1] = axis + 1, axis
    return outer.mapped(ops.Permute, order).mapped(ops.Reshape, shape)


def _known(length: DimLike) -> int:
    if not isinstance(length, int):
        raise Unsupported("a Fourier transform of unknown length")
    return length


def _first_factor(length: int) -> int:
    """Returns the factor of a length that is transformed first: the length itself if it is small, or a prime."""
    if length <= SMALL:
        return length
    root = math.isqrt(length)
    found = max([factor for factor in range(1, min(root, SMALL) + 1) if length % factor == 0])
    if found == 1:
        found = next((factor for factor in range(SMALL + 1, root + 1) if length % factor == 0), length)
    if found > LARGEST:
        raise Unsupported(f"a Fourier transform of a length with the prime factor {found}")
    return found


def _scale(lengths: Sequence[int], mode: int) -> float:
    """Returns the factor of a normalisation: 1, or divided by the number of elements or its root."""
    count = math.prod(lengths)
    return 1.0 if mode == 0 else 1 / (math.sqrt(count) if mode == 1 else count)


def _scaled(x: Value, lengths: Sequence[int], mode: int) -> Value:
    factor = _scale(lengths, mode)
    return x * factor if factor != 1 else x


def _joined(x: _Parts, lengths: Sequence[int], mode: int) -> Value:
    assert x.imaginary is not None
    return ops.Complex(*[_scaled(part, lengths, mode) for part in (x.real, x.imaginary)]).output


@row("_fft_c2c.default")
def transform(result: Type, x: Value, axes: Sequence[int], mode: int, forward: bool) -> Value:
    axes = [axis % x.rank for axis in axes]
    parts = _Parts.of(x)
    for axis in axes:
        parts = _along(parts, axis, -1 if forward else 1)
    return _joined(parts, [_known(x.shape[axis]) for axis in axes], mode)


@row("_fft_r2c.default")
def transform_of_real(result: Type, x: Value, axes: Sequence[int], mode: int, onesided: bool) -> Value:
    axes = [axis % x.rank for axis in axes]
    parts = _along(_Parts.of(converted(x, result.dtype.part)), axes[-1], -1)
    slices = [(0, length, 1) for length in result.shape]
    parts = parts.mapped(ops.Slice, slices) if onesided else parts
    for axis in axes[:-1]:
        parts = _along(parts, axis, -1)
    return _joined(parts, [_known(x.shape[axis]) for axis in axes], mode)


@row("_fft_c2r.default")
def transform_to_real(result: Type, x: Value, axes: Sequence[int], mode: int, length: DimLike) -> Value:
    axes = [axis % x.rank for axis in axes]
    parts, last, count = _Parts.of(x), axes[-1], _known(length)
    for axis in axes[:-1]:
        parts = _along(parts, axis, 1)
    real = _along(_hermitian(parts, last, count), last, 1).real
    return _scaled(real, [_known(result.shape[axis]) for axis in axes], mode)


def _hermitian(x: _Parts, axis: int, count: int) -> _Parts:
    """Returns the numbers of all frequencies, of which x has the first half: the others are their conjugates."""
    given = _known(x.real.shape[axis])
    if given < count // 2 + 1:
        raise Unsupported(f"{given} frequencies for {count} elements")
    full: list[Value] = []
    for part, sign in zip(x, (1, -1), strict=True):
        assert part is not None
        slices = [(0, length, 1) for length in part.shape]
        slices[axis] = (0, count // 2 + 1, 1)
        mirrored = [(0, length, 1) for length in part.shape]
        mirrored[axis] = ((count - 1) // 2, (count - 1) // 2, -1)
        rest = ops.Slice(part, mirrored).output if count > 2 else None
        both = [ops.Slice(part, slices).output, *([] if rest is None else [rest * sign])]
        full.append(ops.Concatenate(*both, axis=axis).output if len(both) > 1 else both[0])
    return _Parts(*full)
