"""The time of a whole process that imports nervure or makes its first tensor, beside plain NumPy (best of 7)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

REPEATS = 7
PROGRAMS = {
    "python": "pass",
    "import numpy": "import numpy",
    "import nervure": "import nervure",
    "first tensor": "import nervure as nv; nv.constant([1.0, 2.0])",
}


def best_milliseconds(program: str) -> float:
    """The fastest of several runs: what the machine can do when nothing else disturbs it."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def rows() -> Iterator[dict[str, object]]:
    """One row per program."""
    for name, program in PROGRAMS.items():
        yield {"program": name, "ms": f"{best_milliseconds(program):.0f}"}
