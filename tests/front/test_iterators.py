"""Iterators: blocks of the user's own over tensors, and blocks that are compiled."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, NervureError, NotSupported, ShapeMismatch, WrongKind


def exist(array):
    return nv.tensor(np.asarray(array, np.float32))


def random_view(chosen, x):
    """A slice, a permutation, or both, some steps negative."""
    index = tuple([slice(None, None, chosen.choice((1, 1, 2, -1))) for _ in x.shape])
    x = x[index]
    return x.transpose(*chosen.sample(range(x.ndim), x.ndim))


@pytest.mark.parametrize("seed", range(25))
def test_blocks_visit_what_plain_loops_visit(seed):
    """T170 T174: elements are added up through views, permutations and broadcasts, as NumPy has them."""
    chosen = random.Random(seed)
    base = exist(np.arange(4 * 3 * 5).reshape(4, 3, 5))
    x = random_view(chosen, base)
    y = nv.broadcast(exist(chosen.random()), x.axes)
    target = random_view(chosen, nv.make_tensor(x.shape))
    if target.shape != x.shape:
        target = nv.make_tensor(x.shape)
    stored = target.storage
    force, threads = chosen.random() < 0.3, chosen.random() < 0.3

    def block(left, right, out):
        for k in range(left.size):
            place = out.offset + k * out.stride
            stored[np.unravel_index(place, stored.shape)] = (
                base.storage.ravel()[left.offset + k * left.stride] + float(y.numpy().flat[0]) + 0 * right.stride)
    nv.call_with_view(block, [x, y, target], force_order=force, parallel=threads)
    np.testing.assert_array_equal(target.numpy(), x.numpy() + y.numpy())


def test_a_contiguous_tensor_is_one_call():
    """T171"""
    seen = []
    nest = nv.call_with_view(seen.append, [nv.make_tensor((100, 100, 100))])
    view, = seen
    assert (nv.size_of(view), nv.stride_of(view), nv.offset_of(view)) == (1_000_000, 1, 0)
    assert str(nest) == "block(1000000 by 1 from 0)"


def test_two_inner_dimensions_are_the_block():
    """T172"""
    seen = []
    nv.call_with_view(seen.append, [nv.make_tensor((3, 4, 5))], at_least_dim=2)
    assert [(nv.size_of(view, 0), nv.size_of(view, 1), nv.stride_of(view, 0), nv.offset_of(view)) for view in seen] == [
        (4, 5, 5, 0), (4, 5, 5, 20), (4, 5, 5, 40)]


def test_symbolic_tensors_give_blocks_expressions():
    """T175"""
    seen = []
    nv.call_with_view(seen.append, [nv.make_input(("a", 10), "x")])
    assert nv.size_of(seen[0]) == 10 * nv.dim("a")
    with pytest.raises(InvalidArgument, match="the loops have lengths that are not known yet"):
        nv.call_with_view(seen.append, [nv.make_input(("a", 10), "x")], at_least_dim=1, force_order=True)
    with pytest.raises(InvalidArgument, match="a length is not known yet"):
        nv.compiled_loop([nv.make_input(("a", 10), "x")])


def test_parallel_blocks_know_it():
    """T176: and the parts are all of it."""
    known, lock, total = set(), threading.Lock(), []

    def block(view):
        with lock:
            known.add(nv.under_multi_thread())
            total.append(view.size)
    nv.call_with_view(block, [nv.make_tensor((1000,))], parallel=True)
    assert known == {True} and sum(total) == 1000 and not nv.under_multi_thread()


@pytest.mark.parametrize("parallel", [False, True])
def test_an_error_of_a_block_is_the_error_of_the_call(parallel):
    """T176"""
    def block(view):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        nv.call_with_view(block, [nv.make_tensor((4,))], parallel=parallel)


def test_a_loop_is_a_decorator_and_an_iterable():
    """T177"""
    x = exist([[1, 2, 3], [4, 5, 6]])
    seen = []

    @nv.compiled_loop([x[:, ::2]])
    def block(view):
        seen.append(view)
    assert seen == [views[0] for views in nv.compiled_loop([x[:, ::2]])]
    assert block.__name__ == "block" and len(seen) == 2


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda x: nv.call_with_view(print, [x, x[1:]]), ShapeMismatch, "the tensors have different shapes"),
    (lambda x: nv.compiled_loop([x, x.T]), ShapeMismatch, "the tensors have different shapes"),
    (lambda x: nv.call_with_view(print, [x], at_least_dim=3), InvalidArgument, "fewer dimensions than a block"),
    (lambda x: nv.call_with_view(print, [x], at_least_dim=0), InvalidArgument, "at_least_dim is 1 or more"),
    (lambda x: nv.call_with_view(print, [x], at_least_dim=1.0), WrongKind, "at_least_dim is an integer"),
    (lambda x: nv.call_with_view(lambda view: nv.size_of(view, "a"), [x]), WrongKind, "dimension is an integer"),
    (lambda x: nv.call_with_view(print, []), InvalidArgument, "there are no tensors to visit"),
    (lambda x: nv.call_with_view(print, x), WrongKind, "tensors are given as a list"),
    (lambda x: nv.call_with_view(print, [np.zeros(3)]), WrongKind, "only tensors are visited"),
    (lambda x: nv.compiled_loop([x], mode="compiled"), InvalidArgument, "unknown mode"),
    (lambda x: nv.compiled_loop([x], kernel_size=3), InvalidArgument, "fewer dimensions than a block"),
    (lambda x: nv.compiled_loop([x])(3), WrongKind, "compiled_loop takes a function"),
    (lambda x: nv.compiled_loop(3), WrongKind, "tensors is a list"),
    (lambda x: nv.compiled_loop([x], collapse="no"), WrongKind, "collapse is a switch"),
    (lambda x: nv.call_with_view(3, [x]), WrongKind, "call_with_view takes a function"),
    (lambda x: nv.call_with_view(print, [x], parallel="yes"), WrongKind, "parallel is a switch"),
    (lambda x: nv.size_of(x), WrongKind, "this is no view of a block"),
    (lambda x: nv.stride_of(next(iter(nv.compiled_loop([x])))[0], 1), InvalidArgument, "no such dimension"),
])
def test_what_cannot_be_visited_says_why(call, kind, message):
    """T178"""
    with pytest.raises(kind, match=message) as caught:
        call(nv.make_tensor((2, 3)))
    assert caught.value.help and caught.value.op in ("call_with_view", "compiled_loop", "size_of", "stride_of")


# -- compiled blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_a_compiled_block_equals_numpy(seed):
    """T179: the seed's comparison, through views."""
    chosen = random.Random(seed)
    a, b = [random_view(chosen, exist(np.random.default_rng(seed + k).standard_normal((6, 6)))) for k in range(2)]
    if a.shape != b.shape:
        b = nv.broadcast(exist(0.25), a.axes)
    out = nv.make_tensor(a.shape)
    again = nv.compiled_loop([a, b, out], mode="generate")(lambda s, x, y: s.where(s.greater(x, y), x, y))
    wanted = np.where(a.numpy() > b.numpy(), a.numpy(), b.numpy())
    np.testing.assert_array_equal(out.numpy(), wanted)
    nv.transformers.default().set(out, np.zeros(out.shape, np.float32))
    again()
    np.testing.assert_array_equal(out.numpy(), wanted)


def test_a_compiled_block_writes_through_a_view():
    """T179"""
    out, x = nv.make_tensor((4, 4)), exist([[1, 2], [3, 4]])
    nv.compiled_loop([x, out[::2, 1::2]], mode="generate")(lambda s, a: s.multiply(a, a))
    assert out.tolist() == [[0, 1, 0, 4], [0, 0, 0, 0], [0, 9, 0, 16], [0, 0, 0, 0]]


def test_a_compiled_block_is_one_kernel_of_vector_code():
    """T179: a compare and a choice in one loop, and no call."""
    x, y, out = [nv.make_tensor((1000,)) for _ in range(3)]
    computation = nv.compiled_loop([x, y, out], mode="generate")(lambda s, a, b: s.where(s.greater(a, b), a, b))
    report = nv.explain(computation)
    assert len(report.steps) == 1
    assert {type(op).__name__ for op in computation.optimised.operations} <= {
        "ReadVariable", "Greater", "Where", "Maximum"}


def test_low_precision_is_rounded_once():
    """T180: the product and the sum of two numbers of 8 bits of mantissa, in float32."""
    x, out = [nv.tensor(np.float32([1 + 2**-7, 3]), dtype=nv.bfloat16) for _ in range(2)]
    nv.compiled_loop([x, out], mode="generate")(lambda s, a: s.subtract(s.multiply(a, a), a))
    exact = np.float32([1 + 2**-7, 3]) ** 2 - np.float32([1 + 2**-7, 3])
    assert out.tolist() == nv.constant(exact).astype(nv.bfloat16).tolist()


def test_a_fused_multiply_add_rounds_once():
    """T179: it is a function of scalars, as others are."""
    x, out = [nv.tensor(np.float32([1 + 2**-23, 3])) for _ in range(2)]
    nv.compiled_loop([x, out], mode="generate")(lambda s, a: s.fma(a, a, s.negative(a)))
    exact = np.float64([1 + 2**-23, 3]) ** 2 - np.float64([1 + 2**-23, 3])
    assert out.tolist() == exact.astype(np.float32).tolist()


@pytest.mark.parametrize(("expression", "kind", "message"), [
    (lambda s, a: s.frobnicate(a), NotSupported, "there is no such function of scalars"),
    (lambda s, a: s.index(0), NotSupported, "no op stands for this function of scalars"),
    (lambda s, a: None, WrongKind, "the expression gives no scalar"),
    (lambda s, a: s.bitwise_and(a, a), NervureError, "Bitwise|Logical"),
])
def test_what_cannot_be_compiled_says_why(expression, kind, message):
    """T179"""
    with pytest.raises(kind, match=message):
        nv.compiled_loop([exist([1]), exist([1])], mode="generate")(expression)


def test_numbers_of_dimensions_may_be_integers_of_numpy():
    seen = []
    nv.call_with_view(lambda view: seen.append(nv.size_of(view, np.int64(-1))), [nv.make_tensor((2, 3))], np.int64(1))
    assert seen == [6]
