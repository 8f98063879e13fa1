"""The order in which convolutions and their gradients add up (claims O67 and O69), written down with NumPy alone.

Each member of the form becomes a few products of matrices: a left one (M, K) of window elements or their places, a
right one (K, N), and the flat indices (M, N) that the product has in the result. Zeros around data are elements. What
adds up K is :mod:`tests.kernel.contraction_rule`; nothing here knows how the package computes a convolution.

>>> case = Case("a border of one", (1, 1, 3), (1, 1, 3), paddings=((1, 1),))
>>> product, = products(case, "result", [np.float32([[[1, 2, 3]]]), np.float32([[[4, 5, 6]]])])
>>> product.left.tolist(), product.right.ravel().tolist(), product.at.ravel().tolist()
([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 0.0]], [4.0, 5.0, 6.0], [0, 1, 2])
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from nervure.types.dtype import DType, complex64, complex128, float32, float64
from tests.kernel.contraction_rule import BLOCK, contraction
from tests.kernel.reduction_rule import reduced

FORMS = ("result", "data", "filters")
"""The members of the form: a convolution, and its gradients for the data and for the filters."""

MOST_POINTS = {float64: 100_000}
"""Fused multiply-adds of a product up to which all elements are computed by the rule, where it takes long."""


EPS = {float32: 2**-23, float64: 2**-52, complex64: 2**-23, complex128: 2**-52}
"""The distance from 1 to the next number. Narrower types are added up in float32, and rounded once."""


class Case(NamedTuple):
    """A convolution of data ``x`` (N, groups*C, lengths) with filters ``f`` (groups*K, C, windows); ``note`` says what
    is special about it.
    """

    note: str
    x: tuple[int, ...]
    f: tuple[int, ...]
    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    paddings: tuple[tuple[int, int], ...] = ()
    groups: int = 1
    dtype: DType = float32

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.x) - 2

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the ops."""
        ones, none = (1,) * self.rank, ((0, 0),) * self.rank
        return {"strides": self.strides or ones, "dilations": self.dilations or ones,
                "paddings": self.paddings or none, "groups": self.groups}

    @property
    def windows(self) -> Iterator[tuple[int, int, int, int]]:
        """Window, stride, dilation and the padding before, for each spatial dimension."""
        ones, none = (1,) * self.rank, ((0, 0),) * self.rank
        for window, stride, dilation, (before, _) in zip(self.f[2:], self.strides or ones, self.dilations or ones,
                                                         self.paddings or none, strict=True):
            yield window, stride, dilation, before

    @property
    def r(self) -> tuple[int, ...]:
        """The shape of the result."""
        paddings = self.paddings or ((0, 0),) * self.rank
        places = [(length + sum(padding) - (window - 1) * dilation - 1) // stride + 1 for length, padding, (
            window, stride, dilation, _) in zip(self.x[2:], paddings, self.windows, strict=True)]
        return (self.x[0], self.f[0], *places)

    def shapes(self, form: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the two operands of a member of the form."""
        return {"result": (self.x, self.f), "data": (self.r, self.f), "filters": (self.x, self.r)}[form]

    def shape(self, form: str) -> tuple[int, ...]:
        """The shape of a member of the form."""
        return {"result": self.r, "data": self.x, "filters": self.f}[form]

    def __str__(self) -> str:
        return self.note


class Product(NamedTuple):
    """``left`` (M, K) times ``right`` (K, N) gives the elements of a result at the flat indices ``at`` (M, N)."""

    left: np.ndarray
    right: np.ndarray
    at: np.ndarray


def products(case: Case, form: str, operands: Sequence[np.ndarray]) -> Iterator[Product]:
    """The products that make up a member of the form, whose operands are given. Together they have each element of
    the result once.
    """
    first, second = [array.astype(case.dtype.compute.numpy) for array in operands]
    made = {"result": _of_result, "data": _of_data, "filters": _of_filters}[form]
    return made(case, first, second)


def _of_result(case: Case, x: np.ndarray, f: np.ndarray) -> Iterator[Product]:
    """Rows are images and places, K the positions of a window and for each the channels, columns the filters."""
    windows = _under_windows(case, x)
    for group in range(case.groups):
        left = _channels_last(_part(windows, 1, group, case.groups), case.rank)
        right = np.moveaxis(_part(f, 0, group, case.groups), (0, 1), (-1, -2))
        at = np.moveaxis(_part(_numbers(case.r), 1, group, case.groups), 1, -1)
        yield _product(left, right, at)


def _of_data(case: Case, r: np.ndarray, f: np.ndarray) -> Iterator[Product]:
    """Rows are images and elements, K the positions that meet an element, from the last to the first, and for each
    the filters, columns the channels. Strides without dilations leave out positions that meet no place.
    """
    strides, dilations = [[entry[number] for entry in case.windows] for number in (1, 2)]
    has_phases = max(strides) > 1 and max(dilations) == 1
    steps = strides if has_phases else [1] * case.rank
    for phase in itertools.product(*map(range, steps)):
        elements, places = [], []
        for start, step, length, (window, stride, dilation, before) in zip(
                phase, steps, case.x[2:], case.windows, strict=True):
            met = np.array([element for element in reversed(range(window))
                            if (start + before - element * dilation) % step == 0], int)
            distance = np.arange(start, length, step)[:, None] + before - met * dilation
            elements.append(met)
            places.append(np.where(distance % stride == 0, distance // stride, -1))
        seen = _seen(r, places)
        own = tuple([slice(start, None, step) for start, step in zip(phase, steps, strict=True)])
        for group in range(case.groups):
            left = _channels_last(_part(seen, 1, group, case.groups), case.rank)
            filters = _part(f, 0, group, case.groups)[(slice(None), slice(None), *np.ix_(*elements))]
            at = _part(_numbers(case.x), 1, group, case.groups)[(slice(None), slice(None), *own)]
            yield _product(left, np.moveaxis(filters, (0, 1), (-2, -1)), np.moveaxis(at, 1, -1))


def _of_filters(case: Case, x: np.ndarray, r: np.ndarray) -> Iterator[Product]:
    """Rows are channels and positions, K the images and for each the places, columns the filters."""
    windows = _under_windows(case, x)
    for group in range(case.groups):
        left = np.moveaxis(_part(windows, 1, group, case.groups), 0, 1)  # C, N, places, windows
        left = left.transpose(0, *range(2 + case.rank, left.ndim), 1, *range(2, 2 + case.rank))
        right = np.moveaxis(_part(r, 1, group, case.groups), 1, -1)
        at = np.moveaxis(_part(_numbers(case.f), 0, group, case.groups), 0, -1)
        yield _product(left, right, at)


def _under_windows(case: Case, x: np.ndarray) -> np.ndarray:
    """The elements under each window (N, groups*C, places, windows)."""
    return _seen(x, [np.arange(count)[:, None] * stride + np.arange(window) * dilation - before
                     for count, (window, stride, dilation, before) in zip(case.r[2:], case.windows, strict=True)])


def _seen(x: np.ndarray, positions: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of x at ``positions``, for each spatial dimension an array (places, elements); 0 outside of x."""
    rank, at, is_inside = len(positions), [], np.True_
    for d, (own, length) in enumerate(zip(positions, x.shape[2:], strict=True)):
        shape = [1] * (2 * rank)
        shape[d], shape[rank + d] = own.shape
        own = own.reshape(shape)
        at.append(own.clip(0, length - 1))
        is_inside = is_inside & (own >= 0) & (own < length)
    return np.where(is_inside, x[(slice(None), slice(None), *at)], x.dtype.type(0))


def _channels_last(seen: np.ndarray, rank: int) -> np.ndarray:
    """(N, places, elements, C) of (N, C, places, elements)."""
    return seen.transpose(0, *range(2, 2 + 2 * rank), 1)


def _part(x: np.ndarray, axis: int, group: int, groups: int) -> np.ndarray:
    return np.split(x, groups, axis)[group]


def _numbers(shape: Sequence[int]) -> np.ndarray:
    return np.arange(prod(shape)).reshape(shape)


def _product(left: np.ndarray, right: np.ndarray, at: np.ndarray) -> Product:
    """The matrices of arrays (rows, K), (K, columns) and (rows, columns), whose columns are the last dimension."""
    columns = at.shape[-1]
    points = prod(right.shape[:-1])
    return Product(left.reshape(at.size // max(columns, 1), points), right.reshape(points, columns),
                   at.reshape(-1, columns))


def check(case: Case, form: str, operands: Sequence[np.ndarray], got: np.ndarray) -> None:
    """A result has the type and shape of the form's member, all its values are as near to those in float64 as the
    rule promises, and its bits are those of the rule.
    """
    assert got.dtype == case.dtype.numpy and got.shape == case.shape(form)
    has_bits, is_own = case.dtype.kind in ("float", "int", "uint"), has_own_order(case, form)
    covered = np.zeros(got.size, int)
    for number, product in enumerate(products(case, form, operands)):
        covered[product.at.ravel()] += 1
        if case.dtype.kind == "bool":
            assert ((product.left.astype(int) @ product.right.astype(int) != 0) == got.ravel()[product.at]).all()
        elif case.dtype in EPS:
            _check_values(case, form, product, got)
        if has_bits and not is_own:
            _check_bits(case, product, got, number)
    assert (covered == 1).all()
    if has_bits and is_own:
        expected = by_columns(case, *operands)
        assert got.tobytes() == expected.tobytes(), f"{form}, O69: {np.argwhere(got != expected)[:5].tolist()}"


def _check_values(case: Case, form: str, product: Product, got: np.ndarray) -> None:
    """The error of a sum in blocks is at most an eps for each addition on its way."""
    dtype, (left, right, at) = case.dtype, product
    wide = np.complex128 if dtype.is_complex else np.float64
    chain = case.x[0] * prod(case.r[2:-1]) if has_own_order(case, form) else min(left.shape[1], BLOCK)
    additions = chain + left.shape[1] // BLOCK + (8 if dtype.is_complex else 2)
    bound = additions * EPS[dtype] * (abs(left).astype(float) @ abs(right).astype(float))
    error = abs(got.ravel()[at].astype(wide) - left.astype(wide) @ right.astype(wide))
    assert (error <= bound).all(), f"off by {(error - bound).max()} at {np.argwhere(error > bound)[:5].tolist()}"


def _check_bits(case: Case, product: Product, got: np.ndarray, seed: int) -> None:
    rows, columns = drawn_elements(product.left.shape, product.right.shape, MOST_POINTS.get(case.dtype, 500_000), seed)
    expected = contraction(product.left[rows], product.right[:, columns]).astype(case.dtype.numpy)
    found = got.ravel()[product.at[np.ix_(rows, columns)]]
    wrong = np.argwhere(found != expected)
    assert found.tobytes() == expected.tobytes(), (
        f"{len(wrong)} of {found.size} have other bits, the first at {[(rows[m], columns[n]) for m, n in wrong[:5]]}")


def drawn_elements(left: Sequence[int], right: Sequence[int], most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a product of matrices of these shapes: all, or the first, the last and some between them, so
    that they are made up of not much more than ``most`` multiply-adds.
    """
    (rows, points), columns = left, right[1]
    generator, elements = np.random.default_rng(seed), most // max(points, 1)
    chosen = _some(columns, max(elements // max(rows, 1), 6), generator)
    return _some(rows, max(elements // max(len(chosen), 1), 4), generator), chosen


def _some(count: int, most: int, generator: np.random.Generator) -> np.ndarray:
    if count <= most:
        return np.arange(count)
    between = generator.choice(np.arange(1, count - 1), most - 2, replace=False)
    return np.array([0, *sorted(between), count - 1])


def has_own_order(case: Case, form: str) -> bool:
    """Whether claim O69 says in which order the gradient for filters adds up: those of one channel a group, few of
    few positions.
    """
    return (form == "filters" and case.f[1] == 1 and 0 < case.f[0] <= 4 * case.groups and prod(case.f[2:]) <= 64
            and case.dtype.kind != "bool")


def by_columns(case: Case, x: np.ndarray, r: np.ndarray) -> np.ndarray:
    """A gradient for filters by O69: for each place of the last dimension the products of all images and lines are
    added up one after the other, and then the columns as by Sum.
    """
    x, r = [array.astype(case.dtype.compute.numpy) for array in (x, r)]
    each = case.f[0] // case.groups
    windows = np.repeat(_under_windows(case, x), each, 1)  # N, K, places, windows
    terms = windows * r.reshape(*r.shape, *[1] * case.rank)
    rows = np.moveaxis(terms, (1, 1 + case.rank), (-2, -1))  # N, outer places, windows, K, last places
    rows = rows.reshape(-1, *rows.shape[case.rank:])
    columns = np.zeros(rows.shape[1:], r.dtype)
    for row in rows:
        columns = columns + row
    total = np.ascontiguousarray(np.moveaxis(reduced(columns), -1, 0)).reshape(case.f)
    return total.astype(case.dtype.numpy)
