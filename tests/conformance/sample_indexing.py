"""Samples of ops that read and write at places that data names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.ops.cumulative import ADMITTED
from nervure.types.dtype import DType, all_dtypes, int8, int32, int64, uint8
from nervure.types.element_groups import ANY, ORDERED, REALS
from tests.conformance.sampling import A, B, Index, K, M, N, Operand, Sample, of

FORMS = {
    "": [((N, A, K), (M,), 1, (N, M, K)), ((A, 2), (2, M), 0, (2, M, 2)), ((A,), (), -1, ())],
    "Elements": [((N, A), (N, M), 1, (N, M)), ((A, 2), (B, 2), -2, (B, 2))],
    "Nd": [((A, A, K), (M, 2), 0, (M, K)), ((N, A, 2), (N, M, 1), 1, (N, M, 2)), ((A,), (1,), 0, ()),
           ((N,), (M, 0), 0, (M, N))],
}
"""For each way to address elements: shapes of x and index, the axis (or number of batch dimensions), what is read."""

INDEX_TYPES = (int64, int32, int8, uint8)


@of("Gather", "GatherElements", "GatherNd", types=all_dtypes)
def gather(cls: Any, dtype: DType) -> Iterator[Sample]:
    for at_index, (x, indices, place, _) in enumerate(FORMS[cls.__name__.removeprefix("Gather")]):
        operands = (Operand(x, dtype), Operand(indices, INDEX_TYPES[at_index], Index(A)))
        yield Sample(lambda at, x, i, place=place: cls(x, i, place), operands)


@of("Scatter", "ScatterElements", "ScatterNd", types=all_dtypes)
def scatter(cls: Any, dtype: DType) -> Iterator[Sample]:
    name = cls.__name__.removeprefix("Scatter")
    modes = ["set", *(["add", "multiply"] if dtype in ANY else []), *(["minimum", "maximum"] if dtype in REALS else [])]
    for mode in modes:
        for at_index, (x, indices, place, updates) in enumerate(FORMS[name]):
            attributes = {"batch" if name == "Nd" else "axis": place, "mode": mode}
            index = Operand(indices, INDEX_TYPES[at_index], Index(A))
            operands = (Operand(x, dtype), index, Operand(updates, dtype))
            yield Sample(lambda at, x, i, u, attributes=attributes: cls(x, i, u, **attributes), operands,
                         is_smooth=mode != "multiply")


@of("OneHot", types=ANY)
def one_hot(cls: Any, dtype: DType) -> Iterator[Sample]:
    for axis in (0, 1, -1):
        yield Sample(lambda at, i, axis=axis: cls(i, at(A), dtype, axis), (Operand((N, M), int32, Index(A)),))
    yield Sample(lambda at, i: cls(i, at(A), dtype), (Operand((), uint8, Index(A)),))


@of("LookupTable", types=all_dtypes)
def lookup_table(cls: Any, dtype: DType) -> Iterator[Sample]:
    operands = (Operand((A, K), dtype), Operand((N, M), int64, Index(A)))
    yield Sample(lambda at, x, i: cls(x, i), operands)
    yield Sample(lambda at, x, i: cls(x, i, pad_idx=0), operands, is_smooth=False)


@of("Sort", types=sorted(ORDERED, key=str))
def sort(cls: Any, dtype: DType) -> Iterator[Sample]:
    for shape in ((N,), (M, N), (K, M, A)):
        for descending in (False, True):
            yield Sample(lambda at, x, descending=descending: cls(x, descending=descending), (Operand(shape, dtype),))


@of("TopK", types=sorted(ORDERED, key=str))
def top_k(cls: Any, dtype: DType) -> Iterator[Sample]:
    for shape in ((4,), (K, M, 3)):
        for k, descending in ((1, True), (2, False)):
            yield Sample(lambda at, x, k=k, descending=descending: cls(x, k=k, descending=descending),
                         (Operand(shape, dtype),))


@of("Cumulative", types=sorted(ADMITTED, key=str))
def cumulative(cls: Any, dtype: DType) -> Iterator[Sample]:
    for kind in ("add", "multiply", "maximum", "minimum"):
        for shape, axis, reverse in (((N,), 0, False), ((K, M, A), 1, True), ((K, M, A), -1, False)):
            yield Sample(lambda at, x, given={"axis": axis, "kind": kind, "reverse": reverse}: cls(x, **given),
                         (Operand(shape, dtype),))


@of("Recurrence", types=sorted(ADMITTED, key=str))
def recurrence(cls: Any, dtype: DType) -> Iterator[Sample]:
    for shape, axis, reverse in (((N,), 0, False), ((K, M, A), 1, True), ((K, M, A), -1, False)):
        yield Sample(lambda at, factor, x, given={"axis": axis, "reverse": reverse}: cls(factor, x, **given),
                     (Operand(shape, dtype), Operand(shape, dtype)))
