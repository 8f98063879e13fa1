"""Checks that type rules share: equal dimensions, axes in range, windows that fit.

>>> from nervure.ops import Parameter, Reverse
>>> import nervure as nv
>>> checked_axes(Reverse(Parameter(nv.float32, (2, 3)), [1]), (-1,), 2)
(1,)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from nervure.errors import DtypeMismatch, ErrorParts, InvalidArgument, ShapeMismatch
from nervure.ir.function import Assumption
from nervure.ir.op import Op
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, dim_max, equal, highest, less_equal
from nervure.types.dim.lengths import of_lengths
from nervure.types.element_groups import INTEGERS, describe_types

UNKNOWN_HELP = "for some values of the symbols they differ; ops.AssumeShape states that they never do"


def behind(axes: Sequence[int]) -> tuple[int, ...]:
    """Returns the numbers of dimensions when there is one more in front."""
    return tuple([axis + 1 for axis in axes])


def require_equal(op: Op, left: DimLike, right: DimLike, message: str, **parts: Unpack[ErrorParts]) -> None:
    """Raises ShapeMismatch unless ``left`` and ``right`` are provably equal; ``parts`` are the fields of the error."""
    if left is right or left == right:
        return
    verdict = equal(left, right)
    if verdict is True:
        return
    if verdict is None:
        parts["help"] = UNKNOWN_HELP
    raise op.fail(ShapeMismatch, message, **parts)


def require_shape(op: Op, position: int, got: BasicTensorDescription, shape: Sequence[DimLike], message: str) -> None:
    """Raises ShapeMismatch unless the operand at ``position`` provably has this ``shape``."""
    parts: ErrorParts = {"operand": op.operand_label(position), "got": got, "expected": got.with_(shape=tuple(shape)),
                         "help": "insert ops.Broadcast or a reshape; the core never broadcasts"}
    if len(got.shape) != len(shape):
        raise op.fail(ShapeMismatch, message, **parts)
    for left, right in zip(got.shape, shape, strict=True):
        require_equal(op, left, right, message, **parts)


def require_same_dtype(op: Op, types: Sequence[BasicTensorDescription], positions: Sequence[int]) -> None:
    """Raises DtypeMismatch unless the operands at ``positions`` have one element type."""
    first = types[positions[0]]
    for position in positions[1:]:
        if types[position].dtype is not first.dtype:
            raise op.fail(DtypeMismatch, "the operands differ in element type", operand=op.operand_label(position),
                          got=types[position], expected=f"{first.dtype.name} elements, as {first}",
                          help="insert ops.Convert; the core never promotes")


def require_rank(op: Op, position: int, got: BasicTensorDescription, minimum: int) -> None:
    """Raises ShapeMismatch unless the rank of the operand at ``position`` is at least ``minimum``."""
    if len(got.shape) < minimum:
        raise op.fail(ShapeMismatch, "the rank is too low", operand=op.operand_label(position), got=got,
                      expected=f"rank {minimum} or more",
                      help="insert ops.Reshape or ops.Broadcast for another dimension")


def require_index(op: Op, position: int, got: BasicTensorDescription) -> None:
    """Raises DtypeMismatch unless the operand at ``position`` holds integers."""
    if got.dtype not in INTEGERS:
        raise op.fail(DtypeMismatch, "indices must be integers", operand=op.operand_label(position), got=got,
                      expected=describe_types(INTEGERS), help="insert ops.Convert")


def checked_axis(op: Op, axis: int, rank: int, name: str = "axis") -> int:
    """Returns ``axis`` counted from 0; InvalidArgument, naming the attribute, if a tensor of that rank has no such
    axis.
    """
    if not -rank <= axis < rank:
        raise op.fail(InvalidArgument, f"attribute {name} is out of range", operand=name, got=axis,
                      expected=f"{-rank} to {rank - 1}" if rank else "nothing: the rank is 0",
                      help="dimensions count from 0; negative ones count from the end")
    return axis % rank


def checked_axes(op: Op, axes: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Returns the axes counted from 0; InvalidArgument if one is out of range or occurs twice."""
    normal = tuple([checked_axis(op, axis, rank, name) for axis in axes])
    if len(set(normal)) != len(normal):
        raise op.fail(InvalidArgument, f"attribute {name} names an axis twice", operand=name, got=tuple(axes),
                      expected="each axis once", help="leave out the second; a negative number means an axis too")
    return normal


def window_extent(op: Op, position: int, got: BasicTensorDescription, axis: int, window: DimLike, stride: int = 1,
                  dilation: int = 1, padding: Sequence[DimLike] = (0, 0)) -> DimLike:
    """Returns the number of places of a window along an axis: ``(length + padding - dilation*(window - 1) - 1) //
    stride + 1``.

    Raises ShapeMismatch if the padded axis is certainly shorter than the window; but an empty axis has 0 places for a
    window of 1.
    """
    span = dilation * (window - 1) + 1
    spare = got.shape[axis] + padding[0] + padding[1] - span
    high = spare if isinstance(spare, int) else highest(spare)
    if (high is not None and high < 0 and (spare, span) != (-1, 1)) or (isinstance(window, int) and window < 1):
        found = f"window {window}, dilation {dilation}, padding {tuple(padding)} on dimension {axis} of {got}"
        raise op.fail(ShapeMismatch, "the window does not fit the padded axis", operand=op.operand_label(position),
                      got=found,
                      expected="a window of 1 or more that spans at most the padded length",
                      help="use a smaller window or dilation, or more padding")
    return spare // stride + 1


def fitting_windows(op: Op, lengths: Sequence[DimLike], windows: Sequence[DimLike], dilations: Sequence[int],
                    paddings: Sequence[tuple[DimLike, DimLike]]) -> list[Assumption]:
    """Returns the assumptions that a call with symbolic ``lengths`` must check: that ``window_extent`` would accept
    the numbers.
    """
    found = []
    for length, window, dilation, padding in zip(lengths, windows, dilations, paddings, strict=True):
        span, padded = dilation * (window - 1) + 1, length + padding[0] + padding[1]
        for least, size in ((0 if span == 1 else span, padded), (1, window)):
            if less_equal(least, size) is not True:
                found.append(Assumption(dim_max(size, least), size, type(op).__name__, op.location))
    return found


def lengths_of_results(op: Op) -> list[Assumption]:
    """Returns the assumptions that symbolic lengths of results are not negative, unless the operands' lengths imply
    it.
    """
    known = of_lengths([length for operand in op.operands for length in operand.type.shape])
    lengths = [length for value in op.outputs for length in value.type.shape if isinstance(length, Dim)]
    return [Assumption(dim_max(length, 0), length, type(op).__name__, op.location) for length in lengths
            if less_equal(0, length, known) is not True]


def window_attributes(op: Op, count: int, strides: tuple[int, ...], dilations: tuple[int, ...],
                      paddings: tuple[tuple[DimLike, DimLike], ...] | None = None) -> Mapping[str, object]:
    """Completes and checks the strides, dilations and (if it has some) paddings of an op with ``count`` window axes.

    An empty tuple becomes ones, or no padding; InvalidArgument if an entry is missing or makes no sense.
    """
    normal: dict[str, Sequence[int | tuple[DimLike, ...]]] = {
        "strides": strides or (1,) * count, "dilations": dilations or (1,) * count}
    if paddings is not None:
        normal["paddings"] = paddings or ((0, 0),) * count
    for name, entries in normal.items():
        if len(entries) != count:
            raise op.fail(InvalidArgument, f"attribute {name} needs an entry for each axis of the window", operand=name,
                          got=entries, expected=f"{count} entries", help=f"or none, for what is usual: {name}=()")
        if any([isinstance(entry, tuple) and len(entry) != 2 for entry in entries]):
            raise op.fail(InvalidArgument, "a padding is a pair (before, after)", operand=name, got=entries,
                          expected="a pair for each axis of the window",
                          help="for the same on both sides repeat it: (1, 1)")
        if any([isinstance(entry, int) and entry < 1 for entry in entries]):
            raise op.fail(InvalidArgument, f"attribute {name} must be positive", operand=name, got=entries,
                          expected="entries of 1 or more", help="1 moves by one element, to each neighbour")
    return normal
