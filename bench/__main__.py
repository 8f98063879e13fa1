"""``python -m bench [name ...]``: runs the benchmarks of this folder, all or those named, and prints their tables.

A benchmark is a module here with a docstring, which heads its table, and a function ``rows()`` that yields the
rows: dicts from column title to text or number.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent


def benchmark_names() -> list[str]:
    """The modules of this folder, in alphabetical order; an underscore starts a helper's name."""
    return [module.name for module in pkgutil.iter_modules([str(HERE)]) if not module.name.startswith("_")]


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


def main(arguments: list[str] | None = None) -> None:
    """Prints one table per benchmark, each as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Runs benchmarks and prints their tables.")
    known = benchmark_names()
    parser.add_argument("names", nargs="*", metavar="name",
                        help=f"which ones: {', '.join(known)} (all if none is named)")
    names = parser.parse_args(arguments).names or known
    for name in names:
        if name not in known:
            parser.error(f"there is no benchmark {name}; there are {', '.join(known)}")
    for name in names:
        benchmark = importlib.import_module(f"bench.{name}")
        print(f"{name}: {(benchmark.__doc__ or '').strip().splitlines()[0]}", flush=True)
        print(table(benchmark.rows()), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
