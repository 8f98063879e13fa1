"""Arrays of other libraries: recognised by their protocols, and read as arrays of NumPy.

The definition is NumPy's and the array API standard's: an object with ``__array__``, ``__array_interface__`` or
``__dlpack__``. It need not know anything of nervure.

>>> class Column:
...     def __array__(self, dtype=None, copy=None):
...         return np.array([1.0, 2.0], dtype)
>>> is_array(Column()), as_numpy(Column()), is_array([1.0, 2.0]), is_array(Column)
(True, array([1., 2.]), False, False)
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nervure.types.dlpack import borrow

_BY_NUMPY = ("__array__", "__array_interface__")


class _ReadByNumPy(Protocol):
    def __array__(self, *arguments: Any, **keywords: Any) -> Any: ...


class _ReadByDLPack(Protocol):
    def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any: ...


ForeignArray = _ReadByNumPy | _ReadByDLPack
"""An array of another library, as type checkers know it."""


def is_array(value: object) -> bool:
    """Whether a value is an array, of NumPy or another library."""
    kind = type(value)
    return any([hasattr(kind, name) for name in (*_BY_NUMPY, "__dlpack__")])


def as_numpy(value: Any) -> np.ndarray:
    """Returns an array as NumPy's, in the same memory if possible; types that NumPy lacks come through DLPack.

    Raises any error of the array, and ValueError for a ``numpy.ma`` array with masked elements.
    """
    if isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):
        raise ValueError("masked elements have no value; x.filled(0) gives them one")
    kind = type(value)
    if any([hasattr(kind, name) for name in _BY_NUMPY]):
        try:
            return np.asarray(value)
        except Exception:  # a foreign object may raise anything
            if not hasattr(kind, "__dlpack__"):
                raise
    return borrow(value)


def answers_itself(value: object, priority: float) -> bool:
    """Whether NumPy's rule leaves an operator with this array to the array's class. That is so if its
    ``__array_ufunc__`` is None, or if it has none and its ``__array_priority__`` is above ours.
    """
    kind = type(value)
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None and is_array(value)
    return getattr(value, "__array_priority__", 0.0) > priority and is_array(value)
