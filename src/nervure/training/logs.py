"""Logs of a training: its history as CSV, as JSON, and as a plot.

>>> history = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25, "validation_loss": 0.5}]
>>> print(as_csv(history), end="")
epoch,loss,validation_loss
1,0.5,
2,0.25,0.5
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Sequence

from nervure import processes
from nervure.errors import InvalidArgument, NotSupported
from nervure.support.atomic_file import file_name, replace_file
from nervure.training.readings import Entry, is_measure

History = Sequence[Entry]


def write_logs(folder: str, history: History) -> None:
    """Writes ``history.csv`` and ``history.json``, each atomically."""
    for name, text in (("history.csv", as_csv(history)), ("history.json", as_json(history))):
        replace_file(os.path.join(folder, name), [text.encode()])


def as_csv(history: History) -> str:
    """Returns the history as CSV: a line for each epoch below the names of all columns."""
    names = dict.fromkeys([name for entry in history for name in entry])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    return text.getvalue()


def as_json(history: History) -> str:
    """Returns the history as JSON: an object for each epoch, with null for numbers that are not finite, which JSON
    lacks.

    >>> print(as_json([{"epoch": 1, "loss": math.nan}]))
    [
      {"epoch": 1, "loss": null}
    ]
    """
    rows = [json.dumps({name: _finite(value) for name, value in entry.items()}) for entry in history]
    return "[\n  " + ",\n  ".join(rows) + "\n]" if rows else "[]"


def _finite(value: object) -> object:
    """Returns a number, or nested lists of numbers, with None for those that are not finite."""
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def plot(history: History, path: str | os.PathLike[str], title: str = "") -> None:
    """Plots losses and metrics by epoch to ``path``, whose extension names the format. It needs matplotlib. In a job
    of several processes the first one writes the file.

    >>> nv.training.plot([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}], "history.png")
    """
    name = file_name(path, "plot", help='as in nv.training.plot(history, "history.png")')
    if not history:
        raise InvalidArgument("there is nothing to plot", op="plot", operand="history", got="no epochs",
                              expected="an epoch or more", help="trainer.fit(...) returns a history")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NotSupported("plots are made by matplotlib, which is not installed", op="plot",
                           got="no module matplotlib", expected="matplotlib",
                           help="pip install 'nervure[train]'") from None
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.subplots()
    left.set(title=title, xlabel="epoch", ylabel="loss")
    right = left.twinx()
    for color, kind in enumerate(dict.fromkeys([name.removeprefix("validation_") for entry in history
                                                for name in entry if is_measure(name, entry[name])])):
        for column, style in ((kind, "-"), (f"validation_{kind}", "--")):
            points = [(entry["epoch"], entry[column]) for entry in history if column in entry]
            if points:
                (left if kind == "loss" else right).plot(*zip(*points, strict=True), style, color=f"C{color}",
                                                         label=column.replace("_", " "))
    figure.legend(loc="outside lower center", ncols=4)
    if processes.index() == 0:
        figure.savefig(name, dpi=120)
