"""Imported models take the inputs of the model, by position or name, and give its results in its form."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402

nn = torch.nn


class Ordered(nn.Module):
    """Its inputs differ in what it does with them."""

    def forward(self, a, b=None, c=None, *, scale=None, **others):
        found = a - (0 if b is None else 2 * b) - (0 if c is None else 4 * c)
        found = found * (1 if scale is None else scale)
        return found + sum(others.values())


def ordered(names):
    return {name: torch.full((2,), 1.0 + "abc scale more".index(name)) for name in names.split()}


@pytest.mark.parametrize(("names", "count", "dynamic"), [
    ("a b c", 3, True), ("c b a", 3, True), ("b a", 2, False), ("a c", 1, True), ("c scale a b", 3, True),
    ("more a", 1, False), ("scale more b a", 2, False)])
def test_inputs_have_the_positions_of_the_model_whatever_the_order_of_the_examples(names, count, dynamic):
    """After an input that is left out, and where the model takes names alone, there are no positions. PyTorch traces
    any number of inputs by name with fixed lengths alone.
    """
    given = ordered(names)
    own, listed = nv.from_torch(Ordered(), given, dynamic), sorted(set(given) & {"a", "b", "c"})
    for taken in range(len(given) + 1):
        by_position = [given[name] for name in listed[:taken]]
        by_name = {name: x for name, x in given.items() if name not in listed[:taken]}
        if taken <= count:
            expected = Ordered()(*by_position, **by_name)
            found = own(*[x.numpy() for x in by_position], **{name: x.numpy() for name, x in by_name.items()})
            assert found.tolist() == expected.tolist()
        elif taken <= len(listed):
            with pytest.raises(nv.InvalidArgument, match="the model takes other inputs") as caught:
                own(*[x.numpy() for x in by_position], **{name: x.numpy() for name, x in by_name.items()})
            assert f"{listed[-1]}=" in caught.value.expected


@pytest.mark.parametrize("is_program", [False, True])
def test_an_input_that_is_given_twice_is_refused(is_program):
    x = torch.ones(2)
    model = torch.export.export(Ordered(), (x, x + 1), {"c": x + 2}) if is_program else Ordered()
    own, given = nv.from_torch(model, {"a": x, "b": x, "c": x}), x.numpy()
    assert own(given, c=given, b=given).tolist() == own(given, given, c=given).tolist() == [-5, -5]
    for inputs, named in (([given, given], {"a": given, "c": given}), ([given], {"a": given, "c": given}),
                          ([given] * 3, {"c": given}), ([given] * 3, {"a": given})):
        with pytest.raises(nv.InvalidArgument, match="the model takes other inputs"):
            own(*inputs, **named)


def test_an_exported_program_takes_by_name_what_it_was_exported_with_by_name():
    x = torch.ones(2)
    own = nv.from_torch(torch.export.export(Ordered(), (x,), {"c": x + 1, "b": x + 2}))
    assert own(np.full(2, 9, np.float32), b=x.numpy(), c=x.numpy()).tolist() == [3, 3]
    with pytest.raises(nv.InvalidArgument, match="the model takes other inputs"):
        own(x.numpy(), x.numpy(), x.numpy())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("is_named", [False, True])
def test_one_tensor_may_be_the_example_of_several_inputs(dynamic, is_named):
    """``torch.export`` itself takes one input for the other then."""
    x, inputs = torch.ones(2), [np.full(2, value, np.float32) for value in (9, 1, 0.5)]
    own = nv.from_torch(Ordered(), {"a": x, "b": x, "c": x} if is_named else [x, x, x], dynamic)
    assert own(*inputs).tolist() == [5, 5]


def test_complex_parameters_are_parameters():
    """Their gradients are the conjugates of PyTorch's; optimisers refuse them, rather than leave them as they are."""
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))
            self.b = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return (x * self.w).real + (x * self.w).imag * 2 + self.b

    model, x = Turned(), torch.randn(3, 2)
    own = nv.from_torch(model, [x])
    assert [name for name, _ in own.named_parameters()] == ["w", "b"]
    y, expected = own(x.numpy()), model(x)
    expected.square().sum().backward()
    found = nv.computation(nv.deriv(nv.sum(y * y, out_axes=()), own.w))()
    np.testing.assert_allclose(found, model.w.grad.numpy().conj(), rtol=1e-4)
    with pytest.raises(nv.WrongKind, match="only a real variable"):
        nv.optim.SGD(0.1)(nv.sum(y * y, out_axes=()))


class Returning(nn.Module):
    """It returns what a function makes of its input."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@dataclasses.dataclass
class Pair:
    """A result that a model gives a class of its own."""

    first: object
    second: object


class Kept:
    """One that shows no fields."""

    def __init__(self, value):
        self.value = value


torch.export.register_dataclass(Pair)
torch.utils._pytree.register_pytree_node(Kept, lambda x: ([x.value], None), lambda found, _: Kept(found[0]))


@pytest.mark.parametrize("is_program", [False, True])
def test_dataclasses_among_the_results_become_dicts(is_program):
    model, x, auto = Returning(lambda x: [Pair(x, Pair(x * 2, x.shape[0]))]), torch.ones(2, 3), torch.export.Dim.AUTO
    own = (nv.from_torch(torch.export.export(model, (x,), dynamic_shapes=({0: auto},))) if is_program
           else nv.from_torch(model, [x], dynamic=True))
    found, = own(np.ones((5, 3), np.float32))
    assert found["first"].tolist() == [[1] * 3] * 5
    assert found["second"]["first"].tolist() == [[2] * 3] * 5 and found["second"]["second"] == 5


@pytest.mark.parametrize(("of_class", "name"), [(Kept, "Kept"), (type("Unknown", (Kept,), {}), "Unknown")])
@pytest.mark.parametrize("is_length", [False, True])
def test_results_of_other_classes_are_refused_by_their_name(of_class, name, is_length):
    model = Returning(lambda x: (x, of_class(x.shape[0] if is_length else x)))
    with pytest.raises(nv.NotSupported, match="a class that the import does not know") as caught:
        nv.from_torch(model, [torch.ones(2, 3)], dynamic=True)
    assert name in caught.value.got and "use_cache=False" in caught.value.help
