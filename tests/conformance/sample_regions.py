"""Samples of branches and loops: bodies over a carry, a slice and a captured value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nervure as nv
from nervure.ir.op import Value
from nervure.types.dtype import DType, bool_, float32, float64, int32
from tests.conformance.sampling import K, M, N, Operand, Sample, of


def like(*values: Any) -> list[Value]:
    return [nv.Parameter(value.dtype, value.shape).output for value in values]


def branches(*values: Any) -> tuple[nv.Function, ...]:
    """Functions of x and y: one of both, one of x alone, one that gives x itself."""
    made = []
    for number in range(3):
        x, y = like(*values)
        made.append(nv.Function([(x + y) * y if number == 0 else x * x * 0.5 if number == 1 else x], [x, y]))
    return tuple(made)


@of("If", types=[float32, float64])
def choice(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((), bool_), Operand((N, M), dtype), Operand((N, M), dtype))
    for chosen in ((0, 1), (1, 2)):
        yield Sample(lambda at, p, *xs, chosen=chosen: cls(
            p, *xs, branches=tuple([branches(*xs)[number] for number in chosen])), operands)


@of("Switch", types=[float32, float64])
def switch(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, k, *xs: cls(k, *xs, branches=branches(*xs)),
                 (Operand((), int32, (-1, 4)), Operand((N, M), dtype), Operand((N, M), dtype)))


@of("Scan", types=[float32, float64])
def scan(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((M,), dtype), Operand((N, M), dtype), Operand((M,), dtype))
    for reverse, saved in ((False, ()), (True, (0,))):
        def build(at: Any, start: Any, xs: Any, weight: Any, reverse: bool = reverse, saved: Any = saved) -> Any:
            carry, x, captured = like(start, weight, weight)
            new = (carry * captured + x) * 0.5
            body = nv.Function([new, new * x + carry], [carry, x, captured])
            return cls(start, xs, weight, body=body, carries=1, slices=1, length=xs.shape[0], reverse=reverse,
                       saved=saved)
        yield Sample(build, operands)

    def alone(at: Any, first: Any, second: Any) -> Any:
        own = like(first, second)
        return cls(first, second, body=nv.Function([own[1], own[0], own[0] * own[1]], own), carries=2, slices=0,
                   length=at(K))
    yield Sample(alone, (Operand((M,), dtype), Operand((M,), dtype)), frozenset("K"))


@of("While", types=[float32, float64])
def loop(cls: Any, dtype: DType) -> Iterator[Sample]:
    def build(at: Any, count: Any, x: Any, step: Any) -> Any:
        before, other = like(count, x, step), like(count, x, step)
        condition = nv.Function([before[0] < 4], before)
        body = nv.Function([other[0] + 1, other[1] * 0.5 + other[2]], other)
        return cls(count, x, step, condition=condition, body=body, carries=2)
    yield Sample(build, (Operand((), int32, (-1, 6)), Operand((N,), dtype), Operand((N,), dtype)), is_smooth=False)


@of("Checkpoint", types=[float32, float64])
def checkpoint(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = Operand((N, M), dtype), Operand((N, M), dtype)
    yield Sample(lambda at, *xs: cls(*xs, body=branches(*xs)[0]), operands)


@of("After", types=[float32, float64])
def after(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x, *others: cls(x, *others), (Operand((N, M), dtype), Operand((K,), int32),
                                                          Operand((M,), dtype)))


@of("ShardAs", types=[float32, float64])
def sharded(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, split="data, -"), (Operand((N, M), dtype),))
