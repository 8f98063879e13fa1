"""Sets up each test: fixed seeds, derandomised properties, a host without a screen or an accelerator."""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.shares import DEEP, path_of, runs

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")

# The user's cache is not ours. The tests of one run share kernels, its workers included, which inherit what is set
# here; whole executables they do not, but for some folders: each test compiles. What XLA compiles, of which processes
# of the tests make the same again, is kept where it takes more than a moment.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _kept = tempfile.mkdtemp(prefix="nervure-tests-")
    atexit.register(shutil.rmtree, _kept, ignore_errors=True)
    os.environ["NERVURE_CACHE_DIRECTORY"] = os.path.join(_kept, "cache")
    os.environ["NERVURE_CACHE_EXECUTABLES"] = "0"
    os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(_kept, "xla")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"

# A shell that runs the tests in the background lets them, and what they start, ignore Ctrl-C.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An example takes as long as it takes: a deadline or a health check that measures time would fail on a busy machine.
UNTIMED = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("tests", derandomize=True, max_examples=100 if DEEP else 25, **UNTIMED)
settings.register_profile("fuzz", derandomize=False, max_examples=2_000, print_blob=True, **UNTIMED)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", type=int, default=None, metavar="N",
                     help="run N of the collected tests, evenly spread over all of them")


FIRST = ("project/test_contributing.py", "project/test_generated.py")
"""Files whose tests take longest: they begin first, so that no worker waits for one of them at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = [(item, runs(item)) for item in items]
    config.hook.pytest_deselected(items=[item for item, chosen in found if not chosen])
    items[:] = sorted([item for item, chosen in found if chosen], key=lambda item: path_of(item.path) not in FIRST)
    count = config.getoption("--sample")
    if count is None or count >= len(items):
        return
    chosen = {position * len(items) // count for position in range(count)}
    config.hook.pytest_deselected(items=[item for at, item in enumerate(items) if at not in chosen])
    items[:] = [item for at, item in enumerate(items) if at in chosen]


def pytest_collection_finish() -> None:
    """Thirty thousand tests and all modules stay to the end: collections of garbage need not look at them."""
    gc.collect()
    gc.freeze()


KEPT = ("tools", "training")
"""Folders of tests that make the same few programs again and again: there whole executables are kept on disk, too."""


@pytest.fixture(autouse=True)
def kept_executables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets tests of some folders, and the processes that they start, find the executables of those before them."""
    if not path_of(request.path).startswith(KEPT):
        yield
        return
    from nervure import flags
    monkeypatch.setenv("NERVURE_CACHE_EXECUTABLES", "1")
    with flags.overriding(cache_executables=True):
        yield


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    """The global generators of Python and NumPy start alike in each test, in any order and on any worker."""
    random.seed(0)
    np.random.seed(0)


def _opened(name: str) -> Iterator[Transformer]:
    from nervure.transformers import make_transformer  # the package reads the environment, which is set above
    with make_transformer(name) as made:
        yield made


@pytest.fixture
def cpu() -> Iterator[Transformer]:
    """A cpu transformer of the test's own."""
    yield from _opened("cpu")


@pytest.fixture
def interpreter() -> Iterator[Transformer]:
    """An interpreter of the test's own."""
    yield from _opened("interpreter")


@pytest.fixture(params=["cpu", "interpreter"])
def transformer(request: pytest.FixtureRequest) -> Iterator[Transformer]:
    """A transformer of each kind in turn."""
    yield from _opened(request.param)


@pytest.fixture
def silent_infinities() -> Iterator[None]:
    """NumPy computes with infinities and NaN without warnings."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def fast_switching() -> Iterator[None]:
    """Threads take turns every microsecond, so that they meet wherever they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def cloudpickle() -> ModuleType:
    """What joblib keeps functions of a program with; older versions of joblib have it inside."""
    if importlib.util.find_spec("cloudpickle") is not None:
        return importlib.import_module("cloudpickle")
    return pytest.importorskip("joblib.externals.cloudpickle", reason="scikit-learn is not installed")
