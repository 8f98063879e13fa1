"""Which new values lie where the old ones were, and that they are written when nothing else is left to do."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.in_place import _divided, is_copy
from tests.kernel.loops_transformer import Loops


@pytest.fixture
def loops():
    with Loops() as made:
        yield made


def places(step) -> list[int]:
    """For each step of a plan, how many variables it writes in place."""
    plan = step.executable.plan
    return [len(plan.in_place.keys() & set(each.written)) for each in plan.steps]


def test_counters_that_come_first_are_written_last(loops):
    x, w, count = nv.placeholder("N=n"), nv.variable("C=4", 1.0), nv.variable((), 0.0)
    total = nv.sum(nv.sin(x), out_axes=())
    step = loops.computation([nv.assign(count, count + 1), total, nv.assign(w, w + total)], x)
    written = places(step)
    assert sum(written) == 2 and sorted(written) == written
    for turn in range(1, 4):
        assert step(np.full(10, np.pi / 2, np.float32))[1] == 10
        assert loops.get(count) == turn and loops.get(w).tolist() == [1.0 + 10 * turn] * 4


def test_what_may_fail_comes_before(loops):
    x, k, w = nv.placeholder("N=9"), nv.placeholder("K=2", "int64"), nv.variable("C=4", 1.0)
    step = loops.computation([nv.assign(w, w * 2), nv.gather(x, k, "N"), nv.host_call(np.sin, [x], x)], x, k)
    written = places(step)
    assert written[-1] == 1 and sum(written) == 1 and len(written) > 2


def test_a_new_value_that_long_work_needs_has_memory_of_its_own(loops):
    x, w = nv.placeholder("N=n"), nv.variable((), 1.0)
    step = loops.computation([nv.assign(w, w + nv.sum(x, out_axes=())), nv.sum(nv.sin(x * w), out_axes=())], x)
    assert not any(places(step)[:-1])
    for turn in range(1, 4):
        result = step(np.full(10, 0.1, np.float32))[1]
        np.testing.assert_allclose(result, 10 * np.sin(0.1 * (1 + turn)), rtol=1e-5)
        np.testing.assert_allclose(loops.get(w), 1 + turn, rtol=1e-6)


def test_an_old_value_that_another_loop_of_the_kernel_reads_stays(loops):
    w = nv.variable("N=27", np.random.default_rng(0).standard_normal(27))
    step = loops.computation([nv.argmin(w, axis="N"), nv.assign(w, w * w - 3)])
    for _ in range(4):
        before = loops.get(w).copy()
        assert step()[0] == np.argmin(before)
        np.testing.assert_array_equal(loops.get(w), before * before - 3)


def test_variables_that_change_places_do_not_meet(loops):
    first, second = nv.variable("N=1000", 1.0), nv.variable("N=1000", 2.0)
    step = loops.computation([nv.doall([nv.assign(first, second * 3), nv.assign(second, first[::-1] * 5)])])
    expected = 1.0, 2.0
    for _ in range(4):
        step()
        expected = expected[1] * 3, expected[0] * 5
        assert [np.unique(loops.get(each)).tolist() for each in (first, second)] == [[value] for value in expected]


def gradient_step(rows: int, points: int):
    """Weights, and the computation that subtracts the gradient of a sum of products of them."""
    x, y = nv.placeholder({"N": rows, "F": points}), nv.placeholder({"N": rows, "K": 3})
    w = nv.variable({"F": points, "K": 3}, 1.0)
    loss = nv.sum(nv.dot(x, w) * y, out_axes=())
    return w, [nv.assign(w, w - nv.deriv(loss, w))], (x, y)


def test_the_gradient_of_weights_is_subtracted_where_they_lie(loops):
    w, effects, arguments = gradient_step(5, 7)
    step = loops.computation(effects, *arguments)
    assert places(step) == [1]
    expected = np.ones((7, 3), np.float32)
    for turn in range(3):
        left, right = [np.random.default_rng(turn).standard_normal((5, each)).astype(np.float32) for each in (7, 3)]
        step(left, right)
        expected -= left.T @ right
        np.testing.assert_allclose(loops.get(w), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [3, "f"])
def test_products_over_a_length_that_the_call_brings_are_subtracted_in_place(loops, length):
    """All lengths of the update are numbers; how long it takes is known when the call arrives nevertheless."""
    x, w = nv.placeholder((length if length == 3 else nv.dim(length),)), nv.variable((3, 3), 2.0)
    v = nv.variable((3,), 1.0)
    step = loops.computation(nv.assign(v, v - nv.matmul(x, w)), x)
    assert places(step) == [1]
    for turn in range(1, 3):
        step(np.ones(3, np.float32))
        assert loops.get(v).tolist() == [1.0 - 6 * turn] * 3


@pytest.mark.parametrize("length", [3, "f"])
def test_layers_for_inputs_whose_features_are_a_symbol_are_trained(cpu, length):
    x, layer = nv.placeholder((1, length if length == 3 else nv.dim(length))), nv.nn.LinearLayer(3, 2)
    loss = nv.mean(nv.square(layer(x)), out_axes=())
    step = cpu.computation([loss, nv.optim.SGD(0.1)(loss)], x)
    assert "Contract" in nv.explain(step).details()
    first, second = [step(np.ones((1, 3), np.float32))[0].item() for _ in range(2)]
    np.testing.assert_allclose(second / first, (1 - 4 * 0.1)**2, rtol=1e-4)


def test_a_product_that_reads_the_old_value_elsewhere_gets_memory_of_its_own(loops):
    w = nv.variable((4, 4), np.arange(16.0).reshape(4, 4))
    step = loops.computation([nv.assign(w, w - nv.matmul(w, w))])
    assert places(step) == [0]


def test_long_products_write_no_variable_in_place(loops):
    _, effects, arguments = gradient_step(90_000, 40_000)
    assert not any(places(loops.computation(effects, *arguments)))


def test_steps_keep_their_order_on_both_sides():
    """Those that may wait come last, unless one that may not needs what they write."""
    class Step:
        def __init__(self, name, read, written):
            self.name, self.read, self.written = name, read, written
    steps = [Step("a", (), (1,)), Step("late b", (1,), (2,)), Step("needed c", (), (3,)), Step("d", (3,), (4,)),
             Step("late e", (2,), (5,)), Step("f", (4,), (6,))]
    early, late = _divided(steps, lambda step: step.name.split()[0] in ("late", "needed"))
    assert [step.name for step in early] == ["a", "needed c", "d", "f"]
    assert [step.name for step in late] == ["late b", "late e"]


def test_a_write_through_a_view_changes_only_what_it_shows(loops):
    """The old value is not copied first, if all other reads of it come before the write."""
    x, w = nv.placeholder("N=2"), nv.variable("N=9", np.arange(9.0))
    alone = loops.computation([nv.assign(w[3:5], x)], x)
    read_before = loops.computation([nv.sum(w, out_axes=()), nv.assign(w[3:5], x + w[0])], x)
    for step in (alone, read_before):
        plan = step.executable.plan
        assert len(plan.in_place) == 1 and is_copy(plan.steps[-2]) and not is_copy(plan.steps[-1])
    alone(np.float32([10, 20]))
    assert loops.get(w).tolist() == [0, 1, 2, 10, 20, 5, 6, 7, 8]
    assert read_before(np.float32([1, 2]))[0] == 59
    assert loops.get(w).tolist() == [0, 1, 2, 1, 2, 5, 6, 7, 8]


@pytest.mark.parametrize("written", [lambda w, x: nv.assign(w[3:5], w[4:6]), lambda w, x: nv.assign(w[3:5], w[3:5] + x),
                                     lambda w, x: nv.assign(w[3:5], w[:2] * x)])
def test_a_write_that_reads_the_old_value_is_right(loops, written):
    x, w = nv.placeholder("N=2"), nv.variable("N=9", np.arange(9.0))
    step = loops.computation([written(w, x)], x)
    with nv.transformers.make_transformer("interpreter") as other:
        expected = other.computation([written(w, x)], x)
        for _ in range(3):
            expected(np.float32([2, 3]))
            step(np.float32([2, 3]))
            np.testing.assert_array_equal(loops.get(w), other.get(w))


@pytest.mark.parametrize("new", [lambda w, x: -(x @ x), lambda w, x: w - x @ x])
def test_what_waits_in_a_products_result_is_written_in_place(loops, new):
    """The results of a product may wait where what is made of them is stored, or what is read there is read first."""
    x, w = nv.placeholder((16, 16)), nv.variable((16, 16), 1.0)
    step = loops.computation([nv.sum(w), nv.assign(w, new(w, x))], x)
    assert sum(places(step)) == 1
    data = np.float32(np.arange(256).reshape(16, 16) % 7)
    for _ in range(2):
        expected = new(loops.get(w), data)
        step(data)
        np.testing.assert_array_equal(loops.get(w), expected)


def test_a_copy_of_something_else_is_made(cpu):
    """w becomes x with changes; that w is read, too, does not make x its old value."""
    x, w = nv.placeholder("N=9"), nv.variable("N=9", 1.0)
    step = cpu.computation([nv.sum(w, out_axes=()), nv.assign(w, x.at[2:4].set(7.0))], x)
    for number in (3.0, 4.0):
        step(np.full(9, number, np.float32))
        assert cpu.get(w).tolist() == [number, number, 7, 7, *[number] * 5]


def test_long_memory_of_which_little_is_written_is_written_in_place(cpu):
    """The copy that is left out does not count as long work, which has to be interruptible."""
    x, w = nv.placeholder("N=2"), nv.variable("N=20000000")
    step = cpu.computation([nv.assign(w[5:7], x)], x)
    loaded = step.executable._loaded
    in_place = loaded.in_place({})
    assert in_place and [code.extent for code in loaded.steps({}, {}, in_place)][0] == 0
    assert [code.in_place for code in loaded.steps({}, {}, in_place)] == [False, True]
    assert "left out, since it copies memory to itself" in nv.explain(step, np.ones(2, np.float32)).details()


def test_rows_that_indices_name_are_written_in_place(loops):
    """T415: their indices are checked by a kernel of its own, before anything is written."""
    rows, w = nv.placeholder("K=k, C=4"), nv.variable("N=9, C=4", np.float32(np.arange(36).reshape(9, 4)))
    k = nv.placeholder("K=k", "int64")
    step = loops.computation([nv.sum(w), nv.assign(w, nv.scatter(w, k, rows, "N"))], rows, k)
    plan = step.executable.plan
    assert sum(places(step)) == 2 and not plan.steps[-1].may_fail  # the copy, which is left out, and the writes
    assert [len(each.failures) for each in plan.steps if each.may_fail] == [1]
    generator, expected = np.random.default_rng(0), loops.get(w).copy()
    for indices in ([3], [], [-1, 0, 8], [2, 2, 5]):
        given = generator.standard_normal((len(indices), 4)).astype(np.float32)
        step(given, np.array(indices, np.int64))
        expected[np.array(indices, np.int64)] = given
        assert loops.get(w).tobytes() == expected.tobytes()
    for indices in ([0, 9], [-10, 1]):
        with pytest.raises(IndexError):
            step(np.ones((2, 4), np.float32), np.array(indices))
        assert loops.get(w).tobytes() == expected.tobytes()


def test_rows_are_added_up_in_place_in_their_order(loops):
    w, rows = nv.variable("N=9, C=4", np.ones((9, 4), np.float32)), nv.placeholder("K=k, C=4")
    k = nv.placeholder("K=k", "int64")
    step = loops.computation(nv.assign(w, nv.scatter(w, k, rows, "N", mode="add")), rows, k)
    given = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    indices, expected = np.random.default_rng(1).integers(-9, 9, 50), np.ones((9, 4), np.float32)
    np.add.at(expected, indices, given)
    step(given, indices)
    assert sum(places(step)) == 2 and loops.get(w).tobytes() == expected.tobytes()


def test_updates_that_may_fail_themselves_are_written_elsewhere(loops):
    """The kernel that writes would find that a part of what it writes does not exist."""
    w, x = nv.variable("N=9", np.zeros(9, np.float32)), nv.placeholder("M=3")
    k, at = nv.placeholder("K=2", "int64"), nv.placeholder("K=2", "int64")
    step = loops.computation(nv.assign(w, nv.scatter(w, k, nv.gather(x, at, "M") * 2, "N")), x, k, at)
    for turn in range(2):
        with pytest.raises(IndexError):
            step(np.ones(3, np.float32), np.array([0, turn]), np.array([0, 3]))
        assert not loops.get(w).any()
    step(np.ones(3, np.float32), np.array([8, 1]), np.array([0, 2]))
    assert loops.get(w).tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 2]


def test_no_index_is_checked_where_nothing_is_written(loops):
    """Rows of no elements, whose number the call brings."""
    w, rows = nv.variable("N=9, C=4", np.zeros((9, 4), np.float32)), nv.placeholder("B=b, K=2, C=4")
    k = nv.placeholder("B=b, K=2", "int64")
    step = loops.computation(nv.assign(w, nv.scatter(w, k, rows, "N", mode="add")), rows, k)
    step(np.zeros((0, 2, 4), np.float32), np.zeros((0, 2), np.int64))
    with pytest.raises(IndexError):
        step(np.ones((1, 2, 4), np.float32), np.array([[0, 9]]))
    assert not loops.get(w).any()
