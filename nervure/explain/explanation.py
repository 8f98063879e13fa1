"""An explanation: the report of an executable, with times if it was run, as an object, as text and as JSON.

>>> from nervure.transformers.report import CompilationReport, Step
>>> step = Step(0, "kernel", "rows", (), (), (), bytes=3_000, operations=100, seconds=1e-6)
>>> found = Explanation(CompilationReport("f", "cpu", (), (step,)), 1.5e-6, Limits(2, 6e9, 1e9))
>>> rates = found.rates(step)
>>> rates.bytes_per_second, rates.share_of_bytes, rates.share_of_operations
(3000000000.0, 0.5, 0.1)
>>> found.to_dict()["steps"][0]["bytes_per_second"]
3000000000.0
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple, NoReturn

from nervure.errors import WrongKind
from nervure.transformers.report import CompilationReport, Limits, Step

_FLOAT32 = 4


class Rates(NamedTuple):
    """What a step reached, and how much of what the machine reached; None where it is not known."""

    bytes_per_second: float | None = None
    operations_per_second: float | None = None
    share_of_bytes: float | None = None
    share_of_operations: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """What nv.explain gives: ``print`` it, read its fields, or take them all by ``to_dict()`` or ``json()``.

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
        """How fast a step was. Operations in types wider than float32 count as so many times more."""
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
        from nervure.explain.text import text_of
        return text_of(self)

    def __repr__(self) -> str:
        return f"<explanation of {self.report.name} on {self.report.transformer}: {self.counts}>"

    @property
    def counts(self) -> str:
        """How many steps of each kind there are: ``3 kernels, 1 host step``."""
        kinds = {"kernel": "kernel", "host": "host step", "op": "op"}
        numbers = {name: sum([step.kind == kind for step in self.steps]) for kind, name in kinds.items()}
        return ", ".join([f"{number} {name}{'s' * (number != 1)}" for name, number in numbers.items() if number]) \
            or "nothing to run"


def _plain(entry: object) -> Any:
    """Dataclasses as dicts, tuples as lists; what is not for people (code that makes texts) is left out."""
    if is_dataclass(entry):
        return {field.name: _plain(getattr(entry, field.name)) for field in fields(entry) if field.repr}
    return [_plain(each) for each in entry] if isinstance(entry, tuple) else entry
