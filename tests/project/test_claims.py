"""Every numbered claim of the documents (``- **A12** ...``) is named by a test; tests name no others.

A test names a claim in a comment, a docstring or another string: ``"A12: a slice of a flattened axis is plain"``.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

from tests.project.source import ROOT, documents, python_files

CLAIM = re.compile(r"^\s*[-*] \*\*([A-Z]\d+)\*\* ", re.MULTILINE)
NUMBER = re.compile(r"\b[A-Z]\d+\b")


def claims() -> Counter[str]:
    """The numbers of all claims, with how often each is made."""
    return Counter(number for path in documents() for number in CLAIM.findall(path.read_text(encoding="utf-8")))


@cache
def named_numbers(source: str) -> frozenset[str]:
    """The numbers that the comments and strings of a test file name; variables called W1 are not meant."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline) if NUMBER.search(source) else ()
    texts = (token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING))
    return frozenset([number for text in texts for number in NUMBER.findall(text)])


def files_of_tests() -> list[Path]:
    own = ROOT / "tests" / "project"
    return [path for path in python_files("tests") if path.name.startswith("test_") and path.parent != own]


def test_numbers_are_given_once():
    assert [number for number, times in claims().items() if times > 1] == []


def test_every_claim_is_named_by_a_test():
    named = set().union(*(named_numbers(path.read_text(encoding="utf-8")) for path in files_of_tests()))
    assert sorted(set(claims()) - named) == []


def test_no_test_names_a_claim_that_is_not_there():
    known = set(claims())
    families = {number[0] for number in known}
    offenders = [f"{path.relative_to(ROOT)} names {number}" for path in files_of_tests()
                 for number in sorted(named_numbers(path.read_text(encoding="utf-8")))
                 if number[0] in families and number not in known]
    assert offenders == []


def test_claims_and_names_are_found():
    assert CLAIM.findall("- **A1** one\n- **A2** two, see **A3**\ntext **A4** text\n") == ["A1", "A2"]
    assert named_numbers('def test_x():\n    """A1 and (A2)."""\n    B7 = 1  # A3\n') == {"A1", "A2", "A3"}
