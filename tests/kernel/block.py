"""Statements by hand: what tests write kernels with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nervure.kernel.ir import (
    Address,
    Apply,
    Buffer,
    Check,
    Fold,
    For,
    Index,
    Literal,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.scalar_types import result_type
from nervure.types.dim import DimLike
from nervure.types.dtype import DType, int64

Indices = Mapping[LoopIndex, DimLike]

I, J, K = [LoopIndex(number) for number in range(3)]


def at(base: DimLike = 0, /, terms: Sequence[tuple[DimLike, Scalar]] = (), **steps: DimLike) -> Address:
    """``at(3, i0=8)`` is ``8*%0 + 3``."""
    return Address(base, tuple([(LoopIndex(int(name[1:])), step) for name, step in steps.items()]), tuple(terms))


class Block:
    """A list of statements that grows."""

    def __init__(self) -> None:
        self.list: list[Statement] = []

    @property
    def body(self) -> tuple[Statement, ...]:
        return tuple(self.list)

    def load(self, buffer: Buffer, address: Address, valid: Scalar | None = None,
             fill: Scalar | None = None) -> Variable:
        self.list.append(Load(result := Variable(buffer.dtype), buffer, address, valid, fill))
        return result

    def store(self, buffer: Buffer, address: Address, value: Scalar, combine: str | None = None,
              valid: Scalar | None = None) -> None:
        self.list.append(Store(buffer, address, value, combine, valid))

    def apply(self, function: str, *operands: Scalar, dtype: DType | None = None) -> Variable:
        found = result_type(function, [operand.dtype for operand in operands], dtype)
        self.list.append(Apply(result := Variable(found), function, operands))
        return result

    def index(self, expression: DimLike) -> Variable:
        self.list.append(Index(result := Variable(int64), expression))
        return result

    def check(self, condition: Scalar, failure: int, value: Scalar) -> None:
        self.list.append(Check(condition, failure, value))

    def loop(self, index: LoopIndex, extent: DimLike, body: Block, parallel: bool = False,
             vector: bool = False, **how: Any) -> None:
        self.list.append(For(index, extent, body.body, parallel, vector, **how))

    def reduce(self, combine: Sequence[str], indices: Indices, body: Block, *values: Scalar) -> tuple[Variable, ...]:
        results = tuple([Variable(value.dtype) for value in values])
        self.list.append(Reduce(results, tuple(combine), tuple(indices.items()), body.body, values))
        return results

    def fold(self, indices: Indices, body: Block, values: Sequence[Scalar], left: Sequence[Variable],
             right: Sequence[Variable], combine: Block, combined: Sequence[Scalar]) -> tuple[Variable, ...]:
        results = tuple([Variable(value.dtype) for value in values])
        self.list.append(Fold(results, tuple(indices.items()), body.body, tuple(values), tuple(left), tuple(right),
                              combine.body, tuple(combined)))
        return results


def number(value: bool | int | float | complex, dtype: DType) -> Literal:
    return Literal(value, dtype)
