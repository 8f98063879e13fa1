"""The cache of compiled functions: a graph that was compiled before needs no pass again.

An entry is a :class:`CompiledFunction`, which names kernels by their keys, with the constants that passes have made.
Its key is the structure of the function as it was built, the target and the package's own fingerprint. So equal graphs
with other names and lines share an entry, and a change of any pass makes all of them anew.

>>> import nervure as nv
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> x = nv.Parameter(nv.float32, (8,))
>>> function = nv.Function([nv.ops.Exp(x)], [x])
>>> content = describe(function, compile_function(function, Target.host()))
>>> compiled = read(content, function).compiled
>>> [kernel.launch.extent for kernel in compiled.kernels], compiled.memory.peak({})
([8], (32, 1))

Python code in a function (host calls, prints, ops of users) has no text, so a function with such an op is not kept. A
function is not kept, either, if passes change the checks or the updates of its calls: other bounds, assumptions or
updates. A program within a limit of memory is kept under that limit, and under the values of symbols for which it was
found.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from nervure import flags
from nervure.errors import NervureError
from nervure.ir.field import function_of_host
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.ir.printer import nested_functions
from nervure.ir.structural import fingerprint
from nervure.memory.storage import Storage, StorageKind, layout_of
from nervure.transformers.binding import Binder
from nervure.transformers.cpu.cache.code_cache import CodeCache, make_key, user_cache
from nervure.transformers.cpu.cache.codec import decode, dims_in, encode
from nervure.transformers.cpu.cache.fingerprint import package_fingerprint
from nervure.transformers.cpu.cache.library_cache import find as find_libraries
from nervure.transformers.cpu.compiled import CompiledFunction
from nervure.transformers.cpu.found_results import with_lengths
from nervure.transformers.cpu.loaded import LoadedFunction
from nervure.transformers.cpu.loading import load
from nervure.transformers.cpu.settings import SETTINGS
from nervure.transformers.cpu.target import Target
from nervure.types.dim import symbols
from nervure.types.dtype import DType, as_dtype
from nervure.types.layout import Layout
from nervure.types.shape import Shape

if TYPE_CHECKING:
    from nervure.transformers.cpu.compile.compilation import Compilation

MOST_BYTES = 1 << 16
"""The most bytes of constants that passes have made, together; a function with more is compiled each time."""

Limits = tuple[object, ...]

_SOME = b"for some values of symbols"
"""What stands under a limit alone, where entries are for values of symbols."""

_LENGTH = struct.Struct("<Q")  # of the description, which is followed by the bytes of constants


def find(function: Function, target: Target, limits: Limits = ()) -> LoadedFunction | None:
    """Returns the entry of a function as it was built, ready to run; None without one.

    ``limits`` are those that it was compiled for: a limit of memory, and the values of symbols for which it holds.
    """
    cache = _cache_for(function)
    content = cache.get(_key(function, target, limits)) if cache else None
    return read(content, function) if content else None


def keep(function: Function, compilation: Compilation, target: Target, limits: Limits = ()) -> None:
    """Puts a compiled function into the cache, if it can be kept. ``limits`` are those that it was compiled for."""
    cache = _cache_for(function)
    content = describe(function, compilation) if cache else None
    if cache and content:
        cache.put_all({_key(function, target, limits): content,
                       **({_key(function, target, limits[:1]): _SOME} if limits[1:] else {})})


def has_some(function: Function, target: Target, limits: Limits) -> bool:
    """Whether an entry was kept for the first one of the ``limits`` and some values of symbols."""
    cache = _cache_for(function)
    return cache is not None and cache.get(_key(function, target, limits[:1])) == _SOME


def _cache_for(function: Function) -> CodeCache | None:
    """Returns the cache, for a function that has a text; None while the work of passes is to be shown."""
    if not flags.cache_executables or flags.debug:
        return None
    classes = {type(op) for each in nested_functions(function) for op in each.operations}
    is_ours = all([cls.__module__.startswith("nervure.") for cls in classes])
    has_text = not any([field.kind is function_of_host for cls in classes for field in cls.fields.values()])
    return user_cache() if is_ours and has_text else None


_fingerprints: WeakKeyDictionary[Function, str] = WeakKeyDictionary()


def _key(function: Function, target: Target, limits: Limits) -> bytes:
    digest = _fingerprints.get(function)  # a function that was not found is soon kept under it
    if digest is None:
        digest = _fingerprints[function] = fingerprint(function)
    return make_key("executable", package_fingerprint(), SETTINGS, target.key, digest, *map(str, limits))


# -- writing -------------------------------------------------------------------------------------------------


def describe(function: Function, compilation: Compilation) -> bytes | None:
    """Returns the entry for a compiled function; None if it cannot be kept."""
    plan, loaded = compilation.plan, compilation.loaded
    compiled = loaded.compiled
    is_data = all([kernel.is_data for each in compiled.functions() for kernel in each.kernels])
    if not is_data or not _same_contract(function, plan.function):
        return None
    constants, content = _described([each.constants for each in loaded.functions()], function)
    if len(content) > MOST_BYTES:
        return None
    numbers = {variable: number for number, variable in enumerate(function.variables)}
    variables = [numbers[variable] for variable in plan.function.variables]
    storages = tuple([_renumbered(storage, variables) for storage in compiled.storages])
    parts = {"function": encode(replace(compiled, storages=storages)), "constants": constants}
    text = json.dumps(parts, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + content


def _renumbered(storage: Storage, variables: Sequence[int]) -> Storage:
    """Returns a storage that names variables by other numbers."""
    is_variable = storage.kind is StorageKind.VARIABLE
    return replace(storage, number=variables[storage.number]) if is_variable else storage


def _same_contract(function: Function, optimised: Function) -> bool:
    """Whether calls of both are checked alike, change the same variables, and find the same lengths."""
    assumed = [[(entry.left, entry.right) for entry in each.assumptions] for each in (function, optimised)]
    mine, theirs = Binder(function), Binder(optimised)
    return (assumed[0] == assumed[1] and mine.bounds == theirs.bounds and mine.found == theirs.found
            and len(with_lengths(function).results) == len(optimised.results)
            and set(function.variables) == set(optimised.variables)
            and [variable for variable, _ in function.updates] == [variable for variable, _ in optimised.updates])


def _described(held: Sequence[Sequence[np.ndarray]], function: Function) -> tuple[list[list[object]], bytes]:
    """Encodes the constants of functions: those that were given by their number there, others by type, shape and bytes.
    """
    given = {id(array): number for number, array in enumerate(_constants(function))}
    own = [array for arrays in held for array in arrays if id(array) not in given]
    listed: list[list[object]] = [
        [given.get(id(array), [as_dtype(array.dtype).name, list(array.shape)]) for array in arrays] for arrays in held]
    return listed, b"".join([np.ascontiguousarray(array).tobytes() for array in own])


def _constants(function: Function) -> list[np.ndarray]:
    return [op.array for each in nested_functions(function) for op in each.operations if isinstance(op, Constant)]


# -- reading -------------------------------------------------------------------------------------------------


def read(content: bytes, function: Function) -> LoadedFunction | None:
    """Returns the function that an entry describes; None if it does not fit this function, or its kernels are missing.
    """
    try:
        length, = _LENGTH.unpack_from(content)
        end = _LENGTH.size + length
        parts = json.loads(content[_LENGTH.size:end])
        compiled = decode(CompiledFunction, parts["function"])
        functions = list(compiled.functions())
        constants = _read_constants(parts["constants"], memoryview(content)[end:], _constants(function))
    except (struct.error, ValueError, TypeError, KeyError, NervureError, RecursionError):
        return None
    whole = with_lengths(function)
    if len(constants) != len(functions) or not _belongs(compiled, whole, constants):
        return None
    keys = [kernel.key for each in functions for kernel in each.kernels if kernel.key]
    libraries = find_libraries(keys)
    return load(compiled, whole, libraries, iter(constants)) if {*keys} <= libraries.keys() else None


def _read_constants(listed: Sequence[Sequence[int | tuple[str, list[int]]]], content: memoryview,
                    given: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Returns the arrays of each function of an entry. If they are not as described, raises one of the errors that
    ``read`` catches.
    """
    known, start = dict(enumerate(given)), 0
    held: list[list[np.ndarray]] = []
    for entries in listed:
        held.append(arrays := [])
        for entry in entries:
            if isinstance(entry, int):
                arrays.append(known[entry])
                continue
            name, shape = entry
            dtype = as_dtype(name)
            end = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
            arrays.append(np.frombuffer(content[start:end], dtype.numpy).reshape(shape).copy())
            start = end
    if start != len(content):
        raise ValueError("there are other bytes than those of constants")
    return held


def _belongs(compiled: CompiledFunction, function: Function, constants: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether a description can be that of this function: its numbers name things of the types that the function has.
    """
    known = {*function.symbols, *Binder(function).found}
    if not compiled.is_sound() or not all([symbols(dim) <= known for dim in dims_in(compiled)]):
        return False
    roots = [compiled.storages[root] for root in compiled.roots]
    pairs, replaced = [{(compiled.storages[root].kind, compiled.storages[place].kind) for root, place in listed}
                       for listed in (compiled.in_place, compiled.replaceable)]
    declared = _declared(function, constants[0])
    return ([(root.kind, root.number) for root in roots] == [(StorageKind.ROOT, n) for n in range(len(function.roots))]
            and pairs <= {(StorageKind.ROOT, StorageKind.VARIABLE)}
            and replaced <= {(StorageKind.ROOT, StorageKind.ARGUMENT)}
            and all([_is_declared(storage, declared) for storage in compiled.storages])
            and all([_has_constants(*pair) for pair in zip(compiled.functions(), constants, strict=True)]))


def _has_constants(compiled: CompiledFunction, arrays: Sequence[np.ndarray]) -> bool:
    declared = _declared_constants(arrays)
    return all([_is_declared(storage, declared) for storage in compiled.storages
                if storage.kind is StorageKind.CONSTANT])


class _Declared(NamedTuple):
    """The memory that a function declares: element type, shape and layout."""

    dtype: DType
    shape: Shape
    layout: Layout | None = None


_Table = Mapping[tuple[StorageKind, int], _Declared]


def _is_declared(storage: Storage, declared: _Table) -> bool:
    if storage.is_of_call:
        return True
    return declared.get((storage.kind, storage.number)) == (storage.dtype, storage.shape, storage.layout)


def _declared(function: Function, constants: Sequence[np.ndarray]) -> _Table:
    """Returns the memory of everything that a function names, by kind and number."""
    roots = [*[root.type for root in function.results], *[variable.type for variable, _ in function.updates]]
    types = {StorageKind.ARGUMENT: [parameter.value.type for parameter in function.parameters],
             StorageKind.VARIABLE: [variable.type for variable in function.variables], StorageKind.ROOT: roots}
    declared = {(kind, number): _Declared(type.dtype, type.shape, layout_of(type)) for kind, listed in types.items()
                for number, type in enumerate(listed)}
    return declared | _declared_constants(constants)


def _declared_constants(constants: Sequence[np.ndarray]) -> dict[tuple[StorageKind, int], _Declared]:
    return {(StorageKind.CONSTANT, number): _Declared(as_dtype(array.dtype), array.shape)
            for number, array in enumerate(constants)}
