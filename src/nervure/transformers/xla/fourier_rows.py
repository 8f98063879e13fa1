"""Fourier transforms by JAX's functions.

>>> sorted(op_class.__name__ for op_class in ROWS)
['Fourier', 'InverseRealFourier', 'RealFourier']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from nervure.ir.op import Op
from nervure.ops.fourier import Fourier, InverseRealFourier, RealFourier
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.functions import Array

_FORWARD = {"none": "backward", "root": "ortho", "length": "forward"}
_BACKWARD = {"none": "forward", "root": "ortho", "length": "backward"}
"""JAX's word for what divides the sums."""


def _complex(trace: CallTrace, op: Fourier, operands: Sequence[Array]) -> list[Array]:
    if op.inverse:
        return [jnp.fft.ifft(operands[0], norm=_BACKWARD[op.division])]
    return [jnp.fft.fft(operands[0], norm=_FORWARD[op.division])]


def _real(trace: CallTrace, op: RealFourier, operands: Sequence[Array]) -> list[Array]:
    return [jnp.fft.rfft(operands[0], norm=_FORWARD[op.division])]


def _inverse_real(trace: CallTrace, op: InverseRealFourier, operands: Sequence[Array]) -> list[Array]:
    return [jnp.fft.irfft(operands[0], op.length, norm=_BACKWARD[op.division])]


ROWS: dict[type[Op], Callable[[CallTrace, Any, Sequence[Array]], list[Array] | None]] = {
    Fourier: _complex, RealFourier: _real, InverseRealFourier: _inverse_real}
"""The ops, and what traces them."""
