"""Lowering: each step of a clustered function becomes kernels of the loop IR, by the rule for what it decided."""

from nervure.kernel.lower.kernels import HostCall, Lowered, Memory

__all__ = ["HostCall", "Lowered", "Memory"]
