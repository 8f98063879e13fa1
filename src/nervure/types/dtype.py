"""The type of one element: one ``DType`` object per type, so that types compare by identity.

>>> as_dtype("f32") is as_dtype(np.float32) is float32
True
>>> bfloat16, bfloat16.short, bfloat16.itemsize, bfloat16.compute
(nervure.bfloat16, 'bf16', 2, nervure.float32)

The table has NumPy's types and those of ml_dtypes. Promotion, the type of a mixture of types, is decided by the front,
not here.
"""

from __future__ import annotations

import math
import warnings

import ml_dtypes
import numpy as np

from nervure.errors import InternalError, WrongKind, did_you_mean
from nervure.types.frozen import Frozen, put


class DType(Frozen):
    """An element type. There is one instance of each type and no other can be made: compare with ``is``.

    ``==`` takes NumPy's dtypes, scalar types and names, too, as ``dtype=`` does. As keys of a dict a type and its
    NumPy dtype are one; classes and names, which hash otherwise, are not.

    ``name`` is NumPy's name (``float32``), ``short`` the name in printed graphs (``f32``); ``kind`` is one of
    ``bool``, ``int``, ``uint``, ``float`` and ``complex``; ``bits`` is the number of significant bits (4 for ``int4``)
    and ``itemsize`` the size of an element in bytes (1 for ``int4``). ``numpy`` is the NumPy dtype. ``minimum`` and
    ``maximum`` are the finite limits as Python numbers, None for complex types. ``is_low_precision`` types compute in
    float32; ``storage_only`` types admit conversions and moves alone.

    >>> nv.int8.bits, nv.int8.minimum, nv.int8.maximum, nv.int8.is_integer, nv.bfloat16.compute
    (8, -128, 127, True, nervure.float32)
    """

    __slots__ = ("_has_infinities", "_hash", "bits", "is_complex", "is_float", "is_inexact", "is_integer",
                 "is_low_precision", "is_signed", "itemsize", "kind", "maximum", "minimum", "name", "numpy", "short",
                 "storage_only")
    _plural = "element types"
    _instead = "take another of the types that there are, such as nv.float32"
    name: str
    short: str
    kind: str
    bits: int
    numpy: np.dtype
    itemsize: int
    is_float: bool
    is_integer: bool
    is_signed: bool
    is_complex: bool
    is_inexact: bool
    """Floats and complex numbers: the types that have derivatives."""
    is_low_precision: bool
    storage_only: bool
    _hash: int
    _has_infinities: bool
    minimum: bool | int | float | None
    maximum: bool | int | float | None

    def __init__(self, name: str, short: str, kind: str, bits: int, scalar: type) -> None:
        if name in _BY_NAME:
            raise InternalError(f"the element type {name} exists already")
        minimum, maximum = _limits(kind, scalar)
        is_float, is_complex, native = kind == "float", kind == "complex", np.dtype(scalar)
        parts = {
            "name": name, "short": short, "kind": kind, "bits": bits, "numpy": native,
            "itemsize": native.itemsize, "minimum": minimum, "maximum": maximum, "_hash": hash(native),
            "_has_infinities": is_float and bool(np.isneginf(np.float64(native.type(-np.inf)))),
            "is_float": is_float, "is_integer": kind in ("int", "uint"), "is_complex": is_complex,
            "is_inexact": is_float or is_complex, "is_signed": is_complex or (minimum is not None and minimum < 0),
            "is_low_precision": is_float and bits <= 16,
            "storage_only": bits < 8 or (is_float and bits == 8),
        }
        for part, value in parts.items():
            put(self, part, value)
        _BY_NAME[name] = _BY_NAME[short] = _BY_SCALAR[scalar] = _BY_NUMPY[self.numpy] = self

    @property
    def compute(self) -> DType:
        """The type in which arithmetic takes place: float32 for low-precision floats, else this type."""
        return float32 if self.is_low_precision else self

    @property
    def limits(self) -> tuple[int | float, int | float]:
        """The smallest and the largest number. InternalError for complex types, which have no order."""
        if self.minimum is None or self.maximum is None:
            raise InternalError(f"{self.name} has no limits: complex numbers have no order")
        return self.minimum, self.maximum

    @property
    def extremes(self) -> tuple[int | float, int | float]:
        """The ends of the order: infinities, or the limits of a type without them. InternalError for complex types."""
        low, high = self.limits
        return (-math.inf, math.inf) if self._has_infinities else (low, high)

    @property
    def part(self) -> DType:
        """The type of the real and of the imaginary part; a type that is not complex is its own."""
        return _PARTS.get(self, self)

    @property
    def pair(self) -> DType | None:
        """The complex type whose parts have this type; None if there is none."""
        return next((pair for pair, part in _PARTS.items() if part is self), None)

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype, under the name that NumPy and other libraries look up: ``np.zeros(3, nv.float32)``."""
        return self.numpy

    __numpy_dtype__ = dtype  # the name since NumPy 2.4

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, np.dtype):
            return self.numpy == other
        return _find(other) is self if isinstance(other, (str, type)) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"nervure.{'bool_' if self.kind == 'bool' else self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return as_dtype, (self.name,)


def _limits(kind: str, scalar: type) -> tuple[bool | int | float | None, bool | int | float | None]:
    if kind == "bool":
        return False, True
    if kind == "complex":
        return None, None
    if kind == "float":
        floats = ml_dtypes.finfo(scalar)
        return float(floats.min), float(floats.max)
    integers = ml_dtypes.iinfo(scalar)
    return int(integers.min), int(integers.max)


_BY_NAME: dict[str, DType] = {}
_BY_SCALAR: dict[type, DType] = {}
_BY_NUMPY: dict[np.dtype, DType] = {}

bool_ = DType("bool", "bool", "bool", 8, np.bool_)
int2 = DType("int2", "i2", "int", 2, ml_dtypes.int2)
int4 = DType("int4", "i4", "int", 4, ml_dtypes.int4)
int8 = DType("int8", "i8", "int", 8, np.int8)
int16 = DType("int16", "i16", "int", 16, np.int16)
int32 = DType("int32", "i32", "int", 32, np.int32)
int64 = DType("int64", "i64", "int", 64, np.int64)
uint2 = DType("uint2", "u2", "uint", 2, ml_dtypes.uint2)
uint4 = DType("uint4", "u4", "uint", 4, ml_dtypes.uint4)
uint8 = DType("uint8", "u8", "uint", 8, np.uint8)
uint16 = DType("uint16", "u16", "uint", 16, np.uint16)
uint32 = DType("uint32", "u32", "uint", 32, np.uint32)
uint64 = DType("uint64", "u64", "uint", 64, np.uint64)
float4_e2m1fn = DType("float4_e2m1fn", "f4e2m1fn", "float", 4, ml_dtypes.float4_e2m1fn)
float8_e3m4 = DType("float8_e3m4", "f8e3m4", "float", 8, ml_dtypes.float8_e3m4)
float8_e4m3 = DType("float8_e4m3", "f8e4m3", "float", 8, ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = DType("float8_e4m3b11fnuz", "f8e4m3b11fnuz", "float", 8, ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = DType("float8_e4m3fn", "f8e4m3fn", "float", 8, ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = DType("float8_e4m3fnuz", "f8e4m3fnuz", "float", 8, ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = DType("float8_e5m2", "f8e5m2", "float", 8, ml_dtypes.float8_e5m2)
float8_e5m2fnuz = DType("float8_e5m2fnuz", "f8e5m2fnuz", "float", 8, ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = DType("float8_e8m0fnu", "f8e8m0fnu", "float", 8, ml_dtypes.float8_e8m0fnu)
float16 = DType("float16", "f16", "float", 16, np.float16)
bfloat16 = DType("bfloat16", "bf16", "float", 16, ml_dtypes.bfloat16)
float32 = DType("float32", "f32", "float", 32, np.float32)
float64 = DType("float64", "f64", "float", 64, np.float64)
complex64 = DType("complex64", "c64", "complex", 64, np.complex64)
complex128 = DType("complex128", "c128", "complex", 128, np.complex128)

_PARTS = {complex64: float32, complex128: float64}

all_dtypes: tuple[DType, ...] = tuple(_BY_SCALAR.values())

# Python's number types stand for the default of their kind; C's integer names are aliases of the sized ones.
_BY_SCALAR.update({bool: bool_, int: int32, float: float32, complex: complex64})
_BY_SCALAR.update({np.dtype(code).type: _BY_NUMPY[np.dtype(code)] for code in np.typecodes["AllInteger"]})


_KINDS = ("bool", "uint", "int", "float", "complex")


DTypeLike = DType | np.dtype | type | str
"""The values that ``as_dtype`` reads."""


def as_dtype(x: object) -> DType:
    """Returns the element type that ``x`` stands for.

    ``x`` is a DType, a NumPy dtype (a swapped byte order means the native type), a NumPy or ml_dtypes scalar
    type, one of Python's ``bool``, ``int`` (int32), ``float`` (float32), ``complex`` (complex64), or a name,
    long or short. Short names count bits: ``"i8"`` is int8. Anything else is WrongKind.

    >>> nv.as_dtype("f32"), nv.as_dtype(np.int8), nv.as_dtype(bool)
    (nervure.float32, nervure.int8, nervure.bool_)
    """
    if isinstance(x, DType):
        return x
    found = _find(x)
    if found is not None:
        return found
    help = did_you_mean(x, _BY_NAME) if isinstance(x, str) else None
    if help is None:
        help = "the element types are " + ", ".join(dtype.name for dtype in all_dtypes)
    raise WrongKind("this is not an element type", op="dtype", got=_describe(x), expected="a type such as nv.float32",
                    help=help)


def _find(x: object) -> DType | None:
    """Returns the element type of a NumPy dtype, a name or a class, if it has one."""
    if isinstance(x, np.dtype):
        return _BY_NUMPY.get(x) or _BY_NUMPY.get(x.newbyteorder("="))
    if isinstance(x, str):
        return _BY_NAME.get(x)
    return _BY_SCALAR.get(x) if isinstance(x, type) else None


def is_same_kind(source: DType, target: DType) -> bool:
    """Whether a conversion is what NumPy calls ``same_kind``: bool, unsigned, signed, float, complex never go down.

    >>> is_same_kind(float64, bfloat16), is_same_kind(uint8, int8), is_same_kind(int64, uint64)
    (True, True, False)
    """
    return _KINDS.index(source.kind) <= _KINDS.index(target.kind)


def _describe(x: object) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the repr of a foreign object may warn, which would hide our error
        text = repr(x)
    return text if len(text) <= 80 else f"{text[:77]}..."
