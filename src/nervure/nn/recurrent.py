"""Recurrent layers, and their cells alone.

>>> import nervure as nv
>>> from nervure import nn
>>> layer = nn.LSTM("F=8", "H=16", layers=2, bidirectional=True)
>>> y, (h, c) = layer(nv.placeholder("N=n, T=t, F=8"))
>>> print(y.axes, h.axes)
(N: n, T: t, H: 32) (layers: 4, N: n, H: 16)

Parameters have plain lengths, as PyTorch's have, with the inputs in front of the outputs, and PyTorch's names: those of
layer 1, backwards, are ``weights_ih_l1_reverse``, ``weights_hh_l1_reverse``, ``bias_ih_l1_reverse`` and
``bias_hh_l1_reverse``. Gates stand beside each other in its order. All parameters start from numbers drawn evenly from
+-1 / sqrt(states).
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import WrongKind, shown
from nervure.front.argument_parsing import fraction, integer, one_of, truth
from nervure.front.arranging.filled import zeros
from nervure.front.creation import as_tensor
from nervure.front.promotion import promote
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.nn.parameters import check_both_named, count, evenly, one_axis, parameter
from nervure.nn.recurrence import CellWeights, Recurrence, States, gru_cell, lstm_cell, relu_cell, run_layers, tanh_cell
from nervure.nn.sequences import Sequences
from nervure.support.elsewhere import explains_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.axis import Axis
from nervure.types.dtype import DType, DTypeLike

_SLOTS = {"inputs": "weights_ih", "states": "weights_hh", "input_bias": "bias_ih", "state_bias": "bias_hh",
          "projection": "weights_hr"}
"""The names of a cell's parameters."""

NONLINEARITIES = {"tanh": tanh_cell, "relu": relu_cell}


class Recurrent(Module):
    """The common part of layers and cells: the parameters of a recurrence, and its states."""

    def _make(self, cell: Recurrence, inputs: AxesLike, outputs: AxesLike, projection: AxesLike | None = None) -> None:
        """Sets the recurrence, and the axes of its inputs, states and outputs."""
        op = type(self).__name__
        self._cell, self._inputs = cell, one_axis(inputs, op, "inputs")
        self._states = one_axis(outputs, op, "outputs")
        self._outputs = self._states if projection is None else one_axis(projection, op, "projection")
        check_both_named(op, inputs=Axes([self._inputs]), outputs=Axes([self._states]))
        check_both_named(op, outputs=Axes([self._states]), projection=Axes([self._outputs]))

    def _add_cell(self, inputs: int, suffix: str, bias: bool, dtype: DTypeLike | None) -> None:
        """Makes the parameters of one cell, for a number of inputs."""
        states, outputs = count([self._states]), count([self._outputs])
        gates = self._cell.gates * states
        shapes: dict[str, tuple[int, ...]] = {"inputs": (inputs, gates), "states": (outputs, gates)}
        shapes |= {"input_bias": (gates,), "state_bias": (gates,)} if bias else {}
        shapes |= {} if self._outputs is self._states else {"projection": (states, outputs)}
        for slot, shape in shapes.items():
            setattr(self, _SLOTS[slot] + suffix, parameter(shape, evenly(states), dtype=dtype))

    def _weights(self, suffix: str) -> CellWeights:
        own = {slot: vars(self).get(name + suffix) for slot, name in _SLOTS.items()}
        return CellWeights(**{slot: place for slot, place in own.items() if place is not None})

    def _axes_of_states(self) -> list[Axis]:
        return [self._outputs, self._states][:len(self._cell.names)]

    def _first(self, x: Sequences, given: object, number: int | None, dtype: DType) -> States:
        """Returns the states to begin with, without names: zeros unless they are given."""
        names, axes = self._cell.names, self._axes_of_states()
        if given is None:
            front = () if number is None else (number,)
            return tuple([zeros((*front, *x.batch, count([axis])), dtype) for axis in axes])
        listed = [given] if len(names) == 1 else given
        if not isinstance(listed, (list, tuple)) or len(listed) != len(names):
            raise WrongKind(f"the states are ({', '.join(names)})", op=x.op, operand="states", got=shown(given),
                            expected=f"{len(names)} tensors", help="give both as a pair, as a call returns them")
        return tuple([x.state(entry, axis, number, name, dtype)
                      for entry, axis, name in zip(listed, axes, names, strict=True)])

    def _named(self, x: Sequences, states: States, number: int | None) -> Tensor | States:
        """Returns states with their names: a tensor, or a tuple of several."""
        found = tuple([x.named_state(state, axis, number)
                       for state, axis in zip(states, self._axes_of_states(), strict=True)])
        return found if len(found) > 1 else found[0]


class _Layer(Recurrent):
    """Layers of a recurrence, in one direction or both."""

    def _build(self, layers: int, bidirectional: bool, dropout: float, bias: bool, axis: AxisLike,
               batch_first: bool, dtype: DTypeLike | None) -> None:
        op = type(self).__name__
        self.layers = integer(layers, op, "layers", least=1)
        self.bidirectional = truth(bidirectional, op, "bidirectional")
        self.dropout = fraction(dropout, op, "dropout", "the share of elements that are dropped between layers")
        self._steps = axis if not self._inputs.is_anonymous else -2 if truth(batch_first, op, "batch_first") else 0
        self._suffixes = [[f"_l{layer}{end}" for end in ("", "_reverse")[:1 + self.bidirectional]]
                          for layer in range(self.layers)]
        for layer, suffixes in enumerate(self._suffixes):
            inputs = count([self._inputs]) if layer == 0 else count([self._outputs]) * len(suffixes)
            for suffix in suffixes:
                self._add_cell(inputs, suffix, truth(bias, op, "bias"), dtype)

    def _run(self, x: TensorLike, states: object, lengths: TensorLike | None) -> tuple[Tensor, Tensor | States]:
        given = Sequences(type(self).__name__, x, self._inputs, self._steps)
        weights = [[self._weights(suffix) for suffix in suffixes] for suffixes in self._suffixes]
        dtype = promote([given.own.dtype, weights[0][0].inputs.dtype])
        number = sum([len(suffixes) for suffixes in self._suffixes])
        first = self._first(given, states, number, dtype)
        y, last = run_layers(self._cell, given.steps_first(), first, weights,
                             None if lengths is None else given.of_each(lengths),
                             self.dropout if self.training else 0.0)
        outputs = self._outputs.resized(count([self._outputs]) * len(self._suffixes[0]))
        return given.result(y, outputs), self._named(given, last, number)


class _LayerOfStates(_Layer):
    """Layers whose cells have one state each."""

    def forward(self, x: TensorLike, state: TensorLike | None = None,
                lengths: TensorLike | None = None) -> tuple[Tensor, Tensor]:
        """Maps x (T, N, inputs) to the states y of the last layer, and the last states of all layers.

        y is (T, N, outputs * directions), the last states are (layers * directions, N, outputs). ``state`` has the
        states to begin with, zeros if absent. ``lengths``, integers over N, are the numbers of steps of each sequence
        that count: behind them its states stay, and y is 0.
        """
        y, last = self._run(x, state, lengths)
        assert isinstance(last, Tensor)
        return y, last


class RNN(_LayerOfStates):
    """The recurrence ``h = tanh(x W_ih + b_ih + h W_hh + b_hh)`` (Elman 1990), or ``nonlinearity="relu"``.

    ``inputs`` and ``outputs`` are one axis each: ``RNN("F=64", "H=256")`` is for x over F, the steps ``axis``, and any
    others; ``RNN(64, 256)`` for x (T, N, 64), or (N, T, 64) with ``batch_first``. There are ``layers``, each with both
    directions if ``bidirectional``; in training, elements between layers are dropped with the rate ``dropout``.

    >>> y, h = nv.nn.RNN(2, 3, layers=2)(nv.zeros((5, 4, 2)))
    >>> y.shape, h.shape
    ((5, 4, 3), (2, 4, 3))
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, layers: int = 1, nonlinearity: str = "tanh",
                 bidirectional: bool = False, dropout: float = 0.0, bias: bool = True, axis: AxisLike = "T",
                 batch_first: bool = False, dtype: DTypeLike | None = None) -> None:
        self.nonlinearity = nonlinearity
        self._make(_nonlinear(nonlinearity, "RNN"), inputs, outputs)
        self._build(layers, bidirectional, dropout, bias, axis, batch_first, dtype)


class GRU(_LayerOfStates):
    """Gated recurrent units (Cho et al. 2014): states move by a share z towards new ones.

    ``r, z = sigmoid(x W_ir + b_ir + h W_hr + b_hr), sigmoid(x W_iz + b_iz + h W_hz + b_hz)``, ``n = tanh(x W_in + b_in
    + r * (h W_hn + b_hn))``, ``h = (1 - z) * n + z * h``. Parameters have the gates r, z, n beside each other; the
    arguments are those of ``RNN``.

    >>> y, h = nv.nn.GRU("F=2", "H=3", bidirectional=True)(nv.zeros("T=5, N=4, F=2"))
    >>> print(y.axes, h.axes)
    (T: 5, N: 4, H: 6) (layers: 2, N: 4, H: 3)
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, layers: int = 1, bidirectional: bool = False,
                 dropout: float = 0.0, bias: bool = True, axis: AxisLike = "T", batch_first: bool = False,
                 dtype: DTypeLike | None = None) -> None:
        self._make(gru_cell, inputs, outputs)
        self._build(layers, bidirectional, dropout, bias, axis, batch_first, dtype)


class LSTM(_Layer):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), with forget gates: states h, and cells c behind gates.

    ``i, f, o`` are sigmoids and ``g`` is the tanh of ``x W_ih + b_ih + h W_hh + b_hh``, whose parts are i, f, g, o in
    this order; ``c = f * c + i * g`` and ``h = o * tanh(c)``, times W_hr with a ``projection`` onto another axis. The
    other arguments are those of ``RNN``.

    >>> y, (h, c) = nv.nn.LSTM(2, 3, projection=1, batch_first=True)(nv.zeros((4, 5, 2)))
    >>> y.shape, h.shape, c.shape
    ((4, 5, 1), (1, 4, 1), (1, 4, 3))
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, layers: int = 1, bidirectional: bool = False,
                 dropout: float = 0.0, bias: bool = True, projection: AxesLike | None = None, axis: AxisLike = "T",
                 batch_first: bool = False, dtype: DTypeLike | None = None) -> None:
        self._make(lstm_cell, inputs, outputs, projection)
        self._build(layers, bidirectional, dropout, bias, axis, batch_first, dtype)

    def forward(self, x: TensorLike, states: Sequence[TensorLike] | None = None,
                lengths: TensorLike | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Maps x (T, N, inputs) to the states y of the last layer, and the last states (h, c) of all layers.

        y is (T, N, outputs * directions), h and c are (layers * directions, N, outputs). ``states`` is such a pair to
        begin with, zeros if absent. ``lengths``, integers over N, are the numbers of steps of each sequence that count:
        behind them its states stay, and y is 0.
        """
        y, last = self._run(x, states, lengths)
        assert isinstance(last, tuple)
        return y, (last[0], last[1])


# -- cells -------------------------------------------------------------------------------------------------------------


class _SingleCell(Recurrent):
    """One step of a recurrence."""

    def _step(self, x: TensorLike, states: object) -> Tensor | States:
        given = Sequences(type(self).__name__, x, self._inputs)
        weights = self._weights("")
        first = self._first(given, states, None, promote([given.own.dtype, weights.inputs.dtype]))
        return self._named(given, self._cell(given.steps_first(), first, weights), None)


class _CellOfState(_SingleCell):
    """One step of a recurrence with one state."""

    def forward(self, x: TensorLike, state: TensorLike | None = None) -> Tensor:
        """Maps (..., inputs) and a state (..., outputs), zeros if absent, to the next state."""
        return as_tensor(self._step(x, state))


class RNNCell(_CellOfState):
    """One step of ``RNN``: ``tanh(x W_ih + b_ih + h W_hh + b_hh)``, or ``nonlinearity="relu"``.

    >>> nv.nn.RNNCell(2, 3)(nv.zeros((4, 2))).shape
    (4, 3)
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, nonlinearity: str = "tanh", bias: bool = True,
                 dtype: DTypeLike | None = None) -> None:
        self.nonlinearity = nonlinearity
        self._make(_nonlinear(nonlinearity, "RNNCell"), inputs, outputs)
        self._add_cell(count([self._inputs]), "", truth(bias, "RNNCell", "bias"), dtype)


class GRUCell(_CellOfState):
    """One step of ``GRU``.

    >>> print(nv.nn.GRUCell("F=2", "H=3")(nv.zeros("N=4, F=2")).axes)
    (N: 4, H: 3)
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, bias: bool = True, dtype: DTypeLike | None = None) -> None:
        self._make(gru_cell, inputs, outputs)
        self._add_cell(count([self._inputs]), "", truth(bias, "GRUCell", "bias"), dtype)


class LSTMCell(_SingleCell):
    """One step of ``LSTM``.

    >>> cell = nv.nn.LSTMCell(2, 3)
    >>> h, c = cell(nv.zeros((4, 2)), cell(nv.ones((4, 2))))
    >>> h.shape, c.shape
    ((4, 3), (4, 3))
    """

    @explains_keywords
    def __init__(self, inputs: AxesLike, outputs: AxesLike, bias: bool = True, dtype: DTypeLike | None = None) -> None:
        self._make(lstm_cell, inputs, outputs)
        self._add_cell(count([self._inputs]), "", truth(bias, "LSTMCell", "bias"), dtype)

    def forward(self, x: TensorLike, states: Sequence[TensorLike] | None = None) -> tuple[Tensor, Tensor]:
        """Maps (..., inputs) and states (h, c), each (..., outputs), zeros if absent, to the next states."""
        found = self._step(x, states)
        assert isinstance(found, tuple)
        return found[0], found[1]


def _nonlinear(nonlinearity: str, op: str) -> Recurrence:
    return NONLINEARITIES[one_of(nonlinearity, NONLINEARITIES, op, "nonlinearity",
                                 "a loop of your own takes any: nv.scan")]
