"""The runtime's machine code: one for the process, however many threads ask for it first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nervure.transformers.cpu.runtime import code

ROOT = Path(__file__).parents[4]

LOADED_ONCE = """
import threading
from nervure.transformers.cpu.runtime import native
started = []
original = native._start
native._start = lambda team, pool: (started.append(1), original(team, pool))
{begin}
found = []
threads = [threading.Thread(target=lambda: found.append(native.library())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(map(id, found))) == len(started) == 1
"""

FORKED_WHILE_LOADING = """
import os, signal
from nervure.transformers.cpu.runtime import native
native._loading.acquire()
pid = os.fork()
if pid == 0:
    signal.alarm(50)
    os._exit(0 if native.team().limit else 3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""

ENDED_WHILE_LOADING = """
from nervure import flags
from nervure.transformers.cpu.runtime import native
flags.cache = False
native.begin()
"""


@pytest.mark.parametrize("text", [LOADED_ONCE.format(begin=""), LOADED_ONCE.format(begin="native.begin()"),
                                  FORKED_WHILE_LOADING, ENDED_WHILE_LOADING],
                         ids=["at once", "in the background", "forked", "ended"])
def test_it_is_loaded_once(text):
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_hot_is_there():
    assert {function.name for function in code.functions()} > code.HOT
