"""Scans in blocks: a scan of scans, of which each inner one is a checkpoint, so that few carries are kept.

The derivative of a scan keeps the carry before each iteration. That of a scan in blocks of ``every`` iterations keeps
the carry before each block, and runs the iterations of one block again before it goes back through them.

>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total * x, total], [total, x])
>>> start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (7,))
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=7)
>>> scan_in_blocks(scan, 3)
(f32[], f32[1] Checkpoint(Scan, Slice)[0], f32[7] Concatenate(Reshape, Checkpoint))

The iterations that are left where ``every`` does not divide the length are a block, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Operand, Value
from nervure.ops.looping import Scan
from nervure.ops.rematerialising import Checkpoint, later
from nervure.ops.views import Concatenate, Reshape, Slice
from nervure.types.dim import DimLike


def scan_in_blocks(scan: Scan, every: int) -> tuple[Value, ...]:
    """Returns the outputs of a ``scan`` without saved carries, made by blocks of ``every`` iterations."""
    whole = scan.length // every
    rest = scan.length - whole * every
    sizes = [(whole, every), (1, rest)]
    starts: list[DimLike] = [0, whole * every]
    parts: list[Sequence[Value]] = [(), ()]
    carries: Sequence[Value] = scan.operands[:scan.carries]
    for at in (1, 0) if scan.reverse else (0, 1):
        count, length = sizes[at]
        if count != 0 and length != 0:
            carries, parts[at] = _blocks(scan, carries, starts[at], count, length)
    if parts == [(), ()]:
        return scan.outputs[:len(scan.body.results)]
    pairs = zip(*[part for part in parts if part], strict=True)
    stacked = [pair[0] if len(pair) == 1 else Concatenate(*pair, axis=0).output for pair in pairs]
    return (*carries, *stacked)


def _blocks(scan: Scan, carries: Sequence[Value], start: DimLike, count: DimLike,
            length: DimLike) -> tuple[Sequence[Value], Sequence[Value]]:
    """Returns the carries after ``count`` blocks of ``length`` iterations, whose slices are those from ``start`` on,
    and what these stack.
    """
    first = scan.carries + scan.slices
    total = count * length
    sliced = [_part(value, start, total) for value in scan.operands[scan.carries:first]]
    captured = scan.operands[first:]
    if count == 1:
        block = _block(scan, length, [*carries, *sliced, *captured])
        return block.outputs[:scan.carries], block.outputs[scan.carries:]
    in_blocks = [Reshape(value, (count, length, *value.shape[1:])).output for value in sliced]
    own = [Parameter.of(value.type) for value in carries]
    slices = [Parameter(value.dtype, value.shape[1:]) for value in in_blocks]
    taken = [Parameter.of(value.type) for value in captured]
    # a block waits for the carry, with all that it makes of its slices: else that would be made for all blocks at once
    waiting = [later(entry.output, [each.output for each in own]) if own else entry for entry in slices]
    block = _block(scan, length, [*own, *waiting, *taken])
    body = Function(block.outputs, [*own, *slices, *taken], effects=[block] if block.effectful else [],
                    name=f"{scan.body.name}_block")
    outputs = Scan(*carries, *in_blocks, *captured, body=body, carries=scan.carries, slices=scan.slices, length=count,
                   reverse=scan.reverse, saved=tuple(range(scan.carries))).outputs
    rows = outputs[scan.carries:len(body.results)]
    return outputs[:scan.carries], [Reshape(value, (total, *value.shape[2:])).output for value in rows]


def _block(scan: Scan, length: DimLike, operands: Sequence[Operand]) -> Checkpoint:
    """Returns a checkpoint that runs ``length`` iterations of a scan."""
    own: list[Op] = [Parameter.of(value.type) for value in operands]
    inner = Scan(*own, body=scan.body, carries=scan.carries, slices=scan.slices, length=length, reverse=scan.reverse,
                 saved=tuple(range(scan.carries)))
    body = Function(inner.outputs[:len(scan.body.results)], own, effects=[inner] if inner.effectful else [],
                    name=scan.body.name)
    return Checkpoint(*operands, body=body)


def _part(value: Value, start: DimLike, length: DimLike) -> Value:
    if start == 0 and length == value.shape[0]:
        return value
    return Slice(value, [(start, length, 1), *[(0, size, 1) for size in value.shape[1:]]]).output
