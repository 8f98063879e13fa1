"""Measures every vector function and writes docs/accuracy.md.

    python -m tests.deep.accuracy                   every float32 number: some minutes a function
    python -m tests.deep.accuracy --stride 17       one in 17
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.transformers.cpu.math_accuracy import ROWS, Row, doubles
from tests.transformers.cpu.math_harness import exact_parts, on_arrays, ulps

DOCUMENT = Path(__file__).parents[2] / "docs" / "accuracy.md"
PART = 1 << 16  # fits the cache

TEXT = """# How accurate the cpu transformer's functions are

The greatest error that was found, in units in the last place of the exact result (ULP), the argument where it was
found, and the limit that the tests hold it to. Half a unit is what correct rounding would give. Written by
`python -m tests.deep.accuracy{option}`.

- float32: {float32} float32 numbers, denormal and huge ones included, against float64; functions of two arguments:
  {pairs:,} random pairs.
- float64: {float64:,} numbers of all exponents and of the ranges where functions bend, against mpmath with 50 digits.
- Results are the same on every vector width, bit for bit, and denormal results are not flushed to zero.
- Add, subtract, multiply, divide and fused multiply-add are the processor's and correctly rounded.

| function | float32 | limit | float64 | limit |
|---|---|---|---|---|
{rows}
"""


def worst_float32(name: str, row: Row, stride: int, pairs: int) -> str:
    """The greatest error and where it is."""
    function = on_arrays(name, np.float32, 8, row.operands)
    greatest, place = -1.0, ""
    for arguments in _parts(row, stride, pairs):
        errors = ulps(function(*arguments), row.reference(*[x.astype(np.float64) for x in arguments]))
        at = int(np.argmax(errors))
        if errors[at] > greatest:
            greatest, place = float(errors[at]), ", ".join([f"{float(x[at]):.9g}" for x in arguments])
    return f"{greatest:.3f} at {place}"


def _parts(row: Row, stride: int, pairs: int) -> Iterator[tuple[np.ndarray, ...]]:
    if row.sample:
        arguments = row.sample(np.float32, pairs)
        yield from zip(*[np.array_split(x, pairs // PART) for x in arguments])
        return
    for start in range(0, 1 << 32, PART * stride):
        numbers = np.arange(start, min(start + PART * stride, 1 << 32), stride, dtype=np.uint64)
        yield (numbers.astype(np.uint32).view(np.float32),)


def worst_float64(name: str, row: Row, count: int) -> str:
    """The greatest error and where it is."""
    arguments = row.sample(np.float64, count) if row.sample else (doubles(count // 10),)
    errors = ulps(on_arrays(name, np.float64, 4, row.operands)(*arguments), *exact_parts(row.exact, *arguments))
    at = int(np.argmax(errors))
    return f"{errors[at]:.3f} at {', '.join([f'{x[at]:.17g}' for x in arguments])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stride", type=int, default=1, help="try one float32 number in so many")
    parser.add_argument("--count", type=int, default=20_000, help="how many float64 numbers")
    options = parser.parse_args()
    rows, pairs = [], 10_000_000
    for name, row in ROWS.items():
        with np.errstate(all="ignore"):
            single = worst_float32(name, row, options.stride, pairs)
            double = worst_float64(name, row, options.count)
        rows.append(f"| {name} | {single} | {row.float32:g} | {double} | {row.float64:g} |")
        print(rows[-1], flush=True)
    option = f" --stride {options.stride}" if options.stride > 1 else ""
    density = f"one in {options.stride} of all" if options.stride > 1 else "all"
    DOCUMENT.write_text(TEXT.format(option=option, float32=density, pairs=pairs, float64=options.count,
                                    rows="\n".join(rows)))


if __name__ == "__main__":
    main()
