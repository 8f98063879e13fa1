"""Workloads against every installed peer, each in a process of its own, in turns.

``python -m bench workloads [name ...]`` measures the problems whose names contain one of the words: all without a
word. ``--markdown PAGE`` puts the table at the end of a page, ``--json FILE`` keeps all figures. A quick trial is
``--scale 0.01 --transformer interpreter --rounds 1``.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

import bench.chains
import bench.compiled_models
import bench.convolutions
import bench.decayed
import bench.images
import bench.patterns
import bench.products
import bench.steps  # noqa: F401  # their problems are listed
from bench import report
from bench.contenders import FRAMEWORKS
from bench.machine import describe
from bench.problems import PROBLEMS, Problem
from bench.rounds import UNHELD, Settings, installed, measure


def chosen_problems(words: list[str], table: str = Problem.table) -> list[str]:
    """The problems of a table whose names contain a word, in the order of the table; all without words.

    >>> chosen_problems(["softmax", "adam"])
    ['softmax', 'softmax_gradient', 'adam', 'masked_softmax', 'softmax_causal', 'adam_decayed']
    """
    known = [name for name, problem in PROBLEMS.items() if problem.table == table]
    unknown = [word for word in words if not any(word in name for name in known)]
    if unknown:
        raise SystemExit(f"no workload is called {unknown[0]}; there are {', '.join(known)}")
    return [name for name in known if not words or any(word in name for word in words)]


def parse(arguments: list[str], table: str) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {table}", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("words", nargs="*", metavar="name", help=f"which ones: {', '.join(chosen_problems([], table))}")
    parser.add_argument("--transformer", default="cpu", help="ours (default cpu)")
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS), help="only these (default: all installed)")
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument("--threads", type=int, default=Settings.threads)
    parser.add_argument("--avx2", action="store_true", help="all without AVX-512; ONNX Runtime, with no switch, rests")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of a row: no round begins later")
    parser.add_argument("--scale", type=float, default=1.0, help="sizes in proportion, for trials")
    parser.add_argument("--markdown", type=Path, metavar="PAGE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments: list[str], table: str = Problem.table) -> None:
    """Measures and prints a table; each row on the standard error as soon as it is there."""
    options = parse(arguments, table)
    problems = chosen_problems(options.words, table)
    settings = Settings(options.rounds, options.threads, options.scale, options.transformer, options.avx2,
                        options.limit)
    frameworks = [name for name in options.frameworks.split(",") if not (options.avx2 and name in UNHELD)]
    found, missing = installed(frameworks, settings)
    head = report.Head(" ".join([f"python -m bench {table}", *arguments]), f"{datetime.date.today()}", describe(),
                       settings, {name: entry["version"] for name, entry in found.items()}, missing)
    results = []
    try:
        for problem in problems:
            contenders = list(found) if problem == "import" else [
                f"{name}.{setting}" for name in found for setting in found[name]["settings"].get(problem, [])]
            results.append(measure(problem, contenders, settings))
            print(" | ".join(report.row(results[-1])), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the table has what was measured so far", file=sys.stderr)
    text = report.markdown(head, results)
    print(text)
    if options.markdown:
        page = options.markdown.read_text(encoding="utf-8") if options.markdown.exists() else ""
        options.markdown.write_text(report.in_page(page, text), encoding="utf-8")
    if options.json:
        options.json.write_text(report.as_json(head, results) + "\n", encoding="utf-8")
