"""Samples of Fourier transforms: even and odd lengths, primes, and what divides the sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.types.dtype import DType
from tests.conformance.sampling import N, Operand, Sample, of


@of("Fourier")
def fourier(cls: Any, dtype: DType) -> Iterator[Sample]:
    for length, inverse, division in ((6, False, "none"), (7, True, "length"), (1, False, "root")):
        yield Sample(lambda at, x, inverse=inverse, division=division: cls(x, inverse=inverse, division=division),
                     (Operand((N, length), dtype),))


@of("RealFourier")
def real(cls: Any, dtype: DType) -> Iterator[Sample]:
    for length, division in ((6, "none"), (5, "root"), (1, "length")):
        yield Sample(lambda at, x, division=division: cls(x, division=division), (Operand((N, length), dtype),))


@of("InverseRealFourier")
def inverse_real(cls: Any, dtype: DType) -> Iterator[Sample]:
    for length, division in ((6, "length"), (5, "none"), (1, "root")):
        yield Sample(lambda at, x, length=length, division=division: cls(x, length=length, division=division),
                     (Operand((N, length // 2 + 1), dtype),))
