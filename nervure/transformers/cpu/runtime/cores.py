"""How many threads may compute: the cores that this process may use, or what ``flags.threads`` says.

>>> 1 <= allowed() <= (os.cpu_count() or 1)
True
>>> quota("50000 100000"), quota("250000 100000"), quota("max 100000")
(1, 2, None)
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

FUTEX_CALL = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), 0) if sys.platform == "linux" else 0
"""The number of the system call with which threads sleep; 0 where there is none: calls then use one thread."""

_CGROUPS = Path("/sys/fs/cgroup")


def threads(wanted: int) -> int:
    """Threads of a call, the caller's included. 0 stands for all cores that may be used."""
    return (wanted or allowed()) if FUTEX_CALL else 1


def allowed() -> int:
    """The cores in this process's affinity mask, or fewer if its control group has a quota of time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [found for found in map(_read_quota, _quota_files()) if found is not None]
    return max(min([cores, *quotas]), 1)


def quota(text: str) -> int | None:
    """Whole cores by a line ``quota period`` in microseconds; at least 1, None without a limit."""
    limit, _, period = text.strip().partition(" ")
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None
    return max(int(limit) // int(period), 1)


def _quota_files() -> list[Path]:
    """``cpu.max`` of the group that this process is in and of all groups around it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    own = [Path(line.split(":", 2)[2].lstrip("/")) for line in lines if line.startswith("0::")]
    groups = {_CGROUPS / group for path in own for group in (path, *path.parents)}
    return [group / "cpu.max" for group in sorted(groups)]


def _read_quota(path: Path) -> int | None:
    """The quota in a file; a file of version 1 stands in another place with its two numbers apart."""
    try:
        return quota(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
