"""Pairs of floats: a sum and a product lose nothing, a quotient almost nothing."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest

from nervure.transformers.cpu.cache.loader import load
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F64, PTR
from nervure.transformers.cpu.math.extended import Pair

OPERATIONS = {"add": Pair.__add__, "multiply": Pair.__mul__, "divide": Pair.__truediv__}


def on_pairs(operation: str, x: float, y: float) -> Fraction:
    b = Builder("run", [("x", F64), ("y", F64), ("target", PTR)])
    left, right, target = b.arguments
    result = OPERATIONS[operation](Pair(left), Pair(right))
    b.store(result.high, target)
    b.store(result.low, b.offset(target, 1, F64))
    b.ret()
    library, parts = load(compile_object(assemble([b]))), (ctypes.c_double * 2)()
    ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_double, ctypes.c_void_p)(library.address("run"))(x, y, parts)
    high, low = parts
    assert abs(low) <= np.spacing(abs(high)) * 2
    return Fraction(high) + Fraction(low)


@pytest.mark.parametrize("x, y", [(1.0, 1e-17), (np.pi, np.e), (1e10, 1 / 3), (-7.3, 0.1), (1.25, 1.4142135623730951)])
def test_arithmetic(x, y):
    exact_x, exact_y = Fraction(x), Fraction(y)
    assert on_pairs("add", x, y) == exact_x + exact_y
    assert on_pairs("multiply", x, y) == exact_x * exact_y
    quotient = exact_x / exact_y
    assert abs(on_pairs("divide", x, y) - quotient) <= abs(quotient) / 2**100
