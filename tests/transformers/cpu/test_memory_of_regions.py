"""Memory of branches, loops and sorts: what they take counts, in reports and under a limit."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument

N = nv.dim("n", min=1)


def mixed(x, times):
    """A row of sums of x, whose body needs two matrices as large as x is long, squared."""
    def step(h, _):
        wide = nv.tanh(h[:, None] * h)
        return nv.sum(nv.matmul(wide, nv.sin(wide)), out_axes=None) * 0 + h * 0.5, None
    return nv.scan(step, x, length=times)[0]


def loop(length, times=3, **keywords):
    x = nv.placeholder((length,))
    return nv.computation(mixed(x, times), x, **keywords)


@pytest.mark.parametrize("size", [64, 200, 300])
def test_what_a_body_needs_counts(size):
    """V13: the values of one iteration, however many there are; in symbols at least as much."""
    once, often, symbolic = loop(size).executable, loop(size, 50).executable, loop(N).executable
    needed = once.memory({}).bytes
    assert needed > 4 * size * size
    assert needed == often.memory({}).bytes == symbolic.memory({"n": size}).bytes
    most = symbolic.memory()
    assert not most.is_exact and needed <= nv.types.dim.evaluate(most.bytes, {"n": size}) < 10 * needed


def test_the_largest_loop_counts():
    """V13: loops run one after the other, and a loop in a loop while the outer one has its memory."""
    x, y = nv.placeholder((64,)), nv.placeholder((200,))
    both = nv.computation([mixed(x, 3), mixed(y, 3)], x, y).executable.memory({}).bytes
    alone = loop(200).executable.memory({}).bytes
    assert alone < both < alone + 4096
    outer = nv.computation(nv.scan(lambda h, _: (mixed(h, 3), None), y, length=4)[0], y).executable.memory({}).bytes
    assert alone < outer < alone + 8192


def test_branches_count():
    """V13: the larger branch."""
    x = nv.placeholder((200,))
    found = nv.computation(nv.cond(nv.sum(x) > 0, lambda: mixed(x, 3), lambda: x), x).executable.memory({}).bytes
    assert found > 4 * 200 * 200


@pytest.mark.parametrize("named", [{}, {"memory_limit": "1 GB"}])
@pytest.mark.parametrize("length", [200, N])
@pytest.mark.parametrize("make", [
    lambda x: mixed(x, 3), lambda x: nv.cond(nv.sum(x) > 0, lambda: nv.sum(mixed(x, 3)), lambda: nv.sum(x)),
    lambda x: nv.sort(nv.tanh(x) * 2)])
def test_explain_says_how_much(make, length, named):
    """V13: the bytes of a call are those of its memory, beside the arguments."""
    x = nv.placeholder((length,))
    computation = nv.computation(make(x), x, **named)
    found = nv.explain(computation, np.ones(200, np.float32), repeat=0)
    inside, memory = found.to_dict()["inside_bytes"], computation.executable.memory({"n": 200}).bytes
    parts = {"arguments": 800, "results": memory - found.report.together_bytes - inside,
             "temporaries": found.report.together_bytes, "branches, loops and sorts": inside}
    assert f"memory of a call: {memory + 800:,} bytes: {shown(parts)}" in str(found).splitlines()
    assert (f"  {inside:,} bytes inside of branches, loops and sorts" in found.details()) == (inside > 0)
    ends = [" MB for what is inside" in found.details(), " MB while it runs" in found.details()]
    assert any(ends) == (inside > 0) and not all(ends)
    assert (nv.explain(computation).report.inside_bytes == inside) == (length == 200 or inside == 0)


def shown(parts):
    """Amounts as the first screen has them."""
    return ", ".join([f"{size:,} of {name}" for name, size in parts.items() if size])


def test_a_limit_counts_it():
    """V6, V13: a call whose loop needs more is refused."""
    needed = loop(200).executable.memory({}).bytes
    exact = loop(200, memory_limit=needed)
    assert exact.executable.memory({}).bytes == needed
    np.testing.assert_array_equal(exact(np.ones(200, np.float32)), loop(200)(np.ones(200, np.float32)))
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit"):
        loop(200, memory_limit=needed - 1)


LONG = 40_000  # elements of a row that threads share
SORTS = [(nv.sort, 8), (nv.argsort, 16), (lambda x: nv.argsort(x.astype(nv.float64)), 32),
         (lambda x: nv.argsort(x.astype(nv.float16)), 16), (lambda x: nv.sort(x.astype(nv.float16)), 16),
         (lambda x: nv.top_k(x, 2000), 16 * (2 * 2000 + 256) / LONG)]
"""Sorts of float32, with the bytes for an element that they take while they run."""


@pytest.mark.parametrize(("sort", "each"), SORTS)
@pytest.mark.parametrize(("rows", "threads"), [(1, 1), (1, 3), (2, 3), (5, 3)])
def test_sorts_count_the_rows_that_threads_work_on(sort, each, rows, threads):
    """V13: a row of each thread, or one that they share."""
    n = nv.dim("n", min=1)
    for length in (LONG, n):
        x = nv.placeholder((rows, length))
        with nv.flags.overriding(threads=threads):
            computation = nv.computation(sort(x), x)
            inside = nv.explain(computation, np.ones((rows, LONG), np.float32), repeat=0).report.inside_bytes
            assert inside == min(rows, threads) * LONG * each
            most = nv.types.dim.evaluate(computation.executable.memory().bytes, {"n": LONG})
            assert computation.executable.memory({"n": LONG}).bytes <= most


def test_what_a_sort_takes_is_what_it_says():
    """V13: a whole call stays within what its memory says."""
    def status(name):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    length, x = 4_000_000, nv.placeholder((N,))
    values = np.random.default_rng(0).random(length, np.float32)
    computation = nv.computation(nv.argsort(x), x)
    computation(values[:300])
    try:
        with open("/proc/self/clear_refs", "w") as peak:
            peak.write("5")
    except OSError:
        pytest.skip("the peak of a process cannot be set back here")
    before = status("VmRSS")
    computation(values)
    assert status("VmHWM") - before <= computation.executable.memory({"n": length}).bytes + 8_000_000


@pytest.mark.parametrize("length", [LONG, N])
def test_limits_count_what_sorts_take(length):
    """V6, V12, V13: of a computation, and of the switch for all calls."""
    def sorting(**keywords):
        x = nv.placeholder((length,))
        return nv.computation(nv.argsort(x), x, **keywords)
    given = np.ones(LONG, np.float32)
    needed = sorting().executable.memory({"n": LONG}).bytes
    assert needed == LONG * 28 and sorting(memory_limit=needed)(given).tolist() == list(range(LONG))
    with pytest.raises(InvalidArgument, match="it needs more memory than its limit"):
        sorting(memory_limit=needed - 1)(given)
    with nv.flags.overriding(memory_limit=needed):
        sorting()(given)
    with nv.flags.overriding(memory_limit=needed - 1):
        with pytest.raises(InvalidArgument, match="needs more memory than there is") as caught:
            sorting()(given)
        assert caught.value.got == f"{needed:,} bytes"


def test_the_switch_counts_what_is_inside_of_loops():
    """V12, V13"""
    needed = loop(N).executable.memory({"n": 200}).bytes
    with nv.flags.overriding(memory_limit=needed):
        loop(N)(np.ones(200, np.float32))
    with nv.flags.overriding(memory_limit=needed // 2), pytest.raises(InvalidArgument, match="than there is"):
        loop(N)(np.ones(200, np.float32))
