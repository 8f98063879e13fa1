"""Saving and loading what can be called: a computation with its state, in one safetensors file.

>>> import os, tempfile
>>> import numpy as np
>>> import nervure as nv
>>> x, w = nv.placeholder("N=2").named("x"), nv.variable("N=2", 3.0).named("w")
>>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
>>> save(path, nv.computation({"y": x * w}, x))
>>> load(path)(np.float32([1, 2]))
{'y': array([3., 6.], dtype=float32)}
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from nervure import transformers
from nervure.computation import Computation, Results
from nervure.elsewhere import explain_keywords
from nervure.errors import FormatError, InvalidArgument, NotSupported, WrongKind
from nervure.front.creation import AssignableTensorOp, placeholder
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.saving import load_all, save_function

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

_RESULTS = "nervure.results"


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


explain_keywords(globals(), ["load", "save"])
