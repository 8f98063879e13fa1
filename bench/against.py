"""Workloads of this checkout against those of another one, in turns: what a change has made faster or slower.

``python -m bench against FOLDER [name ...]`` measures the problems whose names contain one of the words, with nervure
of this checkout and with that of another checkout in ``FOLDER`` (of another commit, by ``git worktree add``). The
programs are those of this checkout. A ratio is the other one's figure over ours, by round: above 1 this one is faster.

>>> faster([3.0, 4.0, 2.0], [2.0, 2.0, 2.0])
'1.50 (1.00 to 2.00)'
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import OURS
from bench.machine import describe
from bench.problems import PROBLEMS, Problem
from bench.report import shown
from bench.rounds import Result, Settings, installed, measure
from bench.workloads import chosen_problems


def faster(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """The median of the ratios by round, with the least and the greatest one."""
    ratios = [there / here for there, here in zip(theirs, ours)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def row(result: Result, here: str, there: str) -> str:
    """A row of the table: what was measured, both figures, the ratio; or what went wrong."""
    title = f"{PROBLEMS[result.problem].title}, {here.partition('.')[2]}"
    if result.failures:
        return f"| {title} | {'; '.join(result.failures.values())} | | |"
    figures = [shown(result.problem, result.figure(name)) for name in (here, there)]
    return f"| {title} | {' | '.join(figures)} | {faster(result.figures[there], result.figures[here])} |"


def main(arguments: list[str]) -> None:
    """Measures and prints the table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench against", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="another checkout")
    parser.add_argument("words", nargs="*", metavar="name", help="which ones, all without a word")
    parser.add_argument("--table", default=Problem.table, help="of which benchmark: workloads, or torch")
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument("--threads", type=int, default=Settings.threads)
    parser.add_argument("--scale", type=float, default=1.0, help="sizes in proportion, for trials")
    options = parser.parse_args(arguments)
    source = options.folder.resolve() / "src"
    if not (source / "nervure").is_dir():
        sys.exit(f"{options.folder} is no checkout: there is no folder src/nervure in it")
    settings = Settings(options.rounds, options.threads, options.scale)
    found, _ = installed([OURS], settings)
    print(f"{', '.join(describe().values())}; {options.threads} threads, {options.rounds} rounds\n")
    print("| workload | here | there | there / here (least to greatest) |\n| --- | --- | --- | --- |", flush=True)
    for problem in chosen_problems(options.words, options.table):
        for setting in found[OURS]["settings"].get(problem, []):
            here, there = f"{OURS}.{setting}", f"{OURS}.{setting}@{source}"
            print(row(measure(problem, [here, there], settings), here, there), flush=True)
