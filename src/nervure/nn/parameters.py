"""Parameters of layers: made from axes and an initialiser, or used as they are given.

>>> import nervure as nv
>>> parameter("F=3, K=2", nv.nn.initialisers.zeros())
<variable f32[F=3, K=2]>
>>> shared = nv.variable("F=3, K=2")
>>> parameter("F=3, K=2", shared) is shared
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nervure.errors import AxisMismatch, InvalidArgument, NervureError, ShapeMismatch
from nervure.front.argument_parsing import integer
from nervure.front.arranging.views import reshape
from nervure.front.creation import AssignableTensorOp, persistent_tensor, read_axes, variable
from nervure.front.op_functions import add
from nervure.front.tensor import Tensor
from nervure.nn.initialisers import Initialiser, bound, uniform
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis
from nervure.types.dim import equal
from nervure.types.dtype import DTypeLike

Initial = object
"""The start of a parameter: an initialiser, a number, an array, a function of axes; or the variable itself."""


def parameter(axes: AxesLike, initial: Initial, out_axes: AxesLike | None = None, window_axes: AxesLike = (),
              dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes a variable over ``axes`` that starts from ``initial``; ShapeMismatch for a variable that has other
    lengths.
    """
    own = read_axes(axes)
    if isinstance(initial, AssignableTensorOp) and initial.is_trainable:
        if initial.shape != own.lengths or initial.is_named == (own.is_anonymous and len(own) > 0):
            raise ShapeMismatch("the variable has another shape than the layer's", op="parameter", got=repr(initial),
                                expected=str(own), help="make it over the axes of the layer")
        return initial
    return variable(own, bound(initial, out_axes, window_axes), dtype)


def optional(axes: AxesLike, initial: Initial, default: Initial, dtype: DTypeLike | None) -> AssignableTensorOp | None:
    """Makes a parameter that may be left out: ``initial`` of True stands for ``default``, False and None for no
    parameter.
    """
    if initial is None or initial is False:
        return None
    return parameter(axes, default if initial is True else initial, dtype=dtype)


def biased(x: Tensor, bias: Tensor | None) -> Tensor:
    """Returns x with a bias added to it, if there is one."""
    return x if bias is None else add(x, bias)


def buffer(axes: AxesLike, initial: float, dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes a persistent tensor over ``axes`` that starts from the number ``initial``."""
    return persistent_tensor(axes, initial, dtype)


def count(axes: Iterable[Axis]) -> int:
    """Counts the elements over axes whose lengths are numbers."""
    return math.prod([axis.length for axis in axes if isinstance(axis.length, int)])


def evenly(inputs: int) -> Initialiser:
    """Returns the default initialiser of weights and biases: numbers drawn evenly from +-1 / sqrt(inputs)."""
    width = 1 / math.sqrt(max(inputs, 1))
    return uniform(-width, width)


def layer_axes(axes: AxesLike, op: str, operand: str) -> Axes:
    """Returns the axes that a layer is made for, whose lengths are numbers."""
    try:
        own = read_axes(axes)
    except NervureError as error:
        raise error.within(op, operand=operand) from None
    for axis in own:
        integer(axis.length, op, operand, "a length that is a number", help="only inputs have symbolic lengths")
    if not len(own):
        raise InvalidArgument(f"{operand} has no axes", op=op, operand=operand, got="no axes",
                              expected="one axis or more", help='write "F=784", or 784')
    return own


def one_axis(axes: AxesLike, op: str, operand: str) -> Axis:
    """Returns the single axis that an ``operand`` of a layer ``op`` names, whose length is a number."""
    own = layer_axes(axes, op, operand)
    if len(own) != 1:
        raise ShapeMismatch(f"{operand} is one axis", op=op, operand=operand, got=str(own), expected='"F=64", or 64',
                            help="flatten several: nv.make_axes(axes).flatten()")
    return own[0]


def check_both_named(op: str, **axes: Axes) -> None:
    """Raises AxisMismatch unless all the axes of a layer have names, or none has."""
    if len({own.is_anonymous for own in axes.values()}) > 1:
        raise AxisMismatch("axes with names and without do not mix", op=op, operand=", ".join(axes),
                           got=" and ".join(map(str, axes.values())), expected="names on all, or on none",
                           help='write nv.nn.LinearLayer("F=784", "K=10") or nv.nn.LinearLayer(784, 10)')


def check_input(op: str, x: Tensor, own: Tensor | None) -> None:
    """Raises AxisMismatch if exactly one of the input ``x`` and the layer, with axes ``own``, has names."""
    if own is None or x.ndim == 0 or own.ndim == 0 or x.is_named == own.is_named:
        return
    raise AxisMismatch(f"the input has {'' if x.is_named else 'no '}names, the layer has "
                       f"{'' if own.is_named else 'no '}names", op=op, operand="x", got=str(x.axes),
                       expected=f"an input for {own.axes}",
                       help="make the layer with the axes of its input, or give the input names: "
                            "nv.cast_axes(x, axes)")


def check_length(op: str, x: Tensor, at: int, length: int, shape: str) -> None:
    """Raises ShapeMismatch if an anonymous input ``x`` lacks the axis ``at``, or has another length there than the
    layer. ``shape`` is the expected shape, for the error.
    """
    if x.is_named or -x.ndim <= at < x.ndim and equal(x.type.shape[at], length) is not False:
        return
    place, differs = ("last axis", "has another length") if at < 0 else ("channels", "are others")
    raise ShapeMismatch(f"the {place} of x {differs}", op=op, operand="x", got=str(x.axes), expected=shape,
                        help=f"make the layer for the {place} of its input; x.transpose(...) moves another axis there")


def for_channels(numbers: Tensor, x: Tensor) -> Tensor:
    """Returns ``numbers``, one for each channel of x: in the form of its second axis unless x has names."""
    return numbers if x.is_named else reshape(numbers, (-1, *[1] * (x.ndim - 2)))


def names_of(axes: Sequence[Axis]) -> list[str]:
    """Returns the names of axes, which find them in a tensor whatever their lengths are."""
    return [str(axis.name) for axis in axes]
