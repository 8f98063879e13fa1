"""Describes the machine, on which the figures depend: processor, cores, caches, memory, versions.

>>> sorted(describe())
['caches', 'cores', 'memory', 'processor', 'python', 'system']
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def lines_of(path: str | Path) -> list[str]:
    """The lines of a file; none where the system has no such file."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def field(lines: Iterable[str], name: str) -> str | None:
    """The value of the first line ``name : value``."""
    found = (line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name)
    return next(found, None)


def processor() -> str:
    """The model with its family, which virtual machines hide less often than its name."""
    lines = lines_of("/proc/cpuinfo")
    model = field(lines, "model name") or platform.processor() or platform.machine()
    family, number = field(lines, "cpu family"), field(lines, "model")
    return f"{model} (family {family}, model {number})" if family else model


def caches() -> str:
    """The first core's caches, such as ``L1d 32K, L2 512K, L3 16M``."""
    parts = []
    for index in sorted(CACHES.glob("index*")):
        level, kind, size = [("".join(lines_of(index / name))) for name in ("level", "type", "size")]
        if kind != "Instruction":
            parts.append(f"L{level}{'d' if kind == 'Data' else ''} {size}")
    return ", ".join(parts) or "unknown"


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe() -> dict[str, str]:
    """One line a part."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": processor(), "cores": str(available_cores()), "caches": caches(),
            "memory": f"{memory / 2**30:.0f} GiB", "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version()}
