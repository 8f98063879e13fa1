"""The limits that docs/limits.md names hold as they are written there, with errors that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.transformers.cpu import target


def test_derivatives_of_complex_numbers_are_jaxs():
    """Q1: that in the real part minus i times that in the imaginary one; optimisers refuse complex parameters."""
    z = nv.variable((2,), [3 + 4j, 1 - 2j], dtype=nv.complex128)
    np.testing.assert_allclose(nv.deriv(nv.sum(nv.real(z * nv.conj(z))), z).numpy(), 2 * z.numpy().conj())
    np.testing.assert_allclose(nv.deriv(nv.sum(nv.real(z * z)), z).numpy(), 2 * z.numpy())
    np.testing.assert_allclose(nv.deriv(nv.sum(nv.absolute(z)), z).numpy(), z.numpy().conj() / np.abs(z.numpy()))
    slope = nv.jvp(lambda w: nv.absolute(w), (z.numpy(),), (np.array([1j, 1.0]),))[1]
    np.testing.assert_allclose(slope, [4 / 5, 1 / np.sqrt(5)])
    back = nv.vjp(lambda w: w * w, z.numpy())[1](np.array([1.0, 1j]))[0]
    np.testing.assert_allclose(back, 2 * z.numpy() * [1, 1j])
    with pytest.raises(TypeError, match="only functions with real values"):
        nv.deriv(nv.sum(z * z), z)
    with pytest.raises(TypeError, match="only a real variable is updated"):
        nv.optim.SGD(0.1)(nv.sum(nv.absolute(z)), [z])


def test_a_scatter_that_multiplies_has_no_derivative():
    """Q2: and says what to do."""
    x = nv.variable((3,), 2.0)
    with pytest.raises(nv.NotSupported, match="a scatter that multiplies") as caught:
        nv.deriv(nv.sum(nv.scatter(x, np.array([0, 1]), x[:2], 0, mode="multiply")), x)
    assert "take logarithms" in caught.value.help


def test_a_host_call_gets_its_derivative_from_custom_vjp():
    """Q3: without one it is an error."""
    x = nv.variable((2,), 3.0)

    def cubed(y):
        return nv.host_call(lambda array: array ** 3, [y], like=y)

    with pytest.raises(nv.NotSupported, match="this op has no derivative"):
        nv.deriv(nv.sum(cubed(x)), x)
    with_derivative = nv.custom_vjp(cubed, lambda gradient, y: (gradient * 3.0 * y * y,))
    assert nv.deriv(nv.sum(with_derivative(x)), x).tolist() == [27.0, 27.0]


def test_an_assigned_value_is_a_constant_to_derivatives():
    """Q4: a read of a variable is a leaf."""
    v, w = nv.variable((), 1.0), nv.variable((), 2.0)
    y = nv.sequential([nv.assign(v, w * 3.0), v * w])
    assert nv.deriv(y, w).item() == 6.0


def test_branches_and_loops_unroll():
    """Q5: ``where`` chooses, Python's loops unroll, and asking for a number while tracing names what exists."""
    x = nv.variable((3,), [1.0, -2.0, 3.0])
    y = nv.where(x > 0, x, 0.0)
    for _ in range(3):
        y = y * 2.0
    assert y.tolist() == [8.0, 0.0, 24.0]
    with pytest.raises(TypeError, match="while"):
        nv.jit(lambda x: x if x > 0 else -x)(1.0)


def test_symbols_are_bound_by_shapes():
    """Q6: one length must determine a symbol."""
    n, m = nv.dim("n"), nv.dim("m")
    x, both, alone = nv.placeholder((2 * n,)), nv.placeholder((n + m,)), nv.placeholder((n,))
    assert nv.computation(nv.sum(x), x)(np.ones(4)).item() == 4.0
    with pytest.raises(ValueError, match="no value of n makes 2\\*n equal 3"):
        nv.computation(nv.sum(x), x)(np.ones(3))
    with pytest.raises(ValueError, match="the symbol m has no value"):
        nv.computation(nv.sum(both), both)(np.ones(3))
    determined = nv.placeholder((m + 3,))
    total = nv.computation(nv.sum(both) + nv.sum(determined) + nv.sum(alone), both, determined, alone)
    assert total(np.ones(3), np.ones(4), np.ones(2)).item() == 9.0


def test_memory_of_its_own_needs_numbers():
    """Q7: a variable has no symbolic length."""
    with pytest.raises(ValueError, match="inputs and temporaries have symbolic lengths"):
        nv.variable((nv.dim("n"),))


def test_where_lengths_are_not_found():
    """Q8: in results of bodies and of functions that are mapped."""
    for refused in (lambda: nv.vmap(lambda row: row[row > 0])(nv.ones((2, 3))),
                    lambda: nv.map(lambda row: row[row > 0], nv.ones((2, 3)))):
        with pytest.raises(nv.NotSupported):
            refused()


def test_what_cannot_be_saved(tmp_path):
    """Q9: Python functions, and keys that are tensors."""
    x = nv.constant([1.0])
    call = nv.host_call(lambda array: array, [x], like=x)
    for returns in (call, nv.custom_vjp(nv.sin, lambda gradient, x: gradient)(x), {x}):
        with pytest.raises(nv.NotSupported):
            nv.save(tmp_path / "model.safetensors", nv.computation(returns))


def test_loading_makes_variables_of_its_own(tmp_path):
    """Q10: what is loaded shares nothing with what was saved; ``set`` writes to variables that exist."""
    w = nv.variable((), 1.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        raise_it = transformer.computation([nv.assign(w, w + 1.0), w])
        nv.save(tmp_path / "model.safetensors", raise_it)
        loaded = nv.load(tmp_path / "model.safetensors", transformer)
        assert [loaded()[1].item(), loaded()[1].item(), transformer.get(w).item()] == [2.0, 3.0, 1.0]
        transformer.set(w, 5.0)
        assert raise_it()[1].item() == 6.0


def test_other_machines_are_refused_by_name(monkeypatch):
    """Q11: the cpu transformer says where it runs."""
    monkeypatch.setattr(target.platform, "machine", lambda: "riscv64")
    with pytest.raises(nv.NotSupported, match="Linux on x86-64"):
        target._host.__wrapped__()


def test_where_the_sources_were_left():
    """Q13, Q14, Q15: unequal axes of one class do not broadcast, a plain dot contracts, anonymous axes are NumPy's."""
    five, three = (nv.constant(np.ones(length), axes=[nv.axis("H", length)]) for length in (5, 3))
    with pytest.raises(nv.AxisMismatch, match="axis H has two lengths"):
        five + three
    x, w = nv.constant(np.ones((4, 3)), axes="N=4, F=3"), nv.constant(np.ones((3, 2)), axes="F=3, K=2")
    assert nv.dot(x, w).shape == (4, 2) and nv.dot(x.T, x).item() == 12.0
    assert nv.dot(w.T, w).shape == () and nv.dot(np.ones((3, 2)), nv.constant(np.ones((2, 3)))).shape == (3, 3)
