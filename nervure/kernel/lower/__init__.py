"""Lowering: each step of a clustered function becomes kernels of the loop IR, by the rule for its kind."""

from nervure.kernel.lower.kernels import Lowered, Memory
from nervure.kernel.lower.lowering import lower

__all__ = ["Lowered", "Memory", "lower"]
