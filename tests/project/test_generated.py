"""Generated files agree with the package, and type checkers see it as users do."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.project import stubs
from tests.project.generated import FILES
from tests.project.source import ROOT


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == FILES[path](), "run python -m tests.project.generated"


def mypy(*files: str) -> str:
    """What mypy says of some files, or of the package."""
    run = subprocess.run([sys.executable, "-m", "mypy", *files], cwd=ROOT, text=True, capture_output=True)
    return run.stdout + run.stderr


def test_mypy_infers_the_types_of_the_package_and_of_a_user_s_program_and_finds_its_mistakes():
    """Each mistake of the program stands with the error expected there; one that is not found is an error, too. One
    test has both, since the second run reads what the first one keeps.
    """
    found = mypy()
    assert re.fullmatch(r"Success: no issues found in \d+ source files\n", found), found
    assert mypy("tests/project/user_program.py") == "Success: no issues found in 1 source file\n"


def test_functions_made_by_functions_are_declared_with_their_signatures():
    text = stubs.functions()
    assert 'def exp(x: Operand) -> Tensor:\n    """e ** x; -inf gives 0, inf gives inf.\n' in text
    text = stubs.package()
    assert " exp as exp," in text.partition("from nervure.front.op_functions import (\n")[2] and "def sum(" in text
    assert " softmax as softmax" in text and "def softmax" not in text


def test_methods_are_declared_as_they_are_called():
    text = stubs.interface()
    assert '    def __rsub__(self, other: Operand) -> Tensor: """``nv.subtract``."""\n' in text
    assert "    @property\n    def at(self) -> AtIndexer:\n" in text
