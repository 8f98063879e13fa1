"""Explanations: the report of an executable, with times if it was run, as an object, as text and as JSON.

>>> import nervure as nv
>>> x = nv.placeholder({"N": 4, "F": 8}).named("x")
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     found = explain(cpu.computation(nv.sum(nv.exp(x), out_axes="N=4"), x))
>>> found
<explanation of computation on cpu: 1 kernel>
>>> [line.op for line in found.kernels[0].ops], found.kernels[0].bytes
(['Exp', 'Sum'], 144)
>>> print(found.kernels[0].text.splitlines()[0])
kernel rows(in b0: f32[32], out b1: f32[4]):
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, NoReturn, Protocol, runtime_checkable

from nervure import notebook
from nervure.computation import Computation
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import integer
from nervure.jit import Jitted
from nervure.transformers.base import Executable
from nervure.transformers.report import CompilationReport, Count, Limits, Line, Place, Step, table

_FLOAT32 = 4


@runtime_checkable
class Model(Protocol):
    """What reads its arguments itself, as what ``nv.build`` made."""

    def explained(self, *arguments: object) -> tuple[Executable, Sequence[object] | None]:
        """What is shown, and what it is run with; None where that is left open."""


def explain(computation: object, *arguments: object, repeat: int = 20, **keywords: object) -> Explanation:
    """Explains a computation, a function under ``nv.jit`` (with the arguments of a call), the forward part of a model
    that ``nv.build`` made, or an executable.

    With arguments every size is a number, and the steps are timed: each alone, in order, medians over ``repeat`` runs
    (0: not at all). No variable is changed by that, but host calls and prints happen in every run. Without arguments
    the structure is shown for all sizes. ``print`` it, or read its fields; ``json()`` has all of them.

    >>> x = nv.placeholder("N=1000")
    >>> found = nv.explain(nv.computation(nv.sum(nv.exp(x)), x), np.zeros(1000), repeat=0)
    >>> len(found.steps) > 0, found.seconds is None
    (True, True)
    """
    repeat = integer(repeat, "explain", "repeat", "how often the steps are run")
    if repeat < 0:
        raise InvalidArgument("repeat cannot be negative", op="explain", operand="repeat", got=repeat,
                              expected="0 or more", help="0 shows sizes without times")
    executable, given = _read(computation, arguments, keywords)
    if given is None:
        return Explanation(executable.report())
    report = executable.report(given)
    if repeat == 0:
        return Explanation(report)
    times = executable.measure(given, repeat)
    steps = [replace(step, seconds=seconds) for step, seconds in zip(report.steps, times.steps, strict=True)]
    return Explanation(replace(report, steps=tuple(steps)), times.together, times.limits)


def _read(computation: object, arguments: tuple[object, ...],
          keywords: dict[str, Any]) -> tuple[Executable, Sequence[object] | None]:
    """The executable, and the arguments it is run with; None where they are to be left open."""
    if isinstance(computation, Jitted):
        compiled, arrays = computation.specialised(*arguments, **keywords)
        return compiled.executable, arrays
    if isinstance(computation, Computation):
        feed = keywords.pop("feed_dict", None)
        _refuse(keywords)
        is_open = not arguments and feed is None and len(computation.parameters) > 0
        return computation.executable, None if is_open else computation.read_arguments(arguments, feed)
    if isinstance(computation, Executable):
        _refuse(keywords)
        if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
            arguments = tuple(arguments[0])
        is_open = not arguments and len(computation.function.parameters) > 0
        return computation, None if is_open else arguments
    if isinstance(computation, Model):
        _refuse(keywords)
        return computation.explained(*arguments)
    raise WrongKind("this cannot be explained", op="explain", got=f"{type(computation).__name__} {computation!r:.60}",
                    expected="a computation, a jitted function, a model or an executable",
                    help="nv.computation(returns, *parameters), nv.build(out) and nv.jit(function) make such")


def _refuse(keywords: dict[str, object]) -> None:
    if keywords:
        raise InvalidArgument(f"explain has no option {next(iter(keywords))}", op="explain", got=", ".join(keywords),
                              expected="repeat, feed_dict", help="a jitted function takes its arguments by name, too")


class Rates(NamedTuple):
    """The rates of a step, and their shares of the machine's; None where they are not known."""

    bytes_per_second: float | None = None
    operations_per_second: float | None = None
    share_of_bytes: float | None = None
    share_of_operations: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """The result of nv.explain: ``print`` it, read its fields, or take them all by ``to_dict()`` or ``json()``.

    ``seconds`` is the time of all steps together, ``limits`` what the machine reached when it was measured.

    >>> x = nv.placeholder("N=1000")
    >>> found = nv.explain(nv.computation(x * 2, x))
    >>> "steps" in found.to_dict(), found.seconds is None
    (True, True)
    """

    report: CompilationReport
    seconds: float | None = None
    limits: Limits | None = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise WrongKind("an explanation belongs to the executable that it explains and cannot be copied", op="pickle",
                        got="an Explanation", expected="a value", help="to_dict() and json() give all of it as values")

    @property
    def steps(self) -> tuple[Step, ...]:
        """Everything that runs, in order."""
        return self.report.steps

    @property
    def kernels(self) -> tuple[Step, ...]:
        """The steps that are native code; their ``text``, ``llvm`` and ``assembly`` show it."""
        return tuple([step for step in self.steps if step.kind == "kernel"])

    def rates(self, step: Step) -> Rates:
        """The rates of a step. Operations in types wider than float32 count as so many times more.

        >>> step = Step(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
        >>> rates = Explanation(CompilationReport("f", "cpu", (), (step,)), 1.5e-6, Limits(2, 6e9, 1e9)).rates(step)
        >>> rates.bytes_per_second, rates.share_of_bytes, rates.share_of_operations
        (3000000000.0, 0.5, 0.1)
        """
        if not step.seconds:
            return Rates()
        moved = None if step.bytes is None else step.bytes / step.seconds
        computed = None if step.operations is None else step.operations / step.seconds
        if self.limits is None:
            return Rates(moved, computed)
        of_bytes = None if moved is None else moved / self.limits.bytes_per_second
        of_operations = None if computed is None else \
            computed * (step.width / _FLOAT32) / self.limits.operations_per_second
        return Rates(moved, computed, of_bytes, of_operations)

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, texts and numbers; None where something is not known."""
        steps = [{**_plain(step), **self.rates(step)._asdict()} for step in self.steps]
        limits = None if self.limits is None else self.limits._asdict()
        return {**_plain(self.report), "bindings": dict(self.report.bindings), "steps": steps,
                "seconds": self.seconds, "machine": limits}

    def json(self, indent: int | None = 2) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"<explanation of {self.report.name} on {self.report.transformer}: {self.counts}>"

    def _repr_html_(self) -> str:
        rows = [(str(step.number), step.kind, step.name, ", ".join([line.op for line in step.ops]),
                 "" if step.bytes is None else f"{step.bytes:,}",
                 "" if step.operations is None else f"{step.operations:,}",
                 "" if step.seconds is None else time_text(step.seconds)) for step in self.steps]
        return notebook.table(("step", "kind", "name", "ops", "bytes", "operations", "time"), rows, _head(self))

    @property
    def counts(self) -> str:
        """The number of steps of each kind: ``3 kernels, 1 host step``."""
        kinds = {"kernel": "kernel", "host": "host step", "op": "op"}
        numbers = {name: sum([step.kind == kind for step in self.steps]) for kind, name in kinds.items()}
        return ", ".join([f"{number} {name}{'s' * (number != 1)}" for name, number in numbers.items() if number]) \
            or "nothing to run"


def _plain(entry: object) -> Any:
    """Dataclasses as dicts, tuples as lists; what is not for people (code that makes texts) is left out."""
    if is_dataclass(entry):
        return {field.name: _plain(getattr(entry, field.name)) for field in fields(entry) if field.repr}
    return [_plain(each) for each in entry] if isinstance(entry, tuple) else entry


# -- text ----------------------------------------------------------------------------------------------------


def _text(found: Explanation) -> str:
    """A block for each step, then the memory of a call, then the machine; no line ends with a space."""
    blocks = [_head(found), *[_step(found, step) for step in found.steps]]
    if found.report.temporaries or found.report.in_place or found.report.panels:
        blocks.append(_memory(found.report))
    if found.limits is not None:
        threads, moved, computed = found.limits
        plural = "s" * (threads != 1)
        blocks.append(f"machine, {threads} thread{plural}: {_giga(moved)} GB/s, {_giga(computed)} GFLOP/s")
    return "\n\n".join(blocks)


def _head(found: Explanation) -> str:
    report = found.report
    bindings = "".join([f", {name}={number}" for name, number in report.bindings])
    seconds = "" if found.seconds is None else f"; {time_text(found.seconds)}"
    return f"{report.name} on {report.transformer}{bindings}: {found.counts}{seconds}"


# -- steps ---------------------------------------------------------------------------------------------------


def _step(found: Explanation, step: Step) -> str:
    parts = [f"step {step.number}: {step.kind} {step.name}"]
    if rates := _rates(found, step):
        parts.append(f"  {rates}")
    if step.kind != "op" or step.ops[0].line is not None:
        parts.append(table([_line(line) for line in step.ops], "  "))
    parts.extend([f"  {note}" for note in step.notes])
    parts.extend([f"  {line.op} is not with its operand: {line.apart}" for line in step.ops if line.apart])
    places = [*[("reads", place) for place in step.reads], *[("writes", place) for place in step.writes]]
    parts.append(table([(verb, *_place(place)) for verb, place in places], "  "))
    for place in step.writes:
        parts.extend([f"  {place.name} is stored: {reason}" for reason in place.reasons if reason != place.name])
    return "\n".join([part for part in parts if part])


def _line(line: Line) -> tuple[str, ...]:
    name = f"{line.op} {line.name}" if line.name else line.op
    return name, line.type, "" if line.file is None else f"{_near(line.file)}:{line.line}", line.scope


def _place(place: Place) -> tuple[str, ...]:
    name = place.name if place.kind in ("result", "update", "constant") else f"{place.kind} {place.name}"
    return name, place.type, f"{_amount(place.bytes)} bytes"


def _rates(found: Explanation, step: Step) -> str:
    """Bytes, operations and time of a step, as far as they are known."""
    rates, parts = found.rates(step), []
    if step.seconds is not None:
        estimated = "" if step.estimated_seconds is None else \
            f", estimated {time_text(step.estimated_seconds)} on one core"
        parts.append(f"{time_text(step.seconds)}{estimated}")
    parts.append(_reached(step.bytes, "byte", rates.bytes_per_second, "GB/s", rates.share_of_bytes))
    parts.append(_reached(step.operations, "operation", rates.operations_per_second, "GFLOP/s",
                          rates.share_of_operations))
    return "; ".join([part for part in parts if part])


def _reached(amount: int | None, what: str, rate: float | None, unit: str, share: float | None) -> str:
    """``4,000 bytes at 2.5 GB/s (20% of the limit)``, as far as it is known."""
    if amount is None:
        return ""
    reached = "" if rate is None else f" at {_giga(rate)} {unit}"
    return f"{amount:,} {what}{'s' * (amount != 1)}{reached}{'' if share is None else f' ({share:.0%} of the limit)'}"


# -- memory --------------------------------------------------------------------------------------------------


def _memory(report: CompilationReport) -> str:
    """The temporaries with their lives and places, and what sharing memory saves."""
    parts = ["memory of a call"]
    rows = [(entry.name, entry.type, f"{_amount(entry.bytes)} bytes",
             f"steps {entry.first} to {entry.last}", "" if entry.offset is None else f"at {entry.offset:,}")
            for entry in report.temporaries]
    if rows:
        parts.append(table(rows, "  "))
        together = "" if report.together_bytes is None else f", {report.together_bytes:,} together"
        parts.append(f"  {_amount(report.apart_bytes)} bytes if each had its own{together}")
    parts.extend([f"  {name} is updated in place" for name in report.in_place])
    parts.extend([f"  {entry.name} is kept between calls: {_amount(entry.bytes)} bytes, packed "
                  f"{entry.runs} time{'s' * (entry.runs != 1)} so far" for entry in report.panels])
    return "\n".join(parts)


# -- words ---------------------------------------------------------------------------------------------------


def _near(file: str) -> str:
    """A file as seen from the current directory, if it is below."""
    here = os.getcwd() + os.sep
    return file.removeprefix(here)


def _amount(number: Count) -> str:
    return f"{number:,}" if isinstance(number, int) else number


def _giga(rate: float) -> str:
    return f"{rate * 1e-9:.3g}"


def time_text(seconds: float) -> str:
    """A time to three digits.

    >>> time_text(0.0000123)
    '12.3 us'
    """
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


__all__ = ["Explanation", "explain", "time_text"]
