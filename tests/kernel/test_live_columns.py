"""Dead columns of masked rows: left out where nothing needs them, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.interpret import interpret
from nervure.kernel.ir import Kernel
from nervure.kernel.live_columns import with_live_columns
from nervure.kernel.parser import parse_kernel
from nervure.kernel.printer import print_kernel
from nervure.kernel.shared_loops import OuterLoops, joined
from nervure.transformers.interpreter.scalar import NumPyScalars

ROWS, COLUMNS = 30, 41


def masked(low: str, high: str, function: str = "less_equal", hidden: str = "-inf_f32") -> Kernel:
    return parse_kernel(f"""
kernel masked(in x: f32[{ROWS * COLUMNS}], out s: f32[{ROWS * COLUMNS}]):
  for i < {ROWS} parallel:
    for j < {COLUMNS} vector:
      v0 = x[{COLUMNS}*i + j]
      v1 = index {low}
      v2 = index {high}
      v3 = {function}(v1, v2)
      v4 = where(v3, v0, {hidden})
      s[{COLUMNS}*i + j] = v4
""")


def reduced(combine: str, function: str = "") -> Kernel:
    return parse_kernel(f"""
kernel reduced(in s: f32[{ROWS * COLUMNS}], out t: f32[{ROWS}]):
  for i < {ROWS} parallel:
    v0 = reduce {combine} over j < {COLUMNS}:
      v1 = s[{COLUMNS}*i + j]
      {f"v2 = {function}(v1)" if function else "give v1"}
{"      give v2" if function else ""}
    t[i] = v0
""")


SQUARES = parse_kernel(f"""
kernel squares(in x: f32[{ROWS * COLUMNS}], out o: f32[{ROWS * COLUMNS}]):
  for i < {ROWS} parallel:
    for j < {COLUMNS} vector:
      v0 = x[{COLUMNS}*i + j]
      v1 = multiply(v0, v0)
      o[{COLUMNS}*i + j] = v1
""")


def weighed(function: str) -> Kernel:
    """The sum of what a function makes of s, and of o."""
    return parse_kernel(f"""
kernel weighed(in s: f32[{ROWS * COLUMNS}], in o: f32[{ROWS * COLUMNS}], out t: f32[{ROWS}]):
  for i < {ROWS} parallel:
    v0 = reduce add over j < {COLUMNS}:
      v1 = s[{COLUMNS}*i + j]
      v2 = exp(v1)
      v3 = o[{COLUMNS}*i + j]
      v4 = {function}(v2, v3)
      give v4
    t[i] = v0
""")


ENTROPY = parse_kernel(f"""
kernel entropy(in s: f32[{ROWS * COLUMNS}], out t: f32[{ROWS}]):
  for i < {ROWS} parallel:
    v0 = reduce add over j < {COLUMNS}:
      v1 = s[{COLUMNS}*i + j]
      v2 = exp(v1)
      v3 = multiply(v2, v1)
      give v3
    t[i] = v0
""")


def run(kernels: list[Kernel]) -> tuple[np.ndarray, str]:
    """The result of kernels in shared loops without dead columns, which is that of them as they are; and their text."""
    arrays = {"x": np.random.default_rng(0).standard_normal(ROWS * COLUMNS).astype(np.float32),
              "s": np.zeros(ROWS * COLUMNS, np.float32), "o": np.zeros(ROWS * COLUMNS, np.float32),
              "t": np.zeros(ROWS, np.float32)}
    others = {name: array.copy() for name, array in arrays.items()}
    for kernel in kernels:
        given = [buffer.name for buffer in kernel.buffers if buffer.is_given]
        interpret(kernel, {name: arrays[name] for name in given}, {}, NumPyScalars())
    shared = joined(kernels, ["s", "o"], OuterLoops((), ROWS, block=7, parts=2))
    made = with_live_columns(shared)
    kernel = made.kernel(made.nests)
    interpret(kernel, {name: others[name] for name in ("x", "t")}, {}, NumPyScalars())
    np.testing.assert_array_equal(others["t"].view(np.int32), arrays["t"].view(np.int32))
    return arrays["t"], print_kernel(kernel)


@pytest.mark.parametrize(("low", "high", "function"), [
    ("j", "i", "less_equal"), ("j", "i + 3", "less"), ("j - 2", "i", "less_equal"), ("j + 12", "i", "less_equal")])
@pytest.mark.parametrize("kernel", [reduced("add", "exp"), reduced("maximum")], ids=["sum", "maximum"])
def test_columns_behind_the_last_row_are_left_out(low, high, function, kernel):
    """A394: for each form of the condition; at least one column stays."""
    _, text = run([masked(low, high, function), kernel])
    assert f"over l < {COLUMNS}" not in text and f"for l < {COLUMNS}" not in text


@pytest.mark.parametrize("kernels", [
    [masked("j", "i"), reduced("add", "cos")], [masked("j", "i"), reduced("minimum", "exp")],
    [masked("j", "2*i"), reduced("add", "exp")], [masked("j", "i", hidden="-1.0_f32"), reduced("add", "exp")],
    [masked("i", "j"), reduced("add", "exp")], [masked("j", "i"), ENTROPY]], ids=range(6))
def test_columns_that_something_needs_stay(kernels):
    """A394: those of other functions, of a minimum, of other conditions and numbers, and those in front of sums; where
    0 meets -inf the sum is NaN.
    """
    _, text = run(kernels)
    assert f"over l < {COLUMNS}" in text and f"for l < {COLUMNS} vector" in text


def test_columns_of_other_values_are_left_out_where_they_are_multiplied_by_zero():
    """A394: what they are is not known, and nothing needs it."""
    _, text = run([masked("j", "i"), SQUARES, weighed("multiply")])
    assert f"over l < {COLUMNS}" not in text and f"for l < {COLUMNS}" not in text


def test_columns_of_other_values_stay_where_they_are_added():
    """A394: even though those of the masked ones are 0."""
    _, text = run([masked("j", "i"), SQUARES, weighed("add")])
    assert f"over l < {COLUMNS}" in text and text.count(f"for l < {COLUMNS} vector") == 2
