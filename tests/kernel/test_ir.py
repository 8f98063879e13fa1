"""Statements describe themselves: what they define, read and hold, also after a change."""

from __future__ import annotations

import pytest

from nervure.kernel.ir import (
    Address,
    Apply,
    Body,
    Buffer,
    Fold,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    Prefetch,
    Reduce,
    Store,
    Variable,
    substituted,
    used,
)
from nervure.kernel.loop_index import LoopIndex, index_named, sorted_indices
from nervure.kernel.rewriting import Rewrite, fresh_copy
from nervure.kernel.verify import verify_kernel
from nervure.types.dim import dim, evaluate, index
from nervure.types.dtype import bool_, float32, int64
from tests.kernel.block import I, J, K
from tests.kernel.random_kernels import random_case
from tests.kernel.running import run

N = dim("N")
X = Buffer("x", float32, 100, "in")


def statements() -> list:
    """One of each kind, all of whose scalars differ."""
    a, b, c, d = [Variable(float32) for _ in range(4)]
    place, valid = Variable(int64), Variable(bool_)
    address = Address(N, ((I, 3),), ((2, place),))
    body = (Load(a, X, address),)
    return [Apply(a, "add", (b, c)), Index(place, index(0) + N), Load(a, X, address, valid, b),
            Store(X, address, b, None, valid), Prefetch(X, address), For(J, N, body),
            Reduce((d,), ("add",), ((J, N),), body, (a,)),
            Fold((d,), ((J, N),), body, (a,), (b,), (c,), (Apply(place, "add", (b, c)),), (place,))]


def test_operands_are_what_a_statement_reads_itself():
    names = [[scalar.dtype for scalar in statement.operands] for statement in statements()]
    assert names == [[float32, float32], [], [int64, bool_, float32], [int64, float32, bool_], [int64], [],
                     [float32],
                     [float32, int64]]


def test_results_and_arguments_are_what_it_defines():
    counts = [(len(statement.results), len(statement.arguments)) for statement in statements()]
    assert counts == [(1, 0), (1, 0), (1, 0), (0, 0), (0, 0), (0, 0), (1, 0), (1, 2)]


def test_dims_are_what_it_is_written_with():
    dims = [statement.dims for statement in statements()]
    assert dims == [(), (index(0) + N,), (N, 3, 2), (N, 3, 2, 0), (N, 3, 2), (N,), (N,), (N,)]


def test_a_statement_mentions_the_indices_in_its_own_dims():
    assert [statement.mentions(I) for statement in statements()] == [False, True, True, True, True, False, False, False]


@pytest.mark.parametrize("number", range(8))
def test_other_operands_and_results_take_the_place_of_all(number):
    statement = statements()[number]
    table = {x: Variable(x.dtype) for x in (*statement.operands, *statement.results, *statement.arguments)}
    changed = statement.replace_operands(table).replace_results(table)
    for name in ("operands", "results", "arguments"):
        assert getattr(changed, name) == tuple([table[x] for x in getattr(statement, name)])
    assert changed.bodies == statement.bodies and changed.dims == statement.dims


@pytest.mark.parametrize("number", range(8))
def test_what_does_not_change_stays_itself(number):
    statement = statements()[number]
    assert statement.substitute({LoopIndex(7): 1}) is statement
    assert statement.replace_operands({Variable(float32): Literal(1.0, float32)}) is statement
    assert statement.map_bodies(lambda body: body) is statement
    assert Rewrite().block((statement,))[0] is statement


def test_all_variables_that_are_read_are_found_at_any_depth():
    found = used(statements()[-1:])
    assert [variable.dtype for variable in found] == [float32, int64, int64, float32, float32]


@pytest.mark.parametrize(("value", "expected"), [
    (5, Address(N + 15, ((J, 2),))),
    (index(0) * 4 + index(2), Address(N, ((I, 12), (J, 2), (K, 3)))),
    (index(1) + 7, Address(N + 21, ((J, 5),))),
    (index(2) // 2, Address(N + 3 * (index(2) // 2), ((J, 2),)))])
def test_an_address_stays_affine_in_what_an_expression_is_affine_in(value, expected):
    assert Address(N, ((I, 3), (J, 2))).substitute({I: value}) == expected


def test_expressions_stand_for_indices_everywhere():
    load = Load(Variable(float32), X, Address(index(0) // 2, ((J, 1),)))
    loop = For(J, index(0) + 1, (load, Reduce((), (), ((K, index(0) * 2),), (load,), ())))
    changed, = substituted((loop,), {I: 6})
    assert changed.extent == 7 and changed.body[0].address.base == 3
    assert changed.body[1].indices == ((K, 12),) and changed.body[1].body[0].address.base == 3


def unrolled(body: Body, bindings: dict[str, int]) -> Body:
    """A body with copies of what is in its loops, one for each iteration, in place of them."""
    made: list = []
    for statement in body:
        if isinstance(statement, For):
            for number in range(evaluate(statement.extent, bindings)):
                copy, _ = fresh_copy(statement.body, (), {statement.index: number})
                made += unrolled(copy, bindings)
        else:
            made.append(statement)
    return tuple(made)


@pytest.mark.parametrize("seed", range(60))
def test_copies_of_a_body_at_each_index_do_what_the_loop_does(seed):
    case = random_case(seed)
    kernel = Kernel("unrolled", case.kernel.buffers, unrolled(case.kernel.body, case.bindings))
    verify_kernel(kernel, [])
    before, failures = run(case.kernel, case.bindings, **case.arrays)
    after, found = run(kernel, case.bindings, **case.arrays)
    assert failures == found
    assert all([array.tobytes() == after[name].tobytes() for name, array in before.items()])


def test_values_of_a_copy_are_its_own():
    x, outside = Variable(float32), Variable(float32)
    (copy,), values = fresh_copy([Apply(x, "add", (outside, outside))], [x, outside, Literal(1.0, float32)])
    assert copy.result is not x and copy.operands == (outside, outside)
    assert values == (copy.result, outside, Literal(1.0, float32))


def test_there_is_one_loop_index_for_each_number():
    assert LoopIndex(7) is LoopIndex(7) is not LoopIndex(8) and index_named("%7") is LoopIndex(7)
    assert LoopIndex(7).dim == index(7) and repr(LoopIndex(7)) == LoopIndex(7).name == "%7"
    assert sorted_indices(index(10) * index(2) + N) == [LoopIndex(2), LoopIndex(10)]
