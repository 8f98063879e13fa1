"""Leaves of the graph: ops without operands, from which all values derive.

>>> import numpy as np
>>> import nervure as nv
>>> Parameter(nv.float32, (2, 3))
f32[2, 3] Parameter()
>>> Constant(np.arange(3)).value.type
i64[3]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.notation import Number
from nervure.ir.op import Op
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import DType


class Leaf(Op, abstract=True):
    """An op without operands."""


class Parameter(Leaf):
    """A tensor that the caller supplies: the argument of a Function in the same position.

    >>> print(nv.Parameter(nv.float32, (nv.dim("n"), 3)).type)
    f32[n, 3]
    """

    signature = "-> x:dtype[~shape]"
    dtype = field.dtype()
    shape = field.shape()

    @classmethod
    def of(cls, type: BasicTensorDescription) -> Parameter:
        """Returns a parameter of a type.

        >>> nv.Parameter.of(nv.BasicTensorDescription(nv.float32, (2, 3)))
        f32[2, 3] Parameter()
        """
        return Parameter(type.dtype, type.shape)


class Constant(Leaf):
    """An array, held by reference and never written."""

    array = field.array()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        return BasicTensorDescription.of(self.array)


class Full(Leaf):
    """One number everywhere. The number is a Python scalar of the element type's kind; an integer must fit."""

    signature = "-> x:dtype[~shape]"
    number = field.number()
    dtype = field.dtype()
    shape = field.shape()

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        return {"number": fit_number(self.number, self.dtype)}


class ReadVariable(Leaf):
    """The value that a variable has at the position of this op; in a Function, at its entry."""

    variable = field.variable()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        own = self.variable.type
        return own if own.layout is None else own.with_(layout=None)  # the layout is the memory's, not the value's


def is_held(array: np.ndarray) -> bool:
    """Whether a ``Full`` has every bit of an array's only element: of the NaN, there is one for a number of Python."""
    with np.errstate(invalid="ignore"):  # a signalling NaN makes NumPy warn
        return bool(array == array) or array.tobytes() == array.dtype.type(math.nan).tobytes()


def fit_number(number: Any, dtype: DType) -> Number:
    """Returns a Python scalar as the element type holds it; InvalidArgument if an integer does not fit.

    >>> from nervure.types.dtype import float16, uint8
    >>> fit_number(0.1, float16), fit_number(3.0, uint8)
    (0.0999755859375, 3)
    """
    value: Number = number.item() if isinstance(number, (np.generic, np.ndarray)) else number
    if dtype.kind == "bool":
        return bool(value)
    if dtype.kind == "complex":
        return complex(dtype.numpy.type(value))
    low, high = dtype.limits
    if dtype.is_integer:
        if isinstance(value, complex) or value != value or abs(value) == math.inf or int(value) != value:
            raise InvalidArgument(f"{value} is no {dtype.name}", operand="number", got=value,
                                  expected="an integer", help="round it first, or use a float element type")
        if not low <= value <= high:
            raise InvalidArgument(f"{value} does not fit {dtype.name}", operand="number", got=value,
                                  expected=f"{low} to {high}", help="use a wider element type")
        return int(value)
    if isinstance(value, complex):
        raise InvalidArgument("a complex number has no place in a real tensor", operand="number", got=value,
                              expected=f"a real number, for {dtype.name}", help="use a complex element type")
    try:
        value = float(value)
    except OverflowError:
        value = math.copysign(math.inf, value)
    if low <= value <= high:
        return float(dtype.numpy.type(value))
    with np.errstate(all="ignore"):  # infinities, NaN, and numbers that round to an infinity
        return float(dtype.numpy.type(value))
