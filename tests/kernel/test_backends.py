"""Planning and loops belong to no backend: what is tested here runs where there is none."""

from __future__ import annotations

import subprocess
import sys

from tests.processes import run_text
from tests.project.source import ROOT

WITHOUT = """
import sys
import pytest
sys.modules["nervure.transformers.cpu"] = None  # whoever imports it, or something of it, gets an error

class WithoutCpu:
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "cpu" not in item.fixturenames]

code = pytest.main(["-q", "-p", "no:cacheprovider", "-n0", "tests/kernel", "--sample", "60",
                    "--ignore", "tests/kernel/test_backends.py"], plugins=[WithoutCpu()])
loaded = [name for name in sys.modules if name.startswith("nervure.transformers.cpu.")]
print(loaded)
sys.exit(int(code) or bool(loaded))
"""


def test_no_backend_is_imported():
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "60 passed" in done.stdout


def test_all_of_it_is_imported_without_a_backend():
    every = [path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".")
             for path in sorted((ROOT / "src" / "nervure" / "kernel").rglob("*.py"))]
    text = (f"import importlib, sys\nfor name in {every}: importlib.import_module(name.removesuffix('.__init__'))\n"
            "print([name for name in sys.modules if name.startswith('nervure.transformers')])")
    assert run_text(text) == "[]\n"
