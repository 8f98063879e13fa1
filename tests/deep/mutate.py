"""``make test-deep``: counts the small mistakes that the tests find.

Draws a few hundred mutants of the package with a fixed seed, and tries each alone, in a copy of the checkout. The
tests that mirror the changed file run first, then those of its folder and of the folders above. What passes these is
tried in groups, with a sample of the conformance suite and a sample of everything else: where a group fails, each half
is tried, down to one mutant alone. The first failure, or a run that does not end, kills the mutant. Mutants that
survive are listed, and the run fails if too few are killed.

    python -m tests.deep.mutate --count 20 --only src/nervure/types    a quick look at one folder
    python -m tests.deep.mutate --count 150 --part 2/5             the second fifth of a run, evenly drawn from it
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
GROUP = 4  # where at most a quarter of what its folder does not find is found elsewhere, groups of 4 save time
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


def near_stages(root: Path, path: Path) -> Iterator[list[str]]:
    """The pytest arguments of each stage that tests a changed file's own folder, the likeliest killers first.

    After the files that are named like it or its folders come the others beside these, then those of the folders above.
    """
    mirror = Path("tests", *path.parent.parts[2:])  # src, nervure, and the folders that tests mirror
    while not (root / mirror).is_dir():  # a package may be tested by files of the folder above
        mirror = mirror.parent
    inside = path.with_suffix("").parts[len(mirror.parts) + 1:]
    own = [str(mirror / f"test_{name.strip('_')}.py") for name in reversed(inside)]
    for folder in [mirror, *[above for above in mirror.parents if len(above.parts) > 1]]:
        found = sorted(str(test.relative_to(root)) for test in (root / folder).glob("test_*.py"))
        for tests in ([test for test in own if test in found], [test for test in found if test not in own]):
            if tests:
                yield tests


def far_stages(root: Path) -> Iterator[list[str]]:
    """The pytest arguments of the stages that are the same for all files."""
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


@contextlib.contextmanager
def applied(root: Path, places: Sequence[Place]) -> Iterator[None]:
    """Inside, the copy at ``root`` has these mutants, each of another file; then it is as it was."""
    sources = {place: (root / place.path).read_text(encoding="utf-8") for place in places}
    try:
        for place, source in sources.items():
            changed = place.mutant.apply(source)
            assert changed is not None
            write(root / place.path, changed)
        yield
    finally:
        for place, source in sources.items():
            write(root / place.path, source)


def killed_nearby(root: Path, place: Place, timeout: float) -> bool:
    """Whether the tests of a mutant's own folder find it."""
    with applied(root, [place]):
        return not all(passes(root, stage, timeout) for stage in near_stages(root, place.path))


def killed_afar(root: Path, places: Sequence[Place], timeout: float) -> list[Place]:
    """The mutants, each of another file, that the far stages find; those that pass together are taken to pass alone."""
    with applied(root, places):
        if all(passes(root, stage, timeout) for stage in far_stages(root)):
            return []
    if len(places) == 1:
        return list(places)
    half = len(places) // 2
    return [place for some in (places[:half], places[half:]) for place in killed_afar(root, some, timeout)]


def grouped(places: Sequence[Place], size: int) -> list[list[Place]]:
    """The places, which are sorted, in groups of up to ``size``; no group has two of the same file.

    >>> a, b = (Place(Path(name), find_mutants("x + 1")[0]) for name in "ab")
    >>> [[str(place.path) for place in group] for group in grouped([a, a, b, b], 4)]
    [['a', 'b'], ['a', 'b']]
    """
    most = max(Counter(place.path for place in places).values(), default=0)
    count = max(most, -(-len(places) // size))
    return [list(places[first::count]) for first in range(count)]


def try_all(places: list[Place], jobs: int, timeout: float,
            report: Callable[[str, Place], None]) -> list[bool]:
    """For each mutant whether it survives; ``jobs`` copies of the checkout work side by side."""
    with tempfile.TemporaryDirectory(prefix="nervure-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            copies.put(copy_checkout(Path(folder, str(job))))

        def nearby(place: Place) -> list[Place]:
            with borrowed(copies) as root:
                killed = killed_nearby(root, place, timeout)
            report("killed" if killed else "passes the tests of its folder", place)
            return [place] if killed else []

        def afar(group: list[Place]) -> list[Place]:
            with borrowed(copies) as root:
                killed = killed_afar(root, group, timeout)
            for place in group:
                report("killed" if place in killed else "SURVIVED", place)
            return killed

        killed = {place for found in pool.map(nearby, places) for place in found}
        groups = grouped([place for place in places if place not in killed], GROUP)
        killed |= {place for found in pool.map(afar, groups) for place in found}
    return [place not in killed for place in places]


@contextlib.contextmanager
def borrowed(copies: queue.Queue[Path]) -> Iterator[Path]:
    """A copy of the checkout that no other thread has meanwhile."""
    root = copies.get()
    try:
        yield root
    finally:
        copies.put(root)


def healthy(timeout: float, paths: Iterable[Path]) -> bool:
    """Whether every stage that will judge a mutant passes on the package as it is."""
    with tempfile.TemporaryDirectory(prefix="nervure-mutants-") as folder:
        root = copy_checkout(Path(folder, "copy"))
        wanted = {tuple(stage): None for path in paths for stage in near_stages(root, path)}
        wanted |= {tuple(stage): None for stage in far_stages(root)}
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


def part(text: str) -> tuple[int, int]:
    """``2/5`` is the second of five parts."""
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ValueError(f"no part {number} of {count}")
    return number, count


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m tests.deep.mutate", description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=300, help="how many mutants (300)")
    options.add_argument("--seed", type=int, default=0, help="which mutants are drawn (0)")
    options.add_argument("--part", type=part, default=(1, 1), metavar="I/N",
                         help="only each N-th mutant, from the I-th on; N parts add up to the whole run (1/1)")
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
    places = draw(ROOT, options.count, options.seed, options.only)[options.part[0] - 1::options.part[1]]
    if options.list or not places:
        print(*places, f"{len(places)} mutants", sep="\n")
        return 0 if places else 2
    if not healthy(options.timeout, {place.path for place in places}):
        return 2

    def report(result: str, place: Place) -> None:
        print(f"{places.index(place) + 1}/{len(places)} {result} {place}", flush=True)

    survived = try_all(places, options.jobs, options.timeout, report)
    print("\nsurvivors:", *(f"  {place}" for place, lives in zip(places, survived) if lives), sep="\n")
    print("", *summary(places, survived, lambda place: "/".join(place.path.parts[:2])), sep="\n")
    print("", *summary(places, survived, lambda place: place.mutant.kind), sep="\n")
    share = 100 * survived.count(False) / len(places)
    print(f"\n{share:.1f} % of {len(places)} mutants killed, at least {options.minimum:g} % wanted")
    return 0 if share >= options.minimum else 1


if __name__ == "__main__":
    sys.exit(main())
