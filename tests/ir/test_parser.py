"""Text to functions: the inverse of printing, and what is said about text that is wrong."""

from __future__ import annotations

import os
import random
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given

from nervure import ops
from nervure.errors import FormatError, Location, NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import ReadVariable
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import difference
from nervure.ir.variable import Variable
from nervure.ir.verify import verify
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import bounds, dim
from nervure.types.dtype import all_dtypes, float32
from nervure.types.layout import row_major
from tests.ir.functions import EXAMPLES, LONG, Apply, chain, functions

DEEP = bool(os.environ.get("DEEP_TESTS"))


def assert_round_trip(function, **options):
    text = print_function(function, **options)
    again = parse_function(text)
    assert difference(function, again) is None
    assert print_function(again, **options) == text
    verify(again)
    return again


@pytest.mark.parametrize("locations", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_print_parse_print(name, locations):
    assert_round_trip(EXAMPLES[name](), locations=locations)


@given(functions())
def test_print_parse_print_of_random_functions(function):
    assert_round_trip(function)


def test_names_labels_and_flags_come_back():
    function = parse_function(print_function(EXAMPLES["training_step"]()))
    assert function.name == "training step"
    assert [op.name for op in function.parameters] == ["x", "other images"]
    assert [value.output.labels for value in function.parameters] == [("N", "feature axis"), (None, "feature axis")]
    assert [(v.name, v.trainable, v.persistent) for v in function.variables] == [
        ("w", True, True), ("w_1", False, True), (None, False, False)]
    assert bounds(function.parameters[0].shape[0]) == (1, 4096)


def test_gaps_come_back():
    """A322: strides and sizes, of one dimension, too."""
    for shape, sizes in (((2, 3), (2, 4)), ((3,), (8,)), ((2, 3), (5, 3))):
        w = Variable(BasicTensorDescription(float32, shape, layout=row_major(shape, sizes)))
        again = assert_round_trip(Function([ReadVariable(w).output], []))
        assert again.variables[0].type.layout == row_major(shape, sizes)


def test_locations_and_scopes_come_back():
    function = EXAMPLES["training_step"]()
    again = parse_function(print_function(function, locations=True))
    before, after = [[(op.location, op.provenance.scope) for op in entry.operations if op not in entry.parameters]
                     for entry in (function, again)]
    assert before == after and ("encoder" in {scope for _, scope in after})


def test_a_place_is_the_line_of_the_text():
    function = parse_function(print_function(EXAMPLES["nested"]()), source="model.txt")
    assert function.results[0].op.location == Location("model.txt", 13)


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_arrays_of_every_element_type_come_back_bit_for_bit(dtype):
    values = np.random.default_rng(0).integers(0, 256, (3, 5 * dtype.itemsize), np.uint8)
    if dtype.kind == "bool" or dtype.bits < 8:
        values &= 1 if dtype.kind == "bool" else (1 << dtype.bits) - 1
    array = values.view(dtype.numpy)
    for given_array in (array, array.T, array[:0], array[1, 2]):
        constant = ops.Constant(np.asarray(given_array))
        again = parse_function(print_function(Function([constant]))).results[0].op.array
        assert again.dtype == dtype.numpy and again.shape == constant.array.shape
        assert again.tobytes() == np.ascontiguousarray(constant.array).tobytes()


@pytest.mark.parametrize("number", [True, 3, -2**63, 2**64 - 1, 0.1, -0.0, float("inf"), float("nan"), 1 - 0.0j,
                                    complex("nan+infj")])
def test_numbers_come_back(number):
    dtype = {bool: "bool", int: "u64" if number == 2**64 - 1 else "i64", float: "f64", complex: "c128"}[type(number)]
    full = ops.Full(number, dtype, ())
    again = parse_function(print_function(Function([full]))).results[0].op
    assert repr(again.number) == repr(full.number)


def test_arrays_beside_the_text():
    function = Function([ops.Constant(np.arange(100))])
    table: dict[str, np.ndarray] = {}
    text = print_function(function, arrays=table)
    assert difference(parse_function(text, arrays=table), function) is None
    with pytest.raises(FormatError, match="there is no array @c0"):
        parse_function(text)


def test_variables_of_the_table_are_used():
    function = EXAMPLES["training_step"]()
    table: dict = {}
    text = print_function(function, variables=table)
    assert list(table) == ["w", "w_1", "0"]
    assert parse_function(text, variables=table).variables == function.variables


def test_a_function_that_is_held_twice_is_one_function():
    function = parse_function(print_function(EXAMPLES["nested"]()))
    outer = function.results[0].op.body
    assert outer.results[0].op.body is function.results[1].op.body


def test_deep_nesting_of_functions():
    x = ops.Parameter(float32, ())
    function = Function([x], [x])
    for _ in range(1500):
        x = ops.Parameter(float32, ())
        function = Function([Apply(x, body=function)], [x])
    assert_round_trip(function)


def test_long_chains_and_wide_ops():
    assert_round_trip(chain(LONG))
    x = ops.Parameter(float32, (1,))
    assert_round_trip(Function([ops.Concatenate(*[x] * LONG, axis=0)], [x]))


# -- what is wrong -------------------------------------------------------------------------------------------------

GOOD = """nervure 1
symbol N:1..64
variable $w: f32[2] trainable
function f(%x: f32[N, 2], %y: f32[N, 2]) {
  f32[N, 2] %0 = Add(%x, %y)
  f32[2] %total = Sum(%0, axes=(0,))
  update $w: f32[2] = %total
  return %total
}
"""


def fails(old, new, text=GOOD):
    assert old in text
    with pytest.raises(FormatError) as caught:
        parse_function(text.replace(old, new, 1))
    return caught.value


def test_the_example_is_right():
    parse_function(GOOD)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("nervure 1", "nervure 2", "line 1: the format 2 is not known"),
    ("nervure 1", "nerv", "line 1: this is no text of a function"),
    ("nervure 1", "nervure 1 2", "line 1: something stands after the end"),
    ("symbol N:1..64\n", "", "line 3: the symbol N is not declared"),
    ("symbol N:1..64", "symbol N:64..1", "line 2: the bounds of the symbol N leave it no value"),
    ("symbol N:1..64", "symbol N\nsymbol N", "line 3: the symbol N cannot be declared here"),
    ("symbol", "cymbal", "line 2: cymbal declares nothing"),
    ("trainable", "trained", "line 3: something stands after the end"),
    ("variable $w: f32[2] trainable\n", "", "line 6: there is no variable $w"),
    ("update $w: f32[2] = %total", "", "line 9: nothing uses $w"),
    ("f32[2] trainable", "f32[3]", "line 9: an update must have the variable's type"),
    ("f32[2] trainable", "f32[2] order (1) trainable", "line 3: "),
    ("f32[2] trainable", "f32[2] strides (1,) sizes (1,) trainable", "line 3: "),
    ("f32[2] trainable", "f32[2] strides (0,) sizes (4,) trainable", "line 3: "),
    ("f32[2] trainable", "f32[2] strides (4, 1) sizes (2, 4) trainable", "line 3: "),
    ("f32[2] trainable", "f32[2] strides (1,) trainable", "line 3: sizes is missing"),
    ("f32[2] trainable", "f32[2] order (0, 0) trainable", "line 3: "),
    ("f32[2] trainable", "f32[2] order () trainable", "line 3: a dimension is missing"),
    ("f32[2] trainable", "f32[2] order trainable", "line 3: ( is missing"),
    ("%y: f32[N, 2]", "%y: f33[N, 2]", "line 4: this is not an element type"),
    ("%y: f32[N, 2]", "%x: f32[N, 2]", "line 4: %x is there already"),
    ("%y: f32[N, 2]", "%y: f32[N, 2", "line 4: ] is missing"),
    ("%y: f32[N, 2]", "%y: f32[N, -2]", "line 4: a length cannot be negative"),
    ("%y: f32[N, 2]", "%y: f32[N, %0]", "line 4: the symbol %0 is not declared"),
    ("%y: f32[N, 2]", "%y: f32[N, 3]", "line 5: the operands differ in shape"),
    ("%y: f32[N, 2]", "%y: f32[N, (((2]", "line 4: a parenthesis is not closed"),
    ("%y: f32[N, 2]", "%y: f32[4611686018427387904, 2]", "line 4: a tensor of this shape is past"),
    ("  f32[N, 2] %0 =", "  f32[2, 2] %0 =", "line 5: the types differ from those that are written"),
    ("%0 = Add(%x, %y)", "%0 = Add(%x, %z)", "line 5: there is no value %z"),
    ("%0 = Add(%x, %y)", "%0 = Add(%x)", "line 5: wrong number of operands"),
    ("%0 = Add(%x, %y)", "%0 = Ad(%x, %y)", "line 5: no op is named Ad"),
    ("Add(%x, %y)", "Add(%x, %y", "line 5: an operand, an attribute such as axes=, or ) is missing"),
    ("%0 = Add(%x, %y)", "%0 = Add(%x, %y) 3", "line 5: something stands after the end"),
    ("%0 = Add(%x, %y)", "%0 = (%x, %y)", "line 5: an op is missing"),
    ("%0 = Add(%x, %y)", "= Add(%x, %y)", "line 5: the name of the result is missing"),
    ("  f32[N, 2] %0 =", "  %0 =", "line 5: a type is missing"),
    ("axes=(0,)", "axis=(0,)", "line 6: no attribute axis is due here"),
    ("axes=(0,)", "axes=(0,), axes=(0,)", "line 6: no attribute axes is due here"),
    (", axes=(0,)", "", "line 6: attribute axes is missing"),
    ("axes=(0,)", "axes=(0x,)", "line 6: ) is missing"),
    ("axes=(0,)", "axes=(" + "9" * 41 + ",)", "line 6: a number is too long"),
    ("axes=(0,)", "axes=(7,)", "line 6: "),
    ("return %total", "return %total, %1", "line 8: there is no value %1"),
    ("return %total", "return %total\n  return %total", "line 9: something stands after return"),
    ("return %total", "", "line 9: a function has no results"),
    ("return %total", "effect %total\n  return", "line 8: %total has no effect"),
    ("  return %total\n}\n", "", "line 7: the text ends too early"),
    ("  return", "  f32[N, 2] %1 = Add(%x, %y)\n  return", "line 10: nothing needs %1"),
    ("\nfunction f", "\nfunction g() {\nreturn\n}\nfunction f", "line 12: nothing uses @g"),
    ("nervure 1", "", "line 2: this is no text of a function"),
])
def test_what_is_wrong_is_named(old, new, message):
    error = fails(old, new)
    assert error.message.startswith(message), error


def test_suggestions():
    assert fails("= Add(", "= Ad(").help.startswith("did you mean Add")
    assert fails("%total\n}", "%totel\n}").help == "did you mean %total?"
    assert fails("axes=(0,)", "axs=(0,)").help == "did you mean axes?"


def test_the_parts_of_a_type_error_come_through():
    error = fails("%y: f32[N, 2]", "%y: f32[N, 3]")
    assert (error.op, error.operand, error.got, error.expected) == ("Add", "2 (y)", "f32[N, 3]", "f32[N, 2]")
    assert error.location.file == __file__


@pytest.mark.parametrize("array", [
    "array(f32[1000000000], 00)", "array(f32[N])", "array(bool[1], 02)", "array(i4[1], 1f)", "array(f32[1], 0000000)",
    "array(f32[1], zz)", "array(f32[" + "1, " * 70 + "1], 00000000)", "@"])
def test_arrays_that_are_wrong(array):
    text = f"nervure 1\nsymbol N\nfunction f() {{\n  f32[1] %0 = Constant(array={array})\n  return %0\n}}\n"
    with pytest.raises(FormatError, match="line 4"):
        parse_function(text)


def test_a_host_function_cannot_be_read():
    x = ops.Parameter(float32, (2,))
    text = print_function(Function([ops.HostCall(x, function=np.sin, types=[x.type], effectful=False)], [x]))
    with pytest.raises(FormatError, match="a function of the host program has no text"):
        parse_function(text)


def test_a_type_that_is_provably_the_same_will_do():
    text = GOOD.replace("  f32[N, 2] %0", "  f32[N + 1 - 1, 2] %0")
    assert parse_function(text).results[0].op.operands[0].shape == (dim("N"), 2)


def mutations(text, count, seed):
    """Texts with one number made 10**9, one character changed, or one piece lost or doubled."""
    draw = random.Random(seed)
    starts = [at for at, character in enumerate(text) if character.isdigit()]
    for _ in range(count):
        kind, at = draw.randrange(4), draw.randrange(len(text))
        if kind == 0:
            at = draw.choice(starts)
            yield text[:at] + str(10**9) + text[at + 1:]
        elif kind == 1:
            yield text[:at] + chr(draw.randrange(32, 127)) + text[at + 1:]
        elif kind == 2:
            yield text[:at] + text[at + draw.randrange(1, 30):]
        else:
            yield text[:at] + text[max(0, at - draw.randrange(1, 30)):]


@pytest.mark.parametrize("name", EXAMPLES)
def test_mutated_text_gives_an_error_or_a_function(name):
    text = print_function(EXAMPLES[name]())
    tracemalloc.start()
    for mutated in mutations(text, 1000 if DEEP else 100, seed=len(text)):
        tracemalloc.reset_peak()
        before = time.process_time()
        try:
            verify(parse_function(mutated))
        except NervureError:
            pass
        assert time.process_time() - before < 1
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    tracemalloc.stop()
