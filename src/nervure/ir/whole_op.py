"""Ops that a backend computes as a whole, and lengths that such an op finds while a call runs.

Most ops are loops over a shape. What is left is a *whole op*: native code of its own on the cpu, a method over NumPy
arrays on the interpreter. Its operands and outputs lie in memory, row-major.

A whole op may *find a length*: the first dimension of an output is then a symbol (``?0``) that has a value when the
op has run, with an upper bound that the shapes give. Everything behind it uses the symbol like any other:

>>> import nervure as nv
>>> mask = nv.Parameter(nv.bool_, (nv.dim("n"),))
>>> positions = nv.ops.FindPositions(mask, length=fresh_length(mask.shape[0]))
>>> [(length.bound, length.value.type.shape) for length in positions.found]
[(n, ())]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.ir.op import Op, Value
from nervure.ir.provenance import set_override
from nervure.types.dim import Dim, DimLike, found

_numbers = itertools.count()


class FoundLength(NamedTuple):
    """A length that an op finds: its symbol's ``name``, its upper ``bound``, and the int64 output that has its value.
    """

    name: str
    bound: DimLike
    value: Value


class WholeOp(Op, abstract=True):
    """An op that a backend computes as a whole, by code of its own."""

    @property
    def found(self) -> tuple[FoundLength, ...]:
        """The lengths that the op finds."""
        return ()

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        """Returns the outputs, from the operands; ``bound`` is that of the length that is found, if there is one."""
        raise NotImplementedError


def fresh_length(bound: DimLike) -> Dim:
    """Returns a symbol that no other op of this process finds, of a length of at most ``bound``."""
    return found(next(_numbers), bound if isinstance(bound, int) else None)


def found_lengths(operations: Iterable[Op]) -> dict[str, FoundLength]:
    """Returns the lengths that ops find, by the names of their symbols."""
    return {length.name: length for op in operations if isinstance(op, WholeOp) for length in op.found}


def rebuild_with(operations: Iterable[Op], table: dict[Value, Value], symbols: Mapping[str, DimLike]) -> None:
    """Copies ops with other dimensions in place of ``symbols``, and on the operands of a ``table``, which it extends.

    ``operations`` are in order; those of which nothing changes stay.
    """
    for op in operations:
        operands = [table.get(operand, operand) for operand in op.operands]
        before = set_override(op.provenance)
        try:
            changed = {name: new for name, declared in type(op).fields.items() if (old := getattr(op, name)) is not None
                       and (new := declared.kind.substitute(old, symbols)) is not old and new != old}
            fresh = type(op)(*operands, **{**op.attributes, **changed}) if changed else op.with_operands(operands)
        finally:
            set_override(before)
        if fresh is op:
            continue
        if fresh.name is None and op.name is not None:
            fresh.name = op.name
        for new, old in zip(fresh.outputs, op.outputs, strict=True):
            new.labels = old.labels
            table[old] = new


def fresh_lengths(effects: Iterable[Op]) -> dict[str, DimLike]:
    """Returns symbols that no other op finds, in place of those that ``effects`` find."""
    return {name: fresh_length(length.bound) for name, length in found_lengths(effects).items()}


def numbered_lengths(effects: Iterable[Op]) -> dict[str, DimLike]:
    """Returns symbols numbered from 0, in place of those that ``effects`` find, in their order."""
    lengths = found_lengths(effects).items()
    return {name: found(at, length.bound if isinstance(length.bound, int) else None)
            for at, (name, length) in enumerate(lengths)}
