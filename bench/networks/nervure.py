"""Networks of images in nervure: modules of nervure.nn, which start from the values of a model."""

from __future__ import annotations

import numpy as np

import nervure as nv
from bench.contenders import Prepared, from_definition
from bench.contenders.nervure import import_compiler, programs
from bench.images import IMAGES
from bench.models.base import Descent
from bench.models.nodes import MOMENTUM, Builder
from bench.steps import FirstStep, Forward
from bench.training.nervure import first, update
from nervure import nn


class Up(nn.Module):
    """A transposed convolution to windows of 2x2 places."""

    def __init__(self, weights, bias):
        self.weights, self.bias = nv.variable(weights.shape, weights), nv.variable(bias.shape, bias)

    def forward(self, x):
        return nv.deconvolution(x, self.weights, strides=2) + nv.reshape(self.bias, (-1, 1, 1))


class Beside(nn.Module):
    """The channels of x, then those that a module gives for it."""

    inner: nn.Module

    def forward(self, x):
        return nv.concatenate([x, self.inner(x)], 1)


class Network(Builder):
    """Modules."""

    def __init__(self, values):
        self.values = values

    def own(self, node):
        """The values of a node, in their order."""
        return [self.values[name] for name in node.shapes()]

    def conv(self, node):
        weights, *bias = self.own(node)
        return nn.Conv(node.inputs, node.outputs, (node.window, node.window), node.stride, padding=node.padding,
                       weights=weights, bias=bias[0] if bias else False, groups=node.groups)

    def norm(self, node):
        scale, shift, mean, variance = self.own(node)
        layer = nn.BatchNorm(node.channels, MOMENTUM, scale=scale, shift=shift)
        layer.running_mean = nv.persistent_tensor(mean.shape, mean)
        layer.running_variance = nv.persistent_tensor(variance.shape, variance)
        return layer

    def relu(self, node):
        return nn.ReLU()

    def maxpool(self, node):
        return nn.MaxPool(*node)

    def mean(self, node):
        return nn.Functional(nv.mean, axis=(2, 3))

    def dense(self, node):
        weights, bias = self.own(node)
        return nn.Sequential(nn.Functional(nv.flatten_at, 1), nn.LinearLayer(*weights.shape, bias, weights))

    def up(self, node):
        return Up(*self.own(node))

    def chain(self, node):
        return nn.Sequential(*map(self.build, node.members))

    def sum(self, node):
        return nn.Residual(*map(self.build, node.members))

    def beside(self, node):
        return Beside(self.build(node.inner))


def module(model):
    """The network of a model."""
    return Network(model.parameters()).build(model.tree())


def optimiser(rule, loss):
    return nv.optim.SGD(*rule)(loss) if isinstance(rule, Descent) else update(rule, loss)


def trained(_, inputs):
    """A setting: a computation of a step, which is given the batch at each call."""
    model, = inputs
    images, classes = model.data()
    x, labels = nv.placeholder(images.shape), nv.placeholder(classes.shape, dtype=nv.int64)
    loss = nn.losses.cross_entropy(module(model)(x), labels)
    return Prepared(nv.computation([loss, optimiser(model.rule, loss)], x, labels), (images, classes), first)


def fitted(_, inputs):
    """A setting: the step of a trainer, with what it does around its computation."""
    model, = inputs
    trainer = nv.Trainer(module(model), nv.optim.Adam(model.rule.rate, epsilon=model.rule.epsilon),
                         nn.losses.cross_entropy)
    batch = tuple(model.data())
    trainer.prepare(batch)
    return Prepared(lambda: np.float32(trainer.learn(batch).means["loss"]))


def forward(_, inputs):
    """A setting: the network in evaluation."""
    model, = inputs
    images, _ = model.data()
    x = nv.placeholder(images.shape)
    return Prepared(nv.computation(module(model).eval()(x), x), [images])


def compiling(prepare):
    """The setting with everything imported that compiles."""
    def imported(program, inputs):
        import_compiler()
        _ = nv.placeholder, nv.deriv, nv.computation, nv.optim.SGD, nn.losses.cross_entropy, nv.mean, nv.flatten_at
        return prepare(program, inputs)
    return imported


def settings_of(name, problem):
    """What takes part in a row."""
    if issubclass(problem, Forward):
        return {"arguments": forward}
    if issubclass(problem, FirstStep):
        return {"arguments": compiling(from_definition(trained))}
    return {"arguments": trained, **({"trainer": fitted} if name == "digits" else {})}


for name, problem in IMAGES.items():
    programs(name, **settings_of(name, problem))(None)
