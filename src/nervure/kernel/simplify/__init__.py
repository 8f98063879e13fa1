"""Simplification of kernels: a list of rewrites that preserve the meaning, each of which visits every statement once.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel square(in x: f32[24], out y: f32[24]):
...   for i < 1:
...     for j < 3 parallel:
...       for k < 8 vector:
...         v0 = x[8*j + k]
...         v1 = x[8*j + k]
...         v2 = multiply(v0, v1)
...         y[8*j + k] = v2
... ''')
>>> print(print_kernel(simplify_kernel(kernel)), end="")
kernel square(in x: f32[24], out y: f32[24]):
  for i < 24 parallel vector:
    v0 = x[i]
    v1 = multiply(v0, v0)
    y[i] = v1
"""

from __future__ import annotations

from nervure.kernel.ir import Kernel
from nervure.kernel.simplify.addresses import with_affine_addresses
from nervure.kernel.simplify.common_subexpressions import with_shared_scalars
from nervure.kernel.simplify.dead_code import without_dead_statements, without_unused_buffers
from nervure.kernel.simplify.folding import with_folded_scalars
from nervure.kernel.simplify.hoisting import with_checks_outside
from nervure.kernel.simplify.loops import with_collapsed_loops, without_unit_loops
from nervure.support.replacing import replace

__all__ = ["REWRITES", "simplify_kernel"]

REWRITES = (
    without_unit_loops,
    with_affine_addresses,
    with_folded_scalars,
    with_checks_outside,
    with_shared_scalars,
    without_dead_statements,
    with_collapsed_loops,
    with_checks_outside,
)
"""The rewrites, in the order in which they help each other: dead indices would keep loops apart."""


def simplify_kernel(kernel: Kernel) -> Kernel:
    """Returns the kernel after all rewrites, with the buffers that a statement still touches."""
    body = kernel.body
    for rewrite in REWRITES:
        body = rewrite(body)
    return without_unused_buffers(replace(kernel, body=body))
