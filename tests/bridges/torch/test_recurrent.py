"""Recurrent layers of PyTorch are handed over whole: a loop, whatever the number of steps, forward and backward."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, report  # noqa: E402

LAYERS = {
    "rnn": ("RNN", {}), "rnn of relu": ("RNN", {"nonlinearity": "relu", "bias": False, "num_layers": 2}),
    "gru": ("GRU", {}), "gru of layers": ("GRU", {"num_layers": 2, "bidirectional": True, "bias": False}),
    "lstm": ("LSTM", {}), "lstm of layers": ("LSTM", {"num_layers": 2, "bidirectional": True}),
    "lstm with a projection": ("LSTM", {"proj_size": 3, "bidirectional": True}),
    "lstm with steps first": ("LSTM", {"batch_first": False, "bias": False})}


@pytest.fixture(autouse=True)
def traced():
    """PyTorch's switch, without which recurrent layers run in PyTorch whatever the backend."""
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def layer_of(name, dtype=torch.float32):
    kind, settings = LAYERS[name]
    return getattr(torch.nn, kind)(5, 8, **{"batch_first": True, **settings}).to(dtype)


def compiled(model, **settings):
    return torch.compile(model, backend=backend, options={"strict": True}, **settings)


def figures(model, layer, x, states=None):
    """The outputs and the last states, and the gradients of everything."""
    x = x.clone().requires_grad_()
    first = None if states is None else [state.clone().requires_grad_() for state in states]
    given = () if first is None else (tuple(first) if len(first) > 1 else first[0],)
    layer.zero_grad()
    y, last = model(x, *given)
    last = last if isinstance(last, tuple) else (last,)
    (y.sin().sum() + sum([(state * state).sum() for state in last])).backward()
    return [y, *last, x.grad, *[state.grad for state in first or []], *[own.grad for own in layer.parameters()]]


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_gradients_are_those_of_eager_mode(name, made):
    """Y7: forward and backward are a function each, and the graph without gradients is one."""
    layer = layer_of(name)
    run, x = compiled(layer), torch.randn(3, 6, 5)
    for mine, theirs in zip(figures(run, layer, x), figures(layer, layer, x), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    assert len(made) == 2
    with torch.no_grad():
        torch.testing.assert_close(run(x)[0], layer(x)[0], rtol=1e-5, atol=1e-6)
    assert len(made) == 3


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_states_are_given_and_returned(kind):
    """Y7: with gradients of their own."""
    layer = getattr(torch.nn, kind)(5, 8, 2)
    states = [torch.randn(2, 3, 8) for _ in range(2 if kind == "LSTM" else 1)]
    x = torch.randn(6, 3, 5)
    for mine, theirs in zip(figures(compiled(layer), layer, x, states), figures(layer, layer, x, states), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_kernels_do_not_depend_on_the_number_of_steps(name, made):
    """Y7: neither forward nor backward."""
    layer, sizes = layer_of(name), []
    for steps in (5, 50):
        torch._dynamo.reset()
        made.clear()
        figures(compiled(layer), layer, torch.randn(3, steps, 5))
        texts = [nv.explain(program.executable) for program in made]
        sizes.append([(len(explained.steps), len(program.traced.function.operations))
                      for explained, program in zip(texts, made, strict=True)])
    assert sizes[0] == sizes[1] and len(sizes[0]) == 2


def test_the_batch_may_be_a_symbol(made):
    """Y8: another one compiles nothing. PyTorch itself makes a number of the steps."""
    layer = layer_of("lstm of layers")
    run = compiled(layer, dynamic=True)
    for batch in (3, 4, 2):
        x = torch.randn(batch, 6, 5)
        for mine, theirs in zip(figures(run, layer, x), figures(layer, layer, x), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    assert len(made) == 2


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.bfloat16, 3e-2)])
def test_other_types(dtype, tolerance):
    """Y7: low precision is computed in float32, and rounded once."""
    layer, x = layer_of("lstm", dtype), torch.randn(3, 6, 5, dtype=dtype)
    found = compiled(layer)(x)[0]
    wide = copy.deepcopy(layer).to(torch.float64)
    torch.testing.assert_close(found.to(torch.float64), wide(x.to(torch.float64))[0], rtol=tolerance, atol=tolerance)


def test_a_real_size():
    """Y7: 64 steps, a batch of 32, 256 units."""
    layer = torch.nn.LSTM(64, 256, batch_first=True)
    x = torch.randn(32, 64, 64)
    found, eager = figures(compiled(layer), layer, x), figures(layer, layer, x)
    for mine, theirs in zip(found, eager, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4 * theirs.abs().max().item())


def test_elements_between_layers_are_dropped_in_training():
    """Y7: by PyTorch's random numbers."""
    layer = torch.nn.LSTM(5, 8, 2, dropout=0.5)
    run, x = compiled(layer), torch.randn(6, 300, 5)
    found, expected = [torch.stack([model(x)[0].mean((1, 2)) for _ in range(40)]).mean(0) for model in (run, layer)]
    torch.testing.assert_close(found, expected, rtol=0.1, atol=5e-3)
    assert not torch.equal(run(x)[0], run(x)[0])
    torch.testing.assert_close(compiled(layer.eval())(x)[0], layer(x)[0])


def test_training_follows_eager_mode():
    """Y7: twenty steps of Adam."""
    model = torch.nn.ModuleDict({"body": torch.nn.GRU(5, 8, 2, batch_first=True), "head": torch.nn.Linear(8, 3)})
    x, labels = torch.randn(8, 12, 5), torch.randint(0, 3, (8,))

    def losses(wrap):
        own = copy.deepcopy(model)
        step = wrap(lambda: torch.nn.functional.cross_entropy(own["head"](own["body"](x)[0][:, -1]), labels))
        optimizer, found = torch.optim.Adam(own.parameters(), 0.01), []
        for _ in range(20):
            optimizer.zero_grad()
            loss = step()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found
    np.testing.assert_allclose(losses(compiled), losses(lambda step: step), rtol=1e-4)


def test_a_report_has_whole_layers():
    """Y7: whether the switch is on or not."""
    with torch._dynamo.config.patch(allow_rnn=False):
        found = report(layer_of("lstm of layers").eval(), torch.randn(2, 3, 5))
    assert [entry.calls for entry in found.ops if entry.op == "nervure.recurrence.default"] == [4]
    assert all([entry.is_compiled for entry in found.ops])


@pytest.mark.parametrize("kind, sizes, has_biases", [("rnn_relu", (4, 4), False), ("gru", (12, 4), True),
                                                    ("lstm", (16, 2), True)])
def test_the_ops_are_sound_where_pytorch_runs_them(kind, sizes, has_biases):
    """Y7: shapes and gradients, by PyTorch's own checks; nervure computes them there as well."""
    def drawn(*shape):
        return torch.randn(shape, dtype=torch.float64, requires_grad=True)
    gates, shown = sizes
    weights = [drawn(gates, 3), drawn(gates, shown), *[drawn(gates) for _ in range(2 * has_biases)]]
    weights += [drawn(shown, 4)] if kind == "lstm" else []
    x, states = drawn(3, 2, 3), [drawn(2, shown), *[drawn(2, 4) for _ in range(kind == "lstm")]]
    torch.library.opcheck(torch.ops.nervure.recurrence.default, (x, states, weights, kind, has_biases, False),
                          test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
    count = len(states)

    def run(x, *others):
        found = torch.ops.nervure.recurrence(x, list(others[:count]), list(others[count:]), kind, has_biases, True)
        return tuple(found[:1 + count])
    assert torch.autograd.gradcheck(run, (x, *states, *weights), fast_mode=True)


def test_a_model_is_imported_with_its_loops():
    """Y7: ``nv.from_torch`` makes loops of its layers, for any batch, and trains."""
    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.LSTM(5, 8, 2, batch_first=True, bidirectional=True)
            self.head = torch.nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.body(x)[0])
    model = Tagger()
    dim = torch.export.Dim
    own = nv.from_torch(model, [torch.randn(2, 20, 5)], dynamic={"x": {0: dim.AUTO, 1: dim.AUTO}})
    for batch, steps in ((7, 20), (3, 50)):
        x = torch.randn(batch, steps, 5)
        np.testing.assert_allclose(own.eval()(x.numpy()).numpy(), model(x).detach().numpy(), atol=1e-6)
    assert {path for path, _ in own.named_parameters()} == {path for path, _ in model.named_parameters()}
    y = own.train()(x.numpy())
    loss = nv.mean(y * y)
    program = nv.computation([loss, nv.optim.Adam(0.01)(loss)])
    values = [program()[0].item() for _ in range(5)]
    assert values[-1] < values[0] and len(nv.explain(program).steps) < 200


def test_an_exported_program_keeps_its_layers():
    """Y8: its overloads are written as ops of a layer, too."""
    model = torch.nn.GRU(5, 8, 2).eval()
    program = torch.export.export(model, (torch.randn(20, 2, 5),))
    own, x = nv.from_torch(program), torch.randn(20, 2, 5)
    found = own(x.numpy())
    for mine, theirs in zip(found, model(x), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.detach().numpy(), atol=1e-6)
    assert len(nv.explain(nv.computation(found[0])).steps) < 20


def test_packed_sequences_run_in_pytorch():
    """Y7: with the numbers of eager mode."""
    layer, x = torch.nn.LSTM(5, 8), torch.randn(6, 3, 5)

    def run(x):
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, [6, 4, 1])
        return torch.nn.utils.rnn.pad_packed_sequence(layer(packed)[0])[0] * 2
    torch.testing.assert_close(torch.compile(run, backend=backend)(x), run(x))
