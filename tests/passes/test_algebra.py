"""Every row of the algebra against the interpreter, on every combination of special values of every type."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.passes import algebra, reduction_algebra
from nervure.passes.algebra import is_lossless
from nervure.passes.pattern import Anything, Node, Number, Pattern
from nervure.passes.rewrite import Rewriter, Row
from nervure.types.dtype import DType, all_dtypes, bool_
from tests.passes.agreement import assert_agree, assert_same_bits, classes, grids, run, special_values, twice_negated

DTYPES = (nv.float32, nv.float64, nv.float16, nv.bfloat16, nv.float8_e4m3fn, nv.float8_e4m3fnuz, nv.int8, nv.uint8,
          nv.int64, bool_, nv.complex64)
NUMBERS = (2.0, -0.25, 3.0, 0.0, -0.0, float("inf"), 1e-40)


def leaves(pattern: Pattern) -> Iterator[Pattern]:
    """The captures (each name once) and the numbers of a pattern."""
    seen = set()
    stack = [pattern]
    while stack:
        entry = stack.pop()
        if isinstance(entry, Node):
            stack.extend(entry.operands)
        elif not (isinstance(entry, Anything) and entry.name in seen):
            seen.add(entry.name)
            yield entry


def built(pattern: Pattern, table: dict[Any, Any]) -> Any:
    """The graph that a pattern describes, on values for its leaves."""
    if isinstance(pattern, Node):
        attributes = dict(pattern.attributes)
        if issubclass(pattern.op_class, (ops.Convert, ops.Bitcast)):
            attributes.setdefault("dtype", table["dtype"])
        return pattern.op_class(*[built(operand, table) for operand in pattern.operands], **attributes)
    return table[pattern.name if isinstance(pattern, Anything) else id(pattern)]


def instances(row: Row) -> Iterator[Function]:
    """Functions of the row's form, for all types and numbers with which they can be built."""
    entries = list(leaves(row.pattern))
    free = any(isinstance(entry, Number) and entry.wanted is None for entry in entries)
    for dtype in DTYPES:
        for types in dict.fromkeys(itertools.product((dtype, bool_), repeat=len(entries))):
            for number in NUMBERS if free else (None,):
                captures = [(entry, kind) for entry, kind in zip(entries, types) if isinstance(entry, Anything)]
                parameters = {entry.name: nv.Parameter(kind, (len(grid),)) for (entry, kind), grid
                              in zip(captures, grids([kind for _, kind in captures]))}
                shape = next(iter(parameters.values())).shape
                try:
                    table = {id(entry): ops.Full(number if entry.wanted is None else entry.wanted, kind, shape)
                             for entry, kind in zip(entries, types) if isinstance(entry, Number)}
                    root = built(row.pattern, {**parameters, **table, "dtype": dtype})
                except NervureError:
                    continue
                yield Function([root], list(parameters.values()))


@pytest.mark.parametrize("row", algebra.ROWS, ids=lambda row: row.name)
def test_every_row_is_exact(row):
    rewriter = Rewriter("row", [row])
    fired = 0
    for function in instances(row):
        outcome = rewriter.outcome(function)
        if outcome.fired:
            fired += 1
            arrays = grids([parameter.dtype for parameter in function.parameters])
            types = [str(parameter.type) for parameter in function.parameters]
            assert_agree(function, outcome.function, arrays, f"{row.name} on {types}")
    assert fired, "no instance of this row was rewritten"


STAYS = {
    "x + 0.0": lambda x: x + 0.0,
    "0.0 - x": lambda x: 0.0 - x,
    "x * 0": lambda x: x * 0.0,
    "x - x": lambda x: x - x,
    "x / 3": lambda x: x / 3.0,
    "x ** 2": lambda x: x ** 2.0,
    "-(x - 1)": lambda x: -(x - 1.0),
    "not (x < 1)": lambda x: ops.LogicalNot(x < 1.0),
    "x == x": lambda x: ops.Equal(x, x),
    "x <= x": lambda x: ops.LessEqual(x, x),
    "x / inf": lambda x: x / float("inf"),
    "integer and back": lambda x: ops.Convert(ops.Convert(x, nv.int32), nv.float32),
    "half and back": lambda x: ops.Convert(ops.Convert(x, nv.float16), nv.float32),
    "sum of sums": lambda x: ops.Sum(ops.Sum(ops.Reshape(x, (2, 2)), [0]), [0]),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_floats_forbid_stays(name):
    x = nv.Parameter(nv.float32, (4,))
    function = Function([STAYS[name](x)], [x])
    assert algebra.algebra(function) is function


def test_complex_numbers_are_not_multiplied_away():
    x = nv.Parameter(nv.complex64, (4,))
    function = Function([x * 1, x / 1, x * -1], [x])
    assert algebra.algebra(function) is function


def test_a_factor_that_its_type_rounds_is_refused():
    """The type holds 2**-9, its smallest number, but no 2**9."""
    x = nv.Parameter(nv.float8_e5m2, (4,))
    assert classes(algebra.algebra(Function([x / 2.0], [x]))) == ["Full", "Multiply"]
    y = nv.Parameter(nv.float8_e4m3fn, (4,))
    assert classes(algebra.algebra(Function([y / 2.0**-9], [y]))) == ["Full", "Divide"]


def test_bits_that_are_seen_as_a_truth_value_stay_one():
    """O37: a bool has one bit."""
    x = nv.Parameter(nv.uint8, (4,))
    function = Function([ops.Bitcast(ops.Bitcast(x, bool_), dtype) for dtype in (nv.uint8, nv.int8)], [x])
    after = algebra.algebra(function)
    assert_agree(function, after, [np.uint8([0, 1, 2, 200])])
    assert after is function


def test_rows_meet():
    x, y = nv.Parameter(nv.float32, (4,)), nv.Parameter(nv.float32, (4,))
    deep = twice_negated(x * 1.0) - -(ops.StopGradient(y).output / 1.0)
    assert classes(algebra.algebra(Function([deep], [x, y]))) == ["Add"]


@pytest.mark.parametrize("narrow", all_dtypes, ids=str)
def test_lossless_is_there_and_back(narrow):
    """On the interpreter, on every value of a small type and on special ones of a wide one."""
    if narrow.bits <= 16 and narrow.is_float:
        values = np.arange(1 << narrow.bits).astype(f"uint{narrow.bits}").view(narrow.numpy)
    elif narrow.bits <= 16 and narrow.is_integer:
        values = np.arange(int(narrow.minimum), int(narrow.maximum) + 1).astype(narrow.numpy)
    else:
        values = special_values(narrow)
    targets = [wide for wide in all_dtypes if is_lossless(narrow, wide)]
    x = nv.Parameter(narrow, values.shape)
    function = Function([ops.Convert(ops.Convert(x, wide), narrow) for wide in targets], [x])
    for wide, returned in zip(targets, run(function, [values])):
        assert_same_bits(returned, values, f"{narrow} to {wide}")


def test_lossless_knows_the_usual_pairs():
    assert is_lossless(nv.int8, nv.float16) and is_lossless(nv.uint16, nv.float32)
    assert is_lossless(nv.bfloat16, nv.float32) and not is_lossless(nv.uint8, nv.int8)
    assert is_lossless(nv.int32, nv.float64) and is_lossless(nv.float32, nv.float64) and is_lossless(bool_, nv.int8)
    assert not is_lossless(nv.uint16, nv.float16) and not is_lossless(nv.int32, nv.float32)
    assert not is_lossless(nv.int64, nv.float64) and not is_lossless(nv.float16, nv.bfloat16)
    assert not is_lossless(nv.float32, nv.int64)


OUTER = (nv.int8, nv.uint8, nv.int64, nv.uint32, nv.float16, nv.float32, nv.float8_e5m2, bool_, nv.complex64)


@pytest.mark.parametrize("narrow", all_dtypes, ids=str)
def test_conversions_through_a_wider_type(narrow):
    x = nv.Parameter(narrow, (len(special_values(narrow)),))
    chains = [ops.Convert(ops.Convert(x, wide, first), outer, second) for wide in all_dtypes for outer in OUTER
              for first, second in itertools.product(("saturate", "wrap"), repeat=2)]
    function = Function(chains, [x])
    outcome = algebra._rewriter.outcome(function)
    assert sum(outcome.fired.values()) > 0
    assert_agree(function, outcome.function, [special_values(narrow)], narrow)


# -- reductions --------------------------------------------------------------------------------------------

REDUCTIONS = (ops.Sum, ops.Prod, ops.Max, ops.Min, ops.Any, ops.All)
simplify = Rewriter("reductions", reduction_algebra.RULES)


def reduced(op_class: Any, dtype: DType) -> Any:
    """A reduction of a parameter, or None where the class does not take the type."""
    x = nv.Parameter(dtype, (len(special_values(dtype)),))
    try:
        return x, op_class(x, [])
    except NervureError:
        return x, None


@pytest.mark.parametrize("op_class", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_reduction_over_no_axes_is_its_operand(op_class, dtype):
    x, op = reduced(op_class, dtype)
    if op is None:
        return
    function = Function([op], [x])
    after = simplify(function)
    assert after.results == (x.value,)
    assert_agree(function, after, [special_values(dtype)])


@pytest.mark.parametrize("op_class", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions_of_reductions_and_broadcasts(op_class, dtype):
    if reduced(op_class, dtype)[1] is None:
        return
    rng = np.random.default_rng(1)
    array = rng.choice(special_values(dtype), (2, 3, 4))
    x = nv.Parameter(dtype, (2, 3, 4))
    wide = ops.Broadcast(x, (5, 2, 3, 3, 4), (0, 2))
    results = [op_class(wide, axes) for axes in ([0], [0, 2], [1], [0, 1])]
    results += [op_class(op_class(x, [1]), [1]), op_class(op_class(wide, [0]), [2, 3])]
    function = Function(results, [x])
    assert_agree(function, simplify(function), [array], f"{op_class.__name__} {dtype}")


def test_which_reductions_are_joined():
    x, n = nv.Parameter(nv.int32, (2, 3)), nv.Parameter(nv.float32, (2, 3))
    wide, wider = ops.Broadcast(x, (7, 2, 3), (0,)), ops.Broadcast(n, (7, 2, 3), (0,))
    assert classes(simplify(Function([ops.Sum(ops.Sum(x, [0]), [0])], [x]))) == ["Sum"]
    assert classes(simplify(Function([ops.Sum(ops.Sum(n, [0]), [0])], [n]))) == ["Sum", "Sum"]
    assert classes(simplify(Function([ops.Sum(wide, [0])], [x]))) == ["Full", "Multiply"]
    assert classes(simplify(Function([ops.Sum(wider, [0])], [n]))) == ["Broadcast", "Sum"]
    assert classes(simplify(Function([ops.Max(wider, [0])], [n]))) == []
    assert classes(simplify(Function([ops.Max(wider, [0, 1])], [n]))) == ["Broadcast", "Max"]


def test_a_broadcast_along_an_axis_that_may_be_empty_stays():
    n = nv.dim("N")
    x = nv.Parameter(nv.bool_, (3,))
    wide = ops.Broadcast(x, (n, 3), (0,))
    some = ops.Broadcast(x, (nv.dim("M", min=1), 3), (0,))
    assert classes(simplify(Function([ops.Any(wide, [0])], [x]))) == ["Broadcast", "Any"]
    assert classes(simplify(Function([ops.Any(some, [0])], [x]))) == []


@pytest.mark.parametrize("dtype", [nv.float32, nv.bfloat16, nv.int32, bool_], ids=str)
def test_a_product_with_a_repeated_tensor_is_computed_once(dtype):
    rng = np.random.default_rng(2)
    arrays = [rng.choice(special_values(dtype), shape) for shape in ((2, 3, 4), (4,))]
    x, y = nv.Parameter(dtype, (2, 3, 4)), nv.Parameter(dtype, (4,))
    full, wide = ops.Full(1, dtype, (4, 5)), ops.Broadcast(y, (2, 4, 5), (0, 2))
    results = [ops.Contract(x, full, (0, 1, 2), (2, 3), (0, 3, 1)),
               ops.Contract(full, x, (2, 3), (0, 1, 2), (3, 0, 1)),
               ops.Contract(x, wide, (0, 1, 2), (0, 2, 3), (3, 1, 0)),
               ops.Contract(full, ops.Full(1, dtype, (6,)), (0, 1), (2,), (2, 0, 1)),
               ops.Contract(x, ops.Full(1, dtype, (3, 4)), (0, 1, 2), (1, 2), (0,))]  # repeats along sums alone: stays
    function = Function(results, [x, y])
    after = simplify(function)
    assert [type(value.op).__name__ for value in after.results] == ["Broadcast"] * 4 + ["Contract"]
    assert [value.shape for value in after.results] == [value.shape for value in function.results]
    assert_agree(function, after, arrays)


def test_the_gradient_of_a_sum_of_a_product_is_no_product_of_matrices():
    n = nv.dim("n")
    x = nv.Parameter(nv.float32, (n, 4))
    ones = ops.Full(1, nv.float32, (n, 5))
    gradient = ops.Contract(x, ones, (0, 1), (0, 2), (1, 2))
    after = simplify(Function([gradient], [x]))
    contracted, = [value.op for value in after.results[0].op.operands]
    assert contracted.outputs[0].shape == (4,)
    for rows in (0, 1, 3):
        assert_agree(Function([gradient], [x]), after, [np.ones((rows, 4), np.float32)])


def test_the_number_of_repetitions_wraps():
    x = nv.Parameter(nv.int8, (3,))
    function = Function([ops.Sum(ops.Broadcast(x, (200, 3), (0,)), [0])], [x])
    after = simplify(function)
    assert after.results[0].op.operands[1].op.number == 200 - 256
    assert_agree(function, after, [np.int8([1, -3, 127])])
    assert run(after, [np.int8([1, -3, 127])])[0].dtype == np.int8
