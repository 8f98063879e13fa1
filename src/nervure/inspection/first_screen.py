"""The first screen of an explanation: the most expensive parts, and the needs of a call.

It has the ten slowest steps, the times of the ten slowest modules, forward and backward separately, the memory of a
call and the share of the machine's limit that it reaches. If nothing was timed, estimates of the time model replace
the times.

>>> import nervure as nv
>>> x = nv.placeholder({"N": 4, "F": 8}).named("x")
>>> with nv.transformers.make_transformer("interpreter") as interpreter, nv.name_scope("head"):
...     found = nv.explain(interpreter.computation(nv.exp(x), x))
>>> print(first_screen(found.report, None, None))                  # doctest: +ELLIPSIS
computation on interpreter: 1 op
<BLANKLINE>
step  ops  where
0     Exp  head ...:2
<BLANKLINE>
memory of a call: 128 bytes: 128 of arguments
details() shows every step: its ops, what it reads and writes, and why
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nervure.inspection.details import limit_text, rates_of
from nervure.inspection.distribution import distribution
from nervure.inspection.words import head, machine, place_of, time_text
from nervure.support.plurals import plural
from nervure.transformers.report import RESOLUTION, CompilationReport, Limits, StepReport, table

MOST = 10
"""Rows of a table on the first screen."""


def first_screen(report: CompilationReport, seconds: float | None, limits: Limits | None) -> str:
    """Returns the first screen of a report; ``seconds`` is the time of a call, ``limits`` are the machine's."""
    times = _Times.of(report, seconds)
    parts = [head(report, seconds), _slowest(report, times)]
    if times is not None:
        parts += [_by_module(report, times), _by_direction(report, times)]
    parts.append(distribution(report.places, report.exchanges, MOST))
    last = [_memory(report)]
    if limits is not None:
        last.append(_machine(report, seconds, limits))
    last.append("details() shows every step: its ops, what it reads and writes, and why")
    return "\n\n".join([*[part for part in parts if part], "\n".join([part for part in last if part])])


# -- times ---------------------------------------------------------------------------------------------------


class _Times(NamedTuple):
    """Seconds of each step of a report, measured or estimated; ``together`` is their sum."""

    what: str
    steps: Mapping[int, float]
    together: float

    @staticmethod
    def of(report: CompilationReport, seconds: float | None) -> _Times | None:
        """Returns the times of a report; None without sizes."""
        is_timed = seconds is not None
        found = {step.number: step.seconds if is_timed else step.estimated_seconds for step in report.steps}
        known = {number: time for number, time in found.items() if time is not None}
        return _Times("time" if is_timed else "estimated", known, sum(known.values())) if known else None

    def share(self, seconds: float) -> str:
        """Returns a part of the whole in percent."""
        return f"{seconds / self.together:.0%}" if self.together else ""


def _slowest(report: CompilationReport, times: _Times | None) -> str:
    """Returns the slowest steps; the first ones, if no time is known."""
    if not report.steps:
        return ""
    if times is None:
        first = [(str(step.number), _ops(step), _where(step)) for step in report.steps[:MOST]]
        return table([("step", "ops", "where"), *first]) + _more(report.steps)
    order = sorted(report.steps, key=lambda step: -times.steps.get(step.number, 0.0))
    chosen = [(step, times.steps.get(step.number, 0.0)) for step in order[:MOST]]
    rows = [(str(step.number), time_text(seconds), times.share(seconds), _ops(step), _where(step))
            for step, seconds in chosen]
    return table([("step", times.what, "share", "ops", "where"), *rows], right=(1, 2)) + _more(order)


def _more(rows: Sequence[object]) -> str:
    return f"\nand {len(rows) - MOST} more" if len(rows) > MOST else ""


def _by_module(report: CompilationReport, times: _Times) -> str:
    """Returns the times of steps by the module, or name scope, of their main op."""
    sums = _summed(report, times, lambda step: step.main.scope if step.main is not None else "")
    if set(sums) <= {""}:
        return ""
    rows = [(name or "(no module)", time_text(seconds), times.share(seconds))
            for name, seconds in sorted(sums.items(), key=lambda entry: -entry[1])]
    return table([("module", times.what, "share"), *rows[:MOST]], right=(1, 2)) + _more(rows)


def _by_direction(report: CompilationReport, times: _Times) -> str:
    """Returns the times of the forward and the backward part, if there are both."""
    sums = _summed(report, times, lambda step: "backward" if step.main and step.main.is_derivative else "forward")
    return ", ".join([f"{name} {time_text(sums[name])} ({times.share(sums[name])})" for name in ("forward", "backward")]
                     ) if "backward" in sums and "forward" in sums else ""


def _summed(report: CompilationReport, times: _Times, name: Callable[[StepReport], str]) -> Mapping[str, float]:
    sums: defaultdict[str, float] = defaultdict(float)
    for step in report.steps:
        if step.number in times.steps:
            sums[name(step)] += times.steps[step.number]
    return sums


def _ops(step: StepReport) -> str:
    """Returns the main op of a step with the number of its other ops, or the name of a step that only moves memory."""
    if step.main is None:
        return step.name
    others = len(step.ops) - 1
    return f"{step.main.op} and {others} {plural(others, 'other')}" if others else step.main.op


def _where(step: StepReport) -> str:
    line = step.main
    if line is None:
        return ""
    return " ".join([part for part in (line.scope, place_of(line), "backward" if line.is_derivative else "") if part])


# -- memory and machine --------------------------------------------------------------------------------------


def _memory(report: CompilationReport) -> str:
    """Returns the bytes that a call needs at most, with their purposes; nothing if a size is a symbol."""
    amounts: dict[str, int] = {}
    places = {(place.kind, place.name, place.type, place.storage): place for step in report.steps
              for place in (*step.reads, *step.writes) if not place.is_in_place}
    for place in places.values():
        if place.kind in ("argument", "variable", "constant", "result", "update"):
            if not isinstance(place.bytes, int):
                return ""
            amounts[f"{place.kind}s"] = amounts.get(f"{place.kind}s", 0) + place.bytes
    kept = [panel.bytes for panel in report.panels if isinstance(panel.bytes, int)]
    inside = report.inside_bytes
    if not isinstance(inside, int):
        return ""
    amounts |= {"temporaries": report.together_bytes or 0, "branches, loops and sorts": inside,
                "packed panels": sum(kept)}
    parts = ", ".join([f"{size:,} of {name}" for name, size in amounts.items() if size])
    again = report.made_again
    more = f"\nmade again: {len(again)} {plural(len(again), 'value')} of {sum([entry.bytes for entry in again]):,} " \
           f"bytes, in some {sum([entry.nanoseconds for entry in again]) / 1000:,.0f} us" if again else ""
    return f"memory of a call: {sum(amounts.values()):,} bytes: {parts}{more}" if parts else ""


def _machine(report: CompilationReport, seconds: float | None, limits: Limits) -> str:
    """Returns the limits of the machine, and the share of them that a call reaches. The share is the time that moving
    bytes or computing, the slower of the two for each step, takes at the limit.
    """
    rates = [(rates_of(step, limits), step.seconds or 0.0) for step in report.steps]
    least = sum([max(each.share_of_bytes or 0.0, each.share_of_operations or 0.0) * time for each, time in rates])
    if seconds is None or seconds <= RESOLUTION:
        return machine(limits)
    return f"{machine(limits)}: a call reaches {limit_text(least / seconds)}"

