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
from typing import Any, NoReturn, Protocol, runtime_checkable

from nervure.computation import Computation
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front import display
from nervure.front.argument_parsing import integer
from nervure.inspection.details import Rates, details, rates_of
from nervure.inspection.first_screen import first_screen
from nervure.inspection.trace import trace_text
from nervure.inspection.words import counts, head, time_text
from nervure.jit import Jitted
from nervure.support.atomic_file import replace_file
from nervure.transformers.base import Executable
from nervure.transformers.report import CompilationReport, Exchange, Limits, PlaceReport, StepReport


@runtime_checkable
class Model(Protocol):
    """An object that reads its arguments itself, such as the result of ``nv.build``."""

    def explained(self, *arguments: object) -> tuple[Executable, Sequence[object] | None]:
        """Returns the executable to show, and its arguments; None if these are left open."""


def explain(computation: object, *arguments: object, repeat: int = 20, **keywords: object) -> Explanation:
    """Explains a computation, a jitted function (with the arguments of a call), the forward part of a model, or an
    executable.

    With arguments every size is a number, and the steps are timed: each alone, in order, medians over ``repeat`` runs
    (0: not at all). No variable is changed by that, but host calls and prints happen in every run. Without arguments
    the structure is shown for all sizes. ``print`` it, or read its fields; ``json()`` has all of them.

    >>> x = nv.placeholder("N=1000")
    >>> found = nv.explain(nv.computation(nv.sum(nv.exp(x)), x), np.zeros(1000), repeat=0)
    >>> len(found.steps) > 0, found.seconds is None
    (True, True)
    """
    repeat = integer(repeat, "explain", "repeat", "how often the steps are run", help="0 shows sizes without times",
                     least=0)
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
    """Returns the executable, and its arguments; None if they are left open."""
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
    raise WrongKind("this cannot be explained", op="explain", got=shown(computation),
                    expected="a computation, a jitted function, a model or an executable",
                    help="nv.computation(returns, *parameters), nv.build(out) and nv.jit(function) make such")


def _refuse(keywords: dict[str, object]) -> None:
    if keywords:
        raise InvalidArgument(f"explain has no option {next(iter(keywords))}", op="explain", got=", ".join(keywords),
                              expected="repeat, feed_dict", help="a jitted function takes its arguments by name, too")


@dataclass(frozen=True, repr=False)
class Explanation:
    """The result of nv.explain: ``print`` it, read its fields, or take them all by ``to_dict()`` or ``json()``.

    ``seconds`` is the time of all steps together, ``limits`` the measured rates of the machine.

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
    def steps(self) -> tuple[StepReport, ...]:
        """The steps that run, in order."""
        return self.report.steps

    @property
    def kernels(self) -> tuple[StepReport, ...]:
        """The steps that are native code; their ``text``, ``llvm`` and ``assembly`` show it."""
        return tuple([step for step in self.steps if step.kind == "kernel"])

    @property
    def places(self) -> tuple[PlaceReport, ...]:
        """The places of arguments, variables and results on a mesh; none on one device."""
        return self.report.places

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges between the devices of a mesh in a call; an operation inside of a loop counts once."""
        return self.report.exchanges

    def rates(self, step: StepReport) -> Rates:
        """Returns the rates of a step. Operations in types wider than float32 count as several of float32.

        >>> step = StepReport(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
        >>> rates = Explanation(CompilationReport("f", "cpu", (), (step,)), 1.5e-6, Limits(2, 6e9, 1e9)).rates(step)
        >>> rates.bytes_per_second, rates.share_of_bytes, rates.share_of_operations
        (3000000000.0, 0.5, 0.1)
        """
        return rates_of(step, self.limits)

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as dicts, lists, texts and numbers; None for unknown values."""
        steps = [{**_plain(step), **self.rates(step)._asdict()} for step in self.steps]
        limits = None if self.limits is None else self.limits._asdict()
        return {**_plain(self.report), "bindings": dict(self.report.bindings), "steps": steps,
                "seconds": self.seconds, "machine": limits}

    def json(self, indent: int | None = 2) -> str:
        """Returns the same as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def details(self) -> str:
        """Describes every step: its ops, its inputs and outputs, and the reasons; then the memory of a call, and the
        machine.

        >>> x = nv.placeholder("N=1000")
        >>> "writes" in nv.explain(nv.computation(x * 2, x)).details()
        True
        """
        return details(self.report, self.seconds, self.limits)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the times of the steps, one after the other, for about:tracing in Chrome, or ui.perfetto.dev. Raises
        InvalidArgument if nothing was timed.

        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> x = nv.placeholder("N=1000")
        >>> with nv.transformers.make_transformer("cpu") as cpu:
        ...     found = nv.explain(cpu.computation(x * 2, x), np.zeros(1000), repeat=1)
        >>> found.save_trace(f"{folder.name}/trace.json")
        """
        if self.seconds is None:
            raise InvalidArgument("there are no times to show", op="save_trace", got="an explanation without times",
                                  expected="one with times", help="nv.explain(computation, *arguments) runs it")
        replace_file(os.fspath(path), [trace_text(self.report).encode()])

    def __str__(self) -> str:
        return first_screen(self.report, self.seconds, self.limits)

    def __repr__(self) -> str:
        return f"<explanation of {self.report.name} on {self.report.transformer}: {self.counts}>"

    def _repr_html_(self) -> str:
        rows = [(str(step.number), step.kind, step.name, ", ".join([line.op for line in step.ops]),
                 "" if step.bytes is None else f"{step.bytes:,}",
                 "" if step.operations is None else f"{step.operations:,}",
                 "" if step.seconds is None else time_text(step.seconds)) for step in self.steps]
        title = head(self.report, self.seconds)
        return display.table(("step", "kind", "name", "ops", "bytes", "operations", "time"), rows, title)

    @property
    def counts(self) -> str:
        """The number of steps of each kind: ``3 kernels, 1 host step``."""
        return counts(self.report)


def _plain(entry: object) -> Any:
    """Returns dataclasses as dicts, tuples as lists; parts that are not for people (code that makes texts) are left
    out.
    """
    if is_dataclass(entry):
        return {field.name: _plain(getattr(entry, field.name)) for field in fields(entry) if field.repr}
    return [_plain(each) for each in entry] if isinstance(entry, tuple) else entry


__all__ = ["Explanation", "explain"]
