"""Saving and loading: a computation, or a Function, with the values of its variables in one safetensors file.

>>> import os, tempfile
>>> import nervure as nv
>>> x, w = nv.placeholder("N=2").named("x"), nv.variable("N=2", 3.0).named("w")
>>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
>>> save(path, nv.computation({"y": x * w}, x))
>>> load(path)(np.float32([1, 2]))
{'y': array([3., 6.], dtype=float32)}
>>> function, state = load_function(path)
>>> function, {variable.name: array for variable, array in state.items()}
(Function computation(f32[2]) -> (f32[2]), 3 ops, {'w': array([3., 3.], dtype=float32)})

The text of the function is among the strings of the file. Nothing in a file is run: a function is rebuilt through its
ops' classes, which check it. Variables are arrays named ``variables/w``, long constants ``constants/c0``; other
programs that read safetensors see them as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nervure import flags, ops, transformers  # noqa: F401  # a file may hold any op: all classes have to be known
from nervure.computation import Computation, Results
from nervure.elsewhere import explain_keywords
from nervure.errors import (
    DtypeMismatch,
    FormatError,
    InvalidArgument,
    NotSupported,
    ShapeMismatch,
    WrongKind,
    did_you_mean,
)
from nervure.front.creation import AssignableTensorOp, placeholder
from nervure.ir.field import function_of_host
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import registry
from nervure.ir.parser import parse_function
from nervure.ir.printer import FORMAT, nested_functions, print_function
from nervure.ir.variable import Variable
from nervure.tensor_file import DIGEST, read_tensors, write_tensors
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import as_dtype

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

_FORMAT, _TEXT, _OPS, _RESULTS = "nervure.format", "nervure.text", "nervure.ops", "nervure.results"
_VARIABLES, _CONSTANTS = "variables/", "constants/"


def save(path: str | os.PathLike[str], computation: Computation[object] | Function) -> None:
    """Writes a computation, or a Function, with the values that its variables have now.

    The file holds the graph as text and the arrays as they are; nothing in it is ever executed. It replaces a
    file of that name only when it is complete. NotSupported for graphs that hold Python functions, and for
    results whose keys are tensors.

    >>> x, w = nv.placeholder("N=2"), nv.variable("N=2", 3.0)
    >>> nv.save("model.safetensors", nv.computation({"y": x * w}, x))
    >>> nv.load("model.safetensors")([1, 2])["y"].tolist()
    [3.0, 6.0]
    """
    path = _file_name(path, "save")
    if isinstance(computation, Function):
        save_function(path, computation)
        return
    if not isinstance(computation, Computation):
        raise WrongKind("a computation or a Function can be saved", op="save", operand="computation",
                        got=type(computation).__name__, help="nv.computation(returns, *parameters) makes one",
                        expected="a Computation or a Function")
    shape = computation.shape
    if not isinstance(shape, Results) or not all(isinstance(key, str) for key in shape.keys):
        raise NotSupported("results with such keys have no text", op="save", got=type(shape).__name__,
                           help="return a tensor, a list, or a dict with names as keys",
                           expected="names as keys")
    function = computation.function
    state = computation.transformer.snapshot(function.variables)
    save_function(path, function, state, {_RESULTS: json.dumps(shape)})


def load(path: str | os.PathLike[str], transformer: Transformer | None = None) -> Computation[Any]:
    """The computation of a file, on a transformer (absent: the default one), with variables of its own.

    It is read and checked now, and compiled at its first call (or by ``.compiled()``).
    FormatError where the file is not what it should be; nothing of it has been used then.

    >>> x = nv.placeholder("N=2")
    >>> nv.save("double.safetensors", nv.computation(x * 2, x))
    >>> nv.load("double.safetensors")([1, 2]).tolist()
    [2.0, 4.0]
    """
    path, chosen = _file_name(path, "load"), transformers.chosen(transformer)
    function, _, strings = load_all(path)
    parameters = [_parameter(op) for op in function.parameters]
    shape = _read_results(strings[_RESULTS], path) if _RESULTS in strings else _plain(function)
    if sum(shape.has_value) != len(function.results):
        raise FormatError("the results do not fit the function", op="load", operand=os.fspath(path),
                          got=sum(shape.has_value), expected=len(function.results))
    return Computation(chosen, function, parameters, shape)


def _file_name(path: Any, op: str) -> str:
    try:
        name = os.fsdecode(path)
    except TypeError:
        name = "\0"
    if "\0" in name:
        raise WrongKind("a file is named by a path", op=op, operand="path", got=f"{type(path).__name__} {path!r:.60}",
                        expected="a string or a pathlib.Path", help=f'nv.{op}("model.safetensors", ...)')
    return name


def _plain(function: Function) -> Results:
    return Results("tuple", (), (True,) * len(function.results))


def _parameter(op: Parameter) -> AssignableTensorOp:
    """A placeholder like the one that was saved: with its axes' names, where each has one of its own."""
    labels = op.outputs[0].labels
    shape = op.value.type.shape
    named = labels is not None and None not in labels and len(set(labels)) == len(labels)
    try:
        made = placeholder(dict(zip(labels, shape, strict=True)) if named and labels else shape, op.value.type.dtype)
    except InvalidArgument:
        made = placeholder(shape, op.value.type.dtype)
    return made.named(op.name) if op.name else made


def _read_results(text: str, path: str | os.PathLike[str]) -> Results:
    try:
        form, keys, has_value = json.loads(text)
        shape = Results(form, tuple(keys), tuple(has_value))
    except (ValueError, TypeError, RecursionError):
        shape = Results("", (), ())
    is_sound = (shape.form in ("one", "tuple", "dict") and all(type(entry) is bool for entry in shape.has_value)
                and all(isinstance(key, str) for key in shape.keys)
                and len(shape.keys) == (len(shape.has_value) if shape.form == "dict" else 0)
                and (shape.form != "one" or len(shape.has_value) == 1))
    if not is_sound:
        raise FormatError("the description of the results is damaged", op="load", operand=os.fspath(path),
                          got=f"{text!r:.80}")
    return shape


# -- functions -----------------------------------------------------------------------------------------------


def save_function(path: str | os.PathLike[str], function: Function,
                  state: Mapping[Variable, np.ndarray] | None = None, strings: Mapping[str, str] | None = None) -> None:
    """Writes a function and the values of its variables; a file of that name is replaced when all is on disk.

    ``state`` gives the values; variables that it lacks have their initial ones. ``strings`` go into the file as
    they are, under names that do not collide with those used here. NotSupported if an op holds a function of the
    host program; InvalidArgument for the value of a variable that the function does not have.
    """
    _refuse_host_functions(function)
    constants: dict[str, np.ndarray] = {}
    variables: dict[str, Variable] = {}
    text = print_function(function, arrays=constants, variables=variables)
    values = _values(variables, state or {})
    tensors = {**{_VARIABLES + name: array for name, array in values.items()},
               **{_CONSTANTS + name: array for name, array in constants.items()}}
    classes = {type(op) for entry in nested_functions(function) for op in entry.operations}
    versions = {cls.__name__: cls.version for cls in classes}
    write_tensors(path, tensors, {**(strings or {}), _FORMAT: str(FORMAT), _OPS: json.dumps(versions, sort_keys=True),
                                  _TEXT: text})


class Loaded(NamedTuple):
    """The content of a file: a function, the values of its variables, and all strings."""

    function: Function
    state: dict[Variable, np.ndarray]
    strings: dict[str, str]


def load_function(path: str | os.PathLike[str]) -> tuple[Function, dict[Variable, np.ndarray]]:
    """The function of a file and the values of its variables; see ``load_all``."""
    return load_all(path)[:2]


def load_all(path: str | os.PathLike[str]) -> Loaded:
    """The function of a file, the values of its variables (their initial values from now on), and its strings.

    FormatError for anything but a file that ``save_function`` has written, for ops of other versions, and for more
    lines of text than ``flags.load_limit`` allows. The modules of ops that are not nervure's own must have been
    imported. The time it takes is in proportion to the number of ops.
    """
    tensors, strings = read_tensors(path)
    name = os.fspath(path)
    for key in (_FORMAT, _OPS, _TEXT, DIGEST):
        if key not in strings:
            raise FormatError("the file holds no function", op="load", operand=name, expected=f"an entry {key}",
                              help="nv.save writes such files; tensor_file.read_tensors reads any safetensors file")
    if strings[_FORMAT] != str(FORMAT):
        raise FormatError("the file has another format", op="load", operand=name, got=strings[_FORMAT][:20],
                          expected=FORMAT, help="a newer nervure may have written it")
    _check_length(strings[_TEXT], name)
    _check_versions(strings[_OPS], name)
    variables: dict[str, Variable] = {}
    constants, values = [{key.removeprefix(prefix): array for key, array in tensors.items() if key.startswith(prefix)}
                         for prefix in (_CONSTANTS, _VARIABLES)]
    function = parse_function(strings[_TEXT], arrays=constants, variables=variables, initial=values, source=name)
    if {_VARIABLES + key for key in variables} | {_CONSTANTS + key for key in constants} != set(tensors):
        raise FormatError("the arrays of the file are not those that its function needs", op="load", operand=name,
                          got=", ".join(sorted(tensors)), expected=", ".join(_VARIABLES + key for key in variables))
    state = {variable: values[key] for key, variable in variables.items()}
    for variable, array in state.items():
        _check_value(variable, array, name)
    return Loaded(function, state, strings)


def _refuse_host_functions(function: Function) -> None:
    for entry in nested_functions(function):
        for op in entry.operations:
            for name, field in type(op).fields.items():
                if field.kind is function_of_host and getattr(op, name) is not None:
                    raise op.fail(NotSupported, "a function of the host program cannot be saved", operand=name,
                                  got=getattr(getattr(op, name), "__qualname__", None),
                                  help="save what stands before and after the host call as functions of their own")


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
    type = BasicTensorDescription(as_dtype(array.dtype), array.shape)
    if type.dtype is not variable.type.dtype:
        raise DtypeMismatch("the value of a variable has another element type", op=variable.name, operand=operand,
                            got=type, expected=variable.type)
    if type.shape != variable.type.shape:
        raise ShapeMismatch("the value of a variable has another shape", op=variable.name, operand=operand, got=type,
                            expected=variable.type)


def _check_length(text: str, name: str) -> None:
    """FormatError where a function has more ops, about one a line, than ``load_limit`` allows."""
    lines = text.count("\n")
    if lines > flags.load_limit:
        raise FormatError("the function is longer than the limit", op="load", operand=name, got=f"{lines:,} lines",
                          expected=f"at most {flags.load_limit:,}", help="flags.load_limit sets another limit")


def _check_versions(text: str, name: str) -> None:
    try:
        versions = json.loads(text)
    except (ValueError, RecursionError):
        versions = None
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


explain_keywords(globals(), ["load", "save"])
