"""Networks of images in JAX: functions of their parameters, jitted; memory is donated where a step updates it.

Settings: *nchw* has images as they are given, *nhwc* has the channels of images and filters innermost.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from bench.contenders import Prepared, from_definition
from bench.contenders.jax import jitted, programs
from bench.images import IMAGES
from bench.models.base import Descent
from bench.models.nodes import EPSILON, MOMENTUM, Builder, learnt
from bench.steps import FirstStep, Forward

FILTERS = {"NCHW": "OIHW", "NHWC": "HWIO"}


class Network(Builder):
    """Functions of all values and x; ``moved`` has the running statistics that the last trace has computed."""

    def __init__(self, order, training):
        self.order, self.training, self.moved = order, training, {}
        self.channel = order.index("C")
        self.spatial = order.index("H"), order.index("W")

    def spread(self, entry):
        """A value for each channel, beside images."""
        return entry if self.channel == 3 else entry[:, None, None]

    def conv(self, node):
        numbers, strides, padding = (self.order, FILTERS[self.order], self.order), [node.stride] * 2, [node.padding] * 2

        def layer(p, x):
            w, *bias = [p[name] for name in node.shapes()]
            y = lax.conv_general_dilated(x, w, strides, [padding, padding], dimension_numbers=numbers,
                                         feature_group_count=node.groups)
            return y + self.spread(bias[0]) if bias else y
        return layer

    def norm(self, node):
        *_, mean_name, variance_name = node.shapes()

        def layer(p, x):
            scale, shift, mean, variance = [p[name] for name in node.shapes()]
            if self.training:
                over = (0, *self.spatial)
                count = x.size // x.shape[self.channel]
                found, spread = jnp.mean(x, over), jnp.var(x, over)
                self.moved[mean_name] = (1 - MOMENTUM) * mean + MOMENTUM * found
                self.moved[variance_name] = (1 - MOMENTUM) * variance + MOMENTUM * spread * (count / max(count - 1, 1))
                mean, variance = found, spread
            factor = scale * lax.rsqrt(variance + EPSILON)
            return (x - self.spread(mean)) * self.spread(factor) + self.spread(shift)
        return layer

    def relu(self, node):
        return lambda p, x: jax.nn.relu(x)

    def maxpool(self, node):
        def square(places, others):
            return [places if at in self.spatial else others for at in range(4)]
        window, strides = square(node.window, 1), square(node.stride, 1)
        paddings = square((node.padding, node.padding), (0, 0))
        return lambda p, x: lax.reduce_window(x, -jnp.inf, lax.max, window, strides, paddings)

    def mean(self, node):
        return lambda p, x: jnp.mean(x, self.spatial)

    def dense(self, node):
        weights, bias = node.shapes()

        def layer(p, x):
            x = jnp.moveaxis(x, self.channel, 1) if x.ndim == 4 else x
            return x.reshape(len(x), -1) @ p[weights] + p[bias]
        return layer

    def up(self, node):
        weights, bias = node.shapes()
        if self.order == "NCHW":
            return lambda p, x: self.doubled(jnp.einsum("nchw,coij->nohiwj", x, p[weights]), 2) + self.spread(p[bias])
        return lambda p, x: self.doubled(jnp.einsum("nhwc,ijoc->nhiwjo", x, p[weights]), 1) + p[bias]

    def doubled(self, parts, at):
        """Places and their windows of 2x2 as places."""
        shape = parts.shape
        return parts.reshape(*shape[:at], shape[at] * 2, shape[at + 2] * 2, *shape[at + 4:])

    def chain(self, node):
        steps = [self.build(member) for member in node.members]

        def layer(p, x):
            for step in steps:
                x = step(p, x)
            return x
        return layer

    def sum(self, node):
        inner, *shortcut = [self.build(member) for member in node.members]
        return lambda p, x: inner(p, x) + (shortcut[0](p, x) if shortcut else x)

    def beside(self, node):
        inner = self.build(node.inner)
        return lambda p, x: jnp.concatenate([x, inner(p, x)], self.channel)


def parts(model, order, training):
    """The network, its values and its data, in an order of axes."""
    def ordered(value, axes):
        return jnp.asarray(value.transpose(axes) if order == "NHWC" and value.ndim == 4 else value)
    values = {name: ordered(value, (2, 3, 1, 0)) for name, value in model.parameters().items()}
    images, classes = model.data()
    network = Network(order, training)
    return network, network.build(model.tree()), values, ordered(images, (0, 2, 3, 1)), jnp.asarray(classes)


def forward(order):
    """A setting: the network in evaluation."""
    def prepare(_, inputs):
        network, function, values, images, _ = parts(*inputs, order, False)

        def results(images):
            return jnp.moveaxis(y, -1, 1) if (y := function(values, images)).ndim == 4 and order == "NHWC" else y
        return jitted(results, [images])
    return prepare


def cross_entropy(logits, classes):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), classes[..., None], -1))


def updated(rule, p, gradients, moments, steps):
    """Parameters and moments after a step."""
    if isinstance(rule, Descent):
        means = jax.tree.map(lambda m, g: rule.momentum * m + g, moments[0], gradients)
        return jax.tree.map(lambda w, m: w - rule.rate * m, p, means), (means,)
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradients)
    size, root = rule.rate / (1 - 0.9**steps), lax.rsqrt(1 - 0.999**steps)
    after = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) * root + rule.epsilon), p, means, squares)
    return after, (means, squares)


def trained(order):
    """A setting: a jitted function of state and data, which is given its state back."""
    def prepare(_, inputs):
        model, = inputs
        network, function, values, images, classes = parts(model, order, True)
        p = learnt(values)
        moments = tuple([jax.tree.map(jnp.zeros_like, p) for _ in range(1 if isinstance(model.rule, Descent) else 2)])
        state = p, {name: value for name, value in values.items() if name not in p}, moments, jnp.zeros(())

        def loss_of(p, buffers, images, classes):
            y = function({**p, **buffers}, images)
            y = jnp.moveaxis(y, 1, -1) if order == "NCHW" and y.ndim == 4 else y
            return cross_entropy(y, classes), dict(network.moved)

        def step(state, images, classes):
            p, buffers, moments, steps = state
            (loss, buffers), gradients = jax.value_and_grad(loss_of, has_aux=True)(p, buffers, images, classes)
            p, moments = updated(model.rule, p, gradients, moments, steps + 1)
            return (p, buffers, moments, steps + 1), loss
        function_of_state, wait = jax.jit(step, donate_argnums=0), jax.block_until_ready

        def call():
            nonlocal state
            state, loss = wait(function_of_state(state, images, classes))
            return loss
        return Prepared(call)
    return prepare


ORDERS = "NCHW", "NHWC"


def settings_of(problem):
    """What takes part in a row."""
    if issubclass(problem, Forward):
        return {order.lower(): forward(order) for order in ORDERS}
    chosen = {order.lower(): trained(order) for order in ORDERS}
    if issubclass(problem, FirstStep):
        return {name: from_definition(prepare) for name, prepare in chosen.items()}
    return chosen


for name, problem in IMAGES.items():
    programs(name, **settings_of(problem))(None)
