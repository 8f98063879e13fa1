"""An explanation as text: a block for each step, then the memory of a call, then the machine.

>>> print(_table([("Exp", "f32[4]", "a.py:1"), ("Multiply", "f32[]", "")], "  "))
  Exp       f32[4]  a.py:1
  Multiply  f32[]
>>> _time(0.0123), _time(1.5e-6), _amount(1234), _amount("4*N")
('12.3 ms', '1.5 us', '1,234', '4*N')
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from nervure.explain.explanation import Explanation
from nervure.transformers.report import CompilationReport, Count, Line, Place, Step


def text_of(found: Explanation) -> str:
    """The text, of lines without spaces at their ends."""
    blocks = [_head(found), *[_step(found, step) for step in found.steps]]
    if found.report.temporaries or found.report.in_place:
        blocks.append(_memory(found.report))
    if found.limits is not None:
        threads, moved, computed = found.limits
        plural = "s" * (threads != 1)
        blocks.append(f"machine, {threads} thread{plural}: {_giga(moved)} GB/s, {_giga(computed)} GFLOP/s")
    return "\n\n".join(blocks)


def _head(found: Explanation) -> str:
    report = found.report
    bindings = "".join([f", {name}={number}" for name, number in report.bindings])
    seconds = "" if found.seconds is None else f"; {_time(found.seconds)}"
    return f"{report.name} on {report.transformer}{bindings}: {found.counts}{seconds}"


# -- steps ---------------------------------------------------------------------------------------------------


def _step(found: Explanation, step: Step) -> str:
    parts = [f"step {step.number}: {step.kind} {step.name}"]
    if rates := _rates(found, step):
        parts.append(f"  {rates}")
    if step.kind != "op" or step.ops[0].line is not None:
        parts.append(_table([_line(line) for line in step.ops], "  "))
    parts.extend([f"  {line.op} is not with its operand: {line.apart}" for line in step.ops if line.apart])
    places = [*[("reads", place) for place in step.reads], *[("writes", place) for place in step.writes]]
    parts.append(_table([(verb, *_place(place)) for verb, place in places], "  "))
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
        estimated = "" if step.estimated_seconds is None else f", estimated {_time(step.estimated_seconds)} on one core"
        parts.append(f"{_time(step.seconds)}{estimated}")
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
        parts.append(_table(rows, "  "))
        together = "" if report.together_bytes is None else f", {report.together_bytes:,} together"
        parts.append(f"  {_amount(report.apart_bytes)} bytes if each had its own{together}")
    parts.extend([f"  {name} is updated in place" for name in report.in_place])
    return "\n".join(parts)


# -- words ---------------------------------------------------------------------------------------------------


def _table(rows: Sequence[tuple[str, ...]], indent: str) -> str:
    """Rows in columns as wide as they need."""
    widths = [max([len(cell) for cell in column]) for column in zip(*rows, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return "\n".join([(indent + "  ".join(cells)).rstrip() for cells in padded])


def _near(file: str) -> str:
    """A file as seen from the current directory, if it is below."""
    here = os.getcwd() + os.sep
    return file.removeprefix(here)


def _amount(number: Count) -> str:
    return f"{number:,}" if isinstance(number, int) else number


def _giga(rate: float) -> str:
    return f"{rate * 1e-9:.3g}"


def _time(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
