"""The glossary: our words with their files, and the words of the field that lead to them.

The first part of ``docs/glossary.md`` is written by hand. An entry may end with the words that others have for the
thing; the second part of the page, which is made from them, is sorted by those.

>>> line = "- **panel** (`packing.py`): memory of one operand. Elsewhere: a packed buffer, instead of a copy."
>>> entry_of(line)
Entry(word='panel', file='packing.py', elsewhere=('packed buffer', 'instead of a copy'))
>>> index([entry_of(line)])
['- copy: instead of it, **panel**', '- packed buffer: **panel**']
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tests.project.source import ROOT

PAGE = ROOT / "docs" / "glossary.md"
MARK = "## From the words of the field to ours\n"
ENTRY = re.compile(r"- \*\*(?P<word>.+?)\*\* \(`(?P<file>.+?)`\): \S.*?\.(?: Elsewhere: (?P<elsewhere>[^.]+)\.)?")
ARTICLE = re.compile(r"^(an?|the) ")
INSTEAD = re.compile(r"^instead of (an? |the )?")


class Entry(NamedTuple):
    """A word of ours, the file where the thing lives, and the words that others have for it."""

    word: str
    file: str
    elsewhere: tuple[str, ...]


def entry_of(line: str) -> Entry | None:
    """The entry that a line is, if it is one."""
    found = ENTRY.fullmatch(line)
    if not found:
        return None
    others = (found["elsewhere"] or "").split(", ")
    return Entry(found["word"], found["file"], tuple([ARTICLE.sub("", other) for other in others if other]))


def lines() -> list[str]:
    """The lines of the first part that should be entries."""
    first, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return [line for line in first.splitlines() if line.startswith("- ")]


def index(entries: Iterable[Entry | None]) -> list[str]:
    """The lines of the second part: each word of the field once, with the words of ours that it leads to."""
    ours = defaultdict(list)
    for entry in entries:
        for other in entry.elsewhere if entry else ():
            word = INSTEAD.sub("", other)
            ours[word].append(f"{'instead of it, ' if word != other else ''}**{entry.word}**")
    return [f"- {word}: {', '.join(ours[word])}" for word in sorted(ours, key=str.lower)]


def page() -> str:
    """The whole page, with its second part as the first one has it now."""
    first, _, second = PAGE.read_text(encoding="utf-8").partition(MARK)
    introduction, _, _ = second.partition("\n- ")
    return f"{first}{MARK}{introduction}\n" + "".join([f"{line}\n" for line in index(map(entry_of, lines()))])
