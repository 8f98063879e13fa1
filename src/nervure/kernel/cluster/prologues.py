"""Prologues: the number of times that a product computes an element of an operand, if it does so as it packs it.

A product of blocks packs its right operand once for each group of rows, its left operand once for each group of
columns (:mod:`nervure.kernel.schedule.products`). A product without blocks, or of another type, computes each element
anew for every row and column.

>>> import nervure as nv
>>> from nervure.kernel.analysis import OpAnalysis
>>> from nervure.support.machine import GENERIC
>>> x, y = nv.Parameter(nv.float32, (240, 512)), nv.Parameter(nv.float32, (512, 512))
>>> repetitions(nv.ops.Contract(x, y, (0, 2), (2, 1), (0, 1)), OpAnalysis(), GENERIC)
[4, 1]
"""

from __future__ import annotations

from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpAnalysis
from nervure.kernel.routines import TYPES, block_columns
from nervure.ops.conversion import Convert
from nervure.ops.update import FilledView
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, index, product


def repetitions(op: Op, ops: OpAnalysis, machine: Machine) -> list[int | None]:
    """Returns how often a contraction on a ``machine`` computes each element of its two operands; None if that depends
    on sizes.
    """
    structure = ops.structure(op)
    axes = [set(access.coordinates) for access in structure.reads if access is not None]
    kept = [d for d in structure.written if structure.domain[d] != 1]
    others = [product([structure.domain[d] for d in kept if index(d) not in own]) for own in axes]
    dtype = structure.accumulate or op.outputs[0].dtype.compute
    sides = [index(kept[-1]) in own for own in axes] if kept else [True, True]
    if dtype not in TYPES or all(sides):
        return [count if isinstance(count, int) else None for count in others]
    columns = block_columns(product([structure.domain[d] for d in structure.reduced]), dtype, machine)
    right = machine.products.packed_rows, machine.products.unknown_repetitions
    return [_blocks(count, *right) if is_right else _blocks(count, columns, None)
            for count, is_right in zip(others, sides, strict=True)]


def is_widened(value: Value) -> bool:
    """Whether a value is converted from shorter integers, which are read as fast as it is."""
    op = value.op
    return (isinstance(op, Convert) and value.dtype.is_integer and op.operands[0].dtype.is_integer
            and op.operands[0].dtype.itemsize < value.dtype.itemsize)


def has_edges(value: Value) -> bool:
    """Whether a value is a window view of another one, with zeros around it, which products leave out."""
    op = value.op
    return isinstance(op, FilledView) and op.number == 0 and op.map.rank > op.operands[0].rank


def _blocks(count: DimLike, most: int, unknown: int | None) -> int | None:
    return -(-count // most) if isinstance(count, int) else unknown
