"""Simplified kernels mean what they meant: by rule, and by running random kernels before and after."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nervure.kernel.ir import Apply, Kernel, Literal, Variable, walk
from nervure.kernel.printer import print_kernel
from nervure.kernel.simplify import REWRITES, simplify_kernel
from nervure.kernel.simplify.folding import folded
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dtype import bool_, float32, float64, int8, int64, uint8, uint64
from tests.kernel.before_after import check_bits, check_file
from tests.kernel.block import number
from tests.kernel.kernels import NAMES, kernel_of
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

ONE = number(1.0, float32)
SEEDS = 3_000 if os.environ.get("DEEP_TESTS") else 300


# -- the same meaning ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_kernels_give_the_same_bits(seed):
    case = random_case(seed)
    simpler = simplify_kernel(case.kernel)
    before, failures = run(case.kernel, case.bindings, **case.arrays)
    after, found = run(simpler, case.bindings, **case.arrays)
    assert set(failures) == set(found)  # a check outside of a loop reports once what each turn would
    untouched, _ = run(Kernel("none", case.kernel.buffers, ()), case.bindings, **case.arrays)
    assert all([array.tobytes() == after.get(name, untouched[name]).tobytes() for name, array in before.items()])
    turned, _ = run(simpler, case.bindings, backwards=True, **case.arrays)
    assert all([array.tobytes() == turned[name].tobytes() for name, array in after.items()])
    assert len(list(walk(simpler.body))) <= len(list(walk(case.kernel.body))) + 2
    assert print_kernel(simplify_kernel(simpler)) == print_kernel(simpler)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_simple_stays(name):
    kernel = kernel_of(name)
    before, after = print_kernel(kernel), print_kernel(simplify_kernel(kernel))
    assert after == before if name != "scatter_add" else "bitcast" not in after


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
def test_every_rewrite_alone_keeps_the_meaning(rewrite):
    for seed in range(SEEDS // 10):
        case = random_case(seed)
        one = Kernel("one", case.kernel.buffers, rewrite(case.kernel.body))
        before, after = [run(kernel, case.bindings, **case.arrays) for kernel in (case.kernel, one)]
        assert set(before[1]) == set(after[1])
        assert all([before[0][name].tobytes() == after[0][name].tobytes() for name in before[0]])


@pytest.mark.parametrize("name", ["loops", "addresses", "hoisting", "scalars"])
def test_golden_kernels(name):
    check_file(f"kernel/simplify/{name}.txt", simplify_kernel)
    check_bits(f"kernel/simplify/{name}.txt", simplify_kernel)


# -- functions of what is known ------------------------------------------------------------------------------


def apply(function, dtype, *operands):
    return folded(Apply(Variable(dtype), function, operands))


def test_what_is_known_of_conditions():
    x, y, condition = Variable(float32), Variable(float32), Variable(bool_)
    assert apply("where", float32, number(False, bool_), x, y) is y
    assert apply("where", float32, condition, x, x) is x
    assert apply("where", float32, condition, ONE, number(1.0, float32)) == ONE
    assert apply("where", float32, condition, number(0.0, float32), number(-0.0, float32)) is None
    assert apply("bitwise_and", bool_, condition, number(True, bool_)) is condition
    assert apply("bitwise_or", bool_, number(True, bool_), condition) == number(True, bool_)
    assert apply("bitwise_not", bool_, number(True, bool_)) == number(False, bool_)


def test_one_known_integer_decides_or_changes_nothing():
    x, none, one = Variable(int64), number(0, int64), number(1, int64)
    for function, known, found in (("multiply", none, none), ("bitwise_and", none, none), ("multiply", one, x),
                                   ("add", none, x), ("bitwise_or", none, x), ("bitwise_xor", none, x)):
        assert apply(function, int64, x, known) == apply(function, int64, known, x) == found
    for function, known in (("subtract", none), ("floordivide", one), ("shift_left", none), ("shift_right", none)):
        assert apply(function, int64, x, known) is x and apply(function, int64, known, x) is None


def test_conversions_of_numbers():
    assert apply("convert", float32, number(3, int64)) == number(3.0, float32)
    assert apply("convert", float32, number(2**24 + 1, int64)) is None
    assert apply("bitcast", float64, number(1, int64)) is None
    assert apply("wrap", int8, number(200, int64)) is None
    assert apply("convert", uint64, number(7, int64)) == number(7, uint64)


INTEGER_FUNCTIONS = ("add", "subtract", "multiply", "maximum", "minimum", "floordivide", "modulo", "equal", "not_equal",
                     "less", "less_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")


@pytest.mark.parametrize("function", INTEGER_FUNCTIONS)
@pytest.mark.parametrize("dtype", [int8, uint8, bool_], ids=str)
def test_folding_gives_what_the_function_gives(function, dtype):
    """For each pair of small and extreme integers, with each operand known or not."""
    if dtype is bool_ and function not in ("bitwise_and", "bitwise_or", "equal", "less", "less_equal", "maximum"):
        return
    numbers = [False, True] if dtype is bool_ else [dtype.minimum, -1 if dtype.is_signed else 2, 0, 1, 3, dtype.maximum]
    result = bool_ if function in ("equal", "not_equal", "less", "less_equal") else dtype
    variables = Variable(dtype), Variable(dtype)
    for first in numbers:
        for second in numbers:
            with np.errstate(all="ignore"):
                expected = getattr(NumPyScalars(), function)(dtype.numpy.type(first), dtype.numpy.type(second))
            meaning = {variables[0]: first, variables[1]: second}
            for operands in ((Literal(first, dtype), variables[1]), (variables[0], Literal(second, dtype)),
                             (Literal(first, dtype), Literal(second, dtype)), (variables[0],) * 2):
                if operands[0] is operands[1] and first != second:
                    continue
                found = apply(function, result, *operands)
                if found is not None:
                    value = found.value if isinstance(found, Literal) else meaning[found]
                    assert found.dtype is result and value == expected
