"""Partition: a function cut into parts, each a function for one device, as few and as large as the order of ops
permits.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> function = nv.Function([nv.ops.Exp(nv.ops.Sin(x) + x)], [x])
>>> parts = partition(function, lambda op: {"Sin": "A", "Add": "A", "Exp": "B"}.get(type(op).__name__), "A")
>>> [(part.device, [type(op).__name__ for op in part.function.operations]) for part in parts]
[('A', ['Parameter', 'Sin', 'Add']), ('B', ['Parameter', 'Exp'])]

An op without a device is *free*: a leaf, or a view of leaves. It is copied into every part that reads it. Parts are
pure: parameters, variables and results of other parts are their parameters; updates belong to the whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from nervure.ir.function import Function, moved
from nervure.ir.leaves import Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.provenance import on_behalf_of
from nervure.ir.region import parameter_for
from nervure.ir.traverse import postorder, rebuild
from nervure.types.dim import Dim, DimLike, declared_symbols
from nervure.types.dtype import bool_

DeviceOf = Callable[[Op], Hashable | None]


class Part(NamedTuple):
    """A function for one device. Its parameters are the values ``inputs`` of the whole. For each symbol in ``sizes``,
    which no input determines, there follows a tensor without elements of shape (0, symbol). Its results are the values
    ``outputs`` of the whole. ``members`` are the ops of the whole that it runs.
    """

    device: Hashable
    function: Function
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    sizes: tuple[Dim, ...]
    members: tuple[Op, ...]


def partition(function: Function, device_of: DeviceOf, default: Hashable) -> list[Part]:
    """Returns the parts in an order in which they can run. Free roots of the function are computed on the ``default``
    device.
    """
    devices = {op: device_of(op) for op in function.operations}
    for value in function.roots:
        if devices[value.op] is None and not is_given(value.op):
            devices[value.op] = default
    groups = _Schedule(function, devices).groups()
    read_outside = _read_outside(function, groups)
    return [_part(function, devices, group, read_outside) for group in groups]


def is_given(op: Op) -> bool:
    """Whether the value of an op comes from outside of the function."""
    return type(op) in (Parameter, ReadVariable)


class _Schedule:
    """The order of the ops that have a device: a device continues as long as it has an op whose operands are ready."""

    def __init__(self, function: Function, devices: dict[Op, Hashable | None]) -> None:
        self._devices = devices
        self._order = [op for op in function.operations if devices[op] is not None]
        self._position = {op: number for number, op in enumerate(self._order)}
        self._users: dict[Op, list[Op]] = {op: [] for op in self._order}
        self._missing = dict.fromkeys(self._order, 0)
        for op in self._order:
            for operand in dict.fromkeys([value.op for value in op.operands]):
                self._follow(operand, op)
        for before, after in pairwise(function.effects):
            self._follow(before, after)
        self._ready: dict[Hashable, list[int]] = {}
        for op in self._order:
            self._offer(op)

    def _follow(self, before: Op, after: Op) -> None:
        if before in self._position:
            self._users[before].append(after)
            self._missing[after] += 1

    def _offer(self, op: Op) -> None:
        if self._missing[op] == 0:
            heapq.heappush(self._ready.setdefault(self._devices[op], []), self._position[op])

    def groups(self) -> list[list[Op]]:
        """Returns the ops of each part, in order."""
        found = []
        while any(self._ready.values()):
            device = min([device for device, waiting in self._ready.items() if waiting],
                         key=lambda device: self._ready[device][0])
            found.append(self._taken(device))
        return found

    def _taken(self, device: Hashable) -> list[Op]:
        group, waiting = [], self._ready[device]
        while waiting:
            op = self._order[heapq.heappop(waiting)]
            group.append(op)
            for user in self._users[op]:
                self._missing[user] -= 1
                self._offer(user)
        return group


def _read_outside(function: Function, groups: Sequence[Sequence[Op]]) -> set[Value]:
    """Returns the values that are read by another part than the one that makes them, or that are roots."""
    part_of = {op: number for number, group in enumerate(groups) for op in group}
    found = set(function.roots)
    for op in function.operations:
        for value in op.operands:
            if value.op in part_of and part_of[value.op] != part_of.get(op):
                found.add(value)
    return found


def _part(function: Function, devices: Mapping[Op, Hashable | None], group: Sequence[Op],
          read_outside: set[Value]) -> Part:
    own = set(group)

    def inside(op: Op) -> Sequence[Value]:
        """Returns the operands that the part computes itself."""
        return [value for value in op.operands
                if value.op in own or (devices[value.op] is None and not is_given(value.op))]

    below = postorder(group, operands_of=inside)
    computed = set(below)
    inputs = dict.fromkeys([value for op in below for value in op.operands if value.op not in computed])
    outputs = [value for op in group for value in op.outputs if value in read_outside]
    parameters = {value: _parameter(value) for value in inputs}
    table = {value: parameter.output for value, parameter in parameters.items()}
    rebuild(below, table)
    sizes = _untold(below, parameters.values())
    made = Function([table.get(value, value) for value in outputs],
                    [*parameters.values(), *[Parameter(bool_, (0, symbol)) for symbol in sizes]],
                    effects=[moved(op, table) for op in function.effects if op in own], name=function.name)
    return Part(devices[group[0]], made, tuple(inputs), tuple(outputs), tuple(sizes), tuple(group))


def _parameter(value: Value) -> Parameter:
    """Returns the parameter of a part for a value of the whole."""
    with on_behalf_of(value.op.provenance):
        return parameter_for(value)


def _untold(operations: Iterable[Op], parameters: Iterable[Parameter]) -> list[Dim]:
    """Returns the symbols in the shapes and attributes of ops that no parameter has as a length."""
    told = {str(length) for parameter in parameters for length in parameter.value.type.shape}
    found = {str(symbol): symbol for length in _dimensions(operations) if isinstance(length, Dim)
             for symbol in declared_symbols(length)}
    return [found[name] for name in sorted(found) if name not in told and not name.startswith("%")]


def _dimensions(operations: Iterable[Op]) -> Iterator[DimLike]:
    for op in operations:
        for value in (*op.operands, *op.outputs):
            yield from value.type.shape
        for name, field in type(op).fields.items():
            attribute = getattr(op, name)
            if attribute is not None:
                yield from field.kind.dimensions(attribute)
