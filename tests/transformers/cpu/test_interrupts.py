"""Ctrl-C, failing functions, indices out of range and forks: a call that ends early has changed nothing."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import IndexOutOfRange
from tests.processes import run_text

START = """
import os, signal, sys, threading, time
import numpy as np
import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument
from tests.processes import code_of_child

flags.memory_limit = 1 << 60  # nothing of what is announced as large is stored
cpu = nv.transformers.make_transformer("cpu")
x, y = nv.placeholder("I=m"), nv.placeholder("J=n")
w, count = nv.variable("I=8", 1.0), nv.variable((), 0.0)
short = np.linspace(0, 1, 200, dtype=np.float32)
long = np.linspace(0, 1, 100_000, dtype=np.float32)

def interrupt_after(seconds):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)

def late(call, after=0.15):
    "By how many seconds an interrupt ends a call that would take half a minute."
    start = time.monotonic()
    interrupt_after(after)
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - start - after
    raise AssertionError("the call ran to its end")
"""

LONG_KERNEL = """
total = nv.sum(nv.tan(nv.sin(x * y)), out_axes=())
"""

MANY_KERNELS = """
rows = x
for _ in range(50):
    rows = nv.sum(nv.tan(nv.sin(rows * y)), out_axes=["I"]) * 1e-5
total = nv.sum(rows, out_axes=())
short = np.linspace(0, 1, 2000, dtype=np.float32)
long = np.linspace(0, 1, 40_000, dtype=np.float32)
"""


def check(body: str, *parts: str) -> None:
    """Runs a text, behind these parts; what it asserts holds."""
    run_text(START, *parts, body)


# -- interrupts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", [LONG_KERNEL, MANY_KERNELS], ids=["one kernel", "many kernels"])
def test_an_interrupt_ends_a_call_and_changes_nothing(work):
    """On one thread and on two, in calls that are checked by Python and in those that are not."""
    check("""
    step = cpu.computation([total, nv.assign(count, count + 1), nv.assign(w, w + total)], x, y)
    step(short[:2], short)
    for is_fast in (False, True):
        x_value = long if is_fast else np.repeat(long, 2)[::2]
        if is_fast:
            step.executable.specialise({"m": len(long), "n": len(long)})
        for threads in (1, 2):
            flags.threads = threads
            before = cpu.get(w), cpu.get(count)
            lateness = late(lambda: step(x_value, long))
            assert lateness < 5, lateness
            np.testing.assert_array_equal(cpu.get(w), before[0])
            assert cpu.get(count) == before[1]
            values = []
            other = threading.Thread(target=lambda: values.append(step(short[:2], short)[0]))
            other.start(); other.join(60)
            assert values and cpu.get(count) == before[1] + 1
    assert cpu.get(count) == 5
    """, work)


def test_an_interrupt_ends_a_long_product_and_changes_nothing():
    check("""
    size = 6000
    a, b = nv.placeholder({"I": size, "K": size}), nv.placeholder({"K": size, "J": size})
    step = cpu.computation([nv.sum(nv.dot(a, b), out_axes=()), nv.assign(count, count + 1)], a, b)
    ones = np.ones((size, size), np.float32)
    lateness = late(lambda: step(ones, ones))
    assert lateness < 5, lateness
    assert cpu.get(count) == 0
    """)


def test_an_interrupt_ends_a_step_of_long_convolutions_and_changes_nothing():
    check("""
    images = nv.placeholder((32, 128, 112, 112))
    filters = nv.variable((256, 128, 3, 3), 0.001)
    wide = nv.convolution(images, filters, padding=1)
    loss = nv.sum(wide * wide, out_axes=())
    step = cpu.computation([loss, nv.assign(filters, filters - nv.deriv(loss, filters)), nv.assign(count, count + 1)],
                           images)
    ones = np.ones((32, 128, 112, 112), np.float32)
    before = cpu.get(filters)
    lateness = late(lambda: step(ones), 1.0)
    assert lateness < 5, lateness
    assert cpu.get(count) == 0 and (cpu.get(filters) == before).all()
    """)


def test_what_is_written_in_place_is_written_to_the_end():
    check("""
    w = nv.variable("I=1000000", 0.5)
    new = w
    for _ in range(20):
        new = nv.sin(new)
    step = cpu.computation([nv.assign(w, new)])
    step(); step()
    assert step.executable.compilation.plan.in_place
    before = np.unique(cpu.get(w))
    interrupted = 0
    for turn in range(20):
        interrupt_after(0.0005 * turn + 0.0003)
        try:
            try:
                step()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        after = np.unique(cpu.get(w))
        assert len(after) == 1 and after <= before
        before = after
    assert interrupted
    """)


def test_an_interrupt_in_the_middle_of_a_function_of_the_user():
    check("""
    def slowly(value):
        end = time.monotonic() + 20
        while time.monotonic() < end: pass
        return value
    step = cpu.computation([nv.host_call(slowly, [x * 2], x), nv.assign(count, count + 1)], x)
    assert late(lambda: step(short)) < 5 and cpu.get(count) == 0
    """)


def test_an_interrupt_between_kernels_and_functions_is_not_lost():
    check("""
    y = x
    for _ in range(6):
        y = nv.host_call(lambda value: value, [nv.sin(nv.tan(nv.sin(y)))], x)
    step = cpu.computation([nv.sum(y, out_axes=()), nv.assign(count, count + 1)], x)
    values = np.linspace(0, 1, 1_000_000, dtype=np.float32)
    expected = step(values)[0]
    start = time.monotonic()
    step(values)
    duration = time.monotonic() - start
    arrived = []
    def interrupt(*_):
        arrived.append(True)
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    for turn in range(50):
        before, found = cpu.get(count), None
        arrived.clear()
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, duration * (turn + 1) / 60)
                found = step(values)[0]
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        else:
            assert not arrived
        assert found is None or found == expected
        assert cpu.get(count) - before in ([1] if found is not None else [0, 1])
    assert interrupted
    """)


def test_a_signal_handler_reads_variables_and_does_not_change_them():
    """Q17: what it is told ends the call, unless it goes on."""
    check("""
    from nervure.errors import InUse
    step = cpu.computation([total, nv.assign(w, w * 2), nv.assign(count, count + 1)], x, y)
    increase, read = cpu.computation(nv.assign(count, count + 1)), cpu.computation(count * 1.0)
    step(short[:2], short); increase(); read()
    step(short[:2], short); increase(); read()
    before, seen, refused = cpu.get(count), [], []
    def handle(*_):
        seen.append((float(cpu.get(count)), float(read())))
        if len(seen) == 2:
            increase()
        try:
            increase()
        except InUse as error:
            refused.append(error.got)
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
    try:
        step(long, long)
    except InUse:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        raise AssertionError("the call ran to its end")
    assert seen == [(before, before)] * 2 and refused == ["a change inside of that call"]
    assert cpu.get(count) == before and cpu.get(w).tolist() == [4.0] * 8
    """, LONG_KERNEL)


# -- failures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failing_function_changes_nothing_and_the_next_call_works(cpu, error):
    x, w, count = nv.placeholder("N=4"), nv.variable("N=4", 1.0), nv.variable((), 0.0)

    def checked(value):
        if value[0] < 0:
            raise error("negative")
        return value

    step = cpu.computation([nv.assign(w, w * 2), nv.host_call(checked, [x], x), nv.assign(count, count + 1)], x)
    good, bad = np.ones(4, np.float32), -np.ones(4, np.float32)
    for done in range(3):
        with pytest.raises(BaseException, match="negative") as caught:
            step(bad if done % 2 else np.repeat(bad, 2)[::2])
        assert isinstance(caught.value if isinstance(caught.value, error) else caught.value.__cause__, error)
        assert cpu.get(w).tolist() == [2.0 ** done] * 4 and cpu.get(count) == done
        np.testing.assert_array_equal(step(good)[1], good)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_index_out_of_range_changes_nothing(cpu, threads):
    x, k = nv.placeholder("N=20000"), nv.placeholder("K=3", "int64")
    w, count, table = nv.variable("K=3", 1.0), nv.variable((), 0.0), nv.variable("N=20000", 1.0)
    step = cpu.computation([nv.assign(table, nv.scatter(table, k, w, "N", "add")), nv.gather(x, k, "N"),
                            nv.assign(w, w * 2), nv.assign(count, count + 1)], x, k)
    values = np.arange(20_000, dtype=np.float32)
    with nv.flags.overriding(threads=threads):
        for done in range(4):
            indices = np.array([5, -20_001, 20_000])
            with pytest.raises(IndexOutOfRange, match=r"-20001 at position \(1,\)") as caught:
                step(values, indices if done % 2 else np.repeat(indices, 2)[::2])
            assert caught.value.expected == "-20000 to 19999" and caught.value.location.file == __file__
            assert cpu.get(count) == done and cpu.get(w).tolist() == [2.0 ** done] * 3
            assert cpu.get(table).sum() == 20_000 + 3 * (2 ** done - 1)
            step(values, np.array([0, -1, 7]))


# -- forks ------------------------------------------------------------------------------------------


def test_both_sides_of_a_fork_give_the_same_bits():
    check("""
    flags.threads = 2
    step = cpu.computation([nv.sum(nv.tanh(x * y), out_axes=["I"]), nv.assign(w, w * 2), nv.normal((4,))], x, y)
    arguments = long[:500], long[:5000]
    step(*arguments)
    parent, own = os.pipe()
    def work():
        for _ in range(3):
            os.write(own, b"".join([r.tobytes() for r in step(*arguments) if r is not None] + [cpu.get(w).tobytes()]))
        return True
    assert code_of_child(work) == 0
    for _ in range(3):
        expected = b"".join([r.tobytes() for r in step(*arguments) if r is not None] + [cpu.get(w).tobytes()])
        assert os.read(parent, len(expected)) == expected
    """)


@pytest.mark.parametrize("way", ["fast", "slow"])
def test_a_fork_during_a_call_is_an_error_in_the_child_alone(way):
    check(f"""
    step = cpu.computation([total, nv.assign(count, count + 1)], x, y)
    simple = cpu.computation(x * 2, x)
    simple(short); simple(short)
    arguments = short, long
    step(*arguments); step(*arguments)
    x_value = short if "{way}" == "fast" else np.repeat(short, 2)[::2]
    is_going = threading.Event()
    def repeat():
        while not is_over:
            is_going.set()
            step(x_value, long)
    is_over = []
    thread = threading.Thread(target=repeat)
    thread.start()
    is_going.wait(); time.sleep(0.3)
    def work():
        for call in (lambda: simple(short), lambda: step(short, short), lambda: simple(short[::-1])):
            try:
                call()
            except InvalidArgument as error:
                assert "forked while a call was running" in str(error)
            else:
                return False
        return True
    code = code_of_child(work)
    is_over.append(True)
    thread.join(120)
    assert code == 0 and not thread.is_alive()
    np.testing.assert_array_equal(simple(short), short * 2)
    """, LONG_KERNEL)
