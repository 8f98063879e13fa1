"""Values in loops and branches that all examples share: results, assignments, and what is computed from them."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from tests.conformance.running import TRANSFORMERS
from tests.functions.test_loops_at_once import computed, regions

X = np.float32([1, 2, 3])
K = np.float32(2)


def scanned(x, k):
    """A carry that starts from what is shared, one that differs, and both stacked."""
    (a, b), (c, d) = nv.scan(lambda c, _: ((c[0] * x, c[1] + k), (c[0], c[1] * 2)), (x, k), length=3)
    return (a, c), (b, d)


def sliced(x, k):
    last, rows = nv.scan(lambda c, row: (c * k + row, (c, row * x)), k, nv.arange(4.0) * k)
    return rows[1], (last, rows[0])


def late(x, k):
    """Carries that begin to differ in the second and third iteration."""
    a, b, c, d = nv.scan(lambda s, _: ((s[1], s[2], s[2] * x, s[3] + k), None), (k, k, k, k), length=4)[0]
    return (a, b, c), d


def repeated(x, k):
    a, b = nv.fori_loop(0, 3, lambda i, s: (s[0] * x, s[1] * k + i.astype(nv.float32)), (x, k))
    return a, b


def while_shared(x, k):
    a, b, n = nv.while_loop(lambda s: s[2] < 3, lambda s: (s[0] * x, s[1] * k, s[2] + 1),
                            (x, k, nv.constant(0, dtype=nv.int32)))
    return a, (b, n)


def branched(x, k):
    """The second result is shared in the first branch alone, the fourth in neither; the third in both."""
    a, b, c, d = nv.cond(k > 0, lambda x, k: (x, k, k * 2, x), lambda x, k: (k, x, k + 1, x * k), x, k)
    return (a, b, d), c


def switched(x, k):
    number = nv.multiply(k, 1).astype(nv.int32)
    a, b, c = nv.switch(number, [lambda: (x, k, k), lambda: (k, k, k), lambda: (k, k, k * 3)])
    return a, (b, c)


def nested(x, k):
    def outer(carry, _):
        a, b = carry
        inner, count = nv.fori_loop(0, 2, lambda i, s: (s[0] * x, s[1] + k), (a, b))
        chosen, other = nv.cond(count > 5, lambda: (inner, count), lambda: (a, count * 2))
        return (chosen, other), count
    (a, b), counts = nv.scan(outer, (x, k), length=3)
    return a, (b, counts)


def checkpointed(x, k):
    a, b = nv.checkpoint(lambda x, k: (x * k, nv.exp(k)))(x, k)
    c, d = nv.scan(lambda s, _: ((s[0] * x, s[1] + k), None), (x, k), length=4, checkpoint=2)[0]
    return (a, c), (b, d)


def read_further(x, k):
    """What is shared goes on through ops, composites, and further loops; some of it meets what differs."""
    a, b = repeated(x, k)
    row = nv.softmax(nv.stack([b, b * 2]), axis=0)
    total = nv.scan(lambda s, v: (s + v * b, None), b, row)[0]
    return (a + total, nv.where(x > 1, b, 0.0), row * x), (row, total, nv.cumsum(row, axis=0))


def found(x, k):
    """Each example finds a length; what it captures is shared."""
    _, b = repeated(x, k)
    row = nv.stack([x - 1, x - 2, x])
    return nv.sum(row[row > 0] * b), b


SHARED = [scanned, sliced, late, repeated, while_shared, branched, switched, nested, checkpointed,
          read_further, found]


def leaves(value):
    return [leaf for entry in value for leaf in leaves(entry)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("length", [3, "N=n"])
@pytest.mark.parametrize("function", SHARED)
def test_results_that_all_examples_share(function, length, transformer):
    """D22: they are those of one example, with out_axes=None; the others are those of a loop over the examples."""
    x, k = nv.placeholder(length if isinstance(length, str) else (length,)), nv.placeholder(())
    mapped = nv.vmap(function, in_axes=(0, None), out_axes=(0, None))(x, k)
    differing, shared = computed(leaves(mapped[0]), x, k, transformer=transformer), computed(
        leaves(mapped[1]), x, k, transformer=transformer)
    one = nv.placeholder(())
    single = computed(leaves(function(one, k)), one, k)
    count = len(leaves(mapped[0]))
    rows = [single(value, K) for value in X]
    for at, mine in enumerate(differing(X, K)):
        np.testing.assert_allclose(mine, [row[at] for row in rows], rtol=1e-5)
    for at, mine in enumerate(shared(X, K), count):
        np.testing.assert_allclose(mine, rows[0][at], rtol=1e-5)


@pytest.mark.parametrize("function", SHARED)
def test_results_that_differ_have_a_position(function):
    """D22: out_axes=None is an error where a result depends on the example, in one branch too."""
    count = len(leaves(function(nv.constant(1.0), nv.constant(2.0))[0]))
    for at in range(count):
        with pytest.raises(nv.errors.InvalidArgument, match="depends on what is mapped"):
            nv.vmap(lambda x, k, at=at: leaves(function(x, k)[0])[at], in_axes=(0, None), out_axes=None)(X, K)
    everything = nv.vmap(function, in_axes=(0, None))(X, K)
    assert all([entry.shape[0] == 3 for entry in leaves(everything)])


@pytest.mark.parametrize("function", [entry for entry in SHARED if entry not in (while_shared, found)])
def test_derivatives_of_shared_results(function):
    """D21: a gradient for what is shared is added up over what it was used for."""
    def total(value):
        return sum([nv.sum(nv.sin(leaf), out_axes=()) for leaf in leaves(value)], nv.constant(0.0))

    def by_vmap(x, k):
        mapped = nv.vmap(function, in_axes=(0, None), out_axes=(0, None))(x, k)
        return total(mapped[0]) + total(mapped[1])

    def by_loop(x, k):
        each = [function(x[at], k) for at in range(3)]
        return sum([total(entry[0]) for entry in each], total(each[0][1]))
    x, k = nv.placeholder((3,)), nv.placeholder(())
    mine, theirs = [computed([*nv.grad(call, (0, 1))(x, k)], x, k)(X / 3, K) for call in (by_vmap, by_loop)]
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_what_is_shared_is_computed_once():
    """D20: one loop has the carries that differ and those that do not; another one that is shared has no examples."""
    x, k = nv.placeholder((3,)), nv.placeholder(())
    mapped = nv.vmap(read_further, in_axes=(0, None), out_axes=(0, None))(x, k)
    compiled = computed([*leaves(mapped[0]), *leaves(mapped[1])], x, k)
    loops = [op for op in compiled.function.operations if hasattr(op, "bodies")]
    assert regions(compiled.function) == ["Scan", "Scan"]
    assert [[output.shape for output in op.outputs[:op.carries]] for op in loops] == [[(3,), ()], [()]]


def counted(step):
    """A function that assigns ``step(n, x)`` to a variable n twice, and multiplies its argument."""
    def make(loop):
        n = nv.variable((), 1.0)

        def body(v, x):
            return nv.sequential([nv.assign(n, step(n, x)), v * 2])
        return n, lambda x: loop(lambda v: body(v, x), x)
    return make


LOOPS = {
    "scan": lambda body, x: nv.scan(lambda c, _: (body(c), None), x, length=2)[0],
    "fori_loop": lambda body, x: nv.fori_loop(0, 2, lambda i, v: body(v), x),
    "bounds": lambda body, x: nv.fori_loop(0, nv.constant(2, dtype=nv.int64) * 1, lambda i, v: body(v), x),
    "while_loop": lambda body, x: nv.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, body(s[1])), (0.0, x))[1],
    "cond": lambda body, x: nv.cond(nv.constant(True), lambda: body(body(x)), lambda: x),
    "switch": lambda body, x: nv.switch(1, [lambda: x, lambda: body(body(x))]),
    "nested": lambda body, x: nv.scan(lambda c, _: (nv.cond(nv.constant(True), lambda: body(c), lambda: c), None), x,
                                      length=2)[0],
}


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("loop", LOOPS)
def test_an_assignment_of_what_is_shared_takes_place_once(loop, transformer):
    """D26: in a body, as many times as one example assigns."""
    n, function = counted(lambda n, x: n * 3 + 1)(LOOPS[loop])
    x = nv.placeholder((3,))
    mapped = nv.vmap(function)(x)
    compiled = computed([nv.sequential([mapped, n * 10]), mapped], x, transformer=transformer)
    for expected in (13.0, 121.0):
        after, result = compiled(X)
        assert after == 10 * expected and result.tolist() == (4 * X).tolist()


@pytest.mark.parametrize("loop", LOOPS)
def test_an_assignment_of_a_value_for_each_example_is_not_supported(loop):
    """D26."""
    _, function = counted(lambda n, x: n + x)(LOOPS[loop])
    with pytest.raises(nv.NotSupported, match="each element of what is mapped over"):
        nv.vmap(function)(nv.placeholder((3,)))
