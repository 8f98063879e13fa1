"""Processes of a test's own: a text that Python runs in a new one, and an act in a child that is forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]

QUICK_XLA = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""Flags with which XLA compiles in less time: for processes whose tests look at no bits of arithmetic, but at meshes,
files and signals.
"""


def run_text(*parts: str, seconds: int = 300, **environment: str) -> str:
    """Runs a text, given in parts, in a process of its own; its assertions hold. Returns what it prints.

    ``environment`` adds to the variables of this process. One that takes longer than ``seconds`` has failed.
    """
    text = "\n".join([textwrap.dedent(part) for part in parts])
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=seconds,
                          env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_of_child(act: Callable[[], object], seconds: int = 60) -> int:
    """The exit code of a child that is forked here: 0 where ``act()`` is true, 2 where it is not, 1 where it raises.

    One that takes longer than ``seconds`` is killed.
    """
    number = os.fork()
    if number == 0:
        code = 1
        try:
            signal.alarm(seconds)
            code = 0 if act() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
