"""State dicts into models: by path, by key where there is none, with a report of the entries that do not fit.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2, bias=1.0), nv.nn.LinearLayer(2, 2, bias=2.0))
>>> longer = nv.nn.Sequential(*model, nv.nn.LinearLayer(2, 2, bias=False))
>>> load_from_state_dict(longer, nv.make_state_dict(model))
NotLoaded(missing=('param:linearlayer.2.weights',), unexpected=(), mismatched={})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, shown, warn_user
from nervure.files.renaming import Rename, renaming
from nervure.files.state_dict import OPTIMIZERS, StateDict, described, parse_state_dict_key, transformer_of, variable_of
from nervure.files.state_entries import Entry, entries_of, root_of
from nervure.front.creation import AssignableTensorOp
from nervure.ir.variable import Variable
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.base import Transformer
from nervure.types.description import BasicTensorDescription


class NotLoaded(NamedTuple):
    """The entries that could not be loaded, by key: ``missing`` in the state, ``unexpected`` in the model, or
    ``mismatched``, with the reason. It is false if everything was loaded.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected or self.mismatched)


def load_from_state_dict(model: object, state: StateDict, transformer: Transformer | None = None) -> NotLoaded:
    """Gives a model the values of a state dict, all that fit at one moment, and returns those that could not be
    loaded.

    An entry goes to the place at its path; one without a path to the place of its key, in which the type of an
    optimiser's slot does not matter. If path and key name different places the path counts, with a warning; if there
    is nothing at the path, or nothing of that shape, the entry is not loaded. Slots are expected if the state has any.

    >>> w = nv.variable("F=2").named("w")
    >>> failed = nv.load_from_state_dict([w], nv.from_state_dict({"param:linearlayer.0.bias": np.zeros(3)}))
    >>> failed.missing, failed.unexpected
    (('missing_param:tensor.0.w',), ('param:linearlayer.0.bias',))
    """
    found = fitting(model, _checked(state, "load_from_state_dict"))
    transformer_of(model, transformer).restore(found.values)
    found.warn()
    return found.failed


class Fitting(NamedTuple):
    """The values for variables, and the entries that do not fit. It has the paths of missing entries (``here``) and of
    those found (``there``), by key, and the entries with another place than their key says.
    """

    values: dict[Variable, np.ndarray]
    failed: NotLoaded
    here: dict[str, str]
    there: dict[str, str]
    others: list[str]

    def warn(self) -> None:
        """Warns of entries that were loaded by their paths, although their keys name other places."""
        if self.others:
            more = ", ..." if len(self.others) > 5 else ""
            warn_user(f"loaded by path, where the numbers in keys stand for other places: "
                      f"{', '.join(self.others[:5])}{more}")

    def advice(self) -> str | None:
        """Suggests a ``rename=`` if all names differ only by a prefix."""
        return prefix_advice(set(self.there.values()), set(self.here.values()))

    def refusal(self, message: str, op: str, operand: str, help: str) -> InvalidArgument:
        """Returns an error with this ``message`` that lists everything that does not fit, parameters first."""
        missing, unexpected, mismatched = self.failed
        found = [f"unexpected: {_listed(unexpected, self.there)}"] if unexpected else []
        found += [f"{key}: {mismatched[key]}" for key in sorted(mismatched, key=_rank)]
        return InvalidArgument(message, op=op, operand=operand, got="; ".join(found) or "fewer parameters",
                               expected=f"missing: {_listed(missing, self.here)}" if missing else
                               "the parameters of the model", help=help)


def fitting(model: object, state: StateDict, rename: Rename | None = None) -> Fitting:
    """Matches a model with a state dict whose paths are renamed."""
    if rename is not None:
        _check_renamed(state, root_of(model).paths)
    targets = _Targets(model, any([key.partition(":")[0] in OPTIMIZERS for key in state.table]))
    new_path = renaming(rename, "load_weights")
    values: dict[Variable, np.ndarray] = {}
    unexpected, mismatched, reached, others = [], dict[str, str](), set[str](), list[str]()
    for key, array in state.arrays().items():
        path = state.paths.get(key)
        renamed = None if path is None else new_path(path)
        if path is not None and renamed is None:
            continue  # rename= leaves it out
        target = targets.of(key, renamed, path == renamed)
        if target.entry is None:
            mismatched.update({} if target.problem is None else {key: target.problem})
            unexpected.extend([key] if target.problem is None else [])
            continue
        reached.add(target.entry.key)
        variable = variable_of(target.entry.place)
        problem = fitness(variable, array, values.get(variable))
        if problem is not None:
            mismatched[key] = f"{problem}{target.note}"
            continue
        values[variable] = array
        if target.other is not None and _kind(key) == "param":
            others.append(f"{renamed} (by its key {target.other.path})")
    missing = {key: path for key, path in targets.paths().items() if key not in reached}
    here = {key: path for key, path in missing.items() if path is not None}
    there = {key: state.paths[key] for key in (*unexpected, *mismatched) if key in state.paths}
    return Fitting(values, NotLoaded(tuple(missing), tuple(unexpected), mismatched), here, there, others)


def prefix_advice(found: set[str], missing: set[str]) -> str | None:
    """Suggests a prefix if the ``missing`` names were ``found`` under names that differ only by one.

    >>> prefix_advice({"model.a.bias", "model.a.weights"}, {"a.bias", "a.weights"})
    'rename={"model": ""} takes away what stands in front of the names in the file'
    """
    for name in sorted(missing)[:1]:
        for other in found:
            if other.endswith(f".{name}"):
                start = other[:-len(name) - 1]
                if all([f"{start}.{path}" in found for path in missing]):
                    return f'rename={{"{start}": ""}} takes away what stands in front of the names in the file'
            if name.endswith(f".{other}"):
                start = name[:-len(other) - 1]
                if all([path.removeprefix(f"{start}.") in found for path in missing]):
                    return f'rename={{"": "{start}"}} puts that in front of the names in the file'
    return None


def _listed(keys: Iterable[str], paths: Mapping[str, str]) -> str:
    return ", ".join([f"{key} ({paths[key]})" if paths.get(key, key) != key else key
                      for key in sorted(keys, key=_rank)])


def _rank(key: str) -> bool:
    return not key.startswith("param")


def _check_renamed(state: StateDict, paths: Mapping[AssignableTensorOp, str]) -> None:
    """Raises InvalidArgument if a state or a model has no paths that could be renamed."""
    if not state.paths or not paths:
        raise InvalidArgument("there are no paths to rename", op="load_weights", operand="rename",
                              got="a file without paths" if not state.paths else "a model without paths",
                              expected="a module, and a file that was saved from one",
                              help="keys are of classes and numbers; nv.load_from_state_dict takes a state of any keys")


class _Target(NamedTuple):
    """The place of a state's entry in a model, the other place that its key names, or the reason why it has none."""

    entry: Entry | None
    other: Entry | None = None
    problem: str | None = None

    @property
    def note(self) -> str:
        """A remark about an entry that does not fit its place."""
        if self.entry is None or self.other is None:
            return ""
        return f" at {self.entry.path}; by its key it would be {self.other.path}"


class _Targets:
    """The places of a model, found by path and by key."""

    def __init__(self, model: object, has_optimizers: bool) -> None:
        self._root = root_of(model)
        entries = list(entries_of(model, True, has_optimizers))
        self._by_key = {_matching(entry.key): entry for entry in entries}
        self._by_path = {(_kind(entry.key), entry.path): entry for entry in entries if entry.path is not None}

    def of(self, key: str, path: str | None, counts_key: bool) -> _Target:
        """Returns the place of an entry with a ``path`` and a ``key``, which is ignored unless ``counts_key``."""
        by_key = self._by_key.get(_matching(key)) if counts_key or path is None else None
        found = None if path is None else self._at(_kind(key), path)
        if found is not None:
            is_other = by_key is not None and by_key is not found and by_key.path is not None
            return _Target(found, by_key if is_other else None)
        if path is None or by_key is None or by_key.path is None:
            return _Target(by_key)
        return _Target(None, None, f"its path {path} is none of the model's, its key would be that of {by_key.path}")

    def _at(self, kind: str, path: str) -> Entry | None:
        """Returns the entry at a path, which may differ from the first path of its place."""
        found = self._by_path.get((kind, path))
        if found is None:
            parts = path.split(".")
            end = len(parts) if kind == "param" else len(parts) - 2  # after it the optimiser's name and the slot
            place = self._root.place_at(".".join(parts[:end]))
            first = None if place is None else self._root.paths.get(place)
            found = None if first is None else self._by_path.get((kind, ".".join([first, *parts[end:]])))
        return found

    def paths(self) -> dict[str, str | None]:
        """Returns the keys of all places of the model, with their paths."""
        return {entry.key: entry.path for entry in self._by_key.values()}


def _kind(key: str) -> str:
    """Whether a key is that of a parameter or of a slot for one: paths of the two may be alike."""
    return key.partition(":")[0].removeprefix("missing_")


def _checked(state: object, op: str) -> StateDict:
    if not isinstance(state, StateDict):
        raise WrongKind("this is no state dict", op=op, operand="state", got=shown(state), expected="a StateDict",
                        help="nv.from_state_dict(mapping) makes one of a mapping")
    return state


def fitness(variable: Variable, array: np.ndarray, before: np.ndarray | None) -> str | None:
    """Returns the reason why a variable cannot have this value; None if it can."""
    if BasicTensorDescription.of(array).mismatch(variable.type):
        return f"{described(array)}, where {variable.type} is expected"
    if before is not None and before.tobytes() != array.tobytes():
        return "another value than other keys give to the same tensor"
    return None


def _matching(key: str) -> str:
    """Returns a key without the type, so that files move between devices."""
    prefix, *parts = parse_state_dict_key(key)
    return ".".join([prefix, *parts[:4], *parts[5:]])


explain_keywords(globals(), ["load_from_state_dict"])
