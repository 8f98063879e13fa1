"""The parts of batches: inputs in order and by name, targets one or several, weights of examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.training.parts import BatchParts, BatchRoles, read_roles

generator = np.random.default_rng(2)
X = generator.standard_normal((40, 3)).astype(np.float32)
Y = (X @ np.float32([[1.0], [2.0], [3.0]])).astype(np.float32)
MASK = (generator.random((40, 3)) < 0.5).astype(np.float32)
squared = nn.losses.mean_squared_error


@pytest.mark.parametrize(("targets", "weights", "batch", "parts"), [
    (None, None, ("x",), BatchParts(("x",), {}, "x", None)),
    (None, None, ("x", "z", "y"), BatchParts(("x", "z"), {}, "y", None)),
    (None, -1, ("x", "y", "w"), BatchParts(("x",), {}, "y", "w")),
    (None, 1, ("x", "w"), BatchParts(("x",), {}, "x", "w")),
    (0, None, ("y", "x"), BatchParts(("x",), {}, "y", None)),
    ((1, 2), 0, ("w", "a", "b", "x"), BatchParts(("x",), {}, ("a", "b"), "w")),
    ("y", None, {"y": 1, "x": 2}, BatchParts((), {"x": 2}, 1, None)),
    (["y", "z"], "w", {"w": 0, "x": 1, "y": 2, "z": 3}, BatchParts((), {"x": 1}, {"y": 2, "z": 3}, 0))])
def test_roles(targets, weights, batch, parts):
    """T371, T372: by places of a tuple and names of a dict."""
    assert read_roles(targets, weights).parts(batch) == parts


@pytest.mark.parametrize(("targets", "weights", "kind", "message"), [
    (1.5, None, nv.WrongKind, "a name or a place"), (("y", 1), None, nv.InvalidArgument, "entries of one batch"),
    ("y", "y", nv.InvalidArgument, "entries of one batch"), ((), None, nv.InvalidArgument, "entries of one batch"),
    ("y", 0, nv.InvalidArgument, "entries of one batch"), (True, None, nv.WrongKind, "a name or a place")])
def test_roles_that_make_no_sense(targets, weights, kind, message):
    """T320, T371."""
    with pytest.raises(kind, match=message):
        read_roles(targets, weights)


@pytest.mark.parametrize(("roles", "batch", "message"), [
    (BatchRoles(), {"x": 1}, "have names"), (BatchRoles(("y",)), {"x": 1}, "lacks an entry"),
    (BatchRoles(("y",)), ("x", "y"), "lacks an entry"), (BatchRoles((3,)), ("x", "y"), "lacks an entry"),
    (BatchRoles(None, 0), ("w",), "lacks an entry"), (BatchRoles((-1,), 1), ("x", "y"), "entries of one batch"),
    (BatchRoles((1, -2), is_one=False), ("x", "y", "z"), "entries of one batch")])
def test_batches_whose_parts_make_no_sense(roles, batch, message):
    """T320, T371: entries that are not there, and one that is two parts by different numbers."""
    with pytest.raises(nv.InvalidArgument, match=message):
        roles.parts(batch)


class Masked(nn.Module):
    """Takes its inputs by name."""

    def __post_init__(self):
        self.layer = nn.LinearLayer(3, 1, weights=0.0, bias=False)

    def forward(self, x, mask=None):
        return self.layer(x if mask is None else x * mask)


def test_a_dict_batch_is_what_the_positions_are():
    """T371: the same bits as in a tuple, in whatever order the entries stand; axes by name."""
    one, other, third = [Masked() for _ in range(3)]
    nv.Trainer(one, nv.optim.SGD(0.1), squared).fit((X, MASK, Y), 3, shows=False)
    named = nv.Trainer(other, nv.optim.SGD(0.1), squared, targets="y")
    history = named.fit({"y": Y, "mask": MASK, "x": X}, 3, {"x": X, "mask": MASK, "y": Y}, shows=False)
    assert one.layer.weights.tolist() == other.layer.weights.tolist() and "validation_loss" in history[0]
    whole = named.predict({"x": X, "mask": MASK, "y": Y}, size=16)
    assert np.array_equal(whole, named.predict(x=X, mask=MASK)) and whole.shape == (40, 1)
    fresh = nv.Trainer(other, nv.optim.SGD(0.1), squared, targets="y")
    assert np.array_equal(whole, fresh.predict(x=X, mask=MASK)) and np.array_equal(whole, fresh.predict(X, mask=MASK))

    def loader(number):
        for start in range(0, 40, 10):
            rows = slice(start, start + 10)
            entries = [("x", X[rows]), ("y", Y[rows]), ("mask", MASK[rows])]
            yield dict(entries if start else entries[::-1])
    nv.Trainer(third, nv.optim.SGD(0.1), squared, targets="y").fit(loader, 2, shows=False)
    assert np.isfinite(third.layer.weights.numpy()).all()


def test_axes_of_a_dict():
    """T371: made up as a batch is; those of inputs serve predictions, too."""
    class Named(nn.Module):
        def __post_init__(self):
            self.w = nv.variable("F=3", 1.0)

        def forward(self, x, offsets):
            return nv.dot(x, self.w) + offsets["first"]
    axes = {"x": "N=n, F=3", "offsets": {"first": "N=n"}, "y": "N=n"}
    own = nv.Trainer(Named(), nv.optim.SGD(0.0), squared, axes=axes, targets="y")
    data = {"x": X, "y": X.sum(axis=1) + 1, "offsets": {"first": np.ones(40, np.float32)}}
    assert own.predict({"x": X, "offsets": data["offsets"]}).shape == (40,)
    assert own.evaluate(data)["loss"] < 1e-10
    with pytest.raises(nv.InvalidArgument, match="each array of a batch has axes"):
        nv.Trainer(Named(), nv.optim.SGD(0.0), squared, axes={"x": "N=n, F=3", "y": "N=n"}, targets="y").evaluate(data)


def test_an_entry_that_goes_nowhere_is_refused():
    """T371: a misspelled name is no input that is left out."""
    own = nv.Trainer(Masked(), nv.optim.SGD(0.1), squared, targets="y")
    with pytest.raises(nv.WrongKind, match="forward does not take these inputs"):
        own.fit({"x": X, "maks": MASK, "y": Y}, 1, shows=False)
    with pytest.raises(nv.InvalidArgument, match="the targets of a batch that is a dict have names"):
        nv.Trainer(Masked(), nv.optim.SGD(0.1), squared).fit({"x": X, "y": Y}, 1, shows=False)


def test_batches_are_made_up_as_the_first_one():
    """T320, T371: what differs is named, and no step is taken on it."""
    own = nv.Trainer(lambda x: x, lambda loss: nv.doall([]), squared)
    with pytest.raises(nv.InvalidArgument, match="a batch is made up in another way") as caught:
        own.fit(iter([(X, X), (X, X, X)]), 1, shows=False)
    assert (caught.value.got, caught.value.expected) == ("3 entries", "2 entries") and own.standing.steps == 1


class Outputs(NamedTuple):
    classes: nv.Tensor
    sizes: dict[str, nv.Tensor]


class Heads(nn.Module):
    """Two heads, whose outputs are a named tuple with a dict in it."""

    def __post_init__(self):
        self.one, self.other = nn.LinearLayer(3, 2), nn.LinearLayer(3, 1)

    def forward(self, x):
        return Outputs(self.one(x), {"width": self.other(x)})


def test_several_targets_and_outputs():
    """T372, T375: a loss sees targets as the data have them and outputs as the module gives them; so does predict."""
    def loss(outputs, targets):
        return nn.losses.cross_entropy(outputs.classes, targets[0]) + squared(outputs.sizes["width"], targets[1])
    labels = (Y[:, 0] > 0).astype(np.int64)
    nv.seed(4)
    one, other = Heads(), Heads()
    nv.load_from_state_dict(other, nv.make_state_dict(one))
    nested = nv.Trainer(one, nv.optim.SGD(0.1), loss)
    first = nested.fit((X, (labels, Y)), 5, shows=False)
    assert first[0]["loss"] > first[-1]["loss"]
    assert nv.Trainer(other, nv.optim.SGD(0.1), loss, targets=(1, 2)).fit((X, labels, Y), 5, shows=False) == first
    found = nested.predict(X, size=16)
    assert type(found) is Outputs and found.classes.shape == (40, 2) and found.sizes["width"].shape == (40, 1)
    assert np.array_equal(found.sizes["width"], nested.predict(X).sizes["width"])


def test_predictions_are_joined_along_the_examples():
    """T375: wherever that axis stands."""
    own = nv.Trainer(lambda x: (x.T, [x * 2]), nv.optim.SGD(0.1), squared)
    turned, (doubled,) = own.predict(X, size=16)
    assert np.array_equal(turned, X.T) and np.array_equal(doubled, 2 * X)
    gram = nv.Trainer(lambda x: x @ x.T, nv.optim.SGD(0.1), squared)
    assert gram.predict(X).shape == (40, 40)
    with pytest.raises(nv.WrongKind, match="an element for each example"):
        gram.predict(X, size=16)
