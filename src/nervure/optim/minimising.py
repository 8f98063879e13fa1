"""Minima of functions, in the graph: L-BFGS with a line search that keeps Wolfe's strong conditions.

>>> import nervure as nv
>>> def valley(x):
...     return nv.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
>>> found = minimise(valley, np.array([-1.2, 1.0, 2.0]))
>>> found.x.numpy().round(6).tolist(), found.converged.item()
([1.0, 1.0, 1.0], True)

All of it is one loop, so that a compiled function may minimise others inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.autodiff.derivative import deriv
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front import pytrees
from nervure.front.argument_parsing import integer, require_function
from nervure.front.arranging.filled import zeros
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.views import reshape
from nervure.front.creation import as_tensor
from nervure.front.loops.loop_functions import while_loop
from nervure.front.op_functions import absolute, greater, less, less_equal, logical_and, logical_or, sqrt
from nervure.front.pointwise.elementwise import clip, convert, where
from nervure.front.pointwise.predicates import isfinite
from nervure.front.promotion import promote
from nervure.front.pytrees import Nested
from nervure.front.statistics.reductions import max as largest
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor
from nervure.optim.hyperparameters import NOT_NEGATIVE, checked
from nervure.optim.quasi_newton import MOST_STEPS, directions, first_length, remembered
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import DimLike
from nervure.types.dtype import bool_, float64, int64

DECREASE, FLATNESS = 1e-4, 0.9
"""The constants of Wolfe's conditions (Nocedal and Wright 2006, section 3.1) that are usual for L-BFGS."""

RELATIVE_CURVATURE = 2.0**-52
"""A step is remembered if the gradient turns along it, by more than rounding."""

MOST_TRIALS = 25
"""The most points that a line search tries."""


class Minimum(NamedTuple):
    """A minimum that was found: ``x``, nested as the start was, and the ``value`` there.

    ``gradient`` is the largest entry of the gradient, without its sign; ``steps`` and ``evaluations`` count, and
    ``converged`` says whether the gradient is small enough.

    >>> found = nv.optim.minimise(lambda x: nv.sum(nv.square(x - 3.0)), nv.zeros(2))
    >>> found.x.tolist(), found.value.item(), found.converged.item()
    ([3.0, 3.0], 0.0, True)
    """

    x: Nested
    value: Tensor
    gradient: Tensor
    steps: Tensor
    evaluations: Tensor
    converged: Tensor


def minimise(f: Callable[..., Tensor], x: Nested, steps: int = 100, memory: int = 10,
             gradient_tolerance: float = 1e-5, change_tolerance: float = 0.0) -> Minimum:
    """Returns a minimum near ``x`` of a function ``f`` with one number as its result, by L-BFGS (Liu and Nocedal 1989).

    x is a tensor, or several in any nesting, of floats. Each of at most ``steps`` steps goes along the direction that
    the last ``memory`` ones tell, as far as Wolfe's strong conditions hold: the value has fallen, and the slope is
    flatter. The search has converged where no entry of the gradient is larger than ``gradient_tolerance``; it also ends
    where a step changes x, or the value, by ``change_tolerance`` at most. It takes about as many steps as PyTorch's
    ``LBFGS(line_search_fn="strong_wolfe")``. float64 is advisable.

    >>> found = nv.optim.minimise(lambda pair: (pair[0] - 3.0) ** 2 + (pair[1] + 1.0) ** 2, (0.0, 0.0))
    >>> [round(entry.item(), 3) for entry in found.x], found.converged.item()
    ([3.0, -1.0], True)
    """
    require_function(f, "minimise", "f", ["x"])
    most, kept = integer(steps, "minimise", "steps"), integer(memory, "minimise", "memory")
    if most < 0 or not 1 <= kept <= MOST_STEPS:
        raise InvalidArgument("there is a number of steps, some of which are remembered", op="minimise",
                              operand="steps" if most < 0 else "memory", got=steps if most < 0 else memory,
                              expected=f"0 or more steps, 1 to {MOST_STEPS} of them remembered", help="10 are usual")
    limits = [checked(entry, "minimise", name, NOT_NEGATIVE) for entry, name in (
        (gradient_tolerance, "gradient_tolerance"), (change_tolerance, "change_tolerance"))]
    flat = _Flat(f, x)
    start = flat.start()
    value, gradient = flat.evaluated(start)
    size = start.type.shape
    state = _State(start, value, gradient, zeros((kept, *size), start.dtype), zeros((kept, *size), start.dtype),
                   zeros((), int64), as_tensor(1, dtype=int64), zeros((), bool_))

    def goes_on(state: _State) -> Tensor:
        is_steep = greater(largest(absolute(state.gradient)), limits[0])
        return logical_and(logical_and(less(state.steps, most), is_steep), ~state.ended)
    last = _State(*while_loop(lambda given: goes_on(_State(*given)),
                              lambda given: tuple(_step(flat, _State(*given), limits[1])), tuple(state)))
    steepness = largest(absolute(last.gradient))
    return Minimum(flat.nested(last.x), last.value, steepness, last.steps, last.evaluations,
                   less_equal(steepness, limits[0]))


class _Flat:
    """The function as one of a vector."""

    def __init__(self, f: Callable[..., Tensor], x: Nested) -> None:
        self.f = f
        leaves, self.pattern = pytrees.flatten(x)
        self.leaves = [as_tensor(leaf, "minimise", "x") for leaf in leaves]
        if not self.leaves or any([not leaf.dtype.is_float for leaf in self.leaves]):
            raise WrongKind("what is varied are floats", op="minimise", operand="x", got=shown(x),
                            expected="tensors of a float type", help="x.astype(nv.float64)")
        self.dtype = promote([leaf.dtype.compute for leaf in self.leaves], op="minimise")

    def start(self) -> Tensor:
        """Returns all elements, one after another."""
        parts = [reshape(Tensor(convert(leaf, self.dtype).value), (leaf.type.size,)) for leaf in self.leaves]
        return parts[0] if len(parts) == 1 else concatenate(parts, 0)

    def nested(self, x: Tensor) -> Nested:
        """Returns the elements in the form that the function takes."""
        found: list[Tensor] = []
        at: DimLike = 0
        for leaf in self.leaves:
            part = x if len(self.leaves) == 1 else x[at:at + leaf.type.size]
            at = at + leaf.type.size
            found.append(Tensor(convert(reshape(part, leaf.type.shape), leaf.dtype).value, leaf._axes))
        return pytrees.unflatten(self.pattern, found)

    def evaluated(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the value at a point, and the gradient there."""
        value = as_tensor(self.f(self.nested(x)), "minimise")
        if value.ndim or not value.dtype.is_float:
            raise InvalidArgument("a function that is minimised gives one number", op="minimise", operand="f",
                                  got=str(value.type), expected="a float without axes",
                                  help="nv.sum(y, out_axes=()) adds up what there is")
        wide = convert(value, self.dtype)
        return wide, deriv(wide, x)


class _State(NamedTuple):
    """The state of a search between steps: a point, its value and gradient, and the last moves and turns."""

    x: Tensor
    value: Tensor
    gradient: Tensor
    moves: Tensor
    turns: Tensor
    steps: Tensor
    evaluations: Tensor
    ended: Tensor


class _Line(NamedTuple):
    """A search along a line: the best point, the other end of the bracket, if there is one, and the next trial."""

    at: Tensor
    value: Tensor
    slope: Tensor
    gradient: Tensor
    other: Tensor
    other_value: Tensor
    other_slope: Tensor
    bracketed: Tensor
    trial: Tensor
    trials: Tensor
    ended: Tensor


def _step(flat: _Flat, state: _State, tolerance: float) -> _State:
    """Goes along one direction."""
    down, = directions([state.gradient], [state.moves], [state.turns])
    direction = -down
    slope = total(state.gradient * direction)
    is_first = less(state.steps, 1)
    length = first_length(is_first, total(absolute(state.gradient)))
    nothing = zeros((), flat.dtype)
    line = _Line(nothing, state.value, slope, state.gradient, nothing, state.value, slope, zeros((), bool_),
                 convert(length, flat.dtype), zeros((), int64), less_equal(0.0, slope))
    widest = largest(absolute(direction))
    found = _Line(*while_loop(
        lambda given: ~_Line(*given).ended,
        lambda given: tuple(_tried(flat, state, direction, slope, widest, _Line(*given), tolerance)), tuple(line)))
    move = found.at * direction
    x, turn = state.x + move, found.gradient - state.gradient
    is_told = greater(total(move * turn), RELATIVE_CURVATURE * total(turn * turn))
    is_still = logical_or(less_equal(largest(absolute(move)), tolerance),
                          less_equal(absolute(found.value - state.value), tolerance))
    return _State(x, found.value, found.gradient, remembered(state.moves, move, is_told),
                  remembered(state.turns, turn, is_told), state.steps + 1, state.evaluations + found.trials, is_still)


def _tried(flat: _Flat, state: _State, direction: Tensor, start: Tensor, widest: Tensor, line: _Line,
           tolerance: float) -> _Line:
    """Evaluates the next point of a line, and moves the bracket (Nocedal and Wright 2006, algorithms 3.5 and 3.6)."""
    at = line.trial
    value, gradient = flat.evaluated(state.x + at * direction)
    slope = total(gradient * direction)
    # Written so that a value that is NaN is too large.
    is_low = logical_and(less_equal(value, state.value + DECREASE * at * start), less(value, line.value))
    is_flat = logical_and(is_low, less_equal(absolute(slope), -FLATNESS * start))
    ahead = where(line.bracketed, line.other - line.at, 1.0)
    turns = logical_and(is_low, greater(slope * ahead, 0.0))
    fresh, old = (at, value, slope), (line.at, line.value, line.slope)
    best = [where(is_low, new, before) for new, before in zip(fresh, old, strict=True)]
    others = [where(is_low, where(turns, before, there), new) for new, before, there in zip(
        fresh, old, (line.other, line.other_value, line.other_slope), strict=True)]
    bracketed = logical_or(line.bracketed, logical_or(~is_low, turns))
    trial = where(bracketed, _between(best, others), 2.0 * at)
    trials = line.trials + 1
    rounding = (2.0**-52 if flat.dtype is float64 else 2.0**-23) * largest(absolute(state.x))
    is_narrow = logical_and(bracketed, less_equal(absolute(others[0] - best[0]) * widest, tolerance + rounding))
    ended = logical_or(is_flat, logical_or(is_narrow, less_equal(MOST_TRIALS, trials)))
    return _Line(best[0], best[1], best[2], where(is_low, gradient, line.gradient), others[0], others[1], others[2],
                 bracketed, trial, trials, ended)


def _between(best: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
    """Returns the minimum of the cubic through two points with their slopes, held inside of the bracket; its middle if
    there is none.
    """
    width = other[0] - best[0]
    safe = where(absolute(width) <= 0.0, 1.0, width)
    bend = best[2] + other[2] - 3.0 * (other[1] - best[1]) / safe
    root = bend * bend - best[2] * other[2]
    reach = sqrt(where(greater(root, 0.0), root, 0.0)) * where(greater(width, 0.0), 1.0, -1.0)
    below = other[2] - best[2] + 2.0 * reach
    share = 1.0 - (other[2] + reach - bend) / where(absolute(below) <= 0.0, 1.0, below)
    is_found = logical_and(greater(root, 0.0), logical_and(isfinite(share), greater(absolute(below), 0.0)))
    return best[0] + width * where(is_found, clip(share, 0.1, 0.9), 0.5)


explain_keywords(globals(), ["minimise"])
