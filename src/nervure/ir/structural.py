"""Structural equality of functions: equal up to names, one op for one op, in the order of the graph.

A function is compared by its text without the parts that mean nothing: names, labels and locations. Parameters are
known by position, variables by their first use and their type, arrays by their bits. Two ``x + x`` and one that is
used twice differ: sharing is part of the structure.

>>> import nervure as nv
>>> def squared(name):
...     x = nv.ops.Parameter(nv.float32, (2,))
...     x.name = name
...     return Function([x * x], [x], name=name)
>>> equal(squared("x"), squared("y")), fingerprint(squared("x")) == fingerprint(squared("y"))
(True, True)
>>> x = nv.ops.Parameter(nv.float32, (2,))
>>> print(difference(squared("x"), Function([x + x], [x])))
line 3: f32[2] %1 = Multiply(%0, %0) is not f32[2] %1 = Add(%0, %0)
"""

from __future__ import annotations

import hashlib
import itertools
import weakref
from collections.abc import Callable

import numpy as np

from nervure.ir.function import Function
from nervure.ir.notation import array_text
from nervure.ir.printer import Printer
from nervure.support import forks
from nervure.types.dtype import as_dtype


def equal(left: Function, right: Function) -> bool:
    """Whether two functions are equal up to names. It takes time linear in their size, arrays included."""
    return left is right or _lines(left) == _lines(right)


def difference(left: Function, right: Function) -> str | None:
    """Returns the first difference in structure, as a line of each text; None if there is none."""
    pairs = itertools.zip_longest(_lines(left), _lines(right), fillvalue="the end")
    for number, (mine, theirs) in enumerate(pairs, 1):
        if mine != theirs:
            return f"line {number}: {mine.strip()} is not {theirs.strip()}"
    return None


def fingerprint(function: Function) -> str:
    """Returns a digest (SHA-256, hexadecimal) that functions share if and only if they are equal.

    It is the same in every process, unless an op holds a function of the host program: then it holds within this
    process, and is never given to another function.
    """
    return hashlib.sha256("\n".join(_lines(function)).encode()).hexdigest()


def _lines(function: Function) -> list[str]:
    return _Anonymous(function, long_array=_digest, anonymous=True).lines()


class _Anonymous(Printer):
    """The text that equality compares: host functions are distinguished."""

    def host_function(self, function: Callable[..., object]) -> str:
        return f"<host function {_token(function)}>"


def _digest(array: np.ndarray) -> str:
    native = np.ascontiguousarray(array, dtype=as_dtype(array.dtype).numpy)
    return array_text(array, f"sha256 {hashlib.sha256(native.reshape(-1).view(np.uint8).data).hexdigest()}")


_tokens: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
_tokens_lock = forks.lock()
_serial_numbers = itertools.count()


def _token(function: object) -> int:
    """Returns a number for a function of the host program, stable as long as it lives, and never reused.

    A function without weak references (a NumPy ufunc) gets a new number each time: it equals nothing, which is safe.
    """
    with _tokens_lock:
        try:
            return _tokens.setdefault(function, next(_serial_numbers))
        except TypeError:
            return next(_serial_numbers)
