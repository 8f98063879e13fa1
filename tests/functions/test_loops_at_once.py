"""Loops and branches for many elements at once: one loop over all elements, where all of them run the same."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.passes.pipelines import standard
from tests.conformance.running import TRANSFORMERS


def computed(returns, *parameters, transformer="interpreter"):
    return nv.computation(returns, *parameters, transformer=nv.transformers.make_transformer(transformer))


def regions(function):
    """The classes of the regions of a function, those inside of others behind them."""
    found = []
    for op in function.operations:
        if hasattr(op, "bodies"):
            found += [type(op).__name__, *[name for body in op.bodies for name in regions(body)]]
    return found


def layer(x, start, w, k):
    """A loop whose carries differ or not, with what is sliced, saved and captured."""
    def step(carry, row):
        h, n, t = carry
        return (nv.tanh(nv.matmul(h, w) + row), n + 1, t * 0.5 + k), (h * 2.0, n, k)
    return nv.scan(step, (start, nv.constant(0, dtype=nv.int32), k * 0), x)


@pytest.mark.parametrize("transformer", TRANSFORMERS)
@pytest.mark.parametrize("which", ["x", "start", "w", "k", "xk", "xw"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_scan_of_all_elements(transformer, which, count):
    """D20: whatever of it differs between elements; one loop, and no loop in it."""
    rng = np.random.default_rng(0)
    shapes = {"x": (5, 2, 3), "start": (2, 3), "w": (3, 3), "k": ()}
    arrays = {name: rng.normal(size=(count, *shape) if name in which or name == which else shape)
              for name, shape in shapes.items()}
    axes = tuple([0 if arrays[name].ndim > len(shape) else None for name, shape in shapes.items()])
    given = [nv.placeholder(arrays[name].shape, nv.float64) for name in shapes]
    mapped = nv.vmap(layer, in_axes=axes)(*given)
    leaves = [*mapped[0], *mapped[1]]
    compiled = computed(leaves, *given, transformer=transformer)
    assert regions(compiled.function).count("Scan") == 1
    found = compiled(*arrays.values())
    one = [nv.placeholder(shape, nv.float64) for shape in shapes.values()]
    carry, rows = layer(*one)
    single = computed([*carry, *rows], *one)
    for at in range(count):
        expected = single(*[array if axis is None else array[at]
                            for array, axis in zip(arrays.values(), axes, strict=True)])
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine[at], theirs, rtol=1e-12)
    assert [mine.shape[0] for mine in found] == [count] * len(found)


def test_a_gradient_for_each_element_is_one_loop_each_way():
    """D21: with one product over all elements and iterations."""
    rng = np.random.default_rng(0)
    data, w = rng.normal(size=(4, 5, 2, 3)), rng.normal(size=(3, 3))
    def loss(weight, x):
        return nv.sum(nv.scan(lambda h, row: (nv.tanh(nv.matmul(h, weight) + row),) * 2, nv.zeros((2, 3)).astype(
            nv.float64), x)[1])
    x, weight = nv.placeholder((4, 5, 2, 3), nv.float64), nv.placeholder((3, 3), nv.float64)
    compiled = computed(nv.vmap(nv.grad(loss), in_axes=(None, 0))(weight, x), weight, x)
    assert regions(standard(compiled.function)) == ["Scan", "Scan"]
    slope = nv.grad(loss)
    np.testing.assert_allclose(compiled(w, data), [slope(w, row) for row in data], rtol=1e-10)


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_branches_and_while_loops_that_all_elements_share(transformer):
    """D20: the choice, or the number of iterations, does not differ; else it is made for each element."""
    rows, flag = nv.placeholder((3, 2)), nv.placeholder((), nv.bool_)
    def shared(row):
        chosen = nv.cond(flag, lambda: row * 2, lambda: nv.ones((2,)))
        count, total = nv.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + row),
                                     (nv.constant(0, dtype=nv.int32), nv.zeros((2,))))
        return chosen, total, count
    compiled = computed([*nv.vmap(shared)(rows)], rows, flag, transformer=transformer)
    assert sorted(regions(compiled.function)) == ["If", "While"]
    data = np.float32([[1, 2], [3, 4], [5, 6]])
    for value in (True, False):
        chosen, total, count = compiled(data, value)
        np.testing.assert_array_equal(chosen, data * 2 if value else np.ones((3, 2)))
        np.testing.assert_array_equal(total, data * 4)
        assert count.tolist() == [4, 4, 4]
    def own(row):
        return nv.cond(nv.sum(row) > 5, lambda: row, lambda: -row), nv.while_loop(
            lambda r: nv.sum(r) < 20, lambda r: r * 2, row)
    compiled = computed([*nv.vmap(own)(rows)], rows, transformer=transformer)
    assert sorted(regions(compiled.function)) == ["If", "Scan", "Scan", "While"]
    chosen, grown = compiled(data)
    np.testing.assert_array_equal(chosen, data * [[-1], [1], [1]])
    np.testing.assert_array_equal(grown, data * [[8], [4], [2]])


def test_effects_and_calls_of_python_happen_for_one_element_after_the_other():
    """D26, Q42."""
    seen = []
    def noted(v):
        seen.append(v.copy())
        return v
    def body(h, v):
        return h + nv.host_call(noted, [v], like=v, effectful=True), None
    x = nv.placeholder((2, 3))
    compiled = computed([nv.vmap(lambda row: nv.scan(body, 0.0, row)[0])(x)], x)
    assert compiled(np.ones((2, 3), np.float32))[0].tolist() == [3.0, 3.0]
    assert len(seen) == 6 and all(value.shape == () for value in seen)
