"""Linear algebra of compiled models: gradients, matrices for which an op fails, and what stays with PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from nervure import transformers  # noqa: E402
from nervure.bridges.torch import backend  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402

STRICT = {"strict": True}


def matrix() -> torch.Tensor:
    torch.manual_seed(0)
    a = torch.randn(4, 4, dtype=torch.float64)
    return (a @ a.T + 2 * torch.eye(4)).requires_grad_()


def test_gradients_go_through_factorisations():
    def function(a):
        return torch.linalg.inv(a).sum() + torch.linalg.cholesky(a).sum() + torch.linalg.slogdet(a)[1]
    a = matrix()
    found = [torch.autograd.grad(run(a), a)[0] for run in (torch.compile(function, backend=backend), function)]
    assert_alike(*found, scale=100)


def test_a_matrix_for_which_an_op_fails_is_an_error_of_the_call():
    """Y9."""
    singular = torch.zeros(3, 3)
    for function in (torch.linalg.inv, torch.linalg.cholesky):
        torch._dynamo.reset()
        compiled = torch.compile(lambda a, function=function: function(a) * 2, backend=backend, options=STRICT)
        assert_alike(compiled(torch.eye(3)), torch.eye(3) * 2)
        with pytest.raises(nv.NumericError):
            compiled(singular)


def test_what_pytorch_says_of_a_failure_is_its_own():
    """Y9."""
    def function(a):
        found, info = torch.linalg.inv_ex(a)
        return found * 2, info
    for a in (torch.eye(3), torch.zeros(3, 3)):
        torch._dynamo.reset()
        got, expected = torch.compile(function, backend=backend)(a), function(a)
        assert_alike(got[1], expected[1])


READERS = {
    "clamp": lambda info, y: torch.clamp(y, min=info), "other bound": lambda info, y: torch.clamp(y, max=info),
    "where": lambda info, y: torch.where(info == 0, y, 0), "both": lambda info, y: (torch.clamp(y, min=info), info)}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["inv_ex", "cholesky_ex", "solve_ex"])
def test_what_reads_a_result_that_a_row_does_not_give_runs_in_pytorch(name, reader):
    """Y9: nothing takes its absence for an argument that was left out."""
    given = {"solve_ex": [torch.ones(3, 2, 1)]}.get(name, [])
    def function(a, y):
        found, info = getattr(torch.linalg, name)(a, *given)
        return found * 2, READERS[reader](info, y)
    a, y = torch.eye(2).repeat(3, 1, 1), torch.tensor([-5.0, -3.0, 7.0])
    a[1, 1] = 0
    for got, expected in zip(torch.compile(function, backend=backend)(a, y)[1:], function(a, y)[1:], strict=True):
        assert_alike(got, expected)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="reads its result") as caught:
        torch._dynamo.reset()
        torch.compile(function, backend=backend, options=STRICT)(a, y)
    assert name in str(caught.value)


@pytest.mark.parametrize("function", [torch.linalg.det, lambda a: (a.det() * a).sum(), torch.logdet])
def test_gradients_of_determinants(function):
    """Y9: their factors, which PyTorch's derivative reads, are not given."""
    a = matrix()
    found = [torch.autograd.grad(run(a), a)[0] for run in (torch.compile(function, backend=backend), function)]
    assert_alike(*found, scale=100)


def test_pivots_stay_with_pytorch():
    a = matrix().detach()
    got = torch.compile(lambda a: torch.linalg.lu_factor(a * 2), backend=backend)(a)
    assert_alike(list(got), list(torch.linalg.lu_factor(a * 2)), scale=10)


class Solving(torch.nn.Module):
    """It returns what a function makes of the input and of a weight."""

    def __init__(self, function):
        super().__init__()
        self.weight, self.function = torch.nn.Parameter(matrix().detach()), function

    def forward(self, x):
        return self.function(self.weight, x)


FACTORISING = {
    "solve": lambda a, x: torch.linalg.solve(a, x.T).T, "inv": lambda a, x: x @ torch.linalg.inv(a) @ torch.inverse(a),
    "cholesky": lambda a, x: x @ torch.linalg.cholesky(a), "several": lambda a, x: (
        torch.linalg.inv(a) @ torch.linalg.solve(a, torch.linalg.cholesky(a)), torch.linalg.cholesky(x.T @ x + a)),
    "normal": lambda a, x: torch.distributions.MultivariateNormal(a[0], a, validate_args=False).log_prob(x)}


@pytest.mark.parametrize("kind", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", FACTORISING)
def test_models_with_factorisations_are_imported(name, kind, monkeypatch):
    """Y9: a matrix for which one fails is an error of the call there, too."""
    model, x = Solving(FACTORISING[name]), torch.randn(3, 4, dtype=torch.float64)
    with transformers.make_transformer(kind) as made:
        monkeypatch.setattr(transformers, "default", lambda: made)
        own, rows = nv.from_torch(model, [x[:2]], dynamic=True), nv.placeholder((nv.dim("n"), 4), nv.float64)
        found = own(rows)
        found = found if isinstance(found, tuple) else (found,)
        loss = sum([nv.sum(y * y, out_axes=()) for y in found])
        *values, gradient = nv.computation([*found, nv.deriv(loss, own.place_at("weight"))], rows)(x.numpy())
        own.weight = nv.variable((4, 4), np.zeros((4, 4)))
        if name != "several":
            with pytest.raises(nv.NumericError):
                own(x.numpy()).numpy()
    several = model(x)
    expected = several if isinstance(several, tuple) else (several,)
    sum([y.square().sum() for y in expected]).backward()
    for one, other in zip([*values, gradient], [*expected, model.weight.grad], strict=True):
        assert_alike(torch.from_numpy(np.array(one)), other.detach(), scale=1e4)
