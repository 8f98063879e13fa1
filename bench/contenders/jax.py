"""JAX on the CPU: ``jax.jit``, waited for; memory is donated where an update is in place, and as a setting."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bench.chains import ATTENTIONS, FACTOR, INCREMENT, AttentionGradients
from bench.contenders import Prepared, Programs, made
from bench.convolutions import CONVOLUTIONS
from bench.models.nodes import Conv
from bench.patterns import GROUPS, HIDDEN, SIDE, past
from bench.products import PRODUCTS, Product

programs = Programs("jax", jax.__version__)


def jitted(program, inputs):
    function, wait = jax.jit(program), jax.block_until_ready
    return Prepared(lambda *arguments: wait(function(*arguments)), [jnp.asarray(entry) for entry in inputs])


def donated(program, inputs):
    """The memory of the last result is given back for the next one."""
    arguments = [jnp.asarray(entry) for entry in inputs]
    shape = jax.eval_shape(program, *arguments)
    function = jax.jit(lambda last, *arguments: program(*arguments), donate_argnums=0, keep_unused=True)
    last = jnp.zeros(shape.shape, shape.dtype)

    def call():
        nonlocal last
        last = function(last, *arguments).block_until_ready()
        return last
    return Prepared(call)


BOTH = {"jit": jitted, "donate": donated}


@programs("sum_squares", jit=jitted)
@programs("idle", jit=jitted)
def sum_squares(x, y):
    return jnp.sum((x - y) ** 2)


@programs("gelu", **BOTH)
def gelu(x, y):
    return jax.nn.gelu(1.5 * x + y, approximate=True)


@programs("softmax", **BOTH)
@programs("softmax_causal", **BOTH)
def softmax(x):
    return jax.nn.softmax(x, -1)


@programs("softmax_gradient", **BOTH)
def softmax_gradient(x, y, dy):
    return y * (dy - jnp.sum(y * dy, -1, keepdims=True))


def standardized(x, gamma, beta, over):
    mean = jnp.mean(x, over, keepdims=True)
    centred = x - mean
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, over, keepdims=True) + 1e-5) * gamma + beta


@programs("layer_norm", **BOTH)
def layer_norm(x, gamma, beta):
    return standardized(x, gamma, beta, -1)


@programs("layer_norm_gradient", jit=jitted)
def layer_norm_gradient(x, gamma, beta, dy):
    return jax.vjp(layer_norm, x, gamma, beta)[1](dy)


@programs("layer_norm_gradient", residuals=made)
def layer_norm_gradient_from_residuals(*inputs):
    x, gamma, beta, dy = [jnp.asarray(entry) for entry in inputs]
    _, pull = jax.jit(lambda *primals: jax.vjp(layer_norm, *primals))(x, gamma, beta)
    function, wait = jax.jit(lambda pull, dy: pull(dy)), jax.block_until_ready
    return Prepared(lambda: wait(function(pull, dy)))


@programs("batch_norm", jit=jitted)
def batch_norm(x, gamma, beta, dy):
    def forward(x, gamma, beta):
        return jax.nn.relu(standardized(x, gamma[:, None, None], beta[:, None, None], (0, 2, 3)))
    y, pull = jax.vjp(forward, x, gamma, beta)
    return y, *pull(dy)


@programs("adam", donate=made)
@programs("adam_decayed", donate=made)
def adam(parameter, gradient, *moments):
    """With moments of 0, or those that are given."""
    moments = moments or [np.zeros_like(gradient)] * 2
    gradient = jnp.asarray(gradient)
    state = jnp.asarray(parameter), *[jnp.array(moment) for moment in moments], jnp.zeros(())

    def update(parameter, mean, square, steps, gradient):
        steps = steps + 1
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        change = (mean / (1 - 0.9**steps)) / (jnp.sqrt(square / (1 - 0.999**steps)) + 1e-8)
        return parameter - 1e-3 * change, mean, square, steps
    function, wait = jax.jit(update, donate_argnums=(0, 1, 2, 3)), jax.block_until_ready

    def call():
        nonlocal state
        state = wait(function(*state, gradient))
        return state[:3]
    return Prepared(call)


@programs("variance", jit=jitted)
def variance(x):
    return jnp.var(x, 0)


@programs("sum_middle", jit=jitted)
def sum_middle(x):
    return jnp.sum(x, 1)


@programs("gather", **BOTH)
def gather(table, index):
    return table.at[index].get(mode="clip")


@programs("scatter_add", **BOTH)
def scatter_add(table, index, dy):
    return jnp.zeros_like(table).at[index].add(dy, mode="promise_in_bounds")


def drawn(draw, generator):
    """A program that draws with a fresh key each time; the memory of the last numbers is given back."""
    def program(like):
        def draw_next(last, key):
            key, used = jax.random.split(key)
            return draw(used, last.shape, jnp.float32), key
        function = jax.jit(draw_next, donate_argnums=(0, 1), keep_unused=True)
        last, key = jnp.asarray(like), jax.random.key(0, impl=generator)

        def call():
            nonlocal last, key
            last, key = function(last, key)
            return last.block_until_ready()
        return Prepared(call)
    return program


for problem, draw in (("uniform", jax.random.uniform), ("normal", jax.random.normal)):
    for generator, setting in (("threefry2x32", "threefry"), ("rbg", "rbg")):
        programs(problem, **{setting: made})(drawn(draw, generator))


@programs("small", jit=jitted)
def small(a, b, c):
    return (a + b) * c


@programs("cold", jit=made)
@programs("cached", jit=made)
def cross_entropy(logits, labels):
    logits, labels = jnp.asarray(logits), jnp.asarray(labels)

    def loss(logits, labels):
        return -jnp.mean(jnp.sum(labels * jax.nn.log_softmax(logits), -1))
    return Prepared(lambda: jax.block_until_ready(jax.jit(jax.value_and_grad(loss))(logits, labels)))


def product_of(case: Product):
    def product(x, w):
        return jnp.matmul(jnp.swapaxes(x, -1, -2) if case.left else x, jnp.swapaxes(w, -1, -2) if case.right else w)
    return product


for name, case in PRODUCTS.items():
    programs(name, **BOTH)(product_of(case))


@programs("dense", **BOTH)
@programs("dense_bfloat16", **BOTH)
def dense(x, w, b, r):
    return jax.nn.gelu(x @ w + b, approximate=False) + r


@programs("group_norm", **BOTH)
def group_norm(x, gamma, beta):
    z = standardized(x.reshape(len(x), GROUPS, -1), 1, 0, -1)
    return z.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]


@programs("masked_softmax", **BOTH)
def masked_softmax(x):
    return jax.nn.softmax(jnp.where(past(x.shape[-1]), x, HIDDEN), -1)


@programs("exp_masked", **BOTH)
def exp_masked(x):
    return jnp.exp(x)


@programs("silu_saturated", **BOTH)
def silu_saturated(x):
    return jax.nn.silu(x)


@programs("gated", **BOTH)
def gated(a, b):
    return jax.nn.silu(a) * b


@programs("max_transposed", jit=jitted)
def max_transposed(x):
    return jnp.max(x.T, 0)


@programs("sum_short", jit=jitted)
def sum_short(x):
    return jnp.sum(x, 1)


@programs("sum_ends", jit=jitted)
def sum_ends(x):
    return jnp.sum(x, (0, 2))


@programs("lgamma", **BOTH)
def lgamma(x):
    return jax.lax.lgamma(x)


@programs("sin_huge", **BOTH)
def sin_huge(x):
    return jnp.sin(x)


@programs("matmul_strided", **BOTH)
def matmul_strided(x, w):
    return x[::2, ::2] @ w


@programs("matmul_sliced", **BOTH)
def matmul_sliced(x, w):
    return x[:, SIDE:2 * SIDE] @ w[:, SIDE // 2:3 * SIDE // 2].T


@programs("bytes", jit=jitted)
def bytes_in_int32(x, w):
    return jnp.matmul(x, w, preferred_element_type=jnp.int32)


@programs("bytes", converted=jitted)
def converted_bytes(x, w):
    return jnp.matmul(x.astype(jnp.int32), w.astype(jnp.int32))


def convolution_of(node: Conv, order: str):
    numbers, padding = (order, "OIHW" if order == "NCHW" else "HWIO", order), [(node.padding, node.padding)] * 2

    def result(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=numbers,
                                            feature_group_count=node.groups)
    return result


def gradients_of(function):
    def gradients(x, w, dy):
        return jax.vjp(function, x, w)[1](dy)
    return gradients


def innermost(program, inputs):
    """A setting: images and filters have their channels innermost in memory."""
    x, w, *rest = inputs
    call, arguments, _, _ = jitted(program, [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0),
                                             *[entry.transpose(0, 2, 3, 1) for entry in rest]])

    def read(returned):
        y, *others = returned if isinstance(returned, tuple) else (returned,)
        return [np.asarray(y).transpose(0, 3, 1, 2), *[np.asarray(entry).transpose(3, 2, 0, 1) for entry in others]]
    return Prepared(call, arguments, read)


for name, entry in CONVOLUTIONS.items():
    for order, setting in ("NCHW", jitted), ("NHWC", innermost):
        function = convolution_of(entry.node, order)
        programs(name, **{order.lower(): setting})(function)
        programs(f"{name}_gradients", **{order.lower(): setting})(gradients_of(function))


@programs("residual_block", jit=jitted)
def residual_block(x, w, gamma, beta, dy):
    def forward(x, w, gamma, beta):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        z = standardized(y, 1, 0, (0, 2, 3)) * gamma[:, None, None] + beta[:, None, None]
        return jax.nn.relu(z + x)
    y, pull = jax.vjp(forward, x, w, gamma, beta)
    return y, *pull(dy)


def attention_of(problem, own):
    """JAX's own attention, or the formula."""
    def attention(q, k, v):
        if own:
            rows = [entry.swapaxes(0, 1)[None] for entry in (q, k, v)]
            return jax.nn.dot_product_attention(*rows, is_causal=problem.causal)[0].swapaxes(0, 1)
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        seen = jnp.tril(jnp.ones(scores.shape[1:], bool))
        return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf) if problem.causal else scores, -1) @ v

    def gradients(q, k, v, dy):
        y, pull = jax.vjp(attention, q, k, v)
        return y, *pull(dy)
    return gradients if issubclass(problem, AttentionGradients) else attention


for name, entry in ATTENTIONS.items():
    programs(name, jit=jitted)(attention_of(entry, own=False))
    programs(name, own=jitted)(attention_of(entry, own=True))


@programs("mlp_block", jit=jitted)
def mlp_block(x, w1, b1, w2, b2):
    return jax.nn.gelu(x @ w1 + b1, approximate=True) @ w2 + b2


@programs("while_loop", jit=jitted)
def while_loop(turns):
    def step(state):
        number, left = state
        return number * jnp.uint32(FACTOR) + jnp.uint32(INCREMENT), left - 1
    return jax.lax.while_loop(lambda state: state[1] > 0, step, (jnp.uint32(1), turns))[0]
