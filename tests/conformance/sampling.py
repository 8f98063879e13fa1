"""A sample is an op on operands whose shapes are expressions over a few symbols.

One sample serves many tests: with numbers for the symbols (small, 0, 1, random), and with the symbols left as they are.

>>> matrix = Operand((N, A + 1), float32)
>>> sample = Sample(lambda at, x: ops.Broadcast(x, (at(A), *x.shape), [0]), (matrix,))
>>> sorted(sample.symbols), shape_of(matrix.shape, {"N": 3, "A": 2})
(['A', 'N'], (3, 3))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.op import Op, Value, registry
from nervure.types.dim import DimLike, dim, evaluate, symbols
from nervure.types.dtype import DType, float32, uint8
from tests.conformance import values

__all__ = ["A", "B", "Case", "Index", "K", "M", "N", "Operand", "Sample", "concrete", "edges", "float32", "generic",
           "of", "ops", "random_sizes", "samples_of", "shape_of", "symbolic"]

Sizes = Mapping[str, int]

N, M, K = (dim(name, min=0) for name in "NMK")
A, B = (dim(name, min=1) for name in "AB")
_USUAL = {"N": 3, "M": 4, "K": 2, "A": 5, "B": 3}
_LOWEST = {"N": 0, "M": 0, "K": 0, "A": 1, "B": 1}


class Index(NamedTuple):
    """The domain of indices of an axis of this length: they count from its end where they are negative."""

    bound: DimLike


@dataclass(frozen=True)
class Operand:
    """Shape, element type, and the domain of the numbers."""

    shape: tuple[DimLike, ...]
    dtype: DType
    domain: values.Domain | Index = "normal"

    def array(self, shape: tuple[int, ...], sizes: Sizes, rng: np.random.Generator) -> np.ndarray:
        """Random numbers of this operand's domain."""
        if not isinstance(self.domain, Index):
            return values.random(self.dtype, shape, self.domain, rng)
        bound = evaluate(self.domain.bound, sizes)
        return values.random(self.dtype, shape, (-bound, bound), rng)


@dataclass(frozen=True)
class Sample:
    """``build(at, *operands)`` makes the op; ``at`` gives a length that no operand has, a number or the expression.

    ``is_smooth`` says that derivatives may be compared with differences.
    """

    build: Callable[..., Op]
    operands: tuple[Operand, ...] = ()
    names: frozenset[str] = frozenset()
    is_smooth: bool = True

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols in the operands' shapes, and those that only ``build`` needs."""
        lengths = [length for operand in self.operands for length in operand.shape]
        lengths += [operand.domain.bound for operand in self.operands if isinstance(operand.domain, Index)]
        return self.names.union(*map(symbols, lengths))


def shape_of(shape: Sequence[DimLike], sizes: Sizes) -> tuple[int, ...]:
    """A shape with numbers for its symbols."""
    return tuple([evaluate(length, sizes) for length in shape])


# -- the table -----------------------------------------------------------------------------------------------------

Maker = Callable[[Any, DType], Iterable[Sample]]


class Entry(NamedTuple):
    """How the samples of an op class are made, and for which element types."""

    types: Callable[[Any], Iterable[DType]]
    make: Maker


TABLE: dict[str, Entry] = {}


def of(*names: str, types: Iterable[DType] | None = None) -> Callable[[Maker], Maker]:
    """Declares ``make(op_class, dtype)`` for some ops; without types for those that the class admits."""
    def declare(make: Maker) -> Maker:
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = Entry((lambda cls: cls.admits) if types is None else (lambda cls: types), make)
        return make
    return declare


def types_of(name: str) -> list[DType]:
    """The element types that an op is sampled for, in a fixed order."""
    return sorted(TABLE[name].types(registry[name]), key=lambda dtype: (dtype.kind, dtype.bits, dtype.name))


@cache
def samples_of(name: str, dtype: DType) -> tuple[Sample, ...]:
    """The samples of an op for an element type."""
    return tuple(TABLE[name].make(registry[name], dtype))


# -- from samples to functions ---------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A function and arguments for it; ``op`` is what is tested, on ``operands``."""

    function: Function
    arguments: list[np.ndarray]
    op: Op
    operands: list[Value]


def generic(sample: Sample) -> Sizes:
    """Sizes that differ from each other and from 0 and 1."""
    return {name: _USUAL[name] for name in sample.symbols}


def random_sizes(sample: Sample, rng: np.random.Generator) -> Sizes:
    """Random sizes up to 5."""
    return {name: int(rng.integers(_LOWEST[name], 6)) for name in sorted(sample.symbols)}


def vector_sizes(sample: Sample, rng: np.random.Generator) -> Sizes:
    """For one symbol a length at which vectors begin or end, small ones for the others."""
    sizes = random_sizes(sample, rng)
    if sizes:
        name = sorted(sizes)[int(rng.integers(len(sizes)))]
        sizes[name] = max(_LOWEST[name], int(rng.choice([0, 1, 7, 8, 9, 15, 16, 17, 257])))
    return sizes


def edges(sample: Sample) -> Iterator[Sizes]:
    """Each symbol at its lowest value (0 or 1) alone, and all at 1."""
    for name in sorted(sample.symbols):
        yield {**generic(sample), name: _LOWEST[name]}
    yield dict.fromkeys(sample.symbols, 1)


Views = Callable[[np.random.Generator, tuple[int, ...]], tuple[tuple[int, ...], Callable[[Value], Value]]]


def concrete(sample: Sample, sizes: Sizes, rng: np.random.Generator, views: Views | None = None,
             fill: Callable[[Operand, tuple[int, ...]], np.ndarray] | None = None) -> Case:
    """The function of one op at these sizes; its operands are parameters, or views of parameters."""
    parameters, operands, arrays = [], [], []
    for operand in sample.operands:
        shape = shape_of(operand.shape, sizes)
        show: Callable[[Value], Value] | None = None
        if views is not None:
            shape, show = views(rng, shape)
        parameter = nv.Parameter(operand.dtype, shape)
        parameters.append(parameter)
        operands.append(parameter.value if show is None else show(parameter.value))
        array = operand.array(shape, sizes, rng) if fill is None else fill(operand, shape)
        arrays.append(np.asarray(array).reshape(shape))
    op = sample.build(lambda length: evaluate(length, sizes), *operands)
    return Case(_function(op, parameters), arrays, op, operands)


def symbolic(sample: Sample, sizes: Sizes, rng: np.random.Generator) -> Case:
    """The function of one op with symbols in its shapes, and arguments of these sizes.

    One more parameter has each symbol as a length, so that all of them are bound.
    """
    parameters = [nv.Parameter(operand.dtype, operand.shape) for operand in sample.operands]
    names = sorted(sample.symbols)
    carrier = nv.Parameter(uint8, tuple([_SYMBOLS[name] for name in names]))
    arrays = [operand.array(shape_of(operand.shape, sizes), sizes, rng) for operand in sample.operands]
    op = sample.build(lambda length: length, *parameters)
    carried = np.zeros([sizes[name] for name in names], np.uint8)
    return Case(_function(op, [*parameters, carrier]), [*arrays, carried], op, [entry.value for entry in parameters])


_SYMBOLS = {"N": N, "M": M, "K": K, "A": A, "B": B}


def _function(op: Op, parameters: Sequence[nv.Parameter]) -> Function:
    if op.outputs:
        return Function(op.outputs, parameters)
    return Function(parameters[:1], parameters, effects=[op])
