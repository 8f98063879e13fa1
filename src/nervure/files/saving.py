"""Saving and loading: computations, or a Function, with the values of their variables in one safetensors file.

>>> import os, tempfile
>>> import nervure as nv
>>> x, w = nv.placeholder("N=2").named("x"), nv.variable("N=2", 3.0).named("w")
>>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
>>> predict = nv.computation({"y": x * w}, x)
>>> save(path, predict)
>>> load(path)(np.float32([1, 2]))
{'y': array([3., 6.], dtype=float32)}

A loaded computation has new variables, unless it is loaded into an existing computation:

>>> _ = nv.evaluate(nv.assign(w, 0.0))
>>> load(path, into=predict) is predict, w.tolist()
(True, [3.0, 3.0])
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from nervure import transformers
from nervure.computation import Computation, ResultForm
from nervure.errors import FormatError, InvalidArgument, NotSupported, WrongKind, shown, warn_user
from nervure.files.function_file import (
    Content,
    Written,
    is_part,
    key_of_part,
    load_content,
    save_function,
    save_functions,
    written,
)
from nervure.files.tensor_file import from_json, read_tensors
from nervure.front.creation import AssignableTensorOp, placeholder
from nervure.ir.device import DeviceList, are_listed, devices_of, native_device
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.printer import nested_functions
from nervure.ir.variable import Variable
from nervure.support.atomic_file import file_name
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.devices.choice import transformer_for
from nervure.types.axes import axes_named
from nervure.types.description import BasicTensorDescription

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

_RESULTS, _NOTES = "nervure.results", "nervure.notes/"
Result = TypeVar("Result")
Several = TypeVar("Several", bound=Mapping[str, Computation[Any]])


def save(path: str | os.PathLike[str], computation: Computation[object] | Function | Mapping[str, Computation[Any]],
         notes: Mapping[str, str] | None = None) -> None:
    """Writes a computation, or a Function, with the current values of its variables. Several computations by their
    names share their variables in the file as they do here.

    The file holds the graph as text and the arrays as they are; nothing in it is ever executed. It replaces a file of
    that name only when it is complete; of several processes that hold the values, which all call it, the first writes
    it. ``notes`` are texts of the caller's own, such as the progress of a training,
    which ``nv.load_notes`` returns. Devices of ops are not held, of which a warning tells. Raises NotSupported for
    graphs that hold Python functions, and for results whose keys are no texts.

    >>> x, w = nv.placeholder("N=2"), nv.variable("N=2", 3.0)
    >>> nv.save("model.safetensors", nv.computation({"y": x * w}, x))
    >>> nv.load("model.safetensors")([1, 2])["y"].tolist()
    [3.0, 6.0]
    """
    path, texts = file_name(path, "save"), _as_strings(notes)
    if isinstance(computation, Function):
        _tell_of_devices([computation])
        save_function(path, computation, None, texts)
        return
    if isinstance(computation, Mapping):
        _save_several(path, computation, texts)
        return
    if not isinstance(computation, Computation):
        raise WrongKind("a computation or a Function can be saved", op="save", operand="computation",
                        got=type(computation).__name__, help="nv.computation(returns, *parameters) makes one",
                        expected="a Computation or a Function")
    function, transformer = computation.function, computation.transformer
    _tell_of_devices([function])
    strings, state = {**texts, _RESULTS: _results(computation)}, transformer.snapshot(function.variables)
    transformer.peers.by_first(lambda: save_function(path, function, state, strings))


def _as_strings(notes: object) -> dict[str, str]:
    """Returns notes under the names that they have in a file."""
    if not isinstance(notes, (Mapping, NoneType)):
        raise WrongKind("notes are texts by name", op="save", operand="notes", got=shown(notes),
                        expected="a mapping of strings", help='as in notes={"epoch": "3"}')
    for name, text in (notes or {}).items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise WrongKind("notes are texts by name", op="save", operand="notes", got=f"{name!r:.60}: {text!r:.60}",
                            expected="strings", help="json.dumps(value) makes a text of other values")
    return {_NOTES + name: text for name, text in (notes or {}).items()}


def _save_several(path: str, computations: Mapping[str, Computation[Any]], texts: Mapping[str, str]) -> None:
    for name, entry in computations.items():
        if not is_part(name):
            raise InvalidArgument("a computation in a file has a name", op="save", operand="computation",
                                  got=shown(name), expected="a string without a slash", help='as in {"step": step}')
        if not isinstance(entry, Computation):
            raise WrongKind("computations can be saved together", op="save", operand=name, got=shown(entry),
                            expected="a Computation", help="nv.computation(returns, *parameters) makes one")
    transformer = _common_transformer(list(computations.values()), "save")
    functions = {name: entry.function for name, entry in computations.items()}
    variables = dict.fromkeys([variable for function in functions.values() for variable in function.variables])
    strings = {**texts, **{key_of_part(_RESULTS, name): _results(entry) for name, entry in computations.items()}}
    _tell_of_devices(functions.values())
    state = transformer.snapshot(list(variables))
    transformer.peers.by_first(lambda: save_functions(path, functions, state, strings))


def _common_transformer(computations: Sequence[Computation[object]], op: str) -> Transformer:
    """Returns the common transformer of several computations, on which each variable has one value."""
    found = {entry.transformer.cells: entry.transformer for entry in computations}
    if len(found) != 1:
        raise InvalidArgument("computations in one file are of one transformer", op=op, operand="computation",
                              got=", ".join([entry.name for entry in found.values()]) or "no computations",
                              expected="one or more computations of one transformer",
                              help="variables have values of their own on each: save a file for each")
    return next(iter(found.values()))


def _results(computation: Computation[object]) -> str:
    """Returns the form of the results as text."""
    results = computation.make_results
    if not isinstance(results, ResultForm):
        raise NotSupported("results in the form of a function of nv.jit have no text", op="save",
                           got=shown(results), expected="a tensor, a list or a dict",
                           help="nv.computation(returns, *parameters) makes a computation that can be saved")
    for key in results.keys:
        if not isinstance(key, str):
            name = str(key) if isinstance(key, (int, float)) else "name"
            raise NotSupported("a result whose key is no text has no name in a file", op="save",
                               got=f"the key {shown(key)}", expected="texts as keys",
                               help=f"return {{{name!r}: tensor, ...}}, or a list")
    return json.dumps(results)


def _tell_of_devices(functions: Iterable[Function]) -> None:
    """Warns if ops were built under devices of their own, which a file does not hold."""
    ops = [op for function in functions for each in nested_functions(function) for op in each.operations]
    if not are_listed(ops):
        return
    native = native_device(transformers.default().name)
    names = dict.fromkeys([device.__name__ for op in ops for device in (devices_of(op) or DeviceList(())).devices
                           if device is not native])
    if names:
        warn_user(f"the file does not hold the devices {', '.join(names)}: what is loaded from it runs on those of "
                  "the list that is in force where nv.load is called")


@overload
def load(path: str | os.PathLike[str], transformer: Transformer | None = None) -> Computation[Any]: ...


@overload
def load(path: str | os.PathLike[str], *, into: Computation[Result]) -> Computation[Result]: ...


@overload
def load(path: str | os.PathLike[str], *, into: Several) -> Several: ...


def load(path: str | os.PathLike[str], transformer: Transformer | None = None,
         into: Computation[Any] | Mapping[str, Computation[Any]] | None = None) -> object:
    """Loads the computation in a file, on a transformer (absent: the default one), with new variables.

    It is read and checked now, and compiled at its first call (or by ``.compiled()``). Without a transformer its ops
    run on the devices of the list in force, if there is one. With ``into``, a computation or several by name, which is
    returned, its variables get the values in the file instead: all at one moment or none. They are found by their
    names, and those of the very computation that was saved by their places, in the entry of its name if several are
    alike; the file may have more. Raises FormatError for a file in the wrong format; then nothing of it has been used.

    >>> x, w = nv.placeholder("N=2"), nv.variable("N=2", 2.0).named("w")
    >>> nv.save("double.safetensors", nv.computation(x * w, x))
    >>> nv.load("double.safetensors")([1, 2]).tolist()
    [2.0, 4.0]
    >>> other = nv.variable("N=2").named("w")
    >>> nv.load("double.safetensors", into=nv.computation(x - other, x))([1, 2]).tolist()
    [-1.0, 0.0]
    """
    path = file_name(path, "load")
    if into is not None:
        return _load_into(path, into, transformer)
    transformers.chosen(transformer)  # an error for what is none
    content = load_content(path)
    if len(content.functions) != 1:
        raise InvalidArgument("the file holds several computations", op="load", operand=path,
                              got=", ".join(content.functions), expected="one",
                              help="nv.load_together(path) gives all of them, by their names")
    return _made(content, next(iter(content.functions)), path, transformer)


def load_together(path: str | os.PathLike[str], transformer: Transformer | None = None) -> dict[str, Computation[Any]]:
    """Loads the computations of a file by their names, as ``load`` does a single one; they share their variables.

    >>> x, w = nv.placeholder("N=2"), nv.variable("N=2", 2.0)
    >>> step, predict = nv.computation(nv.assign(w, w + 1.0)), nv.computation(x * w, x)
    >>> nv.save("both.safetensors", {"step": step, "predict": predict})
    >>> both = nv.load_together("both.safetensors")
    >>> both["step"](), both["predict"]([1, 2]).tolist()
    (None, [3.0, 6.0])
    """
    path = file_name(path, "load_together")
    transformers.chosen(transformer)  # an error for what is none
    content = load_content(path)
    return {name: _made(content, name, path, transformer) for name in content.functions}


def load_notes(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the notes of a file that ``nv.save`` has written. FormatError for a damaged file.

    >>> nv.save("model.safetensors", nv.computation(nv.placeholder("N=2") * 2, "all"), notes={"epoch": "3"})
    >>> nv.load_notes("model.safetensors")
    {'epoch': '3'}
    """
    strings = read_tensors(file_name(path, "load_notes"))[1]
    return {name.removeprefix(_NOTES): text for name, text in strings.items() if name.startswith(_NOTES)}


def _made(content: Content, name: str, path: str, transformer: Transformer | None) -> Computation[Any]:
    """Makes a computation of a file."""
    function, key = content.functions[name], key_of_part(_RESULTS, name)
    parameters = [_parameter(op) for op in function.parameters]
    results = _read_results(content.strings[key], path) if key in content.strings else _plain(function)
    if sum(results.has_value) != len(function.results):
        raise FormatError("the results do not fit the function", op="load", operand=os.fspath(path),
                          got=sum(results.has_value), expected=len(function.results))
    return Computation(transformer_for(function, transformer), function, parameters, results)


def _plain(function: Function) -> ResultForm:
    return ResultForm("tuple", (), (True,) * len(function.results))


def _parameter(op: Parameter) -> AssignableTensorOp:
    """Returns a placeholder like the one that was saved: with its axes' names, if each has its own."""
    made = placeholder(axes_named(op.value.labels, op.value.type.shape), op.value.type.dtype)
    return made.named(op.name) if op.name else made


def _read_results(text: str, path: str | os.PathLike[str]) -> ResultForm:
    try:
        form, keys, has_value = from_json(text)
        results = ResultForm(form, tuple(keys), tuple(has_value))
    except (ValueError, TypeError):
        results = ResultForm("", (), ())
    is_sound = (results.form in ("one", "tuple", "dict") and all(type(entry) is bool for entry in results.has_value)
                and all(isinstance(key, str) for key in results.keys)
                and len(results.keys) == (len(results.has_value) if results.form == "dict" else 0)
                and (results.form != "one" or len(results.has_value) == 1))
    if not is_sound:
        raise FormatError("the description of the results is damaged", op="load", operand=os.fspath(path),
                          got=f"{text!r:.80}")
    return results


# -- into existing computations -----------------------------------------------------------------------------------


def _load_into(path: str, into: object, transformer: Transformer | None) -> object:
    """Gives the variables of computations the values in a file."""
    listed: dict[object, object] = dict(into) if isinstance(into, Mapping) else {None: into}
    computations = {name: entry for name, entry in listed.items() if isinstance(entry, Computation)}
    if len(computations) < len(listed) or transformer is not None:
        raise WrongKind("a file is loaded into computations, on their transformer", op="load", operand="into",
                        got=shown(into if transformer is None else transformer),
                        expected="a computation, or several by name", help="leave out into= to get new computations")
    own = _common_transformer(list(computations.values()), "load")
    values = _values_for(computations, load_content(path), path)
    own.restore(values)
    return into


def _values_for(computations: Mapping[object, Computation[object]], content: Content,
                path: str) -> dict[Variable, np.ndarray]:
    """Returns the value of each variable of computations; InvalidArgument that names those that the file lacks."""
    parts = {name: written(entry.function) for name, entry in computations.items()}
    wanted = dict.fromkeys([variable for own in parts.values() for variable in own.variables.values()])
    found = {variable: content.state[place] for variable, place in _by_places(parts, content, path).items()}
    labels, ours = content.named(), _unique(wanted)
    found |= {variable: content.state[labels[label]] for label, variable in ours.items()
              if label in labels and variable not in found}
    lacking = [variable for variable in wanted if variable not in found]
    if lacking:
        wanting = [variable.name or f"an unnamed {variable.type}" for variable in lacking]
        raise InvalidArgument("the file lacks variables", op="load", operand=path,
                              got=", ".join(labels) or "no names", expected=", ".join(wanting),
                              help='w.named("w") gives a variable the name by which it is found; one name for each')
    for variable, array in found.items():
        _check_kind(variable, array, path)
    return found


def _by_places(parts: Mapping[object, Written], content: Content, path: str) -> dict[Variable, Variable]:
    """Returns the variables of the file at the places of ours, in parts with the same text. A part of the same name
    goes before others; InvalidArgument if several variables of the file fit one of ours.
    """
    alike = {name: [part for part in content.functions if content.text(part) == own.text]
             for name, own in parts.items()}
    named = {variable for name, own in parts.items() if name in alike[name] for variable in own.variables.values()}
    found: dict[Variable, dict[Variable, str]] = {}
    for name, own in parts.items():
        has_name = name in alike[name]
        for part in [part for part in alike[name] if part == name or not has_name]:
            for key, variable in own.variables.items():
                if has_name or variable not in named:
                    found.setdefault(variable, {}).setdefault(content.names[part][key], part)
    for variable, places in found.items():
        if len(places) > 1:
            raise InvalidArgument("several variables of the file fit one variable", op="load", operand="into",
                                  got=f"those of {', '.join(places.values())} in {path}",
                                  expected=f"one for {variable.name or f'an unnamed {variable.type}'}",
                                  help='into={"step": step} loads a computation from the one of its name')
    return {variable: next(iter(places)) for variable, places in found.items()}


def _unique(variables: Iterable[Variable]) -> dict[str, Variable]:
    """Returns variables by their names, except names that several have."""
    listed = list(variables)
    times = Counter([variable.name for variable in listed])
    return {variable.name: variable for variable in listed if variable.name is not None and times[variable.name] == 1}


def _check_kind(variable: Variable, array: np.ndarray, path: str) -> None:
    kind = BasicTensorDescription.of(array)
    if kind.mismatch(variable.type):
        raise InvalidArgument("a variable of the file is of another kind", op="load", operand=variable.name, got=kind,
                              expected=variable.type, help=f"it is in {path}: make a variable like it")


explain_keywords(globals(), ["load", "load_notes", "load_together", "save"])
