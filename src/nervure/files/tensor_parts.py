"""Files in several parts: each process of a job writes the pieces of arrays that it holds, the first an index.

>>> import os, tempfile
>>> import nervure as nv
>>> from nervure.types.pieces import ArrayPiece
>>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
>>> whole = np.arange(6, dtype=np.float32).reshape(2, 3)
>>> pieces = [ArrayPiece((0, 0), whole[:, :2]), ArrayPiece((0, 2), whole[:, 2:])]
>>> write_parts(path, {"w": Spread(nv.BasicTensorDescription(nv.float32, (2, 3)), pieces)}, {}, {"made by": "hand"})
>>> tensors, strings = read_arrays(path)
>>> tensors["w"].tolist(), strings["made by"]
([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], 'hand')

A part is a file of the safetensors format, ``weights.safetensors.0123456789abcdef.part``, whose arrays are named by
their places, ``w[0:2, 2:3]``. The index has the name of the whole, and is such a file, too: of the arrays that lie
nowhere else, and of a string that names the parts, by their digests, and says which pieces are in which. It takes its
name when all parts are on disk, in place of an earlier one, whose parts are removed after that. So whenever a process
ends, the index that is there names parts that are there.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from typing import NamedTuple, cast

import numpy as np

from nervure.errors import FormatError, InternalError, InvalidArgument
from nervure.files.tensor_file import DIGEST, from_json, read_strings, read_tensors, write_tensors
from nervure.transformers.peers import ALONE, Peers
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import known_lengths
from nervure.types.dtype import as_dtype
from nervure.types.pieces import Box, Spread, is_grid

PARTS, PART_OF = "nervure.parts", "nervure.part of"
_PART = re.compile(r"([^/\\:\0]+)\.[0-9a-f]{16}\.part")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_Told = tuple[str, int, str, dict[str, list[Box]]]  # the name of a part, its size and digest, and its pieces

# -- writing -------------------------------------------------------------------------------------------------------


def write_parts(path: str | os.PathLike[str], tensors: Mapping[str, Spread], arrays: Mapping[str, np.ndarray],
                strings: Mapping[str, str], peers: Peers = ALONE) -> None:
    """Writes tensors in the pieces that each of the ``peers`` has, all of which call this, and arrays and strings that
    all of them have. Until the index is complete, and after any failure, an earlier file of that name stays as it is.

    Raises OSError if the directory cannot be written; InvalidArgument if another process fails, or writes to another
    directory.
    """
    name = os.fspath(path)
    own = f"{os.path.basename(name)}.{os.urandom(8).hex()}.part"
    peers.by_first(lambda: remove_parts(name))  # what is left of killed writers may be what fills the disk
    try:
        told = peers.together(lambda: _write_part(os.path.join(os.path.dirname(name), own), own, tensors))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(os.path.dirname(name), own))
        raise
    try:
        peers.by_first(lambda: _write_index(name, tensors, [from_json(text.decode()) for text in told], arrays,
                                            strings))
    finally:
        if peers.index == 0:
            remove_parts(name)  # the old ones; after a failure the new ones, unless the index is there


def _write_part(path: str, own: str, tensors: Mapping[str, Spread]) -> bytes:
    """Writes the pieces that this process has, and returns what the index has to know of them as JSON."""
    pieces = {key: [piece.box for piece in spread.pieces] for key, spread in tensors.items() if spread.pieces}
    if not pieces:
        return b"null"
    digest = write_tensors(path, {_name(key, piece.box): piece.array for key, spread in tensors.items()
                                  for piece in spread.pieces}, {PART_OF: own.rsplit(".", 2)[0]})
    return json.dumps([own, os.path.getsize(path), digest, pieces]).encode()


def _write_index(path: str, tensors: Mapping[str, Spread], told: list[_Told | None], arrays: Mapping[str, np.ndarray],
                 strings: Mapping[str, str]) -> None:
    """Writes the index of the parts that the processes have ``told`` of; one that holds nothing has none."""
    parts = [each for each in told if each is not None]
    places: dict[str, list[object]] = {key: [] for key in tensors}
    for number, (own, size, _, pieces) in enumerate(parts):
        for key, boxes in pieces.items():
            places[key] += [[number, box] for box in boxes]
        found = os.path.join(os.path.dirname(path), own)
        if not os.path.isfile(found) or os.path.getsize(found) != size:
            raise InvalidArgument("a part that another process has written is not here", op="save", operand=path,
                                  got="no such file", expected=f"{found} of {size} bytes",
                                  help="the processes of a job save into a folder that all of them share")
    index = {"files": [each[:3] for each in parts], "pieces": places,
             "types": {key: [spread.type.dtype.name, list(spread.type.shape)] for key, spread in tensors.items()}}
    text = json.dumps(index, separators=(",", ":"))
    try:
        _read_index(path, text)
    except FormatError as error:
        raise InternalError(f"the processes do not hold each element of {path} once: {error}") from None
    write_tensors(path, arrays, {**strings, PARTS: text})


def remove_parts(path: str) -> None:
    """Deletes the parts of a file that its index does not name; without an index all of them. A damaged index, whose
    parts may still be of use, keeps them.
    """
    directory, base = os.path.split(path)
    with contextlib.suppress(OSError):
        listed = [name for name in os.listdir(directory or ".") if (found := _PART.fullmatch(name))
                  and found[1] == base]
        try:
            named = _named(path) if listed else set()
        except FormatError:
            return
        for name in listed:
            if name not in named:
                os.unlink(os.path.join(directory, name))


def wholes(folder: str) -> set[str]:
    """Returns the names of the files in a folder of which there are parts, also where the index is gone."""
    return {found[1] for name in os.listdir(folder) if (found := _PART.fullmatch(name))}


def _named(path: str) -> set[str]:
    """Returns the names of the parts in an index; none, if there is no such file, or it is no index."""
    try:
        strings = read_strings(path)
    except FileNotFoundError:
        return set()
    return {part.name for part in _read_index(path, strings[PARTS]).files} if PARTS in strings else set()


def _name(key: str, box: Box) -> str:
    """The name of a piece in its part."""
    return f"{key}[{', '.join([f'{start}:{stop}' for start, stop in box])}]"


# -- reading -------------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A part as the index describes it."""

    name: str
    size: int
    digest: str


class _Index(NamedTuple):
    """The parts, and for each array its type and its pieces: the number of a part, and the place in the whole."""

    files: list[_Part]
    types: dict[str, BasicTensorDescription]
    pieces: dict[str, list[tuple[int, Box]]]


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads the arrays (read-only) and the strings of a file, whether it is one file or in parts.

    What the index says is checked against the sizes of the parts before anything is allocated, and the parts by their
    digests; they are files in the directory of the index. FormatError for all else. Raises OSError if the file cannot
    be opened.
    """
    name = os.fspath(path)
    while True:
        arrays, strings = read_tensors(name)
        if PART_OF in strings:
            raise _refusal("this file is one of the parts of another one", name, got="a part",
                           expected=strings[PART_OF], help=f"read {strings[PART_OF]}, which names all parts")
        if PARTS not in strings:
            return arrays, strings
        index = _read_index(name, strings[PARTS])
        try:
            return {**arrays, **_joined(name, index)}, strings
        except FileNotFoundError as error:
            if read_strings(name) == strings:  # else a writer has replaced it meanwhile
                raise _refusal("a part of the file is missing", name, got=f"no {os.path.basename(error.filename)}",
                               expected="all parts beside it",
                               help="copy or move the parts together with the file") from None


def _read_index(path: str, text: str) -> _Index:
    """Reads an index; FormatError if it does not give each element of its arrays one place."""
    try:
        found = from_json(text)
        files = [_Part(name, size, digest) for name, size, digest in found["files"]]
        types = {key: BasicTensorDescription(as_dtype(dtype), shape) for key, (dtype, shape) in found["types"].items()}
        pieces = {key: [(number, tuple([(start, stop) for start, stop in box])) for number, box in listed]
                  for key, listed in found["pieces"].items()}
        is_sound = types.keys() == pieces.keys() and all([_is_part(part) for part in files]) and all(
            [_fits(types[key], listed, len(files)) for key, listed in pieces.items()])
    except (ValueError, TypeError, KeyError, AttributeError):
        is_sound = False
    if not is_sound:
        raise _refusal("the table of the parts is damaged", path, got=f"{text!r:.80}",
                       expected="parts beside the file, and a place for each element", help="restore the file")
    return _Index(files, types, pieces)


def _is_part(part: _Part) -> bool:
    return (isinstance(part.name, str) and _PART.fullmatch(part.name) is not None and type(part.size) is int
            and isinstance(part.digest, str) and _DIGEST.fullmatch(part.digest) is not None)


def _fits(type: BasicTensorDescription, listed: list[tuple[int, Box]], files: int) -> bool:
    """Whether pieces, each in one of several ``files``, make an array of a type."""
    numbers = [number for number, _ in listed]
    numbers += [bound for _, box in listed for bounds in box for bound in bounds]
    lengths = known_lengths(type.shape)
    return lengths is not None and all([_is_count(number) for number in numbers]) and all(
        [number < files for number, _ in listed]) and is_grid(lengths, [box for _, box in listed])


def _is_count(number: object) -> bool:
    return type(number) is int and number >= 0


def _joined(path: str, index: _Index) -> dict[str, np.ndarray]:
    """Returns the arrays that the parts of an index make; FileNotFoundError if one is not there."""
    directory = os.path.dirname(path)
    wanted = [0] * len(index.files)
    for key, listed in index.pieces.items():
        for number, box in listed:
            wanted[number] += math.prod([stop - start for start, stop in box]) * index.types[key].dtype.itemsize
    for part, bytes in zip(index.files, wanted, strict=True):
        found = os.lstat(os.path.join(directory, part.name))  # not what a link leads to: parts lie in this directory
        if not stat.S_ISREG(found.st_mode) or found.st_size != part.size or bytes > part.size:
            raise _refusal("a part of the file has another size than the index says", path,
                           got=f"{part.name} of {found.st_size} bytes", expected=f"a file of {part.size} bytes, "
                           f"{bytes} of them arrays", help="restore all parts; nothing of them was used")
    joined = {key: np.empty(cast("tuple[int, ...]", type.shape), type.dtype.numpy) for key, type in index.types.items()}
    for number, part in enumerate(index.files):
        arrays, strings = read_tensors(os.path.join(directory, part.name))
        if strings.get(DIGEST) != part.digest:
            raise _refusal("a part of the file is another one than the index names", path, got=part.name,
                           expected=f"the digest {part.digest}", help="restore all parts; nothing of them was used")
        for key, box in [(key, box) for key, listed in index.pieces.items() for own, box in listed if own == number]:
            piece, place = arrays.get(_name(key, box)), joined[key][tuple([slice(*bounds) for bounds in box])]
            if piece is None or piece.dtype != place.dtype or piece.shape != place.shape:
                raise _refusal("a part of the file lacks a piece", path, got=part.name, expected=_name(key, box),
                               help="restore all parts; nothing of them was used")
            joined[key][tuple([slice(*bounds) for bounds in box])] = piece
    for array in joined.values():
        array.flags.writeable = False
    return joined


def _refusal(problem: str, path: str, got: object, expected: object, help: str) -> FormatError:
    return FormatError(problem, op="load", operand=path, got=got, expected=expected, help=help)
