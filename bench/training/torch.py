"""Training steps in PyTorch: networks as functions of their parameters, torch's own attention and optimisers.

Settings: *fused* and *foreach* are eager with those optimisers, *compile* has the loss compiled and the fused
optimiser, *compile_all* the optimiser compiled as well.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from bench.contenders import Prepared, from_definition
from bench.contenders.torch import programs, read, without_gradients
from bench.models.attention import Attention
from bench.models.gpt import Gpt
from bench.models.mlp import LAYERS, Mlp
from bench.models.recurrent import Gru, Lstm
from bench.steps import STEPS, Epoch, FirstStep, Forward, Memory, batches


def mlp(model, p, x):
    for layer in range(LAYERS):
        x = torch.addmm(p[f"b{layer}"], x, p[f"w{layer}"])
        x = x if layer == LAYERS - 1 else F.relu(x)
    return x


def dense(x, w, b):
    return torch.addmm(b, x.flatten(0, 1), w).unflatten(0, x.shape[:2])


def mixed(x, w_qkv, b_qkv, w_out, b_out, heads):
    q, k, v = dense(x, w_qkv, b_qkv).unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return dense(y.transpose(1, 2).flatten(2), w_out, b_out)


def attention(model, p, x):
    return mixed(x, p["w_qkv"], p["b_qkv"], p["w_out"], p["b_out"], model.heads)


def gpt(model, p, text):
    width = (model.width,)
    if model.low:
        p = {name: value.bfloat16() for name, value in p.items()}
    x = F.embedding(text, p["characters"]) + p["positions"]
    for layer in range(model.layers):
        def own(*names, layer=layer):
            return [p[f"{name}{layer}"] for name in names]
        normed = F.layer_norm(x, width, *own("scale_a", "shift_a"))
        x = x + mixed(normed, *own("w_qkv", "b_qkv", "w_out", "b_out"), model.heads)
        normed = F.layer_norm(x, width, *own("scale_m", "shift_m"))
        x = x + dense(F.gelu(dense(normed, *own("w_up", "b_up")), approximate="tanh"), *own("w_down", "b_down"))
    head = p["characters"].T if model.tied else p["w_head"]
    return (F.layer_norm(x, width, p["scale"], p["shift"]) @ head).float()


def recurrent(function, states):
    """The network of a function of torch's own, whose weights are transposed and whose biases are two."""
    def network(model, p, x):
        zeros = torch.zeros(1, len(x), model.units)
        biases = p["b"], p["c"] if "c" in p else torch.zeros_like(p["b"])
        y, *_ = function(x, (zeros, zeros) if states == 2 else zeros, [p["w"], p["u"], *biases], True, 1, 0.0, True,
                         False, True)
        return y
    return network


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


NETWORKS = {Mlp: (mlp, cross_entropy), Gpt: (gpt, cross_entropy), Attention: (attention, F.mse_loss),
            Lstm: (recurrent(torch.lstm, 2), F.mse_loss), Gru: (recurrent(torch.gru, 1), F.mse_loss)}
TRANSPOSED = Lstm, Gru  # models whose matrices torch's own functions read by rows of outputs


def parts(model):
    """Network, loss, parameters and data of a model."""
    is_transposed = isinstance(model, TRANSPOSED)
    tensors = {name: torch.from_numpy(value.T.copy() if is_transposed else value)
               for name, value in model.parameters().items()}
    return *NETWORKS[type(model)], tensors, [torch.from_numpy(entry) for entry in model.data()]


def trained(compile_loss=False, compile_update=False, **options):
    """A setting: gradients by autograd, the update by torch's optimiser."""
    def prepare(_, inputs):
        model, = inputs
        network, compare, tensors, data = parts(model)
        parameters = {name: torch.nn.Parameter(value) for name, value in tensors.items()}
        optimiser = torch.optim.AdamW(parameters.values(), lr=model.rule.rate, eps=model.rule.epsilon,
                                      weight_decay=model.rule.decay, **options)

        def loss_of(x, target):
            return compare(network(model, parameters, x), target)
        loss_of = torch.compile(loss_of, dynamic=False) if compile_loss else loss_of
        update = torch.compile(optimiser.step) if compile_update else optimiser.step

        def step(x, target):
            loss = loss_of(x, target)
            loss.backward()
            update()
            optimiser.zero_grad(set_to_none=True)
            return loss
        return Prepared(step, data, read)
    return prepare


def epoch(compile_loss=False, compile_update=False, **options):
    """A setting: a call is an epoch of steps as those of ``trained``."""
    prepare = trained(compile_loss, compile_update, **options)

    def prepared(program, inputs):
        made = prepare(program, inputs)
        pairs = list(batches(made.arguments))
        return Prepared(lambda: [made.call(*pair).detach() for pair in pairs],
                        read=lambda losses: [np.array([float(loss) for loss in losses], np.float32)])
    return prepared


def forward(compiled):
    """A setting: the network alone."""
    def prepare(_, inputs):
        model, = inputs
        without_gradients()
        network, _, parameters, (x, _) = parts(model)

        def results(x):
            return network(model, parameters, x)
        return Prepared(torch.compile(results, dynamic=False) if compiled else results, (x,), read)
    return prepare


FORWARD = {"eager": forward(False), "compile": forward(True)}
EAGER = {"fused": trained(fused=True), "foreach": trained(foreach=True)}
COMPILED = {"compile": trained(compile_loss=True, fused=True)}
ALL = {**EAGER, **COMPILED, "compile_all": trained(compile_loss=True, compile_update=True, foreach=True)}


def settings_of(problem):
    """What takes part in a row."""
    if issubclass(problem, Epoch):
        chosen = {"fused": epoch(fused=True), "foreach": epoch(foreach=True),
                  "compile": epoch(compile_loss=True, fused=True)}
        return {name: from_definition(entry) for name, entry in chosen.items()} if problem.own_process else chosen
    if issubclass(problem, FirstStep):
        chosen = COMPILED if problem.kept_cache else {**EAGER, **COMPILED}
        return {name: from_definition(prepare) for name, prepare in chosen.items()}
    if issubclass(problem, Memory):
        return {**EAGER, **COMPILED}
    return FORWARD if issubclass(problem, Forward) else ALL


for name, problem in STEPS.items():
    programs(name, **settings_of(problem))(None)
