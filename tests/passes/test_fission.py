"""Fission: products leave loops, with the bits that they had; what is not worth it, or may not, stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ir.verify import verify
from nervure.ops.looping import Scan
from nervure.passes.fission import fission
from nervure.passes.pipelines import standard
from tests.passes.agreement import assert_agree, assert_same_bits, classes

N = nv.dim("N")


def parameter(*shape, dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def product(x, w):
    return ops.Contract(x, w, (0, 1), (1, 2), (0, 2)).output


def loop(function):
    op, = [op for op in function.operations if isinstance(op, Scan)]
    return op


def arrays_for(function, seed=0, **symbols):
    rng = np.random.default_rng(seed)
    shapes = [[symbols.get(str(length), length) for length in entry.output.shape] for entry in function.parameters]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def layer(length, cell, width=4, sums=(), saved=()):
    """A scan of ``cell(h, x, w, v)``, which gives results; the first is the carry, and what is beside it is stacked."""
    h, x, w, v = parameter(2, width), parameter(2, 3), parameter(3, width), parameter(width, 5)
    body = Function(cell(h, x, w, v), [h, x, w, v])
    given = [parameter(2, width), parameter(length, 2, 3), parameter(3, width), parameter(width, 5)]
    return Function(Scan(*given, body=body, carries=1, slices=1, length=length, sums=sums, saved=saved).outputs, given)


def recurrent(h, x, w, v):
    new = ops.Tanh(h + ops.Exp(product(x * 2.0, w))).output
    return [new, ops.Exp(product(new + h, v)).output]


def test_products_of_slices_run_in_front_and_those_of_carries_behind():
    """A377: with what is computed of them element by element."""
    function = layer(N, recurrent)
    after = fission(function)
    verify(after)
    lean = standard(function)
    assert sorted(classes(loop(lean).body)) == ["Add", "Add", "Tanh"]
    assert classes(lean).count("Contract") == 2 and classes(lean).count("Exp") == 2
    for length in (0, 1, 4):
        assert_agree(function, after, arrays_for(function, N=length))
        assert_agree(function, lean, arrays_for(function, N=length))


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("width", [1, 5, 48])
def test_bits_are_those_of_the_unrolled_loop(batch, width):
    """A373, A377: on the cpu, where products of other sizes run other kernels."""
    rng = np.random.default_rng(0)
    xs = nv.placeholder((4, batch, 600))
    w, v = [nv.variable(shape, rng.normal(size=shape) * 0.1, nv.float32) for shape in ((600, width), (width, 7))]
    def cell(h, x):
        h = nv.tanh(x @ w + h)
        return h, nv.sin(h @ v)
    found = nv.scan(cell, nv.zeros((batch, width)), xs)
    h, rows = nv.zeros((batch, width)), []
    for at in range(4):
        h, row = cell(h, xs[at])
        rows.append(row)
    run = nv.computation([*found, h, nv.stack(rows)], xs, transformer=nv.transformers.make_transformer("cpu"))
    last, stacked, expected, expected_rows = run(rng.normal(size=(4, batch, 600)).astype(np.float32))
    assert_same_bits(last, expected)
    assert_same_bits(stacked, expected_rows)


def added(h, x, w, v):
    """A sum of products, of rows, and of a turned product."""
    rows = ops.Broadcast(ops.Sum(x, [0]), (3, 3), (0,)).output
    turned = ops.Permute(ops.Contract(x, ops.Exp(x), (0, 1), (0, 2), (2, 1)), (1, 0)).output
    return [h + (ops.Contract(x, x, (0, 1), (0, 2), (1, 2)) + (rows + turned))]


@pytest.mark.parametrize("length", [0, 1, 2, 700])
def test_a_sum_of_products_is_one_product(length):
    """A378: for all iterations; without any it is what it starts from."""
    h, x = parameter(3, 3), parameter(2, 3)
    start, xs = parameter(3, 3), parameter(length, 2, 3)
    made = [Function(Scan(start, xs, body=Function(added(h, x, None, None), [h, x]), carries=1, slices=1,
                          length=length, sums=sums).outputs, [start, xs]) for sums in ((0,), ())]
    after = standard(made[0])
    assert not any(isinstance(op, Scan) for op in after.operations)
    assert length < 3 or any(isinstance(op, Scan) for op in standard(made[1]).operations)  # a loop as it was written
    arrays = arrays_for(after, length)
    for name in ("interpreter", "cpu"):
        found, expected = [nv.transformers.make_transformer(name).build(each)(arrays)[0] for each in made]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("length", [1, 2, 9])
def test_the_order_of_additions_is_that_of_the_product(length):
    """A378: of one product over iterations and rows, whichever way the loop runs, though short ones are inlined."""
    rng, rows = np.random.default_rng(0), length * 70
    xs, w = nv.placeholder((length, 70, 4)), nv.variable((4, 5), rng.normal(size=(4, 5)), nv.float32)
    target = nv.placeholder((length, 70, 5))
    for reverse in (False, True):
        _, found = nv.scan(lambda h, x: (h, x @ w), 0.0, xs, reverse=reverse)
        loop_gradient = nv.deriv(nv.sum(found * target), w)
        at_once = nv.deriv(nv.sum((nv.reshape(xs, (rows, 4)) @ w) * nv.reshape(target, (rows, 5))), w)
        data = [rng.normal(size=(length, 70, width)).astype(np.float32) for width in (4, 5)]
        found = nv.computation([loop_gradient, at_once], xs, target,
                               transformer=nv.transformers.make_transformer("cpu"))(*data)
        assert_same_bits(*found)


def test_a_sum_that_the_loop_reads_stays():
    def read(h, x, w, v):
        new = h + ops.Contract(x, ops.Exp(x), (0, 1), (0, 2), (1, 2))
        return [new, ops.Exp(new).output]
    h, x = parameter(3, 3), parameter(2, 3)
    start, xs = parameter(3, 3), parameter(4, 2, 3)
    body = Function(read(h, x, None, None), [h, x])
    function = Function(Scan(start, xs, body=body, carries=1, slices=1, length=4, sums=(0,)).outputs, [start, xs])
    after = standard(function)
    assert "Contract" not in classes(loop(after).body)  # the product itself is computed in front
    assert_agree(function, after, arrays_for(function))
    saved = Function(Scan(start, xs, body=Function([body.results[0]], [h, x]), carries=1, slices=1, length=4,
                          sums=(0,), saved=(0,)).outputs, [start, xs])
    assert any(isinstance(op, Scan) for op in standard(saved).operations)
    assert_agree(saved, standard(saved), arrays_for(saved))


@pytest.mark.parametrize("stacks", [False, True])
def test_a_loop_that_checks_is_run_though_its_sum_leaves_it(stacks):
    """A378: the first result may be what has left the loop, and the effect is found by another, or the sum stays."""
    h, x = parameter(3, 3), parameter(2, 3)
    start, xs = parameter(3, 3), parameter(4, 2, 3)
    guard = ops.Guard(ops.Less(ops.Sum(x, [0, 1]), ops.Full(9.0, nv.float32, ())), message="small slices")
    body = Function([*added(h, x, None, None), *[ops.Exp(x).output] * stacks], [h, x], effects=[guard])
    op = Scan(start, xs, body=body, carries=1, slices=1, length=4, sums=(0,))
    function = Function(op.outputs, [start, xs], effects=[op])
    after = standard(function)
    assert ("Contract" in classes(after)) is stacks
    arrays, cpu = arrays_for(function), nv.transformers.make_transformer("cpu").build(function)
    expected = nv.transformers.make_transformer("interpreter").build(function)(arrays)
    for found, other in zip(cpu(arrays), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-5)
    with pytest.raises(nv.InvalidArgument, match="small slices"):
        cpu([arrays[0], arrays[1] + 9])


def test_what_is_too_large_stays():
    """A377: a product of which all iterations need far more memory than what it is made of."""
    def outer(width):
        h, x = parameter(2, 4), parameter(width, width)
        wide = ops.Contract(x, x, (0, 1), (2, 3), (0, 1, 2, 3)).output
        new = h + ops.Broadcast(ops.Sum(ops.Exp(wide), [0, 1, 2, 3]), (2, 4), (0, 1)).output
        start, xs = parameter(2, 4), parameter(3, width, width)
        return Function(Scan(start, xs, body=Function([new], [h, x]), carries=1, slices=1, length=3).outputs,
                        [start, xs])
    large = outer(20)
    assert fission(large) is large
    assert "Contract" not in classes(loop(fission(outer(2))).body)


def test_a_product_of_vectors_stays():
    """A373, A377: with many rows beside it, it would be added up in another order."""
    h, x, w = parameter(), parameter(600), parameter(600)
    new = ops.Tanh(h + ops.Contract(x, w, (0,), (0,), ()).output)
    given_values = [parameter(), parameter(3, 600), parameter(600)]
    scan = Scan(*given_values, body=Function([new], [h, x, w]), carries=1, slices=1, length=3)
    function = Function(scan.outputs, given_values)
    assert fission(function) is function
    both = Function([ops.Tanh(h + ops.Contract(x, ops.Exp(x), (0,), (0,), ()).output)], [h, x])
    scan = Scan(*given_values[:2], body=both, carries=1, slices=1, length=3)
    assert "Contract" not in classes(loop(fission(Function(scan.outputs, given_values[:2]))).body)


def test_what_may_fail_stays():
    """A377: an index out of range is an error of its iteration."""
    def cell(h, x, w, v):
        at = ops.Convert(x, nv.int32)
        row = ops.Gather(w, ops.Reshape(ops.Slice(at, ((0, 1, 1), (0, 1, 1))), (1,)), axis=0).output
        other = ops.Reshape(ops.Broadcast(row, (2, 1, 4), (0,)), (2, 4)).output
        return [h + product(product(other, v), ops.Permute(v, (1, 0)))]
    function = layer(3, cell)
    after = fission(function)
    assert "Contract" in classes(loop(after).body) and "Gather" in classes(loop(after).body)


def test_effects_stay_in_their_loop():
    h, x, w = parameter(2, 4), parameter(2, 3), parameter(3, 4)
    inner = product(x, w)
    shown = ops.PrintOp(inner, "inner")
    body = Function([h + inner], [h, x, w], effects=[shown])
    given = [parameter(2, 4), parameter(3, 2, 3), parameter(3, 4)]
    scan = Scan(*given, body=body, carries=1, slices=1, length=3)
    after = fission(Function(scan.outputs, given, effects=[scan]))
    verify(after)
    moved, = after.effects
    assert [type(op).__name__ for op in moved.body.effects] == ["PrintOp"]
    assert "Contract" not in classes(moved.body)  # it is printed from its slice


STEPS = ("tanh", "product", "add", "reverse", "rows", "turn", "scale")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_bodies(data):
    """Loops of random bodies have the bits of these bodies, and gradients close to those of the loop as it stands."""
    h, x, w, u = parameter(3, 3), parameter(3, 3), parameter(3, 3), parameter(3, 3)
    known = [entry.output for entry in (h, x, w, u)]
    for _ in range(data.draw(st.integers(2, 9))):
        step, a, b = data.draw(st.sampled_from(STEPS)), *[data.draw(st.sampled_from(known)) for _ in range(2)]
        known.append({"tanh": lambda a, b: ops.Tanh(a).output, "product": product, "add": lambda a, b: a + b,
                      "reverse": lambda a, b: ops.Reverse(a, (0,)).output,
                      "rows": lambda a, b: ops.Broadcast(ops.Sum(a, [0]), (3, 3), (0,)).output,
                      "turn": lambda a, b: ops.Permute(a, (1, 0)).output, "scale": lambda a, b: a * 0.25}[step](a, b))
    total = parameter(3, 3)
    carry, part, *rows = [data.draw(st.sampled_from(known)) for _ in range(4)]
    sums = data.draw(st.sampled_from([(), (1,)]))
    length = data.draw(st.sampled_from([0, 2, 5]))
    body = Function([ops.Tanh(carry), total + part, *rows], [h, total, x, w, u])
    given_values = [parameter(3, 3), parameter(3, 3), parameter(length, 3, 3), parameter(3, 3), parameter(3, 3)]
    scan = Scan(*given_values, body=body, carries=2, slices=1, length=length, sums=sums,
                reverse=data.draw(st.booleans()), saved=data.draw(st.sampled_from([(), (0,)])))
    function = Function(scan.outputs, given_values)
    after = standard(function)
    verify(after)
    arrays = arrays_for(function, data.draw(st.integers(0, 99)))
    found, expected = [nv.transformers.make_transformer("interpreter").compile(each)(arrays)
                       for each in (after, function)]
    for at, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if at == 1 and sums:
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
        else:
            assert_same_bits(mine, theirs)


@pytest.mark.parametrize("is_read", [False, True])
def test_totals_make_no_room(is_read):
    """A377: what an iteration only adds to is there once; a carry that it reads is passed on."""
    h, x, w = parameter(1, 40), parameter(1, 2), parameter(2, 40)
    part = ops.Exp(product(x, w)).output
    body = Function([h + (part * h if is_read else part)], [h, x, w])
    given = [parameter(1, 40), parameter(N, 1, 2), parameter(2, 40)]
    function = Function(Scan(*given, body=body, carries=1, slices=1, length=N).outputs, given)
    assert ("Contract" in classes(loop(fission(function)).body)) is not is_read


def test_what_exists_in_an_iteration_alone_stays():
    """A377: products of what a checkpoint makes again, and what is made of them."""
    def cell(h, x, w, v):
        return [ops.Tanh(h).output, product(product(ops.After(x).output, w), v)]
    function = layer(N, cell)
    assert fission(function) is function
