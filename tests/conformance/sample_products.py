"""Samples of sums of products: contractions under their names, convolutions and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nervure as nv
from nervure.types.dtype import DType
from nervure.types.element_groups import ANY
from tests.conformance.sampling import A, B, K, M, N, Operand, Sample, of


@of("Contract", types=ANY)
def contract(cls: Any, dtype: DType) -> Iterator[Sample]:
    forms = [
        ((N, M), (M, K), (0, 2), (2, 1), (0, 1)), ((N, M), (K, M), (0, 2), (1, 2), (1, 0)),
        ((2, N, M), (2, M, K), (0, 1, 3), (0, 3, 2), (0, 1, 2)), ((M,), (M,), (0,), (0,), ()),
        ((N,), (M,), (0,), (1,), (1, 0)),
        ((N, M), (N, M), (0, 1), (0, 1), (0, 1)), ((N, 2, M), (M, 2), (0, 1, 2), (2, 1), (0,)), ((), (), (), (), ()),
    ]
    for left, right, *indices in forms:
        yield Sample(lambda at, x, y, indices=indices: cls(x, y, *indices),
                     (Operand(left, dtype), Operand(right, dtype)))


@of("MatMul", types=ANY)
def matmul(cls: Any, dtype: DType) -> Iterator[Sample]:
    shapes = [((N, M), (M, K)), ((2, N, M), (2, M, K)), ((M,), (M, K)), ((N, M), (M,)), ((M,), (M,)),
              ((2, 3, N, M), (1, M, K))]
    for left, right in shapes:
        yield Sample(lambda at, x, y: cls(x, y), (Operand(left, dtype), Operand(right, dtype)))


@of("Attention", types=frozenset({nv.float32, nv.float64}))
def attention(cls: Any, dtype: DType) -> Iterator[Sample]:
    rows = Operand((2, N, M), dtype), Operand((2, K, M), dtype), Operand((2, K, N), dtype)
    for before, after in (None, None), (None, 0), (1, 2):
        yield Sample(lambda at, *xs, before=before, after=after: cls(*xs, before=before, after=after), rows)
    yield Sample(lambda at, *xs: cls(*xs), (*rows, Operand((2, N, K), dtype)))
    yield Sample(lambda at, *xs: cls(*xs, after=1), (*rows, Operand((2, N, K), nv.bool_)))


@of("Dot", types=ANY)
def dot(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((N, M, 2), dtype), Operand((2, K, M), dtype))
    for pairs in ([(1, 2)], [(1, -1), (2, 0)], []):
        yield Sample(lambda at, x, y, pairs=pairs: cls(x, y, pairs=pairs), operands)


@of("Einsum", types=ANY)
def einsum(cls: Any, dtype: DType) -> Iterator[Sample]:
    forms = [("ij,jk->ik", (N, M), (M, K)), ("ij, jk, k -> i", (N, M), (M, K), (K,)), ("ii->i", (A, A)), ("ij", (N, M)),
             ("...ij,...jk->...ik", (2, N, M), (1, M, K)), ("i,j->ji", (N,), (M,)), ("ij,ij->ij", (N, M), (N, M))]
    if dtype.kind != "bool":
        forms += [("ij->j", (N, M)), ("ij,j->", (N, M), (M,)), ("ij,k->i", (N, M), (K,))]
    for subscripts, *shapes in forms:
        yield Sample(lambda at, *xs, subscripts=subscripts: cls(*xs, subscripts=subscripts),
                     tuple([Operand(shape, dtype) for shape in shapes]))


CONVOLUTIONS: list[tuple[Any, Any, dict[str, Any]]] = [
    ((N, 2, B + 2, B + 1), (2, 2, 3, 2), {}),
    ((1, 4, A, B + 2), (4, 2, 3, 2),
     {"strides": (2, 1), "dilations": (1, 2), "paddings": [(1, 1), (0, 2)], "groups": 2}),
    ((2, 3, A + 4), (3, 1, 3), {"groups": 3, "dilations": (2,), "paddings": [(2, -1)]}),
    ((1, 1, 3, A + 1, 3), (2, 1, 2, 2, 2), {"strides": (1, 2, 2)}),
]
"""Data, filters, attributes."""


def _result(data: Any, filters: Any, attributes: dict[str, Any]) -> Any:
    return nv.ops.Convolution(nv.Parameter(nv.float32, data), nv.Parameter(nv.float32, filters), **attributes).shape


@of("Convolution", types=ANY)
def convolution(cls: Any, dtype: DType) -> Iterator[Sample]:
    for data, filters, attributes in CONVOLUTIONS:
        yield Sample(lambda at, x, f, attributes=attributes: cls(x, f, **attributes),
                     (Operand(data, dtype), Operand(filters, dtype)))


@of("ConvolutionDataGradient", types=ANY)
def data_gradient(cls: Any, dtype: DType) -> Iterator[Sample]:
    for data, filters, attributes in CONVOLUTIONS:
        operands = (Operand(_result(data, filters, attributes), dtype), Operand(filters, dtype))
        yield Sample(lambda at, r, f, data=data, attributes=attributes: cls(
            r, f, **attributes, lengths=tuple(map(at, data[2:]))), operands)


@of("ConvolutionFilterGradient", types=ANY)
def filter_gradient(cls: Any, dtype: DType) -> Iterator[Sample]:
    for data, filters, attributes in CONVOLUTIONS:
        operands = (Operand(data, dtype), Operand(_result(data, filters, attributes), dtype))
        yield Sample(lambda at, x, r, filters=filters, attributes=attributes: cls(
            x, r, **attributes, lengths=filters[2:]), operands)


@of("ConvolutionTranspose", types=ANY)
def transposed(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((1, 3, A, B), dtype), Operand((3, 2, 3, 2), dtype))
    yield Sample(lambda at, x, f: cls(x, f), operands)
    yield Sample(lambda at, x, f: cls(x, f, strides=(2, 2), paddings=[(1, 0), (0, 1)], output_paddings=(1, 0)),
                 operands)
