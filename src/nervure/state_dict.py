"""State dicts: the parameters of a model, and what its optimisers keep, as arrays under names that stay the same.

>>> import nervure as nv
>>> model, other = nv.nn.LinearLayer("F=3", "K=2", bias=3.0), nv.nn.LinearLayer("F=3", "K=2")
>>> make_state_dict(model)
StateDict(
  param:linearlayer.0.weights -> f32[3, 2]
  param:linearlayer.0.bias    -> f32[2]
)
>>> load_from_state_dict(other, make_state_dict(model))
NotLoaded(missing=(), unexpected=(), mismatched={})
>>> other.bias.tolist()
[3.0, 3.0]

A key is ``{prefix}:{composite}.{nth}.{slot}``: the class of the module that a parameter sits in, the number of the
module among those of its class, and the name that the parameter has there, all in lower case. What an optimiser keeps
for it adds ``.{optimizer}.{type}.{slot}``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from nervure import transformers
from nervure.computation import Computation
from nervure.elsewhere import explain_keywords
from nervure.errors import InvalidArgument, WrongKind, did_you_mean, warn_user
from nervure.front.argument_parsing import members, shown, truth
from nervure.front.creation import AssignableTensorOp, handle_of, numpy_array
from nervure.front.record import record_of
from nervure.front.tensor import Tensor
from nervure.ir.variable import Variable
from nervure.transformers.base import Transformer
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import as_dtype

PREFIXES = ("param", "missing_param", "optimizer", "missing_optimizer")
OPTIMIZERS = PREFIXES[2:]
_PARTS = {"param": 3, "missing_param": 3, "optimizer": 6, "missing_optimizer": 6}


@runtime_checkable
class _Named(Protocol):
    """A module: it knows the names of its parameters and buffers."""

    def state_names(self) -> Mapping[AssignableTensorOp, str]: ...


@runtime_checkable
class _Keeping(Protocol):
    """An optimiser: it has slots for each parameter, and a name."""

    def slots(self, parameter: AssignableTensorOp) -> Mapping[str, AssignableTensorOp]: ...

    def kind(self, parameter: AssignableTensorOp) -> str: ...


class StateDict:
    """Arrays by their keys, in ``table``, a plain dict; tensors where a format asked for those of a device.

    >>> nv.from_state_dict({"param:linearlayer.0.bias": np.zeros(3)}).table
    {'param:linearlayer.0.bias': array([0., 0., 0.])}
    """

    def __init__(self, table: Mapping[str, np.ndarray | Tensor]) -> None:
        if not isinstance(table, Mapping):
            raise WrongKind("a state dict is made of a mapping", op="StateDict", got=shown(table),
                            expected="arrays by their keys", help="nv.make_state_dict(model) makes one of a model")
        for key, value in table.items():
            if not isinstance(value, (np.ndarray, Tensor)):
                raise WrongKind("a state dict holds arrays", op="StateDict", operand=str(key)[:60], got=shown(value),
                                expected="an array or a tensor", help="nv.from_state_dict(mapping) reads lists, too")
        self.table = dict(table)

    def arrays(self) -> dict[str, np.ndarray]:
        """The table with arrays alone."""
        return {key: _array(value) for key, value in self.table.items()}

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        width = max(map(len, self.table), default=0)
        lines = [f"  {key:<{width}} -> {_described(value)}" for key, value in self.table.items()]
        return "\n".join(["StateDict(", *lines, ")"])


class NotLoaded(NamedTuple):
    """What could not be loaded, by key: what the model lacks, what the state lacks, and what is of another kind, with
    the reason. It is false where all was loaded.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected or self.mismatched)


def make_state_dict(model: object, weights: bool = True, optimizers: bool = False,
                    transformer: Transformer | None = None) -> StateDict:
    """The values that parameters and buffers of a model have now (``weights``), and what the optimisers of its
    parameters keep for them (``optimizers``).

    A model is a module, what ``nv.build`` gave, a computation, or a list of variables. Values are those on its own
    transformer, or the one given (absent: the default one), all of one moment.

    >>> nv.make_state_dict(nv.nn.LinearLayer(1, 1, bias=2.0)).table["param:linearlayer.0.bias"]
    array([2.], dtype=float32)
    """
    entries = list(_entries(model, truth(weights, "make_state_dict", "weights"),
                            truth(optimizers, "make_state_dict", "optimizers"), True))
    found = transformer_of(model, transformer).snapshot([_variable(place) for _, place in entries])
    return StateDict({key: np.array(found[_variable(place)], copy=True) for key, place in entries})


def from_state_dict(mapping: Mapping[str, object]) -> StateDict:
    """A state dict from arrays, or tensors, by their keys; InvalidArgument for what is no key.

    >>> nv.from_state_dict({"param:linearlayer.0.bias": nv.ones((3,))})
    StateDict(
      param:linearlayer.0.bias -> f32[3]
    )
    """
    if isinstance(mapping, StateDict):
        return StateDict(mapping.table)
    if not isinstance(mapping, Mapping):
        raise WrongKind("a state dict is made of a mapping", op="from_state_dict", got=shown(mapping),
                        expected="arrays by their keys", help="nv.make_state_dict(model) makes one of a model")
    for key in mapping:
        parse_state_dict_key(key)
    return StateDict({key: _array(value) for key, value in mapping.items()})


def parse_state_dict_key(key: str) -> tuple[str, ...]:
    """The parts of a key: prefix, composite, number, slot; of an optimiser's also its name, type and slot.

    >>> nv.parse_state_dict_key("param:linearlayer.0.bias")
    ('param', 'linearlayer', '0', 'bias')
    """
    if not isinstance(key, str):
        raise WrongKind("a key is a string", op="parse_state_dict_key", got=shown(key), expected="a string",
                        help='as in "param:linearlayer.0.bias"')
    prefix, _, rest = key.partition(":")
    parts = rest.split(".")
    is_sound = len(parts) == _PARTS.get(prefix) and all(parts) and ":" not in rest and parts[1].isdecimal()
    if not is_sound:
        raise InvalidArgument("this is no key of a state dict", op="parse_state_dict_key", got=f"{key!r:.80}",
                              expected="{prefix}:{composite}.{nth}.{slot}, .{optimizer}.{type}.{slot} for optimisers",
                              help=_advice_on(prefix))
    return prefix, *parts


def _advice_on(prefix: str) -> str | None:
    if prefix in PREFIXES:
        return 'nth is a number, and no part is empty, as in "param:linearlayer.0.bias"'
    return did_you_mean(prefix, PREFIXES, f"a prefix is one of {', '.join(PREFIXES)}")


def load_from_state_dict(model: object, state: StateDict, transformer: Transformer | None = None) -> NotLoaded:
    """Gives a model the values of a state dict, all that fit at one moment, and returns what could not be loaded.

    The type in the key of an optimiser's slot does not matter. Slots are expected where the state has any.

    >>> w = nv.variable("F=2").named("w")
    >>> failed = nv.load_from_state_dict([w], nv.from_state_dict({"param:linearlayer.0.bias": np.zeros(3)}))
    >>> failed.missing, failed.unexpected
    (('missing_param:tensor.0.w',), ('param:linearlayer.0.bias',))
    """
    values, failed = fitting(model, _checked(state, "load_from_state_dict"))
    transformer_of(model, transformer).restore(values)
    return failed


def fitting(model: object, state: StateDict) -> tuple[dict[Variable, np.ndarray], NotLoaded]:
    """The values that variables of a model get from a state dict, and what does not fit."""
    arrays = state.arrays()
    given = {_matching(key): key for key in arrays}
    has_optimizers = any([key.partition(":")[0] in OPTIMIZERS for key in arrays])
    values: dict[Variable, np.ndarray] = {}
    missing, mismatched = [], {}
    for key, place in _entries(model, True, has_optimizers, False):
        own = given.pop(_matching(key), None)
        if own is None:
            missing.append(key)
            continue
        array, variable = arrays[own], _variable(place)
        problem = _problem(variable, array, values.get(variable))
        if problem is None:
            values[variable] = array
        else:
            mismatched[own] = problem
    return values, NotLoaded(tuple(missing), tuple(given.values()), mismatched)


def _array(value: object) -> np.ndarray:
    """The elements of a value; WrongKind for what has none."""
    return value.numpy() if isinstance(value, Tensor) else numpy_array(value, "from_state_dict")


def _checked(state: object, op: str) -> StateDict:
    if not isinstance(state, StateDict):
        raise WrongKind("this is no state dict", op=op, operand="state", got=shown(state), expected="a StateDict",
                        help="nv.from_state_dict(mapping) makes one of a mapping")
    return state


def _problem(variable: Variable, array: np.ndarray, before: np.ndarray | None) -> str | None:
    """Why a variable cannot have this value; None if it can."""
    if as_dtype(array.dtype) is not variable.type.dtype or array.shape != variable.type.shape:
        return f"{_described(array)}, where {variable.type} is expected"
    if before is not None and before.tobytes() != array.tobytes():
        return "another value than other keys give to the same tensor"
    return None


def _matching(key: str) -> str:
    """A key without the type of what it names, so that files move between devices."""
    prefix, *parts = parse_state_dict_key(key)
    return ".".join([prefix, *parts[:4], *parts[5:]])


# -- what a model has --------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    key: str
    place: AssignableTensorOp


def _entries(model: object, weights: bool, optimizers: bool, warns: bool) -> Iterator[_Entry]:
    """The places of a model with their keys, each key once: parameters and buffers, then the slots of optimisers."""
    named, loose = _places_of(model)
    names = {**named, **_loose_names(loose)}
    _check_unique(names.values())
    if warns and loose and weights:
        _warn(loose)
    if weights:
        yield from [_Entry(f"{'param' if place in named else 'missing_param'}:{name}", place)
                    for place, name in names.items()]
    if optimizers:
        for place, name in names.items():
            yield from _slots(place, f"{'optimizer' if place in named else 'missing_optimizer'}:{name}")


def _slots(parameter: AssignableTensorOp, start: str) -> Iterator[_Entry]:
    """What the optimiser of a parameter keeps for it."""
    record = record_of(parameter)
    optimizer = record.updated_by if record.optimizer is None else record.optimizer
    if not isinstance(optimizer, _Keeping):
        return
    kind = _clean(optimizer.kind(parameter))
    for slot, place in optimizer.slots(parameter).items():
        yield _Entry(f"{start}.{kind}.{_type_name(place)}.{_clean(slot)}", place)


def _type_name(place: AssignableTensorOp) -> str:
    """A stable name for what a place is: a number, or a tensor of a device."""
    if place.ndim == 0:
        return "int" if place.dtype.is_integer else "float"
    return _clean(place.device.__name__)


def _places_of(model: object) -> tuple[dict[AssignableTensorOp, str], list[AssignableTensorOp]]:
    """The places in modules with their names, and those in none."""
    if isinstance(model, _Named):
        return {place: _clean_name(name) for place, name in model.state_names().items()}, []
    places = _parameters_of(model)
    owners = list(dict.fromkeys([record_of(place).owner for place in places if record_of(place).owner is not None]))
    numbers, named = Counter[str](), dict[AssignableTensorOp, str]()
    for owner in owners:
        kind = _clean(type(owner).__name__)
        own = [place for place in owner.state_names() if record_of(place).owner is owner] if isinstance(
            owner, _Named) else [place for place in places if record_of(place).owner is owner]
        named.update({place: f"{kind}.{numbers[kind]}.{_clean(record_of(place).slot or 'value')}" for place in own})
        numbers[kind] += 1
    return named, [place for place in places if record_of(place).owner is None]


def _parameters_of(model: object) -> list[AssignableTensorOp]:
    """The variables of what is no module: of a computation, of what has ``parameters``, of a list."""
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
    """Names for places that sit in no module: by the names of their own, numbered where several have one."""
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
    """A part of a key: lower case, without dots, colons and spaces."""
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


def _variable(place: AssignableTensorOp) -> Variable:
    assert place.variable is not None
    return place.variable


def transformer_of(model: object, given: Transformer | None) -> Transformer:
    own = getattr(model, "transformer", None)
    return own if given is None and isinstance(own, Transformer) else transformers.chosen(given)


def _described(value: np.ndarray | Tensor) -> str:
    return str(value.type if isinstance(value, Tensor) else
               BasicTensorDescription(as_dtype(value.dtype), value.shape))


explain_keywords(globals(), ["from_state_dict", "load_from_state_dict", "make_state_dict", "parse_state_dict_key"])
