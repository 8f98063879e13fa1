"""The configuration: versions, machine, transformers, switches; the start of every problem report.

>>> print(config_text().splitlines()[0])                                     # doctest: +ELLIPSIS
nervure 0.1.0, Python 3...
"""

from __future__ import annotations

import os
import platform
from importlib import metadata

from nervure import flags, transformers

_LIBRARIES = ("numpy", "ml_dtypes", "llvmlite", "jax", "torch", "onnx")


def config_text() -> str:
    """Returns the configuration as lines of text."""
    found = ", ".join(f"{name} {version}" for name in _LIBRARIES if (version := _version(name)))
    return "\n".join([
        f"nervure {_version('nervure') or 'not installed'}, Python {platform.python_version()}",
        f"libraries: {found}",
        f"machine: {platform.machine()}, {platform.system()} {platform.release()}, {_processors()} processors",
        f"transformers: {', '.join(transformers.transformer_choices())}",
        "switches:",
        flags.describe(),
    ])


def show_config() -> None:
    """Prints the configuration to standard output.

    >>> nv.show_config()
    nervure ...
    """
    print(config_text())


def _processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
