"""Ctrl-C in loops and branches (A375): wherever it comes, the call ends soon and has changed nothing."""

from __future__ import annotations

from tests.transformers.cpu.test_interrupts import check

PROGRAMS = """
import os, signal
w, steps, parts = nv.variable((), 1.0), nv.variable((), 0.0), nv.variable((1000,), 1.0)

def forever(body, start=0.5):
    return nv.while_loop(lambda v: nv.sum(v) > -1, body, start)

def half(v):
    return nv.sin(v) * nv.cos(v)

def square(v):
    return half(v) * half(v)

def inner(count):
    return lambda v: square(nv.fori_loop(0, count, lambda i, c: half(c), v))

def three_deep(v):
    def counted(j, c):
        return nv.while_loop(lambda q: q[1] < 2, lambda q: (half(q[0]), q[1] + 1), (c, 0.0))[0]
    return nv.fori_loop(0, 3, counted, v)

def chosen(v):
    return nv.cond(v > 0.3, lambda: square(v), lambda: v + 0.5)

def assigned(v):
    return nv.sequential([nv.assign(parts, parts * 0.5), nv.assign(steps, steps + 1), square(v)])

def busy(value):
    end = time.monotonic() + 20
    while time.monotonic() < end: pass
    return value

def asleep(value):
    time.sleep(20)
    return value

def called(function):
    return lambda v: nv.host_call(function, [v], v)

def long_derivative():
    z = nv.variable((1 << 14,), 0.5)
    last = nv.scan(lambda c, _: (half(c), None), z * 1, None, 20_000)[0]
    return nv.sum(nv.deriv(nv.sum(last), z))

VALUES = {
    "tiny": lambda: forever(square), "vectors": lambda: nv.sum(forever(square, nv.zeros((1000,)))),
    "large": lambda: nv.sum(forever(square, nv.zeros((1 << 21,)))), "nothing": lambda: forever(lambda v: v),
    "scan": lambda: nv.fori_loop(0, 10**12, lambda i, c: half(c), 0.5),
    "no elements": lambda: nv.sum(nv.fori_loop(0, 10**12, lambda i, c: c * 2, nv.zeros((0,)))),
    "a long loop in a loop": lambda: forever(inner(10**6)), "a short loop in a loop": lambda: forever(inner(2)),
    "three deep": lambda: forever(three_deep), "a branch": lambda: forever(chosen),
    "assignments": lambda: forever(assigned), "random numbers": lambda: forever(lambda v: nv.uniform(())),
    "a check": lambda: forever(lambda v: square(v) + nv.zeros((3,))[nv.convert(v * 0, "int32")]),
    "calls": lambda: forever(called(lambda value: value)), "a busy call": lambda: forever(called(busy)),
    "a call that sleeps": lambda: forever(called(asleep)),
    "products": lambda: nv.sum(forever(lambda v: nv.tanh(nv.matmul(v, v)), nv.ones((256, 256)))),
    "a derivative": long_derivative}
"""


def test_an_interrupt_ends_any_loop_and_changes_nothing():
    """On one thread and on two."""
    check("""
    for name, value in VALUES.items():
        step = cpu.computation([value(), nv.assign(w, w + 1)])
        for threads in (1, 2):
            flags.threads = threads
            lateness = late(step, 0.06)
            assert lateness < 5, (name, threads, lateness)
            assert cpu.get(w) == 1 and cpu.get(steps) == 0 and (cpu.get(parts) == 1).all(), (name, threads)
    """, PROGRAMS)


def test_an_interrupt_while_loops_assign_is_all_or_nothing():
    """A367: at fifty moments of a call, before, in and after its loops, also while new values are written."""
    check("""
    state, other, count = nv.variable("I=300000", 0.0), nv.variable("I=300000", 0.0), nv.variable((), 0.0)
    def grown(v, _):
        return nv.sequential([nv.assign(state, state + 1), nv.assign(count, count + 1), v + 1]), None
    last, _ = nv.scan(grown, state, None, 20)
    moved = nv.cond(count > -1, lambda: nv.sequential([nv.assign(other, other + 20), last]), lambda: last)
    step = cpu.computation([nv.sum(moved, out_axes=()), nv.assign(other, other + 1)])
    step()
    start = time.monotonic()
    step()
    duration, interrupted = time.monotonic() - start, 0
    for turn in range(50):
        before = float(cpu.get(count))
        interrupt_after(duration * (turn + 1) / 45)
        try:
            try:
                step()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        after = float(cpu.get(count))
        assert after - before in (0, 20)
        assert np.unique(cpu.get(state)).tolist() == [after]
        assert np.unique(cpu.get(other)).tolist() == [after / 20 * 21]
    assert interrupted
    """, PROGRAMS)


def test_a_function_that_fails_in_the_middle_of_a_loop_changes_nothing():
    """A367: in a loop in a loop, with an assignment in each; the next call works."""
    check("""
    limit, error = [7], [ValueError]
    def checked(value):
        if value >= limit[0]:
            raise error[0]("too large")
        return value
    def step(i, v):
        def counted(j, c):
            return nv.sequential([nv.assign(steps, steps + 1), nv.host_call(checked, [c + 1], c)])
        return nv.sequential([nv.assign(w, w * 2), nv.fori_loop(0, 3, counted, v)])
    run = cpu.computation([nv.fori_loop(0, 4, step, 0.0), nv.assign(parts, parts + 1)])
    def values():
        return float(cpu.get(w)), float(cpu.get(steps)), np.unique(cpu.get(parts)).tolist()
    for number, error[0] in enumerate((ValueError, KeyboardInterrupt, SystemExit)):
        before, limit[0] = values(), 7
        for _ in range(2):
            try:
                run()
            except BaseException as caught:
                assert isinstance(caught if isinstance(caught, error[0]) else caught.__cause__, error[0]), repr(caught)
            else:
                raise AssertionError("the call ran to its end")
            assert values() == before == (16.0 ** number, 12.0 * number, [1.0 + number])
        limit[0] = 100
        assert run()[0] == 12 and values() == (16.0 ** (number + 1), 12.0 * (number + 1), [2.0 + number])
    """, PROGRAMS)


def test_a_loop_that_is_interrupted_leaves_no_memory_behind():
    """Its arena, spare carries and stacked results go back: many interrupted calls take no more than a few."""
    check("""
    import resource
    rows = nv.scan(lambda c, _: (square(c), c), nv.zeros((1 << 14,)), None, 2000)[1]
    step = cpu.computation([nv.sum(forever(lambda v: square(v) + nv.sum(rows) * 0)), nv.assign(w, w + 1)])
    peaks = []
    for turn in range(12):
        late(step, 0.1)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[-1] < peaks[3] + 64 * 1024, peaks
    """, PROGRAMS)
