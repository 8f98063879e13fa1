"""Branches and loops on devices: what is inside runs where they do, and an op that is to run elsewhere is an error."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import NotSupported
from tests.transformers.devices.own import Lists


def loop(f, x):
    return nv.scan(lambda h, v: (f(h) + v, None), 0.0, x, axis="N")[0]


def test_a_loop_under_a_list_runs_there():
    """Q5: its body with it."""
    x = nv.placeholder("N=3")
    with nv.devices(nv.NumPyTensor):
        y = loop(nv.sin, x)
    run = nv.computation(y + y, x)
    assert [part.device for part in run.executable.parts] == ["interpreter", "cpu"]
    expected = nv.computation(loop(nv.sin, x) * 2, x)(np.ones(3, np.float32))
    np.testing.assert_allclose(run(np.ones(3, np.float32)), expected, rtol=1e-6)


def test_an_op_of_the_body_for_another_device():
    """Q5: the error names the op and both devices; a list that begins with what runs the loop changes nothing."""
    x = nv.placeholder("N=3")

    def elsewhere(*devices):
        def f(h):
            with nv.devices(*devices):
                return nv.sin(h)
        return f
    with pytest.raises(NotSupported) as caught:
        nv.computation(loop(elsewhere(nv.NumPyTensor, nv.CPUTensor), x), x)(np.ones(3, np.float32))
    error = caught.value
    assert (error.op, error.got) == ("Sin", "NumPyTensor") and "CPUTensor" in error.expected
    assert "outside of the body" in error.help and error.location.file == __file__
    with pytest.raises(NotSupported, match="runs on another device"):
        choice = nv.cond(nv.sum(x, out_axes=()) > 0, lambda: elsewhere(Lists)(x), lambda: x)
        nv.computation(choice, x)(np.ones(3, np.float32))
    np.testing.assert_array_equal(nv.computation(loop(elsewhere(nv.CPUTensor), x), x)(np.ones(3, np.float32)),
                                  nv.computation(loop(nv.sin, x), x)(np.ones(3, np.float32)))


def test_an_op_of_the_body_that_is_implemented_in_python():
    """Q5: for the device that runs the loop; the error says what a loop can run."""
    @nv.defnode("total[~] x[~] -> total[~]")
    class AddInALoop:
        """total + x."""

    @nv.implement(AddInALoop, device=nv.CPUTensor)
    def add(op, total, x, out):
        out.storage[:] = total.storage + x.storage
    with pytest.raises(NotSupported, match="called in Python") as caught:
        nv.evaluate(nv.fori_loop(0, 2, lambda i, carry: AddInALoop(carry, carry), nv.ones((2,))))
    assert "CPUTensor" in caught.value.got and "decompose" in caught.value.help
