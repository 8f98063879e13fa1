"""``flags.denormals``: calls in which denormals are zeros, and nothing outside of them that notices (O87, O88)."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import IndexOutOfRange
from nervure.transformers.cpu.runtime.thread_pool import HAS_MXCSR
from tests.processes import run_text

pytestmark = pytest.mark.skipif(not HAS_MXCSR, reason="other processors have another register for the mode")

LEAST = np.float32(2.0**-126)


def keeps_denormals() -> bool:
    """Whether this thread computes as IEEE 754 has it."""
    return bool((np.full(4, LEAST) * np.float32(0.5))[0] != 0)


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [5, 3_000_000])
def test_what_would_be_denormal_is_0_and_what_is_counts_as_0(cpu, count, threads, dtype):
    """O87: in each call anew, on each thread that shares it."""
    least = np.finfo(dtype.numpy).tiny
    x = nv.placeholder((nv.dim("n"),), dtype)
    halves, large = cpu.computation(x * 0.5, x), cpu.computation(x * 2.0**100, x)
    numbers = np.full(count, least, dtype.numpy)
    with flags.overriding(threads=threads):
        for mode in ("keep", "flush", "keep", "flush"):
            with flags.overriding(denormals=mode):
                assert set(np.unique(halves(numbers))) == {0.0 if mode == "flush" else least / 2}
                assert set(np.unique(large(numbers / 2))) == {0.0 if mode == "flush" else least * 2.0**99}
                assert keeps_denormals()


def test_what_is_only_moved_stays(cpu):
    """O87: to the bit."""
    x = nv.placeholder((2, 3))
    turned = cpu.computation([x.T, x[:, 1:], nv.where(x > 0.5, 1.0, x)], x)
    numbers = np.full((2, 3), LEAST / 2, np.float32)
    with flags.overriding(denormals="flush"):
        for found in turned(numbers):
            assert set(found.ravel().tolist()) == {float(LEAST / 2)}


def test_denormals_of_float16_are_kept(cpu):
    """O87: they are computed with as float32, in which they are ordinary."""
    x = nv.placeholder((3,), nv.float16)
    numbers = np.float16([2.0**-24, 2.0**-20, 2.0**-15])
    with flags.overriding(denormals="flush"):
        np.testing.assert_array_equal(cpu.computation(x + x, x)(numbers), numbers + numbers)


@pytest.mark.parametrize(("name", "check_nan"), [("interpreter", False), ("cpu", True)])
def test_what_is_not_compiled_keeps_denormals(name, check_nan):
    """Q35."""
    x = nv.placeholder((1,))
    with nv.transformers.make_transformer(name) as made:
        with flags.overriding(denormals="flush", check_nan=check_nan):
            assert made.computation(x * 0.5, x)([LEAST])[0] == LEAST / 2


def test_python_inside_of_a_call_keeps_denormals(cpu):
    """O88: and the call goes on in its own mode; a call inside of it has that of the switch, too."""
    seen = []
    y = nv.placeholder((2,))
    inner = cpu.computation(y * 0.5, y)

    def look(values):
        seen.append((keeps_denormals(), inner(np.full(2, LEAST)).tolist(), keeps_denormals()))
        return values

    x = nv.placeholder((2,))
    outer = cpu.computation(nv.host_call(look, [x * 1.0], like=x) * 0.5, x)
    with flags.overriding(denormals="flush"):
        assert outer(np.full(2, LEAST)).tolist() == [0.0, 0.0]
    assert seen == [(True, [0.0, 0.0], True)] and keeps_denormals()
    assert outer(np.full(2, LEAST)).tolist() == [float(LEAST / 2)] * 2


def test_a_call_that_fails_leaves_the_mode_as_it_was(cpu):
    """O88."""
    x, index = nv.placeholder((4,)), nv.placeholder((nv.dim("n"),), nv.int64)
    gather = cpu.computation(nv.gather(x * 0.5, index, axis=0), x, index)
    with flags.overriding(denormals="flush"):
        for count in (3, 200_000):
            with pytest.raises(IndexOutOfRange):
                gather(np.full(4, LEAST), np.full(count, 9))
            assert keeps_denormals()


def test_signal_handlers_keep_denormals_and_an_interrupt_restores_the_mode():
    """O88."""
    text = textwrap.dedent("""
    import signal
    import numpy as np
    import nervure as nv
    least = np.full(4, 2.0**-126, np.float32)
    keeps = lambda: bool((least * np.float32(0.5))[0] != 0)
    x, y = nv.placeholder("I=m"), nv.placeholder("J=n")
    with nv.transformers.make_transformer("cpu") as cpu:
        step = cpu.computation([nv.sum(nv.tan(nv.sin(x * y)), out_axes=()), x * 0.5], x, y)
        step(least, least)
        long, seen = np.linspace(0, 1, 100_000, dtype=np.float32), []
        def handle(*_):
            seen.append(keeps())
            if len(seen) == 2:
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, handle)
        nv.flags.denormals = "flush"
        for threads in (1, 2):
            nv.flags.threads = threads
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            try:
                step(long, long)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
            else:
                raise AssertionError("the call ran to its end")
            assert keeps() and seen == [True, True], seen
            assert step(least, least)[1].tolist() == [0.0] * 4
            seen.clear()
    """)
    run_text(text)


def test_weights_are_packed_for_each_mode(cpu):
    """O87: what was made of weights in one mode is not read in the other."""
    w = nv.variable("C=600, K=70", np.full((600, 70), LEAST))
    x = nv.placeholder({"R": nv.dim("r", min=1), "K": 70})
    product = cpu.computation(nv.dot(x, w * 0.5), x)
    ones = np.ones((8, 70), np.float32)
    kept = product(ones)
    for _ in range(2):
        with flags.overriding(denormals="flush"):
            assert not product(ones).any()
        np.testing.assert_array_equal(product(ones), kept)
    assert (kept > 0).all()


def test_the_environment_sets_the_mode():
    text = "import nervure as nv, numpy as np; x = nv.placeholder((1,));" \
           "print(nv.transformers.make_transformer('cpu').computation(x * 0.5, x)(np.float32([2.0**-126])).tolist())"
    for mode, expected in (("keep", 2.0**-127), ("flush", 0.0)):
        assert run_text(text, NERVURE_DENORMALS=mode) == f"[{expected}]\n"
