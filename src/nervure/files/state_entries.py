"""Places of a model with their names: the keys that state dicts have for them, and their paths in the module.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2), nv.nn.LinearLayer(2, 1, bias=False))
>>> for entry in entries_of(model, weights=True):
...     print(entry.key, entry.path)
param:linearlayer.0.weights 0.weights
param:linearlayer.0.bias 0.bias
param:linearlayer.1.weights 1.weights

A key counts the modules of a class, so it names another place when modules change their order; a path does not. A slot
of an optimiser has the path of its parameter, the optimiser's name and the name of the slot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from nervure.computation import Computation
from nervure.errors import InvalidArgument, WrongKind, shown, warn_user
from nervure.front.argument_parsing import members
from nervure.front.creation import AssignableTensorOp, handle_of
from nervure.front.record import record_of
from nervure.front.tensor import Tensor
from nervure.nn.module import Module, outermost


@runtime_checkable
class Named(Protocol):
    """A module, or an object with one: it knows the names of its parameters and buffers, and their paths."""

    def state_names(self) -> Mapping[AssignableTensorOp, str]: ...

    def state_paths(self) -> Mapping[AssignableTensorOp, str]: ...

    def place_at(self, path: str) -> AssignableTensorOp | None: ...


@runtime_checkable
class _Keeping(Protocol):
    """An optimiser: it has slots for each parameter, and a name."""

    def slots(self, parameter: AssignableTensorOp) -> Mapping[str, AssignableTensorOp]: ...

    def kind(self, parameter: AssignableTensorOp) -> str: ...


class Entry(NamedTuple):
    """A place with its key, and its path if it sits in a module."""

    key: str
    place: AssignableTensorOp
    path: str | None


def entries_of(model: object, weights: bool, optimizers: bool = False, warns: bool = False) -> Iterator[Entry]:
    """Yields the places of a model, each once: parameters and buffers (``weights``), then the slots of ``optimizers``.

    With ``warns``, a warning lists parameters that sit in no module.
    """
    named, loose = _places_of(model)
    names = {**named, **_loose_names(loose)}
    _check_unique(names.values())
    if warns and loose and weights:
        _warn(loose)
    paths = root_of(model).paths
    if weights:
        yield from [Entry(f"{'param' if place in named else 'missing_param'}:{name}", place, paths.get(place))
                    for place, name in names.items()]
    if optimizers:
        for place, name in names.items():
            start = f"{'optimizer' if place in named else 'missing_optimizer'}:{name}"
            yield from _slots(place, start, paths.get(place))


class StateRoot(NamedTuple):
    """The module that paths start from, and the paths of the places in it; there are none without such a module."""

    module: Named | None
    paths: Mapping[AssignableTensorOp, str]

    def place_at(self, path: str) -> AssignableTensorOp | None:
        """Returns the place at a path, also at one that is not its first."""
        return None if self.module is None else self.module.place_at(path)


def root_of(model: object) -> StateRoot:
    """Returns the start of a model's paths: the model itself, if it is a module, else the module around all of its
    places.
    """
    return StateRoot(model, model.state_paths()) if isinstance(model, Named) else root_around(_parameters_of(model))


def root_around(places: Iterable[AssignableTensorOp]) -> StateRoot:
    """Returns the outermost module that contains all places; none if they sit in unrelated modules.

    >>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2), nv.nn.LinearLayer(2, 1))
    >>> root_around([model[1].bias]).module is model
    True
    """
    owners = list(dict.fromkeys([record_of(place).owner for place in places]))
    modules = [owner for owner in owners if isinstance(owner, Module)]
    around = outermost(modules[0]) if modules else None
    if around is None or not set(modules) <= set(around.modules()):
        return StateRoot(None, {})
    return StateRoot(around, around.state_paths())


def _slots(parameter: AssignableTensorOp, start: str, path: str | None) -> Iterator[Entry]:
    """Yields the slots that the optimiser of a parameter keeps for it."""
    record = record_of(parameter)
    optimizer = record.updated_by if record.optimizer is None else record.optimizer
    if not isinstance(optimizer, _Keeping):
        return
    kind = _clean(optimizer.kind(parameter))
    for slot, place in optimizer.slots(parameter).items():
        own = None if path is None else f"{path}.{kind}.{_clean(slot)}"
        yield Entry(f"{start}.{kind}.{_type_name(place)}.{_clean(slot)}", place, own)


def _type_name(place: AssignableTensorOp) -> str:
    """Returns a stable name for the type of a place: a number, or a tensor of a device."""
    if place.ndim == 0:
        return "int" if place.dtype.is_integer else "float"
    return _clean(place.device.__name__)


def _places_of(model: object) -> tuple[dict[AssignableTensorOp, str], list[AssignableTensorOp]]:
    """Returns the places in modules with their names, and those in none."""
    if isinstance(model, Named):
        return {place: _clean_name(name) for place, name in model.state_names().items()}, []
    places = _parameters_of(model)
    owners = list(dict.fromkeys([record_of(place).owner for place in places if record_of(place).owner is not None]))
    numbers, named = Counter[str](), dict[AssignableTensorOp, str]()
    for owner in owners:
        kind = _clean(type(owner).__name__)
        own = [place for place in owner.state_names() if record_of(place).owner is owner] if isinstance(
            owner, Named) else [place for place in places if record_of(place).owner is owner]
        named.update({place: f"{kind}.{numbers[kind]}.{_clean(record_of(place).slot or 'value')}" for place in own})
        numbers[kind] += 1
    return named, [place for place in places if record_of(place).owner is None]


def _parameters_of(model: object) -> list[AssignableTensorOp]:
    """Returns the variables of a model that is no module: of a computation, of an object with ``parameters``, of a
    list.
    """
    if isinstance(model, Computation):
        handles = [handle_of(variable) for variable in model.function.variables]
        return [entry for entry in handles if entry.is_trainable or record_of(entry).owner is not None]
    found = getattr(model, "parameters", model)
    listed = found() if callable(found) else found
    if isinstance(model, Tensor) or not isinstance(listed, Iterable) or isinstance(listed, (str, bytes)):
        raise WrongKind("this is no model", op="state_dict", operand="model", got=shown(model),
                        expected="a module, what nv.build gave, a computation, or a list of variables",
                        help="a variable alone goes in a list: [w]")
    entries = members(listed, "state_dict", "model", "a list of variables")
    for entry in entries:
        if not isinstance(entry, AssignableTensorOp) or entry.variable is None or not entry.variable.persistent:
            raise WrongKind("a model has variables", op="state_dict", operand="model", got=shown(entry),
                            expected="variables and persistent tensors", help="nv.variable makes one")
    return list(dict.fromkeys([entry for entry in entries if isinstance(entry, AssignableTensorOp)]))


def _loose_names(places: list[AssignableTensorOp]) -> dict[AssignableTensorOp, str]:
    """Returns names for places that sit in no module: their own names, numbered if several share one."""
    numbers, names = Counter[str](), dict[AssignableTensorOp, str]()
    for place in places:
        slot = _clean(place.name or "value")
        names[place] = f"tensor.{numbers[slot]}.{slot}"
        numbers[slot] += 1
    return names


def _clean_name(name: str) -> str:
    kind, number, slot = name.split(".", 2)
    return f"{_clean(kind)}.{number}.{_clean(slot)}"


def _clean(name: str) -> str:
    """Returns a part of a key: lower case, without dots, colons and spaces."""
    return re.sub(r"[.:\s]", "_", name.lower()) or "_"


def _check_unique(names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidArgument(f"two parameters are named {name}", op="state_dict", operand="model", got=name,
                                  expected="names that differ in more than upper and lower case, dots and colons",
                                  help="give one of the attributes another name")


def _warn(places: list[AssignableTensorOp]) -> None:
    more = ", ..." if len(places) > 5 else ""
    text = ", ".join([place.name or "a variable" for place in places[:5]]) + more
    verb, kept = ("sits", "it is") if len(places) == 1 else ("sit", "they are")
    warn_user(f"{text} {verb} in no module: {kept} kept as missing_param, by name")
