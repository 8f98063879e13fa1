"""The safetensors format: files of named arrays, written atomically and read with distrust.

A file is eight bytes (the length of the header), a header in JSON (for each array its type, shape and place, and a
table of strings), and the bytes of the arrays. Whatever a file contains, reading it allocates no more than its size,
and returns the arrays that were written or raises FormatError: a digest over everything is among the strings.

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
>>> digest = write_tensors(path, {"w": np.arange(3, dtype=np.float32)}, {"made by": "hand"})
>>> tensors, strings = read_tensors(path)
>>> tensors["w"], strings["made by"]
(array([0., 1., 2.], dtype=float32), 'hand')

Types that the format lacks (complex128, most of those of less than 8 bits) are stored as bytes, and a table among the
strings gives their types; older files have complex64 and more floats of 8 bits so. The package ``safetensors`` reads
these files; ARCHITECTURE.md says why it does not write them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from nervure.errors import FormatError, InvalidArgument
from nervure.support.atomic_file import open_regular, write_atomically
from nervure.types.dtype import DType, as_dtype, uint8
from nervure.types.shape import MAX_RANK

if TYPE_CHECKING:
    from hashlib import _Hash as Digest

MAX_HEADER = 100_000_000  # bytes; safetensors itself reads none that are longer
DIGEST = "nervure.sha256"
TYPES = "nervure.types"

_CODES = {"bool": "BOOL", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32",
          "int64": "I64", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
          "float8_e4m3fn": "F8_E4M3", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2": "F8_E5M2",
          "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e8m0fnu": "F8_E8M0", "complex64": "C64"}
_DTYPES = {code: as_dtype(name) for name, code in _CODES.items()}
_TYPE = re.compile(r"([a-z]\w*)\[([0-9]{1,19}(?:, [0-9]{1,19})*)?\]", re.ASCII)
_CHUNK = 1 << 20


class _Entry(NamedTuple):
    """One array of a file: its type, its shape, and the start and the end of its bytes after the header."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


# -- writing -------------------------------------------------------------------------------------------------------


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], strings: Mapping[str, str]) -> str:
    """Writes arrays and strings to a file, atomically, and returns the digest of it all.

    The file takes its name once all of it is on disk: until then, and after any failure, an earlier file of that name
    stays as it is. A symbolic link of that name is replaced, not followed. Raises OSError if the directory cannot be
    written; InvalidArgument for more than 100 MB of names and strings.
    """
    arrays = {name: _contiguous(array) for name, array in tensors.items()}
    entries, foreign = _described(arrays)
    strings = {**strings, TYPES: json.dumps(foreign, sort_keys=True)} if foreign else strings
    digest = _digest(entries, strings)
    for name in entries:
        digest.update(_bytes(arrays[name]))
    header = {"__metadata__": {**strings, DIGEST: digest.hexdigest()}, **entries}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise InvalidArgument("there is too much text to save", op="save", got=f"{len(text)} bytes",
                              expected=f"at most {MAX_HEADER} bytes of names, types and strings")
    data = [_bytes(arrays[name]) for name in entries]
    write_atomically(os.fspath(path), [len(text).to_bytes(8, "little"), text, *data])
    return digest.hexdigest()


def _described(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, object], dict[str, str]]:
    """Returns the entries of a header, in the order of their bytes, and the types that the format lacks."""
    entries: dict[str, object] = {}
    foreign: dict[str, str] = {}
    position = 0
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])):  # so that all are aligned
        dtype, shape = as_dtype(array.dtype), list(array.shape)
        if not is_known(dtype):
            foreign[name] = f"{dtype.name}[{', '.join(map(str, shape))}]"
            dtype, shape = uint8, [array.nbytes]
        end = position + array.nbytes
        entries[name] = {"dtype": _CODES[dtype.name], "shape": shape, "data_offsets": [position, end]}
        position = end
    return entries, foreign


def is_known(dtype: DType) -> bool:
    """Whether the format has a type, so that other programs read its elements as such.

    >>> is_known(as_dtype("complex64")), is_known(as_dtype("complex128"))
    (True, False)
    """
    return dtype.name in _CODES


def _contiguous(array: np.ndarray) -> np.ndarray:
    """Returns the array with adjacent elements in row-major order, in this machine's byte order."""
    return np.ascontiguousarray(array, dtype=as_dtype(array.dtype).numpy).reshape(array.shape)


def _bytes(array: np.ndarray) -> memoryview:
    """Returns the bytes of a contiguous array, the least significant of each number first."""
    return _little_endian(array).reshape(-1).view(np.uint8).data


def _little_endian(array: np.ndarray) -> np.ndarray:
    return array if sys.byteorder == "little" or array.itemsize == 1 else array.byteswap()


def _digest(entries: Mapping[str, object], strings: Mapping[str, str]) -> Digest:
    """Returns the digest of a header without its own entry, to which the bytes of the arrays are added."""
    strings = {key: text for key, text in strings.items() if key != DIGEST}
    canonical = json.dumps({**entries, "__metadata__": strings}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode())


def from_json(text: str) -> Any:
    """Returns the value of ``text``, a string of a file that is JSON there; None, a value as any other, if it is not.

    >>> from_json('{"epoch": 3}'), from_json("{")
    ({'epoch': 3}, None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# -- reading -------------------------------------------------------------------------------------------------------


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads the arrays (read-only) and the strings of a file. FormatError unless all of it is in the right format.

    Sizes are checked against the size of the file before anything is allocated. The file is opened once, so the bytes
    checked are the bytes read. Raises OSError if it cannot be opened.
    """
    name = os.fspath(path)
    with open_regular(name) as file:
        size = os.fstat(file.fileno()).st_size
        header, strings = _read_header(file, name, size)
        digest = _digest(header, strings)
        entries = _entries(header, name, size - file.tell())
        with ThreadPoolExecutor(1) as beside:  # its thread adds to the digest what this one has read before
            add = (lambda piece: beside.submit(digest.update, piece)) if DIGEST in strings else None
            arrays = {entry.name: _read_array(file, name, entry, add) for entry in entries}
    if DIGEST in strings and strings[DIGEST] != digest.hexdigest():
        _refuse("the file is damaged: its content has another digest than it says", name, got=digest.hexdigest(),
                expected=strings[DIGEST], help="restore the file; nothing of it was used")
    return _typed(arrays, strings, name), strings


def read_strings(path: str | os.PathLike[str]) -> dict[str, str]:
    """Reads the strings of a file alone, without its digest. FormatError if its header is malformed."""
    name = os.fspath(path)
    with open_regular(name) as file:
        return _read_header(file, name, os.fstat(file.fileno()).st_size)[1]


def _refuse(problem: str, name: str, got: object = None, expected: object = None, help: str | None = None) -> NoReturn:
    raise FormatError(problem, op="load", operand=name, got=got, expected=expected, help=help)


def _read_header(file: BufferedReader, name: str, size: int) -> tuple[dict[str, object], dict[str, str]]:
    """Returns the entries of a header, still unchecked, and its strings."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if size < 8 or length > min(size - 8, MAX_HEADER):
        if start.startswith((b"PK", b"\x80")):
            _refuse("the file is an archive or a pickle, as torch.save writes it", name, got=start,
                    expected="a safetensors file",
                    help="in PyTorch: safetensors.torch.save_file(model.state_dict(), path)")
        _refuse("the file is too short for its header", name, got=f"{size} bytes, a header of {length}",
                expected=f"a header of at most {min(max(size - 8, 0), MAX_HEADER)} bytes")
    try:
        header: object = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_without_repeats,
                                    parse_int=_integer, parse_float=_no_number, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        _refuse("the header is malformed", name, got=str(error)[:200], expected="JSON as safetensors has it")
    strings = header.pop("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(header, dict) or not _are_strings(strings):
        _refuse("the header is no table", name, expected="arrays by name, and strings under __metadata__")
    return header, strings


def _are_strings(table: object) -> TypeGuard[dict[str, str]]:
    return isinstance(table, dict) and all(isinstance(text, str) for text in table.values())


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name occurs twice")
    return table


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is no whole number")


def _entries(header: Mapping[str, object], name: str, size: int) -> list[_Entry]:
    """Returns the arrays in the order of their bytes, which must fill the rest of the file without gap or overlap."""
    entries = [_entry(key, value, name) for key, value in header.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    position = 0
    for entry in entries:
        if entry.begin != position:
            _refuse("the arrays leave a gap or overlap", name, got=f"{entry.name} begins at {entry.begin}",
                    expected=position)
        position = entry.end
    if position != size:
        _refuse("the file has another length than its header says", name, got=f"{size} bytes of arrays",
                expected=position)
    return entries


def _entry(key: str, value: object, name: str) -> _Entry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        _refuse(f"the entry of {key} is malformed", name, got=str(value)[:80], expected="dtype, shape and data_offsets")
    dtype = _DTYPES.get(value["dtype"]) if isinstance(value["dtype"], str) else None
    if dtype is None:
        _refuse(f"{key} has an unknown element type", name, got=value["dtype"], expected=", ".join(_DTYPES))
    shape, offsets = value["shape"], value["data_offsets"]
    if isinstance(shape, list) and len(shape) > MAX_RANK:
        _refuse(f"{key} has too many dimensions", name, got=f"{len(shape)} dimensions", expected=f"at most {MAX_RANK}")
    if not _are_lengths(shape) or not _are_lengths(offsets) or len(offsets) != 2:
        _refuse(f"{key} has a malformed shape or place", name, got=f"{shape}, {offsets}"[:80],
                expected="lists of lengths")
    if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        _refuse(f"{key} has another size than its type needs", name, got=f"{offsets[1] - offsets[0]} bytes",
                expected=f"{math.prod(shape) * dtype.itemsize} for {dtype.name} {shape}")
    return _Entry(key, dtype, tuple(shape), *offsets)


def _are_lengths(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)


def _read_array(file: BufferedReader, name: str, entry: _Entry,
                add: Callable[[memoryview], object] | None) -> np.ndarray:
    """Returns the array of an ``entry``, whose pieces it gives to ``add``."""
    data = np.empty(entry.end - entry.begin, np.uint8)
    for start in range(0, len(data), _CHUNK):
        piece = data[start:start + _CHUNK].data
        if file.readinto(piece) != len(piece):
            _refuse("the file has become shorter", name, got=f"{entry.name} ends early")
        if add is not None:
            add(piece)
    data.flags.writeable = False  # a variable keeps memory that cannot be written any more
    return _shaped(data, entry.dtype, entry.shape, name)


def _shaped(data: np.ndarray, dtype: DType, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Returns bytes as an array of a type and shape."""
    if dtype.kind == "bool" and data.size and data.max() > 1:
        _refuse("an element is no bool", name, got=int(data.max()), expected="0 or 1")
    try:
        array = _little_endian(data.view(dtype.numpy)).reshape(shape)
    except (TypeError, ValueError) as error:  # more dimensions, or longer ones, than NumPy has
        _refuse("an array of this shape cannot be made", name, got=str(error)[:80])
    array.flags.writeable = False
    return array


def _typed(arrays: dict[str, np.ndarray], strings: Mapping[str, str], name: str) -> dict[str, np.ndarray]:
    """Returns the arrays, with those that are stored as bytes in their own types."""
    for key, dtype, shape in _foreign(strings.get(TYPES, "{}"), name):
        data = arrays.get(key)
        if data is None or data.dtype != np.uint8 or data.nbytes != math.prod(shape) * dtype.itemsize:
            _refuse(f"{key} has other bytes than its type needs", name, expected=f"{dtype.name} {shape}")
        arrays[key] = _shaped(data, dtype, shape, name)
    return arrays


def _foreign(text: str, name: str) -> Iterator[tuple[str, DType, tuple[int, ...]]]:
    try:
        table = json.loads(text, object_pairs_hook=_without_repeats)
        for key, type in table.items():
            found = _TYPE.fullmatch(type)
            if found is None:
                raise ValueError(f"{type!r:.80} is no type")
            yield key, as_dtype(found[1]), tuple([int(length) for length in (found[2] or "").split(", ") if length])
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        _refuse("the table of types is malformed", name, got=str(error)[:200])
