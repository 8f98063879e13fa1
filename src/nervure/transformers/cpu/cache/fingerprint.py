"""The fingerprint of this package: its products may be reused as long as it stays the same.

Everything between a graph and its machine code is nervure's own source, so the fingerprint covers all of it: the name,
size and modification time of every source file, with the versions of Python and of NumPy (which folds constants).
While the package is being edited, the next process makes everything anew; an installed package never changes. Sizes
and times take two milliseconds to collect, contents would take twenty.

>>> package_fingerprint() == package_fingerprint(), len(package_fingerprint())
(True, 64)
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np

_SOURCES = (".py", ".pyc")  # a package without source has compiled files in its place
_COMPILED = "__pycache__"   # Python's own cache of compiled files


@cache
def package_fingerprint() -> str:
    """Returns the same text for the same package, Python and NumPy; a new one for each process if the package is no
    folder.
    """
    root = os.path.abspath(__file__)
    for _ in __name__.split(".")[:-1]:
        root = os.path.dirname(root)
    try:
        return fingerprint([sys.version, np.__version__], root)
    except OSError:
        return os.urandom(32).hex()


def fingerprint(versions: list[str], folder: str) -> str:
    """Returns the same text for the same versions and the same source files below a folder."""
    files = sorted(_files(folder, ""))
    return hashlib.sha256("\n".join([*versions, *files]).encode("utf-8", "surrogateescape")).hexdigest()


def _files(folder: str, inside: str) -> Iterator[str]:
    with os.scandir(folder) as listing:
        for entry in listing:
            name = f"{inside}/{entry.name}"
            if entry.name.endswith(_SOURCES):
                status = entry.stat()
                yield f"{name} {status.st_size} {status.st_mtime_ns}"
            elif entry.name != _COMPILED and entry.is_dir():
                yield from _files(entry.path, name)
