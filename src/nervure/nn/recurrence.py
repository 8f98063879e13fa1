"""Recurrences as functions of tensors without names: steps and features in, states out.

>>> import nervure as nv
>>> ones = CellWeights(nv.ones((2, 3)), nv.ones((3, 3)))
>>> y, (h,) = run_direction(tanh_cell, nv.ones((5, 4, 2)), (nv.zeros((4, 3)),), ones)
>>> y.shape, h.shape
((5, 4, 3), (4, 3))

A ``Recurrence`` has two parts: what needs the inputs alone is computed for all steps at once, as one product, and what
needs the states runs in a loop over the steps, with one product in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from nervure import ops
from nervure.front.arranging.joining import concatenate, split, stack
from nervure.front.arranging.views import reshape
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import less, relu, sigmoid, tanh
from nervure.front.pointwise.elementwise import where
from nervure.front.random import dropout
from nervure.front.tensor import Tensor
from nervure.nn.parameters import biased
from nervure.types.dtype import int64

States = tuple[Tensor, ...]
"""The states of a cell, such as (h, c): each (..., states)."""


class CellWeights(NamedTuple):
    """The weights of a recurrence: ``inputs`` (inputs, gates * states) and ``states`` (outputs, gates * states).

    Each product may have a bias (gates * states), and an LSTM a ``projection`` (states, outputs).
    """

    inputs: Tensor
    states: Tensor
    input_bias: Tensor | None = None
    state_bias: Tensor | None = None
    projection: Tensor | None = None


class Recurrence(NamedTuple):
    """A recurrence with a number of ``gates``, and states of these ``names``, of which the first is the output.

    ``combine(parts, states)`` returns the next states, in front of a projection. The parts are the product of the
    inputs and that of the states, or, if it ``adds_products``, their sum alone.
    """

    gates: int
    names: tuple[str, ...]
    combine: Callable[[Sequence[Tensor], States], States]
    adds_products: bool = True

    def prepared(self, x: Tensor, weights: CellWeights) -> Tensor:
        """Returns the product of the inputs x (..., inputs), for all steps at once: (..., gates * states)."""
        found = biased(matmul(x, weights.inputs), weights.input_bias)
        return biased(found, weights.state_bias) if self.adds_products else found

    def parts(self, given: Tensor, states: States, weights: CellWeights) -> tuple[Tensor, ...]:
        """Returns the parts of a step, of which ``given`` is prepared."""
        product = matmul(states[0], weights.states)
        return (given + product,) if self.adds_products else (given, biased(product, weights.state_bias))

    def step(self, given: Tensor, states: States, weights: CellWeights) -> States:
        """Returns the states after one step, of which ``given`` is prepared."""
        return projected(self.combine(self.parts(given, states, weights), states), weights)

    def __call__(self, x: Tensor, states: States, weights: CellWeights) -> States:
        """Returns the states after one step, with the inputs x (..., inputs)."""
        return self.step(self.prepared(x, weights), states, weights)


def projected(states: States, weights: CellWeights) -> States:
    """Returns states of which the first is projected, if there is a projection."""
    if weights.projection is None:
        return states
    return matmul(states[0], weights.projection), *states[1:]


def _simple(activation: Callable[[Tensor], Tensor]) -> Callable[[Sequence[Tensor], States], States]:
    return lambda parts, states: (activation(parts[0]),)


def _lstm(parts: Sequence[Tensor], states: States) -> States:
    taken, kept, new, shown = split(parts[0], 4, axis=-1)
    cell = sigmoid(kept) * states[1] + sigmoid(taken) * tanh(new)
    return sigmoid(shown) * tanh(cell), cell


def _gru(parts: Sequence[Tensor], states: States) -> States:
    (reset, kept, new), (own_reset, own_kept, own_new) = [split(part, 3, axis=-1) for part in parts]
    share = sigmoid(kept + own_kept)
    found = tanh(new + sigmoid(reset + own_reset) * own_new)
    return ((1 - share) * found + share * states[0],)


tanh_cell, relu_cell = [Recurrence(1, ("h",), _simple(function)) for function in (tanh, relu)]
lstm_cell = Recurrence(4, ("h", "c"), _lstm)
gru_cell = Recurrence(3, ("h",), _gru, adds_products=False)


def run_direction(cell: Recurrence, x: Tensor, states: States, weights: CellWeights, is_reversed: bool = False,
                  present: Tensor | None = None) -> tuple[Tensor, States]:
    """Runs a cell over the first axis of x (T, ..., inputs), from ``states`` (..., states) on, or from its end.

    Returns the outputs (T, ..., outputs) and the last states. Where ``present`` (T, ..., 1) is false, states stay and
    outputs are 0.
    """
    def step(before: States, part: tuple[Tensor, Tensor | None]) -> tuple[States, Tensor]:
        given, is_present = part
        after = cell.step(given, before, weights)
        if is_present is None:
            return after, after[0]
        kept = tuple([where(is_present, new, old) for new, old in zip(after, before, strict=True)])
        return kept, where(is_present, after[0], 0)
    last, outputs = cast("tuple[States, Tensor]", scan(step, states, (cell.prepared(x, weights), present),
                                                       reverse=is_reversed))
    return outputs, last


def run_layers(cell: Recurrence, x: Tensor, states: States, weights: Sequence[Sequence[CellWeights]],
               lengths: Tensor | None = None, dropout_rate: float = 0.0) -> tuple[Tensor, States]:
    """Runs layers, each in one direction or two, over the first axis of x (T, ..., inputs).

    ``weights`` has those of each direction of each layer; ``states``, before and after, are (layers * directions, ...,
    states). ``lengths`` (...) are the numbers of steps that count. Elements that go from one layer to the next are
    dropped with ``dropout_rate``.
    """
    present = None if lengths is None else _present(x, lengths)
    last: list[States] = []
    for number, directions in enumerate(weights):
        if number and dropout_rate:
            x = dropout(x, dropout_rate)
        outputs = []
        for at, own in enumerate(directions):
            first = tuple([state[len(last)] for state in states])
            found, final = run_direction(cell, x, first, own, at == 1, present)
            outputs.append(found)
            last.append(final)
        x = outputs[0] if len(outputs) == 1 else concatenate(outputs, axis=-1)
    return x, tuple([stack(list(state), 0) for state in zip(*last, strict=True)])


def _present(x: Tensor, lengths: Tensor) -> Tensor:
    """Returns which steps of x (T, ..., inputs) count: (T, ..., 1)."""
    steps = Tensor(ops.Iota(x.type.shape[:-1], 0, int64))
    return reshape(less(steps, lengths), (*x.type.shape[:-1], 1))
