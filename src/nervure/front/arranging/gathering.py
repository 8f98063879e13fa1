"""Gather and scatter: elements chosen by index tensors along an axis; embedding tables and one-hot vectors.

>>> import nervure as nv
>>> x = nv.constant([[1., 2., 3.], [4., 5., 6.]], axes="N=2, W=3")
>>> best = nv.constant(np.array([2, 0]), axes="N=2")
>>> nv.gather(x, best, "W").tolist()                         # each sample with its own position: N is in both
[3.0, 4.0]
>>> nv.gather(x, [2, 0, 0, 1], "W").shape
(2, 4)
>>> nv.one_hot(best, nv.axis("W", 3)).tolist()
[[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nervure import ops
from nervure.errors import AxisMismatch, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.alignment import reordered
from nervure.front.argument_parsing import integer, one_of, position_of
from nervure.front.arranging.found import is_constant, known_array
from nervure.front.arranging.views import permuted, renamed
from nervure.front.creation import as_tensor, read_integers, received
from nervure.front.op_functions import mod
from nervure.front.pointwise.elementwise import clip
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.op import Value
from nervure.ops.conversion import converted
from nervure.ops.statistics import length_everywhere
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike, make_axes
from nervure.types.axis import Axis
from nervure.types.axis import axis as named_axis
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DTypeLike, as_dtype, float32, int64
from nervure.types.shape import inverse_permutation

MODES = {"set": "set", "add": "add", "multiply": "multiply", "mul": "multiply", "minimum": "minimum", "min": "minimum",
         "maximum": "maximum", "max": "maximum"}


def gather(x: TensorLike, index: TensorLike, axis: AxisLike) -> Tensor:
    """Replaces one axis of ``x`` by a choice of its positions.

    The axes of ``index`` replace ``axis``. Axes that a named index shares with x go together: x:(N, W), index:(N) give
    (N). A list, or an index without names, leaves x its axis with another length. A negative position counts from the
    end, once; a position out of range is an IndexError when the graph runs.

    >>> nv.gather([[1, 2, 3], [4, 5, 6]], [2, 0], axis=1).tolist()
    [[3.0, 1.0], [6.0, 4.0]]
    >>> nv.gather(nv.constant([[1, 2], [3, 4]], "N=2, C=2"), nv.constant(np.array([1, 0]), "N=2"), "C").tolist()
    [2.0, 3.0]
    """
    own = as_tensor(x, "gather")
    plan = _plan(own, index, axis, "gather")
    return plan.result(plan.gather(own.value))


def scatter(x: TensorLike, index: TensorLike, updates: TensorLike, axis: AxisLike, mode: str = "set") -> Tensor:
    """Returns x with ``updates``, which have the axes of ``gather(x, index, axis)`` or fewer, written to the positions
    ``index``.

    ``mode`` is "set" (the last of several updates of an element stays), "add", "multiply", "min" or "max".

    >>> nv.scatter([1, 2, 3], [0, 0], [10, 20], axis=0, mode="add").tolist()
    [31.0, 2.0, 3.0]
    """
    written = mode_of(mode, "scatter")
    own = as_tensor(x, "scatter")
    plan = _plan(own, index, axis, "scatter")
    given = received(updates, own.dtype, "scatter", 3)
    place = plan.result(plan.gather(own.value))
    fresh = alignment.fitted(given, place, "scatter", 3)
    return Tensor(plan.scatter(own.value, converted(fresh, own.dtype), written), own._axes)


def mode_of(mode: object, op: str) -> str:
    """Returns the mode of a core op by one of its names."""
    return MODES[one_of(mode, MODES, op, "mode", "the mode says how an update meets what is there")]


def gather_elements(x: TensorLike, index: TensorLike, axis: AxisLike) -> Tensor:
    """Takes, for each element of ``index``, the element of x at that position along ``axis``, and at the same place
    otherwise.

    The index has x's shape except along the axis: NumPy's ``take_along_axis``.

    >>> nv.gather_elements([[1, 2], [3, 4]], [[1], [0]], axis=1).tolist()
    [[2.0], [3.0]]
    """
    own, positions = as_tensor(x, "gather_elements"), as_index(index, "gather_elements")
    at = position_of(own, axis, "gather_elements")
    if positions.is_named and not own.is_named:
        raise AxisMismatch("the tensor and the index must both be named, or neither", op="gather_elements",
                           operand=1, got=f"{own.axes} and {positions.axes}", expected="names on both, or on none",
                           help="nv.cast_axes(x, axes) gives it names")
    if positions.is_named:
        shared = alignment.pairing(positions.axes, own.axes)
        others = [here for here in range(positions.ndim) if here not in shared or shared[here] == at]
        if positions.ndim != own.ndim or len(others) > 1:
            raise AxisMismatch("the index must have x's axes but for one", op="gather_elements", operand=2,
                               got=str(positions.axes), expected=str(own.axes),
                               help="nv.gather(x, index, axis) takes an index of other axes")
        there = {there: here for here, there in shared.items() if there != at}
        positions = permuted(positions, [there.get(d, others[0] if others else d) for d in range(own.ndim)])
    alike = [length if d == at or positions.ndim != own.ndim or equal(length, own.type.shape[d]) is not None
             else own.type.shape[d] for d, length in enumerate(positions.type.shape)]
    chosen = alignment.assume_shape(positions.value, tuple(alike), "gather_elements")
    op = ops.GatherElements(own.value, chosen, axis=at)
    if not own.is_named:
        return Tensor(op)
    return Tensor(op, own.axes.resized(at, op.shape[at]))


def gather_nd(x: TensorLike, index: TensorLike, batch: int = 0) -> Tensor:
    """Takes slices of x at the coordinates in the last dimension of ``index``. ``batch`` leading dimensions are
    shared. For anonymous tensors.

    >>> nv.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).tolist()
    [2.0, 3.0]
    """
    own, positions = as_tensor(x, "gather_nd"), as_index(index, "gather_nd")
    if own.is_named or positions.is_named:
        raise AxisMismatch("gather_nd goes by positions", op="gather_nd", got=f"{own.axes} and {positions.axes}",
                           help="nv.gather(x, index, axis) goes by axes", expected="anonymous axes")
    given, shape = positions.type.shape, own.type.shape
    count = integer(batch, "gather_nd", "batch", help="0 shares none")
    shared = min(count, own.ndim)
    alike = [shape[d] if d < shared and equal(length, shape[d]) is None else length for d, length in enumerate(given)]
    return Tensor(ops.GatherNd(own.value, alignment.assume_shape(positions.value, tuple(alike), "gather_nd"),
                               batch=count))


def one_hot(x: TensorLike, axis: AxesLike, dtype: DTypeLike = float32) -> Tensor:
    """Turns the integers of x into vectors along a new first axis: 1 at the position they name, 0 elsewhere.

    ``axis`` is an Axis or ``"C=10"``; for an anonymous x a length. Negative integers count from the end, once.

    >>> nv.one_hot(np.array([2, 0]), 3).tolist()
    [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """
    own = as_index(x, "one_hot")
    new = _new_axis(own, axis)
    op = ops.OneHot(own.value, new.length, as_dtype(dtype))
    return Tensor(op, None if new.is_anonymous else Axes([new, *own.axes]))


def lookuptable(table: TensorLike, index: TensorLike, axes: AxesLike | None = None,
                pad_idx: int | None = None) -> Tensor:
    """Looks up the rows of a ``table`` of two axes: the result has the axes of ``index``, then the table's second.

    The row ``pad_idx`` has gradient zero. ``axes`` are the result's axes, in any order.

    >>> nv.lookuptable([[1, 2], [3, 4], [5, 6]], [2, 0]).tolist()
    [[5.0, 6.0], [1.0, 2.0]]
    """
    own, rows = as_tensor(table, "lookuptable"), as_index(index, "lookuptable", 2)
    if own.ndim != 2:
        raise ShapeMismatch("a table has two axes", op="lookuptable", operand=1, got=str(own.type),
                            expected="rows and columns",
                            help="nv.gather(x, index, axis) takes tensors of any axes")
    value = ops.LookupTable(own.value, rows.value, pad_idx=pad_idx).output
    mixed = own.is_named != rows.is_named and rows.ndim > 0
    if mixed and axes is None:
        raise AxisMismatch("the table and the index must both be named, or neither", op="lookuptable",
                           got=f"{own.axes} and {rows.axes}", help="give axes=(...), the axes of the result",
                           expected="names on both, or on none")
    named = own.is_named and not mixed
    return renamed(Tensor(value, Axes([*rows.axes, own.axes[1]]) if named else None), axes)


class _Plan(NamedTuple):
    """The plan of indexing one axis: batch dimensions that x and index share come first, then the axis, then the rest
    of x.
    """

    x_order: tuple[int, ...]
    positions: Value
    batch: int
    order: tuple[int, ...]
    axes: Axes | None

    def gather(self, x: Value) -> Value:
        """Returns the chosen elements, with the shared dimensions first."""
        if not self.batch:
            return ops.Gather(reordered(x, self.x_order), self.positions, 0).output
        return ops.GatherNd(reordered(x, self.x_order), self._coordinates(), self.batch).output

    def scatter(self, x: Value, updates: Value, mode: str) -> Value:
        """Returns x with ``updates``, in the order of the result, written to the chosen elements."""
        moved, updates = reordered(x, self.x_order), reordered(updates, inverse_permutation(self.order))
        if self.batch:
            written: ops.Scatter | ops.ScatterNd = ops.ScatterNd(moved, self._coordinates(), updates, mode, self.batch)
        else:
            written = ops.Scatter(moved, self.positions, updates, 0, mode)
        return reordered(written.output, inverse_permutation(self.x_order))

    def result(self, picked: Value) -> Tensor:
        """Returns the gathered elements as a tensor, with the index's own dimensions in the place of the axis."""
        return Tensor(reordered(picked, self.order), self.axes)

    def _coordinates(self) -> Value:
        shape = (*self.positions.shape, 1)
        return ops.Broadcast(self.positions, shape, (len(shape) - 1,)).output


def _plan(x: Tensor, index: TensorLike, axis: AxisLike, op: str) -> _Plan:
    at, positions = position_of(x, axis, op), as_index(index, op, 2)
    shared: dict[int, int] = {}  # dimensions of the index -> those of x
    if x.is_named and positions.is_named:
        rest = Axes([own for d, own in enumerate(x.axes) if d != at])
        shared = {here: there + (there >= at) for here, there in alignment.pairing(positions.axes, rest).items()}
    elif positions.is_named or (x.is_named and positions.ndim > 1):
        raise AxisMismatch("the tensor and the index must both be named, or neither", op=op, operand=2,
                           got=f"{x.axes} and {positions.axes}", help='nv.constant(index, axes="N=32")',
                           expected="names on both, or on none")
    batch = sorted(shared, key=shared.__getitem__)
    own = [d for d in range(positions.ndim) if d not in shared]
    moved = permuted(positions, [*batch, *own]).value
    others = [d for d in range(x.ndim) if d != at and d not in shared.values()]
    x_order = [*[shared[d] for d in batch], at, *others]
    shape = [*[x.type.shape[shared[d]] for d in batch], *[positions.type.shape[d] for d in own]]
    # The source of each dimension of the result among (shared, index's own, rest of x).
    places = {shared[d]: [k] for k, d in enumerate(batch)}
    places[at] = [len(batch) + k for k in range(len(own))]
    places |= {d: [len(batch) + len(own) + k] for k, d in enumerate(others)}
    order = [place for d in range(x.ndim) for place in places[d]]
    axes = _result_axes(x, positions, at, own) if x.is_named else None
    return _Plan(tuple(x_order), alignment.assume_shape(moved, tuple(shape), op), len(batch), tuple(order), axes)


def _result_axes(x: Tensor, index: Tensor, at: int, own: Sequence[int]) -> Axes:
    """Returns x's axes with the axis ``at`` replaced by the dimensions ``own`` of the index, those that x lacks."""
    if index.is_named or not own:
        fresh = [index.axes[d] for d in own]
    else:
        fresh = [x.axes[at].resized(index.shape[0])]
    return Axes([*x.axes[:at], *fresh, *x.axes[at + 1:]])


def as_index(index: TensorLike, op: str, position: int = 1) -> Tensor:
    """Reads an index as an integer tensor; a list of Python's integers is one too."""
    index = read_integers(index, op, position)
    if not index.dtype.is_integer:
        raise WrongKind("an index is of integers", op=op, operand=position, got=str(index.type),
                        help="convert it: index.astype(nv.int64)", expected="integers")
    return Tensor(converted(index.value, int64), index._axes)


def from_front(index: Tensor, length: DimLike) -> Tensor:
    """Returns an index with its numbers below 0 as positions that do not exist, where they would count from the end."""
    if is_constant(index.value) and int(known_array(index.value).min(initial=0)) >= 0:
        return index
    at, whole = index.value, length_everywhere(length, int64, index.type.shape)
    return Tensor(ops.Where(ops.Less(at, at.full(0)), at - whole, at), index._axes)


def within(index: Tensor, length: DimLike) -> Tensor:
    """Returns an index as it is: a number below 0, or from ``length`` on, is an IndexOutOfRange when the graph runs."""
    places = ops.Iota((length,), 0, int64)
    return Tensor(ops.Gather(places, from_front(index, length).value, 0), index._axes)


OUTSIDE = ("raise", "wrap", "clip")
"""The ways to take a position outside of an axis."""


def inside(index: Tensor, length: DimLike, mode: str, name: str) -> Tensor:
    """Returns positions below a ``length``; ``mode`` says what one outside is."""
    if one_of(mode, OUTSIDE, name, "mode", "it says what a coordinate outside is") == "wrap":
        return mod(index, length)
    return clip(index, 0, length - 1) if mode == "clip" else within(index, length)


def _new_axis(x: Tensor, axis: object) -> Axis:
    """The new axis of a one-hot tensor: named beside named axes, a plain length beside anonymous ones."""
    if isinstance(axis, str):
        found = make_axes(axis) if "=" in axis else Axes([named_axis(axis)])
        axis = found[0] if len(found) == 1 else found
    new = axis if isinstance(axis, Axis) else make_axes(axis).flatten()
    if x.ndim and new.is_anonymous == x.is_named:
        raise AxisMismatch("named and anonymous axes do not mix", op="one_hot", got=f"{new} and {x.axes}",
                           help='write the new axis as "C=10" beside named axes, as 10 beside anonymous ones',
                           expected="names on both, or on none")
    return new


__all__ = ["gather", "gather_elements", "gather_nd", "lookuptable", "one_hot", "scatter"]

explain_keywords(globals(), __all__)
