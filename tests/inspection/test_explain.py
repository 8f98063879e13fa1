"""Explanations: what they say is in the graph and the plan, the data survives JSON, and nothing is changed by them."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure.errors import IndexOutOfRange, InvalidArgument, NotSupported, WrongKind
from nervure.inspection.details import Rates
from nervure.inspection.explain import Explanation
from nervure.transformers import report
from nervure.transformers.cpu.inspect import timing
from nervure.transformers.cpu.target import Target
from tests.ir.golden import check_golden

TRAINING = """
x = nv.placeholder({"N": 6, "F": 8}).named("x")
w = nv.variable("F=8", 0.5).named("w")
steps = nv.variable((), 0.0).named("steps")
with nv.name_scope("head"):
    y = nv.softmax(x * w).named("y")
loss = nv.sum(y * y, out_axes=()).named("loss")
returns = [loss, nv.assign(w, w - 0.1 * nv.deriv(loss, w)), nv.assign(steps, steps + 1)]
parameters = [x]
"""
SYMBOLIC = """
n = nv.dim("n", min=1)
x = nv.placeholder({"N": n, "F": 512}).named("x")
total = nv.sum(nv.exp(x), out_axes=()).named("total")
returns, parameters = [total, x], [x]
"""
MIXED = """
table = nv.placeholder((50, 4), nv.bfloat16).named("table")
rows = nv.placeholder((6,), nv.int32).named("rows")
taken = nv.lookuptable(table, rows)
joined = nv.concat_along_axis([taken, nv.exp(taken)], 0)
total = nv.sum(nv.exp(joined) * joined, out_axes=())
returns, parameters = [joined, nv.deriv(total, table)], [table, rows]
"""


def build(transformer, source):
    """The computation of a source whose lines are those of a file of its own."""
    names = {"nv": nv, "np": np}
    exec(compile(source.lstrip("\n"), "model.py", "exec"), names)
    return transformer.computation(names["returns"], *names["parameters"])


def ones(*shape):
    return np.ones(shape, np.float32)


# -- structure -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "source"), [("training", TRAINING), ("symbolic", SYMBOLIC), ("mixed", MIXED)])
def test_golden(cpu, name, source):
    check_golden(f"explain/{name}.txt", nv.explain(build(cpu, source)).details() + "\n")


def test_only_with_arguments_and_repetitions_anything_is_run(cpu, capfd):
    x = nv.placeholder((3,))
    computation = cpu.computation(nv.print_op(x), x)
    for arguments, repeat in [((), 20), ((ones(3),), 0)]:
        found = nv.explain(computation, *arguments, repeat=repeat)
        assert found.seconds is None and found.limits is None
        assert all([step.seconds is None for step in found.steps])
    assert capfd.readouterr() == ("", "")
    nv.explain(computation, ones(3), repeat=2)
    assert "".join(capfd.readouterr()).count("[1. 1. 1.]") == 5  # once, then twice by steps and twice together


def test_every_op_of_the_user_is_in_a_step(cpu):
    found = nv.explain(build(cpu, TRAINING))
    lines = {(line.file, line.line) for step in found.steps for line in step.ops}
    assert lines == {("model.py", number) for number in (5, 6, 7)}
    assert {line.name for step in found.steps for line in step.ops} >= {"y", "loss"}


def test_memory_that_is_shared_takes_less(cpu):
    report = nv.explain(build(cpu, MIXED)).report
    assert report.together_bytes < report.apart_bytes == sum([entry.bytes for entry in report.temporaries])
    places = [(entry.offset, entry.offset + entry.bytes, entry.first, entry.last) for entry in report.temporaries]
    for number, (start, end, first, last) in enumerate(places):
        assert end <= report.together_bytes
        for other in places[:number]:
            is_alive = other[2] <= last and first <= other[3]
            assert not (is_alive and other[0] < end and start < other[1])


def test_an_update_in_place_is_told(cpu):
    assert nv.explain(build(cpu, TRAINING)).report.in_place == ("steps",)


def test_what_lies_where_another_value_wants_it_is_told(cpu):
    """A product in the memory of its padding: what is left of that are loops over the border."""
    x, w = nv.placeholder("N=6, F=5").named("x"), nv.placeholder("F=5, G=4")
    found = nv.explain(cpu.computation(nv.pad(nv.dot(x, w), {"N": (1, 2)}), x, w))
    first, *borders = found.kernels
    assert first.notes[-1] == "Contract is stored where Pad wants it"
    assert first.writes[0].name == "result 0" and [len(step.reads) for step in borders] == [0, 0]


def test_a_step_of_nothing_has_no_kernel(cpu):
    x = nv.placeholder((0, 2))
    e = nv.exp(x)
    found = nv.explain(cpu.computation([nv.sum(e, axis=1), nv.concatenate([e, e], axis=0)], x))
    assert [line.op for step in found.steps for line in step.ops] == ["Exp", "Sum"]


def test_host_steps(cpu):
    x = nv.placeholder((4, 4))
    found = nv.explain(cpu.computation(nv.print_op(nv.exp(x)), x))
    assert [step.kind for step in found.steps] == ["kernel", "host"]
    assert found.kernels == found.steps[:1]
    with pytest.raises(NotSupported):
        _ = found.steps[1].text


def test_the_texts_of_a_kernel(cpu):
    kernel, = nv.explain(build(cpu, SYMBOLIC)).kernels[:1]
    assert kernel.text.startswith("kernel blocks(in b0: f32[512*n]")
    assert "define void @kernel(ptr" in kernel.llvm
    assert "retq" in kernel.assembly.split() and "define" not in kernel.assembly


def test_symbols_become_numbers(cpu):
    computation = build(cpu, SYMBOLIC)
    assert nv.explain(computation).steps[0].bytes is None
    found = nv.explain(computation, ones(64, 512), repeat=0)
    assert found.report.bindings == (("n", 64),)
    assert found.steps[0].reads[0].bytes == 64 * 512 * 4
    assert found.steps[0].bytes == 64 * 512 * 4 + 8 * 4
    assert found.seconds is None


# -- times ---------------------------------------------------------------------------------------------------


def test_times_and_rates(cpu):
    found = nv.explain(build(cpu, SYMBOLIC), ones(300, 512), repeat=3)
    assert found.seconds > 0 and found.limits.bytes_per_second > 0 and found.limits.operations_per_second > 0
    for step in found.steps:
        rates = found.rates(step)
        assert step.seconds > 0 and step.estimated_seconds >= 0
        assert rates.bytes_per_second == step.bytes / step.seconds
        assert rates.share_of_bytes == rates.bytes_per_second / found.limits.bytes_per_second
    text = found.details()
    assert text.count("of the limit") + text.count("than the limit") == 2 * len(found.steps) and "machine, " in text


@pytest.mark.parametrize("length", [4, 200, 4000])
def test_a_short_call_takes_as_long_as_its_steps(cpu, length):
    """Many calls are timed as one, as steps are: the difference of two times of the clock would be nothing."""
    x = nv.placeholder((length,))
    found = nv.explain(cpu.computation([x + 1, nv.sum(x * 2)], x), ones(length), repeat=20)
    assert len(found.steps) == 1 and 0.1 < found.seconds / found.steps[0].seconds < 10
    assert all([int(share) <= 100 for share in re.findall(r"(\d+)%", f"{found}\n{found.details()}")])


def test_rates_end_at_the_limit_and_at_the_resolution_of_the_clock(cpu):
    """More than memory gives comes from a cache; of what takes no time, no rates are known."""
    x = nv.placeholder((4,))
    found = nv.explain(cpu.computation(x + 1, x), ones(4), repeat=1)
    for seconds, limit, expected in ((1e-6, 1e6, "more than the limit: data came from a cache"),
                                     (1e-6, 64e6, "50% of the limit"), (1e-9, 1e6, None)):
        step = replace(found.report.steps[0], seconds=seconds)
        timed = replace(found, report=replace(found.report, steps=(step,)), seconds=seconds,
                        limits=report.Limits(1, limit, 1e15))
        for text in (str(timed), timed.details()):
            assert (expected in text) if expected else "limit" not in text


def test_nothing_is_changed(cpu):
    computation = build(cpu, TRAINING)
    computation(ones(6, 8))
    variables = [variable for variable, _ in computation.function.updates]
    before = [cpu.get(variable) for variable in variables]
    nv.explain(computation, np.random.default_rng(1).random((6, 8), np.float32), repeat=2)
    after = [cpu.get(variable) for variable in variables]
    assert all(map(np.array_equal, before, after))
    assert after[1] == 1.0  # steps, which is updated in place


def test_explaining_leaves_results_as_they_are(cpu):
    computation = build(cpu, MIXED)
    arguments = np.linspace(0, 1, 200).reshape(50, 4).astype(nv.bfloat16.numpy), np.int32([0, 3, 3, 49, 1, 7])
    expected = [np.array(each) for each in computation(*arguments)]
    nv.explain(computation, *arguments, repeat=2)
    for each, wanted in zip(computation(*arguments), expected, strict=True):
        assert each.tobytes() == wanted.tobytes()


def test_a_failure_is_that_of_the_call(cpu):
    computation = build(cpu, MIXED)
    with pytest.raises(IndexOutOfRange, match="51 at position"):
        nv.explain(computation, ones(50, 4).astype(nv.bfloat16.numpy), np.int32([0, 1, 51, 2, 3, 4]))


def test_the_interpreter_has_an_op_a_step():
    with nv.transformers.make_transformer("interpreter") as interpreter:
        computation = build(interpreter, SYMBOLIC)
        assert [step.kind for step in nv.explain(computation).steps] == ["op", "op"]
        found = nv.explain(computation, ones(3, 512), repeat=2)
    assert [step.name for step in found.steps] == ["Exp", "Sum"]
    assert all([step.seconds > 0 for step in found.steps]) and found.seconds >= max(
        [step.seconds for step in found.steps])
    assert found.limits is None


@pytest.mark.parametrize("returns", [lambda x: x[x > 0], nv.nonzero, lambda x: nv.sum(x[x > 0]) * x,
                                     lambda x: nv.ones(x[x > 0].shape)])
@pytest.mark.parametrize("length", [nv.dim("n"), 4])
def test_the_interpreter_has_a_step_for_each_time_where_it_finds_lengths(returns, length):
    with nv.transformers.make_transformer("interpreter") as interpreter:
        x = nv.placeholder((length, 3))
        found = nv.explain(interpreter.computation(returns(x), x), ones(4, 3), repeat=1)
    assert "FindPositions" in [step.name for step in found.steps]
    assert all([step.seconds > 0 for step in found.steps])


def test_a_backend_without_times_says_so():
    with nv.transformers.make_transformer("null") as null:
        computation = build(null, SYMBOLIC)
        assert len(nv.explain(computation).steps) == 2
        with pytest.raises(NotSupported):
            nv.explain(computation, ones(3, 512))


# -- what can be explained, and data -------------------------------------------------------------------------


def test_jitted_functions_and_executables(cpu):
    @nv.jit(transformer=cpu)
    def scaled(x, factor):
        return x * factor
    found = nv.explain(scaled, ones(4), factor=np.float32(2), repeat=0)
    assert found.report.name == "scaled" and [line.op for line in found.steps[0].ops] == ["Broadcast", "Multiply"]
    assert len(scaled.specialisations) == 1
    executable = build(cpu, SYMBOLIC).executable
    assert nv.explain(executable, [ones(2, 512)], repeat=0).to_dict() == \
        nv.explain(executable, ones(2, 512), repeat=0).to_dict()


@pytest.mark.parametrize("repeat", [0, 2])
def test_json_has_everything(cpu, repeat):
    found = nv.explain(build(cpu, TRAINING), ones(6, 8), repeat=repeat)
    data = json.loads(found.json())
    assert data == found.to_dict()
    named, = [line for line in data["steps"][0]["ops"] if line["name"] == "y"]
    assert named["op"] == "Multiply" and named["scope"] == "head"
    assert data["in_place"] == ["steps"] and data["transformer"] == "cpu"
    assert (data["seconds"] is None) == (data["machine"] is None) == (repeat == 0)


def test_an_explanation_is_kept_as_values(cpu):
    x = nv.placeholder((3,))
    found = nv.explain(cpu.computation(nv.exp(x), x))
    with pytest.raises(WrongKind, match="json") as caught:
        pickle.dumps(found)
    assert "to_dict()" in caught.value.help and pickle.loads(pickle.dumps(found.to_dict())) == found.to_dict()


def test_wrong_use(cpu):
    computation = build(cpu, SYMBOLIC)
    for arguments, keywords, kind in [
            ((3,), {}, WrongKind), ((computation, ones(2, 512)), {"repeat": -1}, InvalidArgument),
            ((computation,), {"repeats": 3}, InvalidArgument), ((computation, 1, 2), {}, InvalidArgument),
            ((computation.executable,), {"feed_dict": {}}, InvalidArgument),
            ((computation, ones(2, 512)), {"repeat": "x"}, WrongKind)]:
        with pytest.raises(kind):
            nv.explain(*arguments, **keywords)


# -- the first screen ----------------------------------------------------------------------------------------


NETWORK = """
x = nv.placeholder({"N": nv.dim("n", min=1), "F": 64}).named("x")
weights = [nv.variable("F=64, H=80", 0.01), nv.variable("H=80, K=10", 0.01)]
with nv.name_scope("first"):
    y = nv.tanh(nv.dot(x, weights[0]))
with nv.name_scope("second"):
    z = nv.dot(y, weights[1])
loss = nv.mean(nv.square(z), out_axes=())
returns, parameters = [loss, *nv.deriv(loss, weights)], [x]
"""


def test_the_first_screen_has_times_by_step_module_and_direction(cpu):
    found = nv.explain(build(cpu, NETWORK), ones(300, 64), repeat=2)
    text = str(found)
    assert len(text.splitlines()) < 50 and max(map(len, text.splitlines())) < 160
    head, steps, modules, directions, rest = text.split("\n\n")
    assert head.startswith("computation on cpu, n=300: ") and "kernels; " in head
    rows = steps.splitlines()
    assert rows[0].split() == ["step", "time", "share", "ops", "where"] and len(rows) - 1 == min(len(found.steps), 10)
    slowest = max(found.steps, key=lambda step: step.seconds)
    assert rows[1].split()[0] == str(slowest.number)
    assert {line.split()[0] for line in modules.splitlines()[1:]} >= {"first", "second"}
    assert directions.startswith("forward ") and ", backward " in directions
    assert rest.startswith("memory of a call: ") and "a call reaches " in rest and rest.endswith("and why")


def test_the_backward_part_is_known_by_its_ops(cpu):
    found = nv.explain(build(cpu, NETWORK))
    lines = [line for step in found.steps for line in step.ops]
    assert {line.op for line in lines if line.op == "Tanh" and not line.is_derivative} == {"Tanh"}
    assert sum([line.is_derivative for line in lines]) > 2


def test_without_sizes_the_first_steps_are_shown(cpu):
    text = str(nv.explain(build(cpu, NETWORK)))
    assert text.splitlines()[2].split() == ["step", "ops", "where"] and "first" in text and "%" not in text


def test_with_sizes_and_no_times_estimates_stand_for_them(cpu):
    text = str(nv.explain(build(cpu, NETWORK), ones(30, 64), repeat=0))
    assert text.splitlines()[2].split() == ["step", "estimated", "share", "ops", "where"]


def test_memory_of_a_call_counts_what_lies_in_it_once(cpu):
    found = nv.explain(build(cpu, TRAINING), ones(6, 8), repeat=0)
    assert found.report.in_place == ("steps",)  # so a call needs the new value of w beside the old one
    bytes_of = {"arguments": 6 * 8 * 4, "variables": 8 * 4 + 4, "results": 4, "updates": 8 * 4,
                "temporaries": found.report.together_bytes}
    line, = [line for line in str(found).splitlines() if line.startswith("memory of a call")]
    assert set(line.partition(" bytes: ")[2].split(", ")) == {
        f"{size:,} of {name}" for name, size in bytes_of.items() if size}
    assert line.startswith(f"memory of a call: {sum(bytes_of.values()):,} bytes")


UNNAMED = """
x = nv.placeholder({"F": 8})
v, w = nv.variable("F=8", 0.5), nv.variable("F=8", 0.5)
returns = [nv.assign(v, v + x), nv.assign(w, w * nv.sum(w, out_axes=())), x + np.arange(8.0), x * np.arange(8.0, 16.0)]
parameters = [x]
"""


@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_memory_without_names_counts_each_by_itself(name):
    """A call updates ``v`` where it lies, and makes a new value of ``w``, whose sum is read."""
    with nv.transformers.make_transformer(name) as transformer:
        found = nv.explain(build(transformer, UNNAMED), ones(8), repeat=0)
    line, = [line for line in str(found).splitlines() if line.startswith("memory of a call")]
    amounts = {what: int(size) for size, what in re.findall(r"(\d+) of (\w+)", line)}
    assert (amounts["arguments"], amounts["variables"], amounts["constants"]) == (8 * 4, 2 * 8 * 4, 2 * 8 * 8)
    assert amounts.get("updates", 0) == (8 * 4 if name == "cpu" else 0)


def test_a_trace_has_an_event_for_each_step(cpu, tmp_path):
    found = nv.explain(build(cpu, NETWORK), ones(30, 64), repeat=1)
    found.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["args"]["step"] for event in events] == [step.number for step in found.steps]
    ends = [event["ts"] + event["dur"] for event in events]
    assert all([event["ph"] == "X" and event["dur"] > 0 for event in events])
    assert [event["ts"] for event in events][1:] == pytest.approx(ends[:-1])
    with pytest.raises(InvalidArgument, match="there are no times to show"):
        nv.explain(build(cpu, NETWORK)).save_trace(tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()


def test_the_limits_of_a_machine_are_measured_once(monkeypatch, tmp_path):
    """A second process reads what the first one kept; what is damaged is measured anew."""
    monkeypatch.setattr(timing, "_bytes_per_second", lambda target: measured.append("bytes") or 1e9)
    monkeypatch.setattr(timing, "_operations_per_second", lambda target: measured.append("operations") or 2e9)
    measured: list[str] = []
    with nv.flags.overriding(cache_directory=str(tmp_path)):
        for expected in (2, 2, 2):
            timing.measured_limits.cache_clear()
            assert timing.measured_limits(Target.host(), 3) == (3, 1e9, 2e9) and len(measured) == expected
        timing.measured_limits.cache_clear()
        assert timing.measured_limits(Target.host(), 4) == (4, 1e9, 2e9) and len(measured) == 4
    timing.measured_limits.cache_clear()


WORDS = {"kernel", "host", "op", "print", "explain", "repeat", "passes", "decompose", "cluster", "kernels", "llvm",
         "common_subexpressions", "simplify", "dead_code", "asm"}


def test_the_document_names_fields_that_exist():
    """Each word in code style that could be an attribute is one of the parts of an explanation, or one of these."""
    text = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`(?:found\.)?([a-z]\w+)(?:\([\w ,.=]*\))?`", re.sub(r"(?s)```.*?```", "", text)))
    parts = [Explanation, Rates, *[entry for entry in vars(report).values() if isinstance(entry, type)]]
    known = {name for part in parts for name in [*dir(part), *getattr(part, "__dataclass_fields__", ())]}
    assert words - known - WORDS == set()
    assert {"details", "save_trace", "to_dict", "json", "text", "assembly", "apart"} <= words & known
