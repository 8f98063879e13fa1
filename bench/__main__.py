"""``python -m bench [name [option ...]]``: runs the benchmark named, or all that need no options.

A benchmark is a module here with a docstring, whose first line heads its table, and either a function ``rows()`` that
yields the rows, dicts from column title to text or number, or a function ``main(options)`` that prints by itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping

WITHOUT_OPTIONS = ("extremes", "scaling", "startup", "workloads")
BENCHMARKS = ("against", *WITHOUT_OPTIONS, "orders", "torch", "tune", "xla", "gpu")


def table(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as aligned text, the first column to the left and the others to the right."""
    lines = [dict(row) for row in rows]
    if not lines:
        return "(no rows)"
    titles = list(lines[0])
    cells = [titles, *([str(line.get(title, "")) for title in titles] for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    return "\n".join("  ".join(cell.rjust(width) if column else cell.ljust(width)
                               for column, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
                     for row in cells)


def run(name: str, options: list[str]) -> None:
    """Prints one benchmark's table."""
    benchmark = importlib.import_module(f"bench.{name}")
    print(f"{name}: {(benchmark.__doc__ or '').strip().splitlines()[0]}", flush=True)
    if hasattr(benchmark, "main"):
        benchmark.main(options)
    elif options:
        sys.exit(f"{name} takes no options")
    else:
        print(table(benchmark.rows()))
    print(flush=True)


def main(arguments: list[str]) -> None:
    """All benchmarks, or the one named with its options."""
    if not arguments:
        for name in WITHOUT_OPTIONS:
            run(name, [])
        return
    name, *options = arguments
    if name not in BENCHMARKS:
        sys.exit(f"usage: python -m bench [name [option ...]], where name is one of {', '.join(BENCHMARKS)}")
    run(name, options)


if __name__ == "__main__":
    main(sys.argv[1:])
