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
    v1 = reduce add over j < min(10000 - 4096*i, 4096) as registers 64:
      v2 = x[4096*i + j]
      give v2
    give v1
  y[0] = v0
"""

from __future__ import annotations

from dataclasses import replace

from nervure.kernel.combiners import FUNCTIONS, is_associative, unit
from nervure.kernel.ir import (
    BLOCK,
    GROUPS,
    TOTALS_ORDER,
    Address,
    Apply,
    Buffer,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Strategy,
    Variable,
    substituted,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import Rewrite, unused_indices
from nervure.kernel.scalar_types import result_type
from nervure.kernel.schedule.reduction_strategy import has_several_blocks
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, bounds, dim_max, dim_min
from nervure.types.dtype import DType, int64

GROUP_BITS = GROUPS.bit_length() - 1

MOST_GROUPS = 1 << 33
"""The most groups of 64 blocks: no index reaches 2**51."""


def with_block_totals(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel with reductions in lanes of one block each, and chains of one group each."""
    rewrite = _BlockTotals(kernel)
    body = rewrite.block(kernel.body)
    return replace(kernel, body=body, buffers=(*kernel.buffers, *rewrite.totals))


class _BlockTotals(Rewrite):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._unused = unused_indices(kernel.body, 1)[0].number
        self.totals: list[Buffer] = []

    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        loop = loop.map_bodies(self.block).replace_operands(self.replaced)
        if _is_done_as(loop, "registers", "parts") and has_several_blocks(loop):
            loop = self._of_blocks(loop)
        if _is_done_as(loop, "chain") and has_several_blocks(loop) and not is_associative(loop):
            self._in_groups(loop, out)
        else:
            out.append(loop)

    def _index(self) -> LoopIndex:
        self._unused += 1
        return LoopIndex(self._unused - 1)

    def _of_blocks(self, loop: Reduce) -> Reduce:
        """Returns the chain of the results of its blocks."""
        block, ((index, extent),) = self._index(), loop.indices
        results = tuple([Variable(result.dtype) for result in loop.results])
        body = substituted(loop.body, {index: block.dim * BLOCK + index.dim})
        left = dim_min(extent - block.dim * BLOCK, BLOCK)
        inner = replace(loop, results=results, indices=((index, left),), body=body)
        return replace(loop, indices=((block, (extent + (BLOCK - 1)) // BLOCK),), body=(inner,), values=results,
                       strategy=Strategy("chain"), order=TOTALS_ORDER)

    def _in_groups(self, loop: Reduce, out: list[Statement]) -> None:
        """Appends a chain of one group; if there are several, each of its points also joins the totals in memory."""
        (block, blocks), = loop.indices
        groups, place = blocks // loop.order.block, block.dim % loop.order.block
        sizes, several = _sizes(groups), dim_min(groups, 1)
        totals = [self._buffer(result.dtype, sizes + 1) for result in loop.results]
        body: list[Statement] = []
        is_first = _applied(body, "equal", _number(body, place), Literal(0, int64))
        for total, combine, value in zip(totals, loop.combine, loop.values, strict=True):
            body += [Store(total, Address(0), unit(combine, total.dtype), valid=is_first),
                     Store(total, Address(0), value, combine)]
        is_full, is_last = place // (loop.order.block - 1), dim_min(dim_max(block.dim + 2 - blocks, 0), 1)
        body.append(self._levels(loop, totals, sizes, (block.dim + 1) // loop.order.block, is_full))
        body.append(self._levels(loop, totals, sizes, groups, is_last, is_last=True))
        single = tuple([Variable(result.dtype) for result in loop.results])
        out.append(replace(loop, results=single, body=(*loop.body, For(self._index(), several, tuple(body)))))
        are_several = _applied(out, "not_equal", _number(out, several), Literal(0, int64))
        out += [Load(result, total, Address(0), are_several, alone)
                for result, total, alone in zip(loop.results, totals, single, strict=True)]

    def _buffer(self, dtype: DType, size: int) -> Buffer:
        self.totals.append(Buffer(f"totals{len(self.totals)}", dtype, size, "scratch"))
        return self.totals[-1]

    def _levels(self, loop: Reduce, totals: list[Buffer], sizes: int, groups: DimLike, times: DimLike,
                is_last: bool = False) -> For:
        """Joins a full group, the last of ``groups``, to the larger one, and that to the next if it is full, too. With
        ``is_last`` all that have begun are joined into the total.
        """
        once, level = self._index(), self._index()
        body: list[Statement] = []
        count, shift = _number(body, groups), _number(body, level.dim * GROUP_BITS)
        ended = _applied(body, "shift_right", count, shift)
        if is_last:
            joins = is_old = _applied(body, "not_equal", ended, Literal(0, int64))
        else:
            joins = _applied(body, "equal", _applied(body, "shift_left", ended, shift), count)
            is_old = _applied(body, "bitwise_and", joins, _applied(body, "not_equal", ended, Literal(1, int64)))
        here, above = Address(0) if is_last else Address(0, ((level, 1),)), Address(1, ((level, 1),))
        for total, combine in zip(totals, loop.combine, strict=True):
            nothing = unit(combine, total.dtype)
            larger = _loaded(body, total, above, is_old, nothing)
            smaller = _loaded(body, total, here, joins, nothing)
            both = _applied(body, FUNCTIONS[combine], larger, smaller)
            body += [Store(total, here if is_last else above, both, valid=joins)]
            body += [] if is_last else [Store(total, here, nothing, valid=joins)]
        return For(once, times, (For(level, sizes, tuple(body)),))


def _is_done_as(loop: Reduce, *names: str) -> bool:
    return loop.strategy is not None and loop.strategy.name in names


def _sizes(groups: DimLike) -> int:
    """Returns the sizes of larger groups for the greatest possible number of groups."""
    most = bounds(groups)[1]
    most = MOST_GROUPS if most is None else min(most, MOST_GROUPS)
    return -(-most.bit_length() // GROUP_BITS)


def _number(body: list[Statement], x: DimLike) -> Scalar:
    body.append(Index(Variable(int64), x))
    return body[-1].results[0]


def _applied(body: list[Statement], function: str, *operands: Scalar) -> Scalar:
    dtype = result_type(function, [operand.dtype for operand in operands])
    body.append(Apply(Variable(dtype), function, operands))
    return body[-1].results[0]


def _loaded(body: list[Statement], buffer: Buffer, address: Address, valid: Scalar, fill: Scalar) -> Scalar:
    body.append(Load(Variable(buffer.dtype), buffer, address, valid, fill))
    return body[-1].results[0]
