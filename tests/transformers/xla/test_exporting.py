"""Files of StableHLO: what a reader without nervure computes, open lengths, variables, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import nervure as nv
from tests.processes import run_text
from tests.shares import DEEP

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
    for length in (1, 2, 3, 7) if DEEP else (1, 2, 7):
        for found, expected in zip(program.call(given[:length]), computation(given[:length]), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, strict=True)


def test_a_symbol_may_have_a_number(model, tmp_path):
    """X13"""
    nv.export_stablehlo(model, tmp_path / "model", sizes={"n": np.int64(2)})
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


@pytest.mark.parametrize("kind", [nv.int64, nv.uint64, nv.int8, nv.uint8])
@pytest.mark.parametrize("length", [4, nv.dim("n", min=1)], ids=str)
def test_an_unchecked_index_is_the_nearest_one_in_range(length, kind, tmp_path):
    """X13: where it reads and where it writes; what a variable becomes is kept."""
    x, w, at = nv.placeholder((length,)), nv.variable((4,), 1.0).named("w"), nv.placeholder((3,), dtype=kind)
    step = nv.computation([nv.gather(x, at, 0), nv.deriv(nv.sum(nv.gather(x, at, 0) ** 2), x), x.at[at].set(7.0),
                           nv.assign(w, w + nv.deriv(nv.sum(nv.gather(w, at, 0)), w))], x, at)
    nv.export_stablehlo(step, tmp_path / "step", variables="arguments", unchecked=True)
    program, given = read(tmp_path / "step"), np.float32([1, 2, 3, 4])
    places = [(1, 4, 100)] + ([(0, -1, -100)] if kind.is_signed else [])
    places += [(0, 1, 2**63 + 5)] if kind is nv.uint64 else []
    for named in places:
        near = [min(max(place, -4), 3) % 4 for place in named]
        (rows, gradient, changed), state = program.call({"w": np.ones(4, np.float32)}, given, np.array(named, kind))
        counts = np.bincount(near, minlength=4)
        assert rows.tolist() == given[near].tolist() and gradient.tolist() == (2 * given * counts).tolist()
        assert changed.tolist() == np.where(counts > 0, np.float32(7), given).tolist()
        assert state["w"].tolist() == (1 + counts).tolist()


def test_unchecked_loops_and_branches_go_on(tmp_path):
    """X13: a failed guard or an index out of range ends no loop, and branches without a result give some."""
    x = nv.placeholder((3,))
    first = nv.constant(0, dtype=nv.int64), nv.constant(0.0)
    found = nv.while_loop(lambda s: s[0] < 6, lambda s: (s[0] + 1, s[1] + nv.gather(x, s[0], 0)), first)
    summed = nv.scan(lambda c, at: (c + nv.gather(x, at, 0), c), nv.constant(0.0), nv.arange(6, dtype=nv.int64))[0]
    chosen = nv.cond(x[0] > 0, lambda: nv.gather(x, nv.sum(x).astype(nv.int32), 0), lambda: x[1])
    nv.export_stablehlo(nv.computation([*found, summed, chosen], x), tmp_path / "file", unchecked=True)
    results = read(tmp_path / "file").call(np.float32([1, 2, 3]))
    assert [float(result) for result in results] == [6, 15, 15, 3]


def test_any_name_of_a_symbol_serves(tmp_path):
    """X13: also words of JAX, which the file calls otherwise."""
    names = ("max", "min", "mod", "floordiv", "_", "max_length", "n")
    places = [nv.placeholder((nv.dim(name),)) for name in names]
    nv.export_stablehlo(nv.computation([place[::-1] for place in places], *places), tmp_path / "file")
    program = read(tmp_path / "file")
    given = [np.arange(length, dtype=np.float32) for length in range(2, 9)]
    for found, array in zip(program.call(*given), given, strict=True):
        np.testing.assert_array_equal(found, array[::-1])
    assert [str(entry.shape[0]) for entry in program.in_avals][-2:] == ["max_length", "n"]


@pytest.mark.parametrize("length", [3, nv.dim("n")], ids=str)
@pytest.mark.parametrize("kind", [nv.int2, nv.uint2], ids=str)
def test_types_that_a_file_cannot_hold_are_named(kind, length, tmp_path):
    """X13: as arguments and results; inside they serve."""
    x, y = nv.placeholder((length,), dtype=kind), nv.placeholder((length,), dtype=nv.int32)
    for computation in (nv.computation(nv.convert(x, nv.int32), x), nv.computation(nv.convert(y, kind), y)):
        with pytest.raises(nv.NotSupported, match="cannot store arguments and results of this") as caught:
            nv.export_stablehlo(computation, tmp_path / "file")
        assert caught.value.got == kind.name and not (tmp_path / "file").exists()
    inside = nv.computation(nv.convert(nv.convert(y, kind), nv.int32) + nv.constant(1, dtype=kind).astype(nv.int32), y)
    nv.export_stablehlo(inside, tmp_path / "file")
    assert read(tmp_path / "file").call(np.int32([0, 1, 9]))[0].tolist() == [1, 2, kind.maximum + 1]


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
    for number in (-1, 2.0, True, 2**63):
        assert refused(nv.InvalidArgument, "a length is a number", model, path, sizes={"n": number}).operand == "n"
    for number in (2**62, 2**60):
        assert refused(nv.InvalidArgument, "no memory has arrays of these lengths", model, path,
                       sizes={"n": number}).got == f"n = {number}"
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
