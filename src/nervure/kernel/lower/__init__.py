"""Lowering: each step of a clustered function becomes kernels of the loop IR, by the rule for what it decided."""

from nervure.kernel.lower.kernel_builder import BufferAssignment, HostCall, LoweredKernel

__all__ = ["HostCall", "LoweredKernel", "BufferAssignment"]
