"""The IDX format of MNIST and similar data: arrays of bytes or numbers in a file, plain or compressed by gzip.

A file starts with two zero bytes, a byte for the element type and one for the number of dimensions; then come the
lengths, 32 bits each, and the elements, most significant byte first (LeCun, Cortes and Burges, "The MNIST database").

>>> import io
>>> parse_idx(io.BytesIO(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9])), "example").tolist()
[[7, 8, 9]]
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from nervure.errors import FormatError
from nervure.types.shape import check_room

_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MOST_DIMENSIONS = 8


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Reads the array of a file, in the machine's byte order; FormatError for one that is damaged, cut short or too
    long.
    """
    with Path(path).open("rb") as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            return parse_idx(file, os.fspath(path))
        with gzip.open(file) as unpacked:
            try:
                return parse_idx(cast("BinaryIO", unpacked), os.fspath(path))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise _damaged(os.fspath(path), f"the compressed file is damaged or cut short: {error}") from None


def parse_idx(file: BinaryIO, name: str) -> np.ndarray:
    """Reads the array of an open file; ``name`` is for errors. Nothing is allocated before its size is known to be
    sound.
    """
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise _damaged(name, "this is no IDX file", got=start.hex(" ") or "nothing",
                       expected="00 00, an element type (08 to 0e), the number of dimensions")
    if start[3] > _MOST_DIMENSIONS:
        raise _damaged(name, "an IDX file has few dimensions", got=start[3], expected=f"at most {_MOST_DIMENSIONS}")
    lengths = file.read(4 * start[3])
    if len(lengths) < 4 * start[3]:
        raise _damaged(name, "the file ends in its header", got=f"{4 + len(lengths)} bytes",
                       expected=f"{4 + 4 * start[3]}")
    dtype, shape = np.dtype(_TYPES[start[2]]), tuple(np.frombuffer(lengths, ">u4").tolist())
    check_room(shape, dtype.itemsize, "the file", op="read_idx", operand=name)
    return _elements(file, dtype, shape, name)


def _elements(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Reads the rest of a file, as many bytes as ``shape`` needs, in pieces, since a header may be wrong."""
    size, pieces, have = math.prod(shape) * dtype.itemsize, [], 0
    while have <= size:
        piece = file.read(min(1 << 24, size + 1 - have))
        if not piece:
            break
        pieces.append(piece)
        have += len(piece)
    if have != size:
        raise _damaged(name, "the file is cut short" if have < size else "the file goes on behind its elements",
                       got=f"{have} bytes" if have < size else f"more than {size} bytes",
                       expected=f"{size} for the shape {shape}")
    return np.frombuffer(b"".join(pieces), dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _damaged(name: str, message: str, got: object = None, expected: object = None) -> FormatError:
    return FormatError(message, op="read_idx", operand=name, got=got, expected=expected,
                       help="fetch the file again")
