"""Functions on several devices: what they give, and what they leave as it was."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nervure as nv
from tests.transformers.devices.own import Arrays, Bytes, Idle, Lists, forgetting, implement_sums, places

X = np.float32([[1, -2, 3], [4, 5, -6]])


def parts(computation) -> list[object]:
    return [part.device for part in computation.executable.parts]


@pytest.fixture(autouse=True)
def sums():
    with forgetting(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        implement_sums(Lists, Arrays, Bytes)
        yield


def formula(x):
    y = nv.exp(x * 0.1).T
    return nv.sum((y + y * 2)[::-1, 1:], axis=0) - x[0, 1]


@pytest.mark.parametrize("listed", [
    [Lists, nv.CPUTensor], [Arrays, nv.CPUTensor], [Bytes, nv.NumPyTensor], [Idle, Arrays, nv.NumPyTensor, Lists],
    [nv.NumPyTensor], [nv.ScalarTensor, nv.CPUTensor], [Idle, nv.CPUTensor]], ids=lambda listed: listed[0].__name__)
def test_values_and_derivatives_are_those_of_the_reference(listed):
    """T89, T74"""
    w = nv.variable((2, 3), X)
    with nv.devices(*listed):
        loss = formula(w * w + nv.constant([1.0, 2.0, 3.0])).sum()
        gradient = nv.deriv(loss, w)
    mixed = nv.computation([loss, gradient])()
    with nv.transformers.make_transformer("interpreter") as interpreter:
        expected = nv.computation([loss, gradient], transformer=interpreter)()
    for got, wanted in zip(mixed, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_ops_run_where_they_are_implemented():
    """T74, T77: sums on the first device, exp on the one after it."""
    x = nv.placeholder((2, 3))
    with nv.devices(Arrays, nv.CPUTensor):
        y = nv.exp(x + x) + x
    assert parts(nv.computation(y, x)) == [Arrays, "cpu", Arrays]
    np.testing.assert_allclose(nv.computation(y, x)(X), np.exp(X + X) + X, rtol=1e-6)


def test_sizes_are_symbols():
    """T77: one executable for all sizes, parts that only a symbol tells the size of included."""
    x = nv.placeholder("N=n, C=3")
    with nv.devices(Arrays, nv.CPUTensor):
        y = nv.broadcast(nv.exp(nv.constant(1.0)), x.axes) + x * x
    both = nv.computation(y, x)
    executable = both.executable
    for count in (1, 4, 2, 0):
        given = np.full((count, 3), 2.0, np.float32)
        np.testing.assert_allclose(both(given), np.full((count, 3), np.exp(1) + 4), rtol=1e-6)
    assert both.executable is executable


def test_a_call_that_fails_changes_nothing():
    """T78: the last part fails when all others have run."""
    w, count = nv.variable((3,), 1.0), nv.persistent_tensor(initial_value=0, dtype=nv.int32)
    table, at = nv.constant([1.0, 2.0]), nv.placeholder((), nv.int32)
    with nv.devices(Arrays, nv.CPUTensor):
        step = nv.computation([nv.assign(w, w + w), nv.assign(count, count + 1), table[at]], at)
    step(1)
    with pytest.raises(IndexError):
        step(7)
    assert w.tolist() == [2.0, 2.0, 2.0] and count.item() == 1

    @nv.implement(nv.ops.Add, device=Arrays)
    def add(op, x, y, out):
        raise ZeroDivisionError("of the user's")

    with nv.devices(Arrays, nv.CPUTensor):
        step = nv.computation([nv.assign(w, nv.exp(w)), nv.print_op(w + w)])
    with pytest.raises(ZeroDivisionError) as caught:
        step()
    assert w.tolist() == [2.0, 2.0, 2.0] and "on Arrays, built at" in caught.value.__notes__[0]


def test_state_is_shared_with_computations_of_one_device():
    """T78: the cells are those of the default transformer."""
    w = nv.variable((2,), 1.0)
    with nv.devices(Lists, nv.CPUTensor):
        mixed = nv.computation([nv.assign(w, nv.exp(w * 0) + w), w])
    plain = nv.computation(nv.assign(w, w * 10))
    assert mixed()[1].tolist() == [2.0, 2.0]
    plain()
    assert mixed()[1].tolist() == [21.0, 21.0] and nv.transformers.default().get(w).tolist() == [21.0, 21.0]
    mixed.transformer.set(w, [1, 2])
    assert w.tolist() == [1.0, 2.0]


def test_a_list_of_the_default_device_changes_nothing():
    """T79"""
    x = nv.placeholder((2, 3))
    with nv.devices(nv.CPUTensor):
        listed = nv.computation(nv.softmax(x, axis=1) @ x.T, x)
    plain = nv.computation(nv.softmax(x, axis=1) @ x.T, x)
    assert type(listed.executable) is type(plain.executable)
    assert listed.executable.transformer is nv.transformers.default()
    assert nv.computation(x + x, x).transformer is nv.transformers.default()
    np.testing.assert_array_equal(listed(X), plain(X))


def test_a_transformer_that_is_asked_for_runs_everything():
    """T76: what was implemented for its own device counts, lists do not."""
    x, calls = nv.placeholder((2, 3)), []

    @nv.implement(nv.ops.Sin, device=nv.NumPyTensor)
    def sine(op, x, out):
        calls.append(x.shape)
        out.storage[:] = np.sin(x.storage)

    with nv.devices(Idle):
        y = nv.sin(x) + 1
    with nv.transformers.make_transformer("interpreter") as interpreter:
        np.testing.assert_allclose(nv.computation(y, x, transformer=interpreter)(X), np.sin(X) + 1, rtol=1e-6)
    assert calls == [(2, 3)]
    with nv.transformers.make_transformer("cpu") as cpu:
        np.testing.assert_allclose(nv.computation(y, x, transformer=cpu)(X), np.sin(X) + 1, rtol=1e-6)
    assert calls == [(2, 3)]


def test_what_nothing_implements_is_told_before_anything_runs():
    """T75"""
    x = nv.placeholder((3,))
    with nv.devices(Idle, nv.ScalarTensor):
        y = nv.exp(x)
    with pytest.raises(nv.NodeNotFound) as caught:
        nv.computation(y, x)
    error = caught.value
    assert isinstance(error, nv.NotSupported) and error.op == "Exp" and error.location.file == __file__
    assert error.got == "Idle: it implements no such op; ScalarTensor: it does not take these shapes"
    assert "nv.CPUTensor" in error.help


def test_composites_are_decomposed_for_the_parts_that_a_device_has():
    """T74, T87: a softmax has an exp, a negative has none."""
    calls = []

    class Counting(nv.CPUTensor):
        """Counts exponentials."""

    @nv.implement(nv.ops.Exp, device=Counting)
    def exponential(op, x, out):
        calls.append(x.shape)
        out.storage[:] = np.exp(x.storage)

    class Below(Counting):
        """Inherits that."""

    for device in (Counting, Below):
        with nv.devices(device, nv.CPUTensor):
            y = nv.softmax(nv.constant(X), axis=1) + 1
        np.testing.assert_allclose(y.numpy(), nv.softmax(nv.constant(X), axis=1).numpy() + 1, rtol=1e-6)
    assert calls == [(2, 3), (2, 3)]
    nv.exp(nv.constant(X)).numpy()
    assert len(calls) == 2


def test_a_later_implementation_takes_the_place_of_an_earlier_one():
    """T87: in what is built from then on; that of the device itself comes before an inherited one."""
    class First(nv.CPUTensor):
        """Adds 1."""

    class Second(First):
        """Adds 2."""

    def adding(device, amount):
        @nv.implement(nv.ops.Sin, device=device)
        def sine(op, x, out):
            out.storage[:] = x.storage + amount

    def value(device):
        with nv.devices(device):
            return nv.computation(nv.sin(nv.constant(0.0)))

    adding(First, 1)
    before = value(Second)
    adding(Second, 2)
    assert (before().item(), value(Second)().item(), value(First)().item()) == (1.0, 2.0, 1.0)
    adding(First, 5)
    assert (value(Second)().item(), value(First)().item()) == (2.0, 5.0)


def test_views_move_nothing_on_a_device_written_in_python():
    """T71, T85: what is implemented sees strides and an offset."""
    seen = []

    @nv.implement(nv.ops.Negative, device=Lists)
    def negative(op, x, out):
        seen.append((x.shape, x.strides, x.offset, isinstance(x, Lists), out.strides))
        for i, k in places(x, out):
            out.set_vref(k, -x.vref(i))

    x = nv.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    with nv.devices(Lists, nv.CPUTensor):
        y = -((x + x).T[::-2, 1:])
    assert y.tolist() == (-(2 * np.arange(12).reshape(3, 4)).T[::-2, 1:]).tolist()
    assert seen == [((2, 2), (-2, 4), 7, True, (2, 1))]


def test_views_that_strides_cannot_say_are_copied():
    """T71"""
    x = nv.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    with nv.devices(Lists, nv.CPUTensor):
        y = -(x + x).T.reshape((2, 6))
    assert y.tolist() == (-(2 * np.arange(12).reshape(3, 4)).T.reshape(2, 6)).tolist()


@pytest.mark.parametrize("dtype", [nv.int32, nv.float64, nv.bool_, nv.complex64, nv.bfloat16, nv.uint8])
@pytest.mark.parametrize("device", [Lists, Bytes])
def test_every_element_type_passes(device, dtype):
    """T80"""
    x = nv.constant(np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype.numpy), dtype=dtype)
    with nv.devices(device, nv.CPUTensor):
        y = nv.where(nv.constant([True, False, True]), (x + x if dtype is not nv.bool_ else x).T[::-1].T, x)
    with nv.transformers.make_transformer("interpreter") as interpreter:
        expected = nv.computation(y, transformer=interpreter)()
    assert y.numpy().astype(complex).tolist() == expected.astype(complex).tolist()


def test_a_jitted_function_is_specialised_for_each_list():
    """T90"""
    double = nv.jit(lambda x: x + x)
    assert double(X).tolist() == (X + X).tolist()
    with nv.devices(Arrays, nv.CPUTensor):
        assert double(X).tolist() == (X + X).tolist()
        assert len(double.specialisations) == 2
        double(X)
    double(X)
    assert len(double.specialisations) == 2


def test_computations_of_several_threads_run_side_by_side():
    """T72: a list belongs to the thread that set it."""
    import threading
    found = []
    with nv.devices(Arrays, nv.CPUTensor):
        thread = threading.Thread(target=lambda: found.append(nv.device_in_force()))
        thread.start()
        thread.join()
        assert nv.device_in_force() is Arrays
    assert found == [nv.CPUTensor]


@pytest.mark.parametrize("listed", [[Arrays, nv.CPUTensor], [Idle, nv.CPUTensor]],
                         ids=lambda listed: listed[0].__name__)
def test_a_network_trains_alike_with_fall_through(listed):
    """T89, T77: ten steps of two layers give the losses and weights of the device for native code alone."""
    def trained(*devices):
        rng = np.random.default_rng(0)
        x, wanted = rng.normal(size=(8, 4)).astype(np.float32), rng.integers(0, 3, 8)
        first, second = [nv.variable(shape, rng.normal(size=shape) * 0.5) for shape in ((4, 6), (6, 3))]
        with nv.devices(*devices):
            scores = nv.relu(x @ first) @ second
            loss = -nv.mean(nv.sum(nv.log_softmax(scores, axis=1) * np.eye(3, dtype=np.float32)[wanted], axis=1))
            updates = [nv.assign(w, w - 0.5 * nv.deriv(loss, w)) for w in (first, second)]
        step = nv.computation([loss, nv.doall(updates)])
        return [step()[0].item() for _ in range(10)], first.numpy(), second.numpy()

    losses, *weights = trained(*listed)
    expected, *wanted = trained(nv.CPUTensor)
    assert losses[-1] < losses[0] * 0.7
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for got, right in zip(weights, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-6)


def test_models_are_built_on_devices():
    """T77, T89: forward, backward and a step in one call."""
    def trained(*devices):
        x, w = nv.placeholder("N=n, F=3").named("x"), nv.variable("F=3, K=2", np.float32([[1, 2], [3, 4], [5, 6]]))
        with nv.devices(*devices):
            model = nv.build(nv.sum(nv.tanh(nv.dot(x, w)) + nv.dot(x, w) * 0.5, out_axes=()), inputs=("x",))
        first = [model.forward(X).item()]
        model.backward()
        return [*first, *w.grad.numpy().ravel().tolist(),
                *[model.step(nv.optim.SGD(0.1), X).item() for _ in range(3)]], w.numpy()

    got, weights = trained(Arrays, nv.CPUTensor)
    expected, wanted = trained(nv.CPUTensor)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    np.testing.assert_allclose(weights, wanted, rtol=1e-5)


def test_explanations_name_the_device_of_each_step():
    """T77"""
    x = nv.placeholder("N=n")
    with nv.devices(Arrays, nv.CPUTensor):
        y = nv.exp(x + x)
    report = nv.computation(y, x).executable.report()
    assert [(step.number, step.name) for step in report.steps] == [(0, "Add on Arrays"),
                                                                      (1, "pointwise on cpu")]
    assert "step 1: kernel pointwise on cpu" in nv.explain(nv.computation(y, x)).details()
    assert "vector" in nv.explain(nv.computation(y, x)).kernels[0].text


def test_the_steps_of_devices_are_timed():
    """T77, T138: kernels, ops in Python, and calls with what moves between them; nothing is changed."""
    x, w = nv.placeholder("N=n"), nv.variable((), 1.0)
    with nv.devices(Arrays, nv.NumPyTensor):
        y = nv.sin(nv.exp(x + x) * w)
        step = nv.computation([y, nv.assign(w, w + 1)], x)
    found = nv.explain(step, np.ones(3, np.float32), repeat=3)
    assert [step.name.split(" on ")[1] for step in found.steps][0] == "Arrays" and len(found.steps) > 2
    assert all(0 < step.seconds < 100 for step in found.steps) and 0 < found.seconds < 100 and w.item() == 1.0


def test_what_is_computed_on_devices_is_profiled(capsys):
    """T138"""
    with nv.devices(Arrays, nv.CPUTensor):
        found = nv.proceed_time(nv.exp(nv.tensor([1.0, 2.0]) + 1))
    assert "Add on Arrays" in capsys.readouterr().out and found.device is Arrays
    np.testing.assert_allclose(found.numpy(), np.exp([2, 3]), rtol=1e-6)


def test_an_allocator_that_gives_nothing_is_told():
    """T71"""
    class Forgetful(Lists):
        """Returns no storage."""

        def allocate(self, shape, dtype, initial_element=None, vec=None):
            return None

    with nv.devices(Forgetful, nv.CPUTensor):
        y = nv.ones((2,)) + nv.constant([1.0, 2.0])
    with pytest.raises(nv.WrongKind, match="allocate of Forgetful gives nothing"):
        y.numpy()


OPS = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: -x, lambda x, y: nv.sin(x), lambda x, y: x.T[::-1].T,
       lambda x, y: nv.maximum(x, y), lambda x, y: x + nv.sum(y, axis=0), lambda x, y: x[:, :1] * y,
       lambda x, y: x.reshape((-1,))[::-1].reshape(x.shape) + y, lambda x, y: nv.where(x > y, x, 0.5)]


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_under_random_lists_give_what_the_reference_gives(seed):
    """T89, T74: of views and reductions too, for several sizes."""
    rng = np.random.default_rng(seed)
    pool = [Arrays, Lists, Bytes, Idle, nv.NumPyTensor, nv.CPUTensor, nv.ScalarTensor]
    x, w = nv.placeholder("N=n, C=3"), nv.variable((1, 3), rng.normal(size=(1, 3)))
    values = [nv.cast_axes(x, x.shape), nv.cast_axes(x, x.shape) * w]
    for _ in range(14):
        listed = [pool[at] for at in rng.permutation(len(pool))[:3]] + [nv.CPUTensor]
        left, right = (values[at] for at in rng.integers(len(values), size=2))
        with nv.devices(*listed):
            values.append(OPS[rng.integers(len(OPS))](left, right))
    results = [values[-1], nv.sum(values[-2]), nv.assign(w, w + nv.mean(values[-1], axis=0, keepdims=True))]
    mixed = nv.computation(results, x)
    with nv.transformers.make_transformer("interpreter") as interpreter:
        reference = nv.computation(results, x, transformer=interpreter)
        assert interpreter.get(w).tolist() == w.tolist()
        for count in (2, 5, 1):
            given = rng.normal(size=(count, 3)).astype(np.float32)
            for expected, got in zip(reference(given), mixed(given), strict=True):
                assert got is expected is None or np.testing.assert_allclose(got, expected, 1e-4, 1e-5) is None
        np.testing.assert_allclose(w.numpy(), interpreter.get(w), 1e-4, 1e-5)
