"""Derivatives of tensors: the front of :mod:`nervure.autodiff.reverse`.

>>> import nervure as nv
>>> x = nv.variable("H=2", [1.0, 2.0])
>>> loss = nv.sum(x * x * x)
>>> deriv(loss, x).tolist()
[3.0, 12.0]
>>> deriv(nv.sum(deriv(loss, x)), x).tolist()
[6.0, 12.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.front import alignment
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Value
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.ops.conversion import converted
from nervure.ops.order import Together
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import equal


@overload
def deriv(f: TensorLike, x: Tensor, error: TensorLike | None = None) -> Tensor: ...


@overload
def deriv(f: TensorLike, x: Sequence[Tensor], error: TensorLike | None = None) -> list[Tensor]: ...


def deriv(f: TensorLike, x: Tensor | Sequence[Tensor], error: TensorLike | None = None) -> Tensor | list[Tensor]:
    """Returns the derivative of ``f`` with respect to ``x``, with x's axes; for a list of tensors a list, in one pass.

    ``f`` is a scalar, or ``error`` gives the gradient of a later result with respect to f (of f's axes). A variable
    means all its reads below f; another tensor means that very node. The result is zeros if x is not below f; an
    assignment inside f cuts the path through the value it writes. Raises WrongKind (a TypeError) for integers.

    For a complex x = a + ib it is the derivative in a minus i times that in b, so that a step downhill is along its
    conjugate. A complex f needs ``error``.

    >>> x, y = nv.variable((), 3.0), nv.variable((), 5.0)
    >>> nv.deriv(x * x * y, x).item(), [gradient.item() for gradient in nv.deriv(x * x * y, [x, y])]
    (30.0, [30.0, 9.0])
    """
    several = isinstance(x, (list, tuple))
    wanted = [_wanted(entry) for entry in (x if several else [x])]
    results = derivatives(as_tensor(f, "deriv"), wanted, error, "deriv", "f")
    return results if several else results[0]


def derivatives(own: Tensor, wanted: Sequence[Tensor], error: TensorLike | None, op: str,
                operand: str) -> list[Tensor]:
    """Returns what ``deriv`` does for tensors of floats; ``own`` is what errors call the ``operand`` of ``op``."""
    instead = ", or error= with f's axes and type" if op == "deriv" else ""
    if not (own.dtype.is_float or own.dtype.is_complex and error is not None):
        raise WrongKind("only functions with real values have derivatives", op=op, operand=operand, got=str(own.type),
                        expected="a float element type", help=f"nv.real(f){instead}"
                        if own.dtype.is_complex else "convert to a float type before")
    value, seed = own.value, None
    if error is not None:
        seed = weights_like(error, own, op, "error", operand)
    elif own.shape != ():
        instead = "give error= with f's axes" if op == "deriv" else "nv.jacobian is of each element"
        raise InvalidArgument(f"{operand} is not a scalar", op=op, operand=operand, got=str(own.type),
                              expected="a scalar", help="nv.mean(f, out_axes=()) and nv.sum(f, out_axes=()) are over "
                                                        f"all axes, N and REC too; or {instead}")
    reads_below: dict[Variable, list[Value]] = {}
    for below in postorder([value]):
        if isinstance(below, ReadVariable):
            reads_below.setdefault(below.variable, []).append(below.value)
    reads = [_places(entry, reads_below) for entry in wanted]
    flat = [read for group in reads for read in group]
    found = iter(gradients([value], flat, [seed]))
    return [_total(entry, [next(found) for _ in group], value) for entry, group in zip(wanted, reads, strict=True)]


def _wanted(x: object) -> Tensor:
    if not isinstance(x, Tensor):
        raise WrongKind("a derivative is with respect to a tensor", op="deriv", operand="x", got=type(x).__name__,
                        expected="a tensor of the graph",
                        help="keep the tensor that f was computed from: x = nv.variable(...)")
    if not x.dtype.is_inexact:
        raise WrongKind("only tensors of floats have derivatives", op="deriv", operand="x", got=str(x.type),
                        expected="a float or complex element type",
                        help="make it a float: x.astype(nv.float32), or dtype=nv.float32")
    return x


def _places(x: Tensor, reads: Mapping[Variable, list[Value]]) -> list[Value]:
    """Returns the nodes that x stands for: the reads of a variable below f, or the tensor's own node."""
    if not isinstance(x, AssignableTensorOp) or x.variable is None:
        return [x.value]
    return reads.get(x.variable, [])


def _total(x: Tensor, parts: Sequence[Value | None], f: Value) -> Tensor:
    """Returns the sum of the gradients of all places of x, which takes place after f, on the reads of f."""
    total: Value | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    if total is None:
        return Tensor(ops.Full(0, x.dtype, x.type.shape), x._axes)
    return Tensor(Together(total, f), x._axes)


def weights_like(given: object, like: Tensor, op: str, operand: str, of: str) -> Value:
    """Returns weights for the elements of a tensor, in its axes and type: the ``operand`` of the function ``op``, which
    belongs to ``of``. InvalidArgument unless they have its axes, or fewer.
    """
    own = as_tensor(given, op, operand, like.dtype)
    target = Tensor(ops.Full(0, like.dtype, like.type.shape), like._axes)
    try:
        values, _, shape = alignment.aligned([target, own], op)
    except (AxisMismatch, ShapeMismatch) as error:
        error.operand = operand
        raise
    expected = like.type.shape
    if len(shape) != len(expected) or any([equal(a, b) is False for a, b in zip(shape, expected, strict=True)]):
        raise InvalidArgument(f"the {operand} must have the axes of {of}", op=op, operand=operand, got=str(own.type),
                              expected=str(like.type), help=f"it has the axes of {of}, or fewer")
    return converted(alignment.assume_shape(values[1], expected, op), like.dtype)


explain_keywords(globals(), ["deriv"])
