"""Every module says what it is, and the examples of its docstrings are true."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
from collections.abc import Iterator

import numpy as np
import pytest

import nervure as nv
from tests.project.listing import FOLDERS
from tests.project.source import ROOT, module_name, parse, python_files
from tests.project.stubs import public_names

# What an example may use without an import, as in a user's shell: a file may have a `sum` or `round` of its own.
KNOWN = {**{name: getattr(builtins, name) for name in dir(builtins) if not name.startswith("_")}, "np": np, "nv": nv}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [module_name(path) for path in python_files("src/nervure")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "nervure":
            raise
        pytest.skip(f"{error.name} is not installed")
    check_examples(name)


def check_examples(name: str) -> None:
    """Fails unless all examples of a module give what they say."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name, extraglobs=KNOWN):
        runner.run(test, out=report.append)
    assert not report, "".join(report)


def public_callables() -> Iterator[tuple[str, object]]:
    """(name, what it is) of every public function and class but the errors, which are raised and not called."""
    below = [(f"nervure.{folder}", name) for folder in FOLDERS
             for name in importlib.import_module(f"nervure.{folder}").__all__]
    for module, name in [*public_names(), *below]:
        value = getattr(importlib.import_module(module), name)
        if callable(value) and not (isinstance(value, type) and issubclass(value, Exception)):
            yield f"{module}.{name}", value


def test_every_public_function_and_class_shows_an_example():
    assert [name for name, value in public_callables() if ">>> " not in (value.__doc__ or "")] == []


def test_every_module_has_a_docstring():
    missing = [str(path.relative_to(ROOT)) for path in python_files("src/nervure")
               if (tree := parse(path)).body and ast.get_docstring(tree) is None]
    assert missing == []
