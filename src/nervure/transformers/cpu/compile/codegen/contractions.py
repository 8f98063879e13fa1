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

from nervure.kernel.ir import CONTRACT_BLOCK, CONTRACT_GROUP, Contract
from nervure.transformers.cpu.compile.codegen.access import read_apart, write_apart
from nervure.transformers.cpu.compile.codegen.context import Context, emit, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element, Elements, choose, literal, select
from nervure.transformers.cpu.compile.codegen.iterations import nest, stored
from nervure.transformers.cpu.compile.codegen.scalars import apply
from nervure.transformers.cpu.compile.llvm.register import Register
from nervure.types.dtype import int64

GROUP_POINTS = CONTRACT_BLOCK * CONTRACT_GROUP


@emit_statement.register(Contract)
def emit_contract(contract: Contract, context: Context) -> None:
    """Emits a contraction. Each point receives its number, the sum of the earlier blocks of this group, and that of
    its own block; the total of earlier groups waits in memory.
    """
    b, zero = context.builder, literal(context.builder, 0, contract.result.dtype, context.width)
    groups = b.allocate(zero.registers[0].type, len(zero.registers))

    def point(carried: Elements) -> Elements:
        number, total, block = carried[0].register + 1, *carried[1:]
        emit(context, contract.body)
        left, right = [context.spread(context.scalar(x), context.width).element for x in contract.operands]
        block = apply("fma", [left, right, block], zero.dtype)

        def end_block() -> Elements:
            with_block = _with_block(number, total, block)
            group = choose((number & (GROUP_POINTS - 1)).equal(0), [with_block],
                           lambda: [_end_group(number, with_block, groups, zero)], unlikely=True)
            return [*group, zero]

        return [Element(int64, (number,)), *choose(
            (number & (CONTRACT_BLOCK - 1)).equal(0), [total, block], end_block, unlikely=True)]

    start = [literal(b, 0, int64), zero, zero]
    last, total, block = nest(context, contract.indices, stored(contract), start, point)
    number = last.register
    totals = choose((number & (CONTRACT_BLOCK - 1)).not_equal(0), [total], lambda: [_with_block(number, total, block)])
    result, = choose(number >= GROUP_POINTS, totals, lambda: [_with_groups(number, totals[0], groups)], unlikely=True)
    context.keep(contract.result, context.here(result))


def _end_group(number: Register, total: Element, groups: Register, zero: Element) -> Element:
    """Ends a group, after a ``number`` of points: its total joins those of earlier groups, and the next one starts
    from zero.
    """
    both = apply("add", [read_apart(groups, total.dtype, total.lanes), total], total.dtype)
    write_apart(select(number <= GROUP_POINTS, total, both), groups)
    return zero


def _with_groups(number: Register, total: Element, groups: Register) -> Element:
    """Returns the sum of all groups, and of the one that is not full, if there is one."""
    full = read_apart(groups, total.dtype, total.lanes)
    both = apply("add", [full, total], total.dtype)
    return select((number & (GROUP_POINTS - 1)).equal(0), full, both)


def _with_block(number: Register, total: Element, block: Element) -> Element:
    """Returns the sum after a ``number`` of points. The first block is added to nothing: 0 + -0 would be 0."""
    both = apply("add", [total, block], block.dtype)
    return select(number <= CONTRACT_BLOCK, block, both)
