"""The functions of :mod:`nervure.kernel.math` over registers of any number of lanes, as straight-line code.

>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(FUNCTIONS["sin"](*b.arguments))
>>> b.text().count("call <8 x float> @llvm.fma"), b.text().count("fmul"), sorted(b.declarations)[-2:]
(9, 2, ['sin_of_huge_angle.v8f32', 'two_over_pi'])

Rare arguments are computed in a separate function, a few lanes at once, which is called only if some lane needs it:
the hundreds of bits of pi that a huge angle needs must not be in every loop that computes a sine.
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.kernel.math import FUNCTIONS as _FUNCTIONS
from nervure.kernel.math import complex_functions, remainder
from nervure.kernel.math.namespace import DOUBLE, FLOAT, MathFunction
from nervure.transformers.cpu.compile.codegen.scalars import floats
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I8, I64, PTR, Type, make_type

Pair = tuple[Register, Register]

GROUP = 8
"""The lanes of rare arguments that are computed at once: for doubles, which most of them need, a register or two."""


class Registers:
    """The namespace over the registers of a builder, of one float type."""

    bits, is_nan = staticmethod(Register.bits), staticmethod(Register.is_nan)
    equal, not_equal = staticmethod(Register.equal), staticmethod(Register.not_equal)
    shift_left, shift_right = staticmethod(Register.shift_left), staticmethod(Register.shift_right)
    absolute, floor, truncate = staticmethod(floats.absolute), staticmethod(floats.floor), staticmethod(floats.truncate)

    def __init__(self, builder: Builder, type: Type) -> None:
        self.builder, self.type, self.format = builder, type, DOUBLE if type.bits == 64 else FLOAT

    @property
    def double(self) -> Registers:
        return Registers(self.builder, F64.vector(self.type.lanes))

    def constant(self, number: float) -> Register:
        return self.builder.constant(self.type, number)

    def fma(self, x: Register, y: Operand, z: Operand) -> Register:
        return self.builder.fma(x, y, z)

    def sqrt(self, x: Register) -> Register:
        return self.builder.intrinsic("sqrt", x)

    def round(self, x: Register) -> Register:
        return self.builder.intrinsic("roundeven", x)

    def where(self, condition: Register, x: Operand, y: Operand) -> Register:
        if not isinstance(x, Register) and not isinstance(y, Register):
            x = self.constant(x)
        return self.builder.where(condition, x, y)

    def below(self, x: Operand, y: Operand) -> Register:
        if isinstance(x, Register):
            return x.below(y)
        assert isinstance(y, Register)
        return self.builder.constant(y.type, x).below(y)

    def from_bits(self, x: Register) -> Register:
        return x.bitcast(self.type.element)

    def sign_bit(self, x: Register) -> Register:
        return x.bits() < 0

    def resized(self, x: Register, bits: int) -> Register:
        return x.cast("zext" if bits > x.type.bits else "trunc", make_type(f"i{bits}", 1))

    def from_integer(self, x: Register) -> Register:
        return x.cast("sitofp", self.type.element)

    def widened(self, x: Register) -> Register:
        return x.cast("fpext", F64)

    def narrowed(self, x: Register) -> Register:
        return x.cast("fptrunc", self.type.element)

    def table_word(self, name: str, content: bytes, start: Register) -> Register:
        b = self.builder
        return b.intrinsic("bswap", b.gather(b.offset(b.table(name, content), start, I8), I64))

    def repeated(self, x: Register, goes_on: Callable[[Register], Register],
                 change: Callable[[Register], Register]) -> Register:
        b = self.builder
        return b.repeat([x], lambda left: b.any_lane(goes_on(left)), lambda left: [change(left)], unlikely=True)[0]

    def rarely(self, needs: MathFunction, slow: MathFunction, x: Register, usual: Register) -> Register:
        b, group = self.builder, x.type.element.vector(min(x.type.lanes, GROUP))
        name = f"{slow.__name__.strip('_')}.{group.suffix}"

        def repaired() -> Register:
            arguments, results = b.allocate(x.type), b.allocate(x.type)
            b.store(x, arguments)
            b.store(usual, results)
            b.call(name, None, arguments, results, b.constant(I64, x.type.lanes))
            b.define(_group_by_group(name, group, needs, slow))
            return b.load(results, x.type)

        return b.choose(b.any_lane(needs(self, x)), repaired, lambda: usual, unlikely=True)


def _group_by_group(name: str, group: Type, needs: MathFunction, slow: MathFunction) -> Builder:
    b = Builder(name, [("arguments", PTR), ("results", PTR), ("lanes", I64)], attributes="noinline cold",
                linkage="internal")
    (arguments, results, lanes), s = b.arguments, Registers(b, group)
    with b.loop(0, lanes, group.lanes) as loop:
        x = b.load(b.offset(arguments, loop.index, group.element), group)
        needed = needs(s, x)
        with b.if_(b.any_lane(needed)):
            place = b.offset(results, loop.index, group.element)
            b.store(b.where(needed, slow(s, x), b.load(place, group)), place)
    b.ret()
    return b


def singles(like: Register) -> Registers:
    """Returns the namespace over float32, in as many lanes as a register has."""
    return Registers(like.builder, F32.vector(like.type.lanes))


def doubles(like: Register) -> Registers:
    """Returns the namespace over float64, in as many lanes as a register has."""
    return Registers(like.builder, F64.vector(like.type.lanes))


def _over_registers(function: Callable[..., Register]) -> Callable[..., Register]:
    return lambda *registers: function(Registers(registers[0].builder, registers[0].type), *registers)


def _over_pairs(function: Callable[..., Register | Pair]) -> Callable[..., Register | Pair]:
    return lambda *pairs: function(Registers(pairs[0][0].builder, pairs[0][0].type), *pairs)


FUNCTIONS: dict[str, Callable[..., Register]] = {
    **{name: _over_registers(entry) for name, entry in _FUNCTIONS.items()},
    "floordivide": _over_registers(remainder.floordivide), "modulo": _over_registers(remainder.modulo)}

COMPLEX: dict[str, Callable[..., Register | Pair]] = {
    name: _over_pairs(entry) for name, entry in complex_functions.FUNCTIONS.items()}
