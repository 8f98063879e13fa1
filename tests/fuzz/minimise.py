"""Makes a failing function small: fewer results, values in place of what computes them, ops left out.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> case = Case(nv.Function([nv.ops.Tanh(nv.ops.Exp(x + x)), x], [x]), [{}], 0)
>>> small = shrunk(case, lambda entry: any([type(op).__name__ == "Exp" for op in entry.function.operations]))
>>> [type(op).__name__ for op in small.function.operations]
['Parameter', 'Exp']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import nervure as nv
from nervure.errors import InternalError, NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Value
from nervure.ir.printer import print_function
from tests.fuzz.checks import failure, is_valid
from tests.fuzz.graphs import Case

MOST_TRIES = 300


def smaller(case: Case, said: str) -> str:
    """The text of a small function that fails the same way."""
    was_valid = _holds(is_valid, case)
    name, kind = said.split(":")[0], said.split(" at ")[0]

    def fails(candidate: Case) -> bool:
        found = failure(candidate, [name])
        return found is not None and found.startswith(kind) and (is_valid(candidate) or not was_valid)

    small = shrunk(case, fails)
    said = failure(small, [name]) or said
    text = print_function(small.function)
    return f"{said}\nKept({name!r}, {small.bindings}, {small.seed}, '''\\\n{text}''')"


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A function that still fails and none of whose next smaller ones does."""
    tries, again = 0, True
    while again and tries < MOST_TRIES:
        again = False
        for candidate in _candidates(case):
            tries += 1
            if tries >= MOST_TRIES:
                break
            if _holds(fails, candidate):
                case, again = candidate, True
                break
    return case


def _holds(fails: Callable[[Case], bool], candidate: Case) -> bool:
    try:
        return fails(candidate)
    except Exception:
        return False


def _candidates(case: Case) -> Iterator[Case]:
    """Functions with a little less, those with much less first."""
    for binding in case.bindings if len(case.bindings) > 1 else ():
        yield case._replace(bindings=[binding])
    function = case.function
    for at in range(len(function.results)):
        rest = [function.results[at]] if len(function.results) > 1 else []
        yield from _made(case, rest or function.results, ())
    for at in range(len(function.updates)):
        yield from _made(case, function.results, [*function.updates[:at], *function.updates[at + 1:]])
    for at in range(len(function.results)):
        yield from _made(case, [*function.results[:at], *function.results[at + 1:]], function.updates)
    for op in reversed(function.operations):
        for operand in op.operands:
            for root, value in enumerate(function.results):
                if value.op is op:
                    yield from _made(case, [*function.results[:root], operand, *function.results[root + 1:]],
                                     function.updates)
    for op in function.operations:
        if not isinstance(op, Leaf):
            yield from _substituted(case, op.outputs)


def _substituted(case: Case, values: Sequence[Value]) -> Iterator[Case]:
    """One op's values replaced: by parameters, or by what the op was given."""
    parameters = [nv.Parameter(value.dtype, value.shape) for value in values]
    yield from _replaced(case, dict(zip(values, [entry.value for entry in parameters], strict=True)), parameters)
    for operand in values[0].op.operands:
        if len(values) == 1 and operand.type == values[0].type:
            yield from _replaced(case, {values[0]: operand}, [])


def _replaced(case: Case, table: dict[Value, Value], parameters: list[nv.Parameter]) -> Iterator[Case]:
    try:
        wider = Function(case.function.results, [*case.function.parameters, *parameters], case.function.updates,
                         name=case.function.name)
        changed = wider.rebuilt(replaced=table)
    except (NervureError, InternalError):  # the latter where an op with effects cannot be replaced
        return
    yield from _made(case._replace(function=changed), changed.results, changed.updates)


def _made(case: Case, results: Sequence[Value], updates: Any) -> Iterator[Case]:
    """The function with these roots, with the parameters that it needs or that bind a symbol."""
    parameters = case.function.parameters
    try:
        for wanted in (_needed(results, updates, parameters), parameters):
            try:
                function = Function(results, wanted, updates, name=case.function.name)
            except NervureError:
                continue
            if _size(function) < _size(case.function):
                yield case._replace(function=function)
                return
    except NervureError:
        return


def _size(function: Function) -> int:
    """Ops and roots: each step of shrinking takes away at least one of them."""
    return len(function.operations) + len(function.roots)


def _needed(results: Sequence[Value], updates: Any, parameters: Sequence[nv.Parameter]) -> list[nv.Parameter]:
    every = Function(results, parameters, updates)
    used = {operand for op in every.operations for operand in op.operands} | set(every.roots)
    return [parameter for parameter in parameters if parameter.value in used]
