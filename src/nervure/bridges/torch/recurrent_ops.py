"""Recurrent layers as ops: PyTorch would write one as an op for each step, and each gate.

Traced graphs call an op of their own for each direction of each layer, and another one for its gradients. Should
PyTorch have to run them, nervure does it, by the same rows.

>>> import torch
>>> x, h, w = torch.ones(5, 2, 3), torch.zeros(1, 2, 4), [torch.ones(4, 3), torch.ones(4, 4)]
>>> y, last = rnn_tanh(x, h, w, False, 1, 0.0, False, False, False)
>>> y.shape, torch.allclose(y, torch.rnn_tanh(x, h, w, False, 1, 0.0, False, False, False)[0])
(torch.Size([5, 2, 4]), True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from nervure.bridges.torch.all_rows import ROWS
from nervure.bridges.torch.torch_tensors import as_array, as_tensor
from nervure.bridges.torch.unsupported import Foreign
from nervure.front.creation import constant
from nervure.front.tensor import Tensor as Ours
from nervure.jit import jit

# -- one direction of one layer --------------------------------------------------------------------------------------


def _forward(x: Tensor, states: list[Tensor], weights: list[Tensor], kind: str, has_biases: bool,
             is_reversed: bool) -> list[Tensor]:
    """Returns the outputs, the last states, and what the gradients need, as the row of this op does."""
    run = _compiled("recurrence", (1, len(states), len(weights)), kind, has_biases, is_reversed)
    return run(x, *states, *weights)


def _backward(gradients: list[Tensor], x: Tensor, states: list[Tensor], weights: list[Tensor], kept: list[Tensor],
              kind: str, has_biases: bool, is_reversed: bool) -> list[Tensor]:
    """Returns the gradients of x, of the states and of the weights, as the row of this op does."""
    counts = len(gradients), 1, len(states), len(weights), len(kept)
    run = _compiled("recurrence_backward", counts, kind, has_biases, is_reversed)
    return run(*gradients, x, *states, *weights, *kept)


@cache
def _compiled(name: str, counts: tuple[int, ...], kind: str, has_biases: bool,
              is_reversed: bool) -> Callable[..., list[Tensor]]:
    """Returns a row as a function of tensors, of which the lists of its arguments have these ``counts``."""
    row = ROWS[f"nervure.{name}.default"]
    places = [sum(counts[:at]) for at in range(len(counts) + 1)]
    single = 0 if name == "recurrence" else 1

    @jit
    def run(*tensors: Ours) -> list[Ours]:
        values = [tensor.value for tensor in tensors]
        lists = [values[start:stop] for start, stop in zip(places, places[1:], strict=False)]
        arguments = [entry[0] if at == single else entry for at, entry in enumerate(lists)]
        return [Ours(value) for value in row((), *arguments, kind, has_biases, is_reversed)]
    return lambda *tensors: [as_tensor(array) for array in run(*[constant(as_array(x)) for x in tensors])]


def _results(x: Tensor, states: list[Tensor], weights: list[Tensor], kind: str, has_biases: bool,
             is_reversed: bool) -> list[Tensor]:
    """Returns tensors like the results of the forward op."""
    steps, batch = x.shape[:2]
    y, last = x.new_empty(steps, batch, states[0].shape[1]), [torch.empty_like(state) for state in states]
    cells = [x.new_empty(steps, batch, state.shape[1]) for state in states[1:]]
    parts = [x.new_empty(steps, batch, weights[0].shape[0]) for _ in range(2 if kind == "gru" else 1)]
    return [y, *last, *cells, *parts]


def _like_operands(gradients: list[Tensor], x: Tensor, states: list[Tensor], weights: list[Tensor],
                   kept: list[Tensor], kind: str, has_biases: bool, is_reversed: bool) -> list[Tensor]:
    """Returns tensors like the results of the backward op."""
    return [x.new_empty(entry.shape) for entry in (x, *states, *weights)]


def _keep(ctx: Foreign, inputs: tuple[Foreign, ...], output: list[Tensor]) -> None:
    x, states, weights, *ctx.settings = inputs
    ctx.counts = len(states), len(weights)
    kept = [output[0], *output[1 + len(states):]]
    ctx.save_for_backward(x, *states, *weights, *kept)


def _gradients(ctx: Foreign, gradients: Sequence[Tensor | None]) -> tuple[Foreign, ...]:
    states, weights = ctx.counts
    x, *others = ctx.saved_tensors
    parts = others[:states], others[states:states + weights], others[states + weights:]
    shown = [parts[2][0], *parts[0]]
    seeds = [torch.zeros_like(own) if given is None else given
             for given, own in zip(gradients[:1 + states], shown, strict=True)]
    found = recurrence_backward(seeds, x, *parts, *ctx.settings)
    return found[0], found[1:1 + states], found[1 + states:], None, None, None


recurrence = torch.library.custom_op("nervure::recurrence", _forward, mutates_args=())
recurrence_backward = torch.library.custom_op("nervure::recurrence_backward", _backward, mutates_args=())
recurrence.register_fake(_results)
recurrence_backward.register_fake(_like_operands)
recurrence.register_autograd(_gradients, setup_context=_keep)


# -- layers ------------------------------------------------------------------------------------------------------------


def _layers(kind: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], has_biases: bool, layers: int,
            dropout: float, is_training: bool, is_bidirectional: bool, is_batch_first: bool) -> tuple[Tensor, ...]:
    """Returns the outputs and the last states of layers, whose arguments are those of ``torch.lstm`` and others."""
    directions = 1 + is_bidirectional
    count = len(weights) // (layers * directions)
    x = x.transpose(0, 1) if is_batch_first else x
    last: list[list[Tensor]] = []
    for layer in range(layers):
        if layer and dropout and is_training:
            x = torch.nn.functional.dropout(x, dropout, True)
        outputs = []
        for is_reversed in (False, True)[:directions]:
            at = len(last)
            found = recurrence(x, [state[at] for state in states], list(
                weights[at * count:(at + 1) * count]), kind, has_biases, is_reversed)
            outputs.append(found[0])
            last.append(found[1:1 + len(states)])
        x = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
    finals = [torch.stack(list(parts)) for parts in zip(*last, strict=True)]
    return x.transpose(0, 1) if is_batch_first else x, *finals


def lstm(x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], *settings: Foreign) -> tuple[Tensor, ...]:
    """Returns what ``torch.lstm`` does of x, the pair of states, weights and settings."""
    return _layers("lstm", x, states, weights, *settings)


def _of_one_state(kind: str) -> Callable[..., tuple[Tensor, ...]]:
    def layers(x: Tensor, state: Tensor, weights: Sequence[Tensor], *settings: Foreign) -> tuple[Tensor, ...]:
        return _layers(kind, x, [state], weights, *settings)
    layers.__name__, layers.__doc__ = kind, f"Returns what ``torch.{kind}`` does."
    return layers


gru, rnn_tanh, rnn_relu = [_of_one_state(kind) for kind in ("gru", "rnn_tanh", "rnn_relu")]

_WHOLE = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}


WHOLE_OF = {getattr(torch, kind): function for kind, function in _WHOLE.items()}
"""The function of ops for each of PyTorch's functions."""

_ARGUMENTS = 9
"""The number of arguments for sequences that are not packed; those that are have eight."""


def is_said(arguments: Sequence[Foreign], x: object) -> bool:
    """Whether our ops can compute a call of one of PyTorch's functions, of which x is the first argument.

    Packed sequences, other devices and sparse tensors are left to PyTorch.
    """
    return (len(arguments) == _ARGUMENTS and isinstance(x, Tensor) and x.dim() == 3 and x.is_floating_point()
            and x.device.type == "cpu")


def decompositions() -> dict[Foreign, Callable[..., Foreign]]:
    """Returns what is to stand for PyTorch's overloads in a graph that has them still, as those of torch.export do."""
    return {getattr(torch.ops.aten, kind).input: function for kind, function in _WHOLE.items()}
