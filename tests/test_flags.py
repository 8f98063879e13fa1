"""Switches: their environment, their kinds, their text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nervure import flags
from nervure.errors import InvalidArgument, WrongKind


def test_defaults_hold_unless_set():
    assert all(getattr(flags, name) == switch.default for name, switch in flags.SWITCHES.items())


def test_overriding_ends_with_the_block_even_after_an_error():
    with pytest.raises(ZeroDivisionError), flags.overriding(check_nan=True, memory_limit=5):
        assert flags.check_nan and flags.memory_limit == 5
        raise ZeroDivisionError
    assert not flags.check_nan and flags.memory_limit == 0


def test_an_unknown_switch_is_refused_with_a_suggestion():
    with pytest.raises(InvalidArgument) as caught:
        flags.check_nans = True
    assert caught.value.help == "did you mean check_nan?"
    with pytest.raises(AttributeError):
        flags.nothing
    with pytest.raises(InvalidArgument):
        flags.overriding(nothing=1).__enter__()
    assert not hasattr(flags, "nothing")


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_switch_keeps_its_kind(value):
    with pytest.raises(WrongKind):
        flags.check_nan = value


@pytest.mark.parametrize(("text", "value"), [("1", True), ("On", True), ("no", False)])
def test_words_of_the_environment(text, value):
    assert flags.parse("check_nan", text) is value


def test_what_cannot_be_read_is_named():
    for name, text in [("check_nan", "maybe"), ("memory_limit", "2GB")]:
        with pytest.raises(InvalidArgument, match=flags.variable_name(name)):
            flags.parse(name, text)


def test_the_environment_sets_a_switch():
    code = "from nervure import flags; print(flags.check_nan, flags.memory_limit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"NERVURE_CHECK_NAN": "1", "NERVURE_MEMORY_LIMIT": "1000"})
    assert done.stdout == "True 1000\n"


def test_the_description_has_a_line_a_switch():
    lines = flags.describe().splitlines()
    assert len(lines) == len(flags.SWITCHES)
    assert all(name in line and switch.doc in line and flags.variable_name(name) in line
               for line, (name, switch) in zip(lines, flags.SWITCHES.items(), strict=True))
