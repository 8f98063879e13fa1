"""Checks networks at real sizes: ``python -m tests.real_sizes --count 100 --seed 0 --work 1e9``.

The exit status is the number of failures, at most 100.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.real_sizes.cases import check, draw_case


def main() -> int:
    """Checks the cases of the seeds that the command line names; the number of failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_sizes", description="networks at real sizes")
    parser.add_argument("--count", type=int, default=100, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--work", type=float, default=1e9, help="multiply-adds of a larger batch, about")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        start, case = time.perf_counter(), draw_case(seed, options.work)
        try:
            check(case)
            said = "right"
        except Exception as error:
            failures += 1
            said = f"WRONG: {error}" if isinstance(error, AssertionError) else traceback.format_exc()
        print(f"{case} ({time.perf_counter() - start:.1f} s): {said}", flush=True)
    print(f"{options.count} cases from seed {options.seed}: {failures} failures", flush=True)
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
