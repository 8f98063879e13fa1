"""Carries that a body updates where they lie: the bits of the interpreter, and an iteration touches what it changes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.transformers.cpu.region_code import RegionCode

ROWS = 6

BODIES = {
    "set": lambda i, t, u: (t.at[i % ROWS].set(t[(i * 5 + 2) % ROWS] + 1.0), u, u),
    "add two": lambda i, t, u: (t.at[nv.stack([i % ROWS, (i + 1) % ROWS])].add(u[:2]), u, t),
    "everywhere": lambda i, t, u: (t * 0.5 + u, u, t),
    "at other places": lambda i, t, u: (nv.flip(t, 0) * 0.5, u, t),
    "both": lambda i, t, u: (t.at[i % ROWS].add(u[0]), u.at[0].set(t[(i + 1) % ROWS]), u),
    "in turn": lambda i, t, u: (u.at[i % ROWS].add(t[0]), t, u),
    "stacked": lambda i, t, u: (t.at[1].add(u[i % ROWS]), t, t.at[1].add(u[i % ROWS])),
    "left": lambda i, t, u: (t, u.at[0].set(t[1]), t),
}


def on(transformer, returns, *parameters):
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def updated(made) -> list[tuple[int, ...]]:
    """Returns the carries of each loop of a computation that stay where they are."""
    loops = [code.region for code in made.executable._loaded.codes if isinstance(code, RegionCode)]
    return [tuple(sorted(region.updated)) for region in loops]


def tables(count=2):
    random = np.random.default_rng(5)
    return [random.standard_normal((ROWS, 3), np.float32) for _ in range(count)]


@pytest.mark.parametrize("kind", BODIES)
def test_carries_have_the_bits_of_the_interpreter(kind):
    """A374: for lengths of both parities, in scans and while loops, and what was given stays as it is."""
    n, t, u = nv.placeholder((), nv.int64), *[nv.placeholder((ROWS, 3)) for _ in range(2)]

    def body(carry):
        i, t, u = carry
        t, u, _ = BODIES[kind](i, t, u)
        return i + 1, t, u

    def step(carry, i):
        t, u, y = BODIES[kind](i, *carry)
        return (t, u), y

    numbers = nv.placeholder((nv.dim("k"),), nv.int64)
    (last_t, last_u), stacked = nv.scan(step, (t, u), numbers)
    loop = nv.while_loop(lambda carry: carry[0] < n, body, (nv.constant(0, dtype=nv.int64), t, u))
    returns = [last_t, last_u, stacked, *loop[1:], t + u]
    mine, theirs = on("cpu", returns, n, t, u, numbers), on("interpreter", returns, n, t, u, numbers)
    for length in (0, 1, 4, 5):
        given = np.array(length), *tables(), np.arange(length)
        before = [array.copy() for array in given]
        for found, expected in zip(mine(*given), theirs(*given), strict=True):
            np.testing.assert_array_equal(found, expected)
        for array, other in zip(given, before, strict=True):
            np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize(("kind", "stays"), [
    ("set", (0, 1)), ("add two", (0, 1)), ("everywhere", (0, 1)), ("at other places", (1,)), ("in turn", ()),
    ("left", (0, 1))])
def test_a_carry_stays_where_it_is_if_nothing_reads_the_old_elements_later(kind, stays):
    """A374: and needs no second place."""
    t, u, numbers = *[nv.placeholder((ROWS, 3)) for _ in range(2)], nv.placeholder((4,), nv.int64)
    carry, _ = nv.scan(lambda carry, i: (BODIES[kind](i, *carry)[:2], None), (t, u), numbers)
    assert updated(on("cpu", [*carry], t, u, numbers)) == [stays]


def test_what_a_derivative_keeps_is_not_overwritten():
    """A370, A374: the carries before all iterations are those of the interpreter."""
    t, u = [nv.placeholder((ROWS, 3)) for _ in range(2)]
    (last, _), _ = nv.scan(lambda carry, i: ((carry[0] * carry[0] + carry[1][i], carry[1]), None), (t * 0.1, u),
                           nv.constant(np.arange(5)))
    loss = nv.sum(nv.square(last), out_axes=())
    returns = [nv.deriv(loss, t), nv.deriv(loss, u)]
    for mine, theirs in zip(*[on(name, returns, t, u)(*tables()) for name in ("cpu", "interpreter")], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def step_of(table, read):
    """The body of a loop that reads a table at places which it finds on its way."""
    def step(carry, _):
        at, total = carry
        return ((at * 5 + 1) % (ROWS - 2), total * 0.5 + nv.tanh(read(table, at)) * nv.sum(total, out_axes=())), None
    return step


def of_total(total, table):
    """A loss, and its gradient for the table."""
    loss = nv.sum(nv.square(total), out_axes=())
    return [loss, nv.deriv(loss, table)]


def reading(table, start, read):
    (_, total), _ = nv.scan(step_of(table, read), (start, nv.constant(np.ones(3, np.float32))), None, length=5)
    return of_total(total, table)


def unrolled(table, start, read):
    carry = start, nv.constant(np.ones(3, np.float32))
    for _ in range(5):
        carry, _ = step_of(table, read)(carry, None)
    return of_total(carry[1], table)


@pytest.mark.parametrize("read", [
    lambda table, at: table[at], lambda table, at: nv.sum(table[at + nv.constant(np.arange(2))], axis=0),
    lambda table, at: table[at] * table[at + 1]])
def test_a_derivative_adds_to_the_rows_that_an_iteration_has_read(read):
    """A378: with the gradients of the interpreter, and of an unrolled loop."""
    table, start = nv.placeholder((ROWS, 3)), nv.placeholder((), nv.int64)
    made = on("cpu", reading(table, start, read), table, start)
    body = next(op.body for op in reversed(made.optimised.operations) if isinstance(op, ops.Scan))
    total, = [op for op in body.operations if isinstance(op, ops.Scatter)]
    assert isinstance(total.operands[0].op, nv.Parameter) and len(updated(made)[-1]) >= 1
    given = tables(1)[0], np.array(2)
    found = made(*given)
    for other in (on("interpreter", reading(table, start, read), table, start),
                  on("cpu", unrolled(table, start, read), table, start)):
        for mine, theirs in zip(found, other(*given), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-6)


def test_the_time_of_an_iteration_does_not_depend_on_the_table():
    """A374, A378: what a loop and its derivative touch in an iteration, by their own account, is some rows."""
    times = []
    for rows in (ROWS, 4096):
        table, start = nv.placeholder((rows, 3)), nv.placeholder((), nv.int64)
        made = on("cpu", reading(table, start, lambda table, at: table[at]), table, start)
        loop = [code for code in made.executable._loaded.codes if isinstance(code, RegionCode)][-1]
        times.append(loop.step({}).nanoseconds)
    assert times[0] == times[1]
