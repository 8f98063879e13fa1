"""Memory of others as the memory of a variable: arrays of NumPy, or of a library that shares its memory.

>>> import numpy as np
>>> import nervure as nv
>>> w, x = nv.variable((2,)), nv.placeholder((2,))
>>> theirs = np.float32([1, 2])
>>> with nv.transformers.make_transformer() as transformer:
...     product = transformer.computation(w * x, x)
...     transformer.borrow(w, theirs, version=0)
...     first = product(np.float32([3, 3]))
...     theirs[0] = 5
...     transformer.borrow(w, theirs, version=1)
...     first.tolist(), product(np.float32([3, 3])).tolist()
([3.0, 6.0], [15.0, 6.0])

The owner states a version, a number, each time that the elements have changed. As long as neither memory nor version is
another one, what follows from the elements, such as a packed weight, is kept.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.types.description import BasicTensorDescription
from nervure.types.dlpack import borrow
from nervure.types.ordered_arrays import is_in_order


def shared_array(value: Any, type: BasicTensorDescription, name: str | None) -> np.ndarray:
    """Returns an array over the memory of ``value``, which is held by it alone.

    Raises WrongKind for what shares no memory and for another element type, ShapeMismatch for another shape, and
    InvalidArgument for elements in another order than that of the variable.
    """
    array = _read(value, name)
    if array.dtype != type.dtype.numpy:
        raise WrongKind("borrowed memory has the element type of its variable", op="borrow", operand=name,
                        got=array.dtype, expected=type.dtype.name,
                        help="make the variable of that type; transformer.set converts, into memory of its own")
    if array.shape != type.shape:
        raise ShapeMismatch("borrowed memory has the shape of its variable", op="borrow", operand=name, got=array.shape,
                            expected=type.shape, help="reshape the array without a copy, or make another variable")
    if not (array.flags.aligned and is_in_order(array, type.order)):
        raise InvalidArgument("borrowed memory lies as that of its variable", op="borrow", operand=name,
                              got=f"strides of {array.strides} bytes", expected="aligned elements without gaps, "
                              f"{'row-major' if type.order is None else type.order}",
                              help='nv.variable(..., layout="F") is column-major; np.ascontiguousarray makes a copy')
    return array.view(type.dtype.numpy)


def as_version(version: Any, name: str | None) -> int:
    """Returns a version as an int; WrongKind if it is none."""
    try:
        return operator.index(version)
    except TypeError:
        raise WrongKind("a version is an integer", op="borrow", operand=name, got=repr(version), expected="an int",
                        help="raise a counter each time that the elements change; torch's is tensor._version") from None


def _read(value: Any, name: str | None) -> np.ndarray:
    kind = type(value)
    try:
        if isinstance(value, np.ndarray) or hasattr(kind, "__array_interface__"):
            return np.asarray(value)
        if hasattr(kind, "__dlpack__"):
            return borrow(value)
        found = kind.__name__
    except NervureError:
        raise
    except Exception as error:  # a foreign object may raise anything
        found = f"{kind.__name__} ({error})"
    raise WrongKind("only an array that shares its memory can be borrowed", op="borrow", operand=name, got=found,
                    expected="an array of NumPy, or one with __array_interface__ or __dlpack__",
                    help="transformer.set copies anything that NumPy reads; tensor.detach() shares memory in PyTorch")
