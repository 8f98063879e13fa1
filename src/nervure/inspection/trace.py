"""A trace of a call, in the format that Chrome's about:tracing and Perfetto open: a bar for each step.

The times are the medians of the steps, one after the other; an event has the step's own description.

>>> step = StepReport(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
>>> event, = events(CompilationReport("f", "cpu", (), (step,)))
>>> event["name"], event["ph"], event["ts"], event["dur"]
('rows', 'X', 0.0, 1.0)
"""

from __future__ import annotations

import json

from nervure.inspection.words import op_of, place_of
from nervure.transformers.report import CompilationReport, StepReport

_MICROSECONDS = 1e6


def trace_text(report: CompilationReport) -> str:
    """Returns the trace as JSON; the caller raises InvalidArgument if nothing was timed."""
    return json.dumps({"traceEvents": events(report), "displayTimeUnit": "ns"}, indent=1)


def events(report: CompilationReport) -> list[dict[str, object]]:
    """Returns an event for each step that has a time, in microseconds from the start of the call."""
    found: list[dict[str, object]] = []
    start = 0.0
    for step in report.steps:
        if step.seconds is not None:
            found.append({"name": _name(step), "cat": step.kind, "ph": "X", "ts": start * _MICROSECONDS,
                          "dur": step.seconds * _MICROSECONDS, "pid": report.name, "tid": report.transformer,
                          "args": _told(step)})
            start += step.seconds
    return found


def _name(step: StepReport) -> str:
    return step.name if step.main is None else op_of(step.main)


def _told(step: StepReport) -> dict[str, object]:
    line = step.main
    return {"step": step.number, "kernel": step.name, "ops": ", ".join([entry.op for entry in step.ops]),
            "module": "" if line is None else line.scope, "line": "" if line is None else place_of(line),
            "bytes": step.bytes, "operations": step.operations,
            "backward": line is not None and line.is_derivative}
