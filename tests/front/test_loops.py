"""Loops and branches as users write them: values, carries, captures, variables, random numbers, derivatives, errors."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from tests.conformance.running import TRANSFORMERS

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)




def run(returns, transformer, *parameters):
    """A computation of ``returns``, a list, on a transformer."""
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def cell(carry, x, w):
    """A recurrent cell: (new carry, result)."""
    h, c = carry["h"], carry["c"]
    c = c * 0.5 + nv.tanh(nv.matmul(x, w) + h)
    h = nv.sigmoid(c) * h + x
    return {"h": h, "c": c}, (h, nv.sum(c))


def unrolled(xs, w, length, reverse=False):
    carry, rows = {"h": nv.zeros((3,)), "c": nv.ones((3,))}, [None] * length
    for at in reversed(range(length)) if reverse else range(length):
        carry, rows[at] = cell(carry, xs[at], w)
    return carry, [nv.stack(list(column)) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_and_its_derivatives_are_those_of_the_unrolled_loop(transformer, reverse):
    """A360, A370: values, first and second derivatives."""
    rng = np.random.default_rng(1)
    xs, w = nv.placeholder((4, 3), nv.float64), nv.variable((3, 3), rng.normal(size=(3, 3)), nv.float64)
    init = {"h": nv.zeros((3,)).astype(nv.float64), "c": nv.ones((3,)).astype(nv.float64)}
    first = nv.scan(lambda carry, x: cell(carry, x, w), init, xs, reverse=reverse)
    second = unrolled(xs, w, 4, reverse)
    returns = []
    for carry, rows in (first, second):
        loss = nv.sum(carry["h"] * carry["c"]) + nv.sum(rows[0] * rows[0]) + nv.sum(nv.sin(rows[1]))
        slope = nv.deriv(loss, w)
        returns += [carry["h"], carry["c"], rows[0], rows[1], slope, nv.deriv(loss, xs),
                    nv.deriv(nv.sum(slope * slope), w)]
    found = run(returns, transformer, xs)(rng.normal(size=(4, 3)))
    for mine, theirs in zip(found[:7], found[7:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_one_program_serves_all_lengths(transformer, length):
    """A361: lengths are symbols, and may be 0."""
    xs, w = nv.placeholder("T=t, F=2"), nv.variable("F=2", [0.5, 2.0])
    carry, rows = nv.scan(lambda h, x: (h * w + x,) * 2, nv.zeros("F=2"), xs, axis="T")
    assert rows.axes.names == ("T", "F")
    compiled = run([carry, rows, nv.deriv(nv.sum(rows, out_axes=()), w)], transformer, xs)
    data = np.arange(2 * length, dtype=np.float32).reshape(length, 2)
    last, stacked, slope = compiled(data)
    h, expected, d, total = np.zeros(2), [], np.zeros(2), np.zeros(2)
    for row in data:
        d = d * [0.5, 2.0] + h
        h = h * [0.5, 2.0] + row
        total += d
        expected.append(h)
    np.testing.assert_allclose(last, h, rtol=1e-6)
    np.testing.assert_allclose(stacked, np.reshape(expected, (length, 2)), rtol=1e-6)
    np.testing.assert_allclose(slope, total, rtol=1e-6)


def test_slices_lie_along_any_axis_and_nest(transformer):
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    total, rows = nv.scan(lambda s, part: (s + nv.sum(part["x"]) * nv.sum(part["y"][0]), (part["x"],)), 0.0,
                          {"x": nv.constant(x), "y": (nv.constant(y),)}, axis=1)
    found, (stacked,) = run([total], transformer)()[0], rows
    np.testing.assert_allclose(found, np.sum(x.sum(0) * y.sum(0)))
    np.testing.assert_array_equal(run([stacked], transformer)()[0], x.T)


def test_a_number_takes_the_type_of_what_it_meets(transformer):
    """A362: a number as first carry."""
    total, _ = nv.scan(lambda s, x: (s + x, None), 0, nv.constant(np.float64([0.1, 0.2])))
    assert total.dtype is nv.float64
    assert run([total], transformer)()[0] == np.float64(0.1) + np.float64(0.2)


def test_numbers_take_the_types_of_numbers_that_take_those_of_what_they_meet(transformer):
    """A362: each carry takes its type from the next, however many there are."""
    pushes = nv.constant(np.float64([1.0, 2.0, 3.0, 4.0]))
    place = nv.scan(lambda c, push: ((c[0] + 0.1 * c[1], c[1] + 0.1 * push), None), (0.0, 0.0), pushes)[0]
    last = nv.scan(lambda c, push: ((*c[1:], push), None), (0, 0, 0.0, 0), pushes)[0]
    steps = nv.fori_loop(0, 3, lambda i, c: (c[0] + c[1], c[1] * pushes[1]), (0.0, 1))
    bounded = nv.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + c[1], c[1] * pushes[1]), (0.0, 1), max_trips=5)
    found = run([*place, *last, *steps, *bounded], transformer)()
    assert {entry.dtype for entry in found} == {np.dtype(np.float64)}
    np.testing.assert_allclose([entry.item() for entry in found], [0.1, 1, 1, 2, 3, 4, 7, 8, 3, 4], rtol=1e-15)
    with pytest.raises(InvalidArgument, match="carry comes out of the body as something else"):
        nv.scan(lambda c, _: (c.astype(nv.int64 if c.dtype is nv.float32 else nv.float32), None), 0.0, pushes)


def test_while_and_fori(transformer):
    """A363: bounds may be tensors."""
    n = nv.placeholder((), nv.int64)
    steps, x = nv.while_loop(lambda s: s[1] < 100, lambda s: (s[0] + 1, s[1] * 2), (nv.constant(0, dtype=nv.int32),
                                                                                  nv.constant(3.0)))
    total = nv.fori_loop(0, n, lambda i, s: s + i, nv.constant(0, dtype=nv.int64))
    power = nv.fori_loop(2, 5, lambda i, s: s * i.astype(nv.float32), 1.0)
    found = run([steps, x, total, power], transformer, n)
    assert [entry.item() for entry in found(5)] == [6, 192.0, 10, 24.0]
    assert [entry.item() for entry in found(0)] == [6, 192.0, 0, 24.0]


def test_cond_and_switch_run_one_branch(transformer):
    """A364, A370: the others' checks do not happen."""
    x, k = nv.placeholder("N=n"), nv.placeholder((), nv.int32)
    table = nv.constant([1.0, 2.0, 3.0])
    chosen = nv.cond(k < 3, lambda: {"y": x * table[k]}, lambda: {"y": -x})["y"]  # the index is out of range elsewhere
    other = nv.switch(k, [lambda v: v + 1, lambda v: v * v, nv.exp], x)
    found = run([chosen, other, nv.deriv(nv.sum(chosen * other, out_axes=()), x)], transformer, x, k)
    data = np.float32([1.0, 2.0])
    for k, (a, b, slope) in {0: (data, data + 1, 2 * data + 1), 1: (2 * data, data**2, 6 * data**2),
                             7: (-data, np.exp(data), -np.exp(data) * (1 + data))}.items():
        for mine, theirs in zip(found(data, k), (a, b, slope), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


NONE = np.zeros((0, 3), np.float32)


@pytest.mark.parametrize(("body", "error", "text"), [
    (lambda x: nv.sum(nv.max(x, axis=0)), InvalidArgument, "an empty axis has no such element"),
    (lambda x: nv.sum(x - nv.max(x, axis=0)), InvalidArgument, "an empty axis has no such element"),
    (lambda x: nv.sum(nv.pad(x, ((1, 1), (0, 0)), mode="edge")), InvalidArgument, "no elements to be padded with"),
    (lambda x: nv.sum(nv.ones((x.shape[0] - 3,))), ShapeMismatch, "would be negative"),
], ids=["chosen", "chosen and spread", "padded", "negative"])
def test_a_body_without_a_result_for_these_lengths_fails_where_it_runs(transformer, body, error, text):
    """A364: as it would outside; a branch that is not chosen and a loop without iterations do not fail."""
    x, chosen, n = nv.placeholder((nv.dim("m"), 3)), nv.placeholder((), nv.bool_), nv.placeholder((), nv.int64)
    branch = nv.cond(chosen, body, lambda x: nv.sum(x), x)
    loop = nv.fori_loop(0, n, lambda i, state: (state[0] + body(state[1]), state[1] * 1.0), (nv.constant(0.0), x))[0]
    compiled = run([branch, loop], transformer, x, chosen, n)
    assert [each.item() for each in compiled(NONE, False, 0)] == [0.0, 0.0]
    for arguments in ((True, 0), (False, 2)):
        with pytest.raises(error, match=text) as caught:
            compiled(NONE, *arguments)
        assert caught.value.location.file == __file__
    assert np.isfinite(compiled(np.ones((4, 3), np.float32), True, 2)).all()


def test_derivatives_of_a_bounded_while_loop(transformer):
    """A371: what goes on is an error."""
    x = nv.placeholder((), nv.float64)
    y = nv.while_loop(lambda v: v < 50, lambda v: v * v + x, x, max_trips=6)
    slope = nv.deriv(y, x)
    found = run([y, slope, nv.deriv(slope, x)], transformer, x)
    def by_hand(x):
        v, d, dd = x, 1.0, 0.0
        while v < 50:
            v, d, dd = v * v + x, 2 * v * d + 1, 2 * d * d + 2 * v * dd
        return v, d, dd
    for start in (1.5, 3.0, 60.0):
        np.testing.assert_allclose(found(start), by_hand(start), rtol=1e-12)
    with pytest.raises(InvalidArgument, match="max_trips=6"):
        found(0.0)


def test_a_bounded_while_loop_ends_where_its_condition_first_fails(transformer):
    """A363: also where the condition draws numbers, and would hold again later."""
    def steps(**bound):
        return nv.while_loop(lambda n: nv.uniform(()) < 0.5, lambda n: n + 1, nv.constant(0.0), **bound)
    draw = run([steps(), steps(max_trips=24)], transformer)
    rounds = np.array([draw() for _ in range(12)])
    assert (rounds.max(axis=0) < 20).all() and (rounds.min(axis=0) == 0).all()


def test_derivatives_of_the_users_own_read_what_stands_around_a_body(transformer):
    """A372: they take derivatives themselves, too; in loops and branches, along directions, for each element."""
    x, q = nv.placeholder((3,), nv.float64), nv.placeholder((3,), nv.float64)
    w = nv.variable((3,), [1.0, 2.0, 3.0], nv.float64)
    rows, factor = np.ones((4, 3)), np.array([1.0, 2.0, 3.0]) * np.exp(np.array([0.1, 0.0, -0.2]))
    for rule in (lambda g, x: g * nv.exp(q) * w, lambda g, x: nv.vjp(lambda u: u * w, x)[1](g * nv.exp(q))[0]):
        own = nv.custom_vjp(nv.sin, rule)
        def looped(x, own=own):
            return nv.sum(nv.scan(lambda h, row: (own(h) + row, None), x, nv.constant(rows, dtype=nv.float64))[0])
        def chosen(x, own=own):
            return nv.sum(nv.cond(nv.sum(x) > 0, own, lambda x: x * 2.0, x))
        for f, slope, other in ((looped, factor**4, factor**4), (chosen, factor, np.full(3, 2.0))):
            each = nv.vmap(nv.grad(f))(nv.stack([x, -x]))
            found = run([nv.deriv(f(x), x), nv.jvp(f, (x,), (x,))[1], each], transformer, x, q)(
                [0.3, 0.1, 0.2], [0.1, 0.0, -0.2])
            for mine, wanted in zip(found, (slope, slope @ [0.3, 0.1, 0.2], [slope, other]), strict=True):
                np.testing.assert_allclose(mine, wanted, rtol=1e-12)


def test_derivatives_of_the_users_own_assign_nothing_in_a_body(transformer):
    """A372"""
    x, w = nv.placeholder((3,)), nv.variable((), 0.0)
    own = nv.custom_vjp(nv.sin, lambda g, x: nv.sequential([nv.assign(w, w + 1), g]))
    with pytest.raises(NotSupported, match="assigns"):
        nv.deriv(nv.sum(nv.scan(lambda h, row: (own(h) + row, None), x, nv.ones((4, 3)))[0]), x)


def test_a_while_loop_without_a_bound_has_no_derivative(transformer):
    """A371: the error names the bound."""
    x = nv.variable((), 1.0)
    with pytest.raises(NotSupported, match="max_trips"):
        nv.deriv(nv.while_loop(lambda v: v < 5, lambda v: v * 2, x + 1), x)


def test_variables_are_read_and_assigned_in_bodies(transformer):
    """A367: assignments become carries."""
    w, scale, other = nv.variable((), 1.0), nv.variable((), 2.0), nv.variable((), 0.0)
    x = nv.placeholder("N=3")
    def step(carry, part):
        return nv.sequential([nv.assign(w, w * scale + part), carry + w]), w
    total, rows = nv.scan(step, 0.0, x, axis="N")
    chosen = nv.cond(total > 10, lambda: nv.sequential([nv.assign(other, w), total]), lambda: total)
    compiled = run([total, rows, w, chosen, other], transformer, x)
    found = compiled([1.0, 2.0, 3.0])
    assert found[0].item() == 3 + 8 + 19 and found[2].item() == 19 and found[3].item() == 30
    assert found[4].item() == 19
    assert compiled.transformer.get(w) == 19 and compiled.transformer.get(other) == 19
    np.testing.assert_array_equal(compiled([0.0, 0.0, 0.0])[2], 19 * 8)


@pytest.mark.parametrize("loop", ["map", "fori_loop", "captured by scan", "captured by while_loop"])
def test_updates_that_what_a_loop_is_given_holds_come_before_it(transformer, loop):
    """A270, A367: slices, bounds and captured tensors are there before the first iteration, and so is what they do."""
    v = nv.variable((), 1.0)
    def after_an_update(x):
        return nv.sequential([nv.assign(v, v * 10.0), x])
    def count(total, step=1.0):
        return nv.sequential([nv.assign(v, v + step), total + v])
    captured = after_an_update(nv.constant(1.0))
    if loop == "map":
        total = nv.sum(nv.map(lambda x: count(0.0, x), after_an_update(nv.ones((3,)))))
    elif loop == "fori_loop":
        total = nv.fori_loop(0, after_an_update(nv.constant(3, dtype=nv.int64)), lambda i, total: count(total), 0.0)
    elif loop == "captured by scan":
        total = nv.scan(lambda total, _: (count(total, captured), None), 0.0, None, 3)[0]
    else:
        total = nv.while_loop(lambda total: total < 30, lambda total: count(total, captured), 0.0)
    assert [float(entry) for entry in run([total, v], transformer)()] == [11.0 + 12.0 + 13.0, 13.0]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_bounds_and_the_first_value_take_place_from_the_left(transformer, at):
    """A270: a variable among them is read in its turn, before or after another one assigns it."""
    v = nv.variable((), 2, dtype=nv.int64)
    given = [v, nv.constant(5, dtype=nv.int64), v]
    given[at] = nv.sequential([nv.assign(v, 4), given[at]])
    total = nv.fori_loop(*given[:2], lambda i, total: total + i, given[2])
    first, start = [(4, 4), (2, 4), (2, 4)][at]
    assert run([total], transformer)()[0] == start + sum(range(first, 5))


def test_an_error_in_the_middle_of_a_loop_changes_nothing(transformer):
    """A367: all or nothing."""
    w, table = nv.variable((), 1.0), nv.constant([1.0, 2.0, 3.0])
    k = nv.placeholder("N=n", nv.int64)
    step = nv.scan(lambda s, at: (nv.sequential([nv.assign(w, w + 1), s + table[at]]), None), 0.0, k, axis="N")[0]
    compiled = run([step], transformer, k)
    with pytest.raises(IndexError):
        compiled([0, 1, 3, 0])
    assert compiled.transformer.get(w) == 1.0
    assert compiled([0, 1, 2])[0] == 6 and compiled.transformer.get(w) == 4.0


def test_each_iteration_draws_numbers_of_its_own(transformer):
    """A368: in nested loops, too."""
    _, rows = nv.scan(lambda s, _: (s, nv.uniform((2,))), (), None, 8)
    _, nested = nv.scan(lambda s, _: (s, nv.scan(lambda t, _: (t, nv.uniform(())), (), None, 3)[1]), (), None, 4)
    drawn, inner = run([rows, nested], transformer)()
    assert len(set(drawn.ravel().tolist())) == 16 and len(set(inner.ravel().tolist())) == 12
    last = nv.while_loop(lambda v: v < 0.9, lambda v: nv.uniform(()), nv.constant(0.0))
    assert run([last], transformer)()[0] >= 0.9


def test_prints_happen_in_each_iteration(transformer, capfd):
    """A369: and in the branch that runs."""
    last, _ = nv.scan(lambda s, x: (nv.print_op(s + x, "s"), None), 0.0, nv.constant([1.0, 2.0]))
    run([last], transformer)()
    chosen = nv.cond(nv.constant(1.0) > 2, lambda: nv.print_op(nv.constant(1.0), "a"), lambda: nv.print_op(last, "b"))
    run([chosen], transformer)()
    assert capfd.readouterr().out.split() == ["s:", "1.0", "s:", "3.0"] * 2 + ["b:", "3.0"]


def test_what_is_outside_is_computed_once(transformer):
    """A366: what a body makes itself is made in each iteration."""
    calls = []
    x = nv.constant([1.0, 2.0, 3.0])
    outside = nv.host_call(lambda a: calls.append("outside") or a, [x], like=x)
    def step(s, v):
        inside = nv.host_call(lambda a: calls.append("inside") or a, [v], like=v)
        return s + inside + nv.sum(outside), None
    assert run([nv.scan(step, 0.0, x)[0]], transformer)()[0] == 24.0
    assert calls == ["outside", "inside", "inside", "inside"]


def test_derivatives_run_no_effects_again(transformer, capfd):
    """A372: prints and guards happen once, calls of Python with effects are refused."""
    x = nv.placeholder("T=t")
    y = nv.scan(lambda s, v: (s * nv.print_op(v, "v"), None), 1.0, x, axis="T")[0]
    np.testing.assert_allclose(run([y, nv.deriv(y, x)], transformer, x)([2.0, 3.0])[1], [3.0, 2.0])
    assert capfd.readouterr().out.split() == ["v:", "2.0", "v:", "3.0"]
    def step(s, v):
        factor, = nv.host_call(lambda a: [a], [nv.stop_gradient(v)], like=[v], effectful=True)
        return s * factor, None
    with pytest.raises(NotSupported, match="call this function again"):
        nv.deriv(nv.scan(step, 1.0, x, axis="T")[0], x)


def test_map_and_loops_in_loops(transformer):
    """A363, A370: a loop in a loop."""
    x = nv.placeholder("B=b, T=t", nv.float64)
    sums = nv.map(lambda row: nv.scan(lambda s, v: (s * v + 1, None), nv.constant(1.0, dtype=nv.float64), row)[0], x,
                  axis="B")
    found = run([sums, nv.deriv(nv.sum(sums, out_axes=()), x)], transformer, x)
    data = np.array([[0.5, 2.0, 3.0], [1.0, -1.0, 0.25]])
    value, slope = found(data)
    def of(row):
        s = 1.0
        for v in row:
            s = s * v + 1
        return s
    np.testing.assert_allclose(value, [of(row) for row in data])
    for at in np.ndindex(2, 3):
        ahead, behind = data.copy(), data.copy()
        ahead[at] += 1e-6
        behind[at] -= 1e-6
        np.testing.assert_allclose(slope[at], (of(ahead[at[0]]) - of(behind[at[0]])) / 2e-6, rtol=1e-6, atol=1e-8)


def test_functions_of_functions_go_through_loops(transformer):
    """A370, Q42: directions and many elements at once; a loop for many elements draws one set of numbers."""
    def powers(x):
        return nv.scan(lambda p, _: (p * x, p * nv.sin(x)), 1.0, None, 3)[1]
    x = nv.placeholder((), nv.float64)
    value, slope = nv.jvp(powers, (x,), (x * 0 + 2,))
    many = nv.vmap(powers)(nv.stack([x, x + 1]))
    drawn = nv.vmap(lambda v: nv.scan(lambda c, _: (c + nv.uniform(()), None), v, None, 2)[0])(nv.zeros((2,)))
    found = run([value, slope, many, drawn], transformer, x)(0.5)
    rows = [[np.sin(v) * v**k for k in range(3)] for v in (0.5, 1.5)]
    np.testing.assert_allclose(found[0], rows[0])
    slopes = [2 * (np.cos(0.5) * 0.5**k + np.sin(0.5) * k * 0.5**(k - 1)) for k in range(3)]
    np.testing.assert_allclose(found[1], slopes)
    np.testing.assert_allclose(found[2], rows)
    assert found[3][0] == found[3][1] > 0


def test_under_jit_and_saved(transformer, tmp_path):
    made = nv.transformers.make_transformer(transformer)
    powers = nv.jit(lambda x: nv.scan(lambda p, _: (p * x, p), 1.0, None, 4)[1], transformer=made)
    assert powers(np.float32(2.0)).tolist() == [1.0, 2.0, 4.0, 8.0]
    x = nv.placeholder("T=t")
    saved = run([nv.scan(lambda s, v: (s + v, s), 0.0, x, axis="T")[1]], transformer, x)
    nv.save(tmp_path / "loop", saved)
    again = nv.load(tmp_path / "loop", transformer=made)
    assert again(np.float32([1, 2, 3]))[0].tolist() == [0.0, 1.0, 3.0]


# -- what is wrong --------------------------------------------------------------------------------------------------


def test_a_carry_that_changes_says_which_leaf_and_how(transformer):
    """A362: leaf, what came in, what came out."""
    x = nv.placeholder("T=t, F=2")
    with pytest.raises(InvalidArgument) as caught:
        nv.scan(lambda c, v: ({"h": c["h"], "n": c["n"] + v}, None),
                {"h": nv.zeros("F=2"), "n": nv.constant(1, dtype=nv.int32)}, x, axis="T")
    assert (caught.value.operand, caught.value.got, caught.value.expected) == (
        "carry['n']", "f32[F=2] came out", "i32[], which came in")
    with pytest.raises(InvalidArgument, match="nesting"):
        nv.scan(lambda c, v: ((c, c), None), nv.zeros("F=2"), x, axis="T")
    with pytest.raises(InvalidArgument, match="carry comes out"):
        nv.while_loop(lambda c: nv.sum(c) < 1, lambda c: nv.sum(c), nv.zeros((3,)))
    with pytest.raises(WrongKind, match="a carry and what is stacked"):
        nv.scan(lambda c, v: c, nv.zeros("F=2"), x, axis="T")


def test_branches_that_differ_say_where(transformer):
    """A365: nesting, types, shapes; what chooses."""
    x = nv.placeholder("N=3")
    for other in (lambda: {"a": x.astype(nv.int32)}, lambda: {"a": x[:2]}, lambda: {"b": x}, lambda: x):
        with pytest.raises(InvalidArgument, match="the branches differ"):
            nv.cond(nv.sum(x, out_axes=()) > 0, lambda: {"a": x}, other)
    with pytest.raises(WrongKind, match="one bool"):
        nv.cond(x, lambda: 1, lambda: 2)
    with pytest.raises(WrongKind, match="one integer"):
        nv.switch(1.5, [lambda: 1])
    assert nv.cond(True, lambda: x, lambda: 0 * x).dtype is nv.float32


def test_slices_of_different_lengths(transformer):
    """A361: and no length at all."""
    with pytest.raises(ShapeMismatch, match="different lengths"):
        nv.scan(lambda c, v: (c, None), 0.0, (nv.zeros((3,)), nv.zeros((4,))))
    with pytest.raises(ShapeMismatch, match="different lengths"):
        nv.scan(lambda c, v: (c, None), 0.0, nv.zeros((3,)), length=4)
    with pytest.raises(InvalidArgument, match="iterations is not known"):
        nv.scan(lambda c, v: (c, None), 0.0)


def test_python_s_own_branches_and_loops_name_ours(transformer):
    """Q5: the errors of if and for name nv.cond and nv.scan."""
    def branches(x):
        return x if nv.sum(x) > 0 else -x
    def loops(x):
        return [v * 2 for v in x]
    with pytest.raises(WrongKind, match=r"nv\.cond"):
        nv.jit(branches)(np.ones(3, np.float32))
    with pytest.raises(WrongKind, match=r"nv\.scan"):
        nv.jit(loops)(np.ones(3, np.float32))
    with pytest.raises(WrongKind, match=r"nv\.cond"):
        nv.scan(lambda c, v: (c if c > 0 else v, None), 0.0, nv.zeros((3,)))


def swapped(d, *_):
    """Entries in another order than they came in: (a, b) -> (b, [a + 1, 2])."""
    return {"b": [d["a"] + 1.0, d["b"][1]], "a": d["b"][0]}


@pytest.mark.parametrize("loop", [
    lambda first: nv.fori_loop(0, 3, lambda i, d: swapped(d), first),
    lambda first: nv.while_loop(lambda d: d["a"] + d["b"][0] < 7.5, swapped, first, max_trips=5),
    lambda first: nv.scan(lambda d, _: (swapped(d), None), first, None, length=3)[0],
    lambda first: nv.cond(nv.sum(first["a"]) > 0, lambda d: swapped(swapped(swapped(d))), swapped, first),
    lambda first: nv.switch(2, [lambda d: d, swapped, lambda d: swapped(swapped(swapped(d)))], first),
], ids=["fori_loop", "while_loop", "scan", "cond", "switch"])
def test_entries_of_dicts_are_found_by_their_keys(transformer, loop):
    """A362, A365: in any order; what comes out has that of the first."""
    a, b = nv.placeholder((), nv.float64), nv.placeholder((), nv.float64)
    found = loop({"a": a, "b": [b, 7.0]})
    value, factor = found["a"] * 10 + found["b"][0], found["b"][1]
    assert set(found) == {"a", "b"}
    made = run([value, factor, nv.deriv(value * value, a)], transformer, a, b)(2.0, 3.0)
    assert [entry.item() for entry in made] == [44.0, 7.0, 88.0]
