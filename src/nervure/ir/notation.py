"""The text of numbers, dimensions, types, arrays and index maps: one function writes each kind, and one reads it back.

The two are inverse: the value read equals the value written, bit for bit. Floats are hexadecimal, arrays the bits of
their elements, most significant digit first.

>>> float_text(0.1), sequence_text(["0", "N + 1"]), sequence_text(["2"])
('0x1.999999999999ap-4', '(0, N + 1)', '(2,)')
>>> array_text(np.array([1.0, -0.0], np.float32))
'array(f32[2], 3f800000 80000000)'
>>> parse_float(Scanner("0x1.8p+1", 1))
3.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from nervure.errors import InvalidArgument, NervureError
from nervure.ir.scanner import QUOTED, QUOTED_PATTERN, Scanner, name_text, token
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, known_lengths
from nervure.types.dtype import DType, as_dtype
from nervure.types.index_map import IndexMap
from nervure.types.layout import Layout, dense, memory_of

Number = bool | int | float | complex
Item = TypeVar("Item")


class Writer(Protocol):
    """The information about the whole text that formatting needs."""

    def dim(self, x: DimLike) -> str: ...
    def array(self, array: np.ndarray) -> str: ...
    def variable(self, variable: Variable) -> str: ...
    def function(self, function: Any) -> str: ...
    def host_function(self, function: Callable[..., object]) -> str: ...


class ReadingContext(Protocol):
    """The information about the whole text that reading needs."""

    def dim(self, line: Scanner, text: str, may_index: bool = False) -> DimLike: ...
    def array(self, line: Scanner, name: str) -> np.ndarray: ...
    def variable(self, line: Scanner, name: str) -> Variable: ...
    def function(self, line: Scanner, name: str) -> object: ...


# -- sequences and dimensions --------------------------------------------------------------------------------------


def sequence_text(entries: Sequence[str]) -> str:
    """Returns ``(a, b)``, ``(a,)`` or ``()``."""
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def parse_sequence(line: Scanner, item: Callable[[], Item]) -> tuple[Item, ...]:
    """Reads back the text of ``sequence_text``; ``item`` reads one entry."""
    line.expect("(")
    entries = []
    while not line.accept(")"):
        entries.append(item())
        if not line.accept(","):
            line.expect(")")
            break
    return tuple(entries)


_PLAIN_LENGTH = re.compile(r" *(-?[0-9]{1,19})(?= *[,)\]])", re.ASCII)
_DIM_PIECE = re.compile(r"[^(),\]]*")


def dim_text(x: DimLike, writer: Writer) -> str:
    """Returns the text of a dimension; the whole text will declare its symbols."""
    return str(x) if type(x) is int else writer.dim(x)


def parse_dim(line: Scanner, reader: ReadingContext, may_index: bool = False) -> DimLike:
    """Reads a dimension: up to a comma or bracket that is not its own. ``may_index`` admits domain indices."""
    number = line.match(_PLAIN_LENGTH)
    if number is not None:
        return int(number)
    start, depth, text = line.position, 0, line.text
    while True:
        line.position = _DIM_PIECE.match(text, line.position).end()  # type: ignore[union-attr]  # it matches ""
        found = text[line.position:line.position + 1]
        if not found or found == "]" or (depth == 0 and found != "("):
            break
        depth += (found == "(") - (found == ")")
        line.position += 1
    if not text[start:line.position].strip():
        raise line.error("a dimension is missing", expected="a dimension such as 32 or 2*N + 1")
    return reader.dim(line, text[start:line.position], may_index)


# -- types ---------------------------------------------------------------------------------------------------------

_LABEL = re.compile(rf" *([A-Za-z_][A-Za-z0-9_./-]*|{QUOTED_PATTERN}) *=", re.ASCII)
_DTYPE = token(r"[a-z]\w*")


def type_text(type: BasicTensorDescription, labels: Labels | None, writer: Writer) -> str:
    """Returns a type's text: ``f32[2, N]``, or with ``labels`` ``f32[N=32, H=128]``. Memory that is not row-major adds
    ``order (1, 0)``; memory with gaps adds ``strides (4, 1) sizes (2, 4)``.
    """
    entries = [str(x) if isinstance(x, int) else writer.dim(x) for x in type.shape]
    if labels is not None:
        entries = [entry if label is None else f"{name_text(label)}={entry}"
                   for entry, label in zip(entries, labels, strict=True)]
    order = type.order
    kept = "" if order is None else f" order {order}"
    if isinstance(order, Layout):
        kept = f" strides {tuple(order.strides)} sizes {tuple(order.sizes or ())}"
    return f"{type.dtype.short}[{', '.join(entries)}]{kept}"


def parse_type(line: Scanner, reader: ReadingContext) -> tuple[BasicTensorDescription, Labels | None]:
    """Reads a type and its labels, None if it has none."""
    dtype = parse_dtype(line, reader)
    line.expect("[")
    shape: list[DimLike] = []
    labels: list[str | None] = []
    while not line.accept("]"):
        label = line.match(_LABEL)
        labels.append(None if label is None else line.unquoted(label))
        shape.append(parse_dim(line, reader))
        if not line.accept(","):
            line.expect("]")
            break
    kept = _parse_kept(line)
    try:
        type = BasicTensorDescription(dtype, shape, layout=_layout_of(kept, shape))
    except NervureError as error:
        raise line.wrapped(error) from error
    return type, tuple(labels) if any(x is not None for x in labels) else None


def _parse_kept(line: Scanner) -> tuple[list[int], list[int] | None] | None:
    """Reads the description of memory: an order, or strides and sizes."""
    if line.accept("order"):
        return _parse_dimensions(line), None
    if not line.accept("strides"):
        return None
    strides = _parse_dimensions(line)
    line.expect("sizes")
    return strides, _parse_dimensions(line)


def _layout_of(kept: tuple[list[int], list[int] | None] | None, shape: Sequence[DimLike]) -> Layout | None:
    if kept is None:
        return None
    numbers, sizes = kept
    if sizes is None:
        return dense(shape, numbers)
    layout = Layout(tuple(numbers), 0, tuple(sizes))
    if layout.rank != len(shape) or memory_of(layout, shape) != layout:
        raise InvalidArgument("memory of these sizes does not hold the shape so", got=f"{layout} in {sizes}",
                              expected=f"strides and sizes for {tuple(shape)}", help="the text is damaged")
    return layout


def _parse_dimensions(line: Scanner) -> list[int]:
    line.expect("(")
    found = [line.integer("a dimension")]
    while line.accept(","):
        if line.accept(")"):
            return found
        found.append(line.integer("a dimension"))
    line.expect(")")
    return found


def parse_dtype(line: Scanner, reader: ReadingContext) -> DType:
    """Reads an element type by its name."""
    name = line.take(_DTYPE, "an element type")
    try:
        return as_dtype(name)
    except NervureError as error:
        raise line.wrapped(error) from error


# -- numbers and strings -------------------------------------------------------------------------------------------

_FLOAT = token(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf|nan")
_CONSTANT = token(r"True|False")


def float_text(value: float, writer: Writer | None = None) -> str:
    """Returns a float as hexadecimal digits: every bit of it, except the payload of a NaN."""
    mantissa, p, exponent = float(value).hex().partition("p")
    whole, point, fraction = mantissa.partition(".")
    return f"{whole}{point}{fraction.rstrip('0') or '0'}{p}{exponent}" if p else mantissa


def parse_float(line: Scanner, reader: ReadingContext | None = None) -> float:
    """Reads back the text of ``float_text``."""
    digits = line.take(_FLOAT, "a hexadecimal float such as 0x1.8p+1, inf or nan")
    try:
        return float.fromhex(digits)
    except OverflowError:
        raise line.error("a float is out of range", got=digits) from None


def parse_bool(line: Scanner, reader: ReadingContext) -> bool:
    """Reads True or False."""
    return line.take(_CONSTANT, "True or False") == "True"


def number_text(value: Number, writer: Writer) -> str:
    """Returns the text of a Python scalar, bit for bit."""
    if isinstance(value, complex):
        return f"complex({float_text(value.real)}, {float_text(value.imag)})"
    return float_text(value) if isinstance(value, float) else repr(value)


def parse_number(line: Scanner, reader: ReadingContext) -> Number:
    """Reads back the text of ``number_text``."""
    constant = line.match(_CONSTANT)
    if constant is not None:
        return constant == "True"
    if line.accept("complex("):
        real = parse_float(line)
        line.expect(",")
        imaginary = parse_float(line)
        line.expect(")")
        return complex(real, imaginary)
    is_float = _FLOAT.match(line.text, line.position)
    return parse_float(line) if is_float else line.integer("a number")


def parse_string(line: Scanner, reader: ReadingContext) -> str:
    """Reads a string in quotes."""
    return line.unquoted(line.take(QUOTED, "a quoted string"))


# -- arrays --------------------------------------------------------------------------------------------------------

_WORDS = re.compile(r"([0-9a-f ]*)")


def _largest_byte(dtype: DType) -> int | None:
    """Returns the largest byte that an element may be: 1 for truth values, 3 or 15 for types of 2 and 4 bits."""
    return 1 if dtype.kind == "bool" else (1 << dtype.bits) - 1 if dtype.bits < 8 else None


def array_text(array: np.ndarray, content: str | None = None) -> str:
    """Returns ``array(f32[2], 3f800000 80000000)``: the type, then the bits of each element, or ``content`` in their
    place.
    """
    dtype = as_dtype(array.dtype)
    shape = ", ".join(map(str, array.shape))
    content = _bits(array, dtype) if content is None else content
    return f"array({dtype.short}[{shape}]{', ' if content else ''}{content})"


def _word_size(dtype: DType) -> int:
    return dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize


def _bits(array: np.ndarray, dtype: DType) -> str:
    size = _word_size(dtype)
    words = np.ascontiguousarray(array.astype(dtype.numpy, copy=False)).view(f"u{size}")
    if dtype.kind == "bool":
        words = (words != 0).view("u1")
    elif dtype.bits < 8:
        words = words & ((1 << dtype.bits) - 1)  # the upper bits of the byte do not belong to the element
    return words.astype(f">u{size}").tobytes().hex(" ", size)


def parse_array(line: Scanner, reader: ReadingContext) -> np.ndarray:
    """Reads back the text of ``array_text``, or the name of an array that is stored beside the text."""
    if line.accept("@"):
        return reader.array(line, line.name("the name of an array"))
    line.expect("array(")
    type, _ = parse_type(line, reader)
    line.accept(",")
    content = line.take(_WORDS, "hexadecimal digits").replace(" ", "")
    line.expect(")")
    shape = known_lengths(type.shape)
    if shape is None:
        raise line.error("an array needs a shape of numbers", got=type)
    size = math.prod(shape) * type.dtype.itemsize
    if len(content) != 2 * size:  # checked before this size is allocated
        raise line.error("an array has another number of digits than its type needs", got=len(content),
                         expected=f"{2 * size} for {type}")
    word = _word_size(type.dtype)
    words = np.frombuffer(bytes.fromhex(content), f">u{word}").astype(f"u{word}")
    largest = _largest_byte(type.dtype)
    if largest is not None and (words > largest).any():
        raise line.error(f"an element is no {type.dtype.name}", got=f"{words.max():02x}",
                         expected=f"at most {largest:02x}")
    try:
        return words.view(type.dtype.numpy).reshape(shape)
    except ValueError as error:  # more dimensions than NumPy has
        raise line.wrapped(error, "array") from error


# -- parts stored elsewhere --------------------------------------------------------------------------------------------


def parse_variable(line: Scanner, reader: ReadingContext) -> Variable:
    """Reads a reference to a declared variable."""
    line.expect("$")
    return reader.variable(line, line.name("the name of a variable"))


def refuse_callable(line: Scanner, reader: ReadingContext) -> NoReturn:
    """Raises FormatError: functions of the host program have no text."""
    raise line.error("a function of the host program has no text", expected="an op without host functions",
                     help="save what stands before and after the host call, and call it from the host program")


def map_text(value: IndexMap, writer: Writer) -> str:
    """Returns ``(N, 3) -> (%0, %1 + 2)``."""
    shape, coordinates = [sequence_text([dim_text(x, writer) for x in part])
                          for part in (value.shape, value.coordinates)]
    return f"{shape} -> {coordinates}"


def parse_map(line: Scanner, reader: ReadingContext) -> IndexMap:
    """Reads back the text of ``map_text``."""
    shape = parse_sequence(line, lambda: parse_dim(line, reader))
    line.expect("->")
    coordinates = parse_sequence(line, lambda: parse_dim(line, reader, may_index=True))
    try:
        return IndexMap(shape, coordinates)
    except NervureError as error:
        raise line.wrapped(error) from error
