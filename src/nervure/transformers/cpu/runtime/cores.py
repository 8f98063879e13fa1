"""The number of threads that may compute: the cores that this process may use, or the value of ``flags.threads``.

>>> 1 <= allowed() <= (os.cpu_count() or 1)
True
>>> quota("50000 100000"), quota("250000 100000"), quota("max 100000")
(1, 2, None)
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

FUTEX_CALL = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), 0) if sys.platform == "linux" else 0
"""The number of the system call for sleeping and waking; 0 if there is none: calls then use one thread."""

_OWN_GROUPS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def threads(wanted: int) -> int:
    """Returns the number of threads of a call, the caller's included. 0 stands for all cores that may be used."""
    return (wanted or allowed()) if FUTEX_CALL else 1


def allowed() -> int:
    """Returns the number of cores in this process's affinity mask, or fewer if its control group has a quota of time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [found for found in map(quota, _quota_lines(_OWN_GROUPS, _GROUPS)) if found is not None]
    return max(min([cores, *quotas]), 1)


def quota(text: str) -> int | None:
    """Returns the whole cores of a line ``quota period`` in microseconds; at least 1, None without a limit."""
    limit, _, period = text.strip().partition(" ")
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None
    return max(int(limit) // int(period), 1)


def _quota_lines(own: Path, root: Path) -> Iterator[str]:
    """Yields ``quota period`` of the control groups of this process and of all around them, of either version."""
    for line in _read(own).splitlines():
        _, controllers, group = line.split(":", 2)
        path = Path(group.lstrip("/"))
        for place in (path, *path.parents):
            if not controllers:
                yield _read(root / place / "cpu.max")
            elif "cpu" in controllers.split(","):
                files = [root / "cpu" / place / f"cpu.cfs_{name}_us" for name in ("quota", "period")]
                yield " ".join([_read(file).strip() for file in files])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
