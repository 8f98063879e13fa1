"""Texts in reports: times, counts, files.

>>> time_text(0.0000123)
'12.3 us'
"""

from __future__ import annotations

import os

from nervure.support.plurals import plural
from nervure.transformers.report import CompilationReport, Count, Limits, OpReport


def head(report: CompilationReport, seconds: float | None) -> str:
    """Returns ``computation on cpu, n=64: 3 kernels; 1.2 ms``, as far as it is known."""
    bindings = "".join([f", {name}={number}" for name, number in report.bindings])
    time = "" if seconds is None else f"; {time_text(seconds)}"
    return f"{report.name} on {report.transformer}{bindings}: {counts(report)}{time}"


def counts(report: CompilationReport) -> str:
    """Returns the number of steps of each kind: ``3 kernels, 1 host step``."""
    kinds = {"kernel": "kernel", "region": "region", "host": "host step", "op": "op"}
    numbers = {name: sum([step.kind == kind for step in report.steps]) for kind, name in kinds.items()}
    return ", ".join([f"{number} {plural(number, name)}" for name, number in numbers.items() if number]) \
        or "nothing to run"


def near(file: str) -> str:
    """Returns a file relative to the current directory, if it is below."""
    return file.removeprefix(os.getcwd() + os.sep)


def op_of(line: OpReport) -> str:
    """Returns the kind and the name of an op."""
    return f"{line.op} {line.name}" if line.name else line.op


def place_of(line: OpReport) -> str:
    """Returns the file and line of an op, as far as they are known."""
    return "" if line.file is None else f"{near(line.file)}:{line.line}"


def machine(limits: Limits) -> str:
    """Returns ``machine, 2 threads: 53.5 GB/s, 515 GFLOP/s``."""
    threads, moved, computed = limits
    return f"machine, {threads} {plural(threads, 'thread')}: {giga(moved)} GB/s, {giga(computed)} GFLOP/s"


def amount(number: Count) -> str:
    """Returns a number with separators; an expression over symbols as it is."""
    return f"{number:,}" if isinstance(number, int) else number


def giga(rate: float) -> str:
    """Returns a rate in billions, to three digits."""
    return f"{rate * 1e-9:.3g}"


def time_text(seconds: float) -> str:
    """Returns a time to three digits.

    >>> time_text(0.0000123)
    '12.3 us'
    """
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
