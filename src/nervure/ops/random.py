"""Random numbers: each is a pure function of (seed, step, stream, its own index).

The generator is Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a
cipher that turns a counter of two words into two words of noise, under a key of two words. The key of an op is the
cipher of its stream, under a key that is the cipher of the step under the seed; block k of its noise is the cipher of
k. So the numbers do not depend on the order in which they are made, on threads, or on other draws.

>>> import nervure as nv
>>> seed, step = nv.Parameter(nv.uint32, (2,)), nv.Parameter(nv.uint64, ())
>>> RandomUniform(seed, step, stream=7, shape=(2, 3))
f32[2, 3] RandomUniform(Parameter, Parameter)

Every op takes the seed, uint32 (low word, high word), and the step, uint64. The words, and everything that integers
and exact arithmetic compute from them, have the same bits on every transformer.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import ml_dtypes

from nervure.errors import DtypeMismatch, InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Access, Composite, Structure, Structured, identity_access
from nervure.ir.op import Op, Operand, Value, in_front
from nervure.ops.arithmetic import Add, BitwiseOr, ShiftLeft, ShiftRight
from nervure.ops.comparison import Less
from nervure.ops.conversion import Convert, converted
from nervure.ops.exponential import Log, Sqrt
from nervure.ops.iota import Iota
from nervure.ops.scalar import Scalar, ScalarNamespace
from nervure.ops.tracing import TracingNamespace
from nervure.ops.trigonometric import Cos, Sin
from nervure.ops.views import Broadcast, Concatenate, Reshape, Slice
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, index, product
from nervure.types.dtype import DType, float32, float64, uint32, uint64
from nervure.types.element_groups import FLOATS, describe_types

Words = tuple[Scalar, Scalar]
"""Two scalars of type uint32, the low word first."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(s: ScalarNamespace[Scalar], key: Words[Scalar], counter: Words[Scalar]) -> Words[Scalar]:
    """Computes the Threefry-2x32-20 cipher of a counter under a key, over scalars of type uint32."""
    third = s.bitwise_xor(s.bitwise_xor(key[0], key[1]), s.constant(_PARITY, uint32))
    keys = (*key, third)
    x, y = s.add(counter[0], key[0]), s.add(counter[1], key[1])
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = s.add(x, y)
            y = s.bitwise_xor(_rotated(s, y, distance), x)
        x = s.add(x, keys[(group + 1) % 3])
        y = s.add(s.add(y, keys[(group + 2) % 3]), s.constant(group + 1, uint32))
    return x, y


def _rotated(s: ScalarNamespace[Scalar], x: Scalar, distance: int) -> Scalar:
    """Rotates the bits of x to the left."""
    return s.bitwise_or(s.shift_left(x, s.constant(distance, uint32)),
                        s.shift_right(x, s.constant(32 - distance, uint32)))


def _traced(shape: tuple[DimLike, ...]) -> ScalarNamespace[Value]:
    """Returns the scalars that are values of a graph, of one shape."""
    return cast("ScalarNamespace[Value]", TracingNamespace(shape))


def _halves(s: ScalarNamespace[Scalar], x: Scalar) -> Words[Scalar]:
    """Splits a uint64 into two words, the low one first."""
    return s.wrap(x, uint32), s.wrap(s.shift_right(x, s.constant(32, uint64)), uint32)


class RandomKey(Structured):
    """The key of one stream at one step, as two words: ``threefry(threefry(seed, step), stream)``."""

    signature = "low:uint32[] high:uint32[] step:uint64[] -> first:uint32[] second:uint32[]"
    stream = field.integer()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"stream": _checked_stream(self, self.stream)}

    def structure(self, *types: BasicTensorDescription) -> Structure:
        return Structure(domain=(), reads=(Access(()),) * 3, writes=(Access(()),) * 2, body=self._words)

    def _words(self, s: ScalarNamespace[Scalar], low: Scalar, high: Scalar, step: Scalar) -> Words[Scalar]:
        words = s.constant(self.stream & 0xFFFFFFFF, uint32), s.constant(self.stream >> 32, uint32)
        return threefry(s, threefry(s, (low, high), _halves(s, step)), words)

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Words[Value]:
        low, high, step = [x if is_mapped else in_front(x, length)
                           for x, is_mapped in zip(operands, mapped, strict=True)]
        return self._words(_traced((length,)), low, high, step)


class RandomBlocks(Structured):
    """Blocks 0 to count - 1 of the noise under a key, as two tensors of words: ``threefry(key, k)``."""

    signature = "low:uint32[] high:uint32[] -> first:uint32[count] second:uint32[count]"
    cost = 100
    count = field.dimension()

    def structure(self, *types: BasicTensorDescription) -> Structure:
        def body(s: ScalarNamespace[Scalar], low: Scalar, high: Scalar) -> Words[Scalar]:
            return threefry(s, (low, high), _halves(s, s.wrap(s.index(index(0)), uint64)))

        return Structure(domain=(self.count,), reads=(Access(()),) * 2, writes=(identity_access(1),) * 2, body=body)

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Words[Value]:
        shape = length, self.count
        s, number = _traced(shape), Iota(shape, 1, uint64).output
        low, high = [Broadcast(x, shape, (1,) if is_mapped else (0, 1)).output
                     for x, is_mapped in zip(operands, mapped, strict=True)]
        return threefry(s, (low, high), _halves(s, number))


class _Notes(threading.local):
    """The lists in which this thread notes ops of random numbers as they are made."""

    def __init__(self) -> None:
        self.lists: list[list[Op]] = []


_notes = _Notes()


@contextmanager
def noted_draws() -> Iterator[list[Op]]:
    """Notes the ops of random numbers that are made inside, so that they can draw for each of many elements.

    >>> with noted_draws() as draws:
    ...     _ = nv.uniform((2,)), nv.bernoulli((3,))
    >>> [type(op).__name__ for op in draws]
    ['RandomUniform', 'RandomBernoulli']
    """
    made: list[Op] = []
    _notes.lists.append(made)
    try:
        yield made
    finally:
        _notes.lists.pop()


def note_draw(op: Op) -> None:
    """Notes an op that draws random numbers in the lists of ``noted_draws`` that are open."""
    for made in _notes.lists:
        made.append(op)


class Random(Composite, abstract=True):
    """A tensor of random numbers."""

    stream = field.integer()
    shape = field.shape()

    def __init__(self, *arguments: object, **attributes: object) -> None:
        super().__init__(*arguments, **attributes)
        note_draw(self)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"stream": _checked_stream(self, self.stream)}

    def for_each(self, length: DimLike) -> Op:
        """Returns the op that draws numbers for many tensors at once, with one more dimension in front."""
        return type(self)(*self.operands, **{**self.attributes, "shape": (length, *self.shape)})

    def blocks(self, seed: Value, step: Value, count: DimLike) -> tuple[Value, ...]:
        """Returns ``count`` blocks of the noise of this op's stream, as two tensors of words."""
        low, high = [Reshape(Slice(seed, [(k, 1, 1)]), ()) for k in (0, 1)]
        return RandomBlocks(*RandomKey(low, high, step, self.stream).outputs, count).outputs


class RandomFloats(Random, abstract=True):
    """Random numbers of type ``dtype``, a float type of at least 16 bits."""

    signature = "seed:uint32[2] step:uint64[] -> x:dtype[~shape]"
    admits = frozenset([dtype for dtype in FLOATS if dtype.bits >= 16])
    dtype = field.dtype(float32)

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if self.dtype not in self.admits:
            raise self.fail(DtypeMismatch, f"no random numbers of type {self.dtype.name}", operand="dtype",
                            got=self.dtype.name, expected=describe_types(self.admits), help="insert ops.Convert")
        return super().normalise(*types)


class RandomBits(Random):
    """Random words, uint32: element i is word i % 2 of block i // 2."""

    signature = "seed:uint32[2] step:uint64[] -> words:uint32[~shape]"

    def decompose(self, seed: Value, step: Value) -> Value:
        count = product(self.shape)
        return _interleaved(self.blocks(seed, step, (count + 1) // 2), self.shape)


class RandomUniform(RandomFloats):
    """Random numbers from [0, 1): multiples of 2**-p, all equally likely, where p is the precision of the type.

    Up to float32, element i is made of the upper bits of word i % 2 of block i // 2; in float64, of both words of
    block i.
    """

    def decompose(self, seed: Value, step: Value) -> Operand:
        count = product(self.shape)
        if self.dtype is float64:
            return Reshape(_fraction(_wide_draws(self.blocks(seed, step, count)), float64), self.shape)
        words = self.blocks(seed, step, (count + 1) // 2)
        return _interleaved(tuple([_fraction(_draws(entry, self.dtype), self.dtype) for entry in words]), self.shape)


class RandomNormal(RandomFloats):
    """Random numbers from the normal distribution with mean 0 and variance 1, by the formula of Box and Muller (1958).

    Elements 2k and 2k + 1 are r cos(a) and r sin(a), where r = sqrt(-2 log u) and a = 2 pi v. u and v are made of the
    integers of elements 2k and 2k + 1 of RandomUniform; u is one step larger, in (0, 1]. Types below float32 are
    rounded from it.
    """

    def decompose(self, seed: Value, step: Value) -> Value:
        dtype, count = self.dtype.compute, product(self.shape)
        pairs = (count + 1) // 2
        first, second = self._draws(seed, step, pairs, dtype)
        u = _fraction(Add(first, first.full(1)).output, dtype)
        radius = Sqrt(Log(u) * -2.0)
        angle = _fraction(second, dtype) * (2 * math.pi)
        values = _interleaved((radius * Cos(angle), radius * Sin(angle)), self.shape)
        return converted(values, self.dtype)

    def _draws(self, seed: Value, step: Value, pairs: DimLike, dtype: DType) -> list[Value]:
        """Returns the integers from which the two numbers of each pair are made."""
        if dtype is not float64:
            return [_draws(words, dtype) for words in self.blocks(seed, step, pairs)]
        draws = Reshape(_wide_draws(self.blocks(seed, step, 2 * pairs)), (pairs, 2))
        return [Reshape(Slice(draws, [(0, pairs, 1), (side, 1, 1)]), (pairs,)).output for side in (0, 1)]


class RandomBernoulli(Random):
    """True with a probability p: if a uniform float32 number is below it."""

    signature = "seed:uint32[2] step:uint64[] -> x:bool[~shape]"
    probability = field.real()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        if not 0 <= self.probability <= 1:
            raise self.fail(InvalidArgument, "a probability is a number from 0 to 1", operand="probability",
                            got=self.probability, expected="0 to 1", help="compare a RandomUniform for anything else")
        return super().normalise(*types)

    def decompose(self, seed: Value, step: Value) -> Operand:
        uniform = RandomUniform(seed, step, self.stream, self.shape).output
        return Less(uniform, uniform.full(self.probability))


def _checked_stream(op: Op, stream: int) -> int:
    """Returns the number of a stream; InvalidArgument unless it fits in 64 bits."""
    if not 0 <= stream < 1 << 64:
        raise op.fail(InvalidArgument, "attribute stream is out of range", operand="stream", got=stream,
                      expected="0 to 2**64 - 1", help="number the streams from 0")
    return stream


def _precision(dtype: DType) -> int:
    """Returns the number of bits in the significand: 24 for float32."""
    return int(ml_dtypes.finfo(dtype.numpy).nmant) + 1


def _draws(words: Value, dtype: DType) -> Value:
    """Returns the upper bits of each word, as many as the type can hold."""
    return ShiftRight(words, words.full(32 - _precision(dtype))).output


def _wide_draws(blocks: tuple[Value, ...]) -> Value:
    """Returns 53 bits of each block, as uint64."""
    first, second = [Convert(words, uint64).output for words in blocks]
    return BitwiseOr(ShiftLeft(first, first.full(21)), ShiftRight(second, second.full(11))).output


def _fraction(draws: Value, dtype: DType) -> Value:
    """Returns integers of the type's precision as fractions with that many binary places, exactly."""
    return Convert(draws, dtype) * 2.0 ** -_precision(dtype)


def _interleaved(parts: tuple[Value, ...], shape: tuple[DimLike, ...]) -> Value:
    """Interleaves two tensors, in row-major order; an element left over is dropped."""
    pairs, count = parts[0].shape[0], product(shape)
    columns = [Reshape(part, (pairs, 1)) for part in parts]
    flat = Reshape(Concatenate(*columns, axis=1), (2 * pairs,))
    return Reshape(Slice(flat, [(0, count, 1)]), shape).output
