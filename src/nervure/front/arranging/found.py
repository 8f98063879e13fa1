"""Sizes that are found: positions where a condition holds, elements that a mask selects, repetition by counts.

The length of such a result is known when the graph has run. Until then it is a symbol (``?0``) of its own, at most as
long as the mask. One mask finds one length, so that what it selects from several tensors goes together:

>>> import nervure as nv
>>> x = nv.placeholder((nv.dim("n"),))
>>> mask = x > 0
>>> scaled = nv.computation(x[mask] / nv.sum(x[mask]), x)
>>> scaled(np.float32([1, -2, 3])).tolist(), scaled(np.float32([-1])).tolist()
([0.25, 0.75], [])

A mask of constants, or without elements, is known while the graph is built; then lengths are numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, overload
from weakref import WeakKeyDictionary, ref

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.front.apply import truth
from nervure.front.argument_parsing import as_integer, position_of
from nervure.front.argument_parsing import truth as is_true
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.tensor import Tensor, TensorLike, upward
from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Constant, Full, Leaf, ReadVariable
from nervure.ir.length_finders import finder_of, has_finders, remember
from nervure.ir.op import Op, Value, dimensions_of
from nervure.ir.printer import nested_functions
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ir.whole_op import found_lengths, fresh_length
from nervure.ops.conversion import converted
from nervure.ops.finding import FindPositions
from nervure.ops.order import kept, placed_operands
from nervure.ops.random import Random
from nervure.ops.statistics import length_everywhere
from nervure.support import forks
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dim import DimLike, equal, found_symbols, product
from nervure.types.dtype import int64

_known: WeakKeyDictionary[object, ref[FindPositions]] = WeakKeyDictionary()  # the op for each mask, while it is in use
_lock = forks.lock()


def positions_of(mask: Value) -> Value:
    """Returns the row-major positions of the true elements of a mask, as int64.

    Their length is found, unless all elements are constants or there is none.
    """
    if 0 in mask.shape:
        return ops.Full(0, int64, (0,)).output
    if is_constant(mask):
        return ops.Constant(np.flatnonzero(known_array(mask))).output
    # Each read of a place is a value of its own; placement makes one of those between which nothing is assigned.
    place = kept(mask)
    key = place.variable if isinstance(place, ReadVariable) else mask
    with _lock:
        known = _known.get(key)
        found = None if known is None else known()
        if found is None:
            size = product(mask.shape)
            found = _made(ops.Reshape(mask, (size,)).output, size)
            _known[key] = ref(found)
            return found.outputs[0]
    if found.operands[0].op.operands[0] is not mask:
        return FindPositions(ops.Reshape(mask, found.operands[0].shape), length=found.length).outputs[0]
    return found.outputs[0]


def _made(counts: Value, bound: DimLike) -> FindPositions:
    """Returns the op that finds the positions of counts, with a length of its own."""
    found = FindPositions(counts, length=fresh_length(bound), bound=bound)
    remember(str(found.length), found)
    return found


def makers_of(function: Function) -> list[FindPositions]:
    """Returns the ops that find lengths which a function uses but does not find, such as in ``nv.ones(x[mask].shape)``.
    """
    if not has_finders():
        return []
    known = {*function.symbols, *[name for held in nested_functions(function) for name in found_lengths(held.effects)]}
    return _finders(function.dimensions(), known)


def positions_below(roots: Sequence[Value]) -> list[Value]:
    """Returns the positions of which some ``roots``, not yet placed, use nothing but their number.

    >>> x = nv.placeholder((5,))
    >>> positions_below([nv.sum(nv.ones(x[x > 0].shape)).value])[0].op.found[0].bound
    5
    """
    found: list[Value] = []
    while has_finders():
        order = postorder([*roots, *found], None, placed_operands)
        held = [inner for op in order if isinstance(op, RegionOp) for body in op.bodies
                for inner in nested_functions(body)]
        known = {*found_lengths(order), *[name for inner in held for name in found_lengths(inner.effects)]}
        further = [op.outputs[0] for op in _finders([length for op in order for length in dimensions_of(op)], known)]
        if not further:
            break
        found += further
    return found


def _finders(dimensions: Iterable[DimLike], known: Collection[str]) -> list[FindPositions]:
    names = dict.fromkeys([name for length in dimensions for name in sorted(found_symbols(length))])
    found = [finder_of(name) for name in names if name not in known]
    return [op for op in found if isinstance(op, FindPositions)]


def is_constant(value: Value) -> bool:
    """Whether a value depends on constants alone."""
    return all([bool(op.outputs) and not op.outputs[0].type.symbols and _is_pure(op)
                for op in postorder([value], None, placed_operands)])


def _is_pure(op: Op) -> bool:
    return isinstance(op, (Constant, Full)) if isinstance(op, Leaf) else not (isinstance(op, Random) or is_effect(op))


def known_array(value: Value) -> np.ndarray:
    """Returns the elements of a value that is constant, also while a function is traced."""
    array: np.ndarray = upward().evaluate(Tensor(value))
    return array


def coordinates(mask: Value) -> list[Value]:
    """Returns the positions of the true elements of a mask, one value a dimension."""
    positions, found = positions_of(mask), []
    for length in reversed(mask.shape[1:]):
        divisor = length_everywhere(length, int64, positions.shape)
        found.append(positions % divisor)
        positions = positions // divisor
    return [positions, *reversed(found)]


# -- functions -------------------------------------------------------------------------------------------------------


def nonzero(x: TensorLike) -> tuple[Tensor, ...]:
    """Returns the positions of the elements that are not 0, in row-major order: an int64 tensor for each axis of x.

    Their length is found when the graph runs, unless x is a constant. Raises InvalidArgument for a scalar.

    >>> [index.tolist() for index in nv.nonzero([[1, 0], [2, 3]])]
    [[0, 1, 1], [0, 0, 1]]
    """
    return tuple([Tensor(index) for index in coordinates(_mask(x, "nonzero"))])


def argwhere(x: TensorLike) -> Tensor:
    """Returns the positions of the elements that are not 0, in row-major order: a row of coordinates for each.

    >>> nv.argwhere([[1, 0], [2, 3]]).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    found = coordinates(_mask(x, "argwhere"))
    return Tensor(ops.Stack(*found, axes=(1,), counts=(len(found),)))


def flatnonzero(x: TensorLike) -> Tensor:
    """Returns the positions of the elements that are not 0 among all elements in row-major order.

    >>> nv.flatnonzero([[1, 0], [2, 3]]).tolist()
    [0, 2, 3]
    """
    return Tensor(positions_of(_mask(x, "flatnonzero")))


@in_order
def compress(condition: TensorLike, x: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Returns the slices of x along an axis for which a ``condition`` of one axis holds; of all elements by default.

    The condition has the length of the axis. A named axis keeps its name, with the length that is found.

    >>> nv.compress([True, False, True], [[1, 2], [3, 4], [5, 6]], axis=0).tolist()
    [[1.0, 2.0], [5.0, 6.0]]
    """
    own, mask = as_tensor(x, "compress", 2), truth(as_tensor(condition, "compress"))
    at = None if axis is None else position_of(own, axis, "compress")
    value = ops.Reshape(own.value, (product(own.type.shape),)).output if at is None else own.value
    length = value.shape[at or 0]
    if mask.ndim != 1 or equal(mask.type.shape[0], length) is not True:
        raise ShapeMismatch("the condition has another shape than the axis", op="compress", operand=1,
                            got=str(mask.type), expected=f"one axis of length {length}",
                            help="x[mask] takes a mask of several axes")
    picked = ops.Gather(value, positions_of(mask.value), at or 0).output
    if at is None or not own.is_named:
        return Tensor(picked)
    return Tensor(picked, own.axes.resized(at, picked.shape[at]))


@in_order
def repeat(x: TensorLike, repeats: TensorLike | int | Sequence[int], axis: AxisLike | None = None,
           max_length: DimLike | None = None) -> Tensor:
    """Repeats each slice of x along an axis as often as ``repeats`` says, a number or a count for each slice.

    Without an axis it repeats all elements in row-major order. Counts that are not known while the graph is built need
    ``max_length``, the most that they add up to: memory is planned for it, and a run in which they add up to more is an
    InvalidArgument.

    >>> nv.repeat([1, 2, 3], 2).tolist(), nv.repeat([1, 2, 3], [0, 2, 1]).tolist()
    ([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], [2.0, 2.0, 3.0])
    """
    own = as_tensor(x, "repeat")
    at = None if axis is None else position_of(own, axis, "repeat")
    value = ops.Reshape(own.value, (product(own.type.shape),)).output if at is None else own.value
    length, place = value.shape[at or 0], at or 0
    times = None if isinstance(repeats, Tensor) else as_integer(repeats)
    if times is not None:
        if times < 0:
            raise InvalidArgument("a count is negative", op="repeat", operand="repeats", got=times,
                                  expected="0 or more", help="0 leaves a slice out")
        shape = (*value.shape[:place + 1], times, *value.shape[place + 1:])
        whole = ops.Broadcast(value, shape, (place + 1,))
        picked = ops.Reshape(whole, (*value.shape[:place], length * times, *value.shape[place + 1:])).output
    else:
        picked = ops.Gather(value, _repeated(repeats, length, max_length), place).output
    if at is None or not own.is_named:
        return Tensor(picked)
    return Tensor(picked, own.axes.resized(at, picked.shape[at]))


def _repeated(repeats: object, length: DimLike, bound: DimLike | None) -> Value:
    """Returns each position as often as its count says."""
    counts = as_tensor(repeats if isinstance(repeats, Tensor) else np.asarray(repeats), "repeat", 2)
    if not counts.dtype.is_integer:
        raise WrongKind("counts are integers", op="repeat", operand="repeats", got=str(counts.type),
                        expected="integers", help="convert them: counts.astype(nv.int64)")
    if counts.ndim != 1 or equal(counts.type.shape[0], length) is not True:
        raise ShapeMismatch("there is not a count for each slice", op="repeat", operand="repeats",
                            got=str(counts.type), expected=f"{length} counts",
                            help="a single number repeats all slices alike")
    value = converted(counts.value, int64)
    if is_constant(value):
        known = known_array(value)
        if (known < 0).any():
            raise InvalidArgument("a count is negative", op="repeat", operand="repeats", got=int(known.min()),
                                  expected="0 or more", help="0 leaves a slice out")
        return ops.Constant(np.repeat(np.arange(len(known)), known)).output
    if bound is None:
        raise InvalidArgument("the counts are not known while the graph is built", op="repeat", operand="max_length",
                              got="no max_length", expected="the most that the counts add up to",
                              help="nv.repeat(x, counts, max_length=4 * n); a constant list of counts needs none")
    return _made(value, bound).outputs[0]


@overload
def unique(x: TensorLike, return_index: Literal[False] = False, return_inverse: Literal[False] = False,
           return_counts: Literal[False] = False, equal_nan: bool = True) -> Tensor: ...


@overload
def unique(x: TensorLike, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, equal_nan: bool = True) -> Tensor | tuple[Tensor, ...]: ...


def unique(x: TensorLike, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, equal_nan: bool = True) -> Tensor | tuple[Tensor, ...]:
    """Returns the different elements of x in ascending order; NaN is one of them, and the last, or
    each NaN is one without ``equal_nan``.

    Behind them, as asked for, come the position at which each stands first among all elements in row-major order, for
    each element of x its number among the different ones, and how often each occurs. The derivative goes to the first
    of equal elements. Raises DtypeMismatch for complex numbers.

    >>> values, counts = nv.unique([3, 1, 3, 2], return_counts=True)
    >>> values.tolist(), counts.tolist(), nv.unique([3, 1, 3], return_inverse=True)[1].tolist()
    ([1.0, 2.0, 3.0], [1, 1, 2], [1, 0, 1])
    """
    own = as_tensor(x, "unique")
    with_index = is_true(return_index, "unique", "return_index")
    with_inverse = is_true(return_inverse, "unique", "return_inverse")
    with_counts = is_true(return_counts, "unique", "return_counts")
    size = product(own.type.shape)
    ordered = ops.Sort(ops.Reshape(own.value, (size,)))
    values, origins = ordered.outputs
    before = ops.Pad(values, ((1, -1),)).output
    differs = ops.NotEqual(values, before).output
    if is_true(equal_nan, "unique", "equal_nan") and own.dtype.is_float:
        differs = ops.LogicalAnd(differs, ops.LogicalNot(
            ops.LogicalAnd(ops.IsNan(values), ops.IsNan(before)))).output
    place = ops.Iota((size,), None, int64).output
    begins = ops.LogicalOr(differs, ops.Equal(place, place.full(0))).output
    starts = positions_of(begins)
    found = [ops.Gather(values, starts, 0).output]
    if with_index:
        found.append(ops.Gather(origins, starts, 0).output)
    if with_inverse:
        numbers = ops.Cumulative(ops.Convert(begins, int64), axis=0, kind="add") - 1
        inverse = ops.Scatter(place.full(0), origins, numbers, 0, "set").output
        found.append(ops.Reshape(inverse, own.type.shape).output)
    if with_counts:
        found.append(_ends(starts, size) - starts)
    results = [Tensor(value, own._axes if with_inverse and at == 1 + with_index else None)
               for at, value in enumerate(found)]
    return results[0] if len(results) == 1 else tuple(results)


def _ends(starts: Value, size: DimLike) -> Value:
    """Returns the ends of parts from their starts: each is the start of the next, and the last is ``size``."""
    length, = starts.shape
    following = ops.Pad(starts, ((-1, 1),)).output
    is_last = ops.Equal(ops.Iota((length,), None, int64), length_everywhere(length - 1, int64, (length,)))
    return ops.Where(is_last, length_everywhere(size, int64, (length,)), following).output


def _mask(x: TensorLike, op: str) -> Value:
    mask = truth(as_tensor(x, op))
    if mask.ndim == 0:
        raise InvalidArgument("a scalar has no positions", op=op, got=str(mask.type), expected="one axis or more",
                              help="reshape it: nv.reshape(x, (1,))")
    return mask.value


__all__ = ["argwhere", "compress", "flatnonzero", "nonzero", "repeat", "unique"]

explain_keywords(globals(), __all__)
