"""Networks of images as trees of layers. A model is written once; each framework builds its own network from the tree.

>>> tree = Chain(Conv("stem", 3, 8, window=3, padding=1), Norm("norm", 8), Relu(), Mean(), Dense("head", 8, 10))
>>> {name: shape for name, shape in shapes(tree).items() if name.startswith(("stem", "head"))}
{'stem.weights': (8, 3, 3, 3), 'head.weights': (8, 10), 'head.bias': (10,)}
>>> class Counting(Builder):
...     def leaf(self, node): return 1
...     def conv(self, node): return 100
...     def chain(self, node): return sum(map(self.build, node.members))
>>> Counting().build(tree)
104

Images are (batch, channels, height, width), filters (outputs, inputs, height, width), as in the files of most models.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

EPSILON = 1e-5   # of batch norms
MOMENTUM = 0.1   # by which running statistics move
BUFFERS = ".mean", ".variance"  # how the names end of what is not learnt

Shapes = dict[str, tuple[int, ...]]


class Conv(NamedTuple):
    """A square filter for each output, over the inputs of its group."""

    name: str
    inputs: int
    outputs: int
    window: int
    stride: int = 1
    padding: int = 0
    bias: bool = False
    groups: int = 1

    def shapes(self) -> Shapes:
        bias = {f"{self.name}.bias": (self.outputs,)} if self.bias else {}
        inputs = self.inputs // self.groups
        return {f"{self.name}.weights": (self.outputs, inputs, self.window, self.window), **bias}


class Norm(NamedTuple):
    """A batch normalisation: by the statistics of the batch in training, else by the running ones."""

    name: str
    channels: int

    def shapes(self) -> Shapes:
        return {f"{self.name}.{part}": (self.channels,) for part in ("scale", "shift", "mean", "variance")}


class Relu(NamedTuple):
    """max(x, 0)."""


class MaxPool(NamedTuple):
    """The largest element of each square window."""

    window: int
    stride: int
    padding: int = 0


class Mean(NamedTuple):
    """Over all places: (batch, channels)."""


class Dense(NamedTuple):
    """A dense layer over all that an example has."""

    name: str
    inputs: int
    outputs: int

    def shapes(self) -> Shapes:
        return {f"{self.name}.weights": (self.inputs, self.outputs), f"{self.name}.bias": (self.outputs,)}


class Up(NamedTuple):
    """A transposed convolution: each place becomes a window of 2x2 places."""

    name: str
    inputs: int
    outputs: int

    def shapes(self) -> Shapes:
        return {f"{self.name}.weights": (self.inputs, self.outputs, 2, 2), f"{self.name}.bias": (self.outputs,)}


class Chain:
    """One after the other."""

    def __init__(self, *members: Node) -> None:
        self.members = members


class Sum(NamedTuple):
    """What a network gives for x, plus x or what a second one gives for it."""

    inner: Node
    shortcut: Node | None = None

    @property
    def members(self) -> tuple[Node, ...]:
        return (self.inner,) if self.shortcut is None else (self.inner, self.shortcut)


class Beside(NamedTuple):
    """The channels of x, then those that a network gives for it."""

    inner: Node

    @property
    def members(self) -> tuple[Node, ...]:
        return (self.inner,)


Node = Conv | Norm | Relu | MaxPool | Mean | Dense | Up | Chain | Sum | Beside


class Builder:
    """Builds something of a tree: a method for each kind of node, or ``leaf`` for those that have none."""

    def build(self, node: Node) -> Any:
        """What the method of its kind makes of a node."""
        return getattr(self, type(node).__name__.lower(), self.leaf)(node)

    def leaf(self, node: Node) -> Any:
        raise NotImplementedError(type(node).__name__)


def walk(node: Node) -> Iterator[Node]:
    """A node and all inside, in the order of the network."""
    yield node
    for member in getattr(node, "members", ()):
        yield from walk(member)


def shapes(tree: Node) -> Shapes:
    """The shape of each parameter and buffer."""
    return {name: shape for node in walk(tree) if hasattr(node, "shapes") for name, shape in node.shapes().items()}


def initial(tree: Node) -> dict[str, np.ndarray]:
    """Values from which a network can be trained, and with which it can be asked: filters that keep the size of what
    they are given (He et al. 2015), norms that are not quite neutral.
    """
    random = np.random.default_rng(1)

    def value(name: str, shape: tuple[int, ...]) -> np.ndarray:
        drawn = random.standard_normal(shape, np.float32)
        if len(shape) == 1:
            return np.float32(0.1) * drawn + np.float32(name.endswith(("scale", "variance")))
        inputs = shape[0] if len(shape) == 2 else np.prod(shape[1:])
        return drawn * np.float32(np.sqrt(2 / inputs))
    return {name: value(name, shape) for name, shape in shapes(tree).items()}


def learnt(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters among the values of a network."""
    return {name: value for name, value in values.items() if not name.endswith(BUFFERS)}
