"""The attributes of an op class, declared as typed fields.

A kind of attribute defines everything that is done with a value: its normal form, its text, its equality. Called, it
declares a field:

>>> axes = ints()
>>> axes.check([0, 2], "Sum", "axes")
(0, 2)
>>> axes.check("ab", "Sum", "axes")                                          # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.WrongKind: Sum: attribute axes has the wrong kind
...
>>> axes.format((0, 2), None), axes.parse(Scanner("(0, 2)", 1), None)
('(0, 2)', (0, 2))
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, did_you_mean, shown
from nervure.ir import notation
from nervure.ir.notation import Number, ReadingContext, Writer
from nervure.ir.scanner import Scanner
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, substitute
from nervure.types.dtype import as_dtype
from nervure.types.index_map import IndexMap

REQUIRED = object()
T = TypeVar("T")


def _itself(value: Hashable) -> Hashable:
    return value


@dataclass(frozen=True, slots=True, eq=False)
class FieldKind(Generic[T]):
    """One kind of attribute; a field of it is declared by a call.

    ``words`` and an ``example`` tell people which values it admits. ``check`` gives a value its normal form (TypeError
    or ValueError if it is of another kind), ``format`` writes it, ``parse`` reads it back. ``key`` stands for it in a
    table: equal for values that are equal in structure, bit for bit. ``dimensions`` are those inside it, ``substitute``
    puts others in place of their symbols.
    """

    name: str
    words: str
    example: str
    check: Callable[[Any], T]
    format: Callable[[T, Writer], str]
    parse: Callable[[Scanner, ReadingContext], T]
    key: Callable[[T], Hashable] = _itself
    dimensions: Callable[[T], Iterable[DimLike]] = lambda value: ()
    substitute: Callable[[T, Mapping[str, DimLike]], T] = lambda value, symbols: value

    @overload
    def __call__(self, default: object = REQUIRED) -> Field[T]: ...

    @overload
    def __call__(self, default: object, optional: Literal[True]) -> Field[T | None]: ...

    def __call__(self, default: object = REQUIRED, optional: bool = False) -> Field[T] | Field[T | None]:
        """Declares a field of this kind, which may have a default; ``optional`` admits None."""
        return Field(self, default, optional)

    def same(self, left: T, right: T) -> bool:
        """Whether two values are equal in structure."""
        return left is right or (type(left) is type(right) and self.key(left) == self.key(right))


class Field(Generic[T]):
    """One declared attribute: its kind, its default, whether None is admitted, and its choices if it has some."""

    __slots__ = ("kind", "default", "optional", "choices")

    def __init__(self, kind: FieldKind[T], default: object = REQUIRED, optional: bool = False,
                 choices: tuple[str, ...] = ()) -> None:
        self.kind, self.default, self.optional, self.choices = kind, default, optional, choices

    if TYPE_CHECKING:  # the class of the op turns the field into a slot

        @overload
        def __get__(self, op: None, cls: type) -> Field[T]: ...

        @overload
        def __get__(self, op: object, cls: type) -> T: ...

        def __get__(self, op: object, cls: type) -> Field[T] | T: ...

    def check(self, value: object, op: str, name: str) -> T | None:
        """Returns the value in its normal form; WrongKind or InvalidArgument if it is not of this field's kind."""
        if value is None and self.optional:
            return None
        try:
            normal = self.kind.check(value)
        except (TypeError, ValueError, OverflowError) as error:
            example = getattr(error, "help", None) or f"for example {name}={self.kind.example}"
            raise WrongKind(f"attribute {name} has the wrong kind", op=op, operand=name,
                            got=shown(value), expected=self.expected,
                            help=example) from None
        if self.choices and normal not in self.choices:
            example = f"for example {name}={self.choices[0]!r}"
            raise InvalidArgument(f"attribute {name} is not one of its choices", op=op, operand=name, got=repr(normal),
                                  expected=self.expected, help=did_you_mean(str(normal), self.choices, example))
        return normal

    @property
    def expected(self) -> str:
        """The values that the field admits, in words."""
        if self.choices:
            return " or ".join(map(repr, self.choices))
        return self.kind.words + (" or None" if self.optional else "")

    def format(self, value: T | None, writer: Writer) -> str:
        """Returns the text of a value."""
        return "None" if value is None else self.kind.format(value, writer)

    def parse(self, line: Scanner, reader: ReadingContext) -> T | None:
        """Reads back the text of ``format``."""
        return None if self.optional and line.accept("None") else self.kind.parse(line, reader)


# -- normal forms --------------------------------------------------------------------------------------------------


def exact(cls: type[T]) -> Callable[[object], T]:
    """Returns a check for instances of a class, which stay as they are."""
    def check(value: object) -> T:
        if not isinstance(value, cls):
            raise TypeError
        return value
    return check


def _whole(value: Any) -> int:
    return int(operator.index(value))  # a bool counts as 0 or 1


def _dim(value: Any) -> DimLike:
    return value if isinstance(value, Dim) else _whole(value)


def _scalar(value: object) -> Number:
    """Returns a Python scalar, also for NumPy scalars and 0-d arrays."""
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError
    return value


def _plain_array(value: object) -> np.ndarray:
    """Returns the array itself as a view that is read-only for all users of the graph.

    In a foreign byte order it is copied; subclasses, whose operators may differ, are seen as plain arrays.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError
    native = as_dtype(value.dtype).numpy
    view = (np.asarray(value) if value.dtype == native else value.astype(native)).view()
    view.flags.writeable = False
    return view


def _callable(value: object) -> Callable[..., Any]:
    if not callable(value):
        raise TypeError
    return value


# -- keys ----------------------------------------------------------------------------------------------------------


def _bits(value: Number) -> Hashable:
    """Returns numbers by bits: -0.0 differs from 0.0, and a NaN equals itself."""
    return type(value), repr(value)


class _ArrayKey:
    """An array in a key: equality is by type, shape and bits, and the hash reads the first few."""

    __slots__ = ("array", "_hash")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._hash = hash((array.dtype.num, array.shape, array.flat[:16].tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ArrayKey):
            return False
        mine, theirs = self.array, other.array
        return (mine.dtype == theirs.dtype and mine.shape == theirs.shape
                and (mine is theirs or np.ascontiguousarray(mine).tobytes() == np.ascontiguousarray(theirs).tobytes()))


# -- the kinds -----------------------------------------------------------------------------------------------------


def several(item: FieldKind[Any], name: str, words: str, example: str) -> FieldKind[Any]:
    """Makes the kind of tuples of values of the kind ``item``."""
    def check(value: Iterable[object]) -> tuple[object, ...]:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return tuple([item.check(entry) for entry in value])

    return FieldKind(name, words, example, check,
                     lambda value, writer: notation.sequence_text([item.format(entry, writer) for entry in value]),
                     lambda line, reader: notation.parse_sequence(line, lambda: item.parse(line, reader)),
                     dimensions=lambda value: [length for entry in value for length in item.dimensions(entry)],
                     substitute=lambda value, symbols: tuple([item.substitute(entry, symbols) for entry in value]))


integer = FieldKind("int", "an integer", "0", _whole, lambda value, writer: str(value),
                    lambda line, reader: line.integer())
real = FieldKind("float", "a number", "0.5", float, notation.float_text, notation.parse_float, key=_bits)
boolean = FieldKind("bool", "True or False", "True", exact(bool), lambda value, writer: repr(value),
                    notation.parse_bool)
string = FieldKind("str", "a string", "'text'", exact(str), lambda value, writer: json.dumps(value),
                   notation.parse_string)
number = FieldKind("number", "a Python number", "0.5", _scalar, notation.number_text, notation.parse_number, key=_bits)
dtype = FieldKind("dtype", "an element type", "nv.float32", as_dtype, lambda value, writer: value.short,
                  notation.parse_dtype)
dimension = FieldKind("dim", "an integer or a symbolic dimension", "nv.dim('n')", _dim, notation.dim_text,
                      notation.parse_dim, dimensions=lambda value: (value,), substitute=substitute)
shape: FieldKind[tuple[DimLike, ...]] = several(dimension, "shape", "integers and symbolic dimensions", "(2, 3)")
ints: FieldKind[tuple[int, ...]] = several(integer, "ints", "integers", "(0, 1)")
pairs: FieldKind[tuple[tuple[int, int], ...]] = several(ints, "pairs", "pairs of integers", "((1, 0),)")
dim_pairs: FieldKind[tuple[tuple[DimLike, DimLike], ...]] = several(
    shape, "dim_pairs", "pairs of integers or symbolic dimensions", "((1, 1), (0, 0))")


def _range(value: Any) -> tuple[DimLike, ...]:
    """Reads a (start, extent, step); a length stands for that many positions from the first."""
    return (0, _dim(value), 1) if hasattr(value, "__index__") or isinstance(value, Dim) else shape.check(value)


slices: FieldKind[tuple[tuple[DimLike, DimLike, DimLike], ...]] = several(
    replace(shape, check=_range), "slices", "triples (start, extent, step), or lengths", "((0, 2, 1),)")
strings: FieldKind[tuple[str, ...]] = several(string, "strs", "strings", "('a', 'b')")
array = FieldKind("array", "a NumPy array", "np.zeros(3)", _plain_array, lambda value, writer: writer.array(value),
                  notation.parse_array, key=_ArrayKey)
# An op keeps its attributes alive, so identities stay valid as long as a key is in use.
variable = FieldKind("variable", "a Variable", "Variable(type)", exact(Variable),
                     lambda value, writer: writer.variable(value), notation.parse_variable, key=id)
index_map = FieldKind("index_map", "an IndexMap", "IndexMap.identity((2, 3))", exact(IndexMap), notation.map_text,
                      notation.parse_map, dimensions=lambda value: (*value.shape, *value.coordinates),
                     substitute=lambda value, symbols: IndexMap(
                         shape.substitute(value.shape, symbols), shape.substitute(value.coordinates, symbols)))
types: FieldKind[tuple[BasicTensorDescription, ...]] = several(
    FieldKind("type", "the type of a tensor", "x.type", exact(BasicTensorDescription),
              lambda value, writer: notation.type_text(value, None, writer),
              lambda line, reader: notation.parse_type(line, reader)[0],
              dimensions=lambda value: value.shape, substitute=lambda value, symbols: value.with_(
                  shape=shape.substitute(value.shape, symbols), layout=None)), "types", "types of tensors", "(x.type,)")
function_of_host = FieldKind("callable", "a Python function", "lambda x: x", _callable,
                             lambda value, writer: writer.host_function(value), notation.refuse_callable, key=id)
"""A Python callable: it has no text, so an op that holds it cannot be saved."""


def choice(*choices: str, default: object = REQUIRED) -> Field[str]:
    """Declares one of a few strings."""
    return Field(string, default, choices=choices)


def optional_index_map() -> Field[IndexMap | None]:
    """Declares an IndexMap or None."""
    return index_map(None, optional=True)
