"""A weight lies in memory once: what can be computed again is not kept beside the value that has replaced it."""

from __future__ import annotations

import copy
import gc
import tracemalloc

import numpy as np
import pytest

import nervure as nv
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription


@pytest.fixture(params=["interpreter", "cpu"])
def transformer(request):
    with nv.transformers.make_transformer(request.param) as made:
        yield made


def traced(make):
    """The bytes of arrays of NumPy that are held after a call of ``make``, and what it returns."""
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)  # other threads may allocate objects, too
        return sum([trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces]), kept
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("start", [0.5, lambda: nv.nn.initialisers.normal(seed=4),
                                   lambda: nv.nn.initialisers.orthogonal(seed=4)])
def test_a_value_that_can_be_drawn_again_is_kept_until_it_is_replaced(start, transformer):
    """Q41: then it is gone; another transformer draws it again, with the same bits."""
    initial = nv.nn.initialisers.constant(start) if start == 0.5 else start()
    layer = nv.nn.Linear(300, 200, weights=initial, bias=False)
    w = layer.weights
    first = transformer.get(w)
    double = transformer.computation(nv.assign(w, w * 2))
    held, _ = traced(lambda: transformer.get(w).nbytes)
    assert w.variable._kept_value() is not None and held < first.nbytes / 2
    double()
    gc.collect()
    assert w.variable._kept_value() is None
    with nv.transformers.make_transformer("interpreter") as other, pytest.warns(UserWarning, match="initial values"):
        assert other.get(w).tobytes() == first.tobytes()
        assert (transformer.get(w) == first * 2).all()
        other.computation(w * 1)()
    assert copy.deepcopy(layer).weights.variable.initial_value().tobytes() == first.tobytes()


@pytest.mark.parametrize("initial", [np.ones(3), lambda: np.random.default_rng().standard_normal(3)])
def test_what_cannot_be_computed_again_is_kept(initial, transformer):
    """Q41: arrays, and what functions of users return, which need not return the same twice."""
    w = Variable(BasicTensorDescription("float32", (3,)), initial)
    first = w.initial_value().copy()
    transformer.set(w, [7, 8, 9])
    gc.collect()
    assert w.initial_value().tobytes() == first.tobytes()
    with nv.transformers.make_transformer("interpreter") as other, pytest.warns(UserWarning, match="initial values"):
        assert other.get(w).tobytes() == first.tobytes()


def test_a_value_that_is_set_needs_no_initial_value(transformer, tmp_path):
    """Q41: neither set, restore, copy_state nor load_weights computes one."""
    drawn = []

    def model():
        return nv.nn.Linear(3, 2, weights=lambda axes: drawn.append(axes) or np.ones((3, 2)), bias=False)
    saved, loaded, restored, copied = model(), model(), model(), model()
    transformer.set(saved.weights, np.full((3, 2), 5.0))
    path = str(tmp_path / "w.safetensors")
    nv.save_weights(saved, path, transformer=transformer)
    nv.load_weights(loaded, path, transformer=transformer)
    transformer.restore({restored.weights.variable: np.full((3, 2), 6, np.float32)})
    with nv.transformers.make_transformer("interpreter") as other:
        other.set(copied.weights, np.full((3, 2), 7.0))
        transformer.copy_state(other)
    assert [transformer.get(layer.weights)[0, 0] for layer in (saved, loaded, restored, copied)] == [5, 5, 6, 7]
    assert drawn == []


def test_a_trained_model_takes_the_memory_of_its_weights_once():
    """Q41: what NumPy holds after a step, measured: the new values, and some bytes of the compiler's."""
    with nv.transformers.make_transformer("cpu") as cpu:
        def trained():
            layers = [nv.nn.Linear(500, 500, bias=False) for _ in range(4)]
            x = nv.placeholder((2, 500))
            y = nv.nn.Sequential(*layers)(x)
            loss = nv.sum(y * y)
            ws = [layer.weights for layer in layers]
            step = cpu.computation([loss, *[nv.assign(w, w - 1e-3 * nv.deriv(loss, w)) for w in ws]], x)
            step(np.ones((2, 500), np.float32))
            return step, ws
        held, (_, ws) = traced(trained)
        weights = sum(cpu.cells.peek(w.variable).array.nbytes for w in ws)
        assert weights == 4 * 500 * 500 * 4 and held < 1.5 * weights
