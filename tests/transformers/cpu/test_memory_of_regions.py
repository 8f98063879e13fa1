"""Memory of branches and loops: what is inside of them counts, in reports and under a limit."""

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
             "temporaries": found.report.together_bytes, "branches and loops": inside}
    assert f"memory of a call: {memory + 800:,} bytes: {shown(parts)}" in str(found).splitlines()
    assert (f"  {inside:,} bytes inside of branches and loops" in found.details()) == (inside > 0)
    assert ("MB for what is inside" in found.details()) == (inside > 0)
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
