"""Library ops by JAX's functions: Fourier transforms, and linear algebra with checks, whose NaN are errors here.

>>> sorted(op_class.__name__ for op_class in ROWS)[:3]
['Cholesky', 'Eigen', 'EigenHermitian']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from nervure.ir.op import Op
from nervure.ops.fourier import Fourier, InverseRealFourier, RealFourier
from nervure.ops.library_op import LibraryOp
from nervure.ops.linear_algebra import (
    Cholesky,
    Eigen,
    EigenHermitian,
    LogDeterminant,
    ReflectionProduct,
    Reflections,
    SingularValues,
    Solve,
    Svd,
)
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.functions import Array


def _reflections(a: Array) -> Sequence[Array]:
    raw, factors = jnp.linalg.qr(a, mode="raw")
    return jnp.swapaxes(raw, -1, -2), factors


def _lower_whole(a: Array) -> Array:
    """Returns the Hermitian matrix with the lower triangle of a."""
    below = jnp.tril(a, -1)
    diagonal = jnp.where(jnp.eye(a.shape[-1], dtype=bool), jnp.real(a).astype(a.dtype), 0)
    return below + diagonal + jnp.conj(jnp.swapaxes(below, -1, -2))


_FUNCTIONS: dict[type[Op], Callable[..., Any]] = {
    Solve: jnp.linalg.solve, Cholesky: lambda a: jnp.linalg.cholesky(_lower_whole(a)), Reflections: _reflections,
    ReflectionProduct: lambda raw, factors: lax.linalg.householder_product(raw[..., :factors.shape[-1]], factors),
    Svd: lambda a: jnp.linalg.svd(a, full_matrices=False),
    SingularValues: lambda a: jnp.linalg.svd(a, compute_uv=False),
    EigenHermitian: lambda a: jnp.linalg.eigh(_lower_whole(a)), Eigen: jnp.linalg.eig,
    LogDeterminant: jnp.linalg.slogdet}


def _row(trace: CallTrace, op: LibraryOp, operands: Sequence[Array]) -> list[Array]:
    """Returns the results of an op, and checks that the first number of each is one where all ``operands`` are."""
    found = _FUNCTIONS[type(op)](*operands)
    results = [jnp.asarray(entry) for entry in found] if isinstance(found, tuple) else [jnp.asarray(found)]
    rank = op.operands[0].rank - len(op.core_shapes()[0])
    if op.failure is not None and results[0].size:
        wrong = ~jnp.isfinite(results[0].reshape(*results[0].shape[:rank], -1)).all(-1)
        for operand in operands:
            wrong = wrong & jnp.isfinite(operand).all(tuple(range(rank, operand.ndim)))
        trace.check(wrong, lambda position, value: op.failed(position, wrong.shape))
    return results


_FORWARD = {"none": "backward", "root": "ortho", "length": "forward"}
_BACKWARD = {"none": "forward", "root": "ortho", "length": "backward"}
"""JAX's word for what divides the sums."""


def _transformed(trace: CallTrace, op: LibraryOp, operands: Sequence[Array]) -> list[Array]:
    x, = operands
    if isinstance(op, RealFourier):
        return [jnp.fft.rfft(x, norm=_FORWARD[op.division])]
    if isinstance(op, InverseRealFourier):
        return [jnp.fft.irfft(x, op.length, norm=_BACKWARD[op.division])]
    assert isinstance(op, Fourier)
    return [jnp.fft.ifft(x, norm=_BACKWARD[op.division]) if op.inverse else jnp.fft.fft(x, norm=_FORWARD[op.division])]


ROWS: dict[type[Op], Callable[[CallTrace, Any, Sequence[Array]], list[Array]]] = {
    **dict.fromkeys(_FUNCTIONS, _row), **dict.fromkeys((Fourier, RealFourier, InverseRealFourier), _transformed)}
"""The ops, and what traces them."""
