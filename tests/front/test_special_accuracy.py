"""The rows of docs/accuracy.md for ``nv.special``: all functions have some, and samples are as near as they say."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import nervure as nv
from tests.conformance.running import DEEP
from tests.front.special_accuracy import CHUNK, ROWS, function_of, results
from tests.project.source import ROOT
from tests.transformers.cpu.math_accuracy import ROWS as OF_NUMBERS

TEXT = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
CELLS = {cells[1].strip(): [cell.strip() for cell in cells[2:5]]
         for cells in [line.split("|") for line in TEXT.partition("## Special")[2].splitlines()] if len(cells) == 6}
"""The arguments and the two errors, by the name of the row."""

SAMPLE = [label for label in ROWS if DEEP or zlib.crc32(label.encode()) % 2 == 0]


def bound(cell: str) -> float:
    """The error that a cell has: ``0.499 at 1.5`` or ``absolute 1e-16 at 1.5``."""
    return float(cell.removeprefix("absolute ").split()[0])


def test_every_function_has_a_row():
    """A522: here, or in the table above."""
    assert {function_of(label) for label in ROWS} == set(nv.special.__all__) - set(OF_NUMBERS)
    assert {label: cells[0] for label, cells in CELLS.items() if label in ROWS} == {
        label: row.where for label, row in ROWS.items()}


def test_float32_is_rounded_well_away_from_zeros():
    """A522: within 8 units in the last place."""
    for label, row in ROWS.items():
        assert all([cell.startswith("absolute ") is row.is_absolute for cell in CELLS[label][1:]])
        assert row.is_absolute or bound(CELLS[label][1]) <= 8, label


@pytest.mark.parametrize("label", SAMPLE)
def test_samples_are_as_near_as_the_page_says(label):
    """A522: the first of the numbers that were measured, computed by the interpreter."""
    row = ROWS[label]
    for dtype, cell in zip((np.float32, np.float64), CELLS[label][1:]):
        points = row.points(dtype, CHUNK)
        with np.errstate(all="ignore"):
            errors = row.errors(results(row, points, "interpreter"), *points)
        slack = np.finfo(dtype).eps if row.is_absolute else 1
        assert np.max(errors) <= 1.1 * bound(cell) + slack, points
