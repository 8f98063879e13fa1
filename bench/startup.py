"""How long a new process takes until nervure is imported, and how much of that is NumPy (best of 7).

The rows are whole processes, so they hold what a user waits for: the interpreter, NumPy, then nervure.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

REPEATS = 7
PROGRAMS = {"python": "pass", "import numpy": "import numpy", "import nervure": "import nervure"}


def best_milliseconds(program: str) -> float:
    """The fastest of several runs: what the machine can do when nothing else disturbs it."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def rows() -> Iterator[dict[str, object]]:
    """One row per program, with what it adds to the program before."""
    before = 0.0
    for name, program in PROGRAMS.items():
        now = best_milliseconds(program)
        yield {"program": name, "ms": f"{now:.0f}", "added ms": f"{now - before:.0f}"}
        before = now
