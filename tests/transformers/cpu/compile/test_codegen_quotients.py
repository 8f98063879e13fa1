"""Quotients and remainders that loops count: what they are, and that nothing is divided on the way."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.divisions import counted_divisions
from nervure.kernel.parser import parse_kernel
from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.target import Target
from tests.transformers.cpu.running import check

TEXT = """
kernel turned(out y: i64[{size}]):
  symbol N
  symbol A:1..
  for i < 5 parallel:
    for j < N + 3:
      for k < 4{vector}:
        v0 = index {expression}
        y[(4*N + 12)*i + 4*j + k] = v0
"""
COUNTED = ["(j + i) % A", "j//3 + 5*(j % 3)", "(N*i + j + 7)//A % 2", "(j + 2)//A + j % A + k", "(j + i//2) % 3 * k"]
DIVIDED = ["(2*j + i)//A", "(j + k) % 3", "j//N", "(j - 5)//A", "j//(i + 1)", "j % (N - A)"]


def kernel(expression: str, vector: str = ""):
    return parse_kernel(TEXT.format(size="20*N + 60", expression=expression, vector=vector))


@pytest.mark.parametrize("vector", ["", " vector"])
@pytest.mark.parametrize("expression", [*COUNTED, *DIVIDED])
def test_they_are_those_of_a_division(expression, vector):
    for n, a in ((0, 1), (7, 1), (7, 2), (9, 100), (40, 7)):
        check(kernel(expression, vector), {"y": np.zeros(20 * n + 60, np.int64)}, {"N": n, "A": a}, (8, 32))


def test_they_are_counted_where_the_dividend_grows_by_one_and_the_divisor_stays():
    inner = [kernel(expression).body[0].body[0] for expression in [*COUNTED, *DIVIDED]]
    assert [bool(counted_divisions(loop)) for loop in inner] == [True] * len(COUNTED) + [False] * len(DIVIDED)


def test_a_quotient_and_its_remainder_are_one_division_before_the_loop():
    text = generate(kernel("j//A + 5*(j % A)"), Target.avx2()).text
    assert text.count("udiv") == 1 and "sdiv" not in text and text.index("udiv") < text.index("loop1:")


def test_what_differs_from_lane_to_lane_is_divided():
    text = """
kernel turned(in x: i64[60], out y: i64[20]):
  for i < 20{vector}:
    y[i] = 0_i64
    for j < 3:
      v0 = x[3*i + (i + j) % 3]
      y[i] add = v0
"""
    x = np.arange(60)
    for vector in ("", " vector"):
        check(parse_kernel(text.format(vector=vector)), {"x": x, "y": np.zeros(20, np.int64)}, {}, 32)
