"""The whole text of each error of the files that this module imports, and the line that it names.

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
from tests.wrong import cases, devices, facets, functions, habits, models, training
from tests.wrong.cases import CASES

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER / "golden"
SOURCES = {Path(module.__file__).resolve() for module in (cases, devices, facets, functions, habits, models, training)}
PLACE = re.compile(re.escape(f"{FOLDER}{os.sep}") + r"(\w+\.py):(\d+)")


def failure(name: str) -> Exception:
    """The error that a case ends in."""
    with pytest.raises(CASES[name].kind) as caught:
        CASES[name].program()
    return caught.value


def source_line(file: Path | str, number: int) -> str:
    return linecache.getline(str(file), number).strip()


def portable(text: str) -> str:
    """The text of an error with each place as ``tests/wrong/cases.py: <its source line>``."""
    def line(found: re.Match[str]) -> str:
        return f"tests/wrong/{found[1]}: {source_line(FOLDER / found[1], int(found[2])).removesuffix('  # here')}"
    return PLACE.sub(line, text).replace(", XLATensor", "")  # which is listed where jax is installed


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
        assert Path(error.location.file).resolve() in SOURCES
        assert source_line(*error.location).endswith("# here")


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
