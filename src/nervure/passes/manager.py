"""The pass manager: runs passes one after the other, and names the one that breaks an invariant.

After the passes the types of parameters and results, the updates and the effects must be unchanged, and all new ops
must be well formed. If they are not, or a pass fails, all run once more, with a check after each. So most functions
need one check. ``NERVURE_DEBUG=passes`` (or ``flags.debug``) prints the function before and after every pass to
standard error; the name of a pass, or several separated by commas, prints those alone.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> def forgets_a_result(function):
...     return nv.Function([], function.parameters)
>>> run(nv.Function([x], [x]), [forgets_a_result])                              # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.errors.InternalError: pass forgets_a_result, on function function: the results were (f32[4]) and are ()
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nervure import flags
from nervure.errors import InternalError, NervureError
from nervure.ir.function import Function
from nervure.ir.gc_paused import gc_paused
from nervure.ir.op import Value
from nervure.ir.printer import print_function
from nervure.ir.variable import Variable
from nervure.ir.verify import verify
from nervure.ir.whole_op import WholeOp
from nervure.ops.rematerialising import Checkpoint
from nervure.passes.dead_code import is_own_value

FunctionPass = Callable[[Function], Function]


class Pass(NamedTuple):
    """A pass and its name."""

    name: str
    run: FunctionPass


class Record(NamedTuple):
    """The record of one pass: the number of ops before and after, and the time of the pass and of the checks."""

    name: str
    before: int
    after: int
    seconds: float
    check_seconds: float

    def __str__(self) -> str:
        return (f"{self.name:<24}{self.before:>8} -> {self.after:<8}{self.seconds * 1e3:>10.3f} ms"
                f"{self.check_seconds * 1e3:>10.3f} ms checks")


def run(function: Function, passes: Iterable[Pass | FunctionPass], records: list[Record] | None = None) -> Function:
    """Returns the function after all passes; ``records``, if given, is extended by one Record a pass.

    A pass that fails, or breaks an invariant, is an InternalError that begins with its name. An error that a user can
    fix (in the decomposition of a user's op, say) keeps its type and gets a note.
    """
    listed = [as_pass(entry) for entry in passes]
    after = _checked_once(function, listed) if records is None and not flags.debug else None
    return _checked_each(function, listed, records) if after is None else after


def _checked_once(function: Function, passes: Sequence[Pass]) -> Function | None:
    """Returns the function after all passes; None if one fails, or if together they break an invariant."""
    after = function
    try:
        for current in passes:
            after = _applied(current, after)
        if after is not function:
            with gc_paused():
                Checker(function).check("passes", function, after)
    except Exception:
        return None
    return after


def _checked_each(function: Function, passes: Sequence[Pass], records: list[Record] | None) -> Function:
    checker = Checker(function)
    for current in passes:
        shown = flags.shows("passes") or flags.shows(current.name)
        if shown:
            _show("before", current.name, function)
        start = time.perf_counter()
        after = _applied(current, function)
        middle = time.perf_counter()
        if after is not function:
            with gc_paused():
                checker.check(current.name, function, after)
        end = time.perf_counter()
        if records is not None:
            counts = len(function.operations), len(after.operations)
            records.append(Record(current.name, *counts, middle - start, end - middle))
        if shown:
            _show("after", current.name, after)
        function = after
    return function


def as_pass(entry: Pass | FunctionPass) -> Pass:
    """Returns a Pass itself; a function (or a Rewriter) under its own name."""
    if isinstance(entry, Pass):
        return entry
    return Pass(str(getattr(entry, "name", None) or getattr(entry, "__name__", type(entry).__name__)), entry)


def _applied(current: Pass, function: Function) -> Function:
    try:
        with gc_paused():
            return current.run(function)
    except NervureError as error:
        error.add_note(f"in pass {current.name}, on function {function.name}")
        raise
    except Exception as error:
        raise InternalError(f"pass {current.name}, on function {function.name}: "
                            f"{type(error).__name__}: {error}") from error


class Checker:
    """Checks the function after each pass. Nodes never change: each is verified once, after the pass that made it."""

    def __init__(self, function: Function) -> None:
        self._known = set(function.operations)

    def check(self, name: str, before: Function, after: Function) -> None:
        """Raises InternalError, which names the pass, if the function ``after`` it breaks an invariant."""
        try:
            self._compare(before, after)
            verify(after, self._known)
        except InternalError as error:
            raise InternalError(f"pass {name}, on function {before.name}: {error}") from None
        self._known.update(after.operations)

    def _compare(self, before: Function, after: Function) -> None:
        if not isinstance(after, Function):
            raise InternalError(f"it gave {type(after).__name__}, no Function")
        _require("parameters", before, after, lambda function: list(function.parameters))
        _require("results", before, after, lambda function: [value.type for value in function.results])
        _require("effects", before, after, lambda function: [*_effects(function)])
        _compare_updates(dict(before.updates), dict(after.updates))
        kept = {(entry.left, entry.right) for entry in after.assumptions}
        lost = [entry for entry in before.assumptions if (entry.left, entry.right) not in kept]
        if lost:
            raise InternalError(f"the assumption {lost[0]} is lost")


def _compare_updates(before: dict[Variable, Value], after: dict[Variable, Value]) -> None:
    """Raises InternalError if a variable is newly updated, or no longer updated although its value changed."""
    for variable in after:
        if variable not in before:
            raise InternalError(f"it updates {variable}, which was not updated before")
    for variable, value in before.items():
        if variable not in after and not is_own_value(variable, value):
            raise InternalError(f"the update of {variable} is lost")


def _effects(function: Function) -> Iterator[str]:
    """Yields the kinds of effects, in order; in place of a checkpoint those inside. Whole ops may become one."""
    for op in function.effects:
        if isinstance(op, Checkpoint):
            yield from _effects(op.body)
        elif not isinstance(op, WholeOp):
            yield type(op).__name__


def _require(what: str, before: Function, after: Function, of: Callable[[Function], list[object]]) -> None:
    """Raises InternalError unless something of a function is unchanged."""
    was, got = of(before), of(after)
    if was != got:
        raise InternalError(f"the {what} were ({', '.join(map(str, was))}) and are ({', '.join(map(str, got))})")


def _show(when: str, name: str, function: Function) -> None:
    flags.show(f"{when} {name}", print_function(function, elide=True))
