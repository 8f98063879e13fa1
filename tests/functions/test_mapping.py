"""vmap: examples in arrays and nested arguments, axes by position and name, random numbers, effects, compositions."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, NotSupported, ShapeMismatch, WrongKind

RNG = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def network(parameters, x):
    hidden = nv.tanh(nv.matmul(parameters["w"], x) + parameters["b"])
    return {"hidden": hidden, "total": nv.sum(hidden * hidden, out_axes=())}


PARAMETERS = {"w": floats(4, 3), "b": floats(4)}


def looped(function, count, *arguments):
    """What a loop of Python gives."""
    found = [function(*[argument(k) for argument in arguments]) for k in range(count)]
    return {name: np.stack([entry[name] for entry in found]) for name in found[0]}


def numpy_network(parameters, x):
    hidden = np.tanh(parameters["w"] @ x + parameters["b"])
    return {"hidden": hidden, "total": (hidden * hidden).sum()}


def same(got, expected):
    assert got.keys() == expected.keys()
    for name, entry in got.items():
        np.testing.assert_allclose(entry, expected[name], rtol=1e-12)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_a_function_of_many_examples_is_a_loop(transformer):
    """D22: examples share what has None; nested arguments, alone and in a compiled function."""
    x = floats(5, 3)
    expected = looped(numpy_network, 5, lambda k: PARAMETERS, lambda k: x[k])
    mapped = nv.vmap(network, in_axes=(None, 0))
    same(mapped(PARAMETERS, x), expected)
    same(nv.jit(mapped, transformer=nv.transformers.make_transformer(transformer))(PARAMETERS, x), expected)


def test_axes_of_arguments_and_results():
    """D22: positions from the start and the end, for each leaf or for all of a container."""
    x, weights = floats(3, 5), floats(4, 3, 5)
    expected = looped(numpy_network, 5, lambda k: {"w": weights[..., k], "b": PARAMETERS["b"]}, lambda k: x[:, k])
    mapped = nv.vmap(network, in_axes=({"w": -1, "b": None}, 1), out_axes={"hidden": 1, "total": 0})
    got = mapped({"w": weights, "b": PARAMETERS["b"]}, x)
    np.testing.assert_allclose(got["hidden"], expected["hidden"].T, rtol=1e-12)
    np.testing.assert_allclose(got["total"], expected["total"], rtol=1e-12)
    assert nv.vmap(lambda x: x, out_axes=-1)(floats(2, 3, 4)).shape == (3, 4, 2)
    assert nv.vmap(lambda x, scale: x * scale)(floats(3), scale=floats(3)).shape == (3,)


def test_what_all_examples_share():
    """D22: a result that depends on no example is repeated, or stays alone with out_axes=None."""
    both = nv.vmap(lambda x: (x, nv.constant([1.0, 2.0])), out_axes=(0, None))(floats(3))
    assert both[1].shape == (2,)
    assert nv.vmap(lambda x: nv.constant([1.0, 2.0]))(floats(3)).tolist() == [[1.0, 2.0]] * 3
    w = nv.variable((2,), 3.0)
    assert nv.vmap(lambda x: x * w)(np.float32([1, 10])).tolist() == [[3.0, 3.0], [30.0, 30.0]]
    assert nv.vmap(lambda x, scale: x * scale, in_axes=(0, None))(np.float16([1, 2]), 2.5).dtype == np.float16


def test_no_examples():
    assert nv.vmap(lambda x: nv.sum(x * x))(floats(0, 3)).shape == (0,)


def test_names():
    """D23: an axis is taken away by its name, and results get it back."""
    x = nv.placeholder("N=2, F=3")
    shared = nv.placeholder("F=3")

    def f(x, shared):
        assert x.axes.names == shared.axes.names == ("F",)
        return x - shared, nv.sum(x * shared, out_axes=())
    difference, total = nv.vmap(f, in_axes="N")(x, shared)
    assert difference.axes.names == ("N", "F") and total.axes.names == ("N",)
    assert nv.vmap(f, in_axes="N", out_axes=(1, 0))(x, shared)[0].axes.names == ("F", "N")
    assert nv.vmap(f, in_axes=(0, None))(x, shared)[1].axes.names == ("N",)
    plain = nv.vmap(lambda x: x * shared, axis="K")(nv.placeholder((4,)))
    assert plain.axes.names == ("K", "F") and plain.shape == (4, 3)
    assert nv.vmap(lambda x: x, axis=nv.axis("K"))(x).axes.names == ("K", "F")
    numbers, other = floats(2, 3), floats(3)
    built = nv.computation(total, x, shared)
    np.testing.assert_allclose(built(numbers, other), numbers @ other, rtol=1e-5)


def test_symbolic_lengths():
    """D22: the number of examples may be a symbol; two that may differ are checked by each call."""
    mapped = nv.jit(nv.vmap(lambda x, y: nv.sum(x * y)), dynamic={"x": [0], "y": [0]})
    n, m = nv.dim("n"), nv.dim("m")
    x, y = nv.placeholder((n, 3)), nv.placeholder((m, 3))
    run = nv.computation(nv.vmap(lambda x, y: nv.sum(x * y))(x, y), x, y)
    for count in (0, 1, 4):
        left, right = np.float32(floats(count, 3)), np.float32(floats(count, 3))
        np.testing.assert_allclose(run(left, right), (left * right).sum(1), rtol=1e-5)
        np.testing.assert_allclose(mapped(left, right), (left * right).sum(1), rtol=1e-5)
    with pytest.raises(ShapeMismatch):
        run(np.ones((2, 3), np.float32), np.ones((3, 3), np.float32))


def test_gradients_of_each_example():
    """D24: vmap of grad is a loop over gradients, and grad of vmap adds them up for what is shared."""
    x = floats(5, 3)

    def loss(parameters, x):
        return network(parameters, x)["total"]
    rows = nv.vmap(nv.grad(loss), in_axes=(None, 0))(PARAMETERS, x)
    same(rows, looped(nv.grad(loss), 5, lambda k: PARAMETERS, lambda k: x[k]))
    total = nv.grad(lambda parameters: nv.sum(nv.vmap(loss, in_axes=(None, 0))(parameters, x)))(PARAMETERS)
    same(total, {name: entry.sum(0) for name, entry in rows.items()})


def test_compositions():
    """D24: vmap of vmap, of jit, of jvp; jit, jacobian and hvp of vmap."""
    x, y = floats(4, 3), floats(5, 3)
    outer = nv.vmap(nv.vmap(lambda x, y: nv.sum(x * y), in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(outer(x, y), x @ y.T)
    np.testing.assert_allclose(nv.vmap(nv.jit(lambda x: nv.sum(x)))(x), x.sum(1))
    np.testing.assert_allclose(nv.vmap(lambda x, v: nv.jvp(nv.sin, (x,), (v,))[1])(x, x), np.cos(x) * x)
    jacobian = nv.jacobian(nv.vmap(lambda x: nv.sum(x * x)))(x)
    expected = np.zeros((4, 4, 3))
    expected[range(4), range(4)] = 2 * x
    np.testing.assert_allclose(jacobian, expected)
    np.testing.assert_allclose(nv.vmap(nv.hessian(lambda x: nv.sum(x * x * x)))(x)[:, [0, 1], [0, 1]], 6 * x[:, :2])
    np.testing.assert_allclose(nv.hvp(lambda x: nv.sum(nv.vmap(nv.exp)(x)), (x,), (x,)), np.exp(x) * x)
    value, pull = nv.vjp(nv.vmap(nv.sin), x)
    np.testing.assert_allclose(pull(x)[0], np.cos(x) * x)
    columns = nv.vmap(lambda weights: nv.vjp(lambda x: nv.matmul(y, x), x[0])[1](weights)[0])(np.eye(5))
    np.testing.assert_allclose(columns, y)


def test_layers():
    """D22: a convolution with images, with filters, and with both of each example; a table looked up."""
    images, filters = floats(3, 2, 4, 6, 6), floats(3, 5, 4, 3, 3)

    def convolved(x, f):
        return nv.convolution(x, f)
    for in_axes in ((0, None), (None, 0), (0, 0)):
        given = [array if axis == 0 else array[0] for array, axis in zip((images, filters), in_axes, strict=True)]
        got = nv.vmap(convolved, in_axes=in_axes)(*given)
        for k in range(3):
            one = nv.jit(convolved)(*[array[k] if axis == 0 else array
                                      for array, axis in zip(given, in_axes, strict=True)])
            np.testing.assert_allclose(got[k], one, rtol=1e-10)
        assert nv.vmap(convolved, in_axes=in_axes)(*[array[:0] if axis == 0 else array for array, axis in zip(
            given, in_axes, strict=True)]).shape == (0, *got.shape[1:])
    table, words = floats(7, 2), RNG.integers(0, 7, (3, 4))
    np.testing.assert_allclose(nv.vmap(lambda row: nv.gather(table, row, 0))(words), table[words])


def test_each_example_draws_its_own_numbers():
    """D25: random ops in the function draw for each example, in a nested map too; those outside are shared."""
    x = np.zeros((4, 3), np.float32)
    drawn = nv.vmap(lambda row: row + nv.uniform((3,)))(x)
    assert len({*map(tuple, drawn.tolist())}) == 4 and 0 <= drawn.min() < drawn.max() < 1
    assert len(np.unique(nv.vmap(nv.vmap(lambda _: nv.normal(())))(x))) == 12
    alone = nv.vmap(lambda row: nv.normal((2,)))(x)
    assert alone.shape == (4, 2) and len(np.unique(alone)) == 8

    def shared(x):
        noise = nv.uniform((3,))
        return nv.vmap(lambda row: row + noise)(x)
    rows = nv.jit(shared)(x)
    assert len({*map(tuple, rows.tolist())}) == 1
    dropped = nv.vmap(lambda row: nv.dropout(row, 0.5))(np.ones((50, 8), np.float32))
    assert len({*map(tuple, dropped.tolist())}) > 20
    per_direction = nv.jacobian(lambda x: x * nv.uniform((3,)))(x[0] + 1)
    assert np.count_nonzero(per_direction) == 3


def test_the_same_seed_gives_the_same_numbers():
    """D25: mapped draws are a function of the seed as others are."""
    draw = nv.jit(nv.vmap(lambda row: row + nv.uniform((3,))))
    rows = []
    for _ in range(2):
        nv.seed(7)
        rows.append(draw(np.zeros((4, 3), np.float32)).tolist())
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_a_call_of_python_takes_arrays_of_any_number_of_examples(name):
    """D26: single numbers are arrays, too, and lengths may be symbols where there is no example."""
    given = []

    def both(row):
        given.append((type(row), row.shape, row.flags.writeable))
        return row + 1, row.sum()

    x, v = nv.placeholder((nv.dim("n"), nv.dim("m"))), nv.placeholder((nv.dim("n"),))
    total = nv.constant(0.0)
    with nv.transformers.make_transformer(name) as transformer:
        rows = transformer.computation(nv.vmap(lambda row: nv.host_call(both, [row], like=[row, total]))(x), x)
        numbers = transformer.computation(nv.vmap(lambda one: nv.host_call(both, [one], like=[one, one]))(v), v)
        nested = transformer.computation(nv.vmap(nv.vmap(lambda one: nv.host_call(np.negative, [one], like=one)))(x), x)
        for shape in ((2, 3), (0, 3), (2, 0), (0, 0)):
            found = rows(np.ones(shape, np.float32))
            np.testing.assert_array_equal(found[0], np.full(shape, 2))
            np.testing.assert_array_equal(found[1], np.full(shape[:1], shape[1]))
            np.testing.assert_array_equal(nested(np.ones(shape, np.float32)), np.full(shape, -1))
        given.clear()
        assert [entry.tolist() for entry in numbers([3, 4])] == [[4, 5], [3, 4]]
    assert given == [(np.ndarray, (), False)] * 2


def test_effects(capsys):
    """D26: a print shows all examples at once, a host call is made for each; an assignment of each is an error."""
    assert nv.vmap(lambda x: nv.print_op(x, "x") * 2)(np.float32([1, 2])).tolist() == [2.0, 4.0]
    assert capsys.readouterr().out == "x: [1. 2.]\n"
    calls = []

    def sorted_row(row):
        calls.append(row.shape)
        return np.sort(row)
    rows = floats(3, 4)
    got = nv.vmap(lambda row: nv.host_call(sorted_row, [row], like=row))(rows)
    np.testing.assert_array_equal(got, np.sort(rows, axis=1))
    assert calls == [(4,)] * 3
    w = nv.variable((), 1.0)
    with pytest.raises(NotSupported, match="would assign another value") as caught:
        nv.vmap(lambda x: nv.sequential([nv.assign(w, x), x + w]))(np.float32([1, 2]))
    assert "return the value" in caught.value.help
    assert nv.vmap(lambda x: nv.sequential([nv.assign(w, 5.0), x + w]))(np.float32([1, 2])).tolist() == [6.0, 7.0]


def test_a_shared_value_beside_what_differs(capsys):
    """D22: what takes place before it, and the values around its derivative, do not make it differ."""
    rows, k = np.float32([1, 2]), np.float32(3)

    def printed(x, k):
        return nv.sequential([nv.print_op(x, "x"), k * 2])
    found = nv.vmap(printed, (0, None), None)(rows, k)
    assert found.item() == 6.0 and capsys.readouterr().out == "x: [1. 2.]\n"
    assert nv.vmap(printed, (0, None))(rows, k).tolist() == [6.0, 6.0]

    def along(x, k):
        return nv.jvp(lambda x, k: (x * k, k * k), (x, k), (x, k))[1]
    mapped, shared = nv.vmap(along, (0, None), (0, None))(rows, k)
    assert mapped.tolist() == [6.0, 12.0] and shared.item() == 18.0


def test_derivatives_of_the_user_stay_those_of_each_example():
    """D24: custom_vjp, and ops with a vjp beside a decompose."""
    clipped = nv.custom_vjp(lambda x: nv.sum(x * x), lambda gradient, x: gradient * nv.clip(x, -1, 1) * 100.0)
    x = floats(4, 3) * 2
    expected = np.clip(x, -1, 1) * 100
    np.testing.assert_allclose(nv.grad(lambda x: nv.sum(nv.vmap(clipped)(x)))(x), expected)
    np.testing.assert_allclose(nv.vmap(nv.grad(clipped))(x), expected)
    scaled = nv.custom_vjp(lambda x, w: x * w, lambda gradient, x, w: (gradient * 2.0, nv.sum(gradient * x) * 3.0))
    shared = nv.grad(lambda w: nv.sum(nv.vmap(lambda row: scaled(row, w))(x)))(np.float64(2.0))
    np.testing.assert_allclose(shared, 3 * x.sum(), rtol=1e-6)

    @nv.defnode("x[n] -> y[n]")
    class Shifted:
        def decompose(self, x):
            return x + 1.0

        def vjp(self, gradient, x):
            return (gradient * 7.0,)
    np.testing.assert_allclose(nv.grad(lambda x: nv.sum(nv.vmap(lambda row: Shifted(row))(x)))(x), np.full((4, 3), 7.0))


def test_ops_of_the_user():
    """D24: an expression over scalars for one rank, and a rule of the op's own."""
    @nv.defnode("x[n] y[n] -> z[n]")
    class Squares:
        def evaluate(self, s, x, y):
            return s.add(s.multiply(x, x), s.multiply(y, y))
    x, y = floats(4, 3), floats(3)
    np.testing.assert_allclose(nv.vmap(lambda x: Squares(x, y))(x), x * x + y * y)

    @nv.defnode("x[n] -> y[n]")
    class Told:
        def decompose(self, x):
            return x

        def vmap(self, length, mapped, x):
            assert mapped == [True] and length == 4
            return (x * 1000.0,)
    np.testing.assert_allclose(nv.vmap(lambda x: Told(x))(x), x * 1000)

    @nv.defnode("x[n] -> y[n]")
    class Opaque:
        pass
    with pytest.raises(NotSupported, match="no rule for many elements"):
        nv.vmap(lambda x: Opaque(x))(x)


@pytest.mark.parametrize("call, kind, words", [
    (lambda: nv.vmap(3), WrongKind, "vmap takes a function"),
    (lambda: nv.vmap(nv.sin, axis=3), WrongKind, "axis names"),
    (lambda: nv.vmap(nv.sin)(1.0), InvalidArgument, "there is no axis 0"),
    (lambda: nv.vmap(nv.sin, in_axes=2)(floats(3, 4)), InvalidArgument, "there is no axis 2"),
    (lambda: nv.vmap(nv.sin, in_axes=None)(floats(3)), InvalidArgument, "no argument has an axis"),
    (lambda: nv.vmap(nv.add, in_axes=(0,))(floats(3), floats(3)), InvalidArgument, "in_axes must be nested"),
    (lambda: nv.vmap(nv.add, in_axes=(0, 1.5))(floats(3), floats(3)), WrongKind, "by its position or name"),
    (lambda: nv.vmap(nv.add)(floats(3), floats(4)), ShapeMismatch, "different numbers of examples"),
    (lambda: nv.vmap(lambda x, mode: x)(floats(3), "text"), WrongKind, "only tensors can be mapped"),
    (lambda: nv.vmap(nv.sin, in_axes="N")(floats(3)), InvalidArgument, "have no names"),
    (lambda: nv.vmap(nv.sin, out_axes=1)(floats(3)), InvalidArgument, "there is no axis 1"),
    (lambda: nv.vmap(nv.sin, out_axes="N")(floats(3)), WrongKind, "by its position"),
    (lambda: nv.vmap(nv.sin, out_axes=None)(floats(3)), InvalidArgument, "depends on what is mapped"),
    (lambda: nv.vmap(nv.sin, out_axes=(0, 0))(floats(3)), InvalidArgument, "out_axes must be nested"),
    (lambda: nv.vmap(lambda x: float(nv.sum(x)))(floats(3, 2)), WrongKind, "while <lambda> is traced"),
    (lambda: nv.vmap(nv.multiply)(nv.placeholder("N=3"), nv.placeholder("K=3")), AxisMismatch, "different names"),
    (lambda: nv.vmap(lambda x: x * nv.placeholder("F=2"))(nv.placeholder((3,))), InvalidArgument, "needs a name"),
    (lambda: nv.vmap(lambda x: x * nv.placeholder("N=2"))(nv.placeholder("N=3")), AxisMismatch, "has an axis N"),
])
def test_wrong_input(call, kind, words):
    """D7: errors name the argument, and what to do."""
    with pytest.raises(kind, match=words) as caught:
        call()
    assert caught.value.help and caught.value.op
