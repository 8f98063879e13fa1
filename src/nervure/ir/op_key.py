"""Keys of ops: two ops compute the same exactly if their keys are equal.

They are then of one class and have equal attributes and equal operands; the operands of a commutative op may be in
either order. Functions that an op holds are told apart by identity.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> first, second = (x + y).op, (y + x).op
>>> key_of(first, first.operands) == key_of(second, second.operands)
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache

from nervure.ir.op import Op, Value


def key_of(op: Op, operands: Sequence[Value]) -> tuple[object, ...]:
    """Returns the key of an op as if it had these ``operands``."""
    swaps, readers = _plan(type(op))
    taken = sorted(operands, key=id) if swaps else operands
    return (type(op), *taken, *[read(getattr(op, name)) for name, read in readers])


@cache
def _plan(op_class: type[Op]) -> tuple[bool, tuple[tuple[str, Callable[[object], Hashable]], ...]]:
    """Returns whether operands may be swapped, and for each attribute the function that makes a key of it."""
    readers = [(name, field.kind.key) for name, field in op_class.fields.items()]
    return op_class.commutative, tuple(readers)
