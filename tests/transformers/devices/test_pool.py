"""When storage is let go of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nervure as nv
from tests.transformers.devices.own import Lists, forgetting, implement_sums


class Freed(Lists):
    """Notes the storage that is let go of."""

    made: list[object] = []
    freed: list[object] = []

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        storage = super().allocate(shape, dtype, initial_element, vec)
        self.made.append(storage)
        return storage

    def finalizer(self):
        self.freed.append(self.storage)


@pytest.fixture(autouse=True)
def sums():
    with forgetting(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        implement_sums(Lists)
        Freed.made.clear()
        Freed.freed.clear()
        yield


def step():
    x = nv.placeholder("N=n")
    with nv.devices(Freed, nv.CPUTensor):
        return nv.computation(nv.exp(x + x) * x, x)


def of_calls(storages) -> list[int]:
    """Storage of calls, which has more elements than what is made to ask whether a device offers a buffer."""
    return sorted(id(storage) for storage in storages if len(storage) > 1)


def test_a_call_lets_go_of_what_it_made():
    """T84: each storage once."""
    np.testing.assert_allclose(step()(np.ones(3, np.float32)), np.exp(2) * np.ones(3), rtol=1e-6)
    assert len(of_calls(Freed.freed)) >= 4 and of_calls(Freed.freed) == of_calls(Freed.made)


def test_a_call_that_fails_lets_go_too():
    """T84"""
    @nv.implement(nv.ops.Multiply, device=Freed)
    def multiply(op, x, y, out):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        step()(np.ones(3, np.float32))
    assert of_calls(Freed.freed) and of_calls(Freed.freed) == of_calls(Freed.made)


def test_a_pool_keeps_storage_until_it_ends():
    """T84: the second call of a size makes nothing; a longer one takes the place of the first; at the end all goes,
    once.
    """
    run = step()
    with nv.memory_pool() as pool:
        first = run(np.full(3, 2.0, np.float32))
        made = len(of_calls(Freed.made))
        second = run(np.full(3, 3.0, np.float32))
        assert len(of_calls(Freed.made)) == made and of_calls(Freed.freed) == [] and pool.bytes > made * 12
        run(np.ones(5, np.float32))
        assert len(of_calls(Freed.made)) == 2 * made and len(of_calls(Freed.freed)) == made
        run(np.ones(3, np.float32))
        run(np.ones(5, np.float32))
        assert len(of_calls(Freed.made)) == 3 * made and len(of_calls(Freed.freed)) == made
    np.testing.assert_allclose(first, np.exp(4) * np.full(3, 2.0), rtol=1e-6)
    np.testing.assert_allclose(second, np.exp(6) * np.full(3, 3.0), rtol=1e-6)
    assert of_calls(Freed.freed) == of_calls(Freed.made) and pool.bytes == 0


def test_pools_nest_and_end_with_exceptions():
    """T84"""
    run = step()
    with pytest.raises(KeyError), nv.memory_pool():
        run(np.ones(3, np.float32))
        with nv.memory_pool():
            run(np.ones(3, np.float32))
            inner = len(of_calls(Freed.made)) // 2
        assert len(of_calls(Freed.freed)) == inner
        raise KeyError
    assert len(of_calls(Freed.freed)) == 2 * inner
    run(np.ones(3, np.float32))
    assert len(of_calls(Freed.freed)) == 3 * inner
