"""Functions in a file: their text, and the values of their variables, in the safetensors format.

>>> import os, tempfile
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> path = os.path.join(tempfile.mkdtemp(), "double")
>>> save_function(path, nv.Function([x + x], [x], name="double"))
>>> load_content(path).functions
{'': Function double(f32[2]) -> (f32[2]), 2 ops}

A file holds one function, or several by their names, which may share variables. The text of each is among the strings
of the file. Nothing in a file is run: a function is rebuilt through its ops' classes, which check it. Variables are
arrays named ``variables/w``, long constants ``constants/c0``, or ``constants/step/c0`` if functions have names; other
programs that read safetensors see them as they are.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from nervure import flags, ops, transformers  # noqa: F401  # a file may hold any op: all classes have to be known
from nervure.errors import DtypeMismatch, FormatError, InvalidArgument, NervureError, NotSupported, did_you_mean
from nervure.files.tensor_file import DIGEST, from_json, read_tensors, write_tensors
from nervure.front.random import SEED, STEP, another, original_of
from nervure.ir.field import function_of_host
from nervure.ir.function import Function
from nervure.ir.names import Names
from nervure.ir.op import registry
from nervure.ir.parser import parse_function
from nervure.ir.printer import FORMAT, nested_functions, print_function
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription

_FORMAT, _TEXT, _OPS = "nervure.format", "nervure.text", "nervure.ops"
_PARTS, _SHARED, _REPEATED = "nervure.parts", "nervure.variables", "nervure.repeated"
_RANDOM = "nervure.random"
_VARIABLES, _CONSTANTS = "variables/", "constants/"


class Written(NamedTuple):
    """A function as text, with its long constants, and its variables by their names in the text."""

    text: str
    constants: dict[str, np.ndarray]
    variables: dict[str, Variable]


def written(function: Function) -> Written:
    """Returns the text of a function with its constants and variables; NotSupported if an op holds a function of the
    host program.
    """
    _refuse_host_functions(function)
    found = Written("", {}, {})
    return found._replace(text=print_function(function, arrays=found.constants, variables=found.variables))


def save_function(path: str | os.PathLike[str], function: Function,
                  state: Mapping[Variable, np.ndarray] | None = None, strings: Mapping[str, str] | None = None) -> None:
    """Writes a function and the values of its variables; a file of that name is replaced once everything is on disk.

    ``state`` gives the values; variables that it lacks have their initial ones. ``strings`` go into the file as they
    are, under names that do not collide with those used here. Raises NotSupported if an op holds a function of the
    host program; InvalidArgument for the value of a variable that the function does not have.
    """
    own = written(function)
    tensors = {_CONSTANTS + name: array for name, array in own.constants.items()}
    _write(path, [function], own.variables, state or {}, tensors, strings or {}, {_TEXT: own.text})


def save_functions(path: str | os.PathLike[str], functions: Mapping[str, Function],
                   state: Mapping[Variable, np.ndarray] | None = None,
                   strings: Mapping[str, str] | None = None) -> None:
    """Writes several ``functions`` as ``save_function`` does one, by names without a slash; shared variables are
    stored once.
    """
    tensors: dict[str, np.ndarray] = {}
    texts: dict[str, str] = {_PARTS: json.dumps(list(functions))}
    parts = {name: written(function) for name, function in functions.items()}
    names = _common_names([variable for own in parts.values() for variable in own.variables.values()])
    for name, own in parts.items():
        tensors |= {f"{_CONSTANTS}{name}/{key}": array for key, array in own.constants.items()}
        texts[f"{_TEXT}/{name}"] = own.text
        texts[f"{_SHARED}/{name}"] = json.dumps({key: names[variable] for key, variable in own.variables.items()})
    variables = {name: variable for variable, name in names.items()}
    _write(path, list(functions.values()), variables, state or {}, tensors, strings or {}, texts)


def _common_names(variables: Iterable[Variable]) -> dict[Variable, str]:
    """Returns a name for each variable of several functions."""
    names = Names()
    return {variable: names.choose(variable.name) for variable in dict.fromkeys(variables)}


def _write(path: str | os.PathLike[str], functions: Iterable[Function], variables: Mapping[str, Variable],
           state: Mapping[Variable, np.ndarray], tensors: Mapping[str, np.ndarray], strings: Mapping[str, str],
           texts: Mapping[str, str]) -> None:
    values = {_VARIABLES + name: array for name, array in _values(variables, state).items()}
    classes = {type(op) for function in functions for entry in nested_functions(function) for op in entry.operations}
    versions = {cls.__name__: cls.version for cls in classes}
    times = Counter([variable.name for variable in variables.values() if variable.name is not None])
    repeated = sorted([name for name in times if times[name] > 1])
    random = {name: original.name for name, variable in variables.items()
              if (original := original_of(variable)) is not None}
    every = {**strings, _FORMAT: str(FORMAT), _OPS: json.dumps(versions, sort_keys=True), **texts}
    lists = {key: json.dumps(found) for key, found in ((_REPEATED, repeated), (_RANDOM, random)) if found}
    write_tensors(path, {**values, **tensors}, every | lists)


class Content(NamedTuple):
    """The content of a file: functions by their names ("" for a single one), with the names of their variables in the
    text. It also has the values of all variables, and all strings.
    """

    functions: dict[str, Function]
    names: dict[str, dict[str, Variable]]
    state: dict[Variable, np.ndarray]
    strings: dict[str, str]

    def text(self, part: str) -> str:
        """Returns the text of a function."""
        return self.strings[key_of_part(_TEXT, part)]

    def named(self) -> dict[str, Variable]:
        """Returns the variables by their names, except names that several had when they were saved."""
        repeated = from_json(self.strings.get(_REPEATED, "[]"))
        return {variable.name: variable for variable in self.state if variable.name is not None
                and not (isinstance(repeated, list) and variable.name in repeated)}


def load_content(path: str | os.PathLike[str]) -> Content:
    """Reads the functions of a file, the values of their variables (their initial values from now on), and its
    strings.

    Raises FormatError for anything but a file that ``save_function`` or ``save_functions`` has written, for ops of
    other versions, and for more lines of text than ``flags.load_limit`` allows. The modules of ops that are not
    nervure's own must have been imported. The time it takes is proportional to the number of ops.
    """
    tensors, strings = read_tensors(path)
    name = os.fspath(path)
    parts = _parts(strings, name)
    for key in (_FORMAT, _OPS, DIGEST, *[key_of_part(_TEXT, part) for part in parts]):
        if key not in strings:
            raise FormatError("the file holds no function", op="load", operand=name, expected=f"an entry {key}",
                              help="nv.save writes such files; tensor_file.read_tensors reads any safetensors file")
    if strings[_FORMAT] != str(FORMAT):
        raise FormatError("the file has another format", op="load", operand=name, got=strings[_FORMAT][:20],
                          expected=FORMAT, help="a newer nervure may have written it")
    _check_length("".join([strings[key_of_part(_TEXT, part)] for part in parts]), name)
    _check_versions(strings[_OPS], name)
    return _content(parts, tensors, strings, name)


def _content(parts: Iterable[str], tensors: Mapping[str, np.ndarray], strings: dict[str, str], source: str) -> Content:
    """Reads the parts of a file; FormatError if its arrays are not those that they need."""
    values = _below(_VARIABLES, tensors)
    shared = _random_state(values, strings, source)
    found = Content({}, {}, {}, strings)
    used: set[str] = set()
    for part in parts:
        constants = _below(key_of_part(_CONSTANTS.rstrip("/"), part) + "/", tensors)
        common = _table(strings, part, source)
        known = {key: key for key in shared} if common is None else common
        local = {key: shared[other] for key, other in known.items() if other in shared}
        initial = values if common is None else {key: values[other] for key, other in common.items() if other in values}
        found.functions[part] = parse_function(strings[key_of_part(_TEXT, part)], arrays=constants, variables=local,
                                               initial=initial, source=source)
        if common is not None and set(common) != set(local):
            raise FormatError("the names of variables are damaged", op="load", operand=source, got=", ".join(common),
                              expected=", ".join(local))
        shared |= {key if common is None else common[key]: variable for key, variable in local.items()}
        found.names[part] = local
        used |= {f"{key_of_part(_CONSTANTS.rstrip('/'), part)}/{key}" for key in constants}
    if {_VARIABLES + key for key in shared} | used != set(tensors):
        raise FormatError("the arrays of the file are not those that its function needs", op="load", operand=source,
                          got=", ".join(sorted(tensors)), expected=", ".join(_VARIABLES + key for key in shared))
    for key, variable in shared.items():
        found.state[variable] = values[key]
        try:
            _check_value(variable, values[key], source)
        except NervureError as error:
            raise FormatError(error.message, op="load", operand=source, got=f"{error.got} for {key}",
                              expected=error.expected) from None
    return found


def _random_state(values: Mapping[str, np.ndarray], strings: Mapping[str, str], source: str) -> dict[str, Variable]:
    """Makes the variables of random numbers, which ``nv.seed`` sets, by their names in the file."""
    originals = {variable.name: variable for variable in (SEED, STEP)}
    listed = from_json(strings.get(_RANDOM, "{}"))
    if not isinstance(listed, dict) or not all([name in values and isinstance(kind, str) and kind in originals
                                                for name, kind in listed.items()]):
        raise FormatError("the names of random numbers' variables are damaged", op="load", operand=source,
                          got=strings[_RANDOM][:80], expected="random_seed or random_step for names of arrays")
    return {name: another(originals[kind], values[name]) for name, kind in listed.items()}


def key_of_part(start: str, part: str) -> str:
    """Returns the name in a file of something that belongs to a part."""
    return f"{start}/{part}" if part else start


def _below(start: str, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key.removeprefix(start): array for key, array in tensors.items() if key.startswith(start)}


def _parts(strings: Mapping[str, str], source: str) -> list[str]:
    """Returns the names of the functions of a file; "" for a single one."""
    if _PARTS not in strings:
        return [""]
    found = from_json(strings[_PARTS])
    if not isinstance(found, list) or not found or not all([is_part(name) for name in found]) or len(
            set(found)) < len(found):
        raise FormatError("the names of the functions are damaged", op="load", operand=source,
                          got=strings[_PARTS][:80], expected="a list of names")
    return found


def is_part(name: object) -> bool:
    """Whether a function may have this name in a file."""
    return isinstance(name, str) and bool(name) and "/" not in name


def _table(strings: Mapping[str, str], part: str, source: str) -> dict[str, str] | None:
    """Maps the variables in a part's text to their names in the file; None if they are the same."""
    if not part:
        return None
    text = strings.get(key_of_part(_SHARED, part), "")
    found = from_json(text)
    if not isinstance(found, dict) or not all([isinstance(entry, str) for entry in found.values()]) or len(
            set(found.values())) < len(found):
        raise FormatError("the names of variables are damaged", op="load", operand=source, got=text[:80],
                          expected="a name in the file for each name in the text")
    return found


def _refuse_host_functions(function: Function) -> None:
    for entry in nested_functions(function):
        for op in entry.operations:
            for name, field in type(op).fields.items():
                if field.kind is function_of_host and getattr(op, name) is not None:
                    raise op.fail(NotSupported, "a function of the host program cannot be saved", operand=name,
                                  got=getattr(getattr(op, name), "__qualname__", None),
                                  help="save a graph without nv.host_call and nv.custom_vjp, or what stands before "
                                       "and after these as functions of their own")


def _values(variables: Mapping[str, Variable], state: Mapping[Variable, np.ndarray]) -> dict[str, np.ndarray]:
    known = set(variables.values())
    for variable in state:
        if variable not in known:
            raise InvalidArgument("the function has no such variable", op="save", operand=variable.name, got=variable,
                                  expected=", ".join(f"${name}" for name in variables) or "no variables")
    values = {}
    for name, variable in variables.items():
        values[name] = array = np.asarray(state[variable]) if variable in state else variable.initial_value()
        _check_value(variable, array, "state")
    return values


def _check_value(variable: Variable, array: np.ndarray, operand: str) -> None:
    kind = BasicTensorDescription.of(array)
    error = kind.mismatch(variable.type)
    if error is not None:
        part = "element type" if error is DtypeMismatch else "shape"
        raise error(f"the value of a variable has another {part}", op=variable.name, operand=operand, got=kind,
                    expected=variable.type)


def _check_length(text: str, name: str) -> None:
    """Raises FormatError if a function has more ops, about one a line, than ``load_limit`` allows."""
    lines = text.count("\n")
    if lines > flags.load_limit:
        raise FormatError("the function is longer than the limit", op="load", operand=name, got=f"{lines:,} lines",
                          expected=f"at most {flags.load_limit:,}", help="flags.load_limit sets another limit")


def _check_versions(text: str, name: str) -> None:
    versions = from_json(text)
    if not isinstance(versions, dict):
        raise FormatError("the table of op versions is malformed", op="load", operand=name, got=text[:80])
    for op, version in versions.items():
        cls = registry.get(op)
        if cls is None:
            raise FormatError(f"no op is named {op}", op="load", operand=name, got=op, expected="the name of an op",
                              help=did_you_mean(op, registry) or "import the module that declares it before")
        if version != cls.version:
            raise FormatError(f"{op} has another version in the file", op="load", operand=name, got=version,
                              expected=cls.version, help="load it with the nervure that wrote it")
