"""Layers beyond their numbers: axes, statistics, what is dropped, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, ShapeMismatch, UnknownName, WrongKind

# -- axes ------------------------------------------------------------------------------------------------


def test_a_dense_layer_finds_its_axes_wherever_they_stand():
    """T211: one or several, in any order; symbolic lengths stay."""
    x = nv.placeholder("W=3, N=n, H=2")
    y = nn.LinearLayer("H=2, W=3", "K=4")(x)
    assert str(y.axes) == "(N: n, K: 4)"


def test_an_axis_may_be_input_and_output():
    """T211: it is a level higher among those of the weights, for a dense layer, and a level lower for a convolution."""
    layer = nn.LinearLayer("F=2", "F=2", weights=[[1, 2], [3, 4]], bias=False)
    assert str(layer.weights.axes) == "(F+1: 2, F: 2)"
    assert layer(nv.constant([[1, 0], [0, 1]], "N=2, F=2")).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert str(nn.LinearLayer("F=5", "F=2")(nv.zeros("N=1, F=5")).axes) == "(N: 1, F: 2)"
    for inputs, outputs in ((4, 4), (3, 8)):
        conv = nn.Conv(f"C={inputs}", f"C={outputs}", "W=3", groups=1)
        assert str(conv(nv.placeholder(f"N=n, C={inputs}, W=9")).axes) == f"(N: n, C: {outputs}, W: 7)"
    assert str(nn.Conv("C=4", "C=4", "W=3", groups=2).weights.axes) == "(C-1: 2, W: 3, C: 4)"


def test_weights_of_plain_lengths_lie_as_documented():
    """T211, T212: (inputs, outputs) and (outputs, inputs, window)."""
    assert nn.LinearLayer(3, 2).weights.shape == (3, 2) and nn.Conv(3, 8, (5, 4)).weights.shape == (8, 3, 5, 4)
    assert nn.Conv(4, 8, 3, groups=2).weights.shape == (8, 2, 3)
    assert nn.Embedding(10, 4).weights.shape == (10, 4)


@pytest.mark.parametrize(("make", "kind", "words"), [
    (lambda: nn.LinearLayer("F=3", 2), AxisMismatch, "do not mix"),
    (lambda: nn.LinearLayer((2, 3), 2), InvalidArgument, "one axis on each side"),
    (lambda: nn.LinearLayer("F=n", "K=2"), WrongKind, "an integer"),
    (lambda: nn.LinearLayer((), 2), InvalidArgument, "no axes"),
    (lambda: nn.LinearLayer(in_features=3, out_features=2), WrongKind, "here it is inputs="),
    (lambda: nn.LinearLayer(3, 2, weights=nv.variable((2, 3))), ShapeMismatch, "another shape"),
    (lambda: nn.LinearLayer(3, 2)(nv.zeros("N=2, F=3")), AxisMismatch, "has names, the layer has no"),
    (lambda: nn.LinearLayer("F=3", "K=2")(np.zeros((2, 3))), AxisMismatch, "has no names"),
    (lambda: nn.LinearLayer("F=3", "K=2")(nv.zeros("N=2, G=3")), AxisMismatch, "lacks axes"),
    (lambda: nn.LinearLayer("F=3, G=2", "K=2")(nv.zeros("N=2, F=3")), AxisMismatch, "lacks axes"),
    (lambda: nn.LinearLayer("F=3", "K=2")(nv.zeros("N=2, F=4")), AxisMismatch, "two lengths"),
    (lambda: nn.Conv(4, 6, 3, groups=4), InvalidArgument, "groups divide"),
    (lambda: nn.Conv(4, 6, (1, 1, 1, 1)), InvalidArgument, "one to three"),
    (lambda: nn.Conv("C=4, D=2", "K=6", "W=3"), ShapeMismatch, "one axis"),
    (lambda: nn.MaxPool("H=2")(np.zeros((1, 1, 4))), AxisMismatch, "axis"),
    (lambda: nn.GroupNorm(4, 6), InvalidArgument, "groups divide"),
    (lambda: nn.GroupNorm(0, 6), InvalidArgument, "groups is 1 or more"),
    (lambda: nn.GroupNorm(2, 4)(np.zeros((1, 6, 2))), ShapeMismatch, "channels of x are others"),
    (lambda: nn.GroupNorm(2, "C=4")(nv.zeros("N=1, C=6")), ShapeMismatch, "channels of x are others"),
    (lambda: nn.BatchNorm(4)(np.zeros((1, 6, 2))), ShapeMismatch, "channels of x are others"),
    (lambda: nn.BatchNorm(4).eval()(np.zeros((1, 6, 2))), ShapeMismatch, "channels of x are others"),
    (lambda: nn.LayerNorm(4)(np.zeros((2, 3, 1))), ShapeMismatch, "other lengths"),
    (lambda: nn.LayerNorm("F=4", scale=False, shift=False)(nv.zeros("N=2, F=3")), ShapeMismatch, "other lengths"),
    (lambda: nn.RMSNorm((3, 4))(np.zeros(4)), IndexOutOfRange, "no axis"),
    (lambda: nn.PReLU(4)(np.zeros((2, 1, 3))), ShapeMismatch, "slopes for more"),
    (lambda: nn.BatchNorm(2, momentum=2), InvalidArgument, "momentum"),
    (lambda: nn.LayerNorm(2, -1), InvalidArgument, "epsilon"),
    (lambda: nn.Dropout(1.5), InvalidArgument, "rate"),
    (lambda: nn.Embedding(3, 2, pad_idx=3), InvalidArgument, "no row"),
    (lambda: nn.Sequential(nn.ReLU), WrongKind, "neither a module"),
    (lambda: nn.Sequential(nv.relu)[1], IndexError, "no member"),
    (lambda: nn.Functional(3), WrongKind, "no function"),
    (lambda: nn.Residual(nn.LinearLayer("F=3", "K=3"))(nv.zeros("N=1, F=3")), AxisMismatch, "other axes"),
    (lambda: nn.LinearLayer(3, 2, weights=nn.initialisers.he_normal), WrongKind,
     "write nv.nn.initialisers.he_normal()"),
    (lambda: nn.Conv2d, UnknownName, "nv.nn.Conv"), (lambda: nn.Parameter, UnknownName, "self.scale"),
    (lambda: nn.ModuleList, UnknownName, "self.blocks"), (lambda: nn.LinearLayr, UnknownName, "did you mean")],
    ids=range(38))
def test_what_does_not_fit_is_refused(make, kind, words):
    """T210: by the layer, with what to do."""
    with pytest.raises(kind) as caught:
        make()
    text = f"{caught.value} {caught.value.help}"
    assert words in text and caught.value.help and caught.value.location.file == __file__


def test_settings_may_name_axes_that_only_the_input_has():
    """They are checked when the layer is made, as far as its window says which axes there are."""
    images, (h, _) = nv.placeholder("N=n, C=3, H=8, W=8"), nv.make_axes("H=8, W=8")
    assert nn.Conv("C=3", "K=4", "H=3, W=3", strides={h: 2})(images).shape[1:] == (4, 3, 6)
    plain = np.ones((2, 3, 8, 8))
    assert nn.Conv(3, 4, (3, 3), padding={2: [0, 1]})(plain).shape == (2, 4, 7, 6)
    assert nn.MaxPool(2, strides={-1: 2}, padding={-2: (0, 1)})(plain).shape == (2, 3, 8, 4)
    assert nn.MaxPool(2, strides=[1, 2], padding=[(0, 1), [1, 1]])(plain).shape == (2, 3, 8, 5)


def test_an_empty_row_starts_from_zero():
    """T215: the others do not."""
    for row in (1, -3):
        weights = nn.Embedding(4, 3, pad_idx=row).weights.numpy()
        assert (weights[1] == 0).all() and (weights[[0, 2, 3]] != 0).all()


# -- statistics of a batch ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [nv.float16, nv.float32])
def test_variances_of_float16_are_beyond_float16(dtype, transformer):
    """T217: they move numbers of the type in which they are computed."""
    layer = nn.BatchNorm(1, dtype=dtype)
    transformer.computation(layer(nv.constant(np.float16([[-300], [300], [-300], [300]]))))()
    assert transformer.get(layer.running_variance).item() == pytest.approx(12000.9, abs=1)


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_running_statistics_below_the_least_normal_number_are_0(name):
    """O86."""
    layer = nn.BatchNorm("C=3", momentum=0.5)
    with nv.transformers.make_transformer(name) as transformer:
        train = transformer.computation(layer(nv.constant(np.zeros((2, 3), np.float32), "N=2, C=3")))
        for place in (layer.running_mean, layer.running_variance):
            transformer.set(place, np.float32([1.5, 8.0, 0.5]) * np.float32(2.0**-126))
        train()
        for place in (layer.running_mean, layer.running_variance):
            assert transformer.get(place).tolist() == [0.0, 2.0**-124, 0.0]


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
@pytest.mark.parametrize("rows", [6, nv.dim("n", min=1), nv.dim("n")], ids=["6", "1 or more", "n"])
def test_running_statistics_in_float64_have_its_digits(rows, name):
    """T217: the variance without bias, too."""
    x, layer = np.random.default_rng(0).standard_normal((6, 2)), nn.BatchNorm(2, momentum=1.0, dtype=nv.float64)
    place = nv.placeholder((rows, 2), nv.float64)
    with nv.transformers.make_transformer(name) as transformer:
        transformer.computation(layer(place), place)(x)
        np.testing.assert_allclose(transformer.get(layer.running_mean), x.mean(0), rtol=1e-14)
        np.testing.assert_allclose(transformer.get(layer.running_variance), x.var(0, ddof=1), rtol=1e-14)


def test_a_training_step_carries_running_statistics(interpreter):
    """T217: once a call, with the updates of the parameters, and whatever reads the value."""
    layer, n = nn.BatchNorm("C=2", momentum=0.5), nv.dim("n", min=1)
    x = nv.placeholder({"N": n, "C": 2})
    loss = nv.sum(nv.square(layer(x)), out_axes=())
    step = interpreter.computation([loss, nv.mean(loss), nv.optim.Adam(0.1)(loss)], x)
    step(np.float32([[1, 2], [3, 6]]))
    assert interpreter.get(layer.running_mean).tolist() == [1.0, 2.0]
    assert interpreter.get(layer.running_variance).tolist() == [1.5, 4.5]
    assert (interpreter.get(layer.scale) != 1).all()
    step(np.float32([[3, 2]]))
    assert interpreter.get(layer.running_mean).tolist() == [2.0, 2.0]
    assert interpreter.get(layer.running_variance).tolist() == [0.75, 2.25]  # one number alone has no variance


@pytest.mark.parametrize("rows", [2, nv.dim("n", min=1), nv.dim("n")], ids=["2", "1 or more", "n"])
def test_a_layer_of_what_it_gave_moves_them_again(rows, transformer):
    """T217: from where the call before has moved them."""
    layer, x = nn.BatchNorm(1, momentum=0.5, dtype=nv.float64), nv.placeholder((rows, 1), nv.float64)
    step = transformer.computation(layer(layer(nv.relu(layer(x)) + 3.0) * 2.0), x)
    means, variances = 0.0, 1.0
    for given in (np.array([[10.0], [30.0]]), np.array([[-4.0], [4.0]])):
        step(given)
        for between in (lambda y: np.maximum(y, 0) + 3, lambda y: y * 2, lambda y: y):
            means, variances = (means + given.mean()) / 2, (variances + given.var(ddof=1)) / 2
            given = between((given - given.mean()) / np.sqrt(given.var() + 1e-5))
        np.testing.assert_allclose(transformer.get(layer.running_mean), [means], rtol=1e-12)
        np.testing.assert_allclose(transformer.get(layer.running_variance), [variances], rtol=1e-12)


def test_the_step_of_an_optimiser_alone_moves_them_too(interpreter):
    """T217: since the gradients are computed of that value."""
    layer = nn.BatchNorm("C=2", momentum=1.0)
    loss = nv.sum(nv.square(layer(nv.constant([[1, 2], [3, 6]], "N=2, C=2"))), out_axes=())
    interpreter.computation(nv.optim.Adam(0.1)(loss))()
    assert interpreter.get(layer.running_mean).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("n", [0, nv.dim("n", min=0)])
def test_an_empty_batch_moves_no_statistics(interpreter, n):
    """T217: there is nothing that they could move to."""
    layer, x = nn.BatchNorm(2, momentum=0.5), nv.placeholder((n, 2, 3))
    step = interpreter.computation(layer(x), x)
    assert step(np.ones((0, 2, 3), np.float32)).shape == (0, 2, 3)
    assert interpreter.get(layer.running_mean).tolist() == [0.0, 0.0]
    assert interpreter.get(layer.running_variance).tolist() == [1.0, 1.0]


def test_a_built_model_moves_them_in_its_forward_part():
    """T217: and in a step that is one call; its backward part leaves them."""
    model = nn.Sequential(nn.LinearLayer(2, 2, weights=np.eye(2), bias=False), nn.BatchNorm(2, momentum=0.5))
    loss = nv.sum(nv.square(model(nv.placeholder((nv.dim("n", min=1), 2)).named("x"))), out_axes=())
    built = nv.build(loss, inputs=("x",))
    built.forward(np.float32([[1, 2], [3, 6]]))
    assert model[1].running_mean.tolist() == [1.0, 2.0]
    built.backward()
    assert model[1].running_mean.tolist() == [1.0, 2.0]
    nv.train_step(built, nv.optim.SGD(0.0))(np.float32([[3, 2], [3, 2], [3, 2]]))
    assert model[1].running_mean.tolist() == [2.0, 2.0]


def test_evaluation_reads_what_training_left(interpreter):
    """T217: and leaves it as it is; a prediction and a step share the statistics."""
    layer, x = nn.BatchNorm("C=1", momentum=1.0, epsilon=0.0), nv.placeholder("N=2, C=1")
    train, predict = (interpreter.computation(layer.train(mode)(x), x) for mode in (True, False))
    train(np.float32([[1], [5]]))
    assert predict(np.float32([[3], [3 + 8**0.5]])).round(5).tolist() == [[0.0], [1.0]]
    assert interpreter.get(layer.running_mean).tolist() == [3.0]


def test_a_value_that_nobody_computes_moves_nothing(interpreter):
    """T217: a call of the module builds; it does not run."""
    layer = nn.BatchNorm(2)
    layer(np.float32([[1, 2], [3, 4]]))
    assert interpreter.get(layer.running_mean).tolist() == [0.0, 0.0]


def test_a_traced_function_takes_a_module_along():
    """T217, T218: its parameters, its statistics, and what it drops anew at each call."""
    model = nn.Sequential(nn.BatchNorm(2, momentum=1.0), nn.Dropout(0.5))
    run, x = nv.jit(lambda x: model(x)), np.random.default_rng(0).standard_normal((64, 2)).astype(np.float32)
    first, second = run(x), run(x)
    assert ((first == 0) != (second == 0)).any()
    np.testing.assert_allclose(model[0].running_mean.numpy(), x.mean(axis=0), atol=1e-6)


def test_slopes_without_names_are_those_of_channels():
    """As with all layers of channels: the second axis, however long the others are."""
    layer, x = nn.PReLU(3, slope=np.float32([1, 2, 3])), -np.ones((2, 3, 3), np.float32)
    assert layer(x).tolist() == [[[-1.0] * 3, [-2.0] * 3, [-3.0] * 3]] * 2
    assert layer(x[:, :, 0]).tolist() == [[-1.0, -2.0, -3.0]] * 2 and layer(x[0, :, 0]).tolist() == [-1.0, -2.0, -3.0]


# -- dropping, composing -------------------------------------------------------------------------------------


def test_dropping_keeps_the_mean():
    """T218: in training alone."""
    x = nv.ones((10_000,))
    nv.seed(1)
    dropped = nn.Dropout(0.25)(x).numpy()
    assert abs((dropped == 0).mean() - 0.25) < 0.02 and set(dropped[dropped != 0]) == {np.float32(4 / 3)}
    assert nn.Dropout(0.25).eval()(x) is x and nn.Dropout(1.0)(x).numpy().max() == 0


def test_sequences_take_functions_and_give_slices():
    """T219: slices share their members."""
    model = nn.Sequential(nn.LinearLayer(2, 3), nv.relu, [nn.Identity()][0])
    assert len(model) == 3 and isinstance(model[1], nn.Functional) and model[:1][0] is model[0]
    assert model[-1] is list(model)[2] and len(nn.Sequential([nv.relu, nv.tanh])) == 2
    assert nn.Sequential()(nv.constant(1.0)).item() == 1.0


def test_a_residual_adds_what_it_wraps():
    """T219: to x, or to what the shortcut makes of it."""
    x = nv.constant([1, 2], "F=2")
    assert nn.Residual(nv.square)(x).tolist() == [2.0, 6.0]
    assert nn.Residual(nv.square, nv.negative)(x).tolist() == [0.0, 2.0]
    with pytest.raises(AxisMismatch, match="other axes"):
        nn.Residual(lambda x: nv.sum(x, axis=1, keepdims=True))(np.ones((2, 3), np.float32))


def test_a_model_learns(interpreter):
    """T219: on both kinds of axes alike, from the same start."""
    inputs = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
    labels = (inputs.sum(axis=1) > 0).astype(np.int64)
    losses = []
    for into, middle, out, batch in (("F=3", "K=8", "Y=2", {"N": 16}), (3, 8, 2, (16,))):
        nv.seed(3)
        model = nn.Sequential(nn.LinearLayer(into, middle), nn.Tanh(), nn.LinearLayer(middle, out))
        x = nv.placeholder("N=16, F=3" if isinstance(into, str) else (16, 3))
        t = nv.placeholder(batch, dtype=nv.int64)
        loss = nn.losses.cross_entropy(model(x), t)
        step = interpreter.computation([loss, nv.optim.Adam(0.1)(loss)], x, t)
        losses.append([float(step(inputs, labels)[0]) for _ in range(20)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    assert losses[0][-1] < 0.2 * losses[0][0]
