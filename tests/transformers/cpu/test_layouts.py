"""Variables in memory that is not row-major: kernels read and write them where they lie, with the same bits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.memory.storage import StorageKind
from nervure.transformers.cpu import executable, loaded
from nervure.transformers.cpu.cache import executable_cache
from nervure.types import ordered_arrays
from nervure.types.layout import column_major, dense, row_major

FIRST = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
MATRIX = np.random.default_rng(4).standard_normal((60, 40)).astype(np.float32)
X = np.random.default_rng(5).standard_normal((70, 60)).astype(np.float32)


BODIES = {
    "element by element": lambda w: [nv.assign(w, w * 2 + 1)],
    "a product in front": lambda w: [nv.matmul(X, w)],
    "a product behind": lambda w: [nv.matmul(w, X[:40])],
    "a row by a matrix": lambda w: [nv.matmul(X[0], w)],
    "sums": lambda w: [nv.sum(w), nv.sum(w, axis=0), nv.sum(w, axis=1), nv.max(w, axis=0)],
    "rows of a new value": lambda w: [nv.assign(w, nv.softmax(w, axis=-1))],
    "columns of a new value": lambda w: [nv.assign(w, nv.softmax(w, axis=0))],
    "a step of descent": lambda w: [nv.assign(w, w - 0.1 * nv.matmul(X.T, nv.matmul(X, w)))],
    "a product": lambda w: [nv.assign(w, nv.matmul(X.T, X[:, :40]))],
    "another shape": lambda w: [nv.assign(w, nv.reshape(w.T, (60, 40)) + 1)],
    "itself and its transpose": lambda w: [w, w.T, nv.assign(w, w + 1), w],
    "a part of it": lambda w: [nv.assign(w[1:20:2], w[0:19:2] + 1), nv.assign(w[3], w[0] * 2)],
    "rows by number": lambda w: [nv.gather(w, np.array([3, 1, 0]), 0)],
    "less its mean": lambda w: [nv.assign(w, w - nv.mean(w, axis=0, keepdims=True))],
    "Python": lambda w: [nv.assign(w, nv.host_call(np.sort, [w], like=w)), nv.sum(w)],
}


def states(cpu, layout, body):
    """The results of three calls, and the value after them."""
    w = nv.variable((60, 40), MATRIX, layout=layout)
    step = cpu.computation(body(w))
    results = [[array.tobytes() for array in step() if array is not None] for _ in range(3)]
    return results, cpu.get(w).tobytes()


@pytest.mark.parametrize("name", BODIES)
def test_the_bits_are_those_of_row_major_memory(cpu, name):
    """T28, T29."""
    assert states(cpu, "F", BODIES[name]) == states(cpu, "C", BODIES[name])


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("layout", [
    row_major((60, 40), sizes=(60, 48)), column_major((60, 40), sizes=(64, 40)), row_major((60, 40), sizes=(64, 41))],
    ids=str)
def test_gaps_change_no_bit(cpu, name, layout):
    """A322: for products, reductions and updates."""
    assert states(cpu, layout, BODIES[name]) == states(cpu, "C", BODIES[name])


def test_padded_layers_of_a_symbolic_batch(cpu):
    """A322: weights and filters with gaps, trained, beside those without."""
    def losses(**layouts):
        x = nv.placeholder((nv.dim("n"), 3, 9, 9))
        f = nv.variable((8, 3, 3, 3), np.linspace(-1, 1, 216).reshape(8, 3, 3, 3), nv.float32, layout=layouts.get("f"))
        w = nv.variable((8 * 49, 10), np.sin(np.arange(3920)).reshape(392, 10), nv.float32, layout=layouts.get("w"))
        y = nv.reshape(nv.relu(nv.convolution(x, f)), (-1, 392)) @ w
        loss = nv.mean(y * y, out_axes=())
        step = cpu.computation([loss, *[nv.assign(v, v - 1e-3 * nv.deriv(loss, v)) for v in (f, w)]], x)
        X = np.random.default_rng(1).standard_normal((6, 3, 9, 9)).astype(np.float32)
        return [step(X[:count])[0].item() for count in (6, 2, 6)], cpu.get(f).tobytes(), cpu.get(w).tobytes()
    assert losses() == losses(f=row_major((8, 3, 3, 3), sizes=(8, 3, 3, 4)), w=row_major((392, 10), sizes=(392, 16)))


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:], ids=str)
def test_calls_are_native_copy_nothing_and_write_in_place(cpu, order, monkeypatch):
    """T29: shown by the array, which stays the same one, and by counting what leaves the fast way or copies."""
    w = nv.variable((2, 3, 4), FIRST, layout=dense((2, 3, 4), order))
    step = cpu.computation(nv.assign(w, w * 0.5))
    step()
    copied = []
    monkeypatch.setattr(ordered_arrays, "empty", lambda *arguments: copied.append(arguments))
    cell, = cpu.cells.of([w.variable])
    array, version = cell.array, cell.version
    address, strides = array.ctypes.data, array.strides
    del array
    monkeypatch.setattr(executable.CpuExecutable, "run", lambda *arguments: pytest.fail("the slow way"))
    step()
    assert not copied and cell.version == version + 1 and strides == ordered_arrays.byte_strides((2, 3, 4), order, 4)
    assert (cell.array.ctypes.data, cell.array.strides) == (address, strides)
    assert np.array_equal(cpu.get(w), FIRST * np.float32(0.25))


def test_a_new_value_is_made_in_the_order_of_its_variable(cpu, monkeypatch):
    """T29: also where it cannot be written in place."""
    w = nv.variable((60, 40), MATRIX, layout="F")
    step = cpu.computation(nv.assign(w, nv.softmax(w, axis=-1)))
    step()
    monkeypatch.setattr(executable.CpuExecutable, "run", lambda *arguments: pytest.fail("the slow way"))
    before = cpu.cells.of([w.variable])[0].array
    step()
    after = cpu.cells.of([w.variable])[0].array
    assert after is not before and after.strides == (4, 240) and after.flags.owndata and after.flags.f_contiguous


def kernels(cpu, layout, make):
    """What the steps of a plan are called, and the kinds of memory that they read."""
    plan = cpu.computation(make(nv.variable((60, 40), MATRIX, layout=layout))).executable.compilation.plan
    return [(step.kernel.name, {storage.kind for storage in step.read}) for step in plan.steps]


def test_a_plan_has_no_copy_of_a_variable(cpu):
    """T29: a product reads it as it lies, or packs it as the transpose of a row-major one; a reduction reads it."""
    read = {StorageKind.VARIABLE, StorageKind.CONSTANT}
    assert kernels(cpu, "F", lambda w: nv.matmul(X[:, :40], w.T)) == [("product", read)]
    assert kernels(cpu, "F", lambda w: nv.matmul(w, X[:40])) == [("product", read)]
    across = kernels(cpu, "F", lambda w: nv.matmul(X, w))
    assert across == kernels(cpu, "C", lambda w: nv.matmul(X[:, :40], w.T)) and across[0][0] == "pack"
    for axis in (0, 1):
        assert kernels(cpu, "F", lambda w, axis=axis: nv.sum(w, axis=axis)) == [("rows", {StorageKind.VARIABLE})]


def test_a_value_of_another_layout_goes_the_slow_way_once(cpu):
    """T29: what somebody has set, or lent, lies as the variable asks for."""
    w = nv.variable((60, 40), MATRIX, layout="F")
    step = cpu.computation([nv.assign(w, w + 1), nv.sum(w)])
    step()
    cpu.set(w, MATRIX)
    cpu.restore({w.variable: MATRIX + 1})
    assert cpu.cells.of([w.variable])[0].array.flags.f_contiguous
    step()
    assert np.array_equal(cpu.get(w), MATRIX + 1 + 1)


def test_layouts_are_part_of_what_the_cache_knows(cpu):
    """T29: a function over memory of another order is another one."""
    def made(layout):
        w = nv.variable((5, 7), np.arange(35).reshape(5, 7), nv.float32, layout=layout)
        return nv.Function([ops.Exp(ops.ReadVariable(w.variable) * 0.125)], [])
    functions = [made("C"), made("F"), made(row_major((5, 7), sizes=(5, 8))), made(row_major((5, 7), sizes=(6, 7)))]
    assert len({executable_cache.fingerprint(function) for function in functions}) == 4
    for function in functions:
        compilation = cpu.build(function).compilation
        content = executable_cache.describe(function, compilation)
        again = executable_cache.read(content, function)
        assert isinstance(again, loaded.LoadedFunction)
        pairs = zip(again.compiled.storages, compilation.loaded.compiled.storages, strict=True)
        assert all([(one.kind, one.layout) == (other.kind, other.layout) for one, other in pairs])
        other = functions[functions.index(function) - 1]
        assert executable_cache.read(content, other) is None
