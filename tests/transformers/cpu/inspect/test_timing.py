"""Steps that are run one by one do what the whole program does, and leave what belongs to others as it was."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure import ops
from nervure.transformers.cpu.compile.compilation import compile_function
from nervure.transformers.cpu.inspect.timing import measured_limits, time_steps
from nervure.transformers.cpu.runtime import Program, ProgramStep, argument, result
from nervure.transformers.cpu.target import Target
from tests.transformers.cpu.kernels import address


def test_parts_of_a_program():
    steps = [ProgramStep(address("copy"), [0, 1], [1], 4), ProgramStep(address("copy"), [1, 2], [10], 4),
             ProgramStep(address("copy"), [2, 3], [100], 4)]
    program = Program(steps, [argument(0), result(0), result(1), result(2)])
    targets = [np.zeros(4, np.int64) for _ in range(3)]
    program.part(0, 0).run([np.arange(4)], targets)
    assert [target.sum() for target in targets] == [0, 0, 0]
    program.part(1, 2).run([np.arange(4)], targets)
    assert [target.tolist() for target in targets] == [[0] * 4, [10] * 4, [110] * 4]
    program.part(0, 1).run([np.arange(4)], targets)
    assert targets[0].tolist() == [1, 2, 3, 4] and targets[1].tolist() == [10] * 4


def test_a_part_outlives_its_program():
    part = Program([ProgramStep(address("copy"), [0, 1], [1], 4)], [argument(0), result(0)], arena_bytes=64).part(0, 1)
    target = np.zeros(4, np.int64)
    part.run([np.arange(4)], [target])
    assert target.tolist() == [1, 2, 3, 4]


def timed(results, parameters, arguments, repeat):
    loaded = compile_function(nv.Function(results, parameters), Target.host()).loaded
    made = loaded.program({}).make_results()
    times = time_steps(loaded, {}, arguments, made, [], repeat, lambda status: None)
    assert len(times.steps) == len(loaded.codes) and min([times.together, *times.steps]) > 0
    return loaded, made


def test_results_are_those_of_a_call_with_memory_between_the_steps():
    x = nv.Parameter(nv.float32, (64, 128))
    e = ops.Exp(x)
    values = np.linspace(-1, 1, 64 * 128, dtype=np.float32).reshape(64, 128)
    loaded, made = timed([ops.Sum(e, [1]), ops.Sum(ops.Reverse(e, [0]), [0])], [x], [values], 3)
    assert len(loaded.codes) > 1
    program = loaded.program({})
    expected = program.make_results()
    program.run([values], expected)
    assert [each.tobytes() for each in made] == [each.tobytes() for each in expected]


def test_a_variable_that_a_step_writes_in_place_keeps_its_value():
    """Each of the runs that are timed starts from it, and changes a copy."""
    w, x = nv.variable((64,), 3.0), nv.placeholder((64,))
    with nv.transformers.make_transformer("cpu") as cpu:
        step = nv.computation(nv.assign(w, w * x), x, transformer=cpu)
        step.executable.measure([np.full(64, 1e30, np.float32)], 4)
        assert cpu.get(w).tolist() == [3.0] * 64


def test_steps_that_python_runs_are_run_as_often_as_is_said():
    calls = []
    x = nv.Parameter(nv.float32, (4,))
    host = ops.HostCall(x, function=lambda a: calls.append(1) or a, types=[x.value.type])
    timed(host.outputs, [x], [np.ones(4, np.float32)], 3)
    assert len(calls) == 1 + 2 * 3


def test_limits_are_measured_once():
    found = measured_limits(Target.host(), 2)
    assert found is measured_limits(Target.host(), 2) and found.threads == 2
    assert 1e8 < found.bytes_per_second < 1e13 and 1e8 < found.operations_per_second < 1e15
