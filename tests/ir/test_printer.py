"""Functions as text: the golden files, names, and what stands beside the text."""

from __future__ import annotations

import numpy as np
import pytest

from nervure import ops
from nervure.ir.function import Function
from nervure.ir.notation import array_text, float_text
from nervure.ir.printer import Names, print_function
from nervure.types.dim import dim
from nervure.types.dtype import float32
from tests.ir.functions import EXAMPLES, LONG, chain
from tests.ir.golden import check_golden


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden(name):
    check_golden(f"text/{name}.txt", print_function(EXAMPLES[name]()))


def test_the_text_of_a_function_is_the_same_each_time():
    function = EXAMPLES["training_step"]()
    assert print_function(function) == print_function(function) == print_function(EXAMPLES["training_step"]())


def test_names_are_unique():
    names = Names()
    assert [names.choose(label) for label in ("a", "a", None, "a_1", "a", None, "0", "")] == [
        "a", "a_1", "0", "a_1_1", "a_2", "1", '"0"', '""']


def test_a_hundred_thousand_equal_names_take_linear_time():
    names = Names()
    assert len({names.choose("x") for _ in range(100_000)}) == 100_000


def test_locations_are_printed_when_they_are_asked_for():
    function = EXAMPLES["training_step"]()
    text = print_function(function, locations=True)
    assert "functions.py\":" in text and " in encoder\n" in text
    assert "#" not in print_function(EXAMPLES["nested"]())


def test_long_arrays_go_to_the_table_once():
    array = np.arange(40, dtype=np.float32)
    function = Function([ops.Add(ops.Constant(array), ops.Constant(array)), ops.Constant(np.arange(3))])
    table: dict[str, np.ndarray] = {}
    text = print_function(function, arrays=table)
    assert text.count("array=@c0") == 2 and "array=array(i64[3], " in text
    assert list(table) == ["c0"] and np.array_equal(table["c0"], array)


def test_elements_may_be_left_out():
    text = print_function(Function([ops.Constant(np.zeros((40, 2), np.float32))]), elide=True)
    assert "array=array(f32[40, 2], <320 bytes>)" in text


def test_the_header_has_the_tightest_bounds():
    wide, narrow = ops.Parameter(float32, (dim("N"),)), ops.Parameter(float32, (dim("N", min=2, max=9) * 2,))
    assert "symbol N:2..9\n" in print_function(Function([wide], [wide, narrow]))


def test_a_host_function_is_shown():
    def observe(array):
        return None

    x = ops.Parameter(float32, (2,))
    call = ops.HostCall(x, function=observe, types=[])
    assert "function=<host function observe>" in print_function(Function([], [x], effects=[call]))


@pytest.mark.parametrize(("value", "text"), [
    (1.0, "0x1.0p+0"), (-0.0, "-0x0.0p+0"), (0.1, "0x1.999999999999ap-4"), (5e-324, "0x0.0000000000001p-1022"),
    (float("inf"), "inf"), (float("-inf"), "-inf"), (float("nan"), "nan"), (1.5e300, "0x1.1eb2d66005835p+997")])
def test_floats_are_hexadecimal(value, text):
    assert float_text(value) == text
    assert value != value or float.fromhex(text) == value


def test_arrays_are_bits():
    assert array_text(np.array([True, False])) == "array(bool[2], 01 00)"
    assert array_text(np.array(1 + 2j, np.complex64)) == "array(c64[], 3f800000 40000000)"
    assert array_text(np.zeros((0, 3))) == "array(f64[0, 3])"
    assert array_text(np.arange(4, dtype=">i2").reshape(2, 2).T) == "array(i16[2, 2], 0000 0002 0001 0003)"


def test_a_long_chain():
    text = print_function(chain(LONG))
    assert text.count("\n") == LONG + 4 and f"%{LONG} = Negative(%{LONG - 1})" in text
