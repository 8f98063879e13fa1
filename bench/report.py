"""The table of :mod:`bench.workloads` as Markdown and as JSON.

>>> seconds(2.5e-7), seconds(0.0123), seconds(1.5)
('0.25 us', '12.3 ms', '1.5 s')
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.contenders import FRAMEWORKS, OURS
from bench.problems import PROBLEMS, Bar
from bench.rounds import FAR, Result, Settings

MARK = "<!-- what follows is written by make bench -->\n"
PEERS = [name for name in FRAMEWORKS if name != OURS]


@dataclass(frozen=True)
class Head:
    """What stands above the table."""

    command: str
    date: str
    machine: dict[str, str]
    settings: Settings
    versions: dict[str, str]
    missing: dict[str, str]


def seconds(figure: float) -> str:
    """A time with three digits and a unit."""
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if figure * factor < 1000:
            return f"{figure * factor:.3g} {unit}"
    return f"{figure:.3g} s"


def shown(problem: str, figure: float) -> str:
    """A figure of a problem: a time, or memory."""
    return f"{figure / 2**20:.3g} MiB" if PROBLEMS[problem].figure == "memory" else seconds(figure)


def level(bar: Bar, figure: float | None) -> str:
    """A bar as the table shows it."""
    if figure is None:
        return ""
    return f"at most {seconds(figure)}" if bar.absolute else f"{figure:g} {bar.peer}".strip()


def verdict(bar: Bar, figure: float | None, ratio: float | None) -> str:
    """Whether the bar, or even the stretch, is met."""
    if figure is None:
        return "not run"
    met = bar.met(ratio, figure)
    if not met:
        return "" if met is None else "no"
    stretched = bar.stretch is not None and bar._replace(bar=bar.stretch).met(ratio, figure)
    return "yes, and the stretch" if stretched else "yes"


def fastest(result: Result, framework: str, note: bool = True) -> str:
    """The figure of a framework's best setting, and which one that is."""
    best = result.best(framework)
    if best is None:
        return ""
    setting = best.partition(".")[2]
    return shown(result.problem, result.figure(best)) + (f" ({setting})" if note and setting else "")


def row(result: Result, peers: Sequence[str] = PEERS) -> list[str]:
    """A problem: ours, the peers, the ratio with its quartiles, the bars."""
    problem = PROBLEMS[result.problem]
    ratios = result.ratios()
    ratio = statistics.median(ratios) if ratios else None
    spread = ""
    if len(ratios) > 1:
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        spread = f" ({low:.2f} to {high:.2f})"
    ours = result.best(OURS)
    figure = None if ours is None else result.figure(ours)
    return [problem.title, fastest(result, OURS, note=len(result.of(OURS)) > 1),
            *[fastest(result, name) for name in peers], "" if ratio is None else f"{ratio:.2f}{spread}",
            level(problem.bar, problem.bar.bar), level(problem.bar, problem.bar.stretch),
            verdict(problem.bar, figure, ratio)]


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Markdown's lines."""
    return ["| " + " | ".join(cells) + " |" for cells in (titles, ["---"] * len(titles), *rows)]


def details(results: Sequence[Result]) -> list[list[str]]:
    """A row a contender: median, fastest and slowest round, memory; or why there is no figure."""
    rows: list[list[str]] = []
    for result in results:
        for name, figures in result.figures.items():
            memory = f"{result.memory[name] / 2**20:.0f} MiB" if name in result.memory else ""
            rows.append([result.problem, name, *[shown(result.problem, figure) for figure in (
                result.figure(name), min(figures), max(figures))], memory])
        rows += [[result.problem, name, reason.replace("|", "/"), "", "", ""]
                 for name, reason in result.failures.items()]
    return rows


def overall(results: Sequence[Result]) -> list[str]:
    """A line on all rows that are compared with the best peer: the median of their ratios, and the least one."""
    compared = {result.problem: statistics.median(result.ratios()) for result in results
                if result.ratios() and not PROBLEMS[result.problem].bar.absolute}
    if len(compared) < 2:
        return []
    least = min(compared, key=compared.__getitem__)
    return [f"Best peer / ours over {len(compared)} rows: the median is {statistics.median(compared.values()):.2f}, "
            f"the least {compared[least]:.2f} ({least}).", ""]


def markdown(head: Head, results: Sequence[Result]) -> str:
    """The head, the table, and every setting that was tried: what follows ``MARK`` in a page."""
    machine, settings = head.machine, head.settings
    scale = f", sizes times {settings.scale:g}" if settings.scale != 1 else ""
    held = ", without AVX-512" if settings.avx2 else ""
    versions = ", ".join(f"{name} {version}" for name, version in head.versions.items())
    peers = [name for name in PEERS if name in head.versions]
    lines = [f"`{head.command}`, {head.date}: {settings.threads} threads, float32{scale}{held}, medians of "
             f"{settings.rounds} rounds. Peers {FAR} times slower than the fastest one have a single round.", "",
             f"Machine: {machine['processor']}, {machine['cores']} cores, caches {machine['caches']}, "
             f"{machine['memory']}, {machine['system']}. Python {machine['python']}, {versions}.",
             *[f"{name} did not take part: {reason}." for name, reason in head.missing.items()], ""]
    lines += table(["workload", OURS, *peers, "best peer / ours (quartiles)", "bar", "stretch", "met"],
                   [row(result, peers) for result in results])
    lines += ["", *overall(results), "Every setting:", "",
              *table(["workload", "contender", "median", "fastest round", "slowest round", "memory of a call"],
                     details(results))]
    return "\n".join(lines)


def in_page(page: str, text: str) -> str:
    """A page with everything after its mark replaced.

    >>> in_page(f"# Benchmarks\\n{MARK}old", "new") == f"# Benchmarks\\n{MARK}\\nnew\\n"
    True
    """
    return f"{page.partition(MARK)[0]}{MARK}\n{text}\n"


def as_json(head: Head, results: Sequence[Result]) -> str:
    """Everything that was measured, in seconds and bytes."""
    return json.dumps({**asdict(head), "results": [{**asdict(result), "ratios": result.ratios()}
                                                   for result in results]}, indent=1)
