"""Cutting: a function and its derivatives become two functions, one that runs forward and one that runs backward.

The first returns the results and the *residuals*: values that the second one reads. A value that is cheap to compute
from parameters, variables and other residuals is computed again instead: views, and a few elementwise ops. If such a
value follows from a single one that takes no more memory, that one is kept.

>>> import nervure as nv
>>> x, w = nv.Parameter(nv.float32, (4, 3)), nv.Parameter(nv.float32, (3,))
>>> y = nv.ops.Exp(nv.ops.Multiply(x, nv.ops.Broadcast(w, (4, 3), [0])))
>>> derivative, = nv.autodiff.gradients([y], [w], [y.full(1)])
>>> parts = cut(nv.Function([y, derivative], [x, w]), results=1)
>>> [type(value.op).__name__ for value in parts.forward.results], parts.arguments
(['Exp', 'Exp'], (0,))
>>> print(parts.backward, end="")
nervure 1
function backward(%Exp: f32[4, 3], %0: f32[4, 3]) {
  f32[4, 3] %1 = Full(number=0x1.0p+0, dtype=f32, shape=(4, 3))
  f32[4, 3] %2 = Multiply(%1, %Exp)
  f32[4, 3] %3 = Multiply(%2, %0)
  f32[3] %4 = Sum(%3, axes=(0,))
  return %4
}

Both are ordinary functions. A variable that the function does not update is read again, so it must have the same value
when the second one runs; a variable that is updated is a residual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nervure.ir.function import Function, moved
from nervure.ir.kinds import Elementwise, Structured, View
from nervure.ir.leaves import Leaf, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.region import parameter_for
from nervure.ir.traverse import postorder, rebuild
from nervure.types.dim import Dim, less_equal, symbols

AGAIN = 8
"""The cost (:attr:`nervure.ir.op.Op.cost`) up to which a value is computed again, including everything that it needs.
It is about that of a store and a load from memory, which together take longer than a few additions. A value that is
kept also takes memory until the backward part has run, so that this is more than a plan computes again in one call.
"""


class Cut(NamedTuple):
    """A function cut in two. ``forward`` returns the results, then the residuals. ``backward`` takes the residuals,
    then those arguments of ``forward`` whose numbers are ``arguments``, and returns the derivatives.
    """

    forward: Function
    backward: Function
    arguments: tuple[int, ...]

    @property
    def residuals(self) -> int:
        """The number of residuals."""
        return len(self.backward.parameters) - len(self.arguments)


def cut(function: Function, results: int, effects: int | None = None) -> Cut:
    """Cuts a ``function`` whose first ``results`` are those of the forward part; the others are derivatives.

    The updates belong to the forward part, and so do the first ``effects`` effects (absent: all).
    """
    early, late = function.effects[:effects], function.effects[len(function.effects[:effects]):]
    given, wanted = function.results[:results], function.results[results:]
    ahead: set[Op] = set()
    postorder([*function.parameters, *early, *[value for _, value in function.updates], *given], ahead)
    behind = postorder([*late, *wanted], set(ahead))
    needed = {operand for op in behind for operand in op.operands if operand.op in ahead}
    needed.update([value for value in wanted if value.op in ahead])
    kept = _Choice(function, needed).residuals([op for op in function.operations if op in ahead])
    forward = Function([*given, *kept], function.parameters, function.updates, early, function.assumptions, "forward")
    backward, arguments = _backward(function, wanted, late, kept)
    return Cut(forward, backward, arguments)


def _backward(function: Function, wanted: Sequence[Value], effects: Sequence[Op],
              kept: Sequence[Value]) -> tuple[Function, tuple[int, ...]]:
    """Returns the derivatives as a function of residuals and of arguments, and the numbers of these arguments."""
    parameters = [_parameter(value) for value in kept]
    table = {value: parameter.output for value, parameter in zip(kept, parameters, strict=True)}
    order = postorder([*effects, *wanted], {value.op for value in kept})
    rebuild(order, table)
    results = [table.get(value, value) for value in wanted]
    happening = [moved(op, table) for op in effects]
    read = {op for op in order if type(op) is Parameter}
    whole = Function(results, [*parameters, *read], (), happening)
    read.update(_telling(whole, function.parameters))
    arguments = tuple([number for number, op in enumerate(function.parameters) if op in read])
    taken = [*parameters, *[function.parameters[number] for number in arguments]]
    return Function(results, taken, (), happening, name="backward"), arguments


def _parameter(value: Value) -> Parameter:
    """Returns the parameter that stands for a residual."""
    op = parameter_for(value)
    op.name = op.name or type(value.op).__name__
    return op


def _telling(function: Function, candidates: Sequence[Parameter]) -> Iterator[Parameter]:
    """Yields the candidates needed to determine a symbol of the function that no parameter of it determines."""
    found = {str(length) for op in function.parameters for length in op.output.shape}
    missing = {name for length in function.dimensions() for name in symbols(length) if name[0] != "%"} - found
    for parameter in candidates:
        named = missing & {name for length in parameter.output.shape if isinstance(length, Dim)
                           for name in symbols(length)}
        if named:
            missing -= named & {str(length) for length in parameter.output.shape}
            yield parameter


class _Choice:
    """The choice of residuals, from the first value to the last one.

    ``costs`` maps each value that the backward part has, or can have, to the cost of computing it again.
    """

    def __init__(self, function: Function, needed: set[Value]) -> None:
        self._needed = needed
        self._updated = {variable for variable, _ in function.updates}
        self._costs: dict[Value, int] = {}

    def residuals(self, operations: Sequence[Op]) -> list[Value]:
        """Returns the values of these ops that are kept."""
        kept = []
        for op in operations:
            if self._is_there(op):
                self._costs[op.outputs[0]] = 0
                continue
            cost = self._cost(op)
            if cost is not None and cost <= AGAIN:
                self._costs[op.outputs[0]] = cost
                continue
            kept.extend([self._keep(value) for value in op.outputs if value in self._needed])
        return kept

    def _is_there(self, op: Op) -> bool:
        """Whether the backward part has the value of an op as the forward part had it: leaves, and positions."""
        if type(op) is ReadVariable:
            return op.variable not in self._updated
        return isinstance(op, Leaf) or (isinstance(op, Structured) and not op.operands)

    def _cost(self, op: Op) -> int | None:
        """Returns the cost of computing an op again, with everything that it is computed from; None if it may not be.
        """
        if not _is_again(op) or any([operand not in self._costs for operand in op.operands]):
            return None
        return _own_cost(op) + sum([self._costs[operand] for operand in set(op.operands)])

    def _keep(self, value: Value) -> Value:
        """Returns the value that is kept for another one: the value itself, or the one that it follows from."""
        chain, cost = [value], 0
        while (source := self._source(chain[-1])) is not None:
            cost += _own_cost(chain[-1].op)
            if cost > AGAIN:
                break
            chain.append(source)
        self._costs[chain[-1]] = 0
        for entry in reversed(chain[:-1]):
            self._costs[entry] = self._cost(entry.op) or 0
        return chain[-1]

    def _source(self, value: Value) -> Value | None:
        """Returns the only value that is missing for computing another one again, if it takes no more memory."""
        missing = {operand for operand in value.op.operands if operand not in self._costs}
        if not _is_again(value.op) or len(missing) != 1:
            return None
        source, = missing
        return source if less_equal(source.type.nbytes, value.type.nbytes) else None


def _is_again(op: Op) -> bool:
    """Whether an op may run twice and costs little."""
    return isinstance(op, (View, Elementwise)) and len(op.outputs) == 1


def _own_cost(op: Op) -> int:
    """Returns the cost of an op by itself; views are free."""
    return 0 if isinstance(op, View) else op.cost
