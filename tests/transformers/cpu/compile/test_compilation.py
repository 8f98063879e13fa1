"""What compiled functions need, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument
from nervure.kernel.lower import BufferAssignment
from nervure.memory.storage import Storage, StorageKind
from nervure.transformers.cpu.cache.codec import decode, encode
from nervure.transformers.cpu.compiled import CompiledFunction
from nervure.types.layout import row_major


def test_what_is_never_stored_needs_no_memory():
    x = nv.placeholder((nv.dim("N"),))
    y = nv.sin(nv.cos(nv.exp(x)))
    with nv.transformers.make_transformer("cpu") as cpu, nv.flags.overriding(memory_limit=1 << 16):
        values = np.ones(1 << 16, np.float32)
        total = cpu.computation(nv.sum(y), x)
        np.testing.assert_allclose(total(values), (1 << 16) * np.sin(np.cos(np.exp(np.float32(1)))), rtol=1e-4)
        with pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(y, x)(values)
        with nv.flags.overriding(check_nan=True), pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(nv.sum(y), x)(values)


# -- memory that follows from a variable ---------------------------------------------------------------------------


def derived(memory: BufferAssignment, dtype, shape, value) -> Storage:
    """What a call stores for itself as if it were made of the first variable, in rows that are padded."""
    layout = row_major(shape, sizes=(*shape[:-1], shape[-1] + 4))
    storage = Storage(StorageKind.DERIVED, dtype, shape, len(memory.held), layout, variable=0)
    memory.held[storage] = value
    return storage


def training(cpu):
    weights = np.linspace(-1, 1, 384, dtype=np.float32).reshape(6, 64)
    w, x = nv.variable((6, 64), weights).named("w"), nv.placeholder((64,))
    e = nv.exp(w)
    results = [nv.sum(e, axis=0), nv.sum(e, axis=1), nv.host_call(np.sort, [e], e), nv.assign(w, w * x)]
    return cpu.computation(results, x)


def run(results):
    return [None if each is None else each.tobytes() for each in results]


@pytest.fixture
def cpu():
    with nv.transformers.make_transformer("cpu") as made:
        yield made


def test_derived_memory_is_in_the_plan_the_compiled_function_and_the_report(cpu, monkeypatch):
    x = np.linspace(0, 2, 64, dtype=np.float32)
    with nv.transformers.make_transformer("cpu") as other:
        usual = training(other)
        expected = [run(usual(x)) for _ in range(3)]
    monkeypatch.setattr(BufferAssignment, "temporary", derived)
    step = training(cpu)
    assert [run(step(x)) for _ in range(3)] == expected
    compiled = step.executable.compilation.loaded.compiled
    packed = [storage for storage in compiled.storages if storage.kind is StorageKind.DERIVED]
    assert {storage.variable for storage in packed} == {0} and packed[0].size == 6 * 68
    assert decode(CompiledFunction, encode(compiled)).arena({}) == compiled.arena({})
    report = step.executable.report()
    assert {place.kind for each in report.steps for place in each.writes} >= {"derived"}
    assert report.temporaries[0].name == "t0 of w" and report.temporaries[0].bytes == 6 * 68 * 4
    assert report.temporaries[0].type == "f32[6, 64] strides (68, 1)"


def test_derived_memory_comes_back_from_the_cache(tmp_path, monkeypatch):
    def loss(cpu):
        w, x = nv.variable((6, 64), 0.5), nv.placeholder((64,))
        e = nv.exp(w * 2.0)
        return cpu.computation([nv.sum(e, axis=0) + x, nv.sum(e, axis=1)], x)
    monkeypatch.setattr(BufferAssignment, "temporary", derived)
    with flags.overriding(cache_directory=str(tmp_path / "kept"), cache_executables=True):
        cold, warm = [loss(nv.transformers.make_transformer("cpu")) for _ in range(2)]
        x = np.ones(64, np.float32)
        assert run(warm(x)) == run(cold(x)) and warm.executable.is_from_cache
        storages = warm.executable._loaded.compiled.storages
    assert [storage.layout for storage in storages if storage.kind is StorageKind.DERIVED] == [
        row_major((6, 64), sizes=(6, 68))]
