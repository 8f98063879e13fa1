"""The steps of CONTRIBUTING.md, followed to the letter in a copy of the repository: what they make passes the tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.project.source import ROOT

STEP = re.compile(r"^\d+\. [^`]*`(?P<path>[^`]+\.py)`, (?:before `(?P<before>[^`]+)`|at its end|a new file)[^`]*?:?"
                  r"(?:[^`]*`[^`]+`[^`]*?)*\n\n   ```py\n(?P<block>.*?)^   ```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """What is written, in which file, and before which line of it; at the end where that is None."""

    path: str
    before: str | None
    block: str


def steps(title: str) -> list[Step]:
    """The steps of a section."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    entries = re.split(r"(?m)^(?=\d+\. )", section)[1:]
    found = [STEP.match(entry) for entry in entries]
    assert found and all(found), f"a step of {title!r} does not say what is written where"
    blocks = [re.sub(r"(?m)^   ", "", match["block"]) for match in found if match]
    return [Step(match["path"], match["before"], block) for match, block in zip(found, blocks, strict=True) if match]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository with its bytecode, which stands for the files that keep their size and their time."""
    for name in ("src", "tests"):  # without the bytecode that another process is about to write
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def follow(copy: Path, title: str) -> set[str]:
    """Writes what a section says; the files that this touches."""
    for step in steps(title):
        path = copy / step.path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if step.before is not None:
            assert text.count(f"\n{step.before}") == 1, step
            text = text.replace(f"\n{step.before}", f"\n{step.block}{step.before}")
        else:
            gap = "\n" if step.block.startswith(" ") else "\n\n"
            text = f"{text}{gap}{step.block}" if text else step.block
        path.write_text(text, encoding="utf-8")
    return {step.path for step in steps(title)}


def run(copy: Path, *arguments: str) -> None:
    """Runs tests of the copy, in one process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    found = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=400,
                           env={**os.environ, "PYTHONPATH": str(copy / "src")})
    assert found.returncode == 0, textwrap.shorten(found.stdout[-3000:] + found.stderr[-2000:], 5000)
    assert "passed" in found.stdout


REGISTRY = "test_registry and (golden or composites or samples or lists)"
"""The tests of the registry that a new op must pass."""


def test_a_scalar_function_is_five_files(copy):
    assert len(follow(copy, "How to add a scalar function")) == 5
    run(copy, "tests/conformance/test_scalar_table.py", "tests/conformance/test_ops.py",
        "tests/conformance/test_derivatives.py", "tests/conformance/test_registry.py",
        "tests/front/test_elementwise.py", "tests/transformers/interpreter/test_scalar.py",
        "tests/transformers/cpu/test_math_accuracy.py",
        "-k", f"not test_registry and cot and not document or {REGISTRY}")


def test_a_composite_is_two_files(copy):
    assert len(follow(copy, "How to add a composite")) == 2
    run(copy, "tests/conformance/test_ops.py", "tests/conformance/test_derivatives.py",
        "tests/conformance/test_registry.py", "tests/front/test_elementwise.py",
        "-k", f"not test_registry and (softsign or tested) or {REGISTRY}")


def test_a_pass_is_a_file_and_a_line(copy):
    touched = follow(copy, "How to add a pass")
    assert touched == {"src/nervure/passes/choice_of_signs.py", "src/nervure/passes/pipelines.py"}
    pipelines = copy / "src/nervure/passes/pipelines.py"
    text = pipelines.read_text(encoding="utf-8")
    line = "from nervure.passes.common_subexpressions import common_subexpressions\n"
    pipelines.write_text(text.replace(line, "from nervure.passes.choice_of_signs import choice_of_signs\n" + line),
                         encoding="utf-8")
    run(copy, "--doctest-modules", "src/nervure/passes/choice_of_signs.py",
        "tests/passes/test_pipelines.py")
