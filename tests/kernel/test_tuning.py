"""Tuned numbers stand in one file, each with its reason; facts of the machine follow from its description."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from nervure.support.product_tuning import ProductTuning
from tests.project.source import PACKAGE, parse

KERNEL, PASSES, PRODUCTS = PACKAGE / "kernel", PACKAGE / "passes", PACKAGE / "support/product_tuning.py"
CODEGEN, TILES = PACKAGE / "transformers/cpu/compile/codegen", PACKAGE / "transformers/cpu/compile/tiles"

# Numbers that nobody would tune: they are part of a meaning or of a notation.
MEANT = {"ir.BLOCK", "ir.GROUP", "ir.GROUPS", "ir.CONTRACT_BLOCK", "ir.CONTRACT_GROUP", "group_totals.MOST_GROUPS",
         "routines.FEW_ROWS", "routines.DEEPEST_OFFSETS", "folding._EXACT_FLOAT", "legality._TOTAL",
         "parser.MAX_DEPTH", "parser.INDENT", "context.ALIGNMENT", "context.NUMBERS", "access.NATIVE_MASKS"}

# The bounds of rewriting, by which it ends soon; the largest numbers of types.
REWRITING = {"cut.AGAIN", "pattern._SEEN_THROUGH", "rewrite.VISITS", "rewrite._SPARE", "rewrite._DEEPEST", "fold.LIMIT",
             "decompose._VISITS", "lower_argmax._LARGEST", "seen.DEEPEST"}

# What passes weigh of a loop: how much memory may move out of it, what is computed again rather than kept, and how many
# iterations are no loop.
LOOPS = {"fission.ROOM", "fission.UNSTACKED", "inlined_regions.MOST", "residuals.DEAR", "counted_loops.MOST_OPS"}

# The most numbers that may steer products and convolutions. It can only shrink.
MOST = 25

def numbers_in(path: Path) -> Iterator[str]:
    """The names of a module that are given numbers above 1 which do not follow from the machine or from other names."""
    for node in parse(path).body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for name, value in _pairs(target, node.value):
                if name.isupper() and _is_number(value):
                    yield name


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of an assignment, each with what it is given, as far as that stands there."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
        for part, own in zip(target.elts, values, strict=True):
            yield from _pairs(part, own)


def _is_number(value: ast.expr) -> bool:
    parts = list(ast.walk(value))
    follows = any([isinstance(part, ast.Attribute) for part in parts]) or isinstance(value, ast.BinOp) and any(
        [isinstance(part, ast.Name) for part in parts])
    return not follows and any([isinstance(part, ast.Constant) and type(part.value) in (int, float) and part.value > 1
                                for part in parts])


def named(folder: Path, *left_out: str) -> set[str]:
    """The numbers of a folder, each with its module."""
    return {f"{path.stem}.{name}" for path in folder.rglob("*.py") if path.name not in left_out
            and path.parent.name != "math" for name in numbers_in(path)}


def test_numbers_stand_in_one_file():
    """But for those of mathematics, which are no choices."""
    assert named(KERNEL, "tuning.py") | {name for path in CODEGEN.glob("*.py")
                                         for name in (f"{path.stem}.{each}" for each in numbers_in(path))} == MEANT


def test_passes_and_tiles_know_no_number():
    """What steers products and convolutions is said by the machine that they are given."""
    assert named(PASSES) == REWRITING | LOOPS
    assert named(TILES) == set()


def test_few_numbers_steer_products():
    """Each has its meaning, and is read where something is decided."""
    fields = [node for node in parse(PRODUCTS).body if isinstance(node, ast.ClassDef)][0].body
    names = [node.target.id for node in fields if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    assert tuple(names) == ProductTuning._fields and len(names) <= MOST
    for node, after in zip(fields, fields[1:]):
        if isinstance(node, ast.AnnAssign):
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), ast.unparse(node)
    said = re.compile(rf"\.({'|'.join(names)})\b")
    read = {node.attr for path in PACKAGE.rglob("*.py") if said.search(path.read_text(encoding="utf-8"))
            for node in ast.walk(parse(path)) if isinstance(node, ast.Attribute)}
    assert set(names) <= read


def test_nothing_follows_from_a_machine_that_is_not_given():
    """A module may take the generic one where none is given, but keeps nothing that follows from it."""
    for path in PACKAGE.rglob("*.py"):
        if path.name == "machine.py" or "GENERIC" not in path.read_text(encoding="utf-8"):
            continue
        for node in parse(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                assert "GENERIC" not in {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}, path


def test_every_number_has_a_reason_and_is_used():
    body = parse(KERNEL / "tuning.py").body
    names = list(numbers_in(KERNEL / "tuning.py"))
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "tuning.py"]
    assert len(names) > 15
    for node, after in zip(body, body[1:]):
        if isinstance(node, ast.Assign):
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), ast.unparse(node)
    assert [name for name in names if not any([name in text for text in texts])] == []
