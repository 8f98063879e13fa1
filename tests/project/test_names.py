"""Names that errors, docstrings and documents give to their readers: each leads to something."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.project.source import ROOT, documents, parse, python_files

NAME = re.compile(r"(?<![\w./])(nv|ops|flags)((?:\.[A-Za-z_]\w*)+)")
"""``nv.jit``, ``nv.flags.threads``, ``ops.Where``: words with dots, not behind a word or a dot of something else."""

ROOTS = {"nv": "nervure", "ops": "nervure.ops", "flags": "nervure.flags"}
FILES = ("py", "md")
FILE = re.compile(r"`([\w./-]+\.(?:py|pyi|md)|[\w.-][\w./-]*/)`")
"""A file of this repository, or a folder, by the end of its path: `steps.py`, `kernel/math/`."""

MADE = frozenset(["src/nervure/passes/choice_of_signs.py"])
"""Files that readers make where they follow a recipe."""

EXAMPLE = re.compile(r"^ *(>>>|\.\.\.) .*$", re.MULTILINE)
"""Lines of examples, which other tests run."""


def unknown(text: str) -> list[str]:
    """The names in a text that lead nowhere. Names of files are none."""
    found = {root + rest for root, rest in NAME.findall(EXAMPLE.sub("", text))}
    return sorted(name for name in found if name.rpartition(".")[2] not in FILES and not resolves(name))


def resolves(name: str) -> bool:
    """Whether a name leads to something: an attribute of an attribute ..., or a module."""
    root, *parts = name.split(".")
    path, thing = ROOTS[root], importlib.import_module(ROOTS[root])
    for part in parts:
        path = f"{path}.{part}"
        if not hasattr(thing, part) and (not hasattr(thing, "__path__") or importlib.util.find_spec(path) is None):
            return False
        thing = getattr(thing, part) if hasattr(thing, part) else importlib.import_module(path)
    return True


def missing(text: str) -> list[str]:
    """The files and folders that a text names and that there are not."""
    return sorted(name for name in set(FILE.findall(text)) - MADE if not any(is_at(name, file) for file in files()))


def is_at(name: str, file: str) -> bool:
    """Whether a file has a name, or is in the folder of that name."""
    return f"/{name}" in file if name.endswith("/") else file.endswith(f"/{name}")


@cache
def files() -> tuple[str, ...]:
    """The files of the repository that documents may name, each from its root, with a slash in front."""
    paths = [path for folder in ("src", "tests", "docs", "bench", "scripts") for path in (ROOT / folder).rglob("*.*")]
    return tuple([f"/{path.relative_to(ROOT).as_posix()}" for path in [*paths, *ROOT.glob("*.*")]])


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of every string of a file, docstrings and the fixed parts of f-strings too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("path", [*python_files("src/nervure"), *python_files("tests/wrong")],
                         ids=lambda path: path.relative_to(ROOT).as_posix())
def test_strings_name_what_there_is(path):
    assert [(line, found) for line, text in strings(path) if (found := unknown(text))] == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_documents_name_what_there_is(path):
    assert unknown(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [*documents(), ROOT / "bench" / "DIARY.md"], ids=lambda path: path.name)
def test_documents_name_files_that_there_are(path):
    assert missing(path.read_text(encoding="utf-8")) == []


def test_a_file_that_is_not_there_is_found():
    assert missing("`no_such.py`, `math/no_such.py`, `no_such/`") == ["math/no_such.py", "no_such.py", "no_such/"]
    assert missing("`gamma.py`, `math/gamma.py`, `kernel/math/`, `src/`, `amma.py`, no_such.py") == ["amma.py"]


def test_what_does_not_lead_anywhere_is_found():
    assert unknown("nv.if_ or nv.loop, not nv.where, nv.optim.Adam, nv.transformers.default") == ["nv.if_", "nv.loop"]
    assert unknown("ops.Wher, ops.Where, flags.thread, flags.threads, nv.flags.thread") == [
        "flags.thread", "nv.flags.thread", "ops.Wher"]
    assert unknown("array.flags.writeable, my_ops.Add, flags.py, nv.errors.WrongKind, nv.types.axis.match") == []
    assert unknown("text\n>>> nv.Nothing\n... nv.Nothing\n") == [] and unknown("nv.types.axis.Nothing") != []
