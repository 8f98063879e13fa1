"""The position of a training: everything except the model's tensors, as text and arrays, and back.

>>> from nervure.training.readings import BatchReading
>>> standing = Standing({"examples": 4})
>>> for loss, count in ((0.5, 3), (1.5, 1)):
...     standing.count(BatchReading({"loss": loss}, {"loss": count}, {}, {}), ())
>>> standing.tally.means()
{'loss': 0.75}
>>> from_text(standing.text(), standing.arrays(), "a file").text() == standing.text()
True
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

import numpy as np

from nervure.errors import FormatError
from nervure.files.state_dict import OF_EPOCH
from nervure.training.early_stop import Progressed
from nervure.training.readings import BatchReading, Entry, Parts, Tally, Whole


@dataclass
class Standing:
    """The position: ``epoch`` epochs are complete, and ``batch`` batches of the next one; ``steps`` counts all
    batches.

    ``tally`` holds the readings of this epoch, and ``data`` the kind of the data. ``seen`` is a number that follows
    from the last batch, if a checkpoint was written after it. ``callbacks`` are the states of callbacks by name.
    """

    data: dict[str, int]
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    has_ended: bool = False
    seen: int | None = None
    history: list[Entry] = field(default_factory=list)
    progressed: Progressed = field(default_factory=Progressed)
    callbacks: dict[str, dict[str, object]] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)

    def count(self, reading: BatchReading, wholes: Sequence[Whole]) -> None:
        """Counts one more batch."""
        self.tally.count(reading, wholes)
        self.batch += 1
        self.steps += 1
        self.seen = None

    def finish_epoch(self, own: Mapping[str, float], validation: Mapping[str, float]) -> Entry:
        """Ends the epoch; returns its entry of the history."""
        self.epoch += 1
        entry = {"epoch": self.epoch, "steps": self.steps, **own,
                 **{f"validation_{name}": value for name, value in validation.items()}}
        self.history.append(entry)
        self.batch, self.seen, self.tally = 0, None, Tally()
        return entry

    def text(self) -> str:
        """Returns all of it but arrays as JSON, every number to its last bit."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "tally"}
        tally = self.tally
        counts = {name: [None if pieces is None else len(pieces) for pieces in parts]
                  for name, parts in tally.parts.items()}
        return json.dumps({**own, "progressed": asdict(self.progressed), "sums": tally.sums, "amounts": tally.amounts,
                           "rates": tally.rates, "parts": counts})

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the data that metrics of whole epochs have collected; no key of a state dict starts like the names.
        """
        return {f"{OF_EPOCH}{name}.{at}.{number}": piece for name, parts in self.tally.parts.items()
                for at, pieces in enumerate(parts) for number, piece in enumerate(pieces or ())}


def from_text(text: str, arrays: Mapping[str, np.ndarray], name: str) -> Standing:
    """Reads the result of ``text`` and ``arrays`` back; FormatError, which names the file, for anything else."""
    try:
        found = json.loads(text)
        parts = {metric: _parts(metric, counts, arrays) for metric, counts in found.pop("parts").items()}
        tally = Tally(found.pop("sums"), found.pop("amounts"), found.pop("rates"), parts)
        standing = Standing(**{**found, "progressed": Progressed(**found["progressed"]), "tally": tally})
        is_sound = _is_sound(standing)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_sound = False
    if not is_sound:
        raise FormatError("where the training stood is damaged", op="fit", operand=name, got=f"{text!r:.80}",
                          help="take another checkpoint")
    return standing


def _parts(metric: str, counts: Sequence[int | None], arrays: Mapping[str, np.ndarray]) -> Parts:
    """Returns the pieces of a metric: ``counts`` gives their number for each array, None for an absent one."""
    return [None if count is None else [arrays[f"{OF_EPOCH}{metric}.{at}.{number}"] for number in range(count)]
            for at, count in enumerate(counts)]


def _is_sound(standing: Standing) -> bool:
    best, steps, tally = standing.progressed.best, standing.progressed.steps, standing.tally
    counts = [standing.epoch, standing.batch, standing.steps, standing.progressed.waited]
    counts += [] if steps is None else [steps]
    return all([
        all([type(count) is int and count >= 0 for count in counts]),
        type(standing.has_ended) is bool,
        best is None or type(best) is float,
        standing.seen is None or type(standing.seen) is int,
        _maps_to(standing.callbacks, lambda state: isinstance(state, dict)),
        all([_maps_to(table, _is_number) for table in (standing.data, tally.sums, tally.amounts, tally.rates)]),
        isinstance(standing.history, list) and all([_maps_to(entry, _is_value) for entry in standing.history]),
    ])


def _maps_to(table: object, fits: Callable[[object], bool]) -> bool:
    """Whether a table is a dict all of whose values fit."""
    return isinstance(table, dict) and all([fits(value) for value in table.values()])


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _is_value(value: object) -> bool:
    """Whether a value may be in a history: a number, or nested lists of numbers."""
    return all([_is_value(entry) for entry in value]) if isinstance(value, list) else _is_number(value)
