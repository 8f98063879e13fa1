"""Finds the project's files and reads them for the tests of its rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
PACKAGE = SOURCES / "nervure"


def python_files(*folders: str) -> list[Path]:
    """All Python files below these folders of the checkout, in a fixed order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """``src/nervure/types/axis.py`` is ``nervure.types.axis``; a package is named without ``__init__``."""
    root = ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file, at any depth, and what of them holds others: not the expressions, which are most nodes.
    """
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        yield node
        waiting += [child for child in ast.iter_child_nodes(node)
                    if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)]


def called_name(call: ast.Call) -> str:
    """The name of the function that is called, without what stands before its last dot; "" where it has none."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(
        function, ast.Name) else ""


def documents() -> list[Path]:
    """The texts whose examples are executed."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
