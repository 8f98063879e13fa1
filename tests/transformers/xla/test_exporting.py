"""Files of StableHLO: what a reader without nervure computes, open lengths, variables, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import nervure as nv
from tests.processes import run_text

export = pytest.importorskip("jax.export", reason="jax is not installed")


def read(path):
    return export.deserialize(bytearray(path.read_bytes()))


@pytest.fixture
def model():
    x = nv.placeholder("N=n, F=6").named("x")
    layers = nv.nn.Sequential(nv.nn.LinearLayer("F=6", "H=8"), nv.relu, nv.nn.LayerNorm("H=8"),
                              nv.nn.LinearLayer("H=8", "Y=3"))
    y = layers(x)
    return nv.computation([nv.softmax(y, "Y"), nv.mean(y * y, out_axes=()), nv.argmax(y, "Y")], x)


def test_a_process_without_nervure_runs_it(model, tmp_path):
    """X13: with the number of examples open."""
    nv.export_stablehlo(model, tmp_path / "model")
    given = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    expected = model(given)
    np.savez(tmp_path / "numbers.npz", given, *expected)
    run_text(f"""
        import sys
        sys.modules["nervure"] = None
        import numpy as np, jax, jax.export
        numbers = np.load({str(tmp_path / "numbers.npz")!r})
        given, *expected = [numbers[name] for name in numbers.files]
        with open({str(tmp_path / "model")!r}, "rb") as file:
            program = jax.export.deserialize(bytearray(file.read()))
        found = program.call(given)
        assert len(found) == 3 and found[2].dtype == np.int64
        for mine, theirs in zip(found, expected):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)
        assert program.call(given[:2])[0].shape == (2, 3)
        """)


OPEN = {
    "slices": lambda z: [
        z[::-1], z[1:], z[:-1], z[2:], z[:3], z[::2], z[1::2], z[::-2], z[::-1][1:], z[:z.shape[0] // 2],
        z[1:] - z[:-1], nv.concatenate([z[-1:], z[:-1]], axis=0), z[:, None] - z[::-1],
        nv.pad(z, ((1, 2), (0, 0)), mode="wrap")],
    "gradients": lambda z: [nv.deriv(nv.sum(y), z) for y in (
        z[1:] * z[:-1], z[::2] ** 2, z[::-1] * z * z, z[2:] ** 3, nv.map(nv.sin, z),
        nv.convolve(z[:, 0], np.float32([1, 2, 3])) ** 2)],
    "loops": lambda z: [
        nv.map(lambda row: row * 2, z), nv.scan(lambda c, row: (c + row, c), nv.zeros((3,)), z)[1],
        nv.scan(lambda c, row: (nv.tanh(c + row), c), nv.zeros((3,)), z, reverse=True)[1],
        nv.scan(lambda c, _: (c * 0.5 + 1, c), 1.0, None, length=z.shape[0])[1], nv.associative_scan(nv.add, z),
        nv.fori_loop(0, z.shape[0], lambda i, c: c + z[i], nv.zeros((3,))),
        nv.cond(nv.sum(z) > 0, lambda: z[::-1], lambda: z * 2)],
    "folds": lambda z: [
        nv.argmax(z, axis=0), nv.argmin(nv.reshape(z, (-1,))), nv.max(z[::-1], axis=0), nv.median(z, axis=0),
        nv.convolve(z[:, 0], np.float32([1, 2, 3]))],
}


@pytest.mark.parametrize("name", OPEN)
def test_lengths_stay_open(name, tmp_path):
    """X13: one file serves slices, reversals, loops and what folds, of any length of at least 1."""
    z = nv.placeholder((nv.dim("k", min=1), 3))
    computation = nv.computation(OPEN[name](z), z)
    nv.export_stablehlo(computation, tmp_path / "file", unchecked=True)
    program, given = read(tmp_path / "file"), np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    for length in (1, 2, 3, 7):
        for found, expected in zip(program.call(given[:length]), computation(given[:length]), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, strict=True)


def test_a_symbol_may_have_a_number(model, tmp_path):
    """X13"""
    nv.export_stablehlo(model, tmp_path / "model", sizes={"n": 2})
    program = read(tmp_path / "model")
    assert program.in_avals[0].shape == (2, 6) and program.call(np.ones((2, 6), np.float32))[0].shape == (2, 3)


def test_variables_are_their_values_or_arguments(tmp_path):
    """X13: the step of a training goes on outside, from the values that it is given."""
    x, w = nv.placeholder("N=4, F=2"), nv.variable("F=2", 1.0).named("w")
    loss = nv.mean(nv.dot(x, w) * nv.dot(x, w), out_axes=())
    step = nv.computation([loss, nv.assign(w, w - 0.1 * nv.deriv(loss, w))], x)
    nv.export_stablehlo(step, tmp_path / "step", variables="arguments")
    nv.export_stablehlo(nv.computation(loss, x), tmp_path / "loss")
    given, state = np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32), {"w": np.ones(2, np.float32)}
    program, kept = read(tmp_path / "step"), read(tmp_path / "loss")
    for _ in range(3):
        expected = step(given)[0]
        (found,), state = program.call(state, given)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(state["w"], w.numpy(), rtol=1e-5)
    assert kept.call(given)[0] > found


def test_variables_of_one_name_are_told_apart(tmp_path):
    """X13"""
    a, b, c = nv.variable((), 1.0).named("w"), nv.variable((), 2.0).named("w"), nv.variable((), 3.0)
    nv.export_stablehlo(nv.computation(a + 10 * b + 100 * c), tmp_path / "sum", variables="arguments")
    (results, changed) = read(tmp_path / "sum").call({"w": np.float32(1), "w_1": np.float32(2),
                                                      "variable_2": np.float32(3)})
    assert results[0] == 321 and changed == {}
    names = [name for names in (("w_1", "w", "w"), ("variable_1", None, "w")) for name in names]
    places = [nv.variable((), float(number)).named(name) if name else nv.variable((), float(number))
              for number, name in enumerate(names)]
    total = places[0]
    for number, place in enumerate(places[1:], 1):
        total = total + 10 ** number * place
    nv.export_stablehlo(nv.computation(total), tmp_path / "six", variables="arguments")
    state = {"w_1": 0.0, "w": 1.0, "w_2": 2.0, "variable_1": 3.0, "variable_4": 4.0, "w_3": 5.0}
    (results, _) = read(tmp_path / "six").call({name: np.float32(number) for name, number in state.items()})
    assert results[0] == 543210


def test_checks_are_left_out_where_that_is_said(tmp_path):
    """X13"""
    x, n = nv.placeholder((3,)), nv.placeholder((), dtype=nv.int32)
    chosen = nv.computation(nv.gather(x, n, 0), x, n)
    with pytest.raises(nv.InvalidArgument, match="a stored program cannot raise an error") as caught:
        nv.export_stablehlo(chosen, tmp_path / "chosen")
    assert caught.value.expected == "unchecked=True" and not (tmp_path / "chosen").exists()
    nv.export_stablehlo(chosen, tmp_path / "chosen", unchecked=True)
    program = read(tmp_path / "chosen")
    assert [program.call(np.float32([1, 2, 3]), np.int32(at))[0] for at in (0, 2, -1, 5)] == [1, 3, 3, 3]


def test_what_cannot_be_exported_is_refused(model, tmp_path):
    """X13"""
    path, x, w = tmp_path / "file", nv.placeholder("N=n"), nv.variable((), 1.0).named("rate")

    def refused(kind, message, *given, **named):
        with pytest.raises(kind, match=message) as caught:
            nv.export_stablehlo(*given, **named)
        assert caught.value.op == "export_stablehlo" and not path.exists()
        return caught.value
    assert refused(nv.WrongKind, "a computation can be exported", lambda: 1, path).got == "function"
    assert "rate" in refused(nv.InvalidArgument, "a computation that changes variables has no constants for them",
                             nv.computation(nv.assign(w, w + 1)), path).got
    assert refused(nv.InvalidArgument, "unknown variables", model, path,
                   variables="constant").help == "did you mean constants?"
    assert refused(nv.InvalidArgument, "there is no symbol m", model, path, sizes={"m": 3}).expected == "n"
    assert refused(nv.InvalidArgument, "a length is a number", model, path, sizes={"n": -1}).operand == "n"
    assert refused(nv.WrongKind, "sizes are numbers of symbols", model, path, sizes=3).got == "int 3"
    pooled = nv.computation(nv.pooling(nv.reshape(x, (1, 1, -1)), "max", 2), x)
    error = refused(nv.NotSupported, "a file of this computation needs the numbers of some symbols", pooled, path)
    assert (error.got, error.expected, error.help) == ("max(n, 2) = n", "a number of n", "as in sizes={'n': 8}")


def test_without_jax_one_line_says_what_to_install(model, monkeypatch, tmp_path):
    """X6, X13"""
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(nv.NotSupported, match="needs jax") as caught:
        nv.export_stablehlo(model, tmp_path / "model")
    assert caught.value.help == 'pip install "nervure[xla]"'
