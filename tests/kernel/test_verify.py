"""The verifier finds every planted mistake and names its statement; it passes what is right."""

from __future__ import annotations

import itertools
import random

import pytest

from nervure.errors import InternalError
from nervure.kernel.dependence import conflicting_accesses, reaches
from nervure.kernel.ir import (
    CHAIN_ORDER,
    Address,
    Apply,
    Buffer,
    Fold,
    For,
    Kernel,
    Literal,
    Load,
    Order,
    Prefetch,
    Reduce,
    Statement,
    Variable,
    Widths,
)
from nervure.kernel.simplify import simplify_kernel
from nervure.kernel.verify import verify_kernel
from nervure.types.dim import dim, dim_min, index
from nervure.types.dtype import bfloat16, bool_, complex64, float32, int32, int64, uint8
from tests.kernel.block import Block, I, J, K, at, number
from tests.kernel.kernels import NAMES, kernel_of
from tests.kernel.random_kernels import random_case

N = dim("N")
ONE = number(1.0, float32)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_passes(name):
    verify_kernel(kernel_of(name))
    verify_kernel(simplify_kernel(kernel_of(name)))


@pytest.mark.parametrize("seed", range(150))
def test_random_kernels_pass(seed):
    kernel = random_case(seed).kernel
    verify_kernel(kernel, [])
    verify_kernel(simplify_kernel(kernel), [])


class Planted:
    """A kernel over x (in), y (out), z (inout) and s (scratch), of 12 elements each, to plant a mistake in."""

    def __init__(self) -> None:
        self.x, self.y = Buffer("x", float32, 12, "in"), Buffer("y", float32, 12, "out")
        self.z, self.s = Buffer("z", float32, 12, "inout"), Buffer("s", float32, 12, "scratch")
        self.buffers = [self.x, self.y, self.z, self.s]
        self.top, self.body = Block(), Block()

    def loop(self, extent=12, **flags):
        self.top.loop(I, extent, self.body, **flags)

    def add(self, statement: Statement):
        self.body.list.append(statement)

    def kernel(self):
        return Kernel("planted", tuple(self.buffers), self.top.body)


PLANTED = []


def planted(message):
    def decorate(plant):
        PLANTED.append(pytest.param(plant, message, id=plant.__name__))
        return plant
    return decorate


@pytest.mark.parametrize(("plant", "message"), PLANTED)
def test_planted_mistakes(plant, message):
    p = Planted()
    plant(p)
    with pytest.raises(InternalError) as raised:
        verify_kernel(p.kernel())
    assert str(raised.value) == f"planted: {message}"


def test_a_prefetch_may_be_outside_of_its_buffer_and_before_a_store():
    p = Planted()
    for buffer in p.buffers:
        p.add(Prefetch(buffer, at(40, i0=-7)))
    p.loop(parallel=True)
    verify_kernel(p.kernel())


# -- scalars -------------------------------------------------------------------------------------------------


@planted("v1 = add(v0, v0): it reads a variable before it is defined")
def before_definition(p):
    later = Variable(float32)
    p.body.apply("add", later, later)
    p.add(Load(later, p.x, at(i0=1)))
    p.loop()


@planted("y[0] = v0: it reads a variable outside of the loop that defines it")
def after_the_loop(p):
    found = p.body.load(p.x, at(i0=1))
    p.loop()
    p.top.store(p.y, at(), found)


@pytest.mark.parametrize("order", [(0, 4), (3, 12), (-2, 4), (8, 12), (8, 0), (4, -8)])
def test_an_order_has_blocks_of_whole_lanes(order):
    reduce = Reduce((Variable(float32),), ("add",), ((I, 3),), (), (ONE,), order=Order(*order))
    with pytest.raises(InternalError, match=r"over i < 3 order .*: its lanes are no power of two, or its blocks"):
        verify_kernel(Kernel("k", (), (reduce,)))


@pytest.mark.parametrize(("order", "start", "message"), [
    (Order(1, 64, 0), (), "its groups have no blocks"),
    (Order(1, 64, 2), (ONE,), "it starts from scalars in an order of several lanes, or groups"),
    (Order(2, 64, 1), (ONE,), "it starts from scalars in an order of several lanes, or groups"),
    (CHAIN_ORDER, (ONE, ONE), "its lists differ in length"),
    (CHAIN_ORDER, (Literal(1, int32),), "what it starts from is of int32"),
    (CHAIN_ORDER, (Variable(float32),), "it reads a variable before it is defined"),
])
def test_only_a_lane_of_a_block_starts_from_scalars(order, start, message):
    reduce = Reduce((Variable(float32),), ("add",), ((I, 3),), (), (ONE,), order=order, start=start)
    with pytest.raises(InternalError, match=message):
        verify_kernel(Kernel("k", (), (reduce,)))


@planted("v2 = reduce add over j < 3: it reads a variable outside of the loop that defines it")
def out_of_a_reduction(p):
    inner = Block()
    found = inner.load(p.x, at(i1=1))
    p.body.list.append(Reduce((Variable(float32),), ("add",), ((J, 3),), inner.body, (found,)))
    p.body.list.append(Reduce((Variable(float32),), ("add",), ((J, 3),), (), (found,)))
    p.loop()


@planted("v0 = x[i]: it defines a variable that is defined already")
def defined_twice(p):
    found = Variable(float32)
    p.add(Apply(found, "exp", (ONE,)))
    p.add(Load(found, p.x, at(i0=1)))
    p.loop()


@planted("v1 = add(v0, 1_i64): add takes operands of one type, not float32, int64")
def two_types(p):
    found = p.body.load(p.x, at(i0=1))
    p.add(Apply(Variable(float32), "add", (found, number(1, int64))))
    p.loop()


@planted("v0 = less(1.0_f32, 1.0_f32): its result is of float32, not of bool")
def wrong_result(p):
    p.add(Apply(Variable(float32), "less", (ONE, ONE)))
    p.loop()


@planted("v0 = sine(1.0_f32): there is no function sine")
def unknown_function(p):
    p.add(Apply(Variable(float32), "sine", (ONE,)))
    p.loop()


@planted("v0 = exp(1.0_f32, 1.0_f32): exp takes 1 operands, not 2")
def wrong_arity(p):
    p.add(Apply(Variable(float32), "exp", (ONE, ONE)))
    p.loop()


@planted("v0 = exp(1.0_bf16): exp does not take bfloat16")
def low_precision(p):
    p.add(Apply(Variable(bfloat16), "exp", (number(1.0, bfloat16),)))
    p.loop()


@planted("v0 = where(1_u8, 1.0_f32, 1.0_f32): where takes a condition, not uint8")
def condition_of_where(p):
    p.add(Apply(Variable(float32), "where", (number(1, uint8), ONE, ONE)))
    p.loop()


@planted("v0 = bitcast(1.0_f32) i64: bitcast keeps the width: float32 has 32 bits, int64 64")
def wide_bitcast(p):
    p.add(Apply(Variable(int64), "bitcast", (ONE,)))
    p.loop()


@planted("v0 = maximum(complex(1.0, 0.0)_c64, complex(1.0, 0.0)_c64): maximum does not take complex64")
def order_of_complex(p):
    p.add(Apply(Variable(complex64), "maximum", (number(1 + 0j, complex64),) * 2))
    p.loop()


# -- indices and places --------------------------------------------------------------------------------------


@planted("v0 = x[%3]: it has a step of an index of no loop around it")
def foreign_step(p):
    p.body.load(p.x, at(i3=1))
    p.loop()


@planted("v0 = index %3 + i: %0 + %3 has an index of no loop around it")
def foreign_index(p):
    p.body.index(index(3) + index(0))
    p.loop()


@planted("for j < 2: the index %0 is that of a loop around it")
def shadowed_index(p):
    p.body.loop(I, 2, Block())
    p.loop()


@planted("for j < j//4 + 2: %1//4 + 2 has an index of no loop around it")
def own_extent(p):
    p.body.loop(J, index(1) // 4 + 2, Block())
    p.loop()


@planted("v0 = x[i + 1]: not all of its places are inside of x, which has 12 elements")
def outside(p):
    p.body.load(p.x, at(1, i0=1))
    p.loop()


@planted("v0 = x[-i]: not all of its places are inside of x, which has 12 elements")
def below(p):
    p.body.load(p.x, at(i0=-1))
    p.loop()


@planted("y[i] = 1.0_f32: not all of its places are inside of y, which has 12 elements")
def not_proved(p):
    p.body.store(p.y, at(i0=1), ONE)
    p.loop(N)


@planted("prefetch x[%1]: it has a step of an index of no loop around it")
def prefetched_by_another_index(p):
    p.add(Prefetch(p.x, at(i1=1)))
    p.loop()


@planted("prefetch x[v0]: it reads a variable before it is defined")
def prefetched_at_nothing(p):
    p.add(Prefetch(p.x, at(0, [(1, Variable(int64))])))
    p.loop()


@planted("prefetch w[i]: w is no buffer of this kernel")
def prefetched_elsewhere(p):
    p.add(Prefetch(Buffer("w", float32, 12, "in"), at(i0=1)))
    p.loop()


@planted("v0 = x[(%0)*i]: a step has an index")
def step_with_index(p):
    p.body.load(p.x, at(i0=index(0)))
    p.loop()


@planted("v0 = x[i + i]: a loop index has two steps")
def two_steps(p):
    p.add(Load(Variable(float32), p.x, Address(0, ((I, 1), (I, 1)))))
    p.loop(6)


@planted("v1 = x[v0]: a term of its address is of float32")
def float_term(p):
    found = p.body.load(p.x, at(i0=1))
    p.body.load(p.x, at(0, [(1, found)]))
    p.loop()


@planted("for i < -2: it has -2 turns")
def negative_extent(p):
    p.loop(-2)


# -- memory --------------------------------------------------------------------------------------------------


@planted("x[i] = 1.0_f32: x is only read")
def store_to_in(p):
    p.body.store(p.x, at(i0=1), ONE)
    p.loop()


@planted("v0 = y[i]: it reads y before anything is stored there")
def load_from_out(p):
    p.body.load(p.y, at(i0=1))
    p.body.store(p.y, at(i0=1), ONE)
    p.loop()


@planted("s[i] add = 1.0_f32: it reads s before anything is stored there")
def combine_in_scratch(p):
    p.body.store(p.s, at(i0=1), ONE, "add")
    p.loop()


@planted("s[0] = 1.0_f32: s belongs to a turn of the parallel loop, and this is outside of it")
def scratch_outside(p):
    p.loop(parallel=True)
    p.top.store(p.s, at(), ONE)


@planted("y[i] = 1_i64: its value is of int64, not of float32")
def type_of_value(p):
    p.body.store(p.y, at(i0=1), number(1, int64))
    p.loop()


@planted("v0 = x[i] if 1_i32 else 1.0_f32: its condition is of int32, not of bool")
def type_of_condition(p):
    p.body.load(p.x, at(i0=1), number(1, int32), ONE)
    p.loop()


@planted("v0 = x[i] if True: it has a condition without another scalar, or another scalar without a condition")
def no_other_scalar(p):
    p.body.load(p.x, at(i0=1), number(True, bool_))
    p.loop()


@planted("z[i] subtract = 1.0_f32: there is no combine subtract")
def unknown_combine(p):
    p.body.store(p.z, at(i0=1), ONE, "subtract")
    p.loop()


@planted("v0 = other[i]: other is no buffer of this kernel")
def foreign_buffer(p):
    p.body.load(Buffer("other", float32, 12, "in"), at(i0=1))
    p.loop()


@planted("two buffers are called x")
def one_name(p):
    p.buffers.append(Buffer("x", float32, 1, "in"))


@planted("the buffer t is 'temporary', not in or out or inout or scratch or private")
def unknown_role(p):
    p.buffers.append(Buffer("t", float32, 1, "temporary"))


# -- loops ---------------------------------------------------------------------------------------------------


@planted("y[0] = 1.0_f32: in another turn of a loop it touches what it stores in one")
def one_place(p):
    p.body.store(p.y, at(), ONE)
    p.loop(parallel=True)


@planted("y[2*i + j] = 1.0_f32: in another turn of a loop it touches what it stores in one")
def overlapping_rows(p):
    inner = Block()
    inner.store(p.y, at(i0=2, i1=1), ONE)
    p.body.loop(J, 3, inner)
    p.loop(4, parallel=True)


@planted("z[i] = v0: in another turn of a loop v0 = z[i + 1] touches what it stores in one")
def neighbour(p):
    p.body.store(p.z, at(i0=1), p.body.load(p.z, at(1, i0=1)))
    p.loop(11, parallel=True)


@planted("z[i] = v0: in another turn of a loop v0 = z[-i + 11] touches what it stores in one")
def mirrored(p):
    p.body.store(p.z, at(i0=1), p.body.load(p.z, at(11, i0=-1)))
    p.loop(vector=True)


@planted("s[0] = 1.0_f32: in another turn of a loop it touches what it stores in one")
def scratch_of_lanes(p):
    p.body.store(p.s, at(), ONE)
    p.loop(parallel=True, vector=True)


@planted("t[0] = 1.0_f32: t belongs to a turn of a vector loop, and this is outside of one or differs in it")
def private_outside(p):
    p.buffers.append(Buffer("t", float32, 12, "private"))
    p.body.store(p.buffers[-1], at(), ONE)
    p.loop()


@planted("t[i] = 1.0_f32: t belongs to a turn of a vector loop, and this is outside of one or differs in it")
def private_in_lanes(p):
    p.buffers.append(Buffer("t", float32, 12, "private"))
    p.body.store(p.buffers[-1], at(i0=1), ONE)
    p.loop(vector=True)


@planted("z[i] = 1.0_f32: in another turn of a loop it touches what it stores in one")
def lanes_of_a_reduction(p):
    p.body.store(p.z, at(i1=1), ONE)
    p.top.reduce(["add"], {J: 3, K: 4}, p.body, ONE)


@planted("v0 = reduce and over j < 3: bitwise_and does not take float32")
def bits_of_floats(p):
    p.body.reduce(["and"], {J: 3}, Block(), ONE)
    p.loop()


@planted("v0 = reduce add over j < 3: its lists differ in length, or are empty")
def lengths_of_a_reduction(p):
    p.add(Reduce((Variable(float32),), ("add",), ((J, 3),), (), (ONE, ONE)))
    p.loop()


@planted("v0 = fold over j < 3: its lists differ in length, or are empty")
def lengths_of_a_fold(p):
    p.add(Fold((Variable(float32),), ((J, 3),), (), (ONE,), (Variable(float32),), (), (), (ONE,)))
    p.loop()


@planted("v0 = fold over j < 3: what it combines is of int64, not of float32")
def types_of_a_fold(p):
    left, right = Variable(float32), Variable(float32)
    p.body.fold({J: 3}, Block(), [ONE], [left], [right], Block(), [number(1, int64)])
    p.loop()


@planted("check 1.0_f32 else 3, 1_i64: its condition is of float32, not of bool")
def condition_of_a_check(p):
    p.body.check(ONE, 3, number(1, int64))
    p.loop()


@planted("check True else -1, 1_i64: its failure is no number")
def number_of_a_check(p):
    p.body.check(number(True, bool_), -1, number(1, int64))
    p.loop()


def test_only_the_last_index_of_a_reduction_runs_in_lanes():
    p = Planted()
    p.body.store(p.z, at(i2=1), ONE)
    p.top.reduce(["add"], {J: 3, K: 4}, p.body, ONE)
    verify_kernel(p.kernel())


@planted("for i < 12 lanes 8 masked 8: it has lanes, but is no vector loop")
def lanes_of_a_plain_loop(p):
    p.loop(widths=Widths((8,), 8))


@planted("for i < N vector lanes 8 masked 8 unrolled: it is unrolled, but has no lanes or no known extent")
def copies_of_an_unknown_number(p):
    p.loop(N, vector=True, widths=Widths((8,), 8), unrolled=True)


# -- what cannot be decided ------------------------------------------------------------------------------------


def test_unproved_places_are_collected():
    y, top, body = Buffer("y", float32, 12, "out"), Block(), Block()
    body.store(y, at(i0=1), ONE)
    top.loop(I, N, body)
    unproved = []
    verify_kernel(Kernel("open", (y,), top.body), unproved)
    assert unproved == body.list


def test_a_wrong_place_is_no_open_question():
    y, top, body = Buffer("y", float32, 12, "out"), Block(), Block()
    body.store(y, at(i0=1), ONE)
    top.loop(I, 13, body)
    with pytest.raises(InternalError, match="not all of its places"):
        verify_kernel(Kernel("wrong", (y,), top.body), [])


def test_conditions_and_data_answer_for_places():
    x, rows, y = Buffer("x", float32, 4, "in"), Buffer("rows", int64, 12, "in"), Buffer("y", float32, 12, "out")
    top, body = Block(), Block()
    row = body.load(rows, at(i0=1))
    valid = body.apply("less", row, number(4, int64))
    body.store(y, at(i0=1), body.load(x, at(0, [(1, row)])), valid=valid)
    body.store(y, at(i0=1), body.load(x, at(i0=1), valid, ONE))
    top.loop(I, 12, body, parallel=True, vector=True)
    verify_kernel(Kernel("guarded", (x, rows, y), top.body))


def test_a_loop_without_turns_is_nowhere():
    x, top, body = Buffer("x", float32, 0, "in"), Block(), Block()
    body.load(x, at(7, i0=1))
    top.loop(I, 0, body)
    verify_kernel(Kernel("none", (x,), top.body))


def test_blocks_of_a_row_are_inside_of_it():
    """The extent of an inner loop may be what is left for the last turn of an outer one."""
    n = dim("n", min=1)
    x, y = Buffer("x", float32, n, "in"), Buffer("y", float32, -(-n // 64), "out")
    top, blocks, body = Block(), Block(), Block()
    total, = blocks.reduce(["add"], {J: dim_min(64, n - index(0) * 64)}, body, body.load(x, at(i0=64, i1=1)))
    blocks.store(y, at(i0=1), total)
    top.loop(I, -(-n // 64), blocks, parallel=True)
    verify_kernel(Kernel("blocks", (x, y), top.body))


@pytest.mark.parametrize("seed", range(200))
def test_meeting_turns_against_all_turns(seed):
    """On small loops the answer is that of looking at all pairs of turns."""
    choose = random.Random(seed).choice
    extents = choose([1, 2, 3, 4]), choose([1, 2, 3])
    steps, offset = (choose([0, 1, 2, 3, -1]), choose([0, 1, 2, -2])), choose([0, 0, 1, 2])
    y, inner = Buffer("y", float32, 99, "inout"), Block()
    inner.store(y, at(40, i0=steps[0], i1=steps[1]), ONE)
    inner.load(y, at(40 + offset, i0=steps[0], i1=steps[1]))
    loop = For(I, extents[0], (For(J, extents[1], inner.body),), parallel=True)
    places = [{40 + p * steps[0] + q * steps[1] for q in range(extents[1])} for p in range(extents[0])]
    reads = [{place + offset for place in turn} for turn in places]
    meets = any([places[p] & (places[q] | reads[q]) for p in range(extents[0]) for q in range(extents[0]) if p != q])
    assert (conflicting_accesses(loop) is not None) == meets


def test_other_steps_of_a_loop_around_leave_the_question_open():
    """Only in some turns of the outer loop do turns of the inner one meet."""
    z, outer, body = Buffer("z", float32, 99, "inout"), Block(), Block()
    body.store(z, at(i0=9, i1=1), body.load(z, at(1, i0=8, i1=1)))
    outer.loop(J, 4, body, parallel=True)
    assert conflicting_accesses(outer.list[0]) is None
    loop = For(J, 4, (*body.body, Load(Variable(float32), z, at(1, i0=9, i1=1))), parallel=True)
    assert conflicting_accesses(loop) is not None


@pytest.mark.parametrize("seed", range(100))
def test_sums_that_reach_a_target(seed):
    integer = random.Random(seed).randint
    terms = [(integer(-4, 4), low := integer(-2, 1), low + integer(0, 3)) for _ in range(3)]
    sums = {sum(parts) for parts in itertools.product(*[[c * v for v in range(a, b + 1)] for c, a, b in terms])}
    for target in range(-30, 31):
        assert reaches(target, terms) == (target in sums)
