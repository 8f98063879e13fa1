"""Measures vector functions and writes their rows of docs/accuracy.md.

    python -m tests.deep.accuracy                        all functions on every float32 number: minutes for each
    python -m tests.deep.accuracy --stride 17 exp log    two functions on one in 17
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.transformers.cpu.math_accuracy import ROWS, Row, doubles
from tests.transformers.cpu.math_harness import exact_parts, on_arrays, ulps

DOCUMENT = Path(__file__).parents[2] / "docs" / "accuracy.md"
HEADING = "## Special functions"
PART = 1 << 14  # fits the cache
PAIRS, DOUBLES = 10_000_000, 20_000

TEXT = f"""# How accurate the cpu transformer's functions are

The greatest error that was found, in units in the last place of the exact result (ULP), the argument where it was
found, and the limit that the tests hold it to. Half a unit is what correct rounding gives. Written by
`python -m tests.deep.accuracy`.

- float32 is compared with float64: on all numbers, denormal and huge ones included, or on a part of them
  (column *tried*); functions of two arguments on {PAIRS:,} random pairs.
- float64 is compared with mpmath at 50 digits: on {DOUBLES:,} numbers of all exponents and of where functions bend.
  At the zeros of lgamma and digamma the units are those of the result, too (claim O80 of `ops.md`).
- Results are the same bits on every vector width, but for the sign and the payload of NaN (claim O14 of `ops.md`).
  NumPy, without a compiler, gives these bits, too (`src/nervure/kernel/math/arrays.py`).
- Denormal arguments and results are not flushed to zero.
- Add, subtract, multiply, divide and fused multiply-add are the processor's, hence correctly rounded.

| function | float32 | limit | tried | float64 | limit |
|---|---|---|---|---|---|
"""


def worst_float32(name: str, row: Row, stride: int) -> str:
    """The greatest error and where it is."""
    function = on_arrays(name, np.float32, 8, row.operands)
    greatest, place = -1.0, ""
    for arguments in _parts(row, stride):
        errors = ulps(function(*arguments), row.reference(*[x.astype(np.float64) for x in arguments]))
        at = int(np.argmax(errors))
        if errors[at] > greatest:
            greatest, place = float(errors[at]), ", ".join([f"{float(x[at]):.9g}" for x in arguments])
    return f"{greatest:.3f} at {place}"


def _parts(row: Row, stride: int) -> Iterator[tuple[np.ndarray, ...]]:
    if row.sample:
        yield from zip(*[np.array_split(x, PAIRS // PART) for x in row.sample(np.float32, PAIRS)])
        return
    for start in range(0, 1 << 32, PART * stride):
        numbers = np.arange(start, min(start + PART * stride, 1 << 32), stride, dtype=np.uint64)
        yield (numbers.astype(np.uint32).view(np.float32),)


def worst_float64(name: str, row: Row) -> str:
    """The greatest error and where it is."""
    arguments = row.sample(np.float64, DOUBLES) if row.sample else (doubles(DOUBLES // 10),)
    got, parts = on_arrays(name, np.float64, 4, row.operands)(*arguments), exact_parts(row.exact, *arguments)
    errors = ulps(got, *parts)
    at = int(np.argmax(errors))
    return f"{errors[at]:.3f} at {', '.join([f'{x[at]:.17g}' for x in arguments])}"


def line(name: str, stride: int) -> str:
    """The row of one function, measured."""
    row = ROWS[name]
    with np.errstate(all="ignore"):
        single, double = worst_float32(name, row, stride), worst_float64(name, row)
    tried = "pairs" if row.sample else f"1 in {stride}" if stride > 1 else "all"
    return f"| {name} | {single} | {row.float32:g} | {tried} | {double} | {row.float64:g} |"


def write(measured: str) -> None:
    """Puts one row in the document, in place of the one that is there."""
    known, heading, others = (DOCUMENT.read_text() if DOCUMENT.exists() else "").partition(HEADING)
    lines = {entry.split()[1]: entry for entry in [*known.splitlines(), measured] if entry.startswith("| ")}
    rows = "".join([f"{lines[entry]}\n" for entry in ROWS if entry in lines])
    DOCUMENT.write_text(TEXT + rows + (f"\n{heading}{others}" if heading else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("functions", nargs="*", default=list(ROWS))
    parser.add_argument("--stride", type=int, default=1, help="try one float32 number in STRIDE")
    options = parser.parse_args()
    for name in options.functions:
        measured = line(name, options.stride)
        print(measured, flush=True)
        write(measured)


if __name__ == "__main__":
    main()
