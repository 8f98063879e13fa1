"""Registers compute as NumPy does, and know the number that a constant has."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I1, I32, I64, PTR, Type
from tests.transformers.cpu.running import compiled

NUMBERS = {I64: np.array([-2**40, -7, -1, 0, 3, 5, 2**33, 9]),
           F64: np.array([-1.5, 0.0, np.nan, 2.25, np.inf, -7.0, 1e-3, 3.0])}
OF_BOTH = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "negate": lambda x, y: -x, "from a number": lambda x, y: 3 - x, "by a number": lambda x, y: 3 * x + 2,
    "less": lambda x, y: x < y, "at most": lambda x, y: x <= y, "greater": lambda x, y: x > y,
    "at least": lambda x, y: x >= y,
}
OF_FLOATS = {"divide": lambda x, y: x / y, "reciprocal": lambda x, y: 1 / x}
OF_INTEGERS = {"and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
               "not": lambda x, y: ~x}
NAMED = {
    (I64, "shift_left"): lambda x, y: np.left_shift(x, y & 63),
    (I64, "shift_right"): lambda x, y: np.right_shift(x.view(np.uint64), (y & 63).view(np.uint64)).view(np.int64),
    (I64, "shift_right_signed"): lambda x, y: np.right_shift(x, y & 63),
    (I64, "below"): lambda x, y: x.view(np.uint64) < y.view(np.uint64),
    (I64, "below_or_equal"): lambda x, y: x.view(np.uint64) <= y.view(np.uint64),
    (I64, "equal"): np.equal, (I64, "not_equal"): np.not_equal, (F64, "equal"): np.equal,
    (F64, "not_equal"): np.not_equal,
}


def computed(build, type: Type, x: np.ndarray, y: np.ndarray, lanes: int) -> np.ndarray:
    """What compiled code computes from rows of two arrays, one after the other; truth values as 0 and 1."""
    b = Builder("compute", [(name, PTR) for name in "xyz"])
    result = np.zeros_like(x)
    for place in range(0, len(x), lanes):
        left, right = [b.load(b.offset(pointer, place, type), type.vector(lanes), 8) for pointer in b.arguments[:2]]
        value = build(left, right)
        if value.type.scalar == I1.scalar:
            value = value.cast("zext", I64).cast("bitcast", type)
        b.store(value, b.offset(b.arguments[2], place, type), 8)
    b.ret()
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(compiled(assemble([b])).address("compute"))
    function(*[array.ctypes.data for array in (x, y, result)])
    return result


CASES = [*[(type, build, build, name) for type in NUMBERS for name, build in OF_BOTH.items()],
         *[(F64, build, build, name) for name, build in OF_FLOATS.items()],
         *[(I64, build, build, name) for name, build in OF_INTEGERS.items()],
         *[(type, lambda x, y, name=name: getattr(x, name)(y & 63 if "shift" in name else y), meaning, name)
           for (type, name), meaning in NAMED.items()],
         (I64, lambda x, y: x.builder.intrinsic("smin", x, y), np.minimum, "smin"),
         (F64, lambda x, y: x.is_nan(), lambda x, y: np.isnan(x), "is_nan")]


@pytest.mark.usefixtures("silent_infinities")
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("type", "build", "meaning"), [case[:3] for case in CASES],
                         ids=[f"{name}-{type}" for type, _, _, name in CASES])
def test_registers_compute_as_numpy_does(type, build, meaning, lanes):
    x = NUMBERS[type]
    for shift in range(len(x)):
        y = np.roll(x, shift)
        expected = meaning(x, y)
        found = computed(build, type, x, y, lanes)
        if expected.dtype == bool:
            found, expected = found.view(np.int64), expected.astype(np.int64)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("type", "build"), [
    (F32, lambda x: x & x), (F32, lambda x: x.shift_left(1)), (F32, lambda x: x.below(x)), (I32, lambda x: x / x),
    (I32, lambda x: x.is_nan()), (F32, lambda x: x + x.builder.constant(F64, 1.0))])
def test_what_a_type_does_not_have_is_refused(type, build):
    with pytest.raises(InternalError):
        build(Register(Builder("refused"), type, "%x"))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("element", "number"), [(I32, 7), (I32, -12), (I64, 2**40), (F32, 1.5), (F64, -0.25),
                                                 (I64, 0), (F32, float("inf"))])
def test_a_constant_has_its_number(lanes, element, number):
    type = element if lanes == 1 else element.vector(lanes)
    assert Builder("numbers").constant(type, number).number == number


def test_other_registers_have_none():
    builder = Builder("numbers")
    x = builder.constant(I32, 3) + builder.emit(I32, "freeze i32 undef")
    assert x.number is None


def test_counters_may_be_hidden_from_llvm():
    texts = []
    for is_hidden in (False, True):
        builder = Builder("turns", has_opaque_counters=is_hidden)
        with builder.loop(0, 8):
            pass
        texts.append(builder.text())
    assert ["llvm.expect" in text for text in texts] == [False, True]
