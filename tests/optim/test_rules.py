"""The rules: against PyTorch where it has them, against the papers' formulas where it does not."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from tests.optim.training import CASES, HAS_TORCH, STEPS, expected, figures, trained, trained_by_torch

ROUNDED = {"asgd", "clipped_norm", "nadam"}
"""PyTorch divides by the norm plus 1e-6, and keeps NAdam's product of momenta, and ASGD's rates, in float32."""


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_are_those_of_pytorch(name):
    """T243, T248, T250, T251, T252: in float64, to nine digits."""
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if name in ROUNDED else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(trained(name, nv.float64, "interpreter"), expected(name), **tolerance)


@pytest.mark.parametrize("name", ["nesterov", "rmsprop_centered", "adam", "adamw", "clipped_norm", "accumulated",
                                  "nadam", "adafactor", "rprop"])
def test_compiled_steps_in_float32_are_those_of_pytorch(name):
    """T243: to five digits."""
    np.testing.assert_allclose(trained(name, nv.float32, "cpu"), expected(name), rtol=1e-5, atol=2e-5)


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
def test_the_figures_are_those_of_pytorch():
    assert sorted(figures()) == sorted(CASES)
    for name in CASES:
        np.testing.assert_allclose(figures()[name], trained_by_torch(name), rtol=1e-9, atol=1e-12)


# -- by the papers ----------------------------------------------------------------------------------------------------


def lion(w, m, gradient, rate=0.01, beta1=0.9, beta2=0.99, decay=0.1):
    """Algorithm 2 of Chen et al. 2023."""
    c = beta1 * m + (1 - beta1) * gradient
    return w - rate * (np.sign(c) + decay * w), beta2 * m + (1 - beta2) * gradient


def newton_schulz(g, steps=5, epsilon=1e-7):
    """The iteration of Jordan et al. 2024."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (np.linalg.norm(g) + epsilon)
    x = x.T if g.shape[0] > g.shape[1] else x
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon(w, m, gradient, rate=0.02, momentum=0.95):
    """Jordan et al. 2024, with Nesterov's momentum; w takes inputs to outputs, so it is their matrix transposed."""
    m = momentum * m + gradient
    outputs, inputs = w.T.shape
    return w - rate * np.sqrt(max(1, outputs / inputs)) * newton_schulz((gradient + momentum * m).T).T, m


def steps_taken(optimizer, start, gradients):
    """The values of a float64 variable after each gradient."""
    axes = {"F": start.shape[0], "K": start.shape[1]}
    w, gradient = nv.variable(axes, start, nv.float64), nv.placeholder(axes, nv.float64)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation(optimizer.update(w, gradient), gradient)
        taken = []
        for entry in gradients:
            step(entry)
            taken.append(transformer.get(w))
    return np.array(taken)


@pytest.mark.parametrize("shape", [(4, 3), (3, 5)])
@pytest.mark.parametrize(("formula", "optimizer"), [
    (lion, lambda: nv.optim.Lion(0.01, weight_decay=0.1)), (muon, lambda: nv.optim.Muon(0.02))])
def test_lion_and_muon_follow_their_papers(formula, optimizer, shape):
    """T244: in both orientations."""
    generator = np.random.default_rng(5)
    w, m = generator.standard_normal(shape), np.zeros(shape)
    gradients = generator.standard_normal((STEPS, *shape))
    found = steps_taken(optimizer(), w, gradients)
    for gradient, own in zip(gradients, found, strict=True):
        w, m = formula(w, m, gradient)
        np.testing.assert_allclose(own, w, rtol=1e-9, atol=1e-12)


def lamb(w, m, v, n, gradient, rate=0.05, beta1=0.9, beta2=0.999, epsilon=1e-6, decay=0.1):
    """Algorithm 2 of You et al. 2020."""
    m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
    r = m / (1 - beta1**n) / (np.sqrt(v / (1 - beta2**n)) + epsilon) + decay * w
    return w - rate * np.linalg.norm(w) / np.linalg.norm(r) * r, m, v


def lars(w, m, v, n, gradient, rate=2.0, momentum=0.9, trust=0.02, decay=0.1):
    """Algorithm 1 of You et al. 2017."""
    local = trust * np.linalg.norm(w) / (np.linalg.norm(gradient) + decay * np.linalg.norm(w))
    m = momentum * m + rate * local * (gradient + decay * w)
    return w - m, m, v


@pytest.mark.parametrize(("formula", "optimizer"), [
    (lamb, lambda: nv.optim.Lamb(0.05, weight_decay=0.1)),
    (lars, lambda: nv.optim.Lars(2.0, trust=0.02, weight_decay=0.1))])
def test_rules_of_large_batches_follow_their_papers(formula, optimizer):
    """T244."""
    generator = np.random.default_rng(6)
    w, gradients = generator.standard_normal((4, 3)), generator.standard_normal((STEPS, 4, 3))
    m, v = np.zeros_like(w), np.zeros_like(w)
    for n, (gradient, own) in enumerate(zip(gradients, steps_taken(optimizer(), w, gradients), strict=True), 1):
        w, m, v = formula(w, m, v, n, gradient)
        np.testing.assert_allclose(own, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("optimizer", [nv.optim.Lamb, nv.optim.Lars])
def test_a_parameter_of_zeros_moves_at_the_plain_rate(optimizer):
    """T244: and does not become NaN, nor does one whose gradient is 0."""
    found = steps_taken(optimizer(0.5), np.zeros((1, 2)), np.array([[[3.0, 0.0]], [[0.0, 0.0]]]))
    assert np.isfinite(found).all() and found[0, 0, 0] < -0.4 and found[0, 0, 1] == 0.0


def test_rows_and_columns_are_little_memory():
    """T243: Adafactor keeps a row and a column for each matrix, and all squares of a vector."""
    rule = nv.optim.Adafactor()
    shapes = [[place.shape for name, place in rule.slots(nv.variable(axes)).items() if name in ("rows", "columns")]
              for axes in ((3, 4, 5), "F=3, K=4", "F=3", ())]
    assert shapes == [[(3, 4), (3, 5)], [(3,), (4,)], [(3,), (0,)], [(), (0,)]]


def test_curvature_takes_few_steps_to_a_minimum():
    """T243: of all parameters together, in float32 too, where a gradient of 0 changes nothing."""
    v, w = nv.variable("F=2", [3.0, -1.0]), nv.variable((), 5.0)
    loss = nv.sum(nv.square(v) * np.float32([1, 30])) + nv.square(w - nv.sum(v))
    step = nv.computation([loss, nv.optim.LBFGS(nv.optim.SGD(1.0), memory=4)(loss)])
    losses = [step()[0].item() for _ in range(25)]
    assert losses[-1] < 1e-9 and np.isfinite([*v.tolist(), w.item()]).all()


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_parameter_that_joins_others_takes_a_first_step_of_its_own(name, before):
    """T243: no longer than 1, whatever the steps of the others before; curvature is of the steps of each."""
    v, w = nv.variable((2,), [2.0, -1.0], nv.float64), nv.variable((), 103.0, nv.float64)
    rule = nv.optim.LBFGS(nv.optim.SGD(1.0), memory=4)
    alone = nv.sum(v * v * np.array([1.0, 3.0]), out_axes=())
    whole = alone + 50.0 * (w - 100.0) * (w - 100.0)
    with nv.transformers.make_transformer(name) as transformer:
        one, both = [transformer.computation([loss, rule(loss, given)])
                     for loss, given in ((alone, [v]), (whole, [v, w]))]
        for _ in range(before):
            one()
        start = transformer.get(v)
        both()
        moved = abs(transformer.get(v) - start).sum() + abs(transformer.get(w) - 103.0)
        assert 0.9 < 103.0 - transformer.get(w) <= 1.0 and moved <= 1.0 + 1e-12
        for _ in range(12):
            one(), both()
        assert both()[0] < 1e-6


def test_the_mean_of_parameters_is_kept():
    """T243: from step start + 3 on; until then it is the parameter itself."""
    rule, w = nv.optim.ASGD(0.1, shrinkage=0.0, start=2), nv.variable((), 0.0, nv.float64)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step, values = transformer.computation(rule.update(w, -1.0)), []
        for n in range(1, 8):
            step()
            values.append(float(transformer.get(w)))
            mean = values[-1] if n <= 4 else np.mean(values[3:])
            assert float(transformer.get(rule.slots(w)["average"])) == pytest.approx(mean)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("decay", [0.9999, 1 - 2.0**-30], ids=["0.9999", "almost 1"])
@pytest.mark.parametrize("make", [nv.optim.Adam, nv.optim.AdamW, nv.optim.RAdam, nv.optim.NAdam, nv.optim.Adamax,
                                  nv.optim.Lamb])
def test_decays_near_1_are_corrected(make, decay, transformer):
    """T245: steps in float32 are those of float64, where a power of the decay rounds to 1."""
    for numbers in ({"beta2": decay}, {"beta1": decay, "beta2": decay}):
        found = []
        for dtype in (nv.float32, nv.float64):
            w = nv.variable((2,), 0.0, dtype)
            with nv.transformers.make_transformer(transformer) as made:
                step = made.computation(make(0.01, **numbers).update(w, nv.constant([1.0, 0.0], dtype=dtype)))
                for _ in range(7):
                    step()
                found.append(made.get(w))
        assert -0.1 < found[1][0] < -0.005 and found[1][1] == 0.0
        np.testing.assert_allclose(found[0], found[1], rtol=2e-6)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_a_spread_is_not_below_0(transformer):
    """T243: of gradients that stay the same, whose mean square rounds below the square of their mean."""
    w = nv.variable((64,), 0.0)
    gradient = nv.constant(np.random.default_rng(0).standard_normal(64).astype(np.float32))
    with nv.transformers.make_transformer(transformer) as made:
        step = made.computation(nv.optim.RMSProp(0.01, decay=0.5, centered=True).update(w, gradient))
        for _ in range(40):
            step()
        assert np.isfinite(made.get(w)).all()


def test_muon_is_for_matrices():
    """T244: and says what takes the rest."""
    for axes in ("F=3", "F=3, K=2, H=2", ()):
        with pytest.raises(InvalidArgument, match="matrices") as caught:
            nv.optim.Muon().update(nv.variable(axes), 0.0)
        assert "nv.optim.Groups" in caught.value.help


# -- what decays ------------------------------------------------------------------------------------------------------


WITH_MOMENTS = {
    "momentum": lambda: nv.optim.SGD(0.1, momentum=0.5), "adagrad": nv.optim.Adagrad,
    "rmsprop": lambda: nv.optim.RMSProp(decay=0.5, centered=True, momentum=0.5),
    "adam": lambda: nv.optim.Adam(beta1=0.5, beta2=0.5), "adamw": lambda: nv.optim.AdamW(beta1=0.5, beta2=0.5),
    "lion": lambda: nv.optim.Lion(beta1=0.5, beta2=0.5), "radam": lambda: nv.optim.RAdam(beta1=0.5, beta2=0.5),
    "nadam": lambda: nv.optim.NAdam(beta1=0.5, beta2=0.5), "lamb": lambda: nv.optim.Lamb(beta1=0.5, beta2=0.5),
    "lars": lambda: nv.optim.Lars(momentum=0.5), "muon": lambda: nv.optim.Muon(momentum=0.5)}


def moments_after(optimizer, dtype, transformer, moments, gradient):
    """The weights and moments, all of which were one number of each column, after a step with one gradient."""
    w = nv.variable((2, len(moments)), 1.0, dtype)
    place = nv.placeholder(w.shape, dtype)
    slots = optimizer.slots(w)
    kept = [name for name in slots if name in ("m", "v", "mean")]
    with nv.transformers.make_transformer(transformer) as made:
        step = made.computation(optimizer.update(w, place), place)
        for name in kept:
            made.set(slots[name], np.array([moments, moments], dtype.numpy))
        step(np.full(w.shape, gradient, dtype.numpy))
        return made.get(w).copy(), {name: made.get(slots[name]).copy() for name in kept}


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.bfloat16])
@pytest.mark.parametrize("name", WITH_MOMENTS)
def test_moments_below_the_least_normal_number_are_0(name, dtype):
    """O86: so they do not stay denormal for ever; on all transformers alike, and the weights hardly see it."""
    least = 2.0 ** (-1022 if dtype is nv.float64 else -126)
    before = [least * 1.5, least * 0.5, least * 8.0]
    found = [moments_after(WITH_MOMENTS[name](), dtype, transformer, before, 0.0)
             for transformer in ("interpreter", "cpu")]
    factor = 1.0 if name == "adagrad" else 0.5  # a sum keeps what is in it
    for weights, moments in found:
        for slot, array in moments.items():
            if (name, slot) != ("rmsprop", "m"):
                expected = [least * 1.5 if factor == 1 else 0.0, 0.0, least * 8.0 * factor]
                assert array.astype(float).tolist() == [expected, expected], slot
        assert np.isfinite(weights.astype(float)).all()
    for slot, array in found[0][1].items():
        np.testing.assert_array_equal(array, found[1][1][slot])


def test_moments_of_float16_may_be_its_denormals():
    """O86: they are computed with as float32, in which they are ordinary numbers."""
    for transformer in ("interpreter", "cpu"):
        _, moments = moments_after(nv.optim.Adam(beta1=0.5), nv.float16, transformer, [2.0**-16, 2.0**-20], 0.0)
        assert moments["m"].tolist() == [[2.0**-17, 2.0**-21]] * 2


def test_a_step_divides_by_what_its_gradient_makes():
    """O86: what is kept becomes 0, not what this step divides by: without epsilon the weights stay finite."""
    for transformer in ("interpreter", "cpu"):
        weights, moments = moments_after(nv.optim.Adam(0.1, epsilon=0.0), nv.float32, transformer, [0.0, 0.0], 1e-18)
        np.testing.assert_allclose(weights, 0.9, rtol=1e-5)
        assert moments["v"].tolist() == [[0.0, 0.0]] * 2


# -- numbers and slots ------------------------------------------------------------------------------------------------


def values(transformer, slots):
    return {name: transformer.get(place).tolist() for name, place in slots.items()}


def test_slots_come_in_one_order():
    """T242: numbers, the count, moments; a number that is 0 and does nothing is none."""
    w = nv.variable("F=2, K=2")
    kept = {"SGD": "lr n", "Adagrad": "lr eps n v", "RMSProp": "lr eps decay n v", "Adam": "lr eps beta1 beta2 n m v",
            "AdamW": "lr eps beta1 beta2 weight_decay n m v", "Lion": "lr beta1 beta2 n m",
            "Muon": "lr eps momentum n m"}
    for name, slots in kept.items():
        assert list(getattr(nv.optim, name)().slots(w)) == slots.split()
    assert list(nv.optim.SGD(momentum=0.9, weight_decay=0.1).slots(w)) == ["lr", "momentum", "weight_decay", "n", "m"]


def test_slots_are_places_of_the_parameter_s_kind():
    """T242: made once for each parameter, zeros; two parameters share the numbers and nothing else."""
    v, w, adam = nv.variable("F=2"), nv.variable((3, 2), dtype=nv.bfloat16), nv.optim.Adam()
    first, second = adam.slots(v), adam.slots(w)
    assert first == adam.slots(v) and all([place.is_persistent and not place.is_trainable for place in first.values()])
    assert [name for name in first if first[name] is second[name]] == ["lr", "eps", "beta1", "beta2"]
    assert first["m"].axes == v.axes and second["m"].shape == (3, 2) and second["m"].dtype is nv.bfloat16
    assert first["n"].dtype is nv.int64 and first["lr"].dtype is nv.float64


def test_numbers_are_read_at_each_step():
    """T241: a computation that is compiled reads what was set, by a transformer or by an effect."""
    w, descent = nv.variable((), 8.0), nv.optim.SGD(1.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation(descent.update(w, 1.0))
        step()
        transformer.set(descent.learning_rate, 0.5)
        step()
        transformer.computation(nv.assign(descent.learning_rate, descent.learning_rate / 2))()
        step()
        assert transformer.get(w) == 8.0 - 1.0 - 0.5 - 0.25 and transformer.get(descent.n) == 3


def test_each_parameter_counts_its_own_updates():
    """T242: so that one that is updated more often is corrected by its own count."""
    v, w, adam = nv.variable((), 1.0), nv.variable((), 1.0), nv.optim.Adam(0.1)
    with nv.transformers.make_transformer("interpreter") as transformer:
        both, one = transformer.computation(adam(v * w)), transformer.computation(adam.update(w, 1.0))
        both(), one(), one()
        assert [transformer.get(adam.slots(entry)["n"]) for entry in (v, w)] == [1, 3]


def test_parameters_are_updated_side_by_side():
    """T240: each gradient is of the values before."""
    v, w = nv.variable((), 1.0), nv.variable((), 2.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.computation(nv.optim.SGD(0.5).updates([v, w], [w, v]))()
        assert (transformer.get(v), transformer.get(w)) == (0.0, 1.5)


def test_a_step_is_one_call(monkeypatch):
    """T240: forward, derivative and update of all variables."""
    from nervure.transformers.executable import Executable
    calls = []
    plain = Executable.__call__
    monkeypatch.setattr(Executable, "__call__", lambda self, *given: calls.append(self) or plain(self, *given))
    v, w = nv.variable((), 1.0), nv.variable((), 2.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation([v * w, nv.optim.Adam(0.1)(v * w)])
        step()
        assert len(calls) == 1 and len(step.function.updates) == 2 * 4


@pytest.mark.parametrize("dtype", [nv.bfloat16, nv.float16])
def test_narrow_parameters_are_updated_in_float32(dtype):
    """T245: rounded once, at the end."""
    start = np.array([1.0, -2.0, 3.0]).astype(dtype.numpy)
    w, gradient = nv.variable((3,), start), nv.constant(np.array([0.3, 0.2, -0.1], np.float32))
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.computation(nv.optim.SGD(0.01, momentum=0.9).update(w, gradient))()
        found = transformer.get(w)
    wide = start.astype(np.float32) - np.float32(0.01) * gradient.numpy()
    assert found.dtype == dtype.numpy and (found == wide.astype(dtype.numpy)).all()


def test_gradients_go_by_names():
    """T247: in another order, or with fewer axes; none that the parameter lacks."""
    w = nv.variable("F=2, K=3")
    with nv.transformers.make_transformer("interpreter") as transformer:
        transformer.computation(nv.optim.SGD(1.0).update(w, nv.ones("K=3, F=2")))()
        transformer.computation(nv.optim.SGD(1.0).update(w, nv.constant([1, 2, 3], "K=3")))()
        assert transformer.get(w).tolist() == [[-2, -3, -4]] * 2
    with pytest.raises(nv.AxisMismatch, match="lacks N"):
        nv.optim.SGD(1.0).update(w, nv.ones("N=7"))


@pytest.mark.parametrize("make", [
    nv.optim.SGD, nv.optim.Adam, lambda: nv.optim.Clipped(nv.optim.SGD(), norm=1.0),
    lambda: nv.optim.LBFGS(nv.optim.SGD()), lambda: nv.optim.MovingAverage(nv.optim.SGD()),
    lambda: nv.optim.Accumulated(nv.optim.SGD(), 2)], ids=range(6))
def test_complex_gradients_are_refused(make):
    """T247: a real variable cannot follow them, and their real part would be taken in silence."""
    with pytest.raises(WrongKind, match="is real") as caught:
        make().update(nv.variable((2,)), np.array([1 + 5j, 2j]))
    assert caught.value.operand == "gradient" and "nv.real" in caught.value.help


def test_gradients_of_integers_are_floats(interpreter):
    """T247: they are clipped, and turned, in floats."""
    for make in (lambda: nv.optim.Clipped(nv.optim.SGD(1.0), value=0.5), lambda: nv.optim.LBFGS(nv.optim.SGD(1.0))):
        w = nv.variable((2,), 0.0)
        interpreter.computation(make().update(w, np.array([1, -1])))()
        assert interpreter.get(w).tolist() == [-0.5, 0.5]


@pytest.mark.parametrize("place", [nv.constant(1.0), nv.placeholder(()), 1.0, nv.variable((), 1, nv.int32)])
def test_only_real_variables_are_updated(place):
    """T247: what has no value to keep, or no fraction, is refused."""
    with pytest.raises(WrongKind, match="is updated"):
        nv.optim.Adam().update(place, 1.0)
    with pytest.raises(InvalidArgument, match="needs a gradient"):
        nv.optim.Adam().updates([nv.variable(())], [])


@pytest.mark.parametrize(("given", "help"), [
    (lambda w: w, "[w]"), (lambda w: nv.variable(()), "[w]"), (lambda w: 5, "[x]"), (lambda w: "w", "[x]"),
    (lambda w: nv.nn.LinearLayer(2, 1), "m.parameters()"), (lambda w: nv.nn.Sequential(nv.relu), "m.parameters()"),
    (lambda w: [5], "nv.variable"), (lambda w: [w * 1], "nv.variable"), (lambda w: {"w": w}, "nv.variable")])
def test_variables_are_given_in_a_list(given, help):
    """T247: a WrongKind for one alone, for a module, and for entries that are no variables."""
    w = nv.variable((2,), 1.0)
    for call in (lambda: nv.optim.SGD(0.1)(nv.sum(w), variables=given(w)),
                 lambda: nv.optim.SGD(0.1).updates(given(w), [1.0]),
                 lambda: nv.optim.Groups([(given(w), nv.optim.SGD(0.1))])):
        with pytest.raises(WrongKind) as caught:
            call()
        assert help in caught.value.help


def test_variables_are_given_once():
    """T247: an error names one that two modules share."""
    w = nv.variable((), 1.0).named("tied")
    for call in (lambda: nv.optim.SGD(0.1)(w * w, variables=[w, w]),
                 lambda: nv.optim.Adam(0.1).updates([w, nv.variable(()), w], [1.0, 1.0, 1.0]),
                 lambda: nv.optim.Groups([([w, w], nv.optim.SGD(0.1))])):
        with pytest.raises(InvalidArgument, match="in the list twice") as caught:
            call()
        assert caught.value.operand == "tied" and "dict.fromkeys" in caught.value.help


def test_variables_that_are_given_are_one_or_more(interpreter):
    v, w = nv.variable((), 1.0), nv.variable((), 1.0)
    with pytest.raises(InvalidArgument, match="nothing to update") as caught:
        nv.optim.SGD(0.5)(v * w, variables=[])
    assert caught.value.operand == "variables"
    for given in ([w], (w,), iter([w])):
        interpreter.computation(nv.optim.SGD(0.5)(v * w, variables=given))()
    assert interpreter.get(w) == -0.5 and interpreter.get(v) == 1.0


@pytest.mark.parametrize(("make", "match"), [
    (lambda: nv.optim.SGD(-1.0), "not negative"), (lambda: nv.optim.SGD(float("nan")), "not negative"),
    (lambda: nv.optim.SGD(float("inf")), "not negative"), (lambda: nv.optim.SGD(0.1, momentum=1.0), "momentum"),
    (lambda: nv.optim.SGD(0.1, momentum=-0.1), "momentum"), (lambda: nv.optim.SGD(weight_decay=-1), "weight_decay"),
    (lambda: nv.optim.RMSProp(decay=2.0), "decay"), (lambda: nv.optim.Adam(beta2=1.0), "beta2"),
    (lambda: nv.optim.AdamW(epsilon=-1e-8), "epsilon"), (lambda: nv.optim.Lion(beta1=1.5), "beta1"),
    (lambda: nv.optim.Muon(iterations=0), "iterations"), (lambda: nv.optim.Adagrad(epsilon=-1.0), "epsilon")])
def test_numbers_that_make_no_sense_are_refused(make, match):
    """T246: an InvalidArgument that says which range there is."""
    with pytest.raises(InvalidArgument, match=match) as caught:
        make()
    assert caught.value.expected and caught.value.help and caught.value.got is not None


@pytest.mark.parametrize("make", [
    lambda: nv.optim.SGD("0.1"), lambda: nv.optim.SGD(0.1, nesterov="yes"), lambda: nv.optim.Adam(beta1=[0.9]),
    lambda: nv.optim.Adam(epsilon=None), lambda: nv.optim.Lion(1j), lambda: nv.optim.Muon(iterations=2.5),
    lambda: nv.optim.AdamW(nv.zeros("F=3")), lambda: nv.optim.SGD(nv.constant(1j)),
    lambda: nv.optim.SGD(nv.variable((), 0.1, nv.complex64)), lambda: nv.optim.Adam(beta1=nv.constant(0.5j)),
    lambda: nv.optim.Clipped(nv.optim.SGD(), norm=nv.constant(1j))])
def test_what_is_no_number_is_refused(make):
    """T246: a WrongKind."""
    with pytest.raises(WrongKind) as caught:
        make()
    assert caught.value.op in nv.optim.__all__ and caught.value.expected


def test_optimisers_that_are_called_one_by_one_take_the_same_steps():
    """T254: each parameter has its own count, so that one optimiser may be hooked to many."""
    start = [np.float32([1.0, -2.0]), np.float32([0.5])]
    hooked, joint = [[nv.parameter(nv.constant(entry)) for entry in start] for _ in range(2)]
    adam, other = nv.optim.Adam(0.1), nv.optim.Adam(0.1)
    for place in hooked:
        nv.hook_optimizer(place, adam)
    losses = [nv.sum(nv.square(first)) * nv.sum(second) for first, second in (hooked, joint)]
    step = nv.computation(other(losses[1]))
    for _ in range(3):
        losses[0].backward()
        for place in hooked:
            nv.call_optimizer(place)
        step()
    for ours, theirs in zip(hooked, joint, strict=True):
        assert ours.numpy().tobytes() == theirs.numpy().tobytes()


def test_a_rule_of_the_user_s_own():
    """T255: its formula gets everything in float32 or float64."""
    class Halving(nv.optim.Rule):
        moments = ("seen",)

        def __init__(self):
            super().__init__({"learning_rate": 1.0})

        def rule(self, parameter, gradient, state):
            assert parameter.dtype is gradient.dtype is state["n"].dtype is nv.float32
            return parameter * 0.5 - state["lr"] * gradient * state["seen"], {"seen": state["n"]}

    w, halving = nv.variable((2,), [4.0, 8.0], nv.bfloat16), Halving()
    assert list(halving.slots(w)) == ["lr", "n", "seen"] and repr(halving) == "Halving(learning_rate=1.0)"
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation(nv.optim.Clipped(halving, value=1.0).update(w, [3.0, 0.5]))
        step(), step()
        assert transformer.get(w).tolist() == [0.0, 1.5]


@pytest.mark.parametrize(("make", "hints"), [
    (lambda: nv.optim.SGD(-0.1), "step is subtracted"), (lambda: nv.optim.cosine(-0.1, 5), "step is subtracted"),
    (lambda: nv.optim.Clipped(nv.optim.SGD(), norm=0.0), "no limit"), (lambda: nv.optim.Lars(trust=0.0), "0 itself"),
    (lambda: nv.optim.Adam(epsilon=-1.0), "least"), (lambda: nv.optim.Plateau(nv.optim.SGD(), patience=-1), "least")])
def test_the_help_is_that_of_the_operand(make, hints):
    """T247: a number out of range is explained by what it is for."""
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert hints in caught.value.help
