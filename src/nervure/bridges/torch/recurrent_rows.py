"""Rows of recurrent layers, of which the bridge makes ops of its own: one direction of one layer, and its gradients.

The forward op gives the outputs and the last states, and what its gradients need: the products of each step, and the
cells before each. Backwards a loop finds the gradients of these products, with one product in each step, and those of
weights are products over all steps behind it.

>>> import nervure as nv
>>> x, h = nv.zeros((5, 2, 3)), nv.zeros((2, 4))
>>> weights = [nv.zeros((4, 3)), nv.zeros((4, 4))]
>>> [part.shape for part in forward(x, [h], weights, "rnn_tanh", False, False)]
[(5, 2, 4), (2, 4), (5, 2, 4)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from nervure.autodiff.derivative import deriv
from nervure.bridges.torch.fitting import converted
from nervure.bridges.torch.row_table import row
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import reshape
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import add, multiply
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.nn.recurrence import CellWeights, Recurrence, States, gru_cell, lstm_cell, projected, relu_cell, tanh_cell
from nervure.types.description import BasicTensorDescription as Type

KINDS: dict[str, Recurrence] = {"lstm": lstm_cell, "gru": gru_cell, "rnn_tanh": tanh_cell, "rnn_relu": relu_cell}
"""The recurrences, by PyTorch's names."""


@row("nervure.recurrence.default")
def recurrence(result: tuple[Type, ...], x: Value, states: Sequence[Value], weights: Sequence[Value], kind: str,
               has_biases: bool, is_reversed: bool) -> tuple[Value, ...]:
    own, *others = [_wide(part) for part in (x, *states, *weights)]
    found = forward(own, others[:len(states)], others[len(states):], kind, has_biases, is_reversed)
    return tuple([converted(part.value, x.dtype) for part in found])


@row("nervure.recurrence_backward.default")
def recurrence_backward(result: tuple[Type, ...], gradients: Sequence[Value], x: Value, states: Sequence[Value],
                        weights: Sequence[Value], kept: Sequence[Value], kind: str, has_biases: bool,
                        is_reversed: bool) -> tuple[Value, ...]:
    given, first, parameters, before = [[_wide(part) for part in parts] for parts in (
        gradients, states, weights, kept)]
    found = backward(given, _wide(x), first, parameters, before, kind, has_biases, is_reversed)
    return tuple([converted(part.value, x.dtype) for part in found])


def _wide(x: Value) -> Tensor:
    return Tensor(converted(x, x.dtype.compute))


def forward(x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], kind: str, has_biases: bool,
            is_reversed: bool) -> list[Tensor]:
    """Returns the outputs, the last states, and what the gradients need: the cells before each step, and its products.

    x is (T, N, inputs), and weights are as PyTorch has them: outputs in front of inputs.
    """
    cell, own = KINDS[kind], _weights(weights, has_biases)

    def step(before: States, given: Tensor) -> tuple[States, tuple[object, ...]]:
        parts = cell.parts(given, before, own)
        after = projected(cell.combine(parts, before), own)
        return after, (after[0], list(before[1:]), list(parts))
    last, (y, cells, parts) = cast("tuple[States, tuple[Tensor, list[Tensor], list[Tensor]]]", scan(
        step, tuple(states), cell.prepared(x, own), reverse=is_reversed))
    return [y, *last, *cells, *parts]


def backward(gradients: Sequence[Tensor], x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor],
             kept: Sequence[Tensor], kind: str, has_biases: bool, is_reversed: bool) -> list[Tensor]:
    """Returns the gradients of x, of the states and of the weights, from those of the outputs and the last states.

    ``kept`` has the outputs and what else the forward op has kept.
    """
    cell, own = KINDS[kind], _weights(weights, has_biases)
    y, *others = kept
    cells, parts = others[:len(states) - 1], others[len(states) - 1:]
    before = [_shifted(y, states[0], is_reversed), *cells]

    def step(later: States, slices: tuple[Tensor, list[Tensor], list[Tensor]]) -> tuple[States, tuple[object, ...]]:
        given, own_parts, own_before = slices
        seeds = [add(later[0], given), *later[1:]]
        shown = seeds[0]
        if own.projection is not None:
            seeds[0] = matmul(seeds[0], own.projection.mT)
        after = cell.combine(own_parts, tuple(own_before))
        total = add(*[sum_over(multiply(*pair), out_axes=()) for pair in zip(after, seeds, strict=True)]) if len(
            after) > 1 else sum_over(multiply(after[0], seeds[0]), out_axes=())
        found = list(deriv(total, [*own_parts, *own_before]))
        of_parts, of_states = found[:len(parts)], found[len(parts):]
        of_states[0] = add(of_states[0], matmul(of_parts[-1], own.states.mT))
        return tuple(of_states), (of_parts, *([] if own.projection is None else [shown, after[0]]))
    first, (of_parts, *projection) = cast("tuple[States, tuple[list[Tensor], Tensor, Tensor]]", scan(
        step, tuple(gradients[1:]), (gradients[0], list(parts), before), reverse=not is_reversed))
    of_given, of_product = of_parts[0], of_parts[-1]
    found = [matmul(of_given, own.inputs.mT), *first, _over_steps(of_given, x), _over_steps(of_product, before[0])]
    if has_biases:
        found += [sum_over(part, axis=(0, 1)) for part in (of_given, of_product)]
    return found + ([] if own.projection is None else [_over_steps(*projection)])


def _weights(weights: Sequence[Tensor], has_biases: bool) -> CellWeights:
    """Returns weights as the cells have them, with inputs in front of outputs."""
    inputs, states, *rest = [weight if weight.ndim == 1 else weight.mT for weight in weights]
    biases = rest[:2] if has_biases else [None, None]
    projection = rest[2 * has_biases:]
    return CellWeights(inputs, states, *biases, *projection)


def _shifted(y: Tensor, first: Tensor, is_reversed: bool) -> Tensor:
    """Returns the output before each step."""
    start = reshape(first, (1, *first.type.shape))
    return concatenate([y[1:], start] if is_reversed else [start, y[:-1]], axis=0)


def _over_steps(left: Tensor, right: Tensor) -> Tensor:
    """Returns the sum of outer products over steps and batch: (T, N, M) and (T, N, K) give (M, K)."""
    return matmul(_rows(left).mT, _rows(right))


def _rows(x: Tensor) -> Tensor:
    steps, batch, features = x.type.shape
    return reshape(x, (steps * batch, features))
