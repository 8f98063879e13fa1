"""Weights are packed once for each of their values, whatever changes them, and no bit depends on it."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.memory.storage import StorageKind
from nervure.transformers.cpu.cache.codec import decode, encode
from nervure.transformers.cpu.compiled import CompiledFunction
from tests.arrays import normal
from tests.threads import run_together

N = nv.dim("N", min=1)
BYTES = 3 * 70 * 256 * 4  # of the panel of 600 columns of 70 points: three strips


def weights():
    return nv.variable("C=600, K=70", normal(600, 70)).named("w")


def prediction(cpu, w, rows=N, more=()):
    """x @ w.T, of which the right side lies across memory."""
    x = nv.placeholder({"R": rows, "K": 70})
    return cpu.computation([nv.dot(x, w), *more] if more else nv.dot(x, w), x)


def expected(x, w):
    """The same of arguments, which are packed in each call."""
    left, right = nv.placeholder({"R": N, "K": 70}), nv.placeholder("C=600, K=70")
    return nv.transformers.default().computation(nv.dot(left, right), left, right)(x, w)


def runs(computation):
    return [panel.runs for panel in computation.executable.report().panels]


# -- when something is packed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 8, 100, N])
def test_ten_calls_pack_once(cpu, rows):
    """Q21."""
    w, x = weights(), normal(100 if rows is N else rows, 70)
    predict = prediction(cpu, w, rows)
    assert runs(predict) == [0]
    for _ in range(10):
        np.testing.assert_array_equal(predict(x), expected(x, normal(600, 70)))
    predict.executable(x, out=[np.empty((len(x), 600), np.float32)])
    assert runs(predict) == [1]


def test_whatever_changes_a_variable_lets_it_be_packed_once_more(cpu):
    w, x = weights(), normal(30, 70)
    predict = prediction(cpu, w)
    predict(x)
    double, flip = cpu.computation(nv.assign(w, w * 2.0)), cpu.computation(nv.assign(w, w[::-1] * 1.0))
    other = nv.transformers.make_transformer("interpreter")
    other.set(w, normal(600, 70, seed=3))
    changes = [lambda: cpu.set(w, normal(600, 70, seed=1)), double, double, flip, lambda: cpu.copy_state(other)]
    for number, change in enumerate(changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(predict(x), expected(x, cpu.get(w)))
        assert runs(predict) == [number + 2]


def test_a_function_that_assigns_the_variable_keeps_nothing(cpu):
    w, x = weights(), normal(30, 70)
    train = prediction(cpu, w, more=[nv.assign(w, w * 0.5)])
    for _ in range(3):
        before = cpu.get(w)
        np.testing.assert_array_equal(train(x)[0], expected(x, before))
    assert train.executable.report().panels == ()


def test_all_functions_of_a_variable_share_what_is_packed_alike(cpu):
    w, x = weights(), normal(30, 70)
    first, second = prediction(cpu, w), prediction(cpu, w, 30)
    squares = cpu.computation(nv.dot(w, w[::-1], out_axes=()))
    third = prediction(cpu, w, 50)
    for batch in (x, x[:3], x):
        first(batch)
    second(x)
    third(normal(50, 70))
    squares()
    assert runs(first) == runs(second) == runs(third) == [1]
    assert set(first.executable._panels.own.values()) == set(second.executable._panels.own.values())


def test_filters_are_put_in_order_once(cpu):
    """Q21: a convolution goes through the channels of a window position after position."""
    images, filters = normal(2, 4, 9, 9), normal(6, 4, 3, 3)
    x, f, given = nv.placeholder(images.shape), nv.variable(filters.shape, filters), nv.placeholder(filters.shape)
    kept = cpu.computation(nv.convolution(x, f, padding=1), x)
    apart = cpu.computation(nv.convolution(x, given, padding=1), x, given)
    for _ in range(3):
        np.testing.assert_array_equal(kept(images), apart(images, filters))
    cpu.set(f, filters * 2)
    np.testing.assert_array_equal(kept(images), apart(images, filters * 2))
    assert (runs(kept), runs(apart)) == ([2], [])


def test_a_constant_is_packed_once_for_all_sizes(cpu):
    x = normal(30, 70)
    predict = prediction(cpu, nv.constant(normal(600, 70), "C=600, K=70"))
    for batch in (x, x[:9], x):
        np.testing.assert_array_equal(predict(batch), expected(batch, normal(600, 70)))
    assert runs(predict) == [1]


def test_a_matrix_for_each_batch_of_another_type_is_packed_too(cpu):
    w = nv.variable("B=3, K=70, C=130", normal(3, 70, 130), dtype=nv.bfloat16)
    x = nv.placeholder({"B": 3, "R": 40, "K": 70}, dtype=nv.bfloat16)
    product = nv.einsum("B R K, B K C -> B R C", x, w)
    arrays, y = [normal(3, 40, 70)], nv.placeholder("B=3, K=70, C=130", dtype=nv.bfloat16)
    apart, inside = cpu.computation(product, x), cpu.computation(nv.einsum("B R K, B K C -> B R C", x, y), x, y)
    np.testing.assert_array_equal(apart(*arrays), inside(*arrays, normal(3, 70, 130)))
    assert (runs(apart), runs(inside)) == ([1], [])


@pytest.mark.parametrize("seed", range(8))
def test_what_is_computed_of_a_variable_alone_is_packed_with_its_bits(cpu, seed):
    chosen = random.Random(seed)
    rows, points, columns = [chosen.choice(lengths) for lengths in ((12, 100, 517), (3, 40, 700), (1, 7, 65, 200))]
    right = chosen.choice([(points, columns), (columns, points)])
    dtype = chosen.choice([nv.float32, nv.float64, nv.bfloat16, nv.int8])
    start = np.round(normal(*right, seed=seed) * 9).astype(dtype.numpy)

    def product(w):
        made = nv.convert(w, nv.float64 if dtype is nv.float64 else nv.float32) * 0.1 - 1.0
        return nv.matmul(x, made if right[0] == points else made.T)
    x, given = nv.placeholder((rows, points), dtype=nv.float32), nv.placeholder(right, dtype=dtype)
    apart = cpu.computation(product(nv.variable(right, start, dtype=dtype)), x)
    inside = cpu.computation(product(given), x, given)
    batch = normal(rows, points, seed=seed + 1)
    for _ in range(2):
        np.testing.assert_array_equal(apart(batch), inside(batch, start))


def test_after_any_calls_and_changes_results_are_those_of_the_interpreter(cpu):
    def integers(*shape):
        return drawn.integers(-9, 9, shape).astype(np.float32)  # sums of their products are exact in any order

    def functions(transformer):
        train = prediction(transformer, w, more=[nv.assign(w, 1.0 - w)])
        flip = transformer.computation(nv.assign(w, w[::-1] * 1.0))
        return {"some": prediction(transformer, w), "fixed": prediction(transformer, w, 20),
                "train": lambda x: train(x)[0], "flip": lambda x: flip()}
    drawn, chosen = np.random.default_rng(5), random.Random(7)
    w, oracle = nv.variable("C=600, K=70", integers(600, 70)), nv.transformers.make_transformer("interpreter")
    ours, theirs = functions(cpu), functions(oracle)
    cpu.set(w, integers(600, 70))
    oracle.copy_state(cpu)
    for _ in range(60):
        x, kind = integers(20, 70), chosen.choice([*ours, "set", "fail"])
        if kind == "set":
            cpu.set(w, integers(600, 70))
            oracle.copy_state(cpu)
        elif kind == "fail":
            with pytest.raises(ShapeMismatch):
                ours["some"](integers(20, 71))
        else:
            np.testing.assert_array_equal(ours[kind](x), theirs[kind](x))
        np.testing.assert_array_equal(cpu.get(w), oracle.get(w))


def test_threads_that_read_see_one_value_while_another_one_writes(cpu):
    w = nv.variable("C=600, K=70", 0.0)
    predict, x, found = prediction(cpu, w), np.ones((30, 70), np.float32), []

    def read():
        found.extend([np.unique(predict(x)) for _ in range(60)])
    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(60):
        cpu.set(w, np.full((600, 70), number, np.float32))
    for thread in threads:
        thread.join()
    assert len(found) == 180 and all([each.size == 1 and each[0] % 70 == 0 for each in found])


def test_threads_may_pack_a_constant_at_once(cpu):
    x, found = normal(30, 70), []
    predict = prediction(cpu, nv.constant(normal(600, 70), "C=600, K=70"))
    barrier = threading.Barrier(4)

    def call():
        barrier.wait()
        found.extend([predict(x).tobytes() for _ in range(20)])

    run_together(*[call] * 4)
    assert len(found) == 80 and set(found) == {expected(x, normal(600, 70)).tobytes()}


def test_a_function_inside_of_a_call_may_pack_what_the_call_reads(cpu):
    w, x = weights(), normal(30, 70)
    predict, given = prediction(cpu, w), nv.placeholder({"R": 30, "K": 70})
    inside = nv.host_call(lambda array: predict(array)[:, :70].copy(), [given], like=given)
    both = cpu.computation([inside, nv.dot(given, w)], given)
    first, second = both(x)
    np.testing.assert_array_equal(second, expected(x, normal(600, 70)))
    np.testing.assert_array_equal(first, second[:, :70])
    assert runs(both) == [1]


# -- memory --------------------------------------------------------------------------------------------------------


def test_what_finds_no_room_is_packed_in_each_call(cpu):
    """Q21."""
    gc.collect()
    w, x = weights(), normal(30, 70)
    with flags.overriding(panel_limit=0):
        predict = prediction(cpu, w)
        for _ in range(3):
            np.testing.assert_array_equal(predict(x), expected(x, normal(600, 70)))
        report = predict.executable.report([x])
    assert report.panels == () and [each.name for each in report.temporaries] == ["t0 of w"]
    assert report.together_bytes == BYTES
    assert report.steps[0].notes == ("packed in each call: flags.panel_limit leaves no room for it",)
    predict(x[:7])
    assert runs(predict) == [1]


def test_what_is_packed_counts_as_memory_that_a_call_needs(cpu):
    predict, x = prediction(cpu, weights()), normal(1, 70)
    with flags.overriding(memory_limit=50_000), pytest.raises(InvalidArgument, match="more memory than there is"):
        predict(x)
    with flags.overriding(memory_limit=200_000):
        np.testing.assert_array_equal(predict(x), expected(x, normal(600, 70)))


def test_the_limit_holds_for_all_that_is_packed_together(cpu):
    gc.collect()
    x, kept = normal(30, 70), [weights() for _ in range(3)]
    with flags.overriding(panel_limit=2 * BYTES):
        made = [prediction(cpu, w) for w in kept]
        for predict in made:
            np.testing.assert_array_equal(predict(x), expected(x, normal(600, 70)))
        assert [runs(predict) for predict in made] == [[1], [1], []]


def test_what_is_packed_goes_with_those_who_use_it(cpu):
    w, x = weights(), normal(30, 70)
    predict = prediction(cpu, w)
    predict(x)
    panel, = [weakref.ref(each) for each in predict.executable._panels.own.values()]
    cell, = cpu.cells.of([w.variable])
    assert panel().bytes == BYTES and set(cell.derived.values()) == {panel()}
    del predict
    gc.collect()
    assert panel() is None and len(cell.derived) == 0


def test_explanations_say_what_is_packed_when_and_what_it_takes(cpu):
    """Q21."""
    w, x = weights(), normal(30, 70)
    predict = prediction(cpu, w)
    predict(x)
    found = nv.explain(predict, x, repeat=2)
    pack, product = found.steps
    assert pack.notes == ("packed once per version of w",) and pack.writes[0].kind == "derived"
    assert "the right side is packed once per version of w; the other is read where it lies" in product.notes[0]
    assert f"t0 of w is kept between calls: {BYTES:,} bytes, packed 1 time so far" in found.details()
    assert (found.report.panels[0].source, found.report.temporaries, found.report.together_bytes) == ("w", (), 0)
    assert runs(predict) == [1]


# -- what is kept on disk ------------------------------------------------------------------------------------------


def test_a_function_off_the_disk_packs_at_its_first_call(tmp_path):
    x = normal(30, 70)
    with flags.overriding(cache_directory=str(tmp_path / "kept"), cache_executables=True):
        made = [prediction(nv.transformers.make_transformer("cpu"), weights()) for _ in range(2)]
        results = [[predict(x).tobytes() for _ in range(2)] for predict in made]
    assert results[0] == results[1] and made[1].executable.is_from_cache
    assert [panel.runs for panel in made[1].executable._panels.own.values()] == [1]


def test_a_description_off_the_disk_that_packs_anything_else_is_refused(cpu):
    compiled = prediction(cpu, weights()).executable.compilation.loaded.compiled
    assert decode(CompiledFunction, encode(compiled)).is_sound()
    kinds = [storage.kind for storage in compiled.storages]
    derived, argument = kinds.index(StorageKind.DERIVED), kinds.index(StorageKind.ARGUMENT)
    pack, product = compiled.kernels
    wrong = [replace(pack, reads=(argument, pack.reads[0]), buffers=(argument, pack.reads[0], derived)),
             replace(pack, launch=replace(pack.launch, extent=N)),
             replace(pack, writes=(derived, argument), buffers=(*pack.buffers, argument))]
    for each in wrong:
        assert not replace(compiled, kernels=(each, product)).is_sound()
    assert not replace(compiled, kernels=(pack, *compiled.kernels)).is_sound()


def test_a_copy_of_no_element_is_made_in_each_call(cpu):
    w, x = nv.variable((0, 8)).named("w"), nv.placeholder((3, 4))
    product = cpu.computation(x @ nv.pad(w, [(0, 4), (0, 0)]), x)
    assert product(np.ones((3, 4))).tolist() == [[0.0] * 8] * 3 and runs(product) == []
