"""The verifier: the invariants of every function. The pass manager names a pass that breaks one.

>>> import nervure as nv
>>> from nervure.types.frozen import put
>>> x = nv.ops.Parameter(nv.float32, (2,))
>>> f = Function([x + x], [x])
>>> verify(f)
>>> put(f, "operations", f.operations[::-1])  # functions are immutable: only a mistake of ours does this
>>> verify(f)                                                                # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.InternalError: function: Add at ...: it reads Parameter before that is computed
"""

from __future__ import annotations

from collections.abc import Set
from types import NoneType
from typing import NoReturn

import numpy as np

from nervure.errors import InternalError
from nervure.ir.field import Field, array
from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value
from nervure.ir.printer import nested_functions
from nervure.ir.provenance import Provenance
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable


def verify(function: Function, known: Set[Op] = frozenset()) -> None:
    """Raises InternalError, naming the first op that violates an invariant, and the user's line.

    Every op occurs once, after its operands and because something needs it; types are those that its rule infers;
    attributes are in normal form; parameters are the function's own; updates have the types of their variables, and
    the effects are all ops that have one. The functions that ops hold are verified, too. Ops in ``known`` have been
    verified before; nodes never change, so only their position in the function is checked.
    """
    _check_lists(function)
    for entry in nested_functions(function):
        if entry is not function:
            _check_lists(entry)
        for op in entry.operations:
            if op not in known:
                _check_slots(entry, op)
        _check_order(entry)
        for op in entry.operations:
            if op not in known:
                _check_fields(entry, op)
                _check_types(entry, op)
        _check_parameters(entry)
        _check_updates(entry)
        _check_effects(entry)
        _check_assumptions(entry)


def _check_lists(function: Function) -> None:
    """Checks that the lists of a function hold the objects that all other checks expect."""
    for op in (*function.operations, *function.parameters, *function.effects):
        if not isinstance(op, Op):
            raise InternalError(f"{function.name}: {op!r:.80} stands among its ops")
    for op in function.parameters:
        if type(op) is not Parameter:
            _fail(function, op, "it is listed as a parameter")
    for value in function.roots:
        if type(value) is not Value:
            raise InternalError(f"{function.name}: {value!r:.80} is given as a value")


def _check_slots(function: Function, op: Op) -> None:
    """Checks that the parts of a node are of the right classes."""
    for name, entries in (("operands", op.operands), ("outputs", op.outputs)):
        if type(entries) is not tuple or not all([type(entry) is Value for entry in entries]):
            _fail(function, op, f"its {name} are {entries!r:.80}, not a tuple of values")
    if type(op).arity not in (None, len(op.operands)):
        _fail(function, op, f"it has {len(op.operands)} operands, not {type(op).arity}")
    if not isinstance(op.name, (str, NoneType)) or not isinstance(op.provenance, Provenance):
        _fail(function, op, "its name or its provenance is of another kind")


def _check_order(function: Function) -> None:
    before: set[Op] = set()
    for op in function.operations:
        if op in before:
            _fail(function, op, "it stands twice")
        for operand in op.operands:
            if not _is_output(operand):
                _fail(function, op, f"its operand of {_describe(operand.op)} is no output of it")
            if operand.op not in before:
                _fail(function, op, f"it reads {_describe(operand.op)} before that is computed")
        before.add(op)
    for value in function.roots:
        if not _is_output(value) or value.op not in before:
            _fail(function, value.op, "the function gives its value but does not compute it")
    needed = set(postorder([*function.parameters, *function.effects, *function.roots]))
    for op in function.operations:
        if op not in needed:
            _fail(function, op, "nothing needs it")


def _is_output(value: Value) -> bool:
    outputs = value.op.outputs
    return value.index < len(outputs) and outputs[value.index] is value


def _check_fields(function: Function, op: Op) -> None:
    for name, field in type(op).fields.items():
        value = getattr(op, name, _ABSENT)
        if not (value is None and field.optional) and not _is_normal(field, value):
            _fail(function, op, f"its attribute {name} is {value!r:.80}, not a normal {field.kind.name}")


_ABSENT = object()


def _is_normal(field: Field[object], value: object) -> bool:
    if isinstance(value, np.ndarray):  # too large to be compared with its normal form
        return field.kind is array and not value.flags.writeable
    try:
        return field.kind.same(field.check(value, "verify", field.kind.name), value)
    except (TypeError, ValueError):
        return False


def _check_types(function: Function, op: Op) -> None:
    types = [operand.type for operand in op.operands]
    try:
        normal, inferred = op.normalise(*types), op.infer(*types)
    except Exception as error:  # the op at fault must be named, whatever a rule raises
        raise InternalError(_text(function, op, f"its type rule fails: {error}")) from error
    for name, value in normal.items():
        if not type(op).fields[name].kind.same(value, getattr(op, name)):
            _fail(function, op, f"its attribute {name} is {getattr(op, name)!r:.80}, and should be {value!r:.80}")
    results = inferred if isinstance(inferred, tuple) else (inferred,)
    if results != tuple([value.type for value in op.outputs]):
        _fail(function, op, f"its type rule gives {', '.join(map(str, results))}")
    for index, value in enumerate(op.outputs):
        if value.op is not op or value.index != index:
            _fail(function, op, f"its output {index} belongs to another op")
        if value.labels is not None and len(value.labels) != value.rank:
            _fail(function, op, f"its output {index} has {len(value.labels)} labels for {value.rank} dimensions")
        if value.labels is not None and not all([isinstance(label, (str, NoneType)) for label in value.labels]):
            _fail(function, op, f"its output {index} has the labels {value.labels!r:.80}")


def _check_parameters(function: Function) -> None:
    listed = set(function.parameters)
    if len(listed) != len(function.parameters):
        _fail(function, function.parameters[0], "a parameter is listed twice")
    for op in function.operations:
        if isinstance(op, Parameter) and op not in listed:
            _fail(function, op, "it is no parameter of this function")


def _check_updates(function: Function) -> None:
    updated: set[Variable] = set()
    for variable, value in function.updates:
        if not isinstance(variable, Variable) or variable in updated:
            _fail(function, value.op, f"it updates {variable!r}, which is no variable or is updated twice")
        if value.type.mismatch(variable.type):
            _fail(function, value.op, f"it updates {variable!r} with {value.type}")
        updated.add(variable)


def _check_effects(function: Function) -> None:
    listed = set(function.effects)
    if len(listed) != len(function.effects):
        _fail(function, function.effects[0], "an effect is listed twice")
    for op in function.effects:
        if not is_effect(op):
            _fail(function, op, "it is listed among the effects but has none")
    for op in function.operations:
        if is_effect(op) and op not in listed:
            _fail(function, op, "its effect is not listed")


def _check_assumptions(function: Function) -> None:
    kept = {(entry.left, entry.right) for entry in function.assumptions}
    for op in function.operations:
        for entry in op.assumptions() if hasattr(op, "assumptions") else ():
            if (entry.left, entry.right) not in kept:
                _fail(function, op, f"its assumption {entry} is lost")


def _fail(function: Function, op: Op, problem: str) -> NoReturn:
    raise InternalError(_text(function, op, problem))


def _text(function: Function, op: Op, problem: str) -> str:
    location = getattr(op.provenance, "location", None)
    place = f" at {location}" if location else ""
    return f"{function.name}: {_describe(op)}{place}: {problem}"


def _describe(op: Op) -> str:
    """Returns the class and the name of an op; its repr may need the broken part."""
    return f"{type(op).__name__} {op.name!r}" if op.name is not None else type(op).__name__
