"""``python -m nervure`` is the command."""

from __future__ import annotations

import subprocess
import sys

import nervure as nv
from tests.project.source import ROOT


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "nervure", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_it_says_its_version():
    """P20: under the name of the command."""
    assert run("--version").stdout == f"nervure {nv.__version__}\n"


def test_its_status_is_the_command_s():
    """P20: and so is its help."""
    wrong = run("fly")
    assert wrong.returncode == 2 and wrong.stderr.startswith("usage: nervure ")
