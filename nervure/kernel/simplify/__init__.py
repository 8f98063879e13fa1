"""Simpler kernels of the same meaning: a list of rewrites, each of which looks at every statement once.

>>> from nervure.kernel.ir import Address, Apply, Buffer, For, Load, Store, Variable
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.types.dtype import float32
>>> x, y = Buffer("x", float32, 24, "in"), Buffer("y", float32, 24, "out")
>>> a, b, c = [Variable(float32) for _ in range(3)]
>>> here = Address(0, (("%1", 8), ("%2", 1)))
>>> body = Load(a, x, here), Load(b, x, here), Apply(c, "multiply", (a, b)), Store(y, here, c)
>>> loops = For("%1", 3, (For("%2", 8, body, vector=True),), parallel=True)
>>> print(print_kernel(simplify_kernel(Kernel("square", (x, y), (For("%0", 1, (loops,)),)))), end="")
kernel square(in x: f32[24], out y: f32[24]):
  for i < 24 parallel vector:
    v0 = x[i]
    v1 = multiply(v0, v0)
    y[i] = v1
"""

from __future__ import annotations

from dataclasses import replace

from nervure.kernel.ir import Access, Kernel, walk
from nervure.kernel.simplify.addresses import with_affine_addresses
from nervure.kernel.simplify.common_subexpressions import with_shared_scalars
from nervure.kernel.simplify.dead_code import without_dead_statements
from nervure.kernel.simplify.folding import with_folded_scalars
from nervure.kernel.simplify.hoisting import with_checks_outside
from nervure.kernel.simplify.loops import with_collapsed_loops, without_unit_loops

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
"""In the order in which they help each other: dead indices would keep loops apart."""


def simplify_kernel(kernel: Kernel) -> Kernel:
    """The kernel after all rewrites, with the buffers that something still touches."""
    body = kernel.body
    for rewrite in REWRITES:
        body = rewrite(body)
    touched = {statement.buffer for statement in walk(body) if isinstance(statement, Access)}
    return replace(kernel, buffers=tuple([buffer for buffer in kernel.buffers if buffer in touched]), body=body)
