"""Dependencies: what is declared is what is imported, and ``import nervure`` loads nothing that a program may never
use: it needs NumPy and ml_dtypes.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.project.source import ROOT, called_name, parse, python_files, statements

OPTIONAL = ["jax", "llvmlite", "matplotlib", "onnx", "safetensors", "scipy", "sklearn", "tensorboardX", "torch", "tqdm"]
BY_NAME = ("import_module", "find_spec")
"""Functions that import a module of a given name, or look for it."""

PROGRAM = f"import sys, nervure; print('numpy' in sys.modules, *[name for name in {OPTIONAL} if name in sys.modules])"


def test_import_loads_no_optional_dependency():
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split()[1:] == []
    assert run.stderr == ""


def nodes_of(path: Path) -> Iterator[ast.AST]:
    """The parts of a file that may import something: its statements, and all there is where it has such a call."""
    text = path.read_text(encoding="utf-8")
    return (ast.walk if any([name in text for name in BY_NAME]) else statements)(parse(path))


def imported_packages() -> set[str]:
    """The names of all that the package imports, by statements and by name."""
    found = set()
    for node in (node for path in python_files("src/nervure") for node in nodes_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module))
        elif isinstance(node, ast.Call) and called_name(node).endswith(BY_NAME):
            found |= {str(entry.value) for entry in node.args if isinstance(entry, ast.Constant)}
    return {name.partition(".")[0] for name in found}


def test_what_is_declared_is_what_is_imported():
    """A dependency that nothing imports would be installed for nothing; one that is not declared would be missing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = project["dependencies"], [entry for extra in extras.values() for entry in extra]
    required, optional = [{re.match(r"[\w-]+", entry)[0].replace("scikit-learn", "sklearn") for entry in entries}
                          for entries in listed]
    imported = imported_packages() - set(sys.stdlib_module_names) - {"nervure"}
    assert required <= imported <= required | optional
