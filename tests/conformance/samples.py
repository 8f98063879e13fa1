"""The samples of all ops: the table of :mod:`tests.conformance.sampling`, filled by a file a family.

An elementwise op needs nothing here: its samples follow from its class. Any other op needs a builder in the file of its
family; what stands in ``tests/golden/ops_without_samples.txt`` has a reason for having none.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import nervure.ops
from nervure.ir.op import Op, registry
from tests.conformance import (  # noqa: F401  # each fills the table
    sample_fourier,
    sample_indexing,
    sample_linear_algebra,
    sample_others,
    sample_pointwise,
    sample_products,
    sample_reductions,
    sample_regions,
    sample_special,
    sample_views,
)
from tests.conformance.sampling import TABLE, samples_of, types_of

__all__ = ["GOLDEN", "NAMES", "built_in", "golden_table", "samples_of", "types_of"]

for _module in pkgutil.iter_modules(nervure.ops.__path__, "nervure.ops."):
    importlib.import_module(_module.name)  # so that the registry is whole

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def built_in() -> dict[str, type[Op]]:
    """The op classes that come with the package: those that their module holds. Tests and examples declare others."""
    return {name: cls for name, cls in sorted(registry.items())
            if cls.__module__.startswith("nervure.") and getattr(sys.modules[cls.__module__], name, None) is cls}


def golden_table(name: str) -> dict[str, str]:
    """A golden list: ``Name: reason`` a line, in alphabetical order; # starts a comment."""
    lines = (GOLDEN / name).read_text(encoding="utf-8").splitlines()
    rows = [line.partition(":") for line in lines if line and not line.startswith("#")]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows}), f"{name} is not sorted"
    return {name: reason.strip() for name, _, reason in rows}


NAMES = sorted(name for name in built_in() if name in TABLE)
