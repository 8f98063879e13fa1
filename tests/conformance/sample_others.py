"""Samples of random numbers, leaves, effects, and ops with a derivative of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nervure.ir.variable import Variable
from nervure.ops import LogicalAnd, LogicalNot
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType, all_dtypes, bool_, float16, float32, float64, uint32, uint64
from nervure.types.dtype import bfloat16 as bfloat
from tests.conformance.sampling import M, N, Operand, Sample, of

WORD = Operand((), uint32, (0, 2**32))
SEED, STEP = Operand((2,), uint32, (0, 2**32)), Operand((), uint64, (0, 2**40))


@of("RandomKey", types=[uint32])
def random_key(cls: Any, dtype: DType) -> Iterator[Sample]:
    for stream in (0, 2**40 + 5):
        yield Sample(lambda at, *xs, stream=stream: cls(*xs, stream), (WORD, WORD, STEP))


@of("RandomBlocks", types=[uint32])
def random_blocks(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, *xs: cls(*xs, at(N)), (WORD, WORD), frozenset("N"))


@of("RandomBits", types=[uint32])
def random_bits(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, *xs: cls(*xs, 7, (at(N), at(M))), (SEED, STEP), frozenset("NM"))


@of("RandomUniform", "RandomNormal", types=[float16, bfloat, float32, float64])
def random_floats(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, *xs: cls(*xs, 7, (at(N), at(M)), dtype), (SEED, STEP), frozenset("NM"))
    yield Sample(lambda at, *xs: cls(*xs, 8, (), dtype), (SEED, STEP))


@of("RandomBernoulli", types=[bool_])
def random_bernoulli(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, *xs: cls(*xs, 7, (at(N), at(M)), 0.25), (SEED, STEP), frozenset("NM"))


@of("Constant", types=all_dtypes)
def constant(cls: Any, dtype: DType) -> Iterator[Sample]:
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    yield Sample(lambda at: cls(array))
    yield Sample(lambda at: cls(array.T[::-1]))


@of("Full", types=all_dtypes)
def full(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at: cls(1, dtype, (at(N), at(M))), names=frozenset("NM"))
    yield Sample(lambda at: cls(1, dtype, ()))


@of("Parameter", types=all_dtypes)
def parameter(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: x.value.op, (Operand((N, M), dtype),), is_smooth=False)


@of("ReadVariable", types=all_dtypes)
def read_variable(cls: Any, dtype: DType) -> Iterator[Sample]:
    variable = Variable(BasicTensorDescription(dtype, (2, 3)), initial=1)
    yield Sample(lambda at: cls(variable))


@of("CustomDerivative", types=[float32, float64])
def custom_derivative(cls: Any, dtype: DType) -> Iterator[Sample]:
    def rule(gradients: Any, operands: Any) -> list[Any]:
        return [gradients[0] * operands[0] * 2.0]
    yield Sample(lambda at, x: cls(x * x, x, count=1, rule=rule), (Operand((N, M), dtype),))


@of("HostCall", types=all_dtypes)
def host_call(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, function=lambda array: array[::-1], types=[x.type], effectful=False),
                 (Operand((N, M), dtype),))


@of("PrintOp", types=all_dtypes)
def print_op(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, "x"), (Operand((N, M), dtype),))


@of("Guard", types=[bool_])
def guard(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(LogicalNot(LogicalAnd(x, LogicalNot(x))), "it holds"), (Operand((N, M), dtype),))
