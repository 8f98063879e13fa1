"""A panel of the whole right side, packed apart: by a kernel of its own, which calls run once for each of its values.

It lies in strips that are as wide as a task, of all points each; strip after strip, matrix after matrix.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.schedule.products.blocking import blocking_of
>>> from nervure.kernel.schedule.products.matrices import matrices_of
>>> from nervure.kernel.schedule.products.packing import packing_of
>>> from nervure.kernel.schedule.products.sides import reading_of
>>> from nervure.support.machine import GENERIC
>>> kernel = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[36000], out z: f32[60000]):
...   for i < 100 parallel:
...     for j < 600 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[60*j + k]
...         give v1, v2
...       z[600*i + j] = v0
... ''')
>>> matrices = matrices_of(kernel, GENERIC._replace(threads=1))
>>> reading = reading_of(matrices, kernel.buffers[1:2])
>>> blocking = blocking_of(matrices, reading)
>>> panel = panel_apart(blocking, reading)
>>> print(print_kernel(packing_kernel(packing_of(blocking, reading), panel)), end="")
kernel pack(in y: f32[36000], out packed: f32[46080]):
  for i < 3 parallel:
    for j < 60 as transpose:
      for k < min(600 - 256*(i % 3), 256) vector:
        v0 = y[j + 60*k + (15360*(i % 3))]
        packed[256*j + k + (15360*(i % 3))] = v0
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.kernel.ir import CONTRACT_BLOCK, Access, Address, Buffer, For, Kernel, Load, Variable, walk
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.schedule.products.blocking import Blocking
from nervure.kernel.schedule.products.extents import block_count, part_of
from nervure.kernel.schedule.products.matrices import Matrices
from nervure.kernel.schedule.products.packing import OperandBlock, Packing
from nervure.kernel.schedule.products.sides import Reading
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, product


class PanelApart(NamedTuple):
    """The buffer that the right side is packed from, and how tasks load an element of the panel."""

    source: Buffer
    load: Load


def panel_apart(blocking: Blocking, reading: Reading) -> PanelApart | None:
    """Returns the panel of the whole right side; None if it is not packed apart."""
    matrices, width = blocking.matrices, blocking.width
    if reading.source is None:
        return None
    assert isinstance(matrices.k.extent, int)
    size = block_count(matrices.n.extent, width) * matrices.k.extent * width
    # A column moves the place by 1, and so by a row of the strip with each strip that is behind it.
    steps: dict[LoopIndex, DimLike] = {
        matrices.k.number: width, matrices.n.number: 1, matrices.new.strip: (matrices.k.extent - 1) * width}
    for loop in reversed(matrices.right_batch):
        steps[loop.index], size = size, size * loop.extent
    result = Variable(matrices.right.value.dtype)
    load = Load(result, Buffer("packed", result.dtype, size, "in"), Address(0, tuple(steps.items())))
    return PanelApart(reading.source, load)


def packing_kernel(packing: Packing, panel: PanelApart) -> Kernel:
    """Returns the kernel that fills a panel of the whole right side, in tasks of a block of points of a strip each."""
    matrices, width = packing.blocking.matrices, packing.blocking.width
    n, new, batch = matrices.n, matrices.new, matrices.right_batch
    depth = _depth(matrices)
    blocks, strips = block_count(matrices.k.extent, depth), block_count(n.extent, width)
    number, start = new.task.dim // blocks, new.task.dim % blocks * depth
    number, strip = number // strips, number % strips
    first = strip * width
    moved: dict[LoopIndex, DimLike] = {new.strip: strip, n.number: first + n.number.dim}
    for loop in reversed(batch):
        number, moved[loop.index] = number // loop.extent, number % loop.extent
    extents = part_of(matrices.k.extent, start, depth), part_of(n.extent, first, width)
    block = OperandBlock(start, extents[0], n, first, extents[1], moved, depth)
    place = panel.load.address.substitute({**moved, matrices.k.number: start + matrices.k.number.dim})
    target = replace(panel.load, buffer=replace(panel.load.buffer, role="out"), address=place)
    body = packing.packed(matrices.right, target, block)
    tasks = product([*[loop.extent for loop in batch], strips, blocks])
    waits = any([isinstance(entry, Access) and entry.buffer is packing.waiting for entry in walk(body)])
    buffers = (panel.source, target.buffer, *((packing.waiting,) if waits else ()))
    return Kernel("pack", buffers, (For(new.task, tasks, body, parallel=True),), ())


def _depth(matrices: Matrices) -> int:
    """Returns the k of a task: all those of the outermost loop over them if the operand tells the loops apart."""
    k, (*_, (_, last)) = matrices.k, matrices.k.indices
    depth = product([extent for _, extent in k.indices[1:]])
    is_in_loops = k.is_in(*matrices.right.statements) and isinstance(last, int) and last <= CONTRACT_BLOCK
    return depth if is_in_loops and isinstance(depth, int) and depth > 0 else CONTRACT_BLOCK
