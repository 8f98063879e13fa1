"""Sets up each test: fixed seeds, derandomised properties, a host without a screen or an accelerator."""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

HERE = Path(__file__).parent

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
settings.register_profile("tests", derandomize=True, **UNTIMED)
settings.register_profile("fuzz", derandomize=False, max_examples=2_000, print_blob=True, **UNTIMED)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", type=int, default=None, metavar="N",
                     help="run N of the collected tests, evenly spread over all of them")


DEEP = os.environ.get("DEEP_TESTS") == "1"

XLA_SHARE = 80
"""XLA takes long to compile: without DEEP_TESTS, one of these many tests that several transformers share runs on it."""

CPU_SHARES = dict.fromkeys((
    "test_first_and_second_derivatives", "test_derivatives_of_complex_numbers", "test_derivatives_in_every_type",
    "test_derivatives_with_symbols", "test_tangents_are_differences_and_transposed_gradients",
    "test_tangents_of_complex_numbers"), 6) | {"test_symbols_in_shapes": 4}
"""Tests of tests/conformance that the interpreter runs for all ops, and without DEEP_TESTS the cpu for one in these
many. A derivative is a graph like others.
"""

SHARES = {
    "bridges/torch/test_models.py::test_results_gradients_and_statistics_are_those_of_eager": 2,
    "bridges/torch/test_rows.py::test_compiled_rows_give_what_pytorch_gives": 2,
    "bridges/torch/test_rows.py::test_rows_give_what_pytorch_gives": 2,
    "bridges/torch/test_training.py::test_losses_follow_eager_mode": 2,
    "conformance/test_derivatives.py::test_derivatives_of_complex_numbers": 2, "conformance/test_mapped.py": 6,
    "conformance/test_ops.py::test_empty_and_single": 3, "conformance/test_ops.py::test_lengths_around_vectors": 3,
    "conformance/test_ops.py::test_special_values": 2, "conformance/test_ops.py::test_values": 2,
    "conformance/test_ops.py::test_views_as_operands": 3, "conformance/test_scalar_table.py": 6,
    "conformance/test_symbolic.py::test_derivatives_with_symbols": 4,
    "conformance/test_symbolic.py::test_symbols_in_shapes": 3, "conformance/test_tangents.py": 3,
    "front/test_iterators.py::test_blocks_visit_what_plain_loops_visit": 3,
    "front/test_linalg_more.py::test_derivatives": 3, "front/test_ranks.py::test_numbers_are_those_of_numpy": 2,
    "front/test_ranks.py::test_numbers_without_nan_are_those_of_numpy": 2,
    "front/test_symbolic_lengths.py::test_symbols_do_what_numbers_do": 3,
    "front/test_vocabulary.py::test_numbers_are_those_of_numpy": 3, "functions/test_compositions.py": 4,
    "kernel/test_schedule.py": 3, "kernel/test_scheduled.py": 3,
    "kernel/test_stencils.py::test_squeezing_has_the_bits_of_its_parts": 2, "nn/test_symbolic_batch.py": 6,
    "nn/test_torch.py": 6, "ops/test_special_functions.py::test_derivatives_are_those_of_differences": 4,
    "ops/test_special_functions.py::test_special_functions_are_those_of_mpmath": 4,
    "ops/test_special_functions.py::test_transformers_agree": 4,
    "optim/test_rules.py::test_twenty_steps_are_those_of_pytorch": 2,
    "passes/test_algebra.py::test_conversions_through_a_wider_type": 2, "passes/test_convolution_kernels.py": 5,
    "passes/test_convolutions.py": 6,
    "passes/test_padded_lengths.py::test_an_op_gives_the_same_in_longer_arrays_or_is_refused": 2,
    "project/test_bench.py::test_our_programs_are_right": 4,
    "project/test_mutations.py::test_mutants_of_the_package_parse_and_differ": 4,
    "real_sizes/test_real_sizes.py::test_networks_at_real_sizes": 2,
    "real_sizes/test_real_sizes.py::test_stencils_that_are_reduced": 2,
    "real_sizes/test_real_sizes.py::test_weights_that_few_rows_read": 2, "transformers/cpu/compile/test_codegen.py": 5,
    "transformers/cpu/compile/test_codegen_random.py::test_random_kernels_leave_the_bits_that_they_mean": 2,
    "transformers/cpu/compile/test_codegen_reductions.py": 5,
    "transformers/cpu/compile/tiles/test_byte_products.py::"
    "test_blocks_of_all_sizes_are_exact_and_nothing_else_is_touched": 2,
    "transformers/cpu/test_columns.py::test_totals_have_the_bits_that_they_have_alone": 3,
    "transformers/cpu/test_long_products.py": 5, "transformers/cpu/test_order.py::test_a_few_rows_of_all_kinds": 4,
    "transformers/cpu/test_recurrent_sizes.py::test_a_loop_has_the_bits_of_the_unrolled_layer": 2,
    "transformers/cpu/test_short_rows.py::test_rows_with_a_scale_and_a_shift_for_each_column": 4,
    "transformers/test_initial_memory.py::test_a_value_that_can_be_drawn_again_is_kept_until_it_is_replaced": 2,
    "transformers/xla/test_mesh_training.py": 3, "transformers/xla/test_meshes.py": 4, "wrong/test_fuzz.py": 10}
"""Files of many like tests, and such tests with many parameters, of which one in these many runs without DEEP_TESTS."""


FIRST = ("project/test_contributing.py", "project/test_generated.py")
"""Files whose tests take longest: they begin first, so that no worker waits for one of them at the end."""


def _share(item: pytest.Item) -> int:
    """Returns the number of tests like this one of which one runs: 1 if all do."""
    parameters, name = getattr(getattr(item, "callspec", None), "params", {}), getattr(item, "originalname", None)
    runner = parameters.get("transformer", parameters.get("provider"))
    if runner == "xla":
        return XLA_SHARE
    path, own = _path(item.path), CPU_SHARES.get(str(name), 1) if runner == "cpu" else 1
    return max(own, SHARES.get(path, SHARES.get(f"{path}::{name}", 1)))


@cache
def _path(path: Path) -> str:
    """Returns the path of a file as ``SHARES`` has it."""
    return Path(os.path.relpath(path, HERE)).as_posix()


def _runs(item: pytest.Item) -> bool:
    """Whether a test runs: all do in a deep run, else a share of some, chosen by their names."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if parameters.get("transformer") == "xla" and parameters.get("name") in ("HostCall", "PrintOp"):
        return False  # they are left to the cpu
    share = 1 if DEEP else _share(item)
    return share == 1 or (zlib.crc32(_without_transformer(item).encode()) + _turn(parameters)) % share == 0


def _without_transformer(item: pytest.Item) -> str:
    """Returns the name that the tests of one op share: of two transformers one runs in a share of 2, not both or none.
    """
    return re.sub(r"\b(interpreter|cpu)\b", "", item.nodeid)


def _turn(parameters: dict[str, object]) -> int:
    return int("cpu" in (parameters.get("transformer"), parameters.get("provider")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = [(item, _runs(item)) for item in items]
    config.hook.pytest_deselected(items=[item for item, runs in found if not runs])
    items[:] = sorted([item for item, runs in found if runs], key=lambda item: _path(item.path) not in FIRST)
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
    if not _path(request.path).startswith(KEPT):
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
