"""The glossary: each word stands where it says; and one name of a module has one meaning."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.project.source import PACKAGE, ROOT, python_files

ENTRY = re.compile(r"- \*\*(.+?)\*\* \(`(.+?)`\): \S.*\.")
LINES = [line for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines() if line[:2] == "- "]
ENTRIES = [found.groups() for line in LINES if (found := ENTRY.fullmatch(line))]

SURFACE = "functions of tensors beside the ops that they make"
MATHEMATICS = "a family of ops, and its functions as loops compute them"
TWO_LEVELS = "the same of the graph and of the loop IR"
INTERPRETED = "the ops or functions of that family, in NumPy"
VARIANTS = "the base class or the table, and those of single transformers"

# Modules of one name in different folders, and what makes it one meaning.
SHARED = {
    **dict.fromkeys("convolution custom dlpack effects indexing normalization pooling random".split(), SURFACE),
    **dict.fromkeys("contraction reductions views".split(), f"{SURFACE}; {INTERPRETED}"),
    **dict.fromkeys("exponential trigonometric".split(), MATHEMATICS),
    **dict.fromkeys("scalar special".split(), INTERPRETED),
    **dict.fromkeys("common_subexpressions dead_code parser printer verify".split(), TWO_LEVELS),
    **dict.fromkeys("executable report transformer".split(), VARIANTS),
}
# Names with two meanings, one of which gives way in time. No name is to be added.
UNSETTLED = frozenset("algebra complex host integers interval positions steps".split())


def same_named() -> dict[str, list[str]]:
    """The folders of each module name that occurs more than once."""
    folders = defaultdict(list)
    for path in python_files("src/nervure"):
        folders[path.stem].append(path.parent.relative_to(PACKAGE).as_posix())
    return {name: found for name, found in folders.items() if len(found) > 1 and name != "__init__"}


def test_every_line_is_an_entry():
    assert len(LINES) == len(ENTRIES) > 80


def test_the_words_are_in_order_and_none_stands_twice():
    words = [word.lower() for word, _ in ENTRIES]
    assert words == sorted(set(words), key=lambda word: word.replace("-", " "))


@pytest.mark.parametrize(("word", "file"), ENTRIES, ids=[word for word, _ in ENTRIES])
def test_a_word_stands_in_its_file(word, file):
    text = re.sub(r"[\s_]+", " ", (PACKAGE / file).read_text(encoding="utf-8").lower())
    assert word.lower() in text


def test_modules_of_one_name_mean_one_thing():
    assert set(same_named()) - set(SHARED) - UNSETTLED == set()


def test_no_name_is_excused_without_need():
    assert set(SHARED) - set(same_named()) == set()
    assert UNSETTLED & set(SHARED) == set() and len(UNSETTLED) <= 7
