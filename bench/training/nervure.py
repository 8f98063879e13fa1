"""Training steps in nervure: one computation gives the loss and updates the variables.

Settings: *arguments* is given the batch as arrays at each call, *kept* has it in persistent tensors.
"""

from __future__ import annotations

import itertools

import numpy as np

import nervure as nv
from bench.contenders import Prepared, from_definition, made
from bench.contenders.nervure import import_compiler, programs
from bench.models.attention import Attention
from bench.models.gpt import Gpt
from bench.models.mlp import CLASSES, INPUTS, LAYERS, Mlp
from bench.models.recurrent import Gru, Lstm
from bench.steps import BATCH, STEPS, Epoch, FirstStep, Forward, Memory, batches


def variables(model, axes):
    """A variable for each parameter, with its axes, which may split those of the initial value."""
    values = model.parameters()
    return {name: nv.variable(axes[name], value.reshape([*axes[name].values()])) for name, value in values.items()}


def cross_entropy(logits, labels, axis):
    targets = nv.one_hot(labels, axis)
    return nv.mean(nv.cross_entropy_multi(nv.softmax(logits, axis=axis), targets, out_axes=labels.axes), out_axes=())


def mlp(model, batch, place):
    widths = [{"F0": INPUTS}, *[{f"F{layer}": model.hidden} for layer in range(1, LAYERS)], {"K": CLASSES}]
    axes = {}
    for layer, (left, right) in enumerate(itertools.pairwise(widths)):
        axes |= {f"w{layer}": {**left, **right}, f"b{layer}": right}
    p = variables(model, axes)
    x, labels = place({"N": batch, "F0": INPUTS}), place({"N": batch}, dtype=nv.int64)
    h = x
    for layer in range(LAYERS):
        h = nv.dot(h, p[f"w{layer}"]) + p[f"b{layer}"]
        h = h if layer == LAYERS - 1 else nv.relu(h)
    return h, cross_entropy(h, labels, nv.axis("K", CLASSES)), (x, labels)


def attention_axes(width, heads):
    """Of its parameters: queries, keys and values are the parts of one product."""
    parts, inner, outer = {"part": 3}, {"H": heads, "D": width // heads}, {"E": width}
    return {"w_qkv": {**outer, **parts, **inner}, "b_qkv": {**parts, **inner},
            "w_out": {**inner, **outer}, "b_out": outer}


def mixed(x, w_qkv, b_qkv, w_out, b_out):
    """Causal attention. S is the time of keys and values."""
    qkv = nv.dot(x, w_qkv) + b_qkv
    q, k, v = [nv.slice_along_axis(qkv, "part", part) for part in range(3)]
    batch, time, heads, width = q.axes
    k, v = [nv.map_roles(entry, {"T": "S"}) for entry in (k, v)]
    scores = nv.dot(q, k, batch=[batch, heads]) * width.length**-0.5
    past = nv.iota(time) >= nv.iota(nv.axis("S", time.length))
    p = nv.softmax(nv.where(past, scores, -np.inf), axis="S")
    return nv.dot(nv.dot(p, v, batch=[batch, heads]), w_out) + b_out


def attention(model, batch, place):
    p = variables(model, attention_axes(model.width, model.heads))
    x, target = [place({"N": batch, "T": model.time, "E": model.width}) for _ in range(2)]
    y = mixed(x, **p)
    return y, nv.mean(nv.square(y - target), out_axes=()), (x, target)


def gpt(model, batch, place):
    outer, wide, characters = {"E": model.width}, {"F": 4 * model.width}, {"V": model.vocabulary}
    block = {**attention_axes(model.width, model.heads), "w_up": {**outer, **wide}, "b_up": wide,
             "w_down": {**wide, **outer}, "b_down": outer,
             **dict.fromkeys(("scale_a", "shift_a", "scale_m", "shift_m"), outer)}
    p = variables(model, {"characters": {**characters, **outer}, "positions": {"T": model.context, **outer},
                          **{f"{name}{layer}": axes for layer in range(model.layers) for name, axes in block.items()},
                          "scale": outer, "shift": outer,
                          **({} if model.tied else {"w_head": {**outer, **characters}})})
    if model.low:
        p = {name: nv.convert(value, nv.bfloat16) for name, value in p.items()}
    text, following = [place({"N": batch, "T": model.context}, dtype=nv.int64) for _ in range(2)]
    x = nv.lookuptable(p["characters"], text) + p["positions"]
    for layer in range(model.layers):
        own = {name: p[f"{name}{layer}"] for name in block}
        normed = nv.layer_norm(x, axis="E", scale=own["scale_a"], shift=own["shift_a"])
        x = x + mixed(normed, *[own[name] for name in ("w_qkv", "b_qkv", "w_out", "b_out")])
        normed = nv.layer_norm(x, axis="E", scale=own["scale_m"], shift=own["shift_m"])
        h = nv.gelu(nv.dot(normed, own["w_up"]) + own["b_up"], approximate="tanh")
        x = x + nv.dot(h, own["w_down"]) + own["b_down"]
    head = p["characters"] if model.tied else p["w_head"]
    logits = nv.dot(nv.layer_norm(x, axis="E", scale=p["scale"], shift=p["shift"]), head)
    logits = nv.convert(logits, nv.float32) if model.low else logits
    return logits, cross_entropy(logits, following, nv.axis("V", model.vocabulary)), (text, following)


def recurrent(cell, parts):
    """The network of a cell, (state, what the input of a step gives, parameters) to the next state."""
    def network(model, batch, place):
        gates, outer, inner = {"G": parts, "H": model.units}, {"F": model.features}, {"S": model.units}
        p = variables(model, {name: {"w": {**outer, **gates}, "u": {**inner, **gates}}.get(name, gates)
                              for name in model.shapes()})
        x = place({"N": batch, "T": model.time, "F": model.features})
        target = place({"N": batch, "T": model.time, "H": model.units})
        zeros = nv.zeros({"N": batch, "H": model.units})

        def step(state, given):
            state = cell(state, given, p)
            return state, state[0]
        _, y = nv.scan(step, (zeros, zeros)[:2 if parts == 4 else 1], nv.dot(x, p["w"]) + p["b"], axis="T")
        y = nv.axes_with_order(y, ["N", "T", "H"])
        return y, nv.mean(nv.square(y - target), out_axes=()), (x, target)
    return network


def lstm(state, given, p):
    h, c = state
    gates = given + nv.dot(nv.map_roles(h, {"H": "S"}), p["u"])
    i, f, g, o = [nv.slice_along_axis(gates, "G", part) for part in range(4)]
    c = nv.sigmoid(f) * c + nv.sigmoid(i) * nv.tanh(g)
    return nv.sigmoid(o) * nv.tanh(c), c


def gru(state, given, p):
    h, = state
    parts = nv.dot(nv.map_roles(h, {"H": "S"}), p["u"]) + p["c"]
    (r, z, n), (pr, pz, pn) = [[nv.slice_along_axis(entry, "G", part) for part in range(3)] for entry in (given, parts)]
    candidate = nv.tanh(n + nv.sigmoid(r + pr) * pn)
    return candidate + nv.sigmoid(z + pz) * (h - candidate),


NETWORKS = {Mlp: mlp, Gpt: gpt, Attention: attention, Lstm: recurrent(lstm, 4), Gru: recurrent(gru, 3)}


def adamw(rule, loss):
    """One effect, as that of nv.optim.Adam, with decoupled weight decay (Loshchilov and Hutter 2019)."""
    steps, weights = nv.persistent_tensor((), 0.0), loss.variables()
    after = steps + 1.0
    rate, root = rule.rate / (1.0 - 0.9**after), nv.rsqrt(1.0 - 0.999**after)
    writes = [nv.assign(steps, after)]
    for weight, gradient in zip(weights, nv.deriv(loss, weights)):
        mean, square = [nv.persistent_tensor(weight.axes, 0.0) for _ in range(2)]
        new_mean = 0.9 * mean + 0.1 * gradient
        new_square = 0.999 * square + 0.001 * gradient * gradient
        change = rate * new_mean / (nv.sqrt(new_square) * root + rule.epsilon)
        writes += [nv.assign(mean, new_mean), nv.assign(square, new_square),
                   nv.assign(weight, weight * (1 - rule.rate * rule.decay) - change)]
    return nv.doall(writes)


def update(rule, loss):
    return adamw(rule, loss) if rule.decay else nv.optim.Adam(rule.rate, epsilon=rule.epsilon)(loss)


def first(returned):
    """The loss, which is returned before the effect."""
    return [np.asarray(returned[0])]


def built(model, symbolic=False, place=nv.placeholder):
    """What the network gives, its loss, and the tensors that hold the batch."""
    return NETWORKS[type(model)](model, nv.dim("n", min=1) if symbolic else model.batch, place)


def step_of(model, loss, places=()):
    return nv.computation([loss, update(model.rule, loss)], *places)


def given(symbolic):
    """A setting: the batch comes with each call."""
    def prepare(_, inputs):
        model, = inputs
        _, loss, places = built(model, symbolic)
        return Prepared(step_of(model, loss, places), model.data(), first)
    return prepare


def kept(_, inputs):
    """A setting: the batch lies in tensors of the computation."""
    model, = inputs
    values = iter(model.data())
    _, loss, _ = built(model, place=lambda axes, dtype=nv.float32: nv.persistent_tensor(axes, next(values), dtype))
    return Prepared(step_of(model, loss), (), first)


def epoch(_, inputs):
    """A setting: a call is an epoch, with a model that was built as users build theirs."""
    model, = inputs
    _, loss, (x, labels) = NETWORKS[type(model)](model, BATCH, nv.placeholder)
    x.named("x"), labels.named("labels")
    trained, adam = nv.build(loss, inputs=("x", "labels")), nv.optim.Adam(model.rule.rate, epsilon=model.rule.epsilon)
    data = model.data()
    return Prepared(lambda: np.array([trained.step(adam, *batch) for batch in batches(data)]))


def forward(model):
    y, _, (x, _) = built(model)
    return Prepared(nv.computation(y, x), model.data()[:1])


def compiling(prepare):
    """The setting with everything imported that compiles."""
    def imported(program, inputs):
        import_compiler()
        _ = nv.variable, nv.dot, nv.gelu, nv.softmax, nv.one_hot, nv.cross_entropy_multi, nv.deriv, nv.optim.Adam
        return prepare(program, inputs)
    return imported


def settings_of(problem):
    """What takes part in a row."""
    if issubclass(problem, Epoch):
        return {"build": compiling(from_definition(epoch)) if problem.own_process else epoch}
    if issubclass(problem, Forward):
        return {"arguments": made}
    if issubclass(problem, FirstStep):
        return {"arguments": compiling(from_definition(given(False)))}
    settings = {"arguments": given(problem.symbolic)}
    return settings if problem.symbolic or issubclass(problem, Memory) else {**settings, "kept": kept}


for name, problem in STEPS.items():
    programs(name, **settings_of(problem))(forward)
