"""Panels: a step that makes one runs when what it is made from has changed, and its end alone counts."""

from __future__ import annotations

import ctypes
from weakref import WeakValueDictionary

import numpy as np

from nervure.transformers.cpu.runtime import CONSTANT, Program, ProgramStep, argument, panel, panel_of, result
from nervure.transformers.cpu.runtime.thresholds import RELEASE_FROM
from tests.transformers.cpu.kernels import address
from tests.transformers.cpu.runtime.test_signals import check


def kept(stamp):
    """A panel of four integers; it lives as long as the table that comes with it."""
    table = WeakValueDictionary()
    return panel_of(table, ("own",), 32, stamp)


def copying(made, extent=4):
    """Argument 0, plus 1, is copied to a panel, which is copied to a result."""
    steps = [ProgramStep(address("copy"), [0, 1], [1], extent, panel=made),
             ProgramStep(address("copy"), [1, 2], [0], extent)]
    return Program(steps, [argument(0), panel(made), result(0)])


def outcome(program, *numbers):
    target = np.zeros(4, np.int64)
    status = program.run([np.array(numbers)], [target])
    return status.code, target.tolist()


def test_a_panel_is_made_when_the_version_is_another_one():
    stamp = ctypes.c_int64(7)
    made = kept(stamp)
    program = copying(made)
    assert outcome(program, 1, 2, 3, 4) == (0, [2, 3, 4, 5])
    assert outcome(program, 5, 6, 7, 8) == (0, [2, 3, 4, 5]) and made.runs == 1
    stamp.value += 1
    assert outcome(copying(made), 5, 6, 7, 8) == (0, [6, 7, 8, 9]) and made.runs == 2
    assert outcome(program, 1, 2, 3, 4) == (0, [6, 7, 8, 9]) and made.runs == 2


def test_what_has_failed_is_made_again():
    made = kept(CONSTANT)
    steps = [ProgramStep(address("check_positive"), [0], extent=4, panel=made),
             ProgramStep(address("copy"), [0, 1], [1], 4)]
    program = Program(steps, [argument(0), result(0)])
    for _ in range(2):
        assert outcome(program, 1, -2, 3, 4) == (5, [0] * 4) and made.runs == 0
    assert outcome(program, 1, 2, 3, 4) == (0, [2, 3, 4, 5]) and made.runs == 1
    assert outcome(program, -1, 2, 3, 4) == (0, [0, 3, 4, 5]) and made.runs == 1


def test_the_time_of_what_is_made_once_does_not_count():
    made = kept(CONSTANT)
    steps = [ProgramStep(address("copy"), [0, 1], [1], 4, nanoseconds=10 * RELEASE_FROM, panel=each)
             for each in (made, None)]
    totals = [Program([step], [argument(0), panel(made)]).record for step in steps]
    assert [(record.nanoseconds, record.longest) for record in totals] == [(0, 0), (10 * RELEASE_FROM,) * 2]


def test_what_was_interrupted_is_made_again():
    check("""
    from weakref import WeakValueDictionary
    made = panel_of(WeakValueDictionary(), ("own",), 160_000, CONSTANT)
    def program(turns):
        steps = [ProgramStep(address("spin"), [0], [turns], 20_000, nanoseconds=1_000_000, scratch=8, panel=made),
                 ProgramStep(address("spin"), [1], [turns], 20_000, nanoseconds=1_000_000, scratch=8)]
        return Program(steps, [panel(made), variable(0)])
    interrupt_soon()
    try:
        program(1_000_000).run([], [], [out])
    except KeyboardInterrupt:
        assert made.runs == 0
    else:
        raise AssertionError("the call ran to its end")
    program(1).run([], [], [out])
    assert made.runs == 1
    assert code_of_child(lambda: program(1).run([], [], [out]).code == 0 and made.runs == 1) == 0
    """)
