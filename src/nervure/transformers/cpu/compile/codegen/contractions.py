"""Contractions without a register tile: a chain of fused multiply-adds, one point after the other; in a vector loop,
in each lane.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = generate(parse_kernel('''
... kernel product(in x: f32[100], in y: f32[6400], out z: f32[64]):
...   for i < 64 vector:
...     v0 = contract over j < 100:
...       v1 = x[j]
...       v2 = y[64*j + i]
...       give v1, v2
...     z[i] = v0
... '''), Target.avx2()).text
>>> "@llvm.fma.v64f32" in text
True
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import CONTRACT_BLOCK, CONTRACT_GROUP, Contract
from nervure.transformers.cpu.compile.codegen.access import read_apart, write_apart
from nervure.transformers.cpu.compile.codegen.context import Context, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element, literal, shaped
from nervure.transformers.cpu.compile.codegen.iterations import nest, stored
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64

Registers = Sequence[Register]

GROUP_POINTS = CONTRACT_BLOCK * CONTRACT_GROUP


@emit_statement.register(Contract)
def emit_contract(contract: Contract, context: Context) -> None:
    """Emits a contraction. Each point receives its number, the sum of the earlier blocks of this group, and that of
    its own block; the total of earlier groups waits in memory.
    """
    b, zero = context.builder, literal(context.builder, 0, contract.result.dtype, context.width)
    parts = len(zero.registers)
    groups = b.allocate(zero.registers[0].type, parts)

    def point(carried: Registers) -> Registers:
        number, total, block = carried[0] + 1, carried[1:1 + parts], shaped([zero], carried[1 + parts:])[0]
        emit(context, contract.body)
        left, right = [context.spread(context.scalar(x), context.width).element for x in contract.operands]
        block = apply("fma", [left, right, block], zero.dtype)

        def end_block() -> Registers:
            with_block = _with_block(b, number, total, block)
            group = b.choose_each((number & (GROUP_POINTS - 1)).equal(0), with_block,
                                  lambda: _end_group(b, number, with_block, groups, zero), unlikely=True)
            return [*group, *zero.registers]

        ended = b.choose_each((number & (CONTRACT_BLOCK - 1)).equal(0), [*total, *block.registers], end_block,
                              unlikely=True)
        return [number, *ended]

    start = [b.constant(I64, 0), *zero.registers, *zero.registers]
    number, *sums = nest(context, contract.indices, stored(contract), start, point)
    total, block = sums[:parts], shaped([zero], sums[parts:])[0]
    last = b.choose_each((number & (CONTRACT_BLOCK - 1)).not_equal(0), total,
                         lambda: _with_block(b, number, total, block))
    results = b.choose_each(number >= GROUP_POINTS, last, lambda: _with_groups(b, number, last, groups, zero),
                            unlikely=True)
    context.keep(contract.result, context.here(shaped([zero], results)[0]))


def _end_group(b: Builder, number: Register, total: Registers, groups: Register, zero: Element) -> Registers:
    """Ends a group, after a ``number`` of points: its total joins those of earlier groups, and the next one starts
    from zero.
    """
    first, others = shaped([zero], total)[0], read_apart(groups, zero.dtype, zero.lanes)
    both = apply("add", [others, first], zero.dtype)
    chosen = [b.where(number <= GROUP_POINTS, x, y) for x, y in zip(first.registers, both.registers, strict=True)]
    write_apart(shaped([zero], chosen)[0], groups)
    return zero.registers


def _with_groups(b: Builder, number: Register, total: Registers, groups: Register, zero: Element) -> Registers:
    """Returns the sum of all groups, and of the one that is not full, if there is one."""
    full = read_apart(groups, zero.dtype, zero.lanes)
    both = apply("add", [full, shaped([zero], total)[0]], zero.dtype)
    return [b.where((number & (GROUP_POINTS - 1)).equal(0), x, y)
            for x, y in zip(full.registers, both.registers, strict=True)]


def _with_block(b: Builder, number: Register, total: Registers, block: Element) -> Registers:
    """Returns the sum after a ``number`` of points. The first block is added to nothing: 0 + -0 would be 0."""
    both = apply("add", [shaped([block], total)[0], block], block.dtype)
    return [b.where(number <= CONTRACT_BLOCK, first, more)
            for first, more in zip(block.registers, both.registers, strict=True)]
