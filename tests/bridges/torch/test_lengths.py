"""Imported models take the lengths for which their ops are defined, whatever PyTorch knew of those of the example."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402

nn = torch.nn


class Parts(nn.Module):
    """It returns what a function makes of its input, of a weight with 9 rows, and of a recurrent layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.table = nn.Parameter(torch.randn(9))
        self.layer = nn.GRU(1, 3, batch_first=True)

    def forward(self, x):
        return self.function(self, x)


FUNCTIONS = {  # with the least number of rows, the least number of columns and the largest
    "first row": (lambda m, x: x - x[:1], 1, 0, None), "first element": (lambda m, x: x[:, 0], 0, 1, None),
    "last element": (lambda m, x: x[:, -1] * x[-1, 0], 1, 1, None), "first": (lambda m, x: x[:, :1] + x, 0, 1, None),
    "differences": (lambda m, x: torch.cat([x[:, 1:] - x[:, :-1], x[:, -1:]], 1), 0, 1, None),
    "table": (lambda m, x: x + m.table[:x.shape[1]], 0, 0, 9),
    "part of a table": (lambda m, x: x[:, -1:] * m.table[:x.shape[1]], 0, 1, 9),
    "elementwise": (lambda m, x: x * 2, 0, 0, None),
    "lengths": (lambda m, x: x[:, 0] * x.shape[1] + torch.cat([x, x], 1)[:, -1], 0, 1, None),
    "last step": (lambda m, x: m.layer(x[:, :, None])[0][:, -1], 0, 1, None)}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transformer", ["cpu", "interpreter"])
def test_symbols_without_bounds_are_lengths_of_any_model(name, transformer):
    """Calls of lengths for which an op has no elements are refused, as arrays of such lengths are."""
    function, rows, least, most = FUNCTIONS[name]
    model, auto = Parts(function), torch.export.Dim.AUTO
    own = nv.from_torch(model, [torch.randn(3, 5)], dynamic=({0: auto, 1: auto},))
    x = nv.placeholder((nv.dim("n"), nv.dim("m")))
    y = own(x)
    run = nv.transformers.make_transformer(transformer).computation(
        [y, nv.deriv(nv.sum(y * y, out_axes=()), x)], x)
    for shape in ((3, 5), (2, 1), (1, 7), (1, 1), (4, 9), (0, 3), (3, 0), (2, 12)):
        given = torch.randn(shape, requires_grad=True)
        if shape[0] >= rows and least <= shape[1] <= (shape[1] if most is None else most):
            expected = model(given)
            expected.square().sum().backward()
            found, gradient = run(given.detach().numpy())
            np.testing.assert_allclose(found, expected.detach(), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(gradient, given.grad, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(own(given.detach().numpy()).numpy(), expected.detach(), rtol=1e-4, atol=1e-5)
            continue
        for call in (run, own):
            with pytest.raises(nv.ShapeMismatch, match=r"the model (takes no|does something else for) such lengths"):
                call(given.detach().numpy())


def test_expressions_are_lengths_of_a_model_too():
    """Results have the lengths that follow from them."""
    model, auto, n = Parts(FUNCTIONS["part of a table"][0]), torch.export.Dim.AUTO, nv.dim("n")
    own = nv.from_torch(model, [torch.randn(3, 5)], dynamic=({0: auto, 1: auto},)).eval()
    x = nv.placeholder((n, 2 * n))
    y = own(x[:, 1:2 * n - 1])
    assert [nv.types.dim.equal(*pair) for pair in zip(y.shape, (n, nv.types.dim.dim_max(2 * n - 2, 0)))] == [True] * 2
    run = nv.computation(y, x)
    for rows in (2, 4):
        given = torch.randn(rows, 2 * rows)
        expected = model(given[:, 1:-1]).detach()
        np.testing.assert_allclose(run(given.numpy()), expected, rtol=1e-5, atol=1e-6)
    for rows in (1, 6):
        with pytest.raises(nv.ShapeMismatch, match="such lengths"):
            run(np.ones((rows, 2 * rows), np.float32))


def test_saved_computations_of_models_check_lengths(tmp_path):
    own = nv.from_torch(Parts(lambda m, x: m.layer(x[:, :, None])[0][:, -1]), [torch.randn(2, 3)],
                        dynamic=({1: torch.export.Dim.AUTO},))
    x = nv.placeholder((2, nv.dim("steps")))
    nv.save(tmp_path / "model.safetensors", nv.computation(own(x), x))
    run, given = nv.load(tmp_path / "model.safetensors"), np.ones((2, 4), np.float32)
    np.testing.assert_allclose(run(given), own(given).numpy(), rtol=1e-5)
    with pytest.raises(nv.ShapeMismatch, match="the model takes no such lengths"):
        run(np.ones((2, 0), np.float32))
