"""Measures the functions of ``nv.special`` and writes their rows of docs/accuracy.md.

    python -m tests.deep.special_accuracy                          all rows: a minute or two
    python -m tests.deep.special_accuracy i0 "j0, with zeros"      two rows
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.deep.accuracy import DOCUMENT, HEADING
from tests.front.special_accuracy import ROWS, Row, results

COUNT = 1_000

TEXT = f"""{HEADING}

The greatest error of `nv.special` on the cpu, against mpmath at 50 digits, for {COUNT:,} arguments of each type, drawn
from an interval where people use the function, and the argument where it was found. Written by
`python -m tests.deep.special_accuracy`; a test holds samples to it. The error functions, `lgamma`, `digamma` and
`erf_inv` stand in the table above. Bessel functions and polynomials of an order are measured at one.

- The errors are units in the last place of the exact result. Where the interval has zeros, around which the units are
  small, they are *absolute*.
- float32 of most functions is the rounding of what float64 gives, and so within half a unit and a little (claim A522 of
  `special.md`).
- Complex results have the units of their magnitudes.

| function | arguments | float32 | float64 |
|---|---|---|---|
"""


def worst(row: Row, dtype: type) -> str:
    """The greatest error, and where it is."""
    points = row.points(dtype, COUNT)
    errors = row.errors(results(row, points, "cpu"), *points)
    at = int(np.argmax(errors))
    size = f"absolute {errors[at]:.2g}" if row.is_absolute else f"{errors[at]:.3f}"
    return f"{size} at {', '.join([f'{float(x[at]):.6g}' for x in points])}"


def line(label: str) -> str:
    """The row of the page, measured."""
    row = ROWS[label]
    with np.errstate(all="ignore"):
        return f"| {label} | {row.where} | {worst(row, np.float32)} | {worst(row, np.float64)} |"


def write(measured: dict[str, str]) -> None:
    """Puts rows in the document, in place of those that are there."""
    above, _, below = DOCUMENT.read_text(encoding="utf-8").partition(HEADING)
    known = {entry.split(" | ")[0].removeprefix("| "): entry for entry in below.splitlines() if entry.startswith("| ")}
    known |= measured
    rows = "".join([f"{known[label]}\n" for label in ROWS if label in known])
    DOCUMENT.write_text(above + TEXT + rows, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    for label in parser.parse_args().rows:
        measured = line(label)
        print(measured, flush=True)
        write({label: measured})


if __name__ == "__main__":
    main()
