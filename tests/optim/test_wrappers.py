"""Groups, clipping, accumulation and averages."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

# -- clipping ---------------------------------------------------------------------------------------------------------


def test_the_norm_is_that_of_all_gradients():
    """T250: also in groups; shorter ones stay as they are, to the bit."""
    gradients = [nv.constant([3.0, 0.0]), nv.constant([[4.0]])]
    assert nv.optim.global_norm(gradients).item() == 5.0
    short = [entry.tolist() for entry in nv.optim.clip_by_norm(gradients, 5.0)]
    assert short == [[3.0, 0.0], [[4.0]]]
    halved = [entry.tolist() for entry in nv.optim.clip_by_norm(gradients, 2.5)]
    assert halved == [[1.5, 0.0], [[2.0]]]


@pytest.mark.parametrize(("dtype", "digits"), [(np.complex64, 1e-6), (np.complex128, 1e-15)])
def test_the_norm_of_complex_gradients_counts_both_parts(dtype, digits):
    """T250: in the precision of the parts."""
    gradient = np.array([1 + 5j, 2j]).astype(dtype)
    norm = nv.optim.global_norm([gradient])
    assert norm.dtype is nv.as_dtype(dtype).part and norm.item() == pytest.approx(np.sqrt(30.0), rel=digits)
    clipped, other = nv.optim.clip_by_norm([gradient, np.zeros(1, np.float32)], 1.0)
    assert clipped.dtype.numpy == dtype and other.dtype is nv.float32
    np.testing.assert_allclose(clipped.numpy(), gradient / np.sqrt(30.0), rtol=max(digits, 1e-7))


@pytest.mark.parametrize("clip", [nv.optim.clip_by_norm, nv.optim.clip_by_value])
def test_clipped_integers_are_floats(clip):
    """T250: the limit of an integer is no integer."""
    found, = clip([np.array([0, -4])], 0.5)
    assert found.dtype is nv.float32 and found.tolist() == [0.0, -0.5]


def test_gradients_of_zeros_stay():
    """T250: their norm divides nothing."""
    assert nv.optim.clip_by_norm([np.zeros(3, np.float32)], 1.0)[0].tolist() == [0.0, 0.0, 0.0]


def test_clipping_is_of_all_groups_together(interpreter):
    """T250: where it stands outside of them."""
    v, w = nv.variable((), 0.0), nv.variable((), 0.0)
    rules = nv.optim.Groups([([v], nv.optim.SGD(1.0))], rest=nv.optim.SGD(2.0))
    interpreter.computation(nv.optim.Clipped(rules, norm=1.0).updates([v, w], [3.0, 4.0]))()
    np.testing.assert_allclose([interpreter.get(v), interpreter.get(w)], [-0.6, -1.6], rtol=1e-6)


def test_limits_are_positive():
    """T246, T250: and one is needed."""
    for make in (lambda: nv.optim.Clipped(nv.optim.SGD(0.1)), lambda: nv.optim.Clipped(nv.optim.SGD(0.1), norm=0.0),
                 lambda: nv.optim.clip_by_value([1.0], -1.0), lambda: nv.optim.global_norm([])):
        with pytest.raises(InvalidArgument):
            make()
    with pytest.raises(WrongKind, match="no optimiser"):
        nv.optim.Clipped(nv.variable(()), norm=1.0)


# -- groups -----------------------------------------------------------------------------------------------------------


def test_each_parameter_is_in_one_group():
    """T251: in none without rest=, in two: errors that name it."""
    v, w = nv.variable((), 1.0).named("v"), nv.variable((), 1.0).named("w")
    with pytest.raises(InvalidArgument, match="in two groups") as caught:
        nv.optim.Groups([([v], nv.optim.SGD(0.1)), ([w, v], nv.optim.SGD(0.2))])
    assert caught.value.operand == "v"
    with pytest.raises(InvalidArgument, match="in no group") as caught:
        nv.optim.Groups([([v], nv.optim.SGD(0.1))])(v * w)
    assert caught.value.operand == "w" and "rest=" in caught.value.help


@pytest.mark.parametrize("groups", [3, [nv.optim.SGD(0.1)], [([nv.constant(1.0)], nv.optim.SGD(0.1))], [([], 0.1)]])
def test_what_is_no_group_is_refused(groups):
    """T251: a WrongKind."""
    with pytest.raises(WrongKind):
        nv.optim.Groups(groups)


# -- accumulation -----------------------------------------------------------------------------------------------------


def test_nothing_moves_between_the_updates(interpreter):
    """T252: neither weights nor moments nor counts nor the rate of a schedule."""
    w, x = nv.variable("F=3", 1.0), nv.placeholder("F=3")
    adam = nv.optim.Accumulated(nv.optim.Adam(nv.optim.exponential(0.1, 0.5)), calls=3)
    step = interpreter.computation(adam.update(w, x), x)
    places = {"w": w, **{name: place for name, place in adam.slots(w).items() if name not in ("total", "collected")}}
    seen = []
    for number in range(7):
        step(np.float32([number, -1, 0.5]))
        seen.append({name: interpreter.get(place).tolist() for name, place in places.items()})
    assert seen[0] == seen[1] and seen[2] == seen[3] == seen[4] and seen[5] == seen[6]
    assert seen[1]["w"] != seen[2]["w"] != seen[5]["w"] and [entry["n"] for entry in seen[::3]] == [0, 1, 2]


def test_a_nan_between_the_updates_stays_out_of_the_weights(interpreter):
    """T252: until the mean that it is part of."""
    w, x = nv.variable((), 1.0), nv.placeholder(())
    step = interpreter.computation(nv.optim.Accumulated(nv.optim.SGD(1.0), calls=2).update(w, x), x)
    step(np.nan)
    assert interpreter.get(w) == 1.0
    step(1.0)
    assert np.isnan(interpreter.get(w))


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
@pytest.mark.parametrize("make, norm", [
    (lambda: nv.optim.SGD(1.0), np.inf), (lambda: nv.optim.SGD(nv.optim.multi_step(1.0, [100])), np.inf),
    (lambda: nv.optim.Clipped(nv.optim.SGD(1.0), norm=3.0), 3.0)], ids=["plain", "schedule", "clipped"])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "reversed"])
def test_each_parameter_is_due_by_its_own_count(order, make, norm, name):
    """T252: two losses, one of which has a parameter of its own: v has two gradients in each step, w has one."""
    v, w = nv.variable((), 0.0), nv.variable((), 0.0)
    rule = nv.optim.Accumulated(make(), calls=2)
    effects = [rule(2.0 * v, [v]), rule(4.0 * v + 8.0 * w, [v, w][order])]
    expected = np.zeros(2)
    with nv.transformers.make_transformer(name) as transformer:
        step = transformer.computation(effects)
        for number in range(4):
            step()
            move = np.array([3.0, 8.0 * (number % 2)])  # what is not due counts in no norm
            expected = expected - move * min(1.0, norm / np.linalg.norm(move))
            np.testing.assert_allclose([transformer.get(v), transformer.get(w)], expected, rtol=1e-6)
        seen = [transformer.get(rule.slots(place)[slot]).item() for place in (v, w) for slot in ("n", "collected")]
    assert seen == [4, 0, 2, 0]


def test_calls_is_a_number_of_calls():
    """T246, T252: from 1."""
    with pytest.raises(InvalidArgument, match="calls"):
        nv.optim.Accumulated(nv.optim.SGD(0.1), calls=0)
    with pytest.raises(WrongKind, match="calls"):
        nv.optim.Accumulated(nv.optim.SGD(0.1), calls=1.5)


# -- averages ---------------------------------------------------------------------------------------------------------


def test_the_average_is_of_the_updated_weights(interpreter):
    """T253: the first one is the weights themselves."""
    w, x = nv.variable("F=2", [1.0, 2.0]), nv.placeholder("F=2")
    average = nv.optim.MovingAverage(nv.optim.SGD(1.0), decay=0.75)
    step = interpreter.computation([average.update(w, x), w], x)
    mean = None
    for number in range(5):
        value = step(np.float32([number, 1.0]))[1].astype(np.float64)
        mean = value if mean is None else 0.75 * mean + 0.25 * value
        np.testing.assert_allclose(interpreter.get(average.slots(w)["average"]), mean, rtol=1e-6)


def test_an_average_below_the_least_normal_number_is_0(interpreter):
    """O86."""
    w = nv.variable((3,), np.float32([1.5, 8.0, 0.5]) * np.float32(2.0**-126))
    average = nv.optim.MovingAverage(nv.optim.SGD(1.0), decay=0.5)
    step = interpreter.computation(average.update(w, w))
    step(), step()
    assert interpreter.get(w).tolist() == [0.0] * 3
    assert interpreter.get(average.slots(w)["average"]).tolist() == [0.0] * 3
    interpreter.set(average.slots(w)["average"], np.float32([1.5, 8.0, 0.5]) * np.float32(2.0**-126))
    step()
    assert interpreter.get(average.slots(w)["average"]).tolist() == [0.0, 2.0**-124, 0.0]


def test_weights_and_averages_are_exchanged(interpreter):
    """T253: twice is nothing, to the bit; before the first update nothing is there to exchange."""
    w = nv.variable("F=2", [1.0, 2.0])
    average = nv.optim.MovingAverage(nv.optim.SGD(0.3), decay=0.9)
    with pytest.raises(InvalidArgument, match="no average yet"):
        average.exchange()
    step = interpreter.computation(average(nv.sum(w * w)))
    exchange = interpreter.computation(average.exchange())
    exchange()
    assert interpreter.get(w).tolist() == [1.0, 2.0]
    exchange()
    step(), step(), step()
    weights, mean = interpreter.get(w), interpreter.get(average.slots(w)["average"])
    exchange()
    assert interpreter.get(w).tolist() == mean.tolist() != weights.tolist()
    exchange()
    assert interpreter.get(w).tolist() == weights.tolist()


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("dtype", [nv.bfloat16, nv.float16])
def test_averages_of_narrow_weights_come_back_whole(dtype, transformer):
    """T253: with the digits that the weights do not have; weights that were changed in between come back themselves."""
    w = nv.variable((4,), [1.0, -0.0, 0.0, 3.0], dtype)
    average = nv.optim.MovingAverage(nv.optim.SGD(0.01), decay=0.99)
    mean = average.slots(w)["average"]
    with nv.transformers.make_transformer(transformer) as made:
        step = made.computation(average.update(w, nv.constant([1.0, 0.0, 0.0, -1.0])))
        exchange = made.computation(average.exchange())
        for _ in range(2):
            step(), step(), step()
            before = [made.get(place).tobytes() for place in (w, mean)]
            exchange()
            assert made.get(w).tolist() == np.frombuffer(before[1], np.float32).astype(dtype.numpy).tolist()
            exchange()
            assert [made.get(place).tobytes() for place in (w, mean)] == before
        exchange()
        made.set(w, np.array([5.0, 0.0, -0.0, 6.0], dtype.numpy))
        exchange()
        assert made.get(mean).tobytes() == np.float32([5.0, 0.0, -0.0, 6.0]).tobytes()


@pytest.mark.parametrize("make", [
    lambda: nv.optim.SGD(0.1), lambda: nv.optim.Accumulated(nv.optim.SGD(0.1), 2),
    lambda: nv.optim.Clipped(nv.optim.SGD(0.1), norm=1.0), lambda: nv.optim.LBFGS(nv.optim.SGD(0.1)),
    lambda: nv.optim.MovingAverage(nv.optim.SGD(0.1)), lambda: nv.optim.Groups([], rest=nv.optim.SGD(0.1))],
    ids=range(6))
def test_a_step_of_no_parameters_does_nothing(make, interpreter):
    """T240."""
    assert interpreter.computation(make().updates([], []))() is None


def test_numbers_that_each_call_gives_are_no_slots():
    """T251, T253: a placeholder, or a tensor that is computed, is not saved."""
    w, given = nv.variable("F=2", 1.0), nv.placeholder(())
    for rules in (nv.optim.Clipped(nv.optim.SGD(0.1), norm=given, value=given + 1.0),
                  nv.optim.MovingAverage(nv.optim.SGD(0.1), decay=given)):
        assert not {"clipped_norm", "clipped_value", "average_decay"} & set(rules.slots(w))
        layer = nv.nn.LinearLayer(2, 1)
        nv.computation(rules(nv.sum(layer(nv.ones((1, 2))), out_axes=())), given)(0.5)
        assert "clipped" not in "".join(nv.make_state_dict(layer, optimizers=True).table)


def test_wrappers_stand_in_each_other(interpreter):
    """T251, T252, T253: slots of all, in one order."""
    w = nv.variable("F=2", 1.0)
    rules = nv.optim.MovingAverage(nv.optim.Accumulated(nv.optim.Clipped(
        nv.optim.Groups([], rest=nv.optim.Adam(0.1)), norm=1.0), calls=2))
    for _ in range(4):
        interpreter.computation(rules(nv.sum(w * w)))()
    assert list(rules.slots(w)) == ["lr", "eps", "beta1", "beta2", "n", "m", "v", "clipped_norm", "collected", "total",
                                    "average_decay", "averaged", "average"]
    assert rules.kind(w) == "adam" and interpreter.get(rules.slots(w)["n"]) == 2
    assert repr(rules).startswith("MovingAverage(Accumulated(Clipped(Groups(")
