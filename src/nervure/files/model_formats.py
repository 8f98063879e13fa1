"""Files of weights: state dicts in one of several formats, which users can add to.

>>> import os, tempfile
>>> import nervure as nv
>>> path = os.path.join(tempfile.mkdtemp(), "layer.npz")
>>> model, other = nv.nn.LinearLayer("F=3", "K=2", bias=3.0), nv.nn.LinearLayer("F=3", "K=2")
>>> save_weights(model, path, "npz")
>>> load_weights(other, path, "npz")
>>> other.bias.tolist()
[3.0, 3.0]

A file takes its name once all of it is on disk; until then, an earlier file of that name stays as it is.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import numpy as np

from nervure.errors import FormatError, InvalidArgument, WrongKind, did_you_mean, shown
from nervure.files import torch_weights
from nervure.files.renaming import Rename
from nervure.files.state_dict import (
    OF_EPOCH,
    OPTIMIZERS,
    PATHS,
    StateDict,
    make_spread_state,
    make_state_dict,
    parse_state_dict_key,
    paths_text,
    transformer_of,
    with_paths,
)
from nervure.files.state_loading import Fitting, NotLoaded, fitting
from nervure.files.tensor_file import write_tensors
from nervure.files.tensor_parts import read_arrays, remove_parts, write_parts
from nervure.front.argument_parsing import require_function, truth
from nervure.front.devices import usable_device
from nervure.front.tensor import Tensor
from nervure.ir.device import Device
from nervure.support.atomic_file import file_name, open_regular, write_atomically, write_with
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.base import Transformer
from nervure.transformers.devices.elements import allocated, filled
from nervure.types.dtype import as_dtype

Save = Callable[[str, StateDict], object]
Load = Callable[[str], StateDict]

TORCH = "torch"
_STATE = "nervure.state"
_TYPES = "nervure.types"


class ModelFormat(NamedTuple):
    """The functions that write and read a state dict, and the device that its tensors are converted to before."""

    save: Save
    load: Load
    device: type[Device] | None
    is_atomic: bool


def save_weights(model: object, path: str | os.PathLike[str], format: str = "safetensors", weights: bool = True,
                 optimizers: bool = False, transformer: Transformer | None = None,
                 rename: Rename | None = None) -> None:
    """Writes ``nv.make_state_dict(model, weights, optimizers)`` to a file, atomically.

    Where several processes hold the values, all of them call it: each writes a file of what it holds beside ``path``,
    and that is an index, which ``nv.load_weights`` reads like any other file.

    ``format="torch"`` writes the weights of a module under PyTorch's names and in its order of axes; ``rename`` may
    change the names. ``load_state_dict`` takes what ``safetensors.torch.load_file`` reads from the file; a type that
    safetensors lacks, such as complex128, is NotSupported there.

    >>> layer = nv.nn.LinearLayer(3, 2)
    >>> nv.save_weights(layer, "layer.safetensors")
    >>> nv.load_weights(layer, "layer.safetensors")
    """
    name = file_name(path, "save_weights")
    if format == TORCH:
        _check_weights_alone(weights, optimizers)
        arrays = torch_weights.arrays_of(model, transformer, rename)
        transformer_of(model, transformer).peers.by_first(lambda: torch_weights.write(name, arrays))
        return
    if rename is not None:
        raise InvalidArgument("paths are renamed when they are loaded", op="save_weights", operand="rename",
                              got=f"rename= for {shown(format)}", expected=f'format="{TORCH}"',
                              help="give rename= to nv.load_weights")
    chosen = _format(format, "save_weights")
    peers = transformer_of(model, transformer).peers
    if format == "safetensors" and peers.count > 1:  # none of them needs all of the values
        spread = make_spread_state(model, weights, optimizers, transformer)
        write_parts(name, spread.table, {}, {_STATE: "1", **paths_text(spread)}, peers)
        return
    state = make_state_dict(model, weights, optimizers, transformer)
    if chosen.is_atomic:
        peers.by_first(lambda: chosen.save(name, state))
        return
    given = state if chosen.device is None else _on(chosen.device, state)
    peers.by_first(lambda: write_with(name, lambda temporary: chosen.save(temporary, given)))


def _check_weights_alone(weights: bool, optimizers: bool) -> None:
    """Raises InvalidArgument if more or less than weights would be written for PyTorch."""
    if not truth(weights, "save_weights", "weights") or truth(optimizers, "save_weights", "optimizers"):
        raise InvalidArgument("a file for PyTorch has weights, and no optimisers", op="save_weights",
                              operand="optimizers" if weights else "weights", got=f"{weights=}, {optimizers=}",
                              expected="weights=True, optimizers=False",
                              help="the other formats keep what optimisers remember")


def _on(device: type[Device], state: StateDict) -> StateDict:
    """Returns the state as tensors of a device, in storage that it allocates."""
    return StateDict({key: cast("Tensor", filled(allocated(device, as_dtype(value.dtype), value.shape), value))
                      for key, value in state.arrays().items()}, state.paths)


def load_weights(model: object, path: str | os.PathLike[str], format: str = "safetensors",
                 transformer: Transformer | None = None, rename: Rename | None = None,
                 strict: bool = True) -> NotLoaded | None:
    """Gives a model the values of a file, all at one moment.

    Each value goes to the place at its path in the model (``blocks.1.norm.scale``), or, if the file has no paths, to
    that of its key. ``rename`` changes the paths in the file: a table of prefixes, in which ``*`` is any part and None
    leaves out, or a function of a path. Slots of optimisers are loaded if the model has an optimiser for the
    parameter.

    ``format="torch"`` reads a safetensors file of a PyTorch model with the same paths: ``weight`` and ``bias`` of
    linear layers, convolutions, embeddings and normalisations, and running statistics, in PyTorch's order of axes;
    other parameters have their own names in the file.

    Raises InvalidArgument with a list of all differences, and nothing is changed, if the model has parameters that the
    file lacks, or the other way round, or of another type or shape, or if path and key contradict each other; with
    ``strict=False`` the values that fit are loaded, and the differences returned. Raises FormatError for a file that
    is not in the right format.

    >>> nv.save_weights(nv.nn.LinearLayer(3, 2), "layer.npz", "npz")
    >>> nv.load_weights(nv.nn.LinearLayer(4, 2), "layer.npz", "npz")
    Traceback (most recent call last):
        ...
    nervure.errors.InvalidArgument: load_weights: the file does not fit the model
      operand:  layer.npz
      got:      param:linearlayer.0.weights: f32[3, 2], where f32[4, 2] is expected
      expected: the parameters of the model
      help:     rename={"old": "new"} changes names of the file; strict=False loads what fits and returns the rest
    ...
    >>> nv.load_weights(nv.nn.Sequential(nv.nn.LinearLayer(3, 2)), "layer.npz", "npz", rename={"": "0"})
    """
    name, is_strict = file_name(path, "load_weights"), truth(strict, "load_weights", "strict")
    found = torch_weights.read(model, name, rename) if format == TORCH else _found(model, name, format, rename)
    if found.failed and is_strict:
        raise found.refusal("the file does not fit the model", "load_weights", name,
                            found.advice() or 'rename={"old": "new"} changes names of the file; strict=False loads '
                                              "what fits and returns the rest")
    transformer_of(model, transformer).restore(found.values)
    found.warn()
    return found.failed or None


def _found(model: object, path: str, format: str, rename: Rename | None) -> Fitting:
    """Matches the state dict in a file with a model."""
    state = load_state(path, format)
    found = fitting(model, state, rename)
    return found._replace(failed=_without_optimizers(found.failed, state))


def load_state(path: str | os.PathLike[str], format: str = "safetensors") -> StateDict:
    """Reads the state dict in a file, for ``nv.load_from_state_dict``. FormatError as for ``load_weights``."""
    name, chosen = file_name(path, "load_weights"), _format(format, "load_weights")
    state = chosen.load(name)
    if not isinstance(state, StateDict):
        raise WrongKind(f"the format {format} gave no state dict", op="load_weights", operand=name, got=shown(state),
                        expected="a StateDict", help="its load= returns nv.from_state_dict(mapping)")
    return state


def _without_optimizers(failed: NotLoaded, state: StateDict) -> NotLoaded:
    """Returns the failures without those of optimisers that the model does not have: their parameters are known, but
    none of their slots.
    """
    unexpected = [key for key in failed.unexpected if not _is_left_out(key, state, failed.unexpected)]
    return failed._replace(unexpected=tuple(unexpected))


def _is_left_out(key: str, state: StateDict, unexpected: tuple[str, ...]) -> bool:
    prefix, *parts = parse_state_dict_key(key)
    if prefix not in OPTIMIZERS:
        return False
    start = f"{prefix}:{'.'.join(parts[:3])}."
    return all([other in unexpected for other in state.table if other.startswith(start)])


def define_model_format(name: str, device: type[Device] | None = None, *, save: Save, load: Load) -> None:
    """Adds a format: ``save(path, state)`` writes a file, ``load(path)`` returns the state dict in one.

    ``save`` gets a name in the directory of the file, with its extension, which becomes the file once everything is on
    disk. With a ``device``, a class of tensors, the values that it gets are tensors of that device, else arrays.

    >>> def write(path, state):
    ...     with open(path, "w") as file:
    ...         file.write(repr({key: value.tolist() for key, value in state.table.items()}))
    >>> def read(path):
    ...     return nv.from_state_dict({})
    >>> nv.define_model_format("text", save=write, load=read)
    >>> nv.save_weights([], "empty.txt", "text")
    """
    if not isinstance(name, str) or not name:
        raise WrongKind("a format has a name", op="define_model_format", operand="name", got=shown(name),
                        expected="a string", help='as in "my_format"')
    if device is not None:
        usable_device(device, "define_model_format")
    if name in (*_BUILT_IN, TORCH):
        raise InvalidArgument(f"the format {name} is there already", op="define_model_format", operand="name", got=name,
                              expected="another name", help=f"built in are {', '.join([*_BUILT_IN, TORCH])}")
    for operand, function in (("save", save), ("load", load)):
        require_function(function, "define_model_format", operand)
    _formats[name] = ModelFormat(save, load, device, is_atomic=False)


def _format(name: object, op: str) -> ModelFormat:
    if not isinstance(name, str) or name not in _formats:
        raise InvalidArgument("there is no such format", op=op, operand="format", got=shown(name),
                              expected=", ".join([*_formats, TORCH]),
                              help=did_you_mean(str(name), [*_formats, TORCH], "nv.define_model_format adds one"))
    return _formats[name]


# -- safetensors -------------------------------------------------------------------------------------------------------


def _save_safetensors(path: str, state: StateDict) -> None:
    write_tensors(path, state.arrays(), {_STATE: "1", **paths_text(state)})
    remove_parts(path)


def _load_safetensors(path: str) -> StateDict:
    table, strings = read_arrays(path)
    return _read({key: array for key, array in table.items() if not key.startswith(OF_EPOCH)}, strings, path)


def _read(table: dict[str, np.ndarray], strings: Mapping[str, str], path: str) -> StateDict:
    """Returns arrays and strings of a file as a state dict; FormatError if a name is no key of one."""
    for key in table:
        try:
            parse_state_dict_key(key)
        except InvalidArgument as error:
            raise FormatError("the file holds no state dict", op="load_weights", operand=path, got=error.got,
                              expected=error.expected,
                              help=f'format="{TORCH}" reads the weights of a PyTorch model') from None
    return with_paths(table, strings, path)


# -- npz ---------------------------------------------------------------------------------------------------------------


def _save_npz(path: str, state: StateDict) -> None:
    """Writes arrays as NumPy's own files, without compression; for types that NumPy lacks, their bits. A table of
    types and one of paths are texts in bytes.
    """
    arrays = state.arrays()
    foreign = {key: array.dtype.name for key, array in arrays.items() if array.dtype.isbuiltin != 1}
    table = {key: array.view(f"u{array.itemsize}") if key in foreign else array for key, array in arrays.items()}
    for name, text in {_TYPES: json.dumps(foreign), **paths_text(state)}.items():
        table[name] = np.frombuffer(text.encode(), np.uint8)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for key, array in table.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asarray(array), allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{key}.npy"), inner.getbuffer())  # a fixed date: the same bytes each time
    write_atomically(path, [buffer.getbuffer()])


def _load_npz(path: str) -> StateDict:
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as archive:
                _check_members(archive, size)
                table = {name.removesuffix(".npy"): _read_array(archive.read(name)) for name in archive.namelist()}
            foreign = json.loads(table.pop(_TYPES, np.frombuffer(b"{}", np.uint8)).tobytes())
            paths = table.pop(PATHS, np.frombuffer(b"{}", np.uint8)).tobytes().decode()
            for key, name in foreign.items():
                table[key] = table[key].view(as_dtype(name).numpy)
        except FormatError:
            raise
        except Exception as error:  # a damaged archive leads zipfile and NumPy to any error
            raise FormatError("the file is no npz file", op="load_weights", operand=path, got=f"{error!r:.200}",
                              expected="arrays as numpy.savez writes them", help="nothing of it was used") from None
    return _read(table, {PATHS: paths}, path)


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Raises ValueError for a member that would take more memory than the file is long, or that occurs twice."""
    members = archive.infolist()
    if any([member.compress_type != zipfile.ZIP_STORED for member in members]):
        raise ValueError("its arrays are compressed, which numpy.savez does not do")
    if sum([member.file_size for member in members]) > size:
        raise ValueError("its arrays are longer than the file")
    if len({member.filename for member in members}) < len(members):
        raise ValueError("a name occurs twice")


def _read_array(data: bytes) -> np.ndarray:
    """Reads an array of the format npy; ValueError for anything else, and for Python objects."""
    file = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, is_fortran, dtype = read[np.lib.format.read_magic(file)](file)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != len(data) - file.tell():
        raise ValueError("an array has other bytes than its type needs")
    array = np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if is_fortran else "C")
    return np.ascontiguousarray(array, dtype.newbyteorder("=")).reshape(shape)


_BUILT_IN = {"safetensors": ModelFormat(_save_safetensors, _load_safetensors, None, is_atomic=True),
             "npz": ModelFormat(_save_npz, _load_npz, None, is_atomic=True)}
_formats = dict(_BUILT_IN)

explain_keywords(globals(), ["define_model_format", "load_weights", "save_weights"])
