"""The contract of a call on the cpu, with computations as users write them: the fast way, and every other."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument, NervureError, NumericError
from nervure.transformers.cpu.runtime import pooled_arrays
from tests.arrays import normal

CALLS = 200 if os.environ.get("DEEP_TESTS") else 20
THREADS = 8


# -- arguments ------------------------------------------------------------------------------------------


class Named(np.ndarray):
    """A class of arrays of a user."""


def unaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def read_only(array: np.ndarray) -> np.ndarray:
    found = array.copy()
    found.flags.writeable = False
    return found


FORMS = {
    "plain": lambda array: array,
    "strided": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array: array[..., ::-1].copy()[..., ::-1],
    "transposed": lambda array: array.T.copy().T,
    "unaligned": unaligned,
    "read-only": read_only,
    "subclass": lambda array: array.copy().view(Named),
    "other endian": lambda array: array.astype(array.dtype.newbyteorder()),
    "list": lambda array: array.astype(np.float64).tolist(),
    "window": lambda array: np.pad(array, 1)[1:-1, 1:-1],
    "mapped": lambda array: np.frombuffer(bytearray(array.tobytes()), array.dtype).reshape(array.shape),
}


@pytest.mark.parametrize("rows", [1, 33, 0])
@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_an_argument_does_not_count(cpu, form, rows):
    x, y, w = (*[nv.placeholder({"N": nv.dim("N"), "C": 17}) for _ in range(2)], nv.variable("C=17", 2.0))
    step = cpu.computation([nv.tanh(x * w) + y, nv.sum(x * y, out_axes=["C"]), nv.assign(w, w * 0.5), w], x, y)
    first, second = normal(rows, 17), normal(rows + 1, 17)[1:]
    expected = [array.tobytes() for array in step(first, second) if array is not None]
    for _ in range(2):
        cpu.set(w, 2.0 * np.ones(17))
        given = FORMS[form](first)
        if not isinstance(given, list) or rows:
            assert [a.tobytes() for a in step(given, second) if a is not None] == expected
            cpu.set(w, 2.0 * np.ones(17))
            assert [a.tobytes() for a in step(first, FORMS[form](second)) if a is not None] == expected


def test_scalars_of_every_kind(cpu):
    x = nv.placeholder()
    double = cpu.computation(x * 2, x)
    for given in (1.5, np.float32(1.5), np.array(1.5), np.float32([1.5])[0:1].reshape(()), np.array(1.5, ">f4")):
        for _ in range(2):
            result = double(given)
            assert type(result) is np.ndarray and result.shape == () and result.dtype == np.float32 and result == 3


@pytest.mark.parametrize("shape", ["one", "tuple", "dict", "with an effect"])
def test_arrays_pass_by_all_of_python_from_the_second_call_on(cpu, monkeypatch, shape):
    x, w = nv.placeholder("N=3"), nv.variable("N=3", 0.0)
    returns = {"one": x + 1, "tuple": (x + 1, x * 2), "dict": {"a": x + 1}, "with an effect": [x + 1, nv.assign(w, x)]}
    run, value = cpu.computation(returns[shape], x), np.float32([1, 2, 3])
    first = run(value)
    monkeypatch.setattr(type(run), "read_arguments", lambda *_: pytest.fail("the arguments were read"))
    second = run(value)
    monkeypatch.undo()
    assert type(first) is type(second) and repr(first) == repr(second) == repr(run([1, 2, 3]))


def test_without_headers_that_native_code_knows_python_gives_the_same_bits(cpu, monkeypatch):
    x, value = nv.placeholder("N=3"), normal(3)

    def values() -> list[bytes]:
        w = nv.variable("N=3", 1.0)
        run = cpu.computation([nv.exp(x) * w, nv.sum(x, out_axes=()), nv.assign(w, w + x)], x)
        found = [run(value) for _ in range(3)]
        return [*[part.tobytes() for pair in found for part in pair[:2]], cpu.get(w).tobytes()]

    expected = values()
    monkeypatch.setattr(pooled_arrays, "is_known", lambda: False)
    assert values() == expected


def test_one_array_may_be_every_argument(cpu):
    x, y = nv.placeholder("N=5"), nv.placeholder("N=5")
    step = cpu.computation([x + y, x, y], x, y)
    array = normal(5)
    for _ in range(3):
        results = step(array, array)
        assert [result.tobytes() for result in results] == [(array * 2).tobytes(), array.tobytes(), array.tobytes()]


CALLS_THAT_ARE_WRONG: dict[str, Any] = {
    "nothing": lambda x, k: (),
    "too few": lambda x, k: (x,),
    "too many": lambda x, k: (x, k, k),
    "a list of both": lambda x, k: ([x, k],),
    "wider": lambda x, k: (x.astype("float64").astype("complex64"), k),
    "float indices": lambda x, k: (x, k.astype("float32")),
    "another length": lambda x, k: (x[:, :2], k),
    "another rank": lambda x, k: (x[0], k),
    "too short": lambda x, k: (x[:0], k),
    "text": lambda x, k: ("abc", k),
    "None": lambda x, k: (None, k),
    "ragged": lambda x, k: ([[1, 2], [3]], k),
    "an object": lambda x, k: (x, object()),
    "too large": lambda x, k: (x, [2 ** 70, 0]),
    "too large unsigned": lambda x, k: (x, np.array([2 ** 63, 0], "uint64")),
    "out of range": lambda x, k: (x, k + 2),
    "out of range below": lambda x, k: (x, np.array([0, -5])),
    "out of range, strided": lambda x, k: (x[::-1], np.array([0, 1, 4, 4])[::2]),
}


@pytest.mark.parametrize("wrong", CALLS_THAT_ARE_WRONG)
def test_a_wrong_call_is_the_same_error_as_on_the_interpreter(wrong):
    texts = []
    array, indices = normal(4, 3), np.array([0, 3])
    for name in ("interpreter", "cpu"):
        with nv.transformers.make_transformer(name) as transformer:
            x = nv.placeholder({"N": nv.dim("n", min=1), "F": 3}).named("x")
            k, w = nv.placeholder("K=2", "int64").named("k"), nv.variable((), 1.0)
            step = transformer.computation([nv.gather(x, k, "N"), nv.assign(w, w + 1)], x, k)
            for calls in range(3):
                with pytest.raises(NervureError) as caught:
                    step(*CALLS_THAT_ARE_WRONG[wrong](array, indices))
                texts.append((type(caught.value), str(caught.value)))
                assert transformer.get(w) == 1 + calls
                step(array, indices)
    assert len(set(texts)) == 1, texts


# -- results ------------------------------------------------------------------------------------------


def test_results_share_memory_with_nothing(cpu):
    x, w = nv.placeholder("N=40"), nv.variable("N=40", 1.0)
    y = x + w
    step = cpu.computation([x, x, y, y, y[::2], w, nv.assign(w, w * 2), w, nv.constant(np.float32([1, 2])), -x], x)
    array = normal(40)
    held: list[np.ndarray] = [array]
    copies = [array.copy()]
    for _ in range(4):
        held += [result for result in step(array) if result is not None]
        held += [cpu.snapshot([w.variable])[w.variable]]
        copies += [result.copy() for result in held[len(copies):]]
        for at, result in enumerate(held):
            assert not any([np.shares_memory(result, other) for other in held[:at]])
    for result, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(result, copy)
    for result in held[1:]:
        assert result.flags.owndata or result.base is None


def test_what_a_caller_writes_stays_with_the_caller(cpu):
    x, w = nv.placeholder("N=40"), nv.variable("N=40", 1.0)
    step = cpu.computation([x + 0.0, nv.assign(w, w * 2), w, nv.constant(np.ones(40, np.float32))], x)
    for turn in range(1, 4):
        results = step(np.ones(40, np.float32))
        for result in (results[0], results[2], results[3]):
            result += 100
        got = cpu.get(w)
        assert (got == 2 ** turn).all() and (results[0] == 101).all()
        got += 7


@pytest.mark.parametrize("place", [np.zeros, lambda shape, kind: np.zeros((shape[0], 2 * shape[1]), kind)[:, ::2],
                                   lambda shape, kind: np.zeros(shape[::-1], kind).T])
def test_out_takes_results(cpu, place):
    x, w = nv.placeholder({"N": nv.dim("N"), "C": 9}), nv.variable((), 1.0)
    step = cpu.computation([nv.exp(x), nv.sum(x, out_axes=()), nv.assign(w, w + 1)], x)
    array = normal(6, 9)
    expected = step(array)
    for turn in range(3):
        target = place((6, 9), np.float32)
        results = step.executable([array], out=[target, None])
        assert results[0] is target and cpu.get(w) == 3 + turn
        assert [result.tobytes() for result in results] == [result.tobytes() for result in expected[:2]]
    for wrong in (array, array[::-1]):
        with pytest.raises(InvalidArgument, match="shares memory with argument 1"):
            step.executable([array], out=[wrong, None])
    assert cpu.get(w) == 5


# -- variables ------------------------------------------------------------------------------------------


def test_a_value_that_is_held_stays(cpu, tmp_path):
    x, w = nv.placeholder("N=1000"), nv.variable("N=1000", 1.0)
    step = cpu.computation([nv.assign(w, w * 2 + x)], x)
    zeros = np.zeros(1000, np.float32)
    step(zeros)
    assert step.executable.compilation.plan.in_place
    seen = []
    for turn in range(1, 6):
        snapshot = cpu.snapshot([w.variable])[w.variable]
        view, copy = snapshot[3:5], cpu.get(w)
        nv.save(str(tmp_path / f"{turn}.safetensors"), step)
        seen.append((turn, snapshot if turn % 2 else view, copy))
        step(zeros)
        step(zeros[::-1])
        cpu.set(w, cpu.get(w) / 2)
    for turn, held, copy in seen:
        assert (held == 2.0 ** turn).all() and (copy == 2.0 ** turn).all()
        loaded = nv.load(str(tmp_path / f"{turn}.safetensors"), transformer=cpu)
        assert (cpu.get(loaded.function.variables[0]) == 2.0 ** turn).all()


def test_an_initial_value_is_never_written(cpu):
    initial = normal(50)
    kept, w = initial.copy(), nv.variable("N=50", initial)
    step = cpu.computation([nv.assign(w, w * 2)])
    for _ in range(3):
        step()
    np.testing.assert_array_equal(initial, kept)
    np.testing.assert_array_equal(cpu.get(w), initial * 8)
    with nv.transformers.make_transformer("cpu") as other, pytest.warns(UserWarning, match="another transformer"):
        np.testing.assert_array_equal(other.get(w), initial)


def test_eight_threads_give_the_bits_of_one(cpu):
    x, w = nv.placeholder({"N": nv.dim("N"), "C": 300}), nv.variable("C=300", 0.5)
    step = cpu.computation([nv.softmax(x * w, axis="C"), nv.sum(nv.square(x), out_axes=["C"])], x)
    arrays = [normal(3 + 100 * number, 300) for number in range(THREADS)]
    serial = [[result.tobytes() for result in step(array)] for array in arrays]

    def work(number: int) -> None:
        for turn in range(CALLS):
            array = arrays[number] if turn % 5 else arrays[number][::-1].copy()[::-1]
            assert [result.tobytes() for result in step(array)] == serial[number]
    in_threads(work)


def test_eight_threads_that_share_variables_take_turns(cpu):
    x, w, count = nv.placeholder("N=N"), nv.variable("C=100", 0.0), nv.variable((), 0.0)
    total = nv.sum(x, out_axes=())
    first = cpu.computation([nv.assign(w, w + total), nv.assign(count, count + 1), w, count], x)
    second = cpu.computation([nv.assign(count, count + 1), nv.assign(w, w + nv.sum(x * 1.0, out_axes=())), w, count], x)
    parts = np.full(100_000, 1 / 64, np.float32)  # so many that other threads run meanwhile
    seen: list[list[float]] = [[] for _ in range(THREADS)]

    def work(number: int) -> None:
        for turn in range(CALLS):
            given = parts if turn % 3 else np.repeat(parts, 2)[::2]
            *_, value, calls = (first if number % 2 else second)(given)
            assert (value == 1562.5 * calls).all()
            seen[number].append(float(calls))
    in_threads(work)
    assert sorted([calls for row in seen for calls in row]) == list(range(1, THREADS * CALLS + 1))
    assert (cpu.get(w) == 1562.5 * THREADS * CALLS).all()


def in_threads(work: Any) -> None:
    """Runs ``work(number)`` in eight threads that switch every few microseconds; raises the first error of any."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    finally:
        sys.setswitchinterval(before)
    assert not any([thread.is_alive() for thread in threads])
    if errors:
        raise errors[0]


# -- switches ------------------------------------------------------------------------------------------


def test_the_check_for_nan_goes_for_calls_that_were_fast(cpu):
    x, w = nv.placeholder("N=3"), nv.variable((), 1.0)
    step = cpu.computation([nv.log(x), nv.assign(w, w + 1)], x)
    good, bad = np.float32([1, 2, 3]), np.float32([1, -2, 3])
    for _ in range(2):
        step(bad)
    with flags.overriding(check_nan=True):
        for given in (bad, bad[::-1]):
            with pytest.raises(NumericError) as caught:
                step(given)
            assert caught.value.op == "Log" and caught.value.location.file == __file__ and cpu.get(w) == 3
        checked = step(good)
    assert cpu.get(w) == 4
    np.testing.assert_array_equal(step(good)[0], checked[0])
    assert np.isnan(step(bad)[0][1])


def test_the_number_of_threads_changes_no_bit(cpu):
    x = nv.placeholder({"N": nv.dim("N"), "C": 1000})
    step = cpu.computation([nv.gelu(x), nv.softmax(x, axis="C"), nv.sum(x, out_axes=["C"]), nv.sum(x, out_axes=()),
                            nv.normal({"N": 1000, "C": 100})], x)
    found = []
    for threads in (1, 2, 3, 1, 0):
        nv.seed(5, cpu)
        with flags.overriding(threads=threads):
            found.append([result.tobytes() for result in step(normal(1000, 1000))])
    assert all([each == found[0] for each in found])


def test_a_closed_transformer_runs_nothing():
    cpu = nv.transformers.make_transformer("cpu")
    x, w = nv.placeholder("N=3"), nv.variable((), 1.0)
    steps = [cpu.computation(x * 2, x), cpu.computation([x * 2, nv.assign(w, w + 1)], x)]
    array = np.float32([1, 2, 3])
    results = [step(array) for step in steps for _ in range(3)]
    cpu.close()
    for step in steps:
        for given in (array, array[::-1], [1, 2, 3]):
            with pytest.raises(InvalidArgument, match="the transformer is closed"):
                step(given)
    np.testing.assert_array_equal(results[0], array * 2)
