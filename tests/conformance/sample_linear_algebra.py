"""Samples of linear algebra: batches of well-conditioned matrices, whose factorisations are unique up to phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.ir.op import Value
from nervure.ops.library_op import DOUBLES, SINGLES_AND_DOUBLES
from nervure.ops.linear_algebra import adjoint, identity_like, product
from nervure.types.dtype import DType
from tests.conformance.sampling import A, B, N, Operand, Sample, of


def definite(x: Value) -> Value:
    """A Hermitian matrix with eigenvalues of 1 and more."""
    whole = product(x, adjoint(x))
    return whole + identity_like(whole)


def regular(x: Value) -> Value:
    """A matrix far from singular ones."""
    return x + identity_like(x) * 20


@of("Solve", types=SINGLES_AND_DOUBLES)
def solve(cls: Any, dtype: DType) -> Iterator[Sample]:
    for batch in ((), (N,)):
        yield Sample(lambda at, a, b: cls(regular(a), b), (Operand((*batch, A, A), dtype),
                                                           Operand((*batch, A, B), dtype)))


@of("Cholesky", types=SINGLES_AND_DOUBLES)
def cholesky(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(definite(a)), (Operand((N, A, A), dtype),))


@of("LogDeterminant", types=SINGLES_AND_DOUBLES)
def determinant(cls: Any, dtype: DType) -> Iterator[Sample]:
    for batch in ((), (N,)):
        yield Sample(lambda at, a: cls(regular(a)), (Operand((*batch, A, A), dtype),))


@of("Reflections", types=DOUBLES)
def reflections(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(a), (Operand((N, A, B), dtype),))


@of("ReflectionProduct", types=DOUBLES)
def reflected(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a, factors: cls(a, factors), (Operand((N, A, A), dtype), Operand((N, A), dtype)))


@of("Qr", types=DOUBLES)
def qr(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(a), (Operand((N, A, A), dtype),))


@of("Lu", types=SINGLES_AND_DOUBLES)
def lu(cls: Any, dtype: DType) -> Iterator[Sample]:
    for shape in ((A, A), (N, A, A)):
        yield Sample(lambda at, a: cls(regular(a)), (Operand(shape, dtype),))


@of("SingularValues", types=SINGLES_AND_DOUBLES)
def singular_values(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(a), (Operand((N, A, B), dtype),))


@of("Svd", "EigenHermitian", types=SINGLES_AND_DOUBLES)
def with_phases(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(a), (Operand((N, A, A), dtype),), is_smooth=not dtype.is_complex)


@of("PseudoInverse", types=SINGLES_AND_DOUBLES)
def pseudo_inverse(cls: Any, dtype: DType) -> Iterator[Sample]:
    for batch in ((), (N,)):
        yield Sample(lambda at, a, zero: cls(a, zero * 0), (Operand((*batch, A, B), dtype),
                                                            Operand(batch, dtype.part)))


@of("Eigen", types=DOUBLES)
def eigen(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, a: cls(a), (Operand((A, A), dtype),), is_smooth=False)

