"""The runtime's machine code: one for the process, however many threads ask for it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import run_text

ROOT = Path(__file__).parents[4]

LOADED_ONCE = """
import threading
from nervure.transformers.cpu.runtime import runtime_library
started = []
original = runtime_library._start
runtime_library._start = lambda *records: (started.append(1), original(*records))
{begin}
found = []
threads = [threading.Thread(target=lambda: found.append(runtime_library.library())) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(map(id, found))) == len(started) == 1
"""

FORKED_WHILE_LOADING = """
from nervure.transformers.cpu.runtime import runtime_library
from tests.processes import code_of_child
runtime_library._loading.acquire()
assert code_of_child(lambda: runtime_library.record(runtime_library.ThreadPool).limit) == 0
"""

ENDED_WHILE_LOADING = """
from nervure import flags
from nervure.transformers.cpu.runtime import runtime_library
flags.cache = False
runtime_library.begin()
"""


@pytest.mark.parametrize("text", [LOADED_ONCE.format(begin=""), LOADED_ONCE.format(begin="runtime_library.begin()"),
                                  FORKED_WHILE_LOADING, ENDED_WHILE_LOADING],
                         ids=["at once", "in the background", "forked", "ended"])
def test_it_is_loaded_once(text):
    run_text(text, seconds=100)


ONLY_WHEN_ASKED_FOR = """
import numpy as np
import nervure as nv
from nervure import flags
from nervure.transformers.cpu.runtime import code
flags.cache = False
made, compiled = [], code.compile_modules
code.compile_modules = lambda part: (made.append(part), compiled(part))[1]
x = nv.placeholder({"N": 8}).named("x")
assert nv.computation(x + 1.0, x)(np.arange(8.0, dtype=np.float32))[7] == 8.0 and made == ["runtime"]
assert nv.computation(nv.cumsum(x, "N"), x)(np.ones(8, np.float32))[7] == 8.0 and made == ["runtime", "add_float32"]
assert nv.computation(nv.fori_loop(0, 3, lambda i, y: y + y, x), x)(np.ones(8, np.float32))[7] == 8.0
assert made == ["runtime", "add_float32", "runners"]
assert nv.computation(nv.flatnonzero(x), x)(np.ones(8, np.float32)).shape == (8,)
assert made == ["runtime", "add_float32", "runners", "whole_ops"]
"""


def test_code_of_rare_ops_is_made_for_programs_that_have_them():
    run_text(ONLY_WHEN_ASKED_FOR, seconds=100)
