"""Linear interpolation between bounds by a fraction, so that no rounding leaves the interval.

>>> import nervure as nv
>>> x, low, high = [nv.Parameter(nv.bfloat16, ()) for _ in range(3)]
>>> run = nv.transformers.make_transformer("interpreter").compile(nv.Function([Between(x, low, high)], [x, low, high]))
>>> [run([nv.bfloat16.numpy.type(entry) for entry in (k / 256, 1, 2)])[0].item() for k in (0, 128, 255)]
[1.0, 1.5, 1.9921875]
"""

from __future__ import annotations

from nervure.ir.kinds import Composite, Pointwise
from nervure.ir.op import Gradients, Value
from nervure.ops.comparison import Equal, Greater, GreaterEqual, Less
from nervure.ops.conversion import Bitcast, converted
from nervure.ops.selection import where
from nervure.types.dtype import DType, uint16, uint32, uint64
from nervure.types.element_groups import FLOATS

_WORDS: dict[int, DType] = {16: uint16, 32: uint32, 64: uint64}


class Between(Pointwise, Composite):
    """Maps x from [0, 1) to a number of [low, high): low + x * (high - low), rounded, or low if none exists. The
    bounds are finite; their distance may be more than the largest number.

    A number that rounds to high becomes the one before it. The derivative ignores that: it is high - low in x, 1 - x
    in low and x in high.
    """

    operand_names = "x low high"
    admits = frozenset([dtype for dtype in FLOATS if dtype.bits >= 16])
    sample = ("fraction", "low", "high")

    def decompose(self, x: Value, low: Value, high: Value) -> Value:
        dtype = low.dtype
        value = converted(_on_the_line(*[converted(operand, dtype.compute) for operand in (x, low, high)]), dtype)
        value = where(GreaterEqual(value, high), _before(high), value)
        return where(Less(value, low), low, value)

    def vjp(self, gradient: Value, x: Value, low: Value, high: Value) -> Gradients:
        return gradient * (high - low), gradient * (1 - x), gradient * x


def _on_the_line(x: Value, low: Value, high: Value) -> Value:
    """Returns low + x * (high - low), computed at half the size: halves of finite bounds have a finite distance."""
    start = low * 0.5
    return (start + x * (high * 0.5 - start)) * 2.0


def _before(x: Value) -> Value:
    """Returns the largest number below a finite one: the word before for x > 0, the one after for x < 0."""
    dtype = _WORDS[x.dtype.bits]
    word = Bitcast(x, dtype).output
    smallest = word.full((1 << x.dtype.bits - 1) + 1)  # the negative number next to 0
    word = where(Greater(x, x.full(0)), word - 1, where(Equal(x, x.full(0)), smallest, word + 1))
    return Bitcast(word, x.dtype).output
