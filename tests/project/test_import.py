"""``import nervure`` needs NumPy and ml_dtypes, and loads nothing that a program may never use."""

from __future__ import annotations

import subprocess
import sys

from tests.project.source import ROOT

OPTIONAL = ["jax", "llvmlite", "matplotlib", "onnx", "safetensors", "scipy", "sklearn", "torch", "tqdm"]
PROGRAM = f"import sys, nervure; print('numpy' in sys.modules, *[name for name in {OPTIONAL} if name in sys.modules])"


def test_import_loads_no_optional_dependency():
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split()[1:] == []
    assert run.stderr == ""
