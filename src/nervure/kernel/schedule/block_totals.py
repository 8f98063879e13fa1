"""Totals of blocks: a reduction of more than a block is a chain of the totals of its blocks, or of groups of them.

The result of a block is in registers, and so is that of the blocks before it. Up to 64 blocks are one group, and
nothing else is needed. The totals of several groups wait in memory, one for each size of groups: a full group joins
the larger one around it, and if that is full it joins the next, as in :class:`nervure.kernel.groups.Groups`.

>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[10000], out y: f32[1]):
...   v0 = reduce add over i < 10000 as registers 64:
...     v1 = x[i]
...     give v1
...   y[0] = v0
... ''')
>>> print("\\n".join(print_kernel(with_block_totals(kernel, GENERIC)).splitlines()[1:]))
  v0 = reduce add over i < 3 order 1, 64, 8 as chain:
    v1 = reduce add over j < min(10000 - 4096*i, 4096) order 64, 4096, 1 as registers 64:
      v2 = x[4096*i + j]
      give v2
    give v1
  y[0] = v0
"""

from __future__ import annotations

from nervure.kernel.combiners import unit
from nervure.kernel.ir import (
    BLOCK,
    BLOCK_ORDER,
    TOTALS_ORDER,
    Address,
    For,
    Kernel,
    Literal,
    Load,
    Reduce,
    Statement,
    Store,
    Strategy,
    Variable,
    substituted,
)
from nervure.kernel.rewriting import MemoryRewrite
from nervure.kernel.schedule.group_totals import GroupsInMemory, applied, group_sizes, number
from nervure.kernel.schedule.reduction_strategy import has_several_blocks
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import dim_max, dim_min
from nervure.types.dtype import int64


def with_block_totals(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions in lanes of one block each, and chains of one group each."""
    return _BlockTotals(kernel).rewritten()


class _BlockTotals(MemoryRewrite):
    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = self.rebuilt(loop)
        if _is_done_as(loop, "registers") and has_several_blocks(loop):
            loop = self._of_blocks(loop)
        if _is_done_as(loop, "chain") and group_sizes(loop):
            self._in_groups(loop, out)
        else:
            out.append(loop)

    def _of_blocks(self, loop: Reduce) -> Reduce:
        """Returns the chain of the results of its blocks."""
        block, ((index, extent),) = self.index(), loop.indices
        results = tuple([Variable(result.dtype) for result in loop.results])
        body = substituted(loop.body, {index: block.dim * BLOCK + index.dim})
        left = dim_min(extent - block.dim * BLOCK, BLOCK)
        inner = replace(loop, results=results, indices=((index, left),), body=body, order=BLOCK_ORDER)
        return replace(loop, indices=((block, (extent + (BLOCK - 1)) // BLOCK),), body=(inner,), values=results,
                       strategy=Strategy("chain"), order=TOTALS_ORDER)

    def _in_groups(self, loop: Reduce, out: list[Statement]) -> None:
        """Appends a chain of one group; if there are several, each of its points also joins the totals in memory."""
        (block, blocks), = loop.indices
        groups, place = blocks // loop.order.block, block.dim % loop.order.block
        sizes, several = group_sizes(loop), dim_min(groups, 1)
        totals = [self.memory("totals", result.dtype, sizes + 1, self.role) for result in loop.results]
        in_memory = GroupsInMemory(totals, loop.combine, Address, lambda body: body)
        body: list[Statement] = []
        is_first = applied(body, "equal", number(body, place), Literal(0, int64))
        for total, combine, value in zip(totals, loop.combine, loop.values, strict=True):
            body += [Store(total, Address(0), unit(combine, total.dtype), valid=is_first),
                     Store(total, Address(0), value, combine)]
        join = in_memory.join(self.index(), sizes, (block.dim + 1) // loop.order.block)
        finish = in_memory.finish(self.index(), sizes, groups)
        body += [For(self.index(), place // (loop.order.block - 1), (join,)),
                 For(self.index(), dim_min(dim_max(block.dim + 2 - blocks, 0), 1), (finish,))]
        single = tuple([Variable(result.dtype) for result in loop.results])
        out.append(replace(loop, results=single, body=(*loop.body, For(self.index(), several, tuple(body)))))
        are_several = applied(out, "not_equal", number(out, several), Literal(0, int64))
        out += [Load(result, total, Address(0), are_several, alone)
                for result, total, alone in zip(loop.results, totals, single, strict=True)]


def _is_done_as(loop: Reduce, *names: str) -> bool:
    return loop.strategy is not None and loop.strategy.name in names
