"""Pooling: the largest element or the mean of each window, over named axes.

>>> import nervure as nv
>>> x = nv.constant([[1., 2., 3., 4.], [5., 6., 7., 8.]], axes="N=2, W=4")
>>> nv.pooling(x, "max", {"W": 2}).tolist(), nv.pooling(x, "avg", {"W": 3}, strides=1).tolist()
([[2.0, 4.0], [6.0, 8.0]], [[2.0, 3.0], [6.0, 7.0]])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, overload

from nervure import ops
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import integer, one_of, positions_of, truth
from nervure.front.creation import as_tensor
from nervure.front.images.windows import window_settings, with_length
from nervure.front.promotion import floating
from nervure.front.tensor import Tensor, TensorLike
from nervure.ops.conversion import converted
from nervure.ops.pooling import places_of_largest
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes


@overload
def pooling(x: TensorLike, kind: str, window: object, strides: object = None, padding: object = 0,
            count_padding: bool = False, return_index: Literal[False] = False) -> Tensor: ...
@overload
def pooling(x: TensorLike, kind: str, window: object, strides: object = None, padding: object = 0,
            count_padding: bool = False, *, return_index: Literal[True]) -> tuple[Tensor, Tensor]: ...
def pooling(x: TensorLike, kind: str, window: object, strides: object = None, padding: object = 0,
            count_padding: bool = False, return_index: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element ("max") or the mean ("avg") of each window.

    ``window`` maps axes to lengths, ``{H: 3, W: 3}``; for anonymous tensors an int or a list goes by position from the
    third axis on. ``strides`` (absent: the window) and ``padding`` are those of ``convolution``. A mean leaves out the
    padding unless ``count_padding``. An unknown ``kind`` is an InvalidArgument.

    With ``return_index`` there is a second result: the position of each largest element, the first of equal ones, among
    the elements of x over these axes in row-major order, for ``nv.max_unpool``.

    >>> nv.pooling(nv.constant([[1, 3, 2, 5]], "N=1, W=4"), "max", {"W": 2}).tolist()
    [[3.0, 5.0]]
    >>> nv.pooling([[[1.0, 3.0, 2.0, 5.0]]], "max", 2, return_index=True)[1].tolist()
    [[[1, 3]]]
    """
    own = as_tensor(x, "pooling")
    one_of(kind, ("max", "avg"), "pooling", "kind", "'avg' takes the mean of each window")
    with_index = truth(return_index, "pooling", "return_index")
    if with_index and kind != "max":
        raise InvalidArgument("a mean has no position", op="pooling", operand="return_index", got=True,
                              expected="False", help="kind='max' has positions")
    places, lengths = pooling_window(own, window, "pooling")
    entries = window_settings("pooling", own, places, stride=lengths if strides is None else strides, dilation=1,
                              padding=padding)
    paddings = [entry.paddings(own.type.shape[at], length)
                for entry, at, length in zip(entries, places, lengths, strict=True)]
    steps = [entry.stride for entry in entries]
    if kind == "max":
        op: ops.MaxPool | ops.AveragePool = ops.MaxPool(own.value, axes=places, windows=lengths, strides=steps,
                                                        paddings=paddings)
    else:
        value = converted(own.value, floating(own.dtype))
        op = ops.AveragePool(value, axes=places, windows=lengths, strides=steps, paddings=paddings,
                             count_padding=count_padding)
    axes = None
    if own.is_named:
        axes = Axes([with_length(axis, length) for axis, length in zip(own.axes, op.shape, strict=True)])
    if not with_index:
        return Tensor(op, axes)
    around = [paddings[places.index(at)] if at in places else (0, 0) for at in range(own.ndim)]
    padded = ops.Pad(own.value, around, own.dtype.extremes[0])
    shown = ops.Windows(padded, axes=places, windows=lengths, strides=steps).output
    index = places_of_largest(shown, own.value, places, lengths, steps, [1] * len(places), [
        pair[0] for pair in paddings])
    return Tensor(op, axes), Tensor(index, axes)


def pooling_window(x: Tensor, window: object, op: str) -> tuple[list[int], list[int]]:
    """Returns the positions that a ``window`` moves along, and its lengths."""
    if isinstance(window, Mapping):
        places = list(positions_of(x, list(window), op))
        lengths = list(window.values())
    elif x.is_named:
        raise WrongKind("the window of a named tensor is a dict", op=op, operand="window", got=repr(window),
                        expected="{axis: length}", help="write window={H: 3, W: 3}")
    else:
        places = list(range(2, x.ndim))
        lengths = list(window) if isinstance(window, (list, tuple)) else [window] * len(places)
    if len(lengths) != len(places) or not places:
        raise InvalidArgument("a window needs a length for each spatial axis", op=op, operand="window",
                              got=window,
                              expected=f"{len(places)} lengths" if places else "at least one axis",
                              help="a window of 1 leaves an axis as it is")
    return places, [integer(length, op, "window", least=1) for length in lengths]


__all__ = ["pooling"]

explain_keywords(globals(), __all__)
