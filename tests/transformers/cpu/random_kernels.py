"""Random kernels, with their data: nests of loops, loads of every kind, exact functions, reductions and folds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from nervure.kernel.ir import (
    Address,
    Apply,
    Buffer,
    Fold,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    Reduce,
    Scalar,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.types.dim import DimLike, dim, dim_max, dim_min, evaluate
from nervure.types.dtype import DType, bool_, complex64, float32, float64, int8, int16, int32, int64, uint8

Indices = list[tuple[LoopIndex, DimLike]]

_TYPES = (float32, float32, float32, float64, int32, int64, int8, int16, uint8, bool_, complex64)
_SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 16, 31, 33, 64, 65, 70, 130)


class RandomKernel:
    """A kernel, its arrays, and the values of its symbols."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self.bindings: dict[str, int] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self._buffers: list[Buffer] = []
        self._free = 2000  # points that the loops still to be chosen may have
        self._dtype = self._random.choice(_TYPES)
        indices = [self._index(number) for number in range(self._random.choice((1, 1, 2, 2, 3)))]
        body = self._body(indices)
        self.kernel = Kernel("random", tuple(self._buffers), self._nested(indices, body))

    # -- sizes -------------------------------------------------------------------------------------------

    def _index(self, number: int) -> tuple[LoopIndex, DimLike]:
        size = self._random.choice([size for size in _SIZES if size <= max(self._free, 1)])
        self._free //= max(size, 1)
        return LoopIndex(number), self._size(size)

    def _size(self, size: int) -> DimLike:
        """A number, a symbol with this value, or an expression over one."""
        choice = self._random.randrange(4)
        if choice == 0:
            return size
        names = [name for name, value in self.bindings.items() if value == size]
        name = names[0] if names and choice == 1 else f"N{len(self.bindings)}"
        self.bindings[name] = size
        symbol = dim(name)
        return symbol * 3 - symbol * 2 if choice == 2 else symbol

    def _value(self, x: DimLike) -> int:
        return evaluate(x, self.bindings)

    # -- loops -------------------------------------------------------------------------------------------

    def _nested(self, indices: Indices, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        vector = self._random.choice([*range(len(indices)), len(indices) - 1, None])
        for number in reversed(range(len(indices))):
            name, extent = indices[number]
            body = (For(name, extent, body, parallel=number == 0, vector=number == vector),)
        return body

    def _body(self, indices: Indices) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        known = self._scalars(statements, indices, self._dtype)
        choice = self._random.randrange(4)
        if choice == 0:
            known += self._reduction(statements, indices, known)
        elif choice == 1 and not self._dtype.is_complex:
            known += self._fold(statements, indices, known)
        self._functions(statements, known)
        for value in known[-self._random.choice((1, 2)):]:
            self._store(statements, indices, value)
        return tuple(statements)

    def _inner(self, indices: Indices) -> Indices:
        return [self._index(len(indices) + number) for number in range(self._random.choice((1, 1, 2)))]

    def _reduction(self, statements: list[Statement], indices: Indices, known: list[Scalar]) -> list[Scalar]:
        inner, body = self._inner(indices), list[Statement]()
        found = self._scalars(body, [*indices, *inner], self._dtype)
        self._functions(body, found := [*known[:1], *found])
        count = self._random.choice((1, 1, 2))
        combines = [self._random.choice(self._combines()) for _ in range(count)]
        results = tuple([Variable(self._dtype) for _ in combines])
        statements.append(Reduce(results, tuple(combines), tuple(inner), tuple(body), tuple(found[-count:])))
        return list(results)

    def _combines(self) -> list[str]:
        if self._dtype.is_complex:
            return ["add"]
        return ["add", "multiply", "maximum", "minimum"] + ([] if self._dtype.is_float else ["and", "or"])

    def _fold(self, statements: list[Statement], indices: Indices, known: list[Scalar]) -> list[Scalar]:
        inner = self._inner(indices)
        if 0 in [self._value(extent) for _, extent in inner]:
            return []
        body = list[Statement]()
        found = self._scalars(body, [*indices, *inner], self._dtype)[:1]
        left, right = Variable(self._dtype), Variable(self._dtype)
        combine: list[Statement] = []
        both: list[Scalar] = [*known[:1], left, right]
        self._functions(combine, both)
        result = Variable(self._dtype)
        statements.append(Fold((result,), tuple(inner), tuple(body), tuple(found), (left,), (right,),
                               tuple(combine), (both[-1],)))
        return [result]

    # -- scalars -----------------------------------------------------------------------------------------

    def _scalars(self, statements: list[Statement], indices: Indices, dtype: DType) -> list[Scalar]:
        found: list[Scalar] = [self._load(statements, indices, dtype) for _ in range(self._random.choice((1, 2, 3)))]
        if dtype in (int64, int32, float32, float64) and self._random.random() < 0.3:
            place = Variable(int64)
            statements.append(Index(place, self._expression(indices)))
            found.append(self._apply(statements, "convert", (place,), dtype))
        return found

    def _expression(self, indices: Indices) -> DimLike:
        """Something over the indices that is not affine."""
        total: DimLike = self._random.randrange(3)
        for name, _ in indices:
            k = name.dim
            divisor = self._size(self._random.choice((1, 2, 3, 7)))
            choice = self._random.randrange(6)
            total = total + (0, k * self._random.choice((1, -1, 3)), k // divisor, (k + 5) % divisor,
                             dim_min(k, divisor), dim_max(k - divisor, 0))[choice]
        return total

    def _apply(self, statements: list[Statement], function: str, operands: tuple[Scalar, ...],
               dtype: DType) -> Variable:
        result = Variable(dtype)
        statements.append(Apply(result, function, operands))
        return result

    def _functions(self, statements: list[Statement], known: list[Scalar]) -> None:
        """Appends a few exact functions of what is known."""
        dtype, choose = self._dtype, self._random.choice
        for _ in range(choose((0, 1, 2, 4))):
            x, y = choose(known), choose([*known, Literal(dtype.numpy.type(2).item(), dtype)])
            function = choose(("add", "subtract", "where") if dtype is complex64 else
                              ("add", "multiply", "maximum", "where") if dtype is bool_ else
                              ("add", "subtract", "multiply", "maximum", "minimum", "where", "negative"))
            if function == "where":
                condition = self._apply(statements, "equal", (x, y), bool_)
                known.append(self._apply(statements, "where", (condition, y, choose(known)), dtype))
            else:
                known.append(self._apply(statements, function, (x,) if function == "negative" else (x, y), dtype))

    # -- memory ------------------------------------------------------------------------------------------

    def _buffer(self, dtype: DType, size: DimLike, role: str) -> Buffer:
        buffer = Buffer(f"b{len(self._buffers)}", dtype, size, role)
        self._buffers.append(buffer)
        self.arrays[buffer.name] = self._data(dtype, self._value(size))
        return buffer

    def _data(self, dtype: DType, size: int) -> np.ndarray:
        if dtype.is_float or dtype.is_complex:
            numbers: Any = self._numbers.standard_normal(size) * 10
            if dtype.is_complex:
                numbers = numbers + 1j * self._numbers.standard_normal(size)
            special = np.where(self._numbers.random(size) < 0.02, self._numbers.choice([np.nan, np.inf, -0.0], size), 0)
            return (numbers if dtype.is_complex else numbers + special).astype(dtype.numpy)
        return self._numbers.integers(0, 2 if dtype is bool_ else 100, size).astype(dtype.numpy)

    def _load(self, statements: list[Statement], indices: Indices, dtype: DType) -> Variable:
        result = Variable(dtype)
        address, size = self._address(indices)
        valid = fill = None
        if self._random.random() < 0.25:
            place = Variable(int64)
            statements.append(Index(place, self._expression(indices)))
            valid = self._apply(statements, "less", (place, Literal(self._random.randrange(40), int64)), bool_)
            fill = Literal(dtype.numpy.type(1).item(), dtype)
        if valid is None and self._random.random() < 0.2:
            address, size = self._gathered(statements, indices, address, size)
        statements.append(Load(result, self._buffer(dtype, size, "in"), address, valid, fill))
        return result

    def _address(self, indices: Indices) -> tuple[Address, int]:
        """An affine place that stays within a buffer of the size that comes with it."""
        base, size, steps = 0, 1, []
        for name, extent in indices:
            step = self._random.choice((1, 1, 1, 0, -1, 2, 3, -2))
            reach = step * max(self._value(extent) - 1, 0)
            base, size = base + max(-reach, 0), size + abs(reach)
            if step:
                steps.append((name, self._size(step) if step > 0 else step))
        return Address(base, tuple(steps)), size

    def _gathered(self, statements: list[Statement], indices: Indices, address: Address,
                  size: int) -> tuple[Address, int]:
        """The same place moved by a number that is read from memory."""
        here, length = self._address(indices)
        table = self._buffer(int32, length, "in")
        self.arrays[table.name] = self._numbers.integers(0, 20, length).astype(np.int32)
        moved = Variable(int32)
        statements.append(Load(moved, table, here))
        return Address(address.base, address.steps, ((self._size(2), moved),)), size + 40

    def _store(self, statements: list[Statement], indices: Indices, value: Scalar) -> None:
        """Each point has a place of its own, in some order of the indices, some of them backwards."""
        order = self._random.sample(range(len(indices)), len(indices))
        base: DimLike = 0
        stride: DimLike = self._random.choice((1, 1, 1, 2))
        steps: dict[LoopIndex, DimLike] = {}
        for number in order:
            name, extent = indices[number]
            steps[name] = stride
            if self._random.random() < 0.3:
                base, steps[name] = base + stride * (extent - 1), -1 * stride
            stride = stride * extent
        valid = None
        if self._random.random() < 0.2:
            two = Literal(value.dtype.numpy.type(2).item(), value.dtype)
            valid = self._apply(statements, "not_equal", (value, two), bool_)
        buffer = self._buffer(value.dtype, self._value(stride), "inout")
        combine = self._random.choice((None, None, "add"))
        statements.append(Store(buffer, Address(base, tuple(steps.items())), value, combine, valid))


def random_kernel(seed: int) -> tuple[Kernel, Mapping[str, np.ndarray], Mapping[str, int]]:
    """A kernel with its arrays and bindings."""
    made = RandomKernel(seed)
    return made.kernel, made.arrays, made.bindings
