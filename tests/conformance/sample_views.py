"""Samples of views, of writes through index maps, and of tensors made of positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.ops.views import Permute
from nervure.types.dim import index
from nervure.types.dtype import DType, all_dtypes
from nervure.types.element_groups import ANY
from nervure.types.index_map import IndexMap
from tests.conformance.sampling import A, B, K, M, N, Operand, Sample, of

I, J = index(0), index(1)


@of("AssumeShape", types=all_dtypes)
def assume_shape(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, x.shape), (Operand((N, M), dtype),))
    yield Sample(lambda at, x: cls(x, ()), (Operand((), dtype),))


@of("Broadcast", types=all_dtypes)
def broadcast(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, (2, x.shape[0], at(K), x.shape[1]), [0, 2]), (Operand((N, M), dtype),),
                 frozenset("K"))
    yield Sample(lambda at, x: cls(x, (3, 2), [0, 1]), (Operand((), dtype),))
    yield Sample(lambda at, x: cls(x, x.shape, []), (Operand((N,), dtype),))


@of("Concatenate", types=all_dtypes)
def concatenate(cls: Any, dtype: DType) -> Iterator[Sample]:
    wide, narrow = Operand((N, M, 2), dtype), Operand((N, K, 2), dtype)
    yield Sample(lambda at, *xs: cls(*xs, axis=1), (wide, narrow, wide))
    yield Sample(lambda at, *xs: cls(*xs, axis=-3), (narrow, narrow))
    yield Sample(lambda at, *xs: cls(*xs, axis=0), (Operand((N,), dtype),))


@of("Diagonal", types=all_dtypes)
def diagonal(cls: Any, dtype: DType) -> Iterator[Sample]:
    for attributes in ({}, {"offset": 1}, {"offset": -2}, {"first": 1, "second": 0}):
        yield Sample(lambda at, x, attributes=attributes: cls(x, **attributes), (Operand((N, A, B), dtype),))


@of("FilledView", types=all_dtypes)
def filled_view(cls: Any, dtype: DType) -> Iterator[Sample]:
    maps = (lambda a, b: IndexMap((a + 2, b), (I - 1, J + 1)),
            lambda a, b: IndexMap((a, 2 * b), (a - 1 - I, J - b // 2)),
            lambda a, b: IndexMap((4, b + 1), (2 * I - 1, J - 1)), lambda a, b: IndexMap((2 * a,), (I // 2, b)),
            lambda a, b: IndexMap((a, b), (I, J)), lambda a, b: IndexMap((3,), (-1, 0)),
            lambda a, b: IndexMap((a, b), (I, 2 * J - 1)), lambda a, b: IndexMap((a, b + 1), (I, b - 3 * J)))
    for make in maps:
        yield Sample(lambda at, x, make=make: cls(x, make(*x.shape), 1), (Operand((A, B), dtype),))
    yield Sample(lambda at, x: cls(x, IndexMap((at(K),), (I - 1,))), (Operand((N,), dtype),), frozenset("K"))


@of("FoldedPad", types=all_dtypes)
def folded_pad(cls: Any, dtype: DType) -> Iterator[Sample]:
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        for paddings in ([(1, 2), (0, 0)], [(7, 0), (1, 9)], [(-1, 1), (0, 0)]):
            yield Sample(lambda at, x, paddings=paddings, mode=mode: cls(x, paddings, mode), (Operand((A, B), dtype),))


@of("Contiguous", types=all_dtypes)
def contiguous(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x), (Operand((A, B), dtype),))
    yield Sample(lambda at, x: cls(Permute(x, [1, 0])), (Operand((N, M), dtype),))
    yield Sample(lambda at, x: cls(x), (Operand((), dtype),))


@of("IndexView", types=all_dtypes)
def index_view(cls: Any, dtype: DType) -> Iterator[Sample]:
    maps = (lambda a, b: IndexMap((b, a), (a - 1 - J, I)), lambda a, b: IndexMap((2 * a, 3), (I // 2, 0)),
            lambda a, b: IndexMap((a, b), (I, (I + J) % b)), lambda a, b: IndexMap((), (a - 1, b // 2)))
    for make in maps:
        yield Sample(lambda at, x, make=make: cls(x, make(*x.shape)), (Operand((A, B), dtype),))


@of("Pad", types=all_dtypes)
def pad(cls: Any, dtype: DType) -> Iterator[Sample]:
    for paddings in ([(1, 2), (0, 1)], [(-1, 2), (2, -2)], [(0, 0), (0, 0)]):
        yield Sample(lambda at, x, paddings=paddings: cls(x, paddings, 1), (Operand((A, B + 1), dtype),))
    yield Sample(lambda at, x: cls(x, [(at(K), 1)], 1), (Operand((N,), dtype),), frozenset("K"))
    yield Sample(lambda at, x: cls(x, [], 1), (Operand((), dtype),))


@of("Permute", types=all_dtypes)
def permute(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, [2, 0, 1]), (Operand((N, M, K), dtype),))
    yield Sample(lambda at, x: cls(x, [1, -2]), (Operand((N, M), dtype),))
    yield Sample(lambda at, x: cls(x, []), (Operand((), dtype),))


@of("Reshape", types=all_dtypes)
def reshape(cls: Any, dtype: DType) -> Iterator[Sample]:
    shapes = (lambda n, m, k: (n * m, k), lambda n, m, k: (n, 1, m * k), lambda n, m, k: (n * m * k,),
              lambda n, m, k: (1, n, m, k, 1))
    for make in shapes:
        yield Sample(lambda at, x, make=make: cls(x, make(*x.shape)), (Operand((N, M, K), dtype),))
    yield Sample(lambda at, x: cls(x, (at(A), 2, at(B))), (Operand((2 * A, B), dtype),), frozenset("AB"))
    yield Sample(lambda at, x: cls(x, (1, 1)), (Operand((), dtype),))


@of("Reverse", types=all_dtypes)
def reverse(cls: Any, dtype: DType) -> Iterator[Sample]:
    for axes in ([0], [0, -1], []):
        yield Sample(lambda at, x, axes=axes: cls(x, axes), (Operand((N, M, K), dtype),))


@of("Slice", types=all_dtypes)
def slices(cls: Any, dtype: DType) -> Iterator[Sample]:
    ranges = (lambda a, m: [(1, a - 2, 1), (0, m, 1)], lambda a, m: [(a - 1, a, -1), (0, m, 1)],
              lambda a, m: [(0, (a + 1) // 2, 2), (0, m, 1)], lambda a, m: [(a - 1, (a + 1) // 2, -2), (0, m, 1)],
              lambda a, m: [(2, 1, 1), (0, 0, 3)])
    for make in ranges:
        yield Sample(lambda at, x, make=make: cls(x, make(*x.shape)), (Operand((A + 2, M), dtype),))


@of("Stack", types=all_dtypes)
def stack(cls: Any, dtype: DType) -> Iterator[Sample]:
    part = Operand((N, M), dtype)
    yield Sample(lambda at, *xs: cls(*xs, axes=[1, 3], counts=[2, 2]), (part, part, part, part))
    yield Sample(lambda at, *xs: cls(*xs, axes=[-1], counts=[3]), (part, part, part))
    yield Sample(lambda at, x: cls(x, axes=[0], counts=[1]), (part,))
    yield Sample(lambda at, x, y: cls(x, y, axes=[0], counts=[2]), (Operand((), dtype), Operand((), dtype)))


@of("Windows", types=all_dtypes)
def windows(cls: Any, dtype: DType) -> Iterator[Sample]:
    x = Operand((N, A + 3, B + 2), dtype)
    yield Sample(lambda at, x: cls(x, [1, 2], [3, 2]), (x,))
    yield Sample(lambda at, x: cls(x, [2, 1], [2, 3], [1, 2], [2, 1]), (x,))


# -- writes through index maps -------------------------------------------------------------------------------------


@of("AccumulateView", types=ANY)
def accumulate_view(cls: Any, dtype: DType) -> Iterator[Sample]:
    maps = (lambda a, b: (IndexMap((a, b), (J,)), (b,)), lambda a, b: (IndexMap((a, b), (J, a - 1 - I)), (b, a)),
            lambda a, b: (IndexMap((a, b), (I + J,)), (a + b - 1,)),
            lambda a, b: (IndexMap((a, b), (J // 2, 1)), (b, 2)))
    for make in maps:
        yield Sample(lambda at, x, make=make: cls(x, *make(*x.shape)), (Operand((A, B), dtype),))


@of("UpdateView", types=all_dtypes)
def update_view(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x, y: cls(x, y, IndexMap(y.shape, (I + 1, J))),
                 (Operand((A + 1, B), dtype), Operand((A, B), dtype)))
    yield Sample(lambda at, x, y: cls(x, y, IndexMap(y.shape, (2 * I + 1,))),
                 (Operand((2 * A,), dtype), Operand((A,), dtype)))
    yield Sample(lambda at, x, y: cls(x, y, IndexMap((), (0,))), (Operand((A,), dtype), Operand((), dtype)))


# -- positions -------------------------------------------------------------------------------------------------------


@of("Iota", types=ANY)
def iota(cls: Any, dtype: DType) -> Iterator[Sample]:
    for axis in (0, -1, None):
        yield Sample(lambda at, axis=axis: cls((at(N), at(M)), axis, dtype), names=frozenset("NM"))
    yield Sample(lambda at: cls((), None, dtype))


@of("Eye", types=ANY)
def eye(cls: Any, dtype: DType) -> Iterator[Sample]:
    for offset in (0, 1, -2):
        yield Sample(lambda at, offset=offset: cls((at(N), at(M)), offset, dtype), names=frozenset("NM"))


@of("Tril", "Triu", types=ANY)
def triangle(cls: Any, dtype: DType) -> Iterator[Sample]:
    for offset in (0, 1, -2):
        yield Sample(lambda at, x, offset=offset: cls(x, offset), (Operand((2, N, M), dtype),))


@of("Extent", types=ANY)
def extent(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at: cls(at(A * B + 1), dtype, (at(N), 2)), names=frozenset("ABN"))
