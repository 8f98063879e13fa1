"""Registers know the number that a constant has."""

from __future__ import annotations

import pytest

from nervure.transformers.cpu.compile.llvm.builder import Builder
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I32, I64


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
    assert ["asm" in text for text in texts] == [False, True]
