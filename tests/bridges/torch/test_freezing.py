"""Weights that are packed once for each version, with ``options={"freezing": True}``, and in each call without it."""

from __future__ import annotations

import copy
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, freezing  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402

on_cpu = pytest.mark.skipif(nv.transformers.default().name != "cpu", reason="there is no cpu transformer here")


class Layer(torch.nn.Module):
    """A product whose weight is packed."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(96, 70))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


def frozen(model, **options):
    return torch.compile(model, backend=backend, options={"freezing": True, "strict": True, **options})


def runs(programs) -> list[int]:
    """How often each panel was made."""
    return [panel.runs for program in programs for panel in program.executable.report().panels]


@on_cpu
def test_a_weight_is_packed_once_for_each_version(made):
    """Y4: calls pack it once, until an op of PyTorch writes to it, or it lies elsewhere."""
    model = Layer()
    compiled, x = frozen(model), torch.randn(32, 70)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)

    def step():
        model.weight.grad = torch.randn(96, 70)
        optimiser.step()

    def elsewhere():
        model.weight.data = torch.randn(96, 70)
    writes = [lambda: None, step, lambda: model.weight.detach().mul_(2), elsewhere,
              lambda: model.load_state_dict({"weight": torch.randn(96, 70)}),
              lambda: torch.nn.init.zeros_(model.weight), lambda: torch._foreach_add_([model.weight.detach()], 1.0)]
    for number, write in enumerate(writes):
        write()
        with torch.no_grad():
            for _ in range(3):
                assert_alike(compiled(x), model(x), scale=100)
        assert runs(made) == [number + 1]


def test_addresses_come_back_in_one_of_two_graphs():
    """What one graph has borrowed is known to the other."""
    model = Layer()
    first, second = frozen(model), frozen(lambda x: model(x) * 2)
    x, one, other = torch.randn(32, 70), model.weight.data, torch.randn(96, 70)
    with torch.no_grad():
        for data in (one, other, one, other):
            model.weight.data = data
            assert_alike(second(x), model(x) * 2, scale=100)
            if data is one:
                assert_alike(first(x), model(x), scale=100)
            model.weight.data = one
            assert_alike(first(x), model(x), scale=100)


@on_cpu
def test_graphs_share_what_is_packed(made):
    """Y5: a weight lies in memory once, and twice where it is packed, for all graphs that read it."""
    model = Layer()
    compiled = frozen(model)
    with torch.no_grad():
        for rows in (32, 48, 64):
            x = torch.randn(rows, 70)
            assert_alike(compiled(x), model(x), scale=100)
    variables = {variable for program in made for variable in program.executable.function.variables}
    assert len(variables) == 1 and len(made) >= 2
    cell, = nv.transformers.default().cells.of(list(variables))
    assert cell.array.ctypes.data == model.weight.data_ptr()
    panels = {id(panel) for program in made for panel in program.executable._panels.own.values()}
    assert len(panels) == 1


def test_models_of_one_class_have_their_own_weights():
    models = [Layer() for _ in range(3)]
    compiled, x = frozen(lambda layer, x: layer(x)), torch.randn(32, 70)
    with torch.no_grad():
        for _ in range(2):
            for model in models:
                assert_alike(compiled(model, x), model(x), scale=100)


def test_threads_with_different_weights():
    program, weights = weighted_program(), [torch.randn(96, 70) for _ in range(4)]
    x = torch.randn(32, 70)

    def check(number):
        weight = weights[number % 4]
        return torch.allclose(program(x, weight)[0], x @ weight.t(), atol=1e-3)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(check, range(64)))


def weighted_program():
    graph = torch.fx.experimental.proxy_tensor.make_fx(
        lambda x, weight: torch.ops.aten.mm.default(x, torch.ops.aten.t.default(weight)),
        tracing_mode="fake")(torch.randn(32, 70), torch.randn(96, 70))
    program = freezing.program_of(graph, "graph", static=frozenset(["weight_1"]))
    assert isinstance(program, freezing.FreezingProgram)
    return program


def test_what_reads_a_weight_keeps_neither_it_nor_its_program():
    program, x = weighted_program(), torch.randn(32, 70)
    weight = torch.randn(96, 70)
    program(x, weight)
    known, = program._sets.values()
    watched = [weakref.ref(weight), weakref.ref(known.program), weakref.ref(weight.untyped_storage())]
    del weight, known
    gc.collect()
    assert not program._sets and [each() for each in watched] == [None] * 3


@pytest.mark.parametrize("make", [
    lambda: torch.randn(192, 70)[::2], lambda: torch.randn(96, 1).expand(96, 70),
    lambda: torch.randn(70, 96).t().contiguous().t().t()], ids=["gaps", "repeated", "plain"])
def test_weights_that_cannot_be_borrowed_are_arguments(make):
    program, x = weighted_program(), torch.randn(32, 70)
    for weight in (make(), torch.randn(96, 70)):
        for _ in range(2):
            assert_alike(program(x, weight)[0], x @ weight.t(), scale=100)


def test_tensors_without_versions_are_arguments():
    program, x = weighted_program(), torch.randn(32, 70)
    with torch.inference_mode():
        weight = torch.randn(96, 70)
        for _ in range(3):
            weight.mul_(2)
            assert_alike(program(x, weight)[0], x @ weight.t(), scale=100)


def test_two_weights_that_share_memory():
    both = torch.randn(128, 70)

    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Parameter(both[:96]), torch.nn.Parameter(both[32:])

        def forward(self, x):
            return x @ self.first.t() + x @ self.second.t()
    model = Two()
    compiled, x = frozen(model), torch.randn(32, 70)
    with torch.no_grad():
        for _ in range(3):
            model.first.mul_(1.5)
            assert_alike(compiled(x), model(x), scale=100)


def test_weights_that_a_graph_writes_are_no_variables(made):
    class Counting(Layer):
        def forward(self, x):
            self.weight.mul_(0.5)
            return super().forward(x)
    model, x = Counting(), torch.randn(32, 70)
    own = copy.deepcopy(model)
    compiled = frozen(own)
    with torch.no_grad():
        for _ in range(3):
            assert_alike(compiled(x), model(x), scale=100)
            assert_alike(own.weight, model.weight)
    assert not any([program.executable.function.variables for program in made])


def test_gradients_are_computed_from_arguments(made):
    """Y4: only graphs without gradients are frozen."""
    model, x = Layer(), torch.randn(32, 70)
    compiled = frozen(model)
    for _ in range(2):
        model.weight.data.mul_(2)
        y = compiled(x)
        assert_alike(y, model(x), scale=100)
        y.sum().backward()
    assert not any([program.executable.function.variables for program in made])


def test_by_default_every_write_is_seen(made):
    """Y4: without the option a call reads weights as they are, though PyTorch has not counted a write."""
    model, x = Layer(), torch.randn(32, 70)
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for write in (lambda: None, lambda: model.weight.data.mul_(2),
                      lambda: np.multiply(model.weight.numpy(), 3, out=model.weight.numpy())):
            write()
            for _ in range(2):
                assert_alike(compiled(x), model(x), scale=100)
    assert not any([program.executable.function.variables for program in made])


def test_parts_beside_what_falls_back_are_frozen(made):
    model = Layer()
    compiled = torch.compile(lambda x: torch.ops.aten.cummax(model(x), 1)[0] * 2, backend=backend,
                             options={"freezing": True})
    x = torch.randn(32, 70)
    with torch.no_grad():
        for _ in range(3):
            model.weight.mul_(1.5)
            assert_alike(compiled(x), torch.cummax(model(x), 1)[0] * 2, scale=100)
    assert any([program.executable.function.variables for program in made])


@on_cpu
def test_imported_weights_lie_once_and_twice_if_packed():
    """Y6: the initial value of an imported weight is its value, until another one replaces it."""
    model = Layer()
    own = nv.from_torch(model, [torch.randn(32, 70)])
    x = nv.placeholder((32, 70))
    predict = nv.computation(own.eval()(x), x)
    given = np.random.default_rng(0).standard_normal((32, 70)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_allclose(predict(given), model(torch.from_numpy(given)).detach(), rtol=1e-4, atol=1e-3)
    variable, = predict.executable.function.variables
    cell, = nv.transformers.default().cells.of([variable])
    assert np.shares_memory(cell.array, variable.initial_value())
    panel, = predict.executable.report().panels
    assert panel.runs == 1
