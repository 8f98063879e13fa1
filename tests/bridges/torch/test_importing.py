"""Models become modules of nervure: values, names, training, files, and life without PyTorch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from tests.project.source import ROOT  # noqa: E402

nn = torch.nn


def model_of_all():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Dropout(0.25), nn.Linear(16, 3))


def test_values_are_those_of_the_model_for_any_batch():
    model = model_of_all().eval()
    own = nv.from_torch(model, [torch.randn(1, 2, 4, 4)], dynamic=True).eval()
    for batch in (1, 2, 5):
        x = torch.randn(batch, 2, 4, 4)
        np.testing.assert_allclose(own(x.numpy()).numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    x = nv.placeholder("N=n, C=2, H=4, W=4")
    run = nv.computation(own(x), x)
    given = torch.randn(7, 2, 4, 4)
    np.testing.assert_allclose(run(given.numpy()), model(given).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_the_mode_of_the_model_stays():
    model = model_of_all()
    model[1].eval()
    nv.from_torch(model, [torch.randn(2, 2, 4, 4)])
    assert model.training and not model[1].training and model[1].num_batches_tracked.item() == 0


@pytest.mark.parametrize("is_training", [False, True])
def test_a_model_is_imported_in_its_mode_and_modules_inside_in_theirs(is_training):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.BatchNorm1d(4)).train(is_training)
    with torch.no_grad():
        model[1].running_mean.fill_(0.5)
    model[1].eval()
    own, x = nv.from_torch(model, [torch.randn(4, 3)], dynamic=True), torch.randn(6, 3)
    assert own.training is is_training
    np.testing.assert_allclose(own(x.numpy()).numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert own.place_at("1.num_batches_tracked").item() == 0
    assert own.place_at("2.num_batches_tracked").item() == is_training


def test_names_are_those_of_pytorch_and_files_go_both_ways(tmp_path):
    model, path = model_of_all(), tmp_path / "weights.safetensors"
    own = nv.from_torch(model, [torch.randn(2, 2, 4, 4)], dynamic=True)
    assert [name for name, _ in own.named_parameters()] == [name for name, _ in model.named_parameters()]
    assert {name for name, _ in own.named_buffers()} == {name for name, _ in model.named_buffers()}
    nv.save_weights(own, path, format="torch")
    load_file = pytest.importorskip("safetensors.torch").load_file
    other = model_of_all()
    other.load_state_dict(load_file(path))
    assert all([torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True)])
    with torch.no_grad():
        other[6].bias.fill_(3)
    pytest.importorskip("safetensors.torch").save_file(other.state_dict(), path)
    nv.load_weights(own, path, format="torch")
    assert own.place_at("6.bias").tolist() == [3, 3, 3]


def test_statistics_and_gradients_in_training():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
    own = nv.from_torch(model, [torch.randn(4, 3)], dynamic=True)
    x = torch.randn(6, 3)
    loss = model(x).square().mean()
    loss.backward()
    y = own(x.numpy())
    value = nv.mean(y * y)
    found = nv.computation([value, *[nv.deriv(value, place) for place in own.parameters()]])()
    assert found[0] == pytest.approx(loss.item(), rel=1e-5)
    for gradient, parameter in zip(found[1:], model.parameters(), strict=True):
        np.testing.assert_allclose(gradient, parameter.grad.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(own.place_at("1.running_var").numpy(), model[1].running_var.numpy(), rtol=1e-5)
    assert own.place_at("1.num_batches_tracked").item() == 1


class Auxiliary(nn.Module):
    """An auxiliary result, and then the main one."""

    def __init__(self):
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(3), nn.Linear(3, 2)

    def forward(self, x):
        hidden = self.norm(x)
        return hidden.mean(), {"logits": self.head(hidden)}


@pytest.mark.parametrize("chosen", [[0], [1], [0, 1], [1, 0]])
@pytest.mark.parametrize("dynamic", [False, True])
def test_any_result_moves_the_statistics_and_all_of_them_move_them_once(chosen, dynamic):
    model, x = Auxiliary(), torch.randn(8, 3) + 5
    own, p = nv.from_torch(model, [x], dynamic), nv.placeholder((nv.dim("n") if dynamic else 8, 3))
    first, others = own(p)
    run = nv.computation([[first, others["logits"]][at] for at in chosen], p)
    for _ in range(3):
        found, (mean, named) = run(x.numpy()), model(x)
        for at, result in zip(chosen, found, strict=True):
            np.testing.assert_allclose(result, [mean, named["logits"]][at].detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(own.norm.running_mean.numpy(), model.norm.running_mean, rtol=1e-5)
    np.testing.assert_allclose(own.norm.running_var.numpy(), model.norm.running_var, rtol=1e-5)
    assert own.norm.num_batches_tracked.item() == 3
    loss = nv.mean(others["logits"] * others["logits"])
    gradient = nv.deriv(loss, own.head.weight)
    model(x)[1]["logits"].square().mean().backward()
    given = nv.computation([gradient], p)(x.numpy())[0]
    np.testing.assert_allclose(given, model.head.weight.grad, rtol=1e-4, atol=1e-5)


def test_results_are_computed_of_what_buffers_held_before():
    class Delayed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", torch.zeros(3))

        def forward(self, x):
            y = x + self.last
            self.last.copy_(x)
            return y, x * 2

    model, p = Delayed(), nv.placeholder((3,))
    own = nv.from_torch(model, [torch.ones(3)])
    run = nv.computation([*own(p)[::-1], own(p)[0]], p)
    for value in (1.0, 2.0, 5.0):
        x = torch.full((3,), value)
        for result, expected in zip(run(x.numpy()), [*model(x)[::-1], model(x)[0]], strict=True):
            np.testing.assert_array_equal(result, expected.numpy())


def test_dropout_draws_in_training_alone():
    own = nv.from_torch(nn.Dropout(0.5), [torch.ones(2, 500)], dynamic=True)
    drawn = own(np.ones((4, 500), np.float32)).numpy()
    assert set(np.unique(drawn)) == {0.0, 2.0} and 0.4 < drawn.mean() / 2 < 0.6
    assert (own.eval()(np.ones((4, 500), np.float32)).numpy() == 1).all()


class Tied(nn.Module):
    """Two names of one parameter, a constant, and results of several forms."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.table.weight

    def forward(self, words, scale=None):
        hidden = self.table(words)
        return {"logits": self.head(hidden), "hidden": (hidden, hidden.mean() + torch.tensor([1.0, 2.0]))}


def test_shared_parameters_constants_and_forms_of_results():
    model = Tied()
    own = nv.from_torch(model, {"words": torch.tensor([[1, 2, 3]])})
    assert len(own.parameters()) == 1
    expected, found = model(torch.tensor([[4, 0, 6]])), own(words=np.array([[4, 0, 6]]))
    assert set(found) == {"logits", "hidden"}
    np.testing.assert_allclose(found["logits"].numpy(), expected["logits"].detach(), rtol=1e-5)
    np.testing.assert_allclose(found["hidden"][1].numpy(), expected["hidden"][1].detach(), rtol=1e-5)


class Returning(nn.Module):
    """It returns what a function makes of the input, and of its double."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(self, x, x * 2)


FORMS = {"none": lambda m, x, y: (y, None), "zero": lambda m, x, y: (y, 0), "truth": lambda m, x, y: (y, True),
         "fraction": lambda m, x, y: (y, 0.5), "text": lambda m, x, y: [None, "a", y], "twice": lambda m, x, y: (y, y),
         "length": lambda m, x, y: (y, x.shape[1]), "batch": lambda m, x, y: {"n": x.shape[0], "y": y, "x": (x,)},
         "expression": lambda m, x, y: (y, 2 * x.shape[0] + 1, x), "nothing": lambda m, x, y: None,
         "mode": lambda m, x, y: (y, x) if m.training else y}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_no_tensor_stays_in_the_form_of_the_results(name, is_training, dynamic):
    """Lengths are those of the call."""
    def assert_same(found, expected):
        if isinstance(expected, torch.Tensor):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
        elif isinstance(expected, dict):
            assert found.keys() == expected.keys()
            assert_same(list(found.values()), list(expected.values()))
        elif isinstance(expected, (list, tuple)):
            assert type(found) is type(expected) and len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert_same(one, other)
        else:
            assert type(found) is type(expected) and found == expected

    model, x = Returning(FORMS[name]).train(is_training), torch.randn(5 if dynamic else 2, 3)
    assert_same(nv.from_torch(model, [torch.ones(2, 3)], dynamic)(x.numpy()), model(x))


def test_lengths_among_the_results_of_symbolic_inputs_are_symbolic():
    own = nv.from_torch(Returning(FORMS["expression"]), [torch.ones(2, 3)], dynamic=True)
    n = nv.dim("n")
    assert own(nv.placeholder((n, 3)))[1] == 2 * n + 1


def test_a_weight_that_is_another_one_turned_is_a_place_of_its_own():
    """They share memory in PyTorch, where each has its own strides."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    model[2].weight = nn.Parameter(model[0].weight.t())
    x = torch.randn(2, 3)
    own = nv.from_torch(torch.export.export(model, (x,)))
    np.testing.assert_allclose(own(x.numpy()).numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(own.place_at("2.weight").numpy(), model[0].weight.t().detach().numpy())


@pytest.mark.parametrize("dynamic", [False, True])
def test_conversions_that_are_checked_while_tracing(dynamic):
    """``torch.export`` puts a check of the element type in front of each."""
    class Converting(nn.Module):
        def forward(self, x, scale):
            return x.to(torch.float64) + x.double() * scale.to(x.dtype).to(torch.float64), x.to(torch.int64).float()

    own, given = nv.from_torch(Converting(), [torch.ones(2, 3), torch.ones((), dtype=torch.int32)], dynamic), [
        torch.randn(2, 3), torch.tensor(3, dtype=torch.int32)]
    for found, expected in zip(own(*[x.numpy() for x in given]), Converting()(*given), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert found.numpy().dtype == expected.numpy().dtype


def test_an_exported_program_is_imported_as_it_is():
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(2, 3),))
    own = nv.from_torch(program)
    assert own(np.ones((2, 3), np.float32)).shape == (2, 2)


def test_a_trainer_trains_it():
    own = nv.from_torch(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)), [torch.ones(4, 2)], dynamic=True)
    x = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    y = (x[:, :1] * 2 - x[:, 1:]).astype(np.float32)
    predicted = own(x)
    loss = nv.mean((predicted - y) * (predicted - y))
    step = nv.computation([loss, nv.optim.Adam(0.02)(loss)])
    losses = [float(step()[0]) for _ in range(60)]
    assert losses[-1] < losses[0] / 5


def test_what_was_saved_runs_where_pytorch_is_missing(tmp_path):
    model = model_of_all().eval()
    own = nv.from_torch(model, [torch.randn(2, 2, 4, 4)], dynamic=True).eval()
    x = nv.placeholder("N=n, C=2, H=4, W=4")
    nv.save(tmp_path / "model.safetensors", nv.computation(own(x), x))
    given = torch.randn(3, 2, 4, 4)
    np.save(tmp_path / "x.npy", given.numpy())
    program = ("import sys; sys.modules['torch'] = None; import numpy as np, nervure as nv; "
               "print(nv.load('model.safetensors')(np.load('x.npy')).ravel().tolist())")
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
                         env={**__import__("os").environ, "PYTHONPATH": str(ROOT / "src")})
    got = np.array([float(entry) for entry in run.stdout.strip("[]\n").split(",")])
    np.testing.assert_allclose(got, model(given).detach().numpy().ravel(), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_imported_says_why():
    class Running(nn.Module):
        def forward(self, x):
            return torch.special.airy_ai(x)
    with pytest.raises(nv.NotSupported, match=r"aten\.special_airy_ai") as caught:
        nv.from_torch(Running(), [torch.ones(3)])
    assert "test_importing.py" in str(caught.value.location)

    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    with pytest.raises(nv.NotSupported, match=r"torch\.export cannot trace"):
        nv.from_torch(Branching(), [torch.ones(3)])
    with pytest.raises(nv.WrongKind, match="only models"):
        nv.from_torch(np.ones(3), [])


def test_decompositions_that_fail_are_not_said_to_be_branches_of_the_model(monkeypatch):
    def failing(x):
        raise RuntimeError("no such thing")
    from nervure.bridges.torch import exporting
    table = {**exporting.decompositions(), torch.ops.aten.relu.default: failing}
    monkeypatch.setattr(exporting, "decompositions", lambda: table)
    with pytest.raises(nv.NotSupported, match="an op of this model") as caught:
        nv.from_torch(nn.ReLU(), [torch.ones(3)])
    assert "no such thing" in str(caught.value.got)


@pytest.mark.parametrize("dynamic", [({0: torch.export.Dim("n")}, None), ({0: torch.export.Dim("n", min=3)},),
                                     ({1: torch.export.Dim("n")},)])
def test_lengths_that_torch_export_refuses_are_no_branches_of_the_model(dynamic):
    with pytest.raises(nv.InvalidArgument, match="with such lengths") as caught:
        nv.from_torch(nn.Linear(3, 2), [torch.ones(2, 3)], dynamic=dynamic)
    assert caught.value.operand == "dynamic"


class Joined(nn.Module):
    """It returns what a function makes of all inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, *others):
        return self.function(x, *others)


@pytest.mark.parametrize(("function", "shapes", "name"), [
    (lambda x: x + torch.ones(3, 1), [(3, 2)], "x"), (lambda x: x.view(3, 2) * 2, [(3, 2)], "x"),
    (lambda x, y: x @ y, [(3, 2), (2, 4)], "others_0"), (lambda x: x * 2, [(0, 2)], "x"),
    (lambda x, y, z: torch.einsum("bij,bjk,bkl->bil", x, y, z), [(3, 2, 2)] * 3, "x")])
def test_a_model_that_takes_one_length_alone_has_no_first_axis_of_any_length(function, shapes, name):
    example, auto = [torch.ones(shape) for shape in shapes], torch.export.Dim.AUTO
    with pytest.raises(nv.InvalidArgument, match="with such lengths") as caught:
        nv.from_torch(Joined(function), example, dynamic=True)
    assert caught.value.operand == "dynamic" and caught.value.got.startswith(f"{name} with a first axis")
    assert nv.from_torch(Joined(function), example)(*[x.numpy() for x in example]).shape[0] == len(example[0])
    if name == "others_0":
        own = nv.from_torch(Joined(function), example, dynamic={"x": {0: auto}, "others": (None,)})
        assert own(np.ones((7, 2), np.float32), example[1].numpy()).shape == (7, 4)


class Scaled(nn.Module):
    """It takes a number beside a tensor, and tensors in a list."""

    def forward(self, x, factor=2, others=()):
        return x * factor + sum(others)


class Sum(nn.Module):
    """It takes any number of tensors."""

    def forward(self, first, *others):
        return first + 2 * others[0] + 3 * others[1]


@pytest.mark.parametrize(("model", "example", "given"), [
    (Scaled(), [torch.ones(2, 3), 3], 1), (Scaled(), {"x": torch.ones(2, 3), "factor": 3}, 1),
    (Scaled(), [torch.ones(2, 3), 0.5, [torch.ones(2, 3), torch.ones(())]], None),
    (Sum(), [torch.ones(2, 3)] * 3, 3)])
def test_numbers_and_any_number_of_tensors_are_inputs_of_a_model_with_any_batch(model, example, given):
    """Numbers are what they are in the example."""
    own = nv.from_torch(model, example, dynamic=True)
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    if given is None:
        np.testing.assert_array_equal(own(x, x, np.float32(2)).numpy(), x * 1.5 + 2)
    else:
        np.testing.assert_array_equal(own(*[x] * given).numpy(), x * (3 if given == 1 else 6))


def test_inputs_that_do_not_fit_are_refused():
    own = nv.from_torch(nn.Linear(3, 2), [torch.ones(4, 3)])
    with pytest.raises(nv.ShapeMismatch, match="dynamic="):
        own(np.ones((5, 3), np.float32))
    with pytest.raises(nv.ShapeMismatch, match="rank"):
        own(np.ones(3, np.float32))
    with pytest.raises(nv.InvalidArgument, match="other inputs"):
        own()
    with pytest.raises(nv.InvalidArgument, match="element type"):
        own(np.ones((4, 3), np.int64))


class Rows(nn.Module):
    """Rows of a table, of which one is padding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3, padding_idx=2)

    def forward(self, words):
        return self.table(words)


class Seen(nn.Module):
    """Attention over keys of which some queries see none, with values of another width."""

    def forward(self, q, k, v, mask):
        return nn.functional.scaled_dot_product_attention(q, k, v, mask)


def assert_gradients_are_those(model, inputs, differentiated):
    """Compares the gradients of the sum of squares with respect to these inputs and to the parameters."""
    own = nv.from_torch(model, inputs, dynamic=True)
    places = [nv.constant(x.detach().numpy()) for x in inputs]
    y, chosen = own(*places), [places[at] for at in differentiated] + own.parameters()
    found = nv.computation(list(nv.deriv(nv.sum(y * y, out_axes=()), chosen)))()
    leaves = [inputs[at] for at in differentiated] + list(model.parameters())
    expected = torch.autograd.grad(model(*inputs).square().sum(), leaves)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


def test_a_row_of_padding_has_no_gradient():
    model = Rows()
    with torch.no_grad():
        model.table.weight[2] = 1.5
    assert_gradients_are_those(model, [torch.tensor([[0, 2, 1], [2, 4, 4]])], [])


def test_a_query_that_sees_nothing_has_no_gradient():
    q, k, v = [torch.randn(2, 2, 3, width, requires_grad=True) for width in (4, 4, 6)]
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]]).expand(2, 2, 3, 3)
    assert_gradients_are_those(Seen(), [q, k, v, mask.clone()], [0, 1, 2])


class Branching(nn.Module):
    """It does something else for other lengths."""

    def __init__(self, is_first):
        super().__init__()
        self.is_first = is_first

    def forward(self, x):
        return x * 2 if self.is_first(x.shape[1]) else x - 1


@pytest.mark.parametrize("is_first", [
    lambda n: n > 4, lambda n: n <= 6, lambda n: n % 2 == 0, lambda n: n % 3 != 0, lambda n: n * n == 36])
@pytest.mark.parametrize("example", [6, 5, 9])
def test_lengths_for_which_a_model_does_something_else_are_refused(is_first, example):
    """Others have PyTorch's numbers; where a length is a symbol each call is checked."""
    model, auto = Branching(is_first), torch.export.Dim.AUTO
    own = nv.from_torch(model, [torch.ones(2, example)], dynamic=({0: auto, 1: auto},))
    x = nv.placeholder((nv.dim("n"), nv.dim("m")))
    run = nv.computation(own(x), x)
    for length in range(2, 12):
        given = np.full((3, length), 0.5, np.float32)
        if is_first(length) is is_first(example):
            expected = model(torch.from_numpy(given)).numpy()
            np.testing.assert_array_equal(own(given).numpy(), expected)
            np.testing.assert_array_equal(run(given), expected)
            continue
        for call in (own, run):
            with pytest.raises(nv.ShapeMismatch, match="the model does something else for such lengths"):
                call(given)


def test_ranges_of_lengths_are_those_of_the_model():
    auto = torch.export.Dim.AUTO
    own = nv.from_torch(nn.Tanh(), [torch.ones(5, 4)], dynamic=({0: torch.export.Dim("n", min=3, max=9), 1: auto},))
    assert [own(np.ones((length, 1), np.float32)).shape for length in (3, 9)] == [(3, 1), (9, 1)]
    for length in (2, 10):
        with pytest.raises(nv.ShapeMismatch, match="something else"):
            own(np.ones((length, 4), np.float32))


def test_windows_that_end_behind_an_image():
    """PyTorch's number of windows depends on whether the last one begins inside."""
    model, auto = nn.MaxPool2d((1, 2), 2, (0, 1), ceil_mode=True), torch.export.Dim.AUTO
    own = nv.from_torch(model, [torch.randn(2, 3, 9, 3)], dynamic=({3: auto},))
    for length in range(2, 9):
        given = torch.randn(2, 3, 9, length)
        try:
            found = own(given.numpy()).numpy()
        except nv.ShapeMismatch:
            continue
        np.testing.assert_array_equal(found, model(given).numpy())


@pytest.mark.parametrize(("count", "shape"), [(1, (4,)), (1, (3, 5)), (5, (3, 5, 2))])
def test_a_slope_below_zero_is_a_parameter(count, shape):
    x = torch.randn(shape, requires_grad=True)
    assert_gradients_are_those(nn.PReLU(count), [x], [0])


@pytest.mark.parametrize(("kind", "settings"), [(nn.Embedding, {}), (nn.Embedding, {"padding_idx": 2}),
                                               (nn.EmbeddingBag, {"mode": "sum"}), (nn.EmbeddingBag, {"mode": "mean"})])
def test_gradients_of_rows_are_divided_by_how_often_they_are_read(kind, settings):
    model = kind(5, 3, scale_grad_by_freq=True, **settings)
    assert_gradients_are_those(model, [torch.tensor([[0, 2, 1], [2, 4, 4]])], [])
