"""Schedules: the rate of each step, by the count of the optimiser."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind


def rates(schedule, counts):
    return [schedule.at(n).item() for n in counts]


def test_the_formulas():
    """T248: with n from 0, in float64; what ends stays at its end."""
    assert rates(nv.optim.constant(0.1), [0, 7]) == [0.1, 0.1]
    assert rates(nv.optim.stepped(1.0, every=3, factor=0.5), [2, 3, 6]) == [1.0, 0.5, 0.25]
    assert rates(nv.optim.exponential(2.0, 0.5), [0, 1, 2]) == [2.0, 1.0, 0.5]
    np.testing.assert_allclose(rates(nv.optim.cosine(1.0, 4, end=0.2), [0, 1, 2, 4, 9]),
                               [1.0, 0.6 + 0.4 * np.sqrt(0.5), 0.6, 0.2, 0.2], rtol=1e-12)
    assert rates(nv.optim.warm_up(nv.optim.stepped(1.0, every=2, factor=0.5), 2, start=0.5), [0, 1, 2, 3, 4]) == [
        0.5, 0.75, 1.0, 1.0, 0.5]


def test_one_cycle_rises_and_falls():
    """T248: in half cosines, and stays down."""
    cycle = rates(nv.optim.one_cycle(1.0, steps=100, rising=0.25, first=10.0, last=100.0), [*range(100), 200])
    assert cycle[0] == pytest.approx(0.1) and cycle[24] == pytest.approx(1.0)
    assert cycle[99] == pytest.approx(0.001) == pytest.approx(cycle[100])
    assert all(np.diff(cycle[:25]) > 0) and all(np.diff(cycle[24:100]) < 0)


def test_restarts_are_exact_far_out():
    """T248: at the step of each restart the rate is the first one again."""
    cosine, start = nv.optim.warm_restarts(1.0, 3, growth=2), 0
    for length in [3 * 2**k for k in range(12)]:
        assert rates(cosine, [start]) == [1.0] and rates(cosine, [start + length - 1])[0] < 0.3
        start += length


def test_a_plateau_lowers_the_rates(interpreter):
    """T248: as PyTorch's does, with patience, a pause, and a least rate; of each rule below an optimiser."""
    first, second = nv.optim.SGD(1.0), nv.optim.SGD(2.0)
    v, w, value = nv.variable((), 0.0), nv.variable((), 0.0), nv.placeholder((), nv.float64)
    both = nv.optim.Groups([([v], first)], rest=second)
    check = interpreter.computation(nv.optim.Plateau(both, 0.5, patience=1, pause=2, least=0.3)(value), value)
    found = []
    for number in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.99995, 1.0, 1.0, 1.0, 1.0, 1.0):
        check(number)
        found.append(float(interpreter.get(first.learning_rate)))
    assert found == [1.0] * 3 + [0.5] * 4 + [0.3] + [0.3] * 8
    assert interpreter.get(second.learning_rate) == 0.3
    assert w.item() == v.item() == 0.0


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_a_plateau_lowers_a_rate_of_two_rules_once(name):
    """T248: each rate, whichever rules have it."""
    shared, value = nv.persistent_tensor((), 0.5, nv.float64), nv.placeholder(())
    rules = nv.optim.Groups([([nv.variable(())], nv.optim.SGD(shared))], rest=nv.optim.SGD(shared))
    with nv.transformers.make_transformer(name) as transformer:
        check = transformer.computation(nv.optim.Plateau(rules, 0.5, patience=0)(value), value)
        check(1.0)
        assert transformer.get(shared) == 0.5
        check(1.0)
        assert transformer.get(shared) == 0.25


def test_a_plateau_shows_its_settings():
    """T248."""
    rule = nv.optim.SGD(0.5)
    assert repr(nv.optim.Plateau(rule, factor=0.2, patience=3, larger=True)) == (
        f"Plateau({rule!r}, factor=0.2, patience=3, threshold=0.0001, pause=0, least=0.0, larger=True)")


def test_a_plateau_raises_no_rate(interpreter):
    """T248: one that is below the least rate stays as it is."""
    low, high, value = nv.optim.SGD(0.001), nv.optim.SGD(0.05), nv.placeholder(())
    both = nv.optim.Groups([([nv.variable(())], low)], rest=high)
    check = interpreter.computation(nv.optim.Plateau(both, patience=0, least=0.01)(value), value)
    for _ in range(4):
        check(1.0)
    assert interpreter.get(low.learning_rate) == 0.001 and interpreter.get(high.learning_rate) == 0.01


def test_larger_values_may_be_better(interpreter):
    """T248."""
    descent, value = nv.optim.SGD(1.0), nv.placeholder(())
    check = interpreter.computation(nv.optim.Plateau(descent, 0.5, patience=0, larger=True)(value), value)
    for number in (0.1, 0.2, 0.3):
        check(number)
    assert interpreter.get(descent.learning_rate) == 1.0
    check(0.3)
    assert interpreter.get(descent.learning_rate) == 0.5


@pytest.mark.parametrize("make", [
    lambda: nv.optim.multi_step(0.1, [5, 3]), lambda: nv.optim.sequential([nv.optim.constant(1.0)], [3]),
    lambda: nv.optim.polynomial(0.1, 5, 0.0), lambda: nv.optim.warm_restarts(0.1, 3, growth=0),
    lambda: nv.optim.cyclic(-0.1, 1.0), lambda: nv.optim.chained([]), lambda: nv.optim.Plateau(nv.optim.SGD(), 1.5),
    lambda: nv.optim.Plateau(nv.optim.SGD())(nv.zeros((2,))), lambda: nv.optim.Plateau(nv.optim.SGD(), threshold=1.0),
    lambda: nv.optim.Plateau(nv.optim.SGD(), patience=-1), lambda: nv.optim.Plateau(nv.optim.SGD(), threshold=-0.1)],
    ids=range(11))
def test_schedules_of_parts_refuse_what_makes_no_sense(make):
    """T246."""
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert caught.value.help


def test_a_schedule_sets_the_rate_before_the_update():
    """T249: of every rule below an optimiser."""
    v, w = nv.variable((), 0.0), nv.variable((), 0.0)
    first, second = nv.optim.SGD(5.0), nv.optim.SGD(7.0)
    both = nv.optim.Clipped(nv.optim.Groups([([v], first)], rest=second), norm=100.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation([nv.optim.exponential(1.0, 0.5)(both), both(v + 2.0 * w)])
        for _ in range(3):
            step()
        assert transformer.get(v) == -1.75 and transformer.get(w) == -3.5
        assert transformer.get(first.learning_rate) == transformer.get(second.learning_rate) == 0.25


def test_a_schedule_as_the_rate_shows_the_last_one():
    """T249: and goes by the count of each parameter."""
    v, w, descent = nv.variable((), 0.0), nv.variable((), 0.0), nv.optim.SGD(nv.optim.exponential(1.0, 0.5))
    with nv.transformers.make_transformer("interpreter") as transformer:
        assert transformer.get(descent.learning_rate) == 1.0
        step = transformer.computation(descent.update(v, 1.0))
        step(), step()
        assert transformer.get(v) == -1.5 and transformer.get(descent.learning_rate) == 0.5
        transformer.computation(descent.update(w, 1.0))()
        assert transformer.get(w) == -1.0 and transformer.get(descent.learning_rate) == 0.5


def test_a_count_that_is_set_is_where_the_schedule_goes_on():
    """T249: so that a loaded count resumes it."""
    w, descent = nv.variable((), 0.0), nv.optim.SGD(nv.optim.stepped(1.0, every=10, factor=0.5))
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.set(descent.n, 10)
        transformer.computation(descent.update(w, 1.0))()
        assert transformer.get(w) == -0.5


@pytest.mark.parametrize(("make", "match"), [
    (lambda: nv.optim.cosine(1.0, 0), "steps is 1 or more"), (lambda: nv.optim.cosine(-1.0, 5), "not negative"),
    (lambda: nv.optim.stepped(1.0, every=-1), "every is 1 or more"),
    (lambda: nv.optim.exponential(1.0, -2.0), "factor"),
    (lambda: nv.optim.one_cycle(1.0, 1), "rises and falls"), (lambda: nv.optim.one_cycle(1.0, 9, rising=1.5), "rises"),
    (lambda: nv.optim.one_cycle(1.0, 9, first=0.0), "first"), (lambda: nv.optim.warm_up(1.0, 5, start=-1.0), "start"),
    (lambda: nv.optim.Schedule(lambda n: nv.zeros("F=3")).at(0), "no axes"),
    (lambda: nv.optim.constant(1.0)(nv.optim.SGD(nv.placeholder(()))), "cannot be set"),
    (lambda: nv.optim.constant(1.0)(nv.optim.SGD(nv.optim.constant(1.0))), "cannot be set"),
    (lambda: nv.optim.Plateau(nv.optim.SGD(nv.placeholder(())))(1.0), "cannot be set"),
    (lambda: nv.optim.Plateau(nv.optim.Groups([], rest=nv.optim.Adam(nv.optim.cosine(1.0, 9))))(1.0), "cannot be set")])
def test_schedules_that_make_no_sense_are_refused(make, match):
    """T246: with what would do."""
    with pytest.raises(InvalidArgument, match=match) as caught:
        make()
    assert caught.value.expected and caught.value.help


@pytest.mark.parametrize("make", [
    lambda: nv.optim.cosine("1", 5), lambda: nv.optim.cosine(1.0, 2.5), lambda: nv.optim.Schedule(0.1),
    lambda: nv.optim.constant(0.1)(nv.variable(())), lambda: nv.optim.warm_up(None, 5),
    lambda: nv.optim.Plateau(nv.optim.SGD(), patience=2.5), lambda: nv.optim.Plateau(nv.optim.SGD(), pause=0.5),
    lambda: nv.optim.Plateau(nv.optim.SGD(), larger="no"), lambda: nv.optim.Plateau(0.1)])
def test_what_is_no_schedule_is_refused(make):
    """T246: a WrongKind."""
    with pytest.raises(WrongKind):
        make()
