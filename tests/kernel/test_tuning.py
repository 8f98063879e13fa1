"""Tuned numbers stand in one file, each with its reason, and each is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.project.source import PACKAGE, parse

KERNEL = PACKAGE / "kernel"

CODEGEN = PACKAGE / "transformers/cpu/compile/codegen"

# Numbers that nobody would tune: they are part of a meaning or of a notation.
MEANT = {"ir.BLOCK", "ir.GROUP", "ir.GROUPS", "ir.CONTRACT_BLOCK", "ir.CONTRACT_GROUP", "accumulators.LARGER_GROUPS",
         "routines.FEW_ROWS", "folding._EXACT_FLOAT", "legality._TOTAL", "parser.MAX_DEPTH", "parser.INDENT",
         "context.ALIGNMENT", "context.NUMBERS", "expressions._MAGIC", "expressions._MAGIC_BITS",
         "access.NATIVE_MASKS"}


def numbers_in(path: Path) -> Iterator[str]:
    """The names of a module that are given numbers above 1."""
    for node in parse(path).body:
        if isinstance(node, ast.Assign) and any([isinstance(part, ast.Constant) and type(part.value) in (int, float)
                                                 and part.value > 1 for part in ast.walk(node.value)]):
            for target in node.targets:
                yield from [name.id for name in ast.walk(target) if isinstance(name, ast.Name) and name.id.isupper()]


def test_numbers_stand_in_one_file():
    """But for those of mathematics, which are no choices."""
    planning = [path for path in KERNEL.rglob("*.py") if path.name != "tuning.py" and path.parent.name != "math"]
    assert {f"{path.stem}.{name}" for path in [*planning, *CODEGEN.glob("*.py")] for name in numbers_in(path)} == MEANT


def test_every_number_has_a_reason_and_is_used():
    body = parse(KERNEL / "tuning.py").body
    names = list(numbers_in(KERNEL / "tuning.py"))
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "tuning.py"]
    assert len(names) > 15
    for node, after in zip(body, body[1:]):
        if isinstance(node, ast.Assign):
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), ast.unparse(node)
    assert [name for name in names if not any([name in text for text in texts])] == []
