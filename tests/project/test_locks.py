"""Locks: what ruff keeps out of the package, so that no child of a fork waits for a thread that it does not have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project.source import ROOT

BANNED = ["from functools import cached_property", "import functools\n\nprint(functools.cached_property)",
          "from threading import RLock", "import _thread\n\nprint(_thread.allocate_lock)",
          *[f"import threading\n\nprint(threading.{name})" for name in (
              "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier")]]


def found(source: str) -> str:
    """The code of what ruff finds in a module of the package with this text."""
    run = subprocess.run([sys.executable, "-m", "ruff", "check", "--output-format=concise", "-", "--stdin-filename",
                          "src/nervure/example.py"], input=source + "\n", cwd=ROOT, capture_output=True, text=True,
                         check=False)
    return run.stdout


@pytest.mark.parametrize("source", BANNED)
def test_what_outlives_a_fork_is_kept_out(source):
    assert "TID251" in found(source)


def test_what_may_be_used_is_let_in():
    assert "TID251" not in found("import threading\nfrom functools import cache\n\nprint(cache, threading.local)")
