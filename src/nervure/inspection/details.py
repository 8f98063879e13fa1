"""Every detail of a report: a block of text for each step, then the memory of a call, then the machine.

>>> step = StepReport(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
>>> print(details(CompilationReport("f", "cpu", (), (step,)), 1.5e-6, Limits(2, 6e9, 1e9)))
f on cpu: 1 kernel; 1.5 us
<BLANKLINE>
step 0: kernel rows
  1 us; 3,000 bytes at 3 GB/s (50% of the limit); 100 operations at 0.1 GFLOP/s (10% of the limit)
<BLANKLINE>
machine, 2 threads: 6 GB/s, 1 GFLOP/s
"""

from __future__ import annotations

from typing import NamedTuple

from nervure.inspection.distribution import distribution
from nervure.inspection.words import amount, giga, head, machine, op_of, place_of, time_text
from nervure.support.plurals import plural
from nervure.transformers.report import (
    RESOLUTION,
    CompilationReport,
    Limits,
    OpReport,
    StepReport,
    StorageReport,
    table,
)

_FLOAT32 = 4


class Rates(NamedTuple):
    """The rates of a step, and their shares of the machine's; None where they are not known."""

    bytes_per_second: float | None = None
    operations_per_second: float | None = None
    share_of_bytes: float | None = None
    share_of_operations: float | None = None


def rates_of(step: StepReport, limits: Limits | None) -> Rates:
    """Returns the rates of a step. Operations in types wider than float32 count as several of float32.

    >>> step = StepReport(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
    >>> rates = rates_of(step, Limits(2, 6e9, 1e9))
    >>> rates.bytes_per_second, rates.share_of_bytes, rates.share_of_operations
    (3000000000.0, 0.5, 0.1)
    """
    if step.seconds is None or step.seconds <= RESOLUTION:
        return Rates()
    moved = None if step.bytes is None else step.bytes / step.seconds
    computed = None if step.operations is None else step.operations / step.seconds
    if limits is None:
        return Rates(moved, computed)
    of_bytes = None if moved is None else moved / limits.bytes_per_second
    of_operations = None if computed is None else computed * (step.width / _FLOAT32) / limits.operations_per_second
    return Rates(moved, computed, of_bytes, of_operations)


def details(report: CompilationReport, seconds: float | None, limits: Limits | None) -> str:
    """Returns a block for each step of the ``report``, then the memory of a call, then the machine; no line ends with
    a space.
    """
    blocks = [head(report, seconds), *[_step(step, rates_of(step, limits)) for step in report.steps]]
    if report.temporaries or report.in_place or report.panels or report.inside_bytes:
        blocks.append(_memory(report))
    if report.places:
        blocks.append(distribution(report.places, report.exchanges))
    if limits is not None:
        blocks.append(machine(limits))
    return "\n\n".join(blocks)


# -- steps ---------------------------------------------------------------------------------------------------


def _step(step: StepReport, rates: Rates) -> str:
    parts = [f"step {step.number}: {step.kind} {step.name}"]
    if reached := _rates(step, rates):
        parts.append(f"  {reached}")
    if step.kind != "op" or step.ops[0].line is not None:
        parts.append(table([_line(line) for line in step.ops], "  "))
    parts.extend([f"  {note}" for note in step.notes])
    parts.extend([f"  {line.op} is not with its operand: {line.apart}" for line in step.ops if line.apart])
    places = [*[("reads", place) for place in step.reads], *[("writes", place) for place in step.writes]]
    parts.append(table([(verb, *_place(place)) for verb, place in places], "  "))
    for place in step.writes:
        parts.extend([f"  {place.name} is stored: {reason}" for reason in place.reasons if reason != place.name])
    return "\n".join([part for part in parts if part])


def _line(line: OpReport) -> tuple[str, ...]:
    return op_of(line), line.type, place_of(line), line.scope


def _place(place: StorageReport) -> tuple[str, ...]:
    name = place.name if place.kind in ("result", "update", "constant") else f"{place.kind} {place.name}"
    return name, place.type, f"{amount(place.bytes)} bytes"


def _rates(step: StepReport, rates: Rates) -> str:
    """Returns the bytes, operations and time of a step, as far as they are known."""
    parts = []
    if step.seconds is not None:
        estimated = "" if step.estimated_seconds is None else \
            f", estimated {time_text(step.estimated_seconds)} on one core"
        parts.append(f"{time_text(step.seconds)}{estimated}")
    parts.append(_reached(step.bytes, "byte", rates.bytes_per_second, "GB/s", rates.share_of_bytes))
    parts.append(_reached(step.operations, "operation", rates.operations_per_second, "GFLOP/s",
                          rates.share_of_operations))
    return "; ".join([part for part in parts if part])


def _reached(amount: int | None, what: str, rate: float | None, unit: str, share: float | None) -> str:
    """Returns ``4,000 bytes at 2.5 GB/s (20% of the limit)`` for an ``amount``, as far as it is known. Above the limit
    of memory are bytes that a cache gives.
    """
    if amount is None:
        return ""
    reached = "" if rate is None else f" at {giga(rate)} {unit}"
    return f"{amount:,} {plural(amount, what)}{reached}{'' if share is None else f' ({limit_text(share)})'}"


def limit_text(share: float) -> str:
    """Returns the share of a limit that is reached; where that is more than all, the reason.

    >>> limit_text(0.25), limit_text(2.4)
    ('25% of the limit', 'more than the limit: data came from a cache')
    """
    return f"{share:.0%} of the limit" if share <= 1 else "more than the limit: data came from a cache"


# -- memory --------------------------------------------------------------------------------------------------


def _memory(report: CompilationReport) -> str:
    """Returns the temporaries with their lifetimes and places, and the memory saved by sharing."""
    parts = ["memory of a call"]
    rows = [(entry.name, entry.type, f"{amount(entry.bytes)} bytes",
             f"steps {entry.first} to {entry.last}", "" if entry.offset is None else f"at {entry.offset:,}")
            for entry in report.temporaries]
    if rows:
        parts.append(table(rows, "  "))
        together = "" if report.together_bytes is None else f", {report.together_bytes:,} together"
        parts.append(f"  {amount(report.apart_bytes)} bytes if each had its own{together}")
    if report.inside_bytes:
        parts.append(f"  {amount(report.inside_bytes)} bytes inside of branches, loops and sorts")
    parts.extend([f"  {name} is updated in place" for name in report.in_place])
    parts.extend([f"  {entry.name} is made again: {entry.bytes:,} bytes, in some {entry.nanoseconds / 1000:,.0f} us"
                  for entry in report.made_again])
    parts.extend([f"  {entry.name} is kept between calls: {amount(entry.bytes)} bytes, packed "
                  f"{entry.runs} {plural(entry.runs, 'time')} so far" for entry in report.panels])
    return "\n".join(parts)
