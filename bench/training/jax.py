"""Training steps in JAX: networks as functions of their parameters, Adam by its formula, memory donated.

Settings: *donate* is a jitted step that is given its state back, *scan* has ten steps in one call.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from bench.contenders import Prepared, from_definition
from bench.contenders.jax import jitted, programs, standardized
from bench.models.attention import Attention
from bench.models.gpt import Gpt
from bench.models.mlp import LAYERS, Mlp
from bench.models.recurrent import Gru, Lstm
from bench.steps import BATCH, STEPS, Epoch, FirstStep, Forward, Memory, batches

TOGETHER = 10  # steps of a scan


def mlp(model, p, x):
    for layer in range(LAYERS):
        x = x @ p[f"w{layer}"] + p[f"b{layer}"]
        x = x if layer == LAYERS - 1 else jax.nn.relu(x)
    return x


def mixed(x, w_qkv, b_qkv, w_out, b_out, heads):
    """Causal attention."""
    q, k, v = jnp.moveaxis((x @ w_qkv + b_qkv).reshape(*x.shape[:2], 3, heads, -1), 2, 0)
    if x.dtype == jnp.bfloat16:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ w_out + b_out
    scores = jnp.einsum("nthd,nshd->nhts", q, k) * q.shape[-1] ** -0.5
    past = jnp.tril(jnp.ones(scores.shape[2:], bool))
    y = jnp.einsum("nhts,nshd->nthd", jax.nn.softmax(jnp.where(past, scores, -jnp.inf), -1), v)
    return y.reshape(x.shape) @ w_out + b_out


def attention(model, p, x):
    return mixed(x, p["w_qkv"], p["b_qkv"], p["w_out"], p["b_out"], model.heads)


def gpt(model, p, text):
    if model.low:
        p = jax.tree.map(lambda value: value.astype(jnp.bfloat16), p)
    x = p["characters"][text] + p["positions"]
    for layer in range(model.layers):
        def own(*names, layer=layer):
            return [p[f"{name}{layer}"] for name in names]
        normed = standardized(x, *own("scale_a", "shift_a"), -1)
        x = x + mixed(normed, *own("w_qkv", "b_qkv", "w_out", "b_out"), model.heads)
        w_up, b_up, w_down, b_down = own("w_up", "b_up", "w_down", "b_down")
        h = jax.nn.gelu(standardized(x, *own("scale_m", "shift_m"), -1) @ w_up + b_up, approximate=True)
        x = x + h @ w_down + b_down
    head = p["characters"].T if model.tied else p["w_head"]
    return (standardized(x, p["scale"], p["shift"], -1) @ head).astype(jnp.float32)


def lstm(model, p, x):
    def step(state, given):
        h, c = state
        i, f, g, o = jnp.split(given + h @ p["u"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zeros = jnp.zeros((len(x), model.units))
    return jax.lax.scan(step, (zeros, zeros), (x @ p["w"] + p["b"]).swapaxes(0, 1))[1].swapaxes(0, 1)


def gru(model, p, x):
    def step(h, given):
        parts = h @ p["u"] + p["c"]
        (r, z, n), (pr, pz, pn) = jnp.split(given, 3, -1), jnp.split(parts, 3, -1)
        candidate = jnp.tanh(n + jax.nn.sigmoid(r + pr) * pn)
        h = candidate + jax.nn.sigmoid(z + pz) * (h - candidate)
        return h, h
    zeros = jnp.zeros((len(x), model.units))
    return jax.lax.scan(step, zeros, (x @ p["w"] + p["b"]).swapaxes(0, 1))[1].swapaxes(0, 1)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


def squared_difference(y, target):
    return jnp.mean((y - target) ** 2)


NETWORKS = {Mlp: (mlp, cross_entropy), Gpt: (gpt, cross_entropy), Attention: (attention, squared_difference),
            Lstm: (lstm, squared_difference), Gru: (gru, squared_difference)}


def stepper(model):
    """A step: (state, data) to (state, loss)."""
    network, compare = NETWORKS[type(model)]
    rate, epsilon, decay = model.rule

    def loss_of(p, x, target):
        return compare(network(model, p, x), target)

    def step(state, data):
        p, means, squares, steps = state
        loss, gradients = jax.value_and_grad(loss_of)(p, *data)
        steps = steps + 1
        size, root = rate / (1 - 0.9**steps), jax.lax.rsqrt(1 - 0.999**steps)
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
        squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, gradients)
        p = jax.tree.map(lambda w, m, v: w * (1 - rate * decay) - size * m / (jnp.sqrt(v) * root + epsilon),
                         p, means, squares)
        return (p, means, squares, steps), loss
    return step


def trained(function_of, steps=1):
    """A setting: a jitted function of the state and the data, which gives both the state and what it lost."""
    def prepare(_, inputs):
        model, = inputs
        p = {name: jnp.array(value) for name, value in model.parameters().items()}
        state = p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros(())
        data = [jnp.asarray(entry) for entry in model.data()]
        function, wait = jax.jit(function_of(stepper(model)), donate_argnums=0), jax.block_until_ready

        def call():
            nonlocal state
            state, loss = wait(function(state, data))
            return loss
        return Prepared(call, steps=steps)
    return prepare


def scanned(step):
    return lambda state, data: jax.lax.scan(lambda state, _: step(state, data), state, length=TOGETHER)


def epoch(scanned):
    """A setting: a call is an epoch, batch by batch, or as one scan."""
    def prepare(_, inputs):
        model, = inputs
        p = {name: jnp.array(value) for name, value in model.parameters().items()}
        state = p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros(())
        step, wait = stepper(model), jax.block_until_ready
        if scanned:
            data = [jnp.asarray(entry).reshape(-1, BATCH, *entry.shape[1:]) for entry in model.data()]
            function = jax.jit(lambda state, data: jax.lax.scan(step, state, data), donate_argnums=0)
        else:
            data = [[jnp.asarray(entry) for entry in batch] for batch in batches(model.data())]
            function = jax.jit(step, donate_argnums=0)

        def call():
            nonlocal state
            if scanned:
                state, losses = function(state, data)
                return wait(losses)
            losses = []
            for batch in data:
                state, loss = function(state, batch)
                losses.append(loss)
            wait(state)
            return jnp.stack(losses)
        return Prepared(call)
    return prepare


def forward(_, inputs):
    model, = inputs
    network, _ = NETWORKS[type(model)]
    p = {name: jnp.asarray(value) for name, value in model.parameters().items()}
    return jitted(lambda x: network(model, p, x), model.data()[:1])


DONATE = trained(lambda step: step)


def settings_of(problem):
    """What takes part in a row."""
    if issubclass(problem, Epoch):
        chosen = {"donate": epoch(False), "scan": epoch(True)}
        return {name: from_definition(entry) for name, entry in chosen.items()} if problem.own_process else chosen
    if issubclass(problem, FirstStep):
        return {"donate": from_definition(DONATE)}
    if issubclass(problem, Forward):
        return {"jit": forward}
    return {"donate": DONATE} if issubclass(problem, Memory) else {"donate": DONATE, "scan": trained(scanned, TOGETHER)}


for name, problem in STEPS.items():
    programs(name, **settings_of(problem))(None)
