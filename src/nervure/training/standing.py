"""Where a training stands: all that is no tensor, as text and back.

>>> standing = Standing({"examples": 4})
>>> standing.count({"loss": 0.5}, 3)
>>> standing.count({"loss": 1.5}, 1)
>>> standing.means()
{'loss': 0.75}
>>> from_text(standing.text(), "a file") == standing
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from nervure.errors import FormatError
from nervure.training.early_stop import Progressed

Entry = dict[str, float]
"""What is known of an epoch: its number from 1, the steps so far, and means by name."""


@dataclass
class Standing:
    """``epoch`` epochs are complete, and ``batch`` batches of the next one; ``steps`` counts all batches.

    ``sums`` are those of this epoch, over its ``examples`` so far; ``data`` is the kind of the data.
    """

    data: dict[str, int]
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    examples: int = 0
    has_ended: bool = False
    sums: dict[str, float] = field(default_factory=dict)
    history: list[Entry] = field(default_factory=list)
    progressed: Progressed = field(default_factory=Progressed)

    def count(self, means: Mapping[str, float], examples: int) -> None:
        """One more batch of so many examples, with the means over them."""
        for name, value in means.items():
            self.sums[name] = self.sums.get(name, 0.0) + value * examples
        self.examples += examples
        self.batch += 1
        self.steps += 1

    def means(self) -> Entry:
        """The means over this epoch so far."""
        return {name: total / max(self.examples, 1) for name, total in self.sums.items()}

    def finish_epoch(self, validation: Mapping[str, float]) -> Entry:
        """Ends the epoch; returns its entry of the history."""
        self.epoch += 1
        entry = {"epoch": self.epoch, "steps": self.steps, **self.means(),
                 **{f"validation_{name}": value for name, value in validation.items()}}
        self.history.append(entry)
        self.batch, self.examples, self.sums = 0, 0, {}
        return entry

    def text(self) -> str:
        """All of it as JSON, every number to its last bit."""
        return json.dumps(asdict(self))


def from_text(text: str, name: str) -> Standing:
    """The inverse of ``text``; FormatError, naming the file, for anything else."""
    try:
        found = json.loads(text)
        standing = Standing(**{**found, "progressed": Progressed(**found["progressed"])})
        is_sound = _is_sound(standing)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_sound = False
    if not is_sound:
        raise FormatError("where the training stood is damaged", op="fit", operand=name, got=f"{text!r:.80}",
                          help="take another checkpoint")
    return standing


def _is_sound(standing: Standing) -> bool:
    number = (int, float)
    counts = [standing.epoch, standing.batch, standing.steps, standing.examples, standing.progressed.waited]
    best, steps = standing.progressed.best, standing.progressed.steps
    counts += [] if steps is None else [steps]
    return (all([type(count) is int and count >= 0 for count in counts]) and type(standing.has_ended) is bool
            and isinstance(standing.history, list) and (best is None or type(best) is float)
            and all([isinstance(table, dict) and all([isinstance(value, number) for value in table.values()])
                     for table in (standing.data, standing.sums, *standing.history)]))
