"""Whole executables in the cache of machine code: a graph that was compiled before goes through no pass again.

An entry is what programs are made from: kernels by their keys, and for each step its memory and the dimensions that it
is told. It is found by the structure of the function as it was built, the target and the package's own fingerprint. So
equal graphs of other names and lines share one, and a change of any pass makes all anew.

>>> import nervure as nv
>>> from nervure.transformers.cpu.machine import Target
>>> x = nv.Parameter(nv.float32, (8,))
>>> function = nv.Function([nv.ops.Exp(x)], [x])
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     content = describe(function, cpu.build(function), Target.host())
>>> kept = read(content, function, Target.host())
>>> [step.told.extent for step in kept.native.steps], kept.demand.peak({})
([8], (32, 1))

What Python runs (host calls, prints, ops of users) has no text, so a function with such an op is not kept. Nor is one
whose calls are checked or stored otherwise after the passes than before them: other bounds, assumptions or updates.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure import flags
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import Constant
from nervure.ir.printer import nested_functions
from nervure.ir.structural import fingerprint
from nervure.memory.storage import Storage
from nervure.transformers.binding import Binder
from nervure.transformers.cpu.code_cache import CodeCache, make_key, user_cache
from nervure.transformers.cpu.fingerprint import package_fingerprint
from nervure.transformers.cpu.library_cache import find_all, kernel_key
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.native import GRAIN, KeptStep, NativePlan, Told, native_kernel
from nervure.transformers.cpu.plan import HostStep, Plan
from nervure.transformers.cpu.settings import SETTINGS
from nervure.transformers.sizes import Demand, demand
from nervure.types.dim import Dim, DimLike, parse_dim, symbols
from nervure.types.dtype import as_dtype

MOST_BYTES = 1 << 16
"""Of constants that passes have made, together; a function with more is compiled each time."""

_LENGTH = struct.Struct("<Q")  # of the description, which the bytes of constants follow
_KEY_BYTES = 32


class Kept(NamedTuple):
    """An executable as far as it is kept: the plan with its kernels, and the memory that a call needs."""

    native: NativePlan
    demand: Demand


def find(function: Function, target: Target) -> Kept | None:
    """What the cache has of a function as it was built."""
    cache = _cache_for(function)
    content = cache.get(_key(function, target)) if cache else None
    return read(content, function, target) if content else None


def keep(function: Function, executable: Any, target: Target) -> None:
    """Puts the executable that a function became into the cache, if it is of the kind that can be kept."""
    cache = _cache_for(function)
    content = describe(function, executable, target) if cache else None
    if cache and content:
        cache.put(_key(function, target), content)


def _cache_for(function: Function) -> CodeCache | None:
    """The cache, for a function that has a text; while passes are to be seen at work, there is none."""
    if not flags.cache_executables or flags.debug:
        return None
    classes = {type(op) for each in nested_functions(function) for op in each.operations}
    is_ours = all([cls.__module__.startswith("nervure.") for cls in classes])
    has_text = not any([field.kind == "callable" for cls in classes for field in cls.fields.values()])
    return user_cache() if is_ours and has_text else None


def _key(function: Function, target: Target) -> bytes:
    return make_key("executable", package_fingerprint(), SETTINGS, target.key, fingerprint(function))


# -- writing -------------------------------------------------------------------------------------------------


def describe(function: Function, executable: Any, target: Target) -> bytes | None:
    """The entry of an executable; None if it cannot be kept."""
    native, optimised = executable.native, executable.optimised
    plan = native.plan
    if any([isinstance(step, HostStep) for step in plan.steps]) or not _same_contract(function, optimised):
        return None
    constants = _Constants(function)
    storages = {storage: number for number, storage in enumerate(dict.fromkeys(
        [*[each for step in plan.steps for each in step.storages], *plan.roots, *plan.in_place.values()]))}
    steps = []
    for kernel in native.steps:
        step, code = kernel.source
        roles = [(each in step.read) + 2 * (each in step.written) for each in step.storages]
        steps.append([kernel_key(code.text, target).hex(), [storages[each] for each in step.storages], roles,
                      [_dim_text(entry) for entry in kernel.told.sizes], *map(_dim_text, kernel.told[1:4]),
                      kernel.told.grain, kernel.told.nanoseconds, kernel.told.ordered])
    needed = demand(optimised, plan.stored)
    parts = {
        "steps": steps,
        "storages": [[each.kind, each.dtype.name, list(map(_dim_text, each.shape)), _number(each, function, constants)]
                     for each in storages],
        "roots": [storages[each] for each in plan.roots],
        "in_place": [[storages[root], storages[variable]] for root, variable in plan.in_place.items()],
        "demand": [*needed._replace(shapes=tuple(
            [tuple(map(_dim_text, shape)) for shape in needed.shapes]))],  # type: ignore[arg-type]
        "constants": constants.listed,
    }
    if len(constants.content) > MOST_BYTES:
        return None
    text = json.dumps(parts, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + constants.content


def _same_contract(function: Function, optimised: Function) -> bool:
    """Whether a call of both is checked alike, and changes the same variables."""
    assumed = [[(entry.left, entry.right) for entry in each.assumptions] for each in (function, optimised)]
    return (assumed[0] == assumed[1] and Binder(function).bounds == Binder(optimised).bounds
            and set(function.variables) == set(optimised.variables)
            and [variable for variable, _ in function.updates] == [variable for variable, _ in optimised.updates])


def _dim_text(x: DimLike) -> int | str:
    return x if isinstance(x, int) else str(x)


def _number(storage: Storage, function: Function, constants: _Constants) -> int:
    if storage.kind == "constant":
        return constants.number(storage.source)
    return function.variables.index(storage.source) if storage.kind == "variable" else storage.number


class _Constants:
    """Arrays of an entry: those of the function by their number there, others by their bytes."""

    def __init__(self, function: Function) -> None:
        self._given = {id(op.array): number for number, op in enumerate(_constants(function))}
        self.listed: list[Any] = []
        self.content = b""

    def number(self, array: np.ndarray) -> int:
        """The number of an array in the list."""
        given = self._given.get(id(array))
        if given is None:
            self.listed.append([as_dtype(array.dtype).name, list(array.shape)])
            self.content += np.ascontiguousarray(array).tobytes()
        else:
            self.listed.append(given)
        return len(self.listed) - 1


def _constants(function: Function) -> list[Constant]:
    return [op for op in function.operations if isinstance(op, Constant)]


# -- reading -------------------------------------------------------------------------------------------------


def read(content: bytes, function: Function, target: Target) -> Kept | None:
    """What an entry describes; None if it is not one of this function, or its kernels are not there."""
    try:
        length, = _LENGTH.unpack_from(content)
        end = _LENGTH.size + length
        reader = _Reader(json.loads(content[_LENGTH.size:end]), content[end:], function)
        return reader.kept(target)
    except (struct.error, ValueError, TypeError, KeyError, IndexError, NervureError):
        return None


class _Reader:
    """One entry. What is wrong surfaces as one of the errors that ``read`` catches."""

    def __init__(self, parts: dict[str, Any], constants: bytes, function: Function) -> None:
        self._parts, self._function, self._symbols = parts, function, function.symbols
        self._arrays = self._read_arrays(parts["constants"], memoryview(constants))
        self._storages = [self._storage(*entry) for entry in parts["storages"]]

    def kept(self, target: Target) -> Kept | None:
        """The plan and its kernels."""
        rows = self._parts["steps"]
        keys = [bytes.fromhex(row[0]) for row in rows]
        _require(all([len(key) == _KEY_BYTES for key in keys]))
        libraries = find_all(keys)
        if libraries is None:
            return None
        roots = self._pick(self._parts["roots"], "root")
        _require([root.number for root in roots] == list(range(len(self._function.roots))))
        in_place = {self._pick([root], "root")[0]: self._pick([variable], "variable")[0]
                    for root, variable in self._parts["in_place"]}
        steps = [self._step(row) for row in rows]
        memory: tuple[Any, ...] = tuple([step for step, _ in steps])  # programs ask no more of steps than their memory
        plan = Plan(self._function, memory, tuple(roots), in_place, ())
        kernels = [native_kernel(step, None, library, told)
                   for (step, told), library in zip(steps, libraries, strict=True)]
        return Kept(NativePlan(plan, target, kernels), self._demand())

    def _step(self, row: Sequence[Any]) -> tuple[KeptStep, Told]:
        _, places, roles, sizes, extent, points, scratch, grain, nanoseconds, ordered = row
        storages = self._pick(places)
        _require(all([role in (1, 2, 3) for role in roles]) and grain in (1, GRAIN))
        _require(type(nanoseconds) is float and 0 <= nanoseconds < 1e9 and type(ordered) is bool)
        pairs = list(zip(storages, roles, strict=True))
        step = KeptStep(tuple(storages), [each for each, role in pairs if role & 1],
                        [each for each, role in pairs if role & 2])
        dims = [self._dim(entry) for entry in (extent, points, scratch)]
        return step, Told(self._shape(sizes), dims[0], dims[1], dims[2], grain, nanoseconds, ordered)

    def _storage(self, kind: str, dtype: str, shape: list[Any], number: int) -> Storage:
        counts = {"argument": len(self._function.parameters), "variable": len(self._function.variables),
                  "root": len(self._function.roots), "constant": len(self._arrays), "temporary": 1 << 32}
        number = _index(number, counts[kind])
        source: Any = None
        if kind in ("constant", "variable"):
            source = self._arrays[number] if kind == "constant" else self._function.variables[number]
        storage = Storage(kind, as_dtype(dtype), self._shape(shape), number, source)
        declared = self._declared(kind, number)
        _require(declared is None or (declared.dtype is storage.dtype and declared.shape == storage.shape))
        return storage

    def _declared(self, kind: str, number: int) -> Any:
        """The type that the function says a storage has."""
        if kind == "argument":
            return self._function.parameters[number].value.type
        if kind == "variable":
            return self._function.variables[number].type
        return self._function.roots[number].type if kind == "root" else None

    def _read_arrays(self, listed: list[Any], content: memoryview) -> list[np.ndarray]:
        given, arrays, start = _constants(self._function), [], 0
        for entry in listed:
            if isinstance(entry, int):
                arrays.append(given[_index(entry, len(given))].array)
                continue
            name, shape = entry
            dtype = as_dtype(name)
            lengths = tuple([_index(length, 1 << 40) for length in shape])
            size = int(np.prod(lengths, dtype=object)) * dtype.itemsize
            _require(start + size <= len(content))
            arrays.append(np.frombuffer(content[start:start + size], dtype.numpy).reshape(lengths).copy())
            start += size
        _require(start == len(content))
        return arrays

    def _demand(self) -> Demand:
        itemsizes, shapes, taking, made, dropped, choices = self._parts["demand"]
        count = len(itemsizes)
        _require(count + len(choices) == len(shapes) and count == len(taking) and len(made) == len(dropped))
        return Demand(tuple([_index(size, 64) for size in itemsizes]), tuple([self._shape(shape) for shape in shapes]),
                      tuple([bool(each) for each in taking]), _numbers(made, count), _numbers(dropped, count),
                      self._choices(choices, len(made), len(shapes)))

    def _choices(self, rows: list[list[Any]], ops: int, shapes: int) -> tuple[tuple[int, int, int], ...]:
        return tuple([(_index(op, ops), _index(domain, shapes), _index(result, shapes)) for op, domain, result in rows])

    def _pick(self, places: list[Any], kind: str | None = None) -> list[Storage]:
        found = [self._storages[_index(place, len(self._storages))] for place in places]
        _require(kind is None or all([each.kind == kind for each in found]))
        return found

    def _shape(self, entries: Sequence[Any]) -> tuple[DimLike, ...]:
        return tuple([self._dim(entry) for entry in entries])

    def _dim(self, entry: Any) -> DimLike:
        if type(entry) is int:
            return entry
        found = parse_dim(entry)
        _require(isinstance(found, Dim) and symbols(found) <= self._symbols)
        return found


def _numbers(rows: list[list[Any]], count: int) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple([_index(number, count) for number in row]) for row in rows])


def _index(number: Any, count: int) -> int:
    _require(type(number) is int and 0 <= number < count)
    return int(number)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("an entry says what cannot be")
