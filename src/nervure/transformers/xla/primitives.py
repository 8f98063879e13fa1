"""Ops for which XLA has a primitive that does more than the structured form shows: a table by their classes.

A row gives None where the op is one that the primitive does not cover; then the op is read by its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nervure.ir.op import Op
from nervure.ops.contraction import Contract
from nervure.ops.convolution import Convolution, ConvolutionDataGradient, ConvolutionFilterGradient
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.products import contract, convolution

ROWS: dict[type[Op], Callable[[CallTrace, Any, Sequence[Array]], list[Array] | None]] = {
    Contract: contract, Convolution: convolution, ConvolutionDataGradient: convolution,
    ConvolutionFilterGradient: convolution}
