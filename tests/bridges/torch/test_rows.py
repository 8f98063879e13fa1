"""Every row of the table gives what PyTorch gives, in type, shape and elements."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_unflatten  # noqa: E402

import nervure as nv  # noqa: E402
from nervure import transformers  # noqa: E402
from nervure.bridges.torch.all_rows import ROWS  # noqa: E402
from nervure.bridges.torch.traced_program import TracedProgram  # noqa: E402
from nervure.bridges.torch.translation import translated  # noqa: E402
from tests.bridges.core_overloads import by_route  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402
from tests.bridges.torch.row_cases import CASES, GIVEN, UP_TO_PHASES  # noqa: E402


@pytest.fixture
def used(request, monkeypatch) -> Iterator[str]:
    """The default transformer is one of this kind, of the test's own."""
    with transformers.make_transformer(request.param) as made:
        monkeypatch.setattr(transformers, "default", lambda: made)
        yield request.param


def overload(name: str) -> Any:
    space = torch.ops.prims if name.startswith("prims.") else torch.ops.aten
    packet, _, kind = name.removeprefix("prims.").rpartition(".")
    return getattr(getattr(space, packet), kind)


def graph_of(name: str, flat: list[Any], form: Any) -> torch.fx.GraphModule:
    """A graph of one call of an overload, whose tensors are arguments."""
    graph = torch.fx.Graph()
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(entry) if isinstance(entry, torch.Tensor) else entry for entry in flat]
        arguments, named = tree_unflatten(fakes, form)
        value = overload(name)(*arguments, **named)
    nodes = []
    for entry, fake in zip(flat, fakes, strict=True):
        if isinstance(entry, torch.Tensor):
            node = graph.placeholder(f"x{len(nodes)}")
            node.meta["val"] = fake
            nodes.append(node)
        else:
            nodes.append(entry)
    arguments, named = tree_unflatten(nodes, form)
    call = graph.call_function(overload(name), tuple(arguments), named)
    call.meta["val"] = value
    results = [call]
    if isinstance(value, (list, tuple)):
        results = []
        for at, part in enumerate(value[:GIVEN.get(name)]):
            if part is not None:
                item = graph.call_function(operator.getitem, (call, at))
                item.meta["val"] = part
                results.append(item)
    graph.output(tuple(results))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def compare(name: str, case: list[Any]) -> None:
    """Runs an overload by itself, as a graph of one op."""
    named = case[-1] if case and isinstance(case[-1], dict) else {}
    flat, form = tree_flatten((case[:-1] if named else case, named))
    tensors = [entry for entry in flat if isinstance(entry, torch.Tensor)]
    found = overload(name)(*[entry.clone() if isinstance(entry, torch.Tensor) else entry
                             for entry in (case[:-1] if named else case)], **named)
    several = found[:GIVEN.get(name)] if isinstance(found, (list, tuple)) else [found]
    expected = [entry for entry in several if entry is not None]
    graph = graph_of(name, flat, form)
    got = TracedProgram(translated(graph), graph)(*tensors)
    if name in UP_TO_PHASES:
        got, expected = [[entry.abs() for entry in several] for several in (got, expected)]
    assert_alike(got, expected, scale=20)


def test_every_row_has_cases():
    """But for ops of the bridge itself, which ``test_recurrent.py`` and ``test_resizing.py`` try."""
    assert set(CASES) == {name for name in ROWS if not name.startswith("nervure.")}


def test_pytorch_runs_these_overloads_of_core_aten_alone():
    assert set(by_route()["PyTorch"]) <= {"_local_scalar_dense.default", "nonzero.default"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("used", ["interpreter"], indirect=True)
def test_rows_give_what_pytorch_gives(name, used):
    for case in CASES[name]:
        compare(name, case)


@pytest.mark.parametrize("name", [*CASES][::5])
@pytest.mark.parametrize("used", ["cpu"], indirect=True)
def test_compiled_rows_give_what_pytorch_gives(name, used):
    for case in CASES[name][:2]:
        compare(name, case)


MEETING = {
    "searchsorted integers": lambda: torch.searchsorted(torch.tensor([1, 2, 3]), torch.tensor([2.5, -0.5])),
    "searchsorted bytes": lambda: torch.searchsorted(torch.tensor([1, 7, 250], dtype=torch.uint8),
                                                     torch.tensor([300, -7, 7, 8])),
    "searchsorted number": lambda: torch.searchsorted(torch.tensor([1, 2, 3]), 2.5),
    "bytes as a mask": lambda: torch.index_put(torch.zeros(3), (torch.ones(3, dtype=torch.uint8),),
                                               torch.tensor([5.0, 6.0, 7.0])),
    "bytes as a mask, added": lambda: torch.index_put(torch.zeros(3), (torch.tensor([1, 0, 1], dtype=torch.uint8),),
                                                      torch.tensor(5.0), True),
    "an end of bags": lambda: torch.nn.functional.embedding_bag(
        torch.tensor([3, 3, 2, 0, 1]), torch.arange(15.0).reshape(5, 3), torch.tensor([0, 2, 4]), mode="sum",
        include_last_offset=True),
    "complex to bytes": lambda: torch.tensor([-3 + 0j, 250]).to(torch.uint8),
    "norms of complex numbers": lambda: torch.linalg.vector_norm(torch.tensor([[3 + 4j, 1], [0, 2j]]), float("inf"), 0)}


@pytest.mark.parametrize("name", MEETING)
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_operands_of_other_types_are_taken_as_pytorch_takes_them(name):
    assert_alike(torch.compile(MEETING[name], backend="nervure")(), MEETING[name]())


ZEROS_AND_OTHERS = [0.0, -0.0, 3.0, -3.0, 1e-9, -1e-9, 2.5, -2.5, float("inf"), -float("inf")]


@pytest.mark.parametrize("used", ["interpreter", "cpu"], indirect=True)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ["sign.default", "remainder.Tensor", "fmod.Tensor", "remainder.Scalar_Tensor"])
def test_zeros_have_the_sign_that_pytorch_gives_them(name, dtype, used):
    """That of a remainder is the sign of what is divided; torch.sign gives none."""
    x = torch.tensor(ZEROS_AND_OTHERS, dtype=dtype)
    for case in {"sign.default": [[x]], "remainder.Scalar_Tensor": [[0.0, x], [-3.0, x], [-0.0, x]]}.get(
            name, [[x[:, None], x], [x, torch.tensor(-3.0)], [torch.tensor([-3, 0, 3]), torch.tensor(1.5)]]):
        flat, form = tree_flatten((case, {}))
        graph = graph_of(name, flat, form)
        got, = TracedProgram(translated(graph), graph)(*[entry for entry in flat if isinstance(entry, torch.Tensor)])
        expected = overload(name)(*case)
        assert_alike(got, expected)
        is_number = ~expected.isnan()
        assert torch.equal(got.signbit() & is_number, expected.signbit() & is_number)


@pytest.mark.parametrize("function", [torch.remainder, torch.fmod])
def test_derivatives_of_remainders_without_rest(function):
    """A zero with a sign has the derivatives that the rest has."""
    class Rest(torch.nn.Module):
        def forward(self, x, y):
            return function(x, y)
    given = [torch.tensor([6.0, -6.0, 5.0, -7.0], requires_grad=True), torch.tensor([3.0, 3.0, 3.0, -2.0],
                                                                                    requires_grad=True)]
    own = nv.from_torch(Rest(), given)
    places = [nv.placeholder((4,)), nv.placeholder((4,))]
    found = nv.computation(nv.deriv(nv.sum(own(*places)), places), *places)(*[entry.detach().numpy()
                                                                             for entry in given])
    for slope, expected in zip(found, torch.autograd.grad(function(*given).sum(), given), strict=True):
        assert slope.tolist() == expected.tolist()


@pytest.mark.parametrize("order", [float("inf"), -float("inf"), 1, 2, 3])
def test_gradients_of_norms_of_complex_numbers(order):
    """The element that is the norm is found again by the bits of its size."""
    x = torch.randn(64, 50, dtype=torch.complex64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    def function(x):
        return torch.linalg.vector_norm(x, order, 0).sum()
    found = [torch.autograd.grad(run(x), x)[0] for run in (torch.compile(function, backend="nervure"), function)]
    assert_alike(*found, scale=100)
