"""The attributes of an op class, declared as typed fields.

A field says what it admits once; construction, printing, parsing and structural equality read the declaration:

>>> ints = Field("ints")
>>> ints.check([0, 2], "Sum", "axes")
(0, 2)
>>> ints.check("ab", "Sum", "axes")                                          # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.WrongKind: Sum: attribute axes has the wrong kind
...
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim
from nervure.types.dtype import DType, as_dtype
from nervure.types.index_map import IndexMap

REQUIRED: Any = object()


class Field:
    """One declared attribute: its kind, its default, whether None is admitted, and its choices if it has some."""

    __slots__ = ("kind", "default", "optional", "choices")

    def __init__(self, kind: str, default: Any = REQUIRED, optional: bool = False,
                 choices: tuple[str, ...] = ()) -> None:
        self.kind, self.default, self.optional, self.choices = kind, default, optional, choices

    def check(self, value: Any, op: str, name: str) -> Any:
        """The value in its normal form; WrongKind or InvalidArgument if it is not of this field's kind."""
        if value is None and self.optional:
            return None
        try:
            normal = _NORMAL[self.kind](value)
        except (TypeError, ValueError, OverflowError) as error:
            example = getattr(error, "help", None) or f"for example {name}={_SPELLED[self.kind][1]}"
            raise WrongKind(f"attribute {name} has the wrong kind", op=op, operand=name,
                            got=f"{type(value).__name__} {value!r:.60}", expected=self.expected,
                            help=example) from None
        if self.choices and normal not in self.choices:
            raise InvalidArgument(f"attribute {name} is not one of its choices", op=op, operand=name, got=repr(normal),
                                  expected=self.expected,
                                  help=did_you_mean(normal, self.choices) or f"for example {name}={self.choices[0]!r}")
        return normal

    @property
    def expected(self) -> str:
        """What the field admits, in words."""
        if self.choices:
            return " or ".join(map(repr, self.choices))
        return _SPELLED[self.kind][0] + (" or None" if self.optional else "")


def _exact(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value
    return check


def _integer(value: Any) -> int:
    return int(operator.index(value))  # a bool counts as 0 or 1


def _dim(value: Any) -> Any:
    return value if isinstance(value, Dim) else _integer(value)


def _sequence(item: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def check(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return tuple([item(entry) for entry in value])
    return check


def _number(value: Any) -> Any:
    """A Python scalar: what NumPy scalars and 0-d arrays hold counts too."""
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError
    return value


def _array(value: Any) -> np.ndarray:
    """The array itself, read-only from now on for everyone who comes through the graph.

    In a foreign byte order it is copied; subclasses, whose operators may mean something else, are seen as plain arrays.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError
    native = as_dtype(value.dtype).numpy
    view = np.asarray(value) if value.dtype == native else value.astype(native)
    view = view.view()
    view.flags.writeable = False
    return view


def _callable(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


def _function(value: Any) -> Any:
    from nervure.ir.function import Function  # which is made of ops, and so of fields
    return _exact(Function)(value)


_NORMAL: dict[str, Callable[[Any], Any]] = {
    "int": _integer, "float": float, "bool": _exact(bool), "str": _exact(str), "number": _number,
    "dtype": as_dtype, "dim": _dim, "shape": _sequence(_dim), "ints": _sequence(_integer),
    "pairs": _sequence(_sequence(_integer)), "dims": _sequence(_dim), "dim_pairs": _sequence(_sequence(_dim)),
    "slices": _sequence(_sequence(_dim)),
    "array": _array, "callable": _callable, "strs": _sequence(_exact(str)),
    "function": _function, "variable": _exact(Variable), "index_map": _exact(IndexMap),
    "types": _sequence(_exact(BasicTensorDescription)),
}

WITH_DIMENSIONS = frozenset(["dim", "dims", "shape", "dim_pairs", "slices", "index_map"])
"""The kinds whose values hold dimensions."""

_SPELLED: dict[str, tuple[str, str]] = {
    "int": ("an integer", "0"), "float": ("a number", "0.5"), "bool": ("True or False", "True"),
    "str": ("a string", "'text'"),
    "number": ("a Python number", "0.5"), "dtype": ("an element type", "nv.float32"),
    "dim": ("an integer or a symbolic dimension", "nv.dim('n')"),
    "shape": ("integers and symbolic dimensions", "(2, 3)"), "ints": ("integers", "(0, 1)"),
    "pairs": ("pairs of integers", "((1, 0),)"), "dims": ("integers and symbolic dimensions", "(2, 3)"),
    "dim_pairs": ("pairs of integers or symbolic dimensions", "((1, 1), (0, 0))"),
    "slices": ("triples (start, extent, step)", "((0, 2, 1),)"), "array": ("a NumPy array", "np.zeros(3)"),
    "callable": ("a Python function", "lambda x: x"), "strs": ("strings", "('a', 'b')"),
    "function": ("a Function", "nv.Function([result], [parameter])"), "variable": ("a Variable", "Variable(type)"),
    "index_map": ("an IndexMap", "IndexMap.identity((2, 3))"), "types": ("types of tensors", "(x.type,)"),
}
"""How errors say what a kind admits: in words, and by an example."""


def integer(default: Any = REQUIRED, optional: bool = False) -> int:
    """An int."""
    return Field("int", default, optional)  # type: ignore[return-value]  # the class turns it into a slot


def real(default: Any = REQUIRED) -> float:
    """A float."""
    return Field("float", default)  # type: ignore[return-value]


def boolean(default: Any = REQUIRED) -> bool:
    """A bool."""
    return Field("bool", default)  # type: ignore[return-value]


def string(default: Any = REQUIRED, optional: bool = False) -> str:
    """A string."""
    return Field("str", default, optional)  # type: ignore[return-value]


def choice(*choices: str, default: Any = REQUIRED) -> str:
    """One of a few strings."""
    return Field("str", default, choices=choices)  # type: ignore[return-value]


def number(default: Any = REQUIRED) -> Any:
    """A Python scalar: bool, int, float or complex."""
    return Field("number", default)


def dtype(default: Any = REQUIRED) -> DType:
    """An element type."""
    return Field("dtype", default)  # type: ignore[return-value]


def shape() -> tuple[Any, ...]:
    """A tuple of dimensions."""
    return Field("shape")  # type: ignore[return-value]


def ints(default: Any = REQUIRED) -> tuple[int, ...]:
    """A tuple of ints."""
    return Field("ints", default)  # type: ignore[return-value]


def pairs(default: Any = REQUIRED) -> tuple[tuple[int, int], ...]:
    """A tuple of pairs of ints."""
    return Field("pairs", default)  # type: ignore[return-value]


def dimension() -> Any:
    """One dimension: an int or an expression over symbols."""
    return Field("dim")


def dim_pairs(default: Any = REQUIRED) -> tuple[tuple[Any, Any], ...]:
    """A tuple of pairs of dimensions."""
    return Field("dim_pairs", default)  # type: ignore[return-value]


def slices() -> tuple[tuple[Any, Any, Any], ...]:
    """A tuple of (start, extent, step), each a dimension."""
    return Field("slices")  # type: ignore[return-value]


def strings(default: Any = REQUIRED) -> tuple[str, ...]:
    """A tuple of strings."""
    return Field("strs", default)  # type: ignore[return-value]


def array() -> np.ndarray:
    """A NumPy array, held by reference."""
    return Field("array")  # type: ignore[return-value]


def function() -> Any:
    """A region: a Function."""
    return Field("function")


def variable() -> Any:
    """A Variable, by identity."""
    return Field("variable")


def index_map() -> Any:
    """An IndexMap."""
    return Field("index_map")


def optional_index_map() -> Any:
    """An IndexMap or None."""
    return Field("index_map", None, optional=True)


def types() -> tuple[Any, ...]:
    """A tuple of tensor descriptions."""
    return Field("types")  # type: ignore[return-value]


def function_of_host() -> Callable[..., Any]:
    """A Python callable: it has no text, so what holds it cannot be saved."""
    return Field("callable")  # type: ignore[return-value]


def same_attribute(kind: str, left: Any, right: Any) -> bool:
    """Whether two attribute values are equal in structure: arrays by bits, floats by bits, the rest by ``==``."""
    if kind == "array":
        return (left.dtype == right.dtype and left.shape == right.shape
                and (left is right or np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()))
    if kind in ("number", "float"):
        return type(left) is type(right) and repr(left) == repr(right)
    return left is right or (type(left) is type(right) and left == right)
