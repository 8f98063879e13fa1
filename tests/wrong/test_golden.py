"""What people are told: the whole text of each error of ``cases.py``, and the line that it names.

``WRITE_GOLDEN=1`` writes the files, for a reader to look at the difference. A location is written as
file and source line, so that moving a case changes nothing.
"""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path

import pytest

import nervure as nv
from tests.wrong import cases
from tests.wrong.cases import CASES

GOLDEN = Path(__file__).resolve().parent / "golden"
SOURCE = Path(cases.__file__).resolve()
PLACE = re.compile(re.escape(str(SOURCE)) + r":(\d+)")


def failure(name: str) -> Exception:
    """The error that a case ends in."""
    with pytest.raises(CASES[name].kind) as caught:
        CASES[name].program()
    return caught.value


def source_line(number: int) -> str:
    return linecache.getline(str(SOURCE), number).strip()


def portable(text: str) -> str:
    """The text of an error with each place as ``tests/wrong/cases.py: <its source line>``."""
    return PLACE.sub(lambda found: f"tests/wrong/cases.py: {source_line(int(found[1])).removesuffix('  # here')}", text)


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_as_agreed(name):
    text = portable(str(failure(name))) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(text, encoding="ascii")
    assert text == path.read_text(encoding="ascii")


@pytest.mark.parametrize("name", CASES)
def test_the_user_s_own_line_is_named(name):
    error = failure(name)
    if isinstance(error, nv.NervureError):
        assert error.location.file == cases.__file__
        assert source_line(error.location.line).endswith("# here")


@pytest.mark.parametrize("name", CASES)
def test_every_error_says_what_to_do(name):
    error = failure(name)
    if isinstance(error, nv.NervureError):
        assert error.op and error.help and error.got, error
    else:
        assert "did you mean" in str(error)


def test_no_text_is_left_over():
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted(CASES)


def test_there_are_forty():
    assert len(CASES) >= 40
