"""A file is read in one sitting, a function fits a screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.project.source import ROOT, parse, python_files, statements

FILE_LINES = 600
FUNCTION_LINES = 60


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from ``def`` to the end; a docstring, which is read apart, is not counted."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def long_files() -> Iterator[str]:
    for path in python_files("src/nervure", "tests", "bench"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            yield f"{path.relative_to(ROOT)} has {lines} lines"


def long_functions() -> Iterator[str]:
    for path in python_files("src/nervure"):
        for node in statements(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > FUNCTION_LINES:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {body_lines(node)} lines"


def test_files_are_short():
    assert list(long_files()) == []


def test_functions_fit_a_screen():
    assert list(long_functions()) == []


def test_docstrings_do_not_count():
    function = ast.parse('def double(x):\n    """Twice.\n\n    Of x.\n    """\n    return 2 * x\n').body[0]
    assert body_lines(function) == 2
