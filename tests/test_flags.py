"""Switches: their environment, their kinds, their text."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument, WrongKind


def test_defaults_hold_unless_set():
    unset = {name: switch for name, switch in flags.SWITCHES.items() if flags.variable_name(name) not in os.environ}
    assert unset and all(getattr(flags, name) == switch.default for name, switch in unset.items())


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


@pytest.mark.parametrize(("name", "value"), [("threads", -1), ("cache_limit", -5), ("memory_limit", -1),
                                             ("load_limit", -1), ("cpu_features", "sse")])
def test_a_switch_takes_no_value_outside_its_range(name, value):
    """From code and from the environment alike."""
    with pytest.raises(InvalidArgument, match=name) as caught:
        setattr(flags, name, value)
    assert caught.value.expected in ("an integer of at least 0", "'', 'avx2'")
    with pytest.raises(InvalidArgument, match=flags.variable_name(name)):
        flags.parse(name, str(value))


def test_every_default_is_in_range():
    assert all(switch.takes(switch.default) for switch in flags.SWITCHES.values())


def run(code, *options, **environment):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)


@pytest.mark.parametrize("options", [(), ("-W", "error")], ids=["usual", "errors"])
def test_a_misspelt_variable_of_the_environment_is_told_once(options):
    """It ends no program, also where warnings are errors."""
    done = run("import nervure; nervure.flags.threads; nervure.flags.threads", *options, NERVURE_TREADS="1")
    assert done.returncode == 0
    assert done.stderr.count("NERVURE_TREADS sets no switch: did you mean threads?") == 1


def test_known_variables_of_the_environment_are_no_news():
    done = run("import nervure; nervure.flags.threads", "-W", "error", NERVURE_THREADS="1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("text", "value"), [("1", True), ("On", True), ("no", False)])
def test_words_of_the_environment(text, value):
    assert flags.parse("check_nan", text) is value


def test_what_cannot_be_read_is_named():
    for name, text in [("check_nan", "maybe"), ("memory_limit", "2 elephants")]:
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


@pytest.mark.parametrize("text", ["kernel", "passes,kernels,fast", "Passes"])
def test_debug_refuses_what_there_is_not_to_show(text):
    x = nv.placeholder((2,))
    with flags.overriding(debug=text), pytest.raises(InvalidArgument, match="debug") as caught:
        nv.computation(nv.exp(x), x)
    assert caught.value.got in text.split(",") and "kernels" in caught.value.expected
    assert "simplify" in caught.value.expected


@pytest.mark.parametrize(("word", "line"), [
    ("passes", "-- before decompose"), ("simplify", "-- after simplify"),
    ("cluster", "loop over (4,): Exp; stores Exp"), ("kernels", "kernel pointwise(in b0: f32[4], out b1: f32[4]):"),
    ("llvm", "define void @kernel(ptr %buffers, "), ("asm", "retq")])
def test_debug_prints_what_it_is_asked_for_and_nothing_else(word, line, capsys):
    x = nv.placeholder((4,))
    with flags.overriding(debug=f" {word} ,"), nv.transformers.make_transformer("cpu") as cpu:
        cpu.computation(nv.exp(x), x)
    shown = capsys.readouterr()
    assert shown.out == "" and line in shown.err
    others = {"cluster": "stores", "kernels": "kernel pointwise", "llvm": "define void", "asm": "retq",
              "passes": "decompose"}
    assert all([text not in shown.err for other, text in others.items() if other != word])


def test_debug_prints_nothing_by_default(capsys):
    x = nv.placeholder((4,))
    with nv.transformers.make_transformer("cpu") as cpu:
        cpu.computation(nv.exp(x) + 1, x)
    assert capsys.readouterr() == ("", "")


def test_a_text_has_no_null_characters():
    with pytest.raises(InvalidArgument, match="takes no such value") as caught:
        flags.cache_directory = "a\0b"
    assert caught.value.operand == "cache_directory" and flags.cache_directory != "a\0b"
