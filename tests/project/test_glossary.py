"""The glossary: words stand where it says; and one name, of a module or of a class, has one meaning."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from tests.project import glossary
from tests.project.source import PACKAGE, parse, python_files

LINES = glossary.lines()
ENTRIES = [entry for line in LINES if (entry := glossary.entry_of(line))]

SURFACE = "functions of tensors beside the ops that they make"
MATHEMATICS = "a family of ops, and its functions as loops compute them"
TWO_LEVELS = "the same of the graph and of the loop IR"
INTERPRETED = "the ops or functions of that family, in NumPy"
VARIANTS = "the base class or the table, and those of single transformers"

# Modules of one name in different folders, and what makes it one meaning.
SHARED = {
    **dict.fromkeys("attention convolution custom dlpack effects indexing sharding".split(), SURFACE),
    **dict.fromkeys("normalization pooling random".split(), SURFACE),
    **dict.fromkeys("contraction reductions views".split(), f"{SURFACE}; {INTERPRETED}"),
    **dict.fromkeys("exponential trigonometric".split(), MATHEMATICS),
    **dict.fromkeys("scalar special".split(), INTERPRETED),
    **dict.fromkeys("common_subexpressions dead_code parser printer verify".split(), TWO_LEVELS),
    **dict.fromkeys("executable report transformer".split(), VARIANTS),
}
# Names with two meanings, one of which gives way in time. No name is to be added.
UNSETTLED = frozenset("algebra complex host integers interval positions steps".split())

REPEATED_CLASSES = 10
"""Public names of classes that stand in several modules, but for layers named as their op. A change that makes them
fewer writes the new number here.
"""


def same_named() -> dict[str, list[str]]:
    """The folders of each module name that occurs more than once."""
    folders = defaultdict(list)
    for path in python_files("src/nervure"):
        folders[path.stem].append(path.parent.relative_to(PACKAGE).as_posix())
    return {name: found for name, found in folders.items() if len(found) > 1 and name != "__init__"}


def test_every_line_is_an_entry():
    assert len(LINES) == len(ENTRIES) > 80


def test_the_words_are_in_order_and_none_stands_twice():
    words = [entry.word.lower() for entry in ENTRIES]
    assert words == sorted(set(words), key=lambda word: word.replace("-", " "))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.word)
def test_a_word_stands_in_its_file(entry):
    text = re.sub(r"[\s_]+", " ", (PACKAGE / entry.file).read_text(encoding="utf-8").lower())
    assert entry.word.lower() in text


@pytest.mark.parametrize("word", [
    "autograd", "buffer donation", "common subexpression", "CSE", "dynamic shape", "GEMM", "im2col",
    "indirection buffer", "linalg generic op", "liveness", "NCHW", "NHWC", "prepacked weights",
    "register tile", "SIMD", "tiling"])
def test_a_word_of_the_field_leads_to_ours(word):
    """Each of these is a word of ours itself, or leads to one."""
    found = glossary.index(ENTRIES)
    assert any(line.startswith(f"- {word}: ") for line in found) or any(entry.word == word for entry in ENTRIES)


def test_no_word_of_ours_is_one_that_others_have_for_it():
    """A word that is in both lists leads to another thing, which a reader should know."""
    assert [entry.word for entry in ENTRIES if entry.word in entry.elsewhere] == []


def test_modules_of_one_name_mean_one_thing():
    assert set(same_named()) - set(SHARED) - UNSETTLED == set()


def test_no_name_is_excused_without_need():
    assert set(SHARED) - set(same_named()) == set()
    assert UNSETTLED & set(SHARED) == set() and len(UNSETTLED) <= 7


@cache
def repeated_classes() -> dict[str, list[str]]:
    """The modules of each public class whose name occurs in more than one; a layer of ``nn`` may be named as its op."""
    found = defaultdict(list)
    for path in python_files("src/nervure"):
        if path.parent == PACKAGE / "nn":
            continue
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(PACKAGE).as_posix())
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_more_classes_share_a_name_than_before():
    """Most of those that do are an op and what shows it elsewhere, such as a statement of the loop IR."""
    assert len(repeated_classes()) <= REPEATED_CLASSES
    assert {"Scatter", "Contract"} < set(repeated_classes()) and "Step" not in repeated_classes()
