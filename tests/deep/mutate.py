"""``make test-deep``: counts the small mistakes that the tests find.

Draws a few hundred mutants of the package with a fixed seed, and tries each alone, in a copy of the checkout. The
tests that mirror the changed file run first, then those of its folder, then a sample of the conformance suite, then a
sample of everything else. The first failure, or a run that does not end, kills the mutant. Mutants that survive are
listed, and the run fails if too few are killed.

    python -m tests.deep.mutate --count 20 --only src/nervure/types    a quick look at one folder
    python -m tests.deep.mutate --list                             the mutants, without running anything
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.deep.mutations import Mutant, find_mutants

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "bench", "docs", "pyproject.toml")
SAMPLE = 300
# A mutant may loop while it allocates; the limit keeps the machine alive. KiB of address space, for `ulimit -v`.
MEMORY = 16 * 1024 * 1024
NO_TESTS = 5  # pytest's exit status
IDLE, POLL = 60.0, 2.0  # seconds: a run without processor time for so long hangs; how often that is looked at
WAITING = 6  # a stage may take so many times its processor time: other programs run, too, and a mutant may sleep


class Place(NamedTuple):
    """A mutant and the file it changes, relative to the checkout."""

    path: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line} {self.mutant}"


def draw(root: Path, count: int, seed: int, only: Sequence[str] = ()) -> list[Place]:
    """``count`` mutants of the files whose path contains a text of ``only``, the same for the same sources and seed."""
    files = sorted(path.relative_to(root) for path in (root / "src" / "nervure").rglob("*.py"))
    sources = {path: (root / path).read_text(encoding="utf-8") for path in files
               if not only or any(text in str(path) for text in only)}
    places = [Place(path, mutant) for path, source in sources.items() for mutant in find_mutants(source)]
    random.Random(seed).shuffle(places)
    chosen: list[Place] = []
    for place in places:
        if len(chosen) == count:
            break
        if place.mutant.apply(sources[place.path]) is not None:
            chosen.append(place)
    return sorted(chosen, key=lambda place: (place.path, place.mutant))


def stages(root: Path, path: Path) -> Iterator[list[str]]:
    """The pytest arguments of each stage for a changed file, the likeliest killers first."""
    mirror = Path("tests", *path.parent.parts[2:])  # src, nervure, and the folders that tests mirror
    while not (root / mirror).is_dir():  # a package may be tested by files of the folder above
        mirror = mirror.parent
    own = mirror / f"test_{path.stem.strip('_')}.py"
    if (root / own).exists():
        yield [str(own)]
    others = sorted(str(test.relative_to(root)) for test in (root / mirror).glob("test_*.py"))
    others = [test for test in others if test != str(own)]
    if others:
        yield others
    if (root / "tests" / "conformance").exists():
        yield ["tests/conformance", "--sample", str(SAMPLE)]
    yield ["tests", "--sample", str(SAMPLE), "--ignore=tests/conformance", "--ignore=tests/project"]


def passes(root: Path, arguments: list[str], timeout: float) -> bool:
    """Whether pytest ends in time and finds nothing wrong; to find no tests at all is nothing wrong."""
    limits = f"ulimit -v {MEMORY}; ulimit -t {round(timeout)}"
    command = f'{limits}; exec "$0" -m pytest -x -q -p no:cacheprovider "$@"'
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(["sh", "-c", command, sys.executable, *arguments], cwd=root, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return ended(process, WAITING * timeout) in (0, NO_TESTS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ended(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """The exit status of a run; None if it does not end in time, or waits for ever: it uses no processor time."""
    end, used, changed = time.monotonic() + timeout, -1, time.monotonic()
    while time.monotonic() < end and time.monotonic() < changed + IDLE:
        try:
            return process.wait(POLL)
        except subprocess.TimeoutExpired:
            now = processor_ticks(process.pid)
            used, changed = now, changed if now == used else time.monotonic()
    return None


def processor_ticks(session: int) -> int:
    """The processor time that the processes of a session have used by now, in ticks of the system's clock."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            total += sum(map(int, fields[11:13])) if int(fields[3]) == session else 0
    return total


def copy_checkout(target: Path) -> Path:
    """The parts of the checkout that tests need, without compiled files."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, target / name)
    for document in ROOT.glob("*.md"):
        shutil.copy(document, target)
    return target


def write(path: Path, text: str) -> None:
    """Writes a source and forgets its compiled form, which is told apart by whole seconds and size alone."""
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def survives(root: Path, place: Place, timeout: float) -> bool:
    """Whether all stages pass with the mutant in the copy at ``root``, which is left as it was."""
    path = root / place.path
    source = path.read_text(encoding="utf-8")
    changed = place.mutant.apply(source)
    assert changed is not None
    write(path, changed)
    try:
        return all(passes(root, stage, timeout) for stage in stages(root, place.path))
    finally:
        write(path, source)


def try_all(places: list[Place], jobs: int, timeout: float,
            report: Callable[[int, Place, bool], None]) -> list[bool]:
    """For each mutant whether it survives; ``jobs`` copies of the checkout work side by side."""
    with tempfile.TemporaryDirectory(prefix="nervure-mutants-") as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            copies.put(copy_checkout(Path(folder, str(job))))

        def attempt(numbered: tuple[int, Place]) -> bool:
            number, place = numbered
            root = copies.get()
            try:
                survived = survives(root, place, timeout)
            finally:
                copies.put(root)
            report(number, place, survived)
            return survived

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(attempt, enumerate(places, start=1)))


def healthy(timeout: float, paths: Iterable[Path]) -> bool:
    """Whether every stage that will judge a mutant passes on the package as it is."""
    with tempfile.TemporaryDirectory(prefix="nervure-mutants-") as folder:
        root = copy_checkout(Path(folder, "copy"))
        wanted = {tuple(stage): None for path in paths for stage in stages(root, path)}
        failing = [" ".join(stage) for stage in wanted if not passes(root, list(stage), timeout)]
    for stage in failing:
        print(f"fails without any mutant: pytest {stage}", file=sys.stderr)
    return not failing


def summary(places: list[Place], survived: list[bool], key: Callable[[Place], str]) -> Iterator[str]:
    """A table with one line per group of mutants."""
    made, alive = Counter(map(key, places)), Counter(key(place) for place, lives in zip(places, survived) if lives)
    yield f"{'':<28}{'mutants':>8}{'killed':>8}{'survived':>10}{'killed %':>10}"
    for group in sorted(made):
        killed = made[group] - alive[group]
        yield f"{group:<28}{made[group]:>8}{killed:>8}{alive[group]:>10}{100 * killed / made[group]:>10.0f}"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m tests.deep.mutate", description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    options.add_argument("--seed", type=int, default=0, help="which mutants are drawn (0)")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once (one per processor)")
    options.add_argument("--only", nargs="+", default=(), metavar="TEXT",
                         help="only files whose path contains one of these")
    options.add_argument("--timeout", type=float, default=300,
                         help="seconds of the processor until a stage counts as failed (300)")
    options.add_argument("--minimum", type=float, default=85, help="the share that must be killed, in percent (85)")
    options.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the mutants and prints the tables; the exit status is 1 if too few are killed, 2 if nothing can be told."""
    options = parser().parse_args(arguments)
    places = draw(ROOT, options.count, options.seed, options.only)
    if options.list or not places:
        print(*places, f"{len(places)} mutants", sep="\n")
        return 0 if places else 2
    if not healthy(options.timeout, {place.path for place in places}):
        return 2

    def report(number: int, place: Place, survived: bool) -> None:
        print(f"{number}/{len(places)} {'SURVIVED' if survived else 'killed'} {place}", flush=True)

    survived = try_all(places, options.jobs, options.timeout, report)
    print("\nsurvivors:", *(f"  {place}" for place, lives in zip(places, survived) if lives), sep="\n")
    print("", *summary(places, survived, lambda place: "/".join(place.path.parts[:2])), sep="\n")
    print("", *summary(places, survived, lambda place: place.mutant.kind), sep="\n")
    share = 100 * survived.count(False) / len(places)
    print(f"\n{share:.1f} % of {len(places)} mutants killed, at least {options.minimum:g} % wanted")
    return 0 if share >= options.minimum else 1


if __name__ == "__main__":
    sys.exit(main())
