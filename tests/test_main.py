"""``python -m nervure`` is the command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import nervure as nv
from tests.project.source import ROOT


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "nervure", *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_it_says_its_version():
    """P20: under the name of the command."""
    assert run("--version").stdout == f"nervure {nv.__version__}\n"


def test_its_status_is_the_command_s():
    """P20: and so is its help."""
    wrong = run("fly")
    assert wrong.returncode == 2 and wrong.stderr.startswith("usage: nervure ")


@pytest.mark.parametrize("switch, value", [("CACHE_LIMIT", "abc"), ("THREADS", "-3"), ("CACHE", "maybe")])
def test_a_switch_that_cannot_be_read_is_one_message(switch, value):
    """P20: without a traceback."""
    wrong = run("cache", **{f"NERVURE_{switch}": value})
    assert wrong.returncode == 1 and "Traceback" not in wrong.stderr
    assert wrong.stderr.startswith(f"nervure: flags: NERVURE_{switch} cannot be read\n") and repr(value) in wrong.stderr
