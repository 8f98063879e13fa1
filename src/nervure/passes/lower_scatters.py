"""Lowering of scatters to known places: each place takes its updates, instead of each update finding its place.

An index that is computed of numbers and positions alone is known before any call, and so are the updates of each
place, in the order in which they are combined. Where there are few, a chain of elementwise ops with a gather for each
does the same in lanes, on all threads, with the ops around it. So the derivative of a resized image is a weighted sum
of a few neighbours.

>>> import nervure as nv
>>> from nervure.transformers.interpreter.evaluate import evaluate
>>> x, twice = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (6,))
>>> places = nv.ops.FloorDivide(nv.ops.Iota((6,), 0), nv.ops.Full(2, nv.int64, (6,)))
>>> after = lower_scatters(nv.Function([nv.ops.Scatter(x, places, twice, 0, "add")], [x, twice]), evaluate)
>>> after.results
(f32[3] Add(Add, Gather),)

Updates that are computed element by element of one tensor, as a gradient times weights is, are computed where they are
combined. A place that has fewer updates than others keeps what it has in the rest of the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import LANES, Elementwise, View
from nervure.ir.leaves import Constant, Full
from nervure.ir.op import Op, Value
from nervure.ir.traverse import postorder
from nervure.ops.arithmetic import Add, Multiply
from nervure.ops.conversion import converted
from nervure.ops.indexing import Gather, Scatter
from nervure.ops.iota import Iota
from nervure.ops.selection import Maximum, Minimum, Where
from nervure.ops.views import Broadcast, Permute, Reshape
from nervure.passes.fold import LIMIT, Evaluate, array_of, results_of
from nervure.passes.rewrite import Local, Rewriter
from nervure.passes.seen import DEEPEST
from nervure.types.shape import inverse_permutation

MOST = LANES // 4
"""Updates of one place that make a chain: longer ones take long to compile."""

_CHAINS: Mapping[str, Callable[[Value, Value], Op]] = {
    "add": Add, "multiply": Multiply, "minimum": Minimum, "maximum": Maximum}


class Link(NamedTuple):
    """The update that each place takes next, and whether it takes one; a place without has the number of any."""

    sources: np.ndarray
    is_taken: np.ndarray


def lower_scatters(function: Function, evaluate: Evaluate) -> Function:
    """Returns the function without scatters to known places of a few updates each.

    ``evaluate`` computes the ops that an index is made of.
    """
    if not any([isinstance(op, Scatter) for op in function.operations]):
        return function
    rule = partial(_lowered, evaluate=evaluate)
    return Rewriter("lower_scatters", [Local("a scatter to known places", [Scatter], rule)])(function)


def _lowered(op: Scatter, evaluate: Evaluate) -> Value | None:
    x, index, updates = op.operands
    length, exact = x.shape[op.axis], x.dtype if op.mode == "set" else x.dtype.compute
    if not isinstance(length, int) or not length or (x.dtype.kind == "bool" and op.mode != "set"):
        return None
    places = _numbers(index, evaluate)
    if places is None or not places.size or not -length <= int(places.min()) <= int(places.max()) < length:
        return None
    chain = links(places.astype(np.int64).ravel() % length, length, op.mode == "set")
    if chain is None or not _is_worth_it(len(chain), length, places.size, isinstance(x.op, Full)):
        return None
    flat = (*x.shape[:op.axis], places.size, *x.shape[op.axis + 1:])
    updates = updates if updates.shape == flat else Reshape(updates, flat).output
    permuted = updates.op
    if not isinstance(permuted, Permute):
        return converted(_combined(converted(x, exact), converted(updates, exact), chain, op.axis, op.mode), x.dtype)
    # What comes of updates is computed in the order of dimensions that they come from.
    x, updates = Permute(x, inverse_permutation(permuted.order)).output, permuted.operands[0]
    total = _combined(converted(x, exact), converted(updates, exact), chain, permuted.order[op.axis], op.mode)
    return Permute(converted(total, x.dtype), permuted.order).output


def _combined(total: Value, updates: Value, chain: Sequence[Link], axis: int, mode: str) -> Value:
    """Returns a total with which a chain of updates along an axis is combined."""
    others = [d for d in range(total.rank) if d != axis]
    for sources, is_taken in chain:
        update = _taken(updates, Constant(sources).output, axis, DEEPEST)
        combined = update if mode == "set" else _CHAINS[mode](total, update).outputs[0]
        if not is_taken.all():
            combined = Where(Broadcast(Constant(is_taken), total.shape, others), combined, total).output
        total = combined
    return total


def _is_worth_it(reads: int, length: int, count: int, is_filled: bool) -> bool:
    """Whether a chain moves no more memory than a scatter does, one element after the other.

    A scatter reads each update, and reads and writes its place. What it does not fill may lie in place already, while
    a chain reads and writes all of it.
    """
    return (reads if is_filled else reads + 2) * length <= 3 * count


# -- what is known of an index -----------------------------------------------------------------------------------------


def _numbers(index: Value, evaluate: Evaluate) -> np.ndarray | None:
    """Returns the elements of an index that is computed of numbers and positions alone; None for another."""
    found: dict[Value, np.ndarray] = {}
    for op in postorder([index], operands_of=lambda op: op.operands if _is_computed(op) else ()):
        operands = [found.get(operand) for operand in op.operands]
        known = [operand for operand in operands if operand is not None]
        if not _is_computed(op) or len(known) < len(operands):
            return None
        is_number = isinstance(op, (Constant, Full))
        results = [array_of(op.outputs[0])] if is_number else results_of(op, known, evaluate)
        if results is None:
            return None
        found |= zip(op.outputs, results, strict=True)
    return found[index]


def _is_computed(op: Op) -> bool:
    """Whether an op may be computed before any call, and is small."""
    is_pure = isinstance(op, (Elementwise, View, Iota, Constant, Full))
    return is_pure and all([isinstance(length, int) for output in op.outputs for length in output.shape]) and (
        sum([output.type.nbytes for output in op.outputs]) <= LIMIT)


def links(places: np.ndarray, length: int, is_set: bool = False) -> list[Link] | None:
    """Returns the chain of updates for each of ``length`` places; None if it is too long.

    ``places`` are those of the updates, in order. If ``is_set``, the last update alone counts.

    >>> [link.sources.tolist() for link in links(np.array([0, 0, 1, 1]), 2)]
    [[0, 2], [1, 3]]
    """
    counts = np.bincount(places, minlength=length)
    most = 1 if is_set else int(counts.max())
    if most > MOST:
        return None
    order, last = np.argsort(places, kind="stable"), np.cumsum(counts) - 1
    if is_set:
        return [Link(order[last], counts > 0)]
    regular = _regular(places, length, most)
    if regular is not None:
        return regular
    first = last + 1 - counts
    return [Link(order[np.minimum(first + step, places.size - 1)], counts > step) for step in range(most)]


def _regular(places: np.ndarray, length: int, most: int) -> list[Link] | None:
    """Returns a chain each of whose links takes updates at regular steps, if it is hardly longer than ``most``."""
    step, rest = divmod(places.size, length)
    distances = np.arange(places.size) - step * places
    starts = np.unique(distances)
    if rest or len(starts) > most + 1:
        return None
    chain = []
    for start in starts:
        sources = step * np.arange(length) + start
        inside = np.clip(sources, 0, places.size - 1)
        chain.append(Link(inside, (inside == sources) & (places[inside] == np.arange(length))))
    return chain


# -- what the updates are computed of ----------------------------------------------------------------------------------


def _taken(x: Value, sources: Value, axis: int, depth: int) -> Value:
    """Returns the elements of x at these positions along an axis, computed of those of one operand."""
    op, shape = x.op, (*x.shape[:axis], *sources.shape, *x.shape[axis + 1:])
    if isinstance(op, Full):
        return Full(op.number, op.dtype, shape).output
    if isinstance(op, Broadcast):
        own = op.operands[0]
        if axis not in op.axes:
            own = Gather(own, sources, axis - sum([repeated < axis for repeated in op.axes])).output
        return Broadcast(own, shape, op.axes).output
    if depth and _is_of_one(op):
        return op.with_operands([_taken(operand, sources, axis, depth - 1) for operand in op.operands]).outputs[0]
    return Gather(x, sources, axis).output


def _is_of_one(op: Op) -> bool:
    """Whether a cheap op is computed, element by element, of one tensor and what repeats."""
    whole = [operand for operand in op.operands if not isinstance(operand.op, Full | Broadcast)]
    is_cheap = isinstance(op, Elementwise) and op.cost < Elementwise.cost
    return is_cheap and len(whole) == len(op.outputs) == 1
