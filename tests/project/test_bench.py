"""The benchmarks: tables, turns and verdicts are right, and nervure's programs give right results."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

import nervure as nv
from bench import against, report, rounds, tune
from bench.__main__ import BENCHMARKS, main, table
from bench.contenders import FRAMEWORKS, Prepared, from_definition
from bench.models.images import Digits, ResNet, UNet
from bench.problems import PROBLEMS, Bar
from bench.rounds import Failure, Result, Settings
from bench.worker import FOLDERS, Worker, call_time, idle_time, programs_of
from bench.workloads import chosen_problems
from nervure.support.product_tuning import ProductTuning
from nervure.transformers.cpu.target import Target
from tests.project.source import ROOT, parse, python_files

NO_PEERS = ["against", "chains", "compiled", "compiled_models", "contenders", "convolutions", "decayed", "extremes",
            "images", "machine", "models.attention", "models.base", "models.gpt", "models.image_layers",
            "models.images", "models.layers", "models.mlp", "models.nodes", "models.pytorch", "models.recurrent",
            "patterns", "problems", "report", "rounds", "steps", "torch_models.family", "tune", "workloads"]
OURS = programs_of("nervure")
SMALL = {"gelu": 1e-4, "sum_squares": 1e-4, "adam": 1e-4, "idle": 1e-4,
         "exp_masked": 1e-3, "silu_saturated": 1e-3, "adam_decayed": 1e-3}


@pytest.fixture(autouse=True)
def gradients_are_on_afterwards():
    """Programs of PyTorch switch them off for the process of their own that they have elsewhere."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_grad_enabled(True)


def test_tables_are_aligned():
    rows = [{"ops": 1_000, "us": "9.5"}, {"ops": 100_000, "us": "12.25"}]
    assert table(rows).splitlines() == ["ops        us", "1000      9.5", "100000  12.25"]
    assert table([]) == "(no rows)"


def test_an_unknown_name_gets_help():
    with pytest.raises(SystemExit, match="startup"):
        main(["no_such_benchmark"])
    with pytest.raises(SystemExit, match="no options"):
        main(["startup", "--fast"])
    with pytest.raises(SystemExit, match="layer_norm"):
        chosen_problems(["softmax", "no_such_workload"])


def test_two_checkouts_are_measured_in_turns(tmp_path):
    """A worker takes nervure from the checkout that its name ends with; what fails is told in its row."""
    (tmp_path / "nervure").mkdir()
    (tmp_path / "nervure" / "__init__.py").write_text("raise ValueError('another one')")
    other = f"nervure.computation@{tmp_path}"
    result = Result("small", {"nervure.computation": [2e-6, 1e-6], other: [3e-6, 3e-6]})
    assert against.row(result, "nervure.computation", other) == (
        "| (a+b)*c, 32x32, per call, computation | 1.5 us | 3 us | 2.25 (1.50 to 3.00) |")
    contender = rounds.Contender(["small", other], Settings(1, 1, 1.0))
    with pytest.raises(Failure, match="another one"):
        contender.answer()
    contender.close()
    with pytest.raises(SystemExit, match="no checkout"):
        against.main(["/nowhere"])


def test_every_number_that_steers_products_is_measured():
    assert {*ProductTuning._fields} <= set(tune.EXPERIMENTS)
    machine = Target.host().machine
    for name, experiment in tune.EXPERIMENTS.items():
        now = tune.present(machine, name)
        assert experiment.problems and any([value != now for value in experiment.values]), name
        assert tune.present(tune.changed(machine, name, 7), name) == 7 != now
    with pytest.raises(SystemExit, match="direct_rows"):
        main(["tune", "no_such_number"])


def test_programs_that_a_number_tells_apart_are_timed():
    """Values that decide the same share a program: there is nothing to compare where all do."""
    product, convolution = tune.product, tune.convolution
    small = {
        "direct_rows": tune.Experiment((0, tune.ALL), [product(16, 768, 768), product(2, 3, 4)]),
        "kept_share": tune.Experiment((1, 2), [product(9, 300, 9, right="kept")]),
        "unknown_repetitions": tune.Experiment((1, 8), [product("m", 8, 9, right="made", length=20)]),
        "bytes_rows": tune.Experiment((6, 512), [product(40, 8, 9, dtype=nv.uint8)]),
        "crossing": tune.Experiment((0, tune.ALL), [convolution(1, 32, 4, 32, kept=True)]),
        "shared_loads": tune.Experiment((0.0, 1.0), [tune.pool(9, 2, 1)], True),
        "window_phases": tune.Experiment((1, 4), [tune.pool(8, 2, 2, "gradient of mean")]),
        "least_channels": tune.Experiment((16, 64), [
            convolution(1, 32, 4, 32, form="filters"), convolution(2, 32, 4, 32, form="data")])}
    found = {row["number"]: row["decides"] for row in tune.rows([], rounds=1, seconds=0.0, experiments=small)}
    assert [*found] == [*small] and found["direct_rows"] == "1 of 2" and found["least_channels"] == "2 of 2"
    assert [row["number"] for row in tune.rows(["crossing"], rounds=1, seconds=0.0, experiments=small)] == ["crossing"]


def test_a_number_changes_for_a_gain_that_is_worth_it():
    """The best value has the least product of times over the problems that it decides."""
    assert tune.verdict(4, [{2: 1.0, 4: 4.0}, {2: 1.0, 4: 1.0}]) == (2, 4.0, 4.0, 1)
    assert tune.verdict(4, [{2: 1.0, 4: 4.0}, {2: 4.0, 4: 1.0}])[:2] == (4, 1.0)
    assert tune.verdict(4, [{2: 1.0, 4: 1.001}]).best == 4


def test_every_benchmark_has_its_module():
    for name in BENCHMARKS:
        assert (ROOT / "bench" / f"{name}.py").exists(), name
    for folder in ("contenders", *FOLDERS):
        assert {path.stem for path in (ROOT / "bench" / folder).glob("[!_]*.py")} <= set(FRAMEWORKS)


def test_every_module_says_what_it_is():
    assert [str(path) for path in python_files("bench") if not parse(path).body[0:1]] == []


@pytest.mark.parametrize("name", NO_PEERS)
def test_examples_are_true(name):
    module = importlib.import_module(f"bench.{name}")
    tried = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried.attempted and not tried.failed


def test_every_problem_has_a_program_of_ours():
    assert set(PROBLEMS) - {"import"} == set(OURS.table)


@pytest.mark.parametrize("problem, setting", [(problem, setting) for problem, settings in OURS.table.items()
                                              for setting in settings if problem in chosen_problems([])])
def test_our_programs_are_right(problem, setting):
    worker = Worker(problem, f"nervure.{setting}", SMALL.get(problem, 0.02))
    assert worker.check() == {"mistake": None}


@pytest.mark.parametrize("problem, setting, library", [
    ("small_call", "backend", "torch"), ("lstm_step", "backend_unrolled", "torch"),
    ("resnet18_8", "backend", "torchvision"), ("llama_step", "backend", "transformers")])
def test_compiled_models_are_right(problem, setting, library):
    """In processes of their own, for what PyTorch's tracer is told lasts."""
    pytest.importorskip(library)
    scale = 0.02 if problem == "lstm_step" else 0.07
    contender = rounds.Contender([problem, f"nervure.{setting}"], Settings(scale=scale))
    assert [contender.answer(), contender.ask("check")] == [{"ready": True}, {"mistake": None}]
    assert contender.ask("round 0")["figure"] > (-1 if problem == "small_call" else 0)
    contender.close()


def test_what_a_library_lacks_is_said(monkeypatch):
    """A row of a model whose library is missing has that as its reason."""
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    pytest.importorskip("torch")
    with pytest.raises(ModuleNotFoundError, match="torchvision"):
        Worker("resnet18_1", "nervure.backend", 1.0)


def test_no_row_goes_beyond_its_limit():
    result = Result("adam")
    rounds.in_turns(result, {"nervure": lambda: 1.0}, 3, limit=0.0)
    assert result.figures == {"nervure": [1.0]}
    contender = rounds.Contender(["small", "nervure.computation"], Settings(limit=0.001))
    with pytest.raises(Failure, match="ended with -?[1-9]"):
        contender.answer()
    contender.close()


@pytest.mark.parametrize("problem", ["resnet", "resnet_step", "unet", "unet_step", "digits"])
def test_networks_of_images_are_right_on_the_interpreter(problem):
    with nv.flags.overriding(transformer="interpreter"):
        assert Worker(problem, "nervure.arguments", 0.02).check() == {"mistake": None}


@pytest.mark.parametrize("model", [Digits(batch=2), ResNet(side=32, width=2, blocks=1),
                                   UNet(side=16, width=2, levels=3)])
def test_a_graph_of_onnx_gives_what_the_tree_does(model):
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    from bench.models.onnx_graph import onnx_model
    found = ReferenceEvaluator(onnx_model(model)).run(None, {"images": model.data()[0]})[0]
    right = model.results()
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-4 * np.abs(right).max())


def test_what_is_wrong_is_found():
    problem = PROBLEMS["softmax"](0.01)
    x, = inputs = problem.inputs()
    right = problem.reference(x.astype(np.float64))[0].astype(np.float32)
    wrong = right.copy()
    wrong[3, 4] += 0.01
    assert problem.mistake(inputs, [right]) is None
    for results, message in (([wrong], "differs"), ([wrong * np.nan], "differs"), ([right[:-1]], "not float32"),
                             ([right.astype(np.float64)], "not float32"), ([], "0 results")):
        assert message in problem.mistake(inputs, results)
    uniform = PROBLEMS["uniform"](1e-2)
    numbers = np.random.default_rng(1).random(uniform.count, np.float32)
    assert uniform.mistake([], [numbers]) is None
    assert "mean" in uniform.mistake([], [numbers * 0.9]) and "std" in uniform.mistake([], [numbers * 0 + 0.5])


def test_the_kink_of_relu_counts_as_either_side():
    problem = PROBLEMS["batch_norm"](0.01)
    inputs = problem.inputs()
    right = [entry.astype(np.float32) for entry in problem.reference(*[a.astype(np.float64) for a in inputs])]
    assert problem.mistake(inputs, right) is None
    y, dx = right[0].copy(), right[1].copy()
    at = np.unravel_index(np.argmin(np.where(y > 0, y, np.inf)), y.shape)
    y[at], dx[at] = 0, 5
    assert problem.mistake(inputs, [y, dx, *right[2:]]) is None
    assert "differs" in problem.mistake(inputs, [right[0], dx, *right[2:]])


def test_times_are_of_one_call():
    worker = Worker("small", "nervure.computation", 1.0)
    calls = []
    prepared = worker.prepared._replace(call=lambda *arguments: calls.append(len(arguments)))
    assert 0 < call_time(prepared, 0.0) < 0.1
    assert len(calls) > 3 and set(calls) == {3}
    assert 0 <= idle_time(prepared) < 0.049


def test_a_call_may_be_several_steps():
    """Figures are of one step, and the losses of all steps are compared."""
    worker = Worker("mlp_256", "nervure.arguments", 0.05)
    losses = iter(worker.problem.inputs()[0].losses(60).astype(np.float32))
    several = worker.prepared._replace(call=lambda *_: [next(losses) for _ in range(5)], steps=5,
                                       read=lambda returned: [np.array(returned)])
    worker.prepared = several
    assert worker.check() == {"mistake": None}
    assert "differs" in worker.check()["mistake"]  # the next twenty are others
    worker.prepared = several._replace(call=lambda *_: None, steps=10**9)
    assert 0 < worker.round("0")["figure"] < 1e-9


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's account of a process")
def test_the_peak_of_the_first_steps_is_found():
    """A step that has 128 MiB for a moment shows in the peak of the process; some of it may have been there before."""
    worker = Worker("mlp_memory", "nervure.arguments", 0.05)
    step, sizes = worker.prepared.call, iter([128 << 20])

    def wasteful(*arguments):
        np.ones(next(sizes, 0), np.int8)
        return step(*arguments)
    worker.prepared = worker.prepared._replace(call=wasteful)
    found = worker.peak()
    assert found["mistake"] is None and found["figure"] > 64 << 20
    assert report.shown("mlp_memory", 3 << 20) == "3 MiB" and report.shown("mlp_256", 3e-3) == "3 ms"


def test_what_it_takes_to_define_a_program_is_part_of_its_first_call():
    made = []
    setting = from_definition(lambda program, inputs: made.append(inputs) or Prepared(program, inputs))
    prepared = setting(lambda x: x + 1, [2])
    assert made == []
    assert prepared.read(prepared.call()) == [np.array(3)] and made == [[2]]


def test_bars():
    assert Bar(1.1, 1.4).met(1.2, 5.0) and not Bar(1.1, 1.4).met(1.05, 5.0) and Bar(1.1).met(None, 5.0) is None
    assert Bar(1e-6, absolute=True).met(None, 0.9e-6) and not Bar(1e-6, absolute=True).met(9.0, 1.1e-6)
    for ratio, expected in ((1.0, "no"), (1.2, "yes"), (1.5, "yes, and the stretch"), (None, "")):
        assert report.verdict(Bar(1.1, 1.4), 5.0, ratio) == expected
    cold = Result("cold", {"nervure.a": [1.0], "torch.a": [0.5], "jax.a": [4.0]})
    assert cold.ratios() == [4.0] and report.level(Bar(3.0, peer="jax"), 3.0) == "3 jax"
    kept = Result("cached", {"nervure.a": [1.0], "torch.a": [0.5]})
    small = [Result(name, {"nervure.a": [1.0], "torch.a": [ratio]}) for name, ratio in (("adam", 0.8), ("gelu", 2.0))]
    assert report.overall([kept, *small])[0].endswith("over 2 rows: the median is 1.40, the least 0.80 (adam).")
    assert report.overall([kept, small[0]]) == []
    assert report.verdict(Bar(1.1), None, None) == "not run" and report.verdict(Bar(1.1), 5.0, 9.0) == "yes"


def test_turns_rotate_and_who_fails_is_out(monkeypatch):
    monkeypatch.setattr(rounds, "QUIET", 0)
    order = []

    def measured(name, figure=1.0, fails_at=99):
        def once():
            order.append(name)
            if order.count(name) == fails_at:
                raise Failure("no more")
            return figure
        return name, once
    result = Result("adam")
    rounds.in_turns(result, dict([measured("a"), measured("b", fails_at=2), measured("c", 9.0), measured("d", 10.0),
                                  measured("nervure", 99.0)]), 4)
    assert "".join(order).replace("nervure", "!") == "abcd!" + "bc!a" + "!ac" + "ac!"
    assert result.figures == {"a": [1.0] * 4, "c": [9.0] * 4, "d": [10.0], "nervure": [99.0] * 4}
    assert result.failures == {"b": "no more"} and result.ratios() == [1 / 99] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="processes start another way")
def test_a_table_from_processes(monkeypatch, capsys, tmp_path):
    """Two frameworks, from the command line to the file: what a run prints is what it keeps."""
    monkeypatch.setattr(rounds, "QUIET", 0)
    monkeypatch.setattr(rounds, "LASTING", 0)
    kept = tmp_path / "table.json"
    main(["workloads", "small", "cached", "--rounds", "2", "--transformer", "interpreter", "--frameworks",
          "nervure,numpy,no_such_thing", "--json", str(kept), "--markdown", str(tmp_path / "table.md")])
    printed = capsys.readouterr().out
    assert (tmp_path / "table.md").read_text().partition(report.MARK)[2].strip() in printed
    assert "no_such_thing did not take part: ModuleNotFoundError" in printed
    written = json.loads(kept.read_text())
    small, cached = written["results"]
    assert set(small["figures"]) == {"nervure.computation", "numpy.plain", "numpy.out"} and not small["failures"]
    assert len(small["ratios"]) == 2 and all(figure > 0 for figures in small["figures"].values() for figure in figures)
    assert len(cached["figures"]["nervure.computation"]) == 2 and cached["ratios"] == []


def test_everyone_is_held_to_avx2():
    variables = rounds.environment(Settings(avx2=True))
    assert {name: variables[name] for name in rounds.AVX2} == rounds.AVX2
    code = "from nervure.transformers.cpu.target import Target; print(Target.host().vector_bytes)"
    printed = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert printed.stdout == "32\n"


def test_contenders_keep_the_bytecode_of_modules(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in rounds.environment(Settings())


def test_a_contender_that_fails_says_why():
    result = rounds.measure_calls("small", ["numpy.no_such_setting"], Settings(rounds=1))
    assert result.failures == {"numpy.no_such_setting": "KeyError: 'no_such_setting'"} and not result.figures
