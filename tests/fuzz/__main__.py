"""Runs random graphs: ``python -m tests.fuzz --count 1000 --seed 0``.

What fails is made small and printed as a case for ``tests/fuzz/kept_cases.py``; the exit status is the number of
failures, at most 100.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz import programs
from tests.fuzz.checks import failure
from tests.fuzz.graphs import Case, random_attention, random_case, random_chains, random_regions, random_rows
from tests.fuzz.minimise import smaller
from tests.real_sizes.cases import check, draw_case

REAL_SIZES = 50
"""One in so many seeds is a network at real sizes, which takes about as long as five graphs."""


IN_TURN = ("unoptimised", "passes", "threads", "text", "prints", "unrolled", "shared")
"""The checks that graphs with branches and loops pass in turn."""


def drawn(seed: int, limit: int) -> tuple[Case, list[str]]:
    """The case of a seed, and its checks: the values always, others in turn, since each compiles the function again."""
    kind = seed % 6
    if kind == 3:
        return random_rows(seed, limit), ["rows", "values"]
    if seed % 24 == 4:
        make = (random_chains, random_attention)[seed // 24 % 2]
        return make(seed, limit), ["values", ("shared", "threads")[seed // 48 % 2]]
    if kind >= 4:
        return random_regions(seed, limit), ["values", IN_TURN[seed // 6 % len(IN_TURN)]]
    return random_case(seed, limit), ["values", "work", IN_TURN[kind]]


def run(seed: int, limit: int) -> str | None:
    """The text of a failure, None if all is well."""
    if seed % REAL_SIZES == 5:
        return failure_at_real_sizes(seed)
    if seed % 24 == 16:
        return failure_of_program(seed)
    case, names = drawn(seed, limit)
    said = failure(case, names)
    return None if said is None else f"seed {seed}: {said}\n{smaller(case, said)}"


def failure_of_program(seed: int) -> str | None:
    """The text of a failure of a program with loops, branches and effects, None if all is well."""
    try:
        said = programs.failure_of(seed)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return None if said is None else f"seed {seed}: {said}"


def failure_at_real_sizes(seed: int) -> str | None:
    """The text of a failure of a network at real sizes, None if all is well."""
    try:
        check(draw_case(seed))
    except Exception as error:
        return f"seed {seed}: {type(error).__name__}: {error}"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Runs the seeds that the command line names; the number of failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="random graphs on the cpu")
    parser.add_argument("--count", type=int, default=20_000, help="how many graphs: about five a second")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; by the clock without it")
    parser.add_argument("--limit", type=int, default=257, help="the longest axis")
    options = parser.parse_args(arguments)
    first = int(time.time()) * 1_000 if options.seed is None else options.seed
    print(f"{options.count} graphs from seed {first}", flush=True)
    failures = 0
    for seed in range(first, first + options.count):
        said = run(seed, options.limit)
        if said is not None:
            failures += 1
            print(said, flush=True)
        if (seed - first + 1) % 100 == 0:
            print(f"{seed - first + 1} graphs, {failures} failures", flush=True)
    print(f"{options.count} graphs from seed {first}: {failures} failures", flush=True)
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
