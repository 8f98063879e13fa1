"""Nests inside of a loop that kernels share: each is scheduled as if it were a kernel, in the order of the others.

A right operand of a product that is the same in all blocks of rows of a task is packed once, before the first of them.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> from nervure.kernel.shared_loops import OuterLoops, joined
>>> from nervure.support.machine import GENERIC
>>> product = parse_kernel('''
... kernel product(in x: f32[6000], in y: f32[3000], out z: f32[5000]):
...   for i < 100 parallel:
...     for j < 50 vector:
...       v0 = contract over k < 60:
...         v1 = x[60*i + k]
...         v2 = y[60*j + k]
...         give v1, v2
...       z[50*i + j] = v0
... ''')
>>> total = parse_kernel('''
... kernel total(in z: f32[5000], out t: f32[100]):
...   for i < 100 parallel:
...     v0 = reduce add over j < 50:
...       v1 = z[50*i + j]
...       give v1
...     t[i] = v0
... ''')
>>> shared = joined([product, total], ["z"], OuterLoops((), 100, block=25))
>>> print(print_kernel(scheduled(shared, GENERIC)), end="")
kernel shared(in x: f32[6000], in y: f32[3000], out t: f32[100], scratch z: f32[1250], scratch panel0: f32[3000]):
  for i < 1 parallel:
    for j < 60 as transpose:
      for k < 50 vector:
        v0 = y[j + 60*k]
        panel0[50*j + k] = v0
    for j < 4:
      for k < 25 as product:
        for l < 50 vector:
          v1 = contract over m < 60:
            v2 = x[1500*j + 60*k + m]
            v3 = panel0[l + 50*m]
            give v2, v3
          z[50*k + l] = v1
      for k < 25:
        v4 = reduce add over l < 50:
          v5 = z[50*k + l]
          give v5
        t[25*j + k] = v4
"""

from __future__ import annotations

from nervure.kernel.ir import Body, Buffer, For, Kernel, substituted
from nervure.kernel.schedule import schedule_apart, schedule_kernel
from nervure.kernel.shared_loops import SharedLoops, with_buffers
from nervure.support.machine import Machine
from nervure.support.replacing import replace


def scheduled(shared: SharedLoops, machine: Machine) -> Kernel:
    """Returns the kernel of shared loops, with the loops of each nest in the order in which memory lies."""
    before: list[Body] = []
    nests: list[Body] = []
    buffers: list[Buffer] = []
    for nest in shared.nests:
        if not isinstance(nest, For):
            nests.append((nest,))
            continue
        kernel = Kernel("nest", shared.buffers, (replace(nest, parallel=True),))
        first, rest = _in_two(shared, kernel, machine)
        panels = {} if first is None else {first.buffers[1].name: replace(
            first.buffers[1], name=f"panel{len(before)}", role="scratch")}
        table: dict[Buffer, Buffer] = {}
        for buffer in (*(() if first is None else first.buffers), *rest.buffers):
            if buffer.name in panels:
                table[buffer] = panels[buffer.name]
            elif buffer not in shared.buffers:
                table[buffer] = replace(buffer, name=f"{buffer.name}{len(nests)}")
        buffers += dict.fromkeys(table.values())
        if first is not None:
            before.append(with_buffers(_alone(first), table))
        nests.append(with_buffers(_alone(rest), table))
    return shared.kernel(_joined(nests), _joined(before), buffers)


def _in_two(shared: SharedLoops, kernel: Kernel, machine: Machine) -> tuple[Kernel | None, Kernel]:
    """Returns the kernel that packs an operand of a nest once for all blocks, if there is one, and that of the rest."""
    lasting = [buffer for buffer in shared.buffers if buffer.role == "in"]
    apart = schedule_apart(kernel, machine._replace(threads=1), lasting)  # each thread has a panel of its own
    if apart is None or shared.depends_on_block(apart[0].body):
        return None, schedule_kernel(kernel, machine)
    return apart


def _alone(kernel: Kernel) -> Body:
    """Returns what a kernel does, on one thread."""
    loop, = kernel.body
    assert isinstance(loop, For)
    return substituted(loop.body, {loop.index: 0}) if loop.extent == 1 else (replace(loop, parallel=False),)


def _joined(bodies: list[Body]) -> Body:
    return tuple([entry for body in bodies for entry in body])
