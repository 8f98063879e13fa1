"""Docstrings are sentences that a reader can follow, and a list of the files that are not there yet only shrinks.

A docstring of a module, a class or a function begins with what the thing is or does, not with a question word. Its
first sentence has at most 25 words. It has none of the words of ``TICS``, which leave a number without a name or
speak of code as of people. A public function of three or more parameters names at least one. The docstrings of modules
in tests and bench follow the same rules.
"""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.source import PACKAGE, parse, python_files

WORDS = 25
"""The longest that a first sentence may be."""

QUESTION = re.compile(r"\W*(What|Where(?! strings?\b)|How|Who)\b")
TICS = re.compile(r"\b(so many|what (every|each)|nobody|somebody|anybody|whoever|"
                  r"(?<!users )(?<!user )(?<!people )who)\b", re.IGNORECASE)
EXAMPLE = re.compile(r"^ *>>> .*?(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")

FILES = {path.relative_to(PACKAGE).as_posix(): path for path in python_files("src/nervure")}


def faults(path: Path) -> Iterator[str]:
    """What is wrong with the docstrings of a file, each with its line."""
    for node, public in documented(parse(path), public=True):
        text = EXAMPLE.sub("", ast.get_docstring(node) or "")
        for fault in faults_of(text, parameters(node) if public else []):
            yield f"{path.name}:{getattr(node, 'lineno', 1)}: {fault}"


def docstring_of(path: Path) -> str:
    """The docstring of a file, which is read no further."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                return inspect.cleandoc(ast.literal_eval(token.string)) if token.type == tokenize.STRING else ""
    return ""


def documented(node: ast.AST, public: bool) -> Iterator[tuple[ast.Module | ast.ClassDef | ast.FunctionDef, bool]]:
    """Every module, class and function with a docstring, and whether its name and those around it are public."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        public = public and not getattr(node, "name", "").startswith("_")
        if ast.get_docstring(node) is not None:
            yield node, public
    for child in ast.iter_child_nodes(node):
        yield from documented(child, public and not isinstance(node, ast.FunctionDef))


def parameters(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> list[str]:
    """The names of a function's parameters but the receiver; none of a class or a module."""
    if not isinstance(node, ast.FunctionDef):
        return []
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [argument.arg for argument in every if argument.arg not in ("self", "cls")]


def faults_of(text: str, names: list[str]) -> Iterator[str]:
    """What is wrong with a docstring of a function whose parameters are ``names``."""
    first = SENTENCE_END.split(text.strip())[0]
    if QUESTION.match(text):
        yield f"begins with a question word: {first}"
    if len(first.split()) > WORDS:
        yield f"{len(first.split())} words in the first sentence: {first}"
    if found := TICS.search(text):
        yield f"says {found.group()!r}"
    if len(names) >= 3 and not any(re.search(rf"\b{re.escape(name)}\b", text) for name in names):
        yield f"names none of {', '.join(names)}"


@pytest.mark.parametrize("file", FILES)
def test_docstrings_are_sentences(file):
    assert list(faults(FILES[file])) == []


@pytest.mark.parametrize("folder", ["tests", "bench"])
def test_docstrings_of_modules_are_sentences(folder):
    texts = {path: EXAMPLE.sub("", docstring_of(path)) for path in python_files(folder)}
    assert [f"{path}: {fault}" for path, text in texts.items() for fault in faults_of(text, [])] == []


def test_what_is_no_sentence_is_found():
    """Each rule finds what breaks it, and nothing else."""
    def found(text: str, *names: str) -> list[str]:
        return [fault.split(":")[0] for fault in faults_of(text, list(names))]

    assert found("Adds ``x`` to ``y``.", "x", "y", "out") == []
    assert found("What it adds.") == found("``How`` it adds.") == ["begins with a question word"]
    assert found("Where strings: the type rule of an op as one line of text.") == []
    assert found("Whether it adds.") == found("Whatever is added is kept.") == []
    assert found("Adds so\nmany numbers.".replace("\n", " ")) == ["says 'so many'"]
    assert found("An array that nobody reads.") == ["says 'nobody'"]
    assert found("Users who add it, and people who do not.") == [] and found("Kernels who add it.") == ["says 'who'"]
    assert found(" ".join(["word"] * 25) + ". And more.") == []
    assert found(" ".join(["word"] * 26) + ".") == ["26 words in the first sentence"]
    assert found("Adds numbers.", "left", "right", "out") == ["names none of left, right, out"]
    assert found("Adds numbers.", "left", "right") == []
