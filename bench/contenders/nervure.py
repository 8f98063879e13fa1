"""nervure, as its users write: placeholders, ``nv.deriv``, an optimiser. The transformer is the default one."""

from __future__ import annotations

import importlib

import numpy as np

import nervure as nv
from bench.chains import ATTENTIONS, FACTOR, INCREMENT, AttentionGradients
from bench.contenders import Prepared, Programs, made
from bench.convolutions import CONVOLUTIONS
from bench.models.nodes import Conv
from bench.patterns import GROUPS, HIDDEN, SIDE, past
from bench.products import PRODUCTS, Product

COMPILING = ("passes.pipelines", "transformers.cpu.compile.compilation", "transformers.interpreter.evaluate")

programs = Programs("nervure", f"{nv.__version__} ({nv.flags.transformer})")


def compiled(program, inputs):
    """Compiled for the shapes of the inputs."""
    places = [nv.placeholder(entry.shape, dtype=entry.dtype) for entry in inputs]
    return Prepared(nv.computation(program(*places), *places), inputs)


@programs("sum_squares", computation=compiled)
@programs("idle", computation=compiled)
def sum_squares(x, y):
    return nv.sum(nv.square(x - y))


@programs("gelu", computation=compiled)
def gelu(x, y):
    return nv.gelu(1.5 * x + y, approximate="tanh")


@programs("softmax", computation=compiled)
@programs("softmax_causal", computation=compiled)
def softmax(x):
    return nv.softmax(x, axis=1)


@programs("softmax_gradient", deriv=compiled)
def softmax_gradient(x, y, dy):
    return nv.deriv(softmax(x), x, error=dy)


@programs("softmax_gradient", formula=compiled)
def softmax_gradient_from_result(x, y, dy):
    return y * (dy - nv.sum(y * dy, axis=1, keepdims=True))


@programs("layer_norm", computation=compiled)
def layer_norm(x, gamma, beta):
    return nv.layer_norm(x, axes=[1], scale=gamma, shift=beta)


@programs("layer_norm_gradient", deriv=compiled)
def layer_norm_gradient(x, gamma, beta, dy):
    return nv.deriv(layer_norm(x, gamma, beta), [x, gamma, beta], error=dy)


@programs("batch_norm", deriv=compiled)
def batch_norm(x, gamma, beta, dy):
    y = nv.relu(nv.batch_norm(x, scale=gamma, shift=beta))
    return [y, *nv.deriv(y, [x, gamma, beta], error=dy)]


@programs("adam", optimiser=made)
@programs("adam_decayed", optimiser=made)
def adam(parameter, gradient, *moments):
    """With moments of 0, or those that are given."""
    variable, error = nv.variable(parameter.shape, parameter), nv.placeholder(gradient.shape)
    optimiser = nv.optim.Adam(learning_rate=1e-3)
    step = nv.computation([optimiser(nv.sum(variable * error))], error)

    slots = optimiser.slots(variable)
    for name, moment in zip("mv", moments):
        nv.transformers.default().set(slots[name], moment)

    def state(_):
        return [nv.transformers.default().get(place) for place in (variable, slots["m"], slots["v"])]
    return Prepared(step, (gradient,), state)


@programs("variance", computation=compiled)
def variance(x):
    return nv.variance(x, axis=0)


@programs("sum_middle", computation=compiled)
def sum_middle(x):
    return nv.sum(x, axis=1)


@programs("gather", computation=compiled)
def gather(table, index):
    return nv.gather(table, index, 0)


@programs("scatter_add", deriv=compiled)
def scatter_add(table, index, dy):
    return nv.deriv(gather(table, index), table, error=dy)


@programs("uniform", computation=made)
def uniform(like):
    return Prepared(nv.computation(nv.uniform(like.shape)))


@programs("normal", computation=made)
def normal(like):
    return Prepared(nv.computation(nv.normal(like.shape)))


@programs("small", computation=compiled)
def small(a, b, c):
    return (a + b) * c


def import_compiler():
    """What nervure imports to compile; loading LLVM is part of a call."""
    nv.transformers.default()
    for name in COMPILING:
        importlib.import_module(f"nervure.{name}")


@programs("cold", computation=made)
@programs("cached", computation=made)
def cross_entropy(logits, labels):
    """What nervure imports at the first use of a name, or to compile, is imported."""
    import_compiler()
    _ = nv.placeholder, nv.softmax, nv.cross_entropy_multi, nv.deriv, nv.computation

    def call():
        x, t = nv.placeholder(logits.shape), nv.placeholder(labels.shape)
        loss = nv.cross_entropy_multi(nv.softmax(x, axis=1), t) / len(logits)
        return nv.computation([loss, nv.deriv(loss, x)], x, t)(logits, labels)
    return Prepared(call)


def product_of(case: Product):
    def product(x, w):
        return (x.T if case.left else x) @ (w.T if case.right else w)
    return product


def kept(program, inputs):
    """A setting: the right side, weights in practice, lies in a variable."""
    x, w = inputs
    place = nv.placeholder(x.shape)
    return Prepared(nv.computation(program(place, nv.variable(w.shape, w)), place), [x])


for name, case in PRODUCTS.items():
    programs(name, computation=compiled, **({"variable": kept} if case.right else {}))(product_of(case))


@programs("dense", variable=made)
@programs("dense_bfloat16", variable=made)
def dense(x, w, b, r):
    dtype = nv.as_dtype(x.dtype)
    weights = nv.variable({"K": w.shape[0], "J": w.shape[1]}, w, dtype=dtype)
    places = [nv.placeholder(axes, dtype=dtype) for axes in (
        {"I": len(x), "K": x.shape[1]}, {"J": len(b)}, {"I": len(x), "J": len(b)})]
    result = nv.gelu(nv.dot(places[0], weights) + places[1]) + places[2]
    return Prepared(nv.computation(result, *places), [x, b, r])


@programs("group_norm", reshape=compiled)
def group_norm(x, gamma, beta):
    groups = nv.reshape(x, (x.shape[0], GROUPS, -1))
    centred = groups - nv.mean(groups, axis=2, keepdims=True)
    z = centred / nv.sqrt(nv.variance(groups, axis=2, keepdims=True) + 1e-5)
    return nv.reshape(z, x.shape) * gamma[:, None, None] + beta[:, None, None]


@programs("masked_softmax", computation=compiled)
def masked_softmax(x):
    return nv.softmax(nv.where(nv.constant(past(x.shape[-1])), x, HIDDEN), axis=3)


@programs("exp_masked", computation=compiled)
def exp_masked(x):
    return nv.exp(x)


@programs("silu_saturated", computation=compiled)
def silu_saturated(x):
    return nv.silu(x)


@programs("gated", computation=compiled)
def gated(a, b):
    return nv.silu(a) * b


@programs("max_transposed", computation=compiled)
def max_transposed(x):
    return nv.max(x.T, axis=0)


@programs("sum_short", computation=compiled)
def sum_short(x):
    return nv.sum(x, axis=1)


@programs("sum_ends", computation=compiled)
def sum_ends(x):
    return nv.sum(x, axis=(0, 2))


@programs("lgamma", computation=compiled)
def lgamma(x):
    return nv.lgamma(x)


@programs("sin_huge", computation=compiled)
def sin_huge(x):
    return nv.sin(x)


@programs("matmul_strided", computation=compiled)
def matmul_strided(x, w):
    return x[::2, ::2] @ w


@programs("matmul_sliced", computation=compiled)
def matmul_sliced(x, w):
    return x[:, SIDE:2 * SIDE] @ w[:, SIDE // 2:3 * SIDE // 2].T


@programs("bytes", variable=made)
def bytes_in_int32(x, w):
    weights, place = nv.variable(w.shape, w, dtype=nv.int8), nv.placeholder(x.shape, dtype=nv.uint8)
    return Prepared(nv.computation(nv.matmul(place, weights, dtype=nv.int32), place), [x])


def convolution_of(node: Conv):
    def result(x, w):
        return nv.convolution(x, w, padding=node.padding, groups=node.groups)
    return result


def gradients_of(node: Conv):
    convolution = convolution_of(node)

    def gradients(x, w, dy):
        return nv.deriv(convolution(x, w), [x, w], error=dy)
    return gradients


def last(prepare):
    """A setting with channels last: arguments and results have them innermost in memory."""
    def prepared(program, inputs):
        def of_last(*places):
            found = program(*[place.transpose(0, 3, 1, 2) for place in places])
            return [result.transpose(0, 2, 3, 1) for result in (found if isinstance(found, list) else [found])]
        call, arguments, *_ = prepare(of_last, [np.ascontiguousarray(entry.transpose(0, 2, 3, 1)) for entry in inputs])
        return Prepared(call, arguments, lambda results: [result.transpose(0, 3, 1, 2) for result in results])
    return prepared


for name, entry in CONVOLUTIONS.items():
    programs(name, computation=compiled, variable=kept, variable_last=last(kept))(convolution_of(entry.node))
    programs(f"{name}_gradients", deriv=compiled, deriv_last=last(compiled))(gradients_of(entry.node))


@programs("residual_block", deriv=compiled)
def residual_block(x, w, gamma, beta, dy):
    y = nv.relu(nv.batch_norm(nv.convolution(x, w, padding=1), scale=gamma, shift=beta) + x)
    return [y, *nv.deriv(y, [x, w, gamma, beta], error=dy)]


def attention_of(problem):
    def attention(q, k, v):
        return nv.attention(q, k, v, causal=problem.causal)

    def gradients(q, k, v, dy):
        y = attention(q, k, v)
        return [y, *nv.deriv(y, [q, k, v], error=dy)]
    return gradients if issubclass(problem, AttentionGradients) else attention


for name, entry in ATTENTIONS.items():
    programs(name, computation=compiled)(attention_of(entry))


@programs("mlp_block", variables=made)
def mlp_block(x, *values):
    w1, b1, w2, b2 = [nv.variable(initial_value=value) for value in values]
    place = nv.placeholder(x.shape)
    return Prepared(nv.computation(nv.gelu(place @ w1 + b1, approximate="tanh") @ w2 + b2, place), [x])


@programs("while_loop", computation=compiled)
def while_loop(turns):
    def step(state):
        number, left = state
        return number * nv.constant(FACTOR, dtype=nv.uint32) + nv.constant(INCREMENT, dtype=nv.uint32), left - 1
    return nv.while_loop(lambda state: state[1] > 0, step, (nv.constant(1, dtype=nv.uint32), turns))[0]
