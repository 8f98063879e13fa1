"""Random kernels that are valid: nests of loops over small domains, with much for a simplifier to find."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nervure.kernel.ir import Buffer, Kernel, Scalar, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.types.dim import DimLike, dim, evaluate, index
from nervure.types.dtype import bool_, float32, int64
from tests.kernel.block import Address, Block, number

SYMBOLS = (dim("A", min=1), dim("B"))
FLOATS = ("add", "multiply", "maximum", "subtract")
INTEGERS = ("add", "multiply", "subtract", "minimum", "floordivide", "bitwise_or")


class Case(NamedTuple):
    """A kernel with values for its symbols and arrays for what it reads."""

    kernel: Kernel
    bindings: dict[str, int]
    arrays: dict[str, np.ndarray]


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        choose = self.random.choice
        self.bindings = {"A": choose([1, 2, 3]), "B": choose([0, 1, 2, 5])}
        self.extents: list[DimLike] = [choose([1, 2, 3, 4, *SYMBOLS]) for _ in range(choose([1, 2, 3, 4]))]
        self.buffers: list[Buffer] = []

    def buffer(self, role: str, dtype=float32, size: DimLike = 1) -> Buffer:
        self.buffers.append(Buffer(f"b{len(self.buffers)}", dtype, size, role))
        return self.buffers[-1]

    def layout(self, axes: list[int]) -> tuple[DimLike, dict[int, DimLike]]:
        """The size of an array over some axes, in a random order of them, and its strides."""
        order = axes[:]
        if self.random.random() < 0.4:
            self.random.shuffle(order)
        size: DimLike = 1
        strides: dict[int, DimLike] = {}
        for axis in reversed(order):
            strides[axis] = size
            size = size * self.extents[axis]
        return size, strides

    def address(self, strides: Mapping[int, DimLike]) -> Address:
        """A place in an array, written in one of several ways."""
        offset: DimLike = 0
        for axis, stride in strides.items():
            offset = offset + stride * index(axis)
        how = self.random.random()
        if how < 0.2:
            return Address(offset)
        if how < 0.3:
            factor = self.random.choice([2, 3, 4])
            return Address(offset // factor * factor + offset % factor)
        steps = [(LoopIndex(axis), stride) for axis, stride in strides.items()]
        self.random.shuffle(steps)
        return Address(0, tuple(steps))


class _Scope(NamedTuple):
    """What a block may use: scalars by kind, and the axes of the loops around."""

    floats: list[Scalar]
    integers: list[Scalar]
    truths: list[Scalar]
    axes: list[int]

    def inside(self, axes: list[int]) -> _Scope:
        return _Scope(self.floats[:], self.integers[:], self.truths[:], [*self.axes, *axes])


def random_case(seed: int) -> Case:
    maker = _Maker(seed)
    literals = _Scope([number(x, float32) for x in (0.0, 1.0, -0.5)], [number(x, int64) for x in (0, 1, 3)],
                      [number(True, bool_)], [])
    top = Block()
    _nest(maker, top, list(range(len(maker.extents))), literals, 0)
    arrays = {}
    numbers = np.random.default_rng(seed)
    for buffer in maker.buffers:
        if buffer.role in ("in", "inout"):
            size = evaluate(buffer.size, maker.bindings)
            arrays[buffer.name] = numbers.integers(-3, 4, size).astype(buffer.dtype.numpy)
    return Case(Kernel(f"random{seed}", tuple(maker.buffers), top.body), maker.bindings, arrays)


def _nest(maker: _Maker, block: Block, axes: list[int], scope: _Scope, depth: int) -> None:
    """The loops over the axes that are left, each a loop or, all together, a reduction; statements in between."""
    if not axes:
        _statements(maker, block, scope, maker.random.randint(4, 12))
        _store(maker, block, scope)
        return
    if depth and maker.random.random() < 0.3:
        _statements(maker, block, scope, 3)
    if maker.random.random() < 0.35:
        _reduction(maker, block, axes, scope)
        _statements(maker, block, scope, 3)
        _store(maker, block, scope)
        return
    inner = Block()
    _nest(maker, inner, axes[1:], scope.inside(axes[:1]), depth + 1)
    block.loop(LoopIndex(axes[0]), maker.extents[axes[0]], inner, parallel=depth == 0, vector=len(axes) == 1)


def _reduction(maker: _Maker, block: Block, axes: list[int], scope: _Scope) -> None:
    body, inner = Block(), scope.inside(axes)
    _statements(maker, body, inner, maker.random.randint(3, 8))
    if maker.random.random() < 0.3:
        _store(maker, body, inner)
    values = [maker.random.choice(inner.floats[3:] or inner.floats), maker.random.choice(inner.integers)]
    combine = [maker.random.choice(["add", "maximum", "multiply"]), maker.random.choice(["add", "minimum", "or"])]
    indices = {LoopIndex(axis): maker.extents[axis] for axis in axes}
    if maker.random.random() < 0.2 and all([isinstance(extent, int) for extent in indices.values()]):
        left, right = [tuple([Variable(value.dtype) for value in values]) for _ in range(2)]
        combining = Block()
        inner = _Scope([left[0], right[0]], [left[1], right[1]], [number(True, bool_)], [])
        _statements(maker, combining, inner, 4, loads=False)
        combined = [maker.random.choice(inner.floats), maker.random.choice(inner.integers)]
        results = block.fold(indices, body, values, left, right, combining, combined)
    else:
        results = block.reduce(combine, indices, body, *values)
    scope.floats.append(results[0])
    scope.integers.append(results[1])


def _store(maker: _Maker, block: Block, scope: _Scope) -> None:
    size, strides = maker.layout(scope.axes)
    role = maker.random.choice(["out", "inout"])
    buffer, address = maker.buffer(role, size=size), maker.address(strides)
    combine = maker.random.choice([None, "add"]) if role == "inout" else None
    valid = maker.random.choice([None, *scope.truths]) if role == "inout" else None
    block.store(buffer, address, scope.floats[-1], combine, valid)
    if role == "inout" and maker.random.random() < 0.5:
        loaded = block.load(buffer, address)
        block.store(buffer, address, block.apply("add", loaded, block.load(buffer, address)))


def _statements(maker: _Maker, block: Block, scope: _Scope, count: int, loads: bool = True) -> None:
    for _ in range(count):
        choose, kind = maker.random.choice, maker.random.random()
        if kind < 0.25 and loads:
            _load(maker, block, scope)
        elif kind < 0.35 and scope.axes:
            first, second = index(choose(scope.axes)), index(choose(scope.axes))
            scope.integers.append(block.index(first * choose([1, 2]) + second * choose([0, 1])))
        elif kind < 0.6:
            scope.floats.append(block.apply(choose(FLOATS), choose(scope.floats), choose(scope.floats[-2:])))
        elif kind < 0.75:
            scope.integers.append(block.apply(choose(INTEGERS), choose(scope.integers), choose(scope.integers[-3:])))
        elif kind < 0.85:
            function = choose(["less", "less_equal", "equal", "not_equal"])
            scope.truths.append(block.apply(function, choose(scope.integers), choose(scope.integers)))
        elif kind < 0.95:
            scope.floats.append(block.apply("where", choose(scope.truths), choose(scope.floats), choose(scope.floats)))
        elif loads:
            block.check(choose(scope.truths), len(block.list), choose(scope.integers))


def _load(maker: _Maker, block: Block, scope: _Scope) -> None:
    axes = [axis for axis in scope.axes if maker.random.random() < 0.85]
    known = [buffer for buffer in maker.buffers if buffer.role == "in"]
    size, strides = maker.layout(axes)
    same = [buffer for buffer in known if buffer.size == size]
    buffer = maker.random.choice(same) if same and maker.random.random() < 0.5 else maker.buffer("in", size=size)
    valid = maker.random.choice([None, None, *scope.truths])
    fill = None if valid is None else maker.random.choice(scope.floats)
    scope.floats.append(block.load(buffer, maker.address(strides), valid, fill))
