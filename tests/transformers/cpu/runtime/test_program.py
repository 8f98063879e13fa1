"""Programs: buffers have their places, steps run in order, a failure is reported and stops the call."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.transformers.cpu.runtime import (
    Array,
    Program,
    ProgramStep,
    arena,
    argument,
    constant,
    pooled_arrays,
    result,
    variable,
)
from nervure.transformers.cpu.runtime.chunks import bounds
from nervure.transformers.cpu.runtime.records import StatusCode
from tests.transformers.cpu.kernels import address


def copy(source: int, target: int, extent: int, added: int = 0, **more: object) -> ProgramStep:
    return ProgramStep(address("copy"), [source, target], [added], extent, **more)


def test_each_kind_of_buffer():
    one = np.arange(8) * 100
    program = Program([copy(0, 3, 4, 1), copy(1, 4, 4, 2), copy(2, 5, 4, 3), copy(3, 6, 4), copy(4, 7, 4)],
                      [argument(0, offset=8), variable(0), constant(one), arena(0), arena(64), result(0), result(1),
                       result(2, offset=16)], arena_bytes=128)
    targets = [np.zeros(6, np.int64) for _ in range(3)]
    status = program.run([np.arange(5) * 10], targets, [np.arange(4)])
    assert status.code == StatusCode.DONE
    assert [target.tolist() for target in targets] == [
        [3, 103, 203, 303, 0, 0], [11, 21, 31, 41, 0, 0], [0, 0, 2, 3, 4, 5]]


def test_a_program_keeps_its_constants():
    program = Program([copy(0, 1, 4)], [constant(np.arange(4)), result(0)])
    target = np.zeros(4, np.int64)
    program.run([], [target])
    assert target.tolist() == [0, 1, 2, 3]


def test_a_program_without_steps_or_work():
    assert Program([], []).run([]).code == StatusCode.DONE
    target = np.zeros(1, np.int64)
    Program([copy(0, 1, 0)], [argument(0), result(0)]).run([np.ones(1, np.int64)], [target])
    assert target.tolist() == [0]


def test_a_failure_stops_before_what_is_written_in_place():
    increase = ProgramStep(address("increase"), [0], extent=4, in_place=True)
    program = Program([ProgramStep(address("check_positive"), [1], extent=6), increase], [variable(0), argument(0)])
    state = np.arange(4)
    status = program.run([np.array([3, 2, -7, 1, -9, 0])], [], [state])
    assert (status.code, status.op, status.position, status.value, status.step) == (5, 77, 2, -7, 0)
    assert state.tolist() == [0, 1, 2, 3]
    assert program.run([np.zeros(6, np.int64)], [], [state]).code == StatusCode.DONE
    assert state.tolist() == [1, 2, 3, 4]


def test_results_that_are_made_lie_in_memory_that_is_used_again():
    count = 50_000
    program = Program([copy(0, 1, count)], [argument(0), result(0)], results=[Array(np.dtype(np.int64), (count,))])
    pooled_arrays.trim()
    target, = program.make_results()
    program.run([np.arange(count)], [target])
    assert np.array_equal(target, np.arange(count))
    del target
    assert pooled_arrays.held() >= 8 * count
    given = np.zeros(count, np.int64)
    assert program.make_results({0: given})[0] is given


def test_no_memory_is_a_code():
    target = np.zeros(4, np.int64)
    assert Program([copy(0, 0, 4)], [result(0)], arena_bytes=1 << 60).run([], [target]).code == StatusCode.NO_MEMORY


@pytest.mark.parametrize("extent", [0, 1, 63, 64, 65, 1000, 4097])
@pytest.mark.parametrize("alignment", [1, 7, 64])
@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_chunks_cover_the_extent(extent, alignment, count):
    cuts = [bounds(extent, alignment, index, count) for index in range(count)]
    assert cuts[0][0] == 0 and cuts[-1][1] == extent
    assert all([before[1] == after[0] and after[0] % alignment == 0 for before, after in zip(cuts, cuts[1:])])
