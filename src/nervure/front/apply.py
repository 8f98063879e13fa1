"""Elementwise application: operands as users give them are aligned and promoted to one element type.

>>> import nervure as nv
>>> operate("maximum", nv.ops.Maximum, (nv.constant([1, 5]), 3)).tolist()
[3.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import cleandoc
from typing import Any, TypeVar

import numpy as np

from nervure import ops
from nervure.errors import DtypeMismatch, NervureError, WrongKind
from nervure.front import alignment
from nervure.front.creation import as_tensor
from nervure.front.given_arrays import check_numbers, numpy_array
from nervure.front.promotion import floating, promote, weak_type
from nervure.front.tensor import Operand, Tensor, TensorLike, value_only
from nervure.front.traced_numbers import TracedNumber, is_number
from nervure.ir.op import Op, Value
from nervure.ops.conversion import converted
from nervure.types.dim import Dim
from nervure.types.dtype import DType, DTypeLike, as_dtype, bool_
from nervure.types.foreign import is_array
from nervure.types.shape import Shape

Made = TypeVar("Made", bound=Callable[..., object])


def common_dtype(operands: tuple[Operand, ...], op: str) -> DType:
    """The promoted element type of operands; scalars are weak."""
    strong, weak = [], []
    for position, operand in enumerate(operands):
        if isinstance(operand, Tensor):
            strong.append(operand.dtype)
        elif is_weak(operand):
            weak.append(int if isinstance(operand, Dim) else weak_type(operand))
        else:
            strong.append(array_type(operand, op, position + 1))
    return promote(strong, weak, op)


def operate(name: str, core: Callable[..., Op], operands: tuple[Operand, ...], dtype: DType | None = None,
            **attributes: object) -> Tensor:
    """Applies an elementwise core op to aligned operands, converted to ``dtype`` (absent: the promoted type)."""
    if dtype is None:
        dtype = common_dtype(operands, name)
    tensors = [operand if isinstance(operand, Tensor) else as_tensor(operand, name, position + 1)
               for position, operand in enumerate(operands) if not is_weak(operand)]
    if not tensors:
        return Tensor(core(*[_everywhere(operand, dtype, ()) for operand in operands], **attributes))
    if len(tensors) == 1:
        values, axes, shape = [tensors[0].value], tensors[0]._axes, tensors[0].type.shape
    else:
        values, axes, shape = alignment.aligned(tensors, name)
    own = iter([converted(value, dtype) for value in values])
    arguments = [_everywhere(operand, dtype, shape) if is_weak(operand) else next(own) for operand in operands]
    try:
        return Tensor(core(*arguments, **attributes), axes)
    except DtypeMismatch as error:
        if not dtype.storage_only:
            raise
        raise WrongKind(error.message, op=name, operand=error.operand, got=error.got, expected=error.expected,
                        help="convert it first: x.astype(nv.float32)") from None


def operate_real(name: str, core: Callable[..., Op], *operands: Operand, **attributes: object) -> Tensor:
    """Applies a function of real numbers, or of complex ones if there is a formula: integers and bool become float32.
    """
    dtype = floating(common_dtype(operands, name))
    if dtype.is_complex and name in ops.ComplexFunction.table():
        return operate(name, partial(ops.ComplexFunction, function=name), operands, dtype)
    return operate(name, core, operands, dtype, **attributes)


def special(name: str, *operands: Operand) -> Tensor:
    """Applies a special function by its name to tensors, arrays and lists: integers and bool become float32."""
    given = [as_tensor(operand, name, position) if isinstance(operand, (list, tuple)) else operand
             for position, operand in enumerate(operands, 1)]
    return operate_real(name, partial(ops.SpecialFunction, function=name), *given)


def product_dtype(operands: tuple[Operand, ...], wanted: DTypeLike | None, op: str) -> DType:
    """Returns the type in which operands are multiplied and summed: their promoted type, or the wider one that is
    ``wanted``.
    """
    common = common_dtype(operands, op)
    if wanted is None:
        return common
    dtype = as_dtype(wanted)
    if promote([common, dtype], op=op) is not dtype:
        raise WrongKind("the type of the sum does not hold the operands", op=op, operand="dtype", got=dtype.name,
                        expected=f"{common.name} or a wider type",
                        help="convert the result, or the operands: x.astype(dtype)")
    return dtype


def promoted_pair(x: Operand, y: Operand, op: str, wanted: DTypeLike | None = None) -> tuple[Tensor, Tensor]:
    """Returns ``x`` and ``y`` as tensors of their promoted element type, or of the wider type ``wanted``. Each keeps
    its axes.
    """
    left, right = tensors_of_type((x, y), op, product_dtype((x, y), wanted, op))
    return left, right


def tensors_of_type(operands: Sequence[TensorLike], op: str, dtype: DType) -> list[Tensor]:
    """Returns operands as tensors of one element type. Each keeps its axes."""
    tensors = [as_tensor(entry, op, position, dtype) for position, entry in enumerate(operands, 1)]
    return [Tensor(converted(entry.value, dtype), entry._axes) for entry in tensors]


def operand_tensors(operands: Sequence[object], op: str, first: int = 1) -> list[Tensor]:
    """Returns operands as tensors of their own types; a scalar beside others has the promoted type of all.

    Lists count as tensors, and scalars alone are constants. ``first`` is the position of the first operand.

    >>> import nervure as nv
    >>> [entry.dtype for entry in operand_tensors([nv.zeros((), nv.int8), 1, nv.zeros((), nv.int64)], "stack")]
    [nervure.int8, nervure.int64, nervure.int64]
    """
    given: list[Any] = [entry if is_weak(entry) else as_tensor(entry, op, position)
                        for position, entry in enumerate(operands, first)]
    are_weak = [not isinstance(entry, Tensor) for entry in given]
    dtype = common_dtype(tuple(given), op) if any(are_weak) and not all(are_weak) else None
    return [as_tensor(entry, op, position, dtype) for position, entry in enumerate(given, first)]


def array_type(operand: object, op: str, position: int) -> DType:
    """Returns the element type of an array; WrongKind if the operand is no array or its elements are not numbers."""
    if not is_array(operand):
        value_only(operand, op, position)
    try:
        own = operand if isinstance(operand, np.ndarray) else numpy_array(operand, op)
        check_numbers(own, op)
    except NervureError as error:
        raise error.within(op, operand=position) from None
    return as_dtype(own.dtype)


def is_weak(operand: object) -> bool:
    """Whether an operand takes the tensors' type: a Python or NumPy scalar, or a length that is an expression."""
    return isinstance(operand, Dim) or is_number(operand)


def _everywhere(number: object, dtype: DType, shape: Shape) -> Op | Value:
    """Returns a value that is ``number`` at every index; the number may be given by a call, or be a symbolic length."""
    if isinstance(number, TracedNumber):
        value: Value = number.tensor(dtype).value
        return ops.Broadcast(value, shape, range(len(shape))) if shape else value
    return ops.Extent(number, dtype, shape) if isinstance(number, Dim) else ops.Full(number, dtype, shape)


def truth(x: Operand) -> Tensor:
    """x as a condition: numbers count as true when they are not 0."""
    tensor = as_tensor(x, "condition")
    return tensor if tensor.dtype is bool_ else Tensor(converted(tensor.value, bool_), tensor._axes)


def described(function: Made, name: str, document: str | None, arguments: str, result: str) -> Made:
    """Gives a function its name and its docstring: ``document`` of its op, and the result of a call with
    ``arguments``.

    The result is a list, or a number that is rounded to four digits, so that the example holds on every machine.
    """
    call = f"nv.{name}({arguments})"
    shown = f"{call}.tolist()" if result.startswith("[") else f"round({call}.item(), 4)"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{cleandoc(document or '')}\n\n>>> {shown}\n{result}\n"
    return function
