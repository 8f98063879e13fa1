"""A request for more memory than there is, or than a machine can address, is refused before anything is allocated."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import nervure as nv
from nervure import flags, ops

LONG = 1 << 44  # elements: 64 TiB of float32


def long(length: int = LONG) -> np.ndarray:
    """An argument of that length which takes no memory."""
    return np.broadcast_to(np.float32(1), (length,))


def computed(build, *arguments):
    parameters = [nv.placeholder(np.shape(argument)) for argument in arguments]
    return nv.computation(build(*parameters), *parameters)(*arguments)


TOO_MUCH = {
    "zeros": lambda: nv.zeros((LONG,)).numpy(),
    "arange": lambda: nv.arange(LONG).numpy(),
    "arange of floats": lambda: nv.arange(0.0, 1.0, 1e-14).numpy(),
    "iota": lambda: nv.iota(LONG).numpy(),
    "eye": lambda: nv.eye(1 << 22).numpy(),
    "random": lambda: nv.uniform((LONG,)).numpy(),
    "variable": lambda: nv.variable((LONG,)).numpy(),
    "initial value": lambda: nv.variable((LONG,), nv.glorot).numpy(),
    "persistent": lambda: nv.computation(nv.persistent_tensor((LONG,)) + 1)(),
    "assigned": lambda: nv.computation(nv.fill(nv.persistent_tensor((LONG,)), 1.0))(),
    "broadcast": lambda: nv.broadcast(nv.constant(1.0), (LONG,)).numpy(),
    "pad": lambda: nv.pad(nv.constant([1.0]), [(LONG, 0)]).numpy(),
    "one_hot": lambda: nv.one_hot(nv.constant(np.arange(3)), LONG).numpy(),
    "outer": lambda: computed(nv.outer, long(1 << 22), long(1 << 22)),
    "argument": lambda: computed(lambda x: x * 2, long()),
    "derivative": lambda: computed(lambda x: nv.deriv(nv.sum(nv.exp(x)), x), long()),
}


@pytest.fixture(scope="module")
def warm():
    """What the first computation of a process imports is no memory of the next one."""
    nv.computation(nv.zeros((3,)) + nv.uniform((3,)))()


@pytest.mark.parametrize("name", TOO_MUCH)
def test_more_than_this_machine_has(name, warm):
    tracemalloc.start()
    try:
        with pytest.raises(nv.InvalidArgument, match="more memory than there is") as caught:
            TOO_MUCH[name]()
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    error = caught.value
    assert error.op and error.got.partition(" ")[0].replace(",", "").isdigit()
    assert error.expected == f"at most {flags.physical_memory():,} bytes" and "memory_limit" in error.help
    assert error.location.file == __file__


@pytest.mark.parametrize("build", [
    lambda: nv.placeholder((1 << 62,)),
    lambda: nv.placeholder((1 << 40, 1 << 40)),
    lambda: nv.variable((1 << 62,)),
    lambda: nv.zeros((10**30,)),
    lambda: nv.iota(1 << 62),
    lambda: nv.uniform((1 << 61, 4)),
    lambda: nv.outer(nv.placeholder((1 << 32,)), nv.placeholder((1 << 32,))),
    lambda: nv.pad(nv.constant([1.0]), [(1 << 62, 1 << 62)]),
    lambda: nv.broadcast(nv.constant(1.0), (1 << 62,)),
    lambda: nv.stack([nv.placeholder((1 << 60,))] * 4),
    lambda: nv.concat_along_axis([nv.placeholder((1 << 60,))] * 4, 0),
    lambda: nv.one_hot(nv.placeholder((1 << 32,), nv.int64), 1 << 32),
    lambda: ops.Parameter(nv.float64, (1 << 60,)),
    lambda: nv.placeholder([nv.dim("n", min=1 << 62), 4]),
])
def test_more_than_can_be_addressed(build):
    with pytest.raises(nv.InvalidArgument, match="past what memory can address") as caught:
        build()
    error = caught.value
    assert error.op and error.got and error.expected.startswith("at most 2**63 - 1 bytes") and error.help
    assert error.location.file == __file__


def test_a_symbolic_length_is_checked_by_the_call():
    x = nv.placeholder([nv.dim("n")])
    run = nv.computation(nv.outer(x, x), x)
    assert run(np.ones(3)).shape == (3, 3)
    with pytest.raises(nv.InvalidArgument, match="more memory than there is"):
        run(long(1 << 25))
    with pytest.raises(nv.NervureError):
        run(long(1 << 33))


def test_nothing_has_changed_when_a_call_is_refused():
    count, x = nv.variable((), 0.0), nv.placeholder([nv.dim("n")])
    run = nv.computation([nv.assign(count, count + 1), nv.outer(x, x)], x)
    with flags.overriding(memory_limit=1000), pytest.raises(nv.InvalidArgument):
        run(np.ones(100))
    assert count.numpy() == 0
    run(np.ones(3))
    assert count.numpy() == 1
