"""Simplified kernels mean what they meant: by rule, and by running random kernels before and after."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nervure.kernel.ir import Apply, Buffer, Fold, For, Kernel, Literal, Variable, walk
from nervure.kernel.printer import print_kernel
from nervure.kernel.simplify import REWRITES, simplify_kernel
from nervure.kernel.simplify.folding import folded
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dim import dim, dim_min, index
from nervure.types.dtype import bool_, complex64, float32, float64, int8, int64, uint8, uint64
from tests.kernel.block import Block, at, number
from tests.kernel.kernels import KERNELS
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

N, C = dim("N"), dim("C", min=1)
ONE = number(1.0, float32)
SEEDS = 3_000 if os.environ.get("DEEP_TESTS") else 300


def lines(kernel):
    """The text of a simplified kernel, without its head."""
    text = print_kernel(simplify_kernel(kernel)).splitlines()[1:]
    return [line[2:] for line in text if not line.startswith("  symbol")]


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


@pytest.mark.parametrize("build", KERNELS)
def test_what_is_simple_stays(build):
    kernel = build()
    before, after = print_kernel(kernel), print_kernel(simplify_kernel(kernel))
    assert after == before if build.__name__ != "scatter_add" else "bitcast" not in after


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
def test_every_rewrite_alone_keeps_the_meaning(rewrite):
    for seed in range(SEEDS // 10):
        case = random_case(seed)
        one = Kernel("one", case.kernel.buffers, rewrite(case.kernel.body))
        before, after = [run(kernel, case.bindings, **case.arrays) for kernel in (case.kernel, one)]
        assert set(before[1]) == set(after[1])
        assert all([before[0][name].tobytes() == after[0][name].tobytes() for name in before[0]])


# -- loops ---------------------------------------------------------------------------------------------------


def nest(loops, body):
    """Loops inside each other: (index, extent, flags) from the outermost on."""
    for name, extent, *flags in reversed(loops):
        outer = Block()
        outer.loop(name, extent, body, "parallel" in flags, "vector" in flags)
        body = outer
    return body.body


def copying(loops, read, write, size=N * 32):
    x, y, body = Buffer("x", float32, size, "in"), Buffer("y", float32, size, "out"), Block()
    body.store(y, write, body.load(x, read))
    return Kernel("copying", (x, y), nest(loops, body))


def test_loops_that_walk_as_one_collapse():
    whole = at(i0=32, i1=8, i2=1)
    kernel = copying([("%0", N, "parallel"), ("%1", 4), ("%2", 8, "vector")], whole, whole)
    assert lines(kernel) == ["for i < 32*N parallel vector:", "  v0 = x[i]", "  y[i] = v0"]


def test_symbolic_loops_collapse():
    whole = at(i0=C, i1=1)
    kernel = copying([("%0", N, "parallel"), ("%1", C, "vector")], whole, whole, N * C)
    assert lines(kernel)[0] == "for i < C*N parallel vector:"


def test_loops_collapse_as_far_as_they_can():
    kernel = copying([("%0", 4, "parallel"), ("%1", 4), ("%2", 8, "vector")], at(i0=32, i1=8, i2=1),
                     at(i1=32, i2=4, i0=1), 128)
    assert lines(kernel) == [
        "for i < 4 parallel:", "  for j < 32 vector:", "    v0 = x[32*i + j]", "    y[i + 4*j] = v0"]


def test_a_broadcast_keeps_loops_apart():
    kernel = copying([("%0", N, "parallel"), ("%1", 8, "vector")], at(i1=1), at(i0=8, i1=1), N * 8)
    assert lines(kernel)[:2] == ["for i < N parallel:", "  for j < 8 vector:"]


def test_an_index_keeps_loops_apart_unless_it_walks_on():
    for expression, count in ((index(1), 2), (index(0) * 8 + index(1), 1), (index(0) * 8 + index(1) * 2, 2)):
        y, body = Buffer("y", int64, 64, "out"), Block()
        body.store(y, at(i0=8, i1=1), body.index(expression))
        kernel = simplify_kernel(Kernel("index", (y,), nest([("%0", 8, "parallel"), ("%1", 8, "vector")], body)))
        assert sum([isinstance(entry, For) for entry in walk(kernel.body)]) == count


def test_flags_are_not_lost_and_not_made_up():
    whole = at(i0=8, i1=1)
    for outer, inner in ((["parallel"], []), ([], ["vector"]), (["vector"], [])):
        loop, = simplify_kernel(copying([("%0", 4, *outer), ("%1", 8, *inner)], whole, whole, 32)).body
        assert (loop.extent, loop.parallel, loop.vector) == (32, "parallel" in outer, "vector" in inner + outer)
    # Here turns of the outer loop are not independent: what one has added, the next adds to.
    z, body = Buffer("z", float32, 8, "inout"), Block()
    body.store(z, at(), ONE, "add")
    assert lines(Kernel("adding", (z,), nest([("%0", 4), ("%1", 8, "vector")], body)))[0] == "for i < 4:"


def two_runs(first, second, valid=None, extent=8):
    """Rows in two loops, each of which has two runs: one stores scratch memory, one loads it."""
    y, row = Buffer("y", float32, 4 * 3 * 8, "out"), Buffer("row", float32, 8, "scratch")
    rows, before, after = Block(), Block(), Block()
    before.store(row, first, ONE, valid=valid)
    rows.loop("%2", extent, before)
    after.store(y, at(i0=24, i1=8, i2=1), after.load(row, second))
    rows.loop("%2", 8, after)
    return Kernel("runs", (y, row), nest([("%0", 4, "parallel"), ("%1", 3)], rows))


def test_rows_with_scratch_memory_collapse():
    assert lines(two_runs(at(i2=1), at(i2=1)))[0] == "for i < 12 parallel:"


@pytest.mark.parametrize("kernel", [
    two_runs(at(i2=1), at(i2=1), extent=7), two_runs(at(i2=1), at(i2=1), Variable(bool_)), two_runs(at(), at(7)),
    two_runs(at(), at())])
def test_rows_whose_scratch_memory_may_be_another_rows_do_not(kernel):
    """A shorter run, a condition, another place, a run that may have no turn: what is loaded may be old."""
    assert lines(kernel)[0] == "for i < 4 parallel:"


def test_indices_of_a_reduction_collapse():
    x, y, top, body = Buffer("x", float32, 2 * N * C, "in"), Buffer("y", float32, 1, "out"), Block(), Block()
    total, = top.reduce(["add"], {"%0": 2, "%1": N, "%2": C}, body, body.load(x, at(i0=N * C, i1=C, i2=1)))
    top.store(y, at(), total)
    assert lines(Kernel("sum", (x, y), top.body))[0] == "v0 = reduce add over i < 2*C*N:"


def test_indices_of_a_fold_collapse():
    x, y, top, body, combine = Buffer("x", float32, 12, "in"), Buffer("y", float32, 1, "out"), Block(), Block(), Block()
    left, right = Variable(float32), Variable(float32)
    value = body.load(x, at(i0=4, i1=1))
    last, = top.fold({"%0": 3, "%1": 4}, body, [value], [left], [right], combine, [combine.apply("add", left, right)])
    top.store(y, at(), last)
    fold = simplify_kernel(Kernel("sum", (x, y), top.body)).body[0]
    assert isinstance(fold, Fold) and fold.indices == (("%1", 12),)


def test_loops_of_one_turn_are_gone():
    kernel = copying([("%0", 1, "parallel"), ("%1", N), ("%2", 1, "vector")], at(i0=99, i1=1, i2=7),
                     at(i1=1, i2=3), N)
    assert lines(kernel) == ["for i < N:", "  v0 = x[i]", "  y[i] = v0"]


def test_loops_without_turns_are_gone():
    whole = at(i0=8, i1=1)
    assert lines(copying([("%0", 8), ("%1", 0)], whole, whole)) == []


@pytest.mark.parametrize(("combine", "expected"), [("add", 0.0), ("maximum", -np.inf), ("multiply", 1.0)])
def test_a_reduction_of_no_point_is_the_unit(combine, expected):
    y, top = Buffer("y", float32, 1, "out"), Block()
    total, = top.reduce([combine], {"%0": 3, "%1": 0}, Block(), ONE)
    top.store(y, at(), total)
    assert lines(Kernel("none", (y,), top.body)) == [f"y[0] = {expected}_f32"]


@pytest.mark.parametrize("combine", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("value", [-0.0, 0.0, 2.5, np.inf, np.nan])
def test_a_reduction_of_one_point_keeps_its_bits(combine, value):
    x, y, top, body = Buffer("x", float32, 1, "in"), Buffer("y", float32, 1, "out"), Block(), Block()
    total, = top.reduce([combine], {"%0": 1, "%1": 1}, body, body.load(x, at(i0=1)))
    top.store(y, at(), total)
    kernel = Kernel("one", (x, y), top.body)
    assert "reduce" not in print_kernel(simplify_kernel(kernel))
    assert run(kernel, {}, x=[value])[0]["y"].tobytes() == run(simplify_kernel(kernel), {}, x=[value])[0]["y"].tobytes()


def test_products_of_complex_numbers_are_left():
    """1 * (inf + 0i) has a NaN, and a reduction multiplies by 1 more than once."""
    x, y, top, body = Buffer("x", complex64, 1, "in"), Buffer("y", complex64, 1, "out"), Block(), Block()
    total, = top.reduce(["multiply"], {"%0": 1}, body, body.load(x, at(i0=1)))
    top.store(y, at(), total)
    assert "reduce multiply over i < 1" in print_kernel(simplify_kernel(Kernel("one", (x, y), top.body)))


def blocked(size):
    """The sum of each block of 64 elements, of which the last may be shorter."""
    x, y = Buffer("x", float32, size, "in"), Buffer("y", float32, -(-size // 64), "out")
    blocks, body = Block(), Block()
    length = dim_min(64, size - index(0) * 64)
    total, = blocks.reduce(["add"], {"%1": length, "%2": 1}, body, body.load(x, at(i0=64, i1=1)))
    blocks.store(y, at(i0=1), total)
    return Kernel("blocked", (x, y), nest([("%0", -(-size // 64), "parallel")], blocks))


def test_extents_may_depend_on_loops_around():
    assert "reduce add over j < min(N - 64*i, 64):" in lines(blocked(N))[1]
    assert lines(blocked(40))[0] == "v0 = reduce add over i < 40:"
    values = np.arange(200, dtype=np.float32)
    simpler = simplify_kernel(blocked(N))
    totals = [part.sum() for part in np.split(values, [64, 128, 192])]
    assert run(simpler, {"N": 200}, x=values)[0]["y"].tolist() == totals


def test_an_extent_keeps_loops_apart():
    y, body = Buffer("y", float32, 12, "out"), Block()
    body.store(y, at(i0=4, i1=1), ONE)
    kernel = Kernel("triangle", (y,), nest([("%0", 3), ("%1", dim_min(4, index(0) + 1))], body))
    assert lines(kernel)[:2] == ["for i < 3:", "  for j < min(i + 1, 4):"]


# -- addresses -----------------------------------------------------------------------------------------------


def test_what_turns_out_affine_becomes_steps():
    flat = index(0) * 8 + index(1)
    kernel = copying([("%0", 4, "parallel"), ("%1", 8, "vector")], at(flat // 8 * 8 + flat % 8), at(i0=8, i1=1), 32)
    assert lines(kernel)[0] == "for i < 32 parallel vector:"
    other = copying([("%0", 4), ("%1", 8)], at(flat % 4 * 8 + flat // 4), at(i0=8, i1=1), 32)
    assert lines(other)[2] == "    v0 = x[2*i + (8*(j % 4) + j//4)]"


def test_terms_that_are_indices_become_steps():
    x, body = Buffer("z", float32, 64, "inout"), Block()
    place = body.index(index(0) + 3)
    body.store(x, at(1, [(2, place), (5, number(2, int64))]), ONE)
    assert lines(Kernel("terms", (x,), nest([("%0", 8)], body))) == ["for i < 8:", "  z[2*i + 17] = 1.0_f32"]


# -- scalars -------------------------------------------------------------------------------------------------


def test_a_store_stands_between_loads():
    z, y, body = Buffer("z", float32, N, "inout"), Buffer("y", float32, N, "out"), Block()
    first, second = body.load(z, at(i0=1)), body.load(z, at(i0=1))
    body.store(z, at(i0=1), body.apply("add", first, second))
    body.store(y, at(i0=1), body.apply("add", first, body.load(z, at(i0=1))))
    assert lines(Kernel("between", (z, y), nest([("%0", N)], body))) == [
        "for i < N:", "  v0 = z[i]", "  v1 = add(v0, v0)", "  z[i] = v1", "  v2 = z[i]", "  v3 = add(v0, v2)",
        "  y[i] = v3"]


def test_a_loop_may_have_stored_in_its_last_turn():
    z, y, top, body = Buffer("z", float32, 1, "inout"), Buffer("y", float32, 9, "out"), Block(), Block()
    first = top.load(z, at())
    body.store(y, at(i0=1), body.apply("add", first, body.load(z, at())))
    body.store(z, at(), ONE)
    top.loop("%0", 9, body)
    top.store(y, at(), top.load(z, at()))
    assert sum(["= z[0]" in line for line in lines(Kernel("turns", (z, y), top.body))]) == 3


def test_zeros_are_not_equal():
    y, body = Buffer("y", float32, 2, "out"), Block()
    body.store(y, at(), body.apply("exp", number(0.0, float32)))
    body.store(y, at(1), body.apply("exp", number(-0.0, float32)))
    assert len(lines(Kernel("zeros", (y,), body.body))) == 4


def test_results_of_a_reduction_live_apart():
    x, y, top, body = Buffer("x", float32, N, "in"), Buffer("y", float32, N, "out"), Block(), Block()
    element = body.load(x, at(i0=1))
    _, most = top.reduce(["add", "maximum"], {"%0": N}, body, body.apply("exp", element), element)
    top.store(y, at(), most)
    assert lines(Kernel("most", (x, y), top.body))[:3] == [
        "v0 = reduce maximum over i < N:", "  v1 = x[i]", "  give v1"]


def test_a_dead_reduction_leaves_its_stores():
    x, y, top, body = Buffer("x", float32, 4, "in"), Buffer("y", float32, 4, "out"), Block(), Block()
    element = body.load(x, at(i0=2, i1=1))
    body.store(y, at(i0=2, i1=1), element)
    top.reduce(["add"], {"%0": 2, "%1": 2}, body, element)
    assert lines(Kernel("dead", (x, y), top.body)) == ["for i < 4:", "  v0 = x[i]", "  y[i] = v0"]


def test_buffers_that_nothing_touches_are_gone():
    x, y, z = [Buffer(name, float32, 4, role) for name, role in (("x", "in"), ("y", "out"), ("z", "scratch"))]
    body = Block()
    body.store(y, at(), body.apply("where", number(True, bool_), ONE, body.load(x, at())))
    assert simplify_kernel(Kernel("touched", (x, y, z), body.body)).buffers == (y,)


def test_checks_live():
    y, body = Buffer("y", bool_, 1, "inout"), Block()
    body.check(body.load(y, at()), 1, number(1, int64))
    body.check(number(True, bool_), 2, number(1, int64))
    assert lines(Kernel("check", (y,), body.body)) == ["v0 = y[0]", "check v0 else 1, 1_i64"]


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
