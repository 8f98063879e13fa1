"""Whole executables out of the cache: no pass runs, the bits are the same, and nothing that lies there is trusted."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import IndexOutOfRange, InvalidArgument, NumericError
from nervure.ir.kinds import Elementwise
from nervure.memory.storage import StorageKind
from nervure.passes import pipelines
from nervure.transformers.cpu.cache import executable_cache, library_cache
from nervure.transformers.cpu.cache.code_cache import user_cache
from nervure.transformers.cpu.cache.codec import decode
from nervure.transformers.cpu.compile import compilation, compiler
from nervure.transformers.cpu.compile.tiles.tile_library import TileLibrary
from nervure.transformers.cpu.compiled import CompiledFunction, RegionKind
from nervure.transformers.cpu.target import Target
from nervure.types.element_groups import FLOATS
from tests.arrays import normal

N = nv.dim("N", min=1)
ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """An empty cache, and a process that has loaded nothing: what other tests hold is not found."""
    monkeypatch.setattr(library_cache, "_loaded", WeakValueDictionary())
    monkeypatch.setattr(TileLibrary, "_kept", {})
    with flags.overriding(cache_directory=str(tmp_path / "kept"), cache_executables=True):
        yield tmp_path / "kept"


@pytest.fixture
def only_warm(monkeypatch):
    """From when it is called on, nothing is compiled."""
    def begin():
        for module, name in ((pipelines, "standard"), (compilation, "make_plan"), (compiler, "_compile")):
            monkeypatch.setattr(module, name, lambda *_, name=name, **__: pytest.fail(f"{name} runs"))
    begin.undo = monkeypatch.undo
    return begin


def cross_entropy():
    x, t = nv.placeholder({"N": N, "C": 10}), nv.placeholder({"N": N, "C": 10})
    loss = nv.sum(nv.cross_entropy_multi(nv.softmax(x, axis=1), t), out_axes=())
    return [loss, nv.deriv(loss, x)], [x, t], [normal(7, 10), np.eye(7, 10, dtype=np.float32)]


def training_step():
    x, w = nv.placeholder((4, 3)), nv.variable((4, 3), normal(4, 3))
    step = nv.assign(w, w - 0.1 * nv.deriv(nv.sum(nv.square(w * x)), w))
    return [nv.sum(w * x), step, w * 2.0], [x], [normal(4, 3)]


def constants():
    x, table = nv.placeholder((64,)), nv.constant(normal(64))
    folded = nv.exp(nv.constant(np.arange(64, dtype=np.float32) / 64))
    return [x * table + folded, nv.where(x > 0, 1.5, x)], [x], [normal(64)]


def random_numbers():
    x = nv.placeholder({"N": N})
    return [nv.normal((8,)) + nv.sum(x, out_axes=()), nv.uniform((4,))], [x], [normal(9)]


def views():
    x = nv.placeholder({"N": N, "C": 6})
    results = [nv.concatenate([x, x], axis=1), x[:, ::-1] + 1.0, nv.sum(x, axis=0), nv.argmax(x, axis=1)]
    return results, [x], [normal(5, 6)]


def recurrent_step():
    """A scan and its derivative, of a symbolic length, with a weight that each run of the loop packs."""
    xs, w = nv.placeholder((nv.dim("T"), N, 8)), nv.variable((24, 8), normal(24, 8))
    cell = lambda h, x: (nv.tanh(nv.matmul(h, w.T) @ nv.constant(normal(24, 8)) + x),) * 2  # noqa: E731
    last, stacked = nv.scan(cell, nv.zeros((N, 8)), xs)
    loss = nv.sum(stacked * stacked, out_axes=())
    return [loss, last, nv.assign(w, w - 0.1 * nv.deriv(loss, w))], [xs], [normal(5, 3, 8)]


def branches_and_loops():
    """Loops in branches in loops, one over single numbers, and constants inside."""
    x, at = nv.placeholder((N,)), nv.placeholder((), nv.int64)
    body = lambda k, h: nv.cond(nv.sum(h) > 0, lambda: h * nv.constant(normal(7))[2] - 1, lambda: nv.exp(h))  # noqa: E731
    total = nv.fori_loop(0, 4, body, x)
    wide = nv.while_loop(lambda h: nv.sum(h) < 100, lambda h: h * 2 + 1, nv.absolute(x))
    number = nv.while_loop(lambda n: n < 1000, lambda n: n * 3 + 1, at)
    return [total, wide, number, nv.switch(at, [lambda: x, lambda: x[::-1]])], [x, at], [normal(9), np.int64(1)]


def found_lengths():
    x = nv.placeholder((N,))
    positive = x[x > 0]
    running = nv.scan(lambda h, v: (h * 0.5 + v, h), positive * 0, nv.outer(positive, positive))[1]
    return [positive, nv.sum(positive) / nv.sum(x[x > -1]), nv.unique(nv.round(x)), running], [x], [normal(40)]


def whole_ops():
    x = nv.placeholder((N, 5))
    square = nv.matmul(x.T, x) + nv.constant(np.eye(5, dtype=np.float32))
    return [nv.sort(x, axis=0), nv.cumsum(x, axis=1), nv.linalg.solve(square, x.T), nv.linalg.inv(square),
            nv.fft.rfft(x), nv.top_k(x, 2)[1]], [x], [normal(6, 5)]


GRAPHS = [cross_entropy, training_step, constants, random_numbers, views, recurrent_step, branches_and_loops,
          found_lengths, whole_ops]


def made(graph):
    """A computation on a new transformer, and what two calls of it give."""
    transformer = nv.transformers.make_transformer("cpu")
    nv.seed(7, transformer)  # random ops are numbered anew, too
    returns, parameters, arguments = graph()
    computation = transformer.computation(returns, *parameters)
    return computation, [[None if each is None else each.tobytes() for each in computation(*arguments)]
                         for _ in range(2)]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_warm_start_runs_no_pass_and_gives_the_same_bits(graph, only_warm):
    _, cold = made(graph)
    only_warm()
    computation, warm = made(graph)
    assert warm == cold
    only_warm.undo()
    text = str(computation.optimised)
    with flags.overriding(cache=False):
        fresh, _ = made(graph)
    assert text == str(fresh.optimised)
    assert [str(step) for step in computation.executable.compilation.plan.steps] == [
        str(step) for step in fresh.executable.compilation.plan.steps]


def test_names_do_not_count_and_structure_does(only_warm):
    def double(name: str, factor: float):
        x = nv.placeholder((4,)).named(name)
        return nv.transformers.make_transformer("cpu").computation(x * factor, x)
    double("x", 2.0), double("x", 3.0)
    only_warm()
    assert double("y", 2.0)(np.ones(4, np.float32)).tolist() == [2, 2, 2, 2]
    assert double("y", 3.0)(np.ones(4, np.float32)).tolist() == [3, 3, 3, 3]
    with pytest.raises(pytest.fail.Exception):
        double("x", 4.0)


def test_sizes_that_were_not_called_before(only_warm):
    def total():
        x = nv.placeholder({"N": N, "M": nv.dim("M")})
        return nv.transformers.make_transformer("cpu").computation(nv.sum(nv.exp(x), axis=1), x)
    total()(normal(3, 4))
    only_warm()
    warm = total()
    for shape in ((1, 1), (17, 257), (2, 0), (300, 5)):
        np.testing.assert_allclose(warm(normal(*shape)), np.exp(normal(*shape)).sum(axis=1), rtol=1e-5)
    with pytest.raises(InvalidArgument, match="bounds"):
        warm(normal(0, 4))


# -- what is rare in a call ------------------------------------------------------------------------------------


def twice(build):
    """The same computation as compiled and as found."""
    return [nv.transformers.make_transformer("cpu").computation(*build()) for _ in range(2)]


def messages(computations, *arguments, kind):
    found = []
    for computation in computations:
        with pytest.raises(kind) as error:
            computation(*arguments)
        found.append(str(error.value))
    return found


def test_loops_of_sizes_that_were_not_called_before(only_warm):
    def step():
        returns, parameters, _ = recurrent_step()
        return nv.transformers.make_transformer("cpu").computation(returns, *parameters)
    with flags.overriding(cache=False):
        fresh = step()
    step()
    only_warm()
    warm = step()
    for length, rows in ((1, 2), (0, 1), (17, 40)):
        given = normal(length, rows, 8)
        for mine, theirs in zip(warm(given)[:2], fresh(given)[:2], strict=True):
            assert mine.tobytes() == theirs.tobytes()
    assert [warm.executable.memory({"T": 9, "N": rows}).bytes for rows in (1, 30)] == [
        fresh.executable.memory({"T": 9, "N": rows}).bytes for rows in (1, 30)]
    assert warm.executable.is_from_cache


def test_a_check_that_fails_in_a_loop():
    def look_up():
        table, at = nv.placeholder((5,)), nv.placeholder((N,), nv.int64)
        return nv.scan(lambda total, k: (total + table[k], None), nv.constant(0.0), at)[0], table, at
    both = twice(look_up)
    assert both[1].executable.is_from_cache
    cold, warm = messages(both, normal(5), np.array([0, 7, 1]), kind=IndexOutOfRange)
    assert cold == warm


def test_errors_of_a_call_are_the_same():
    def gather():
        table, index = nv.placeholder((5, 2)), nv.placeholder((3,), dtype=nv.int32)
        return nv.gather(table, index, 0), table, index
    both = twice(gather)
    cold, warm = messages(both, normal(5, 2), np.int32([0, 7, 1]), kind=IndexOutOfRange)
    assert cold == warm and "7 at position (1,)" in warm
    assert both[1](normal(5, 2), np.int32([0, 4, 1])).tobytes() == normal(5, 2)[[0, 4, 1]].tobytes()


def test_calls_that_need_too_much_memory():
    def product():
        x = nv.placeholder({"N": N})
        return nv.concatenate([nv.exp(x) * nv.sum(x), x], axis=0), x
    cold, warm = twice(product)
    with flags.overriding(memory_limit=50_000):
        assert len(set(messages([cold, warm], normal(100_000), kind=InvalidArgument))) == 1
        assert warm(normal(1_000)).shape == (2_000,)


def test_nan_are_found():
    both = twice(lambda: (nv.log(x := nv.placeholder((2,))) * 2.0, x))
    with flags.overriding(check_nan=True):
        cold, warm = messages(both, np.float32([1, -1]), kind=NumericError)
    assert cold.splitlines()[0] == warm.splitlines()[0]


def test_it_is_explained():
    build = lambda: (nv.softmax(x := nv.placeholder((4, 8)), axis=1), x)  # noqa: E731
    cold, warm = twice(build)
    assert len(warm.executable.report().steps) == len(cold.executable.report().steps) == 1
    assert len(warm.executable.measure([normal(4, 8)], 1).steps) == 1


# -- what is not kept ------------------------------------------------------------------------------------------


class Triple(Elementwise):
    """3 x, an op of a user's."""

    operand_names = "x"
    admits = FLOATS

    def evaluate(self, s, x):
        return s.add(s.add(x, x), x)


def compiled_again(build) -> bool:
    cold, warm = twice(build)
    return not warm.executable.is_from_cache


def test_what_python_runs_is_not_kept():
    x = nv.Parameter(nv.float32, (2,))
    called = nv.ops.HostCall(x, function=np.sin, types=(x.value.type,), effectful=False)
    with nv.transformers.make_transformer("cpu") as cpu:
        for result, is_kept in ((Triple(x), False), (called.outputs[0], False), (nv.ops.Exp(x), True)):
            function = nv.Function([result], [x])
            cpu.build(function)
            assert (executable_cache.find(function, cpu.target) is not None) is is_kept
        function = nv.Function([x], [x], effects=[nv.ops.PrintOp(x)])
        cpu.build(function)
        assert executable_cache.find(function, cpu.target) is None


def test_large_folded_constants_are_not_kept():
    def large():
        x = nv.placeholder((30_000,))
        return x + nv.exp(nv.constant(normal(30_000))), x

    def given():
        x = nv.placeholder((30_000,))
        return x + nv.constant(normal(30_000)), x
    assert compiled_again(large) and not compiled_again(given)


def test_the_switches_turn_it_off():
    build = lambda: (nv.exp(x := nv.placeholder((4,))), x)  # noqa: E731
    with flags.overriding(cache_executables=False):
        assert compiled_again(build)
    with flags.overriding(debug="passes"):
        assert compiled_again(build)
    assert not compiled_again(build)


# -- what lies in the cache ------------------------------------------------------------------------------------


def function_and_content():
    x, w = nv.Parameter(nv.float32, (N, 6)), nv.ops.Constant(normal(6))
    total = nv.ops.Sum(nv.ops.Exp(x * nv.ops.Broadcast(w, x.shape, [0])), [1])
    function = nv.Function([total, nv.ops.Negative(total)], [x])
    executable = nv.transformers.make_transformer("cpu").build(function)
    return function, executable_cache.describe(function, executable.compilation)


def test_another_target_and_another_package_do_not_find_it(monkeypatch):
    function, _ = function_and_content()
    target = Target.host()
    assert executable_cache.find(function, target) is not None
    assert executable_cache.find(function, target._replace(features=target.features[1:])) is None
    monkeypatch.setattr(executable_cache, "package_fingerprint", lambda: "another")
    assert executable_cache.find(function, target) is None


def test_it_is_made_again_when_damaged(own_cache):
    build = lambda: (nv.exp(x := nv.placeholder((40,))), x)  # noqa: E731
    for damage in (lambda data: data[:-1], lambda data: data[:60], lambda data: b"",
                   lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:]):
        twice(build)
        for file in own_cache.glob("*.code"):
            file.write_bytes(damage(file.read_bytes()))
        assert compiled_again(build) is False
        np.testing.assert_allclose(twice(build)[1](normal(40)), np.exp(normal(40)), rtol=1e-6)


def test_it_is_made_again_without_its_kernels(own_cache):
    build = lambda: (nv.exp(x := nv.placeholder((40,))), x)  # noqa: E731
    nv.transformers.make_transformer("cpu").computation(*build())
    for file in own_cache.glob("*.code"):
        if b"\x7fELF" in file.read_bytes()[:100]:
            file.unlink()
    again = nv.transformers.make_transformer("cpu").computation(*build())
    assert not again.executable.is_from_cache
    assert nv.transformers.make_transformer("cpu").computation(*build()).executable.is_from_cache


def changed(value, chance):
    """A JSON value with some leaf replaced by one of another kind or size."""
    if isinstance(value, dict):
        return {name: changed(entry, chance) for name, entry in value.items()}
    if isinstance(value, list):
        kept = [changed(entry, chance) for entry in value]
        return kept[:-1] if chance.random() < 0.01 else kept
    others = [-1, 1 << 70, 7, None, "N", "M", "constant", "", "9**9", 0.5, [], True]
    return chance.choice(others) if chance.random() < 0.02 else value


def loop_and_content():
    total, x, w = [nv.Parameter(nv.float32, shape) for shape in ((), (6,), (6,))]
    held = nv.ops.Constant(normal(6))
    body = nv.Function([total + nv.ops.Sum(nv.ops.Exp(x * w + held), [0]), x * w], [total, x, w])
    xs, w = nv.Parameter(nv.float32, (N, 6)), nv.Parameter(nv.float32, (6,))
    scan = nv.ops.Scan(nv.ops.Full(0.0, nv.float32, ()), xs, w, body=body, carries=1, slices=1, length=N, saved=(0,))
    function = nv.Function([*scan.outputs, nv.ops.Sort(w).outputs[0]], [xs, w])
    executable = nv.transformers.make_transformer("cpu").build(function)
    return function, executable_cache.describe(function, executable.compilation)


@pytest.mark.parametrize("made_of", [function_and_content, loop_and_content])
def test_numbers_that_cannot_be_are_refused_and_nothing_else_happens(made_of):
    function, content = made_of()
    size = executable_cache._LENGTH.size
    length, = executable_cache._LENGTH.unpack_from(content)
    parts, rest = json.loads(content[size:size + length]), content[size + length:]
    chance, refused = random.Random(0), 0
    for _ in range(3_000 if os.environ.get("DEEP_TESTS") == "1" else 300):
        text = json.dumps(changed(parts, chance)).encode()
        refused += executable_cache.read(executable_cache._LENGTH.pack(len(text)) + text + rest, function) is None
    assert refused > 100
    for end in range(0, len(content), 7):
        assert executable_cache.read(content[:end], function) is None
    assert executable_cache.read(content, function) is not None
    other = nv.Function([nv.ops.Exp(x := nv.Parameter(nv.float32, (3,)))], [x])
    assert executable_cache.read(content, other) is None


def test_a_loop_is_refused_whose_numbers_name_nothing():
    function, content = loop_and_content()
    size = executable_cache._LENGTH.size
    length, = executable_cache._LENGTH.unpack_from(content)
    compiled = decode(CompiledFunction, json.loads(content[size:size + length])["function"])
    place, kernel = next((at, each) for at, each in enumerate(compiled.kernels) if each.region is not None)
    whole = next(each for each in compiled.kernels if each.call is not None)
    region, count = kernel.region, len(kernel.buffers)
    assert compiled.is_sound()
    inner = region.functions[0]
    argument = next(at for at, each in enumerate(inner.storages) if each.kind is StorageKind.ARGUMENT)
    strange = replace(inner.storages[argument], number=len(region.operands))
    storages = (*inner.storages[:argument], strange, *inner.storages[argument + 1:])
    for other in (replace(region, operands=(*region.operands[:-1], count)), replace(region, saved=(count,)),
                  replace(region, saved=()), replace(region, functions=()), replace(region, slices=region.slices[1:]),
                  replace(region, stacked=()), replace(region, functions=(replace(inner, storages=storages),)),
                  replace(region, functions=(replace(inner, roots=inner.roots[::-1]),)),
                  replace(region, functions=(replace(inner, preheader=99),)), replace(region, kind=RegionKind.BRANCH),
                  replace(region, carries=(4,) * 9, saved=(-1,) * 9)):
        kernels = (*compiled.kernels[:place], replace(kernel, region=other), *compiled.kernels[place + 1:])
        assert not replace(compiled, kernels=kernels).is_sound()
    for other in (replace(whole.call, function="run_away"), replace(whole.call, loop="solve", types="dd->d")):
        assert not other.is_sound()


PROGRAM = """
import numpy as np, nervure as nv
total = 0.0
for k in range(3):
    x = nv.placeholder((8, 4))
    step = nv.transformers.make_transformer("cpu").computation(nv.sum(nv.exp(x * (k + 1.0)), axis=1), x)
    total += float(step(np.ones((8, 4), np.float32)).sum())
print(total, "libllvmlite" in open("/proc/self/maps").read())
"""


LOADED = """
import sys
import numpy as np, nervure as nv
n = nv.dim("n", min=1)
xs, m = nv.placeholder((nv.dim("T"), n, 3)), nv.placeholder((n,))
layer = nv.nn.LSTM(3, 4)
total = nv.sum(layer(xs)[0] ** 2, out_axes=())
train = nv.computation([total, nv.optim.SGD(0.1)(total)], xs)
train(np.ones((5, 2, 3), np.float32))
small = nv.while_loop(lambda v: v < 100, lambda v: v * 2 + 1, nv.sum(m))
found = nv.computation([m[m > 0], nv.cond(small > 120, lambda: nv.sort(m), lambda: nv.cumsum(m))], m)
found(np.float32([3, -1, 2]))
x, t = nv.placeholder({"N": nv.dim("N", min=1), "C": 10}), nv.placeholder({"N": nv.dim("N", min=1), "C": 10})
loss = nv.sum(nv.cross_entropy_multi(nv.softmax(x, axis=1), t), out_axes=())
step = nv.computation([loss, nv.deriv(loss, x)], x, t)
step(np.ones((7, 10), np.float32), np.eye(7, 10, dtype=np.float32))
print(*[f"{name}." for name in sys.modules])
"""
COMPILING = ("nervure.kernel.", "nervure.passes.", "nervure.transformers.interpreter.", "llvmlite.", *[
    f"nervure.transformers.cpu.{name}." for name in ("compile", "math")])


def environment_with(cache: Path) -> dict[str, str]:
    return {**os.environ, "NERVURE_CACHE_DIRECTORY": str(cache), "NERVURE_CACHE_EXECUTABLES": "1"}


def test_a_warm_start_loads_nothing_that_compiles(own_cache):
    cold, warm = [subprocess.run([sys.executable, "-c", LOADED], env=environment_with(own_cache), cwd=ROOT, text=True,
                                 check=True, capture_output=True).stdout.split() for _ in range(2)]
    assert [name for name in warm if name.startswith(COMPILING)] == []
    assert len([name for name in cold if name.startswith(COMPILING)]) > 100


COMPILED = """
import sys
import numpy as np, nervure as nv
from tests.transformers.cpu.cache import test_executable_cache as tests
from nervure.transformers.cpu.compile import compiler
compiled, made = [], compiler._compile
compiler._compile = lambda *given: compiled.append(1) or made(*given)
for graph in (tests.recurrent_step, tests.branches_and_loops, tests.found_lengths, tests.whole_ops):
    returns, parameters, arguments = graph()
    step = nv.transformers.make_transformer("cpu").computation(returns, *parameters)
    step(*arguments)
    print(step.executable.is_from_cache)
print(len(compiled))
"""


def test_another_process_compiles_nothing_again(own_cache):
    """A410: functions with loops, branches and found lengths."""
    cold, warm = [subprocess.run([sys.executable, "-c", COMPILED], env=environment_with(own_cache), cwd=ROOT, text=True,
                                 check=True, capture_output=True).stdout.split() for _ in range(2)]
    assert cold[:4] == ["False"] * 4 and int(cold[4]) > 20
    assert warm == ["True"] * 4 + ["0"]


LIMITED = """
import sys
import numpy as np, nervure as nv
from nervure.transformers.cpu.compile import compiler
from tests.transformers.cpu.test_limited import run, training
compiled, made = [], compiler._compile
compiler._compile = lambda *given: compiled.append(1) or made(*given)
weights, step = training(limit=int(sys.argv[1]))
print(float(run(weights, step, 600, 1)[0]), step.executable.is_from_cache)
if len(sys.argv) > 2:
    print("nervure.kernel.memory_limit" in sys.modules)
    sys.exit()
weights, step = training(nv.dim("n", min=1), int(sys.argv[1]))
print(*[float(run(weights, step, rows, 1)[0]) for rows in (1, 30, 600)])
executable = step.executable
print(executable.program({"n": 1}) is executable.program({"n": 30}) is not executable.program({"n": 600}))
print("nervure.kernel.memory_limit" in sys.modules, len(compiled), step.executable.program({"n": 600}).made_again != ())
"""


def test_programs_within_a_limit_are_kept(own_cache):
    """V11: whole, for each binding; another limit is another entry."""
    def lines(limit: int, *short: str) -> list[str]:
        return subprocess.run([sys.executable, "-c", LIMITED, str(limit), *short], env=environment_with(own_cache),
                              cwd=ROOT, text=True, check=True, capture_output=True).stdout.splitlines()

    cold, warm, other = lines(2_000_000), lines(2_000_000), lines(2_100_000, "short")
    assert warm[1:3] == cold[1:3] and cold[2] == "True" and warm[0] == cold[0].replace("False", "True")
    assert warm[3] == "False 0 True" and cold[3].split()[0] == other[1] == "True"


def test_eight_processes_share_a_cache(own_cache):
    environment = environment_with(own_cache)
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, cwd=ROOT, text=True,
                                stdout=subprocess.PIPE) for _ in range(8)]
    answers = {process.communicate(timeout=300)[0].split()[0] for process in running}
    assert len(answers) == 1 and all([process.returncode == 0 for process in running])
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=ROOT, text=True, check=True,
                          capture_output=True)
    assert done.stdout.split() == [*answers, "False"]
    kernels, runtime, executables = 3, 2, 3  # a factor is part of a kernel's text
    assert user_cache().entries() == kernels + runtime + executables


NETWORK = """
import hashlib, pathlib, sys
import numpy as np, nervure as nv
from nervure import nn
net = nn.Sequential(nn.Conv(64, 64, (3, 3), padding=1), nn.BatchNorm(64), nn.ReLU(), nn.MaxPool(2),
                    nn.Residual(nn.Conv(64, 64, (3, 3), padding=1)), nn.ReLU(), nn.Conv(64, 48, (3, 3), 2))
x = nv.placeholder((2, 64, 12, 12))
images = np.ones(x.shape, np.float32)
with nv.transformers.make_transformer("cpu") as cpu:
    seen = cpu.computation(net.eval()(x), x)
    seen(images)
    assert "channels last" in nv.explain(seen).details()
    loss = nv.mean(nv.square(net.train()(x)), out_axes=())
    cpu.computation([loss, nv.optim.SGD(0.1, momentum=0.9)(loss)], x)(images)
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(file.name, hashlib.sha256(file.read_bytes()).hexdigest())
"""


def test_what_is_kept_depends_on_no_order_of_sets(tmp_path):
    """Kernels and whole executables: another process finds them under the same keys, and would make the same."""
    def kept(folder: str, seed: int) -> str:
        environment = {**environment_with(tmp_path / folder), "PYTHONHASHSEED": str(seed)}
        return subprocess.run([sys.executable, "-c", NETWORK, str(tmp_path / folder)], env=environment, cwd=ROOT,
                              text=True, check=True, capture_output=True).stdout

    first = kept("first", 1)
    assert first == kept("second", 2) == kept("first", 3) and first.count("\n") > 20
