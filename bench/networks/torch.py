"""Networks of images in PyTorch: modules of torch.nn, in the order of memory that they are given or channels last.

Settings: *last* has channels last in memory, *compile* has network and loss compiled, *freeze* has what follows from
the weights alone computed before: batch norms lie in the filters, and filters in the order that kernels read.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn
from torch._inductor import config as inductor

from bench.contenders import Prepared, from_definition
from bench.contenders.torch import programs, read
from bench.images import IMAGES
from bench.models.base import Descent
from bench.models.nodes import EPSILON, MOMENTUM, Builder
from bench.steps import FirstStep, Forward, KeptFirstStep


class Sum(nn.Module):
    """A block beside a shortcut."""

    def __init__(self, inner, shortcut=None):
        super().__init__()
        self.inner, self.shortcut = inner, shortcut or nn.Identity()

    def forward(self, x):
        return self.inner(x) + self.shortcut(x)


class Beside(nn.Module):
    """The channels of x, then those that a module gives for it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return torch.cat([x, self.inner(x)], 1)


class Network(Builder):
    """Modules; dense weights are the other way round there."""

    def __init__(self, values):
        self.values = values

    def filled(self, layer, node, *names):
        """A layer with the values of its node, by the names that they have there."""
        with torch.no_grad():
            for name, own in zip(names, node.shapes()):
                value = torch.from_numpy(self.values[own])
                getattr(layer, name).copy_(value.t() if isinstance(layer, nn.Linear) else value)
        return layer

    def conv(self, node):
        layer = nn.Conv2d(node.inputs, node.outputs, node.window, node.stride, node.padding, groups=node.groups,
                          bias=node.bias)
        return self.filled(layer, node, "weight", "bias")

    def norm(self, node):
        layer = nn.BatchNorm2d(node.channels, EPSILON, MOMENTUM)
        return self.filled(layer, node, "weight", "bias", "running_mean", "running_var")

    def relu(self, node):
        return nn.ReLU(inplace=True)

    def maxpool(self, node):
        return nn.MaxPool2d(*node)

    def mean(self, node):
        return nn.AdaptiveAvgPool2d(1)

    def dense(self, node):
        return nn.Sequential(nn.Flatten(), self.filled(nn.Linear(node.inputs, node.outputs), node, "weight", "bias"))

    def up(self, node):
        return self.filled(nn.ConvTranspose2d(node.inputs, node.outputs, 2, 2), node, "weight", "bias")

    def chain(self, node):
        return nn.Sequential(*map(self.build, node.members))

    def sum(self, node):
        return Sum(*map(self.build, node.members))

    def beside(self, node):
        return Beside(self.build(node.inner))


def parts(model, order):
    """The network of a model and its data, in an order of memory."""
    images, classes = map(torch.from_numpy, model.data())
    network = Network(model.parameters()).build(model.tree())
    return network.to(memory_format=order), images.contiguous(memory_format=order), classes


def forward(order, compiled=False, frozen=False):
    """A setting: the network in evaluation."""
    def prepare(_, inputs):
        (torch.no_grad if frozen else torch.inference_mode)().__enter__()
        inductor.freezing = frozen
        network, images, _ = parts(*inputs, order)
        network.eval()
        return Prepared(torch.compile(network, dynamic=False) if compiled or frozen else network, (images,), read)
    return prepare


def optimiser(rule, parameters):
    if isinstance(rule, Descent):
        return torch.optim.SGD(parameters, rule.rate, rule.momentum, fused=True)
    return torch.optim.Adam(parameters, rule.rate, eps=rule.epsilon, fused=True)


def trained(order, compiled=False):
    """A setting: gradients by autograd, the update by torch's fused optimiser."""
    def prepare(_, inputs):
        model, = inputs
        network, images, classes = parts(model, order)
        own = optimiser(model.rule, network.parameters())

        def loss_of(images, classes):
            return F.cross_entropy(network(images), classes)
        loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

        def step(images, classes):
            loss = loss_of(images, classes)
            loss.backward()
            own.step()
            own.zero_grad(set_to_none=True)
            return loss
        return Prepared(step, (images, classes), read)
    return prepare


ORDERS = {"": torch.contiguous_format, "_last": torch.channels_last}
TRAINED = {f"{name}{suffix}": trained(order, name == "compile")
           for name, (suffix, order) in itertools.product(("eager", "compile"), ORDERS.items())}
FORWARD = {f"{name}{suffix}": forward(order, name == "compile", name == "freeze")
           for name, (suffix, order) in itertools.product(("eager", "compile", "freeze"), ORDERS.items())}


def settings_of(problem):
    """What takes part in a row."""
    if issubclass(problem, FirstStep):
        chosen = {name: prepare for name, prepare in TRAINED.items()
                  if name.startswith("compile") or not issubclass(problem, KeptFirstStep)}
        return {name: from_definition(prepare) for name, prepare in chosen.items()}
    return FORWARD if issubclass(problem, Forward) else TRAINED


for name, problem in IMAGES.items():
    programs(name, **settings_of(problem))(None)
