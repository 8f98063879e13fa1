"""A recipe for chains of attention: two products with what hides and weighs scores between them.

Sizes are such that kernels share loops, a mask leaves columns of a block dead, and blocks of 512 products end before
the last column. What computes operands stands in front, what reads the result behind.

>>> growth = Growth(9)
>>> attended(growth)
>>> _sizes(Growth(9)).scores, growth.values[-1].shape
((90, 90), (90, 16))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import nervure as nv
from nervure import ops
from nervure.ir.op import Value
from nervure.kernel.ir import CONTRACT_BLOCK
from nervure.ops.attention import attended as weighed
from nervure.ops.attention import for_each_head, masked, scores_of
from nervure.types.dim import DimLike
from nervure.types.dtype import DType
from tests.fuzz.growth import Growth
from tests.fuzz.recipes import near_product

LENGTHS = (1, 2, 5, 8, 9, 17, 33, 40, 64, 65, 90, 100, 130, 257, 300, 511, 512, 513, 530, 640, 700, 1025, 1100, 2100)
"""Rows and columns of scores. Those above the longest axis are left out where that is no longer than 200."""

MOST_SCORES = (4_000, *[20_000] * 4, *[80_000] * 4, 600_000, 600_000)
"""The most scores of a chain, of which few are large: such an attention takes the interpreter a third of a second."""

MOST_INSIDE = 2_000
"""The most scores of a chain in a branch or loop."""


class _Sizes(NamedTuple):
    """The lengths of an attention; ``times`` heads of queries share one of keys."""

    batch: tuple[int, ...]
    times: int
    rows: DimLike
    columns: DimLike
    depth: int
    width: int

    @property
    def heads(self) -> tuple[int, ...]:
        """The batch of queries."""
        return (*self.batch[:-1], self.batch[-1] * self.times) if self.batch else ()

    @property
    def scores(self) -> tuple[DimLike, ...]:
        """The shape of the scores."""
        return (*self.heads, self.rows, self.columns)


def attended(growth: Growth) -> None:
    """An attention of random sizes: the op, or what it is made of."""
    random = growth.random
    sizes, dtype = _sizes(growth), random.choice((*[nv.float32] * 7, nv.float64))
    query = _operand(growth, dtype, sizes.heads, sizes.rows, sizes.depth)
    key, value = [_operand(growth, dtype, sizes.batch, sizes.columns, width) for width in (sizes.depth, sizes.width)]
    if sizes.times > 1:
        key, value = [for_each_head(x, sizes.times) for x in (key, value)]
    if random.random() < 0.6:
        query = query * sizes.depth**-0.5 if random.random() < 0.8 else _scaled(growth, query)
    if random.random() < 0.5:
        before, after = _window(growth, sizes)
        masks = [_mask(growth, dtype, sizes)] if random.random() < 0.3 else []
        made = ops.Attention(query, key, value, *masks, before=before, after=after).output
    else:
        made = _by_hand(growth, sizes, query, key, value)
    _read(growth, growth.add(made))


def _sizes(growth: Growth) -> _Sizes:
    random = growth.random
    is_cheap = growth.limit > 200 and len(growth.bindings) == 1
    most = MOST_INSIDE if growth.depth else random.choice(MOST_SCORES if is_cheap else MOST_SCORES[:-2])
    is_long = most > CONTRACT_BLOCK**2
    usual: list[DimLike] = [length for length in LENGTHS if length <= growth.limit or growth.limit > 200]
    usual = usual[-7:] if is_long else [*growth.symbols * 9, *usual]

    def fitting(*known: DimLike, least: int = 1) -> list[DimLike]:
        """Lengths that give few scores with those known, and mostly not very few."""
        found = [length for length in usual if growth.fits((*known, length), most)]
        many = [length for length in found if not growth.fits((*known, length), most // least)]
        return (many if random.random() < 0.8 else found) or found or [1]

    rows = random.choice(fitting(least=2_000))
    is_square = random.random() < 0.4 and growth.fits((rows, rows), most)
    columns = rows if is_square else random.choice(fitting(rows, least=2 if is_long else 8))
    batch: tuple[int, ...] = ()
    for _ in range(random.choice((0, 1, 1, 2))):
        batch = (*batch, random.choice([length for length in (1, 2, 3, 4) if growth.fits(
            (*batch, length, rows, columns), most)] or [1]))
    times = random.choice((1, 1, 2, 3)) if batch and growth.fits((*batch, 3, rows, columns), most) else 1
    depth, width = [random.choice((1, 2, 8, 16, 31, 64, 80) if not is_long else (2, 8)) for _ in range(2)]
    return _Sizes(batch, times, rows, columns, depth, width)


# -- operands --------------------------------------------------------------------------------------------------------


def _operand(growth: Growth, dtype: DType, batch: Sequence[int], rows: DimLike, features: int) -> Value:
    """Queries, keys or values as networks make them."""
    random, shape = growth.random, (*batch, rows, features)
    kind = random.choice(("given", "given", "given", "near", "scaled", "projected", "heads behind rows", "one for all"))
    if kind == "projected":
        width = random.choice((1, 4, 9))
        x, weights = _given(growth, dtype, (*batch, rows, width)), _given(growth, dtype, (width, features))
        return growth.add(ops.MatMul(x, ops.Broadcast(weights, (*batch, width, features), range(len(batch)))))
    if kind == "heads behind rows" and batch:
        x = _given(growth, dtype, (*batch[:-1], rows, batch[-1], features))
        first = len(batch) - 1
        return growth.add(ops.Permute(x, [*range(first), first + 1, first, first + 2]))
    if kind == "one for all" and batch:
        return growth.spread(_given(growth, dtype, shape[1:]), shape, (0,))
    x = _given(growth, dtype, shape)
    return near_product(growth, x) if kind == "near" else _scaled(growth, x) if kind == "scaled" else x


def _scaled(growth: Growth, x: Value) -> Value:
    """A value times an argument: one number, or one for each row."""
    axes = growth.random.choice((range(x.rank), [x.rank - 1]))
    factor = _given(growth, x.dtype, [length for axis, length in enumerate(x.shape) if axis not in axes])
    return growth.add(x * growth.spread(factor, x.shape, axes))


def _given(growth: Growth, dtype: DType, shape: Sequence[DimLike]) -> Value:
    """A new argument, or a value that is there: a finite one, as a dead column may hide what is not."""
    shape, found = tuple(shape), None
    if growth.random.random() < 0.3:
        found = growth.pick(lambda value: value.dtype is dtype and value.shape == shape)
    found = growth.parameter(dtype, shape) if found is None else found
    if isinstance(found.op, nv.Parameter) and not growth.depth:
        return found
    is_number = ops.LessEqual(ops.Absolute(found), found.full(1e30)).output
    return ops.Where(is_number, ops.Clip(found, found.full(-4), found.full(4)), found.full(0)).output


# -- masks -----------------------------------------------------------------------------------------------------------


def _window(growth: Growth, sizes: _Sizes) -> tuple[int | None, int | None]:
    """How many rows before and behind its own a query sees."""
    is_long = not growth.fits(sizes.scores, CONTRACT_BLOCK**2)
    kind = growth.random.choice(("before", "window") if is_long else (
        "all", "causal", "causal", "causal", "before", "window", "window"))
    before, after = [_distance(growth, sizes) for _ in range(2)]
    return {"all": (None, None), "causal": (None, 0), "before": (before, None),
            "window": (before, growth.random.choice((0, after)))}[kind]


def _distance(growth: Growth, sizes: _Sizes) -> int:
    """A distance of rows that is short, or about that of the first row and the last one."""
    most = sizes.columns if isinstance(sizes.columns, int) else 40
    return growth.random.choice((0, 1, 7, growth.random.randint(0, most), most // 4, max(most - 2, 0)))


def _mask(growth: Growth, dtype: DType, sizes: _Sizes) -> Value:
    """Truth values or numbers for each score, often the same ones for several."""
    axes = growth.random.choice(((), range(len(sizes.heads)), range(len(sizes.scores) - 1)))
    shape = [length for axis, length in enumerate(sizes.scores) if axis not in axes]
    kind = growth.random.choice(("truth", "numbers", "hidden", "affine"))
    if kind == "affine":
        return _affine(growth, sizes)
    mask = _given(growth, dtype, shape) if kind == "numbers" else growth.like(nv.bool_, shape)
    if kind == "hidden":
        hidden = ops.Full(-math.inf, dtype, tuple(shape))
        mask = ops.Where(mask, hidden.full(0), hidden).output
    return growth.spread(mask, sizes.scores, axes) if axes else mask


def _affine(growth: Growth, sizes: _Sizes) -> Value:
    """Comparisons of row and column, seldom from the other end."""
    random = growth.random
    dtype, rank = random.choice((nv.int32, nv.int64)), len(sizes.scores)
    rows, columns = [ops.Iota(sizes.scores, axis, dtype).output for axis in (rank - 2, rank - 1)]
    if random.random() < 0.15:
        rows, columns = [ops.Reverse(x, [rank - 2, rank - 1]).output for x in (rows, columns)]
    found = []
    for _ in range(random.choice((1, 1, 2))):
        offset = random.choice((0, 0, 1, -1, _distance(growth, sizes), -_distance(growth, sizes)))
        moved = rows + offset if offset else rows
        compare = random.choice((ops.LessEqual, ops.LessEqual, ops.Less, ops.GreaterEqual))
        found.append(compare(*random.choice(((columns, moved), (columns, moved), (moved, columns)))).output)
    join = random.choice((ops.LogicalAnd, ops.LogicalAnd, ops.LogicalOr))
    return growth.add(join(*found) if len(found) > 1 else found[0])


def _by_hand(growth: Growth, sizes: _Sizes, query: Value, key: Value, value: Value) -> Value:
    """The parts of an attention, with masks as users write them."""
    random = growth.random
    scores = scores_of(query, key)
    if random.random() < 0.3:
        scores = scores * 0.25
    if random.random() < 0.1:
        scores = ops.Tanh(scores).output * 3.0
    for _ in range(random.choice((0, 1, 1, 2))):
        mask = _mask(growth, query.dtype, sizes) if random.random() < 0.5 else _affine(growth, sizes)
        if mask.dtype is nv.bool_ and random.random() < 0.3:
            scores = ops.Where(mask, scores, scores.full(random.choice((-1e30, -65504.0, 0)))).output
        else:
            scores = masked(scores, mask)
    if random.random() < 0.15:
        weights = growth.add(ops.MaskedSoftmax(scores, [scores.rank - 1]))
        return ops.MatMul(weights, value).output
    return weighed(scores, value, may_see_nothing=True)


def _read(growth: Growth, x: Value) -> None:
    """What a network makes of the result."""
    kind = growth.random.choice(("nothing", "near", "scaled", "times", "projected", "sum"))
    if kind == "near":
        near_product(growth, x)
    elif kind == "scaled":
        _scaled(growth, x)
    elif kind == "times":  # so that the gradient is an argument
        growth.add(x * growth.parameter(x.dtype, x.shape))
    elif kind == "projected":
        weights = growth.weights(x.dtype, (x.shape[-1], 6))
        growth.add(ops.MatMul(x, ops.Broadcast(weights, (*x.shape[:-2], *weights.shape), range(x.rank - 2))))
    elif kind == "sum":
        growth.add(ops.Sum(x, [x.rank - 2]))
