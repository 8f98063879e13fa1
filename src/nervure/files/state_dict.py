"""State dicts: the parameters of a model, and the slots of its optimisers, as arrays under stable names.

>>> import nervure as nv
>>> model, other = nv.nn.LinearLayer("F=3", "K=2", bias=3.0), nv.nn.LinearLayer("F=3", "K=2")
>>> make_state_dict(model)
StateDict(
  param:linearlayer.0.weights -> f32[3, 2]
  param:linearlayer.0.bias    -> f32[2]
)
>>> nv.load_from_state_dict(other, make_state_dict(model))
NotLoaded(missing=(), unexpected=(), mismatched={})
>>> other.bias.tolist()
[3.0, 3.0]

A key is ``{prefix}:{composite}.{nth}.{slot}``: the class of the module that holds a parameter, the number of the
module among those of its class, and the name that the parameter has there, all in lower case. A slot of an optimiser
adds ``.{optimizer}.{type}.{slot}``. Beside its key an entry has its path in the module, ``blocks.1.bn2.scale``, by
which it is loaded: modules may change their order, and others may be put before them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nervure import transformers
from nervure.errors import FormatError, InvalidArgument, WrongKind, did_you_mean, shown
from nervure.files.state_entries import entries_of
from nervure.front.argument_parsing import truth
from nervure.front.creation import AssignableTensorOp
from nervure.front.given_arrays import numpy_array
from nervure.front.tensor import Tensor
from nervure.ir.variable import Variable
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.base import Transformer
from nervure.types.description import BasicTensorDescription
from nervure.types.pieces import Spread

PREFIXES = ("param", "missing_param", "optimizer", "missing_optimizer")
OPTIMIZERS = PREFIXES[2:]
PATHS = "nervure.paths"
OF_EPOCH = "epoch:"  # the beginning of what a checkpoint holds of an epoch, rather than of a model
_PARTS = {"param": 3, "missing_param": 3, "optimizer": 6, "missing_optimizer": 6}


class StateDict:
    """Arrays by their keys, in ``table``, a plain dict; tensors if a format asked for those of a device. ``paths`` are
    those in the module, by key, too; an entry without one goes by its key.

    >>> nv.from_state_dict({"param:linearlayer.0.bias": np.zeros(3)}).table
    {'param:linearlayer.0.bias': array([0., 0., 0.])}
    >>> nv.make_state_dict(nv.nn.Sequential(nv.nn.LinearLayer(2, 2, bias=False))).paths
    {'param:linearlayer.0.weights': '0.weights'}
    """

    def __init__(self, table: Mapping[str, np.ndarray | Tensor], paths: Mapping[str, str] | None = None) -> None:
        _require_mapping(table, "StateDict")
        for key, value in table.items():
            if not isinstance(value, (np.ndarray, Tensor)):
                raise WrongKind("a state dict holds arrays", op="StateDict", operand=str(key)[:60], got=shown(value),
                                expected="an array or a tensor", help="nv.from_state_dict(mapping) reads lists, too")
        self.table = dict(table)
        self.paths = _checked_paths(paths, self.table)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the table with arrays alone."""
        return {key: _array(value) for key, value in self.table.items()}

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        width = max(map(len, self.table), default=0)
        lines = [f"  {key:<{width}} -> {described(value)}" for key, value in self.table.items()]
        return "\n".join(["StateDict(", *lines, ")"])


class SpreadState(NamedTuple):
    """The pieces of arrays by their keys, and the paths of these, as a ``StateDict`` has them."""

    table: Mapping[str, Spread]
    paths: Mapping[str, str]


def make_state_dict(model: object, weights: bool = True, optimizers: bool = False,
                    transformer: Transformer | None = None) -> StateDict:
    """Collects the current values of a model's parameters and buffers (``weights``), and the slots of their optimisers
    (``optimizers``).

    A model is a module, the result of ``nv.build``, a computation, or a list of variables. Values are those on its own
    transformer, or the one given (absent: the default one), all of one moment.

    >>> nv.make_state_dict(nv.nn.LinearLayer(1, 1, bias=2.0)).table["param:linearlayer.0.bias"]
    array([2.], dtype=float32)
    """
    entries, variables, paths = _entries(model, weights, optimizers)
    found = transformer_of(model, transformer).snapshot(variables)
    return StateDict({key: np.array(found[variable], copy=True)
                      for key, variable in zip(entries, variables, strict=True)}, paths)


def make_spread_state(model: object, weights: bool = True, optimizers: bool = False,
                      transformer: Transformer | None = None) -> SpreadState:
    """Collects the same values of a ``model`` as ``make_state_dict``, as the pieces that this process of a job keeps.
    """
    entries, variables, paths = _entries(model, weights, optimizers)
    found = transformer_of(model, transformer).spread(variables)
    return SpreadState(dict(zip(entries, found, strict=True)), paths)


def _entries(model: object, weights: bool, optimizers: bool) -> tuple[list[str], list[Variable], dict[str, str]]:
    """Returns the keys of a model's state, the variable of each, and paths by key."""
    entries = list(entries_of(model, truth(weights, "make_state_dict", "weights"),
                              truth(optimizers, "make_state_dict", "optimizers"), True))
    return ([entry.key for entry in entries], [variable_of(entry.place) for entry in entries],
            {entry.key: entry.path for entry in entries if entry.path is not None})


def from_state_dict(mapping: Mapping[str, object], paths: Mapping[str, str] | None = None) -> StateDict:
    """Makes a state dict of arrays, or tensors, by their keys, with ``paths`` for some of them; InvalidArgument for
    other keys.

    >>> nv.from_state_dict({"param:linearlayer.0.bias": nv.ones((3,))})
    StateDict(
      param:linearlayer.0.bias -> f32[3]
    )
    """
    if isinstance(mapping, StateDict):
        return StateDict(mapping.table, mapping.paths if paths is None else paths)
    _require_mapping(mapping, "from_state_dict")
    for key in mapping:
        parse_state_dict_key(key)
    return StateDict({key: _array(value) for key, value in mapping.items()}, paths)


def _require_mapping(value: object, op: str) -> None:
    if not isinstance(value, Mapping):
        raise WrongKind("a state dict is made of a mapping", op=op, got=shown(value), expected="arrays by their keys",
                        help="nv.make_state_dict(model) makes one of a model")


def parse_state_dict_key(key: str) -> tuple[str, ...]:
    """Splits a key into its parts: prefix, composite, number, slot; for an optimiser's also its name, type and slot.

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


def paths_text(state: StateDict | SpreadState) -> dict[str, str]:
    """Returns the paths of a state as a string of a file, under its name there; nothing if there are no paths."""
    return {PATHS: json.dumps(state.paths, sort_keys=True)} if state.paths else {}


def with_paths(table: Mapping[str, np.ndarray], strings: Mapping[str, str], path: str) -> StateDict:
    """Returns a state of arrays with the paths among the strings of a file; FormatError if they are damaged."""
    try:
        return StateDict(table, json.loads(strings.get(PATHS, "{}")))
    except (ValueError, TypeError, RecursionError):
        raise FormatError("the paths of a state dict are damaged", op="load_weights", operand=path,
                          got=f"{strings[PATHS]!r:.80}", expected="a path for some of the keys",
                          help="nothing of the file was used") from None


def _checked_paths(paths: object, table: Mapping[str, object]) -> dict[str, str]:
    """Returns paths by key; InvalidArgument for a path without an entry, WrongKind for anything but a table of them."""
    found = {} if paths is None else paths
    if not isinstance(found, Mapping) or not all([isinstance(path, str) for path in found.values()]):
        raise WrongKind("paths are strings by key", op="StateDict", operand="paths", got=shown(paths),
                        expected='as in {"param:linearlayer.0.bias": "head.bias"}', help="leave them out: keys will do")
    unknown = [key for key in found if key not in table]
    if unknown:
        raise InvalidArgument("a path is that of an entry", op="StateDict", operand="paths", got=shown(unknown[0]),
                              expected="keys of the table", help="leave out the paths of what is not there")
    return dict(found)


def _array(value: object) -> np.ndarray:
    """Returns the elements of a value; WrongKind for a value without elements."""
    return value.numpy() if isinstance(value, Tensor) else numpy_array(value, "from_state_dict")


def transformer_of(model: object, given: Transformer | None) -> Transformer:
    own = getattr(model, "transformer", None)
    return own if given is None and isinstance(own, Transformer) else transformers.chosen(given)


def described(value: np.ndarray | Tensor) -> str:
    return str(value.type if isinstance(value, Tensor) else BasicTensorDescription.of(value))


def variable_of(place: AssignableTensorOp) -> Variable:
    assert place.variable is not None
    return place.variable


explain_keywords(globals(), ["from_state_dict", "make_state_dict", "parse_state_dict_key"])
