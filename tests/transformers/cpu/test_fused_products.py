"""Ops before and after a product share its kernel, and change no bit of its sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.op import Value
from tests.kernel.contraction_rule import contraction

CPU = nv.transformers.make_transformer("cpu")
M, K, N = 70, 40, 130
RNG = np.random.default_rng(0)
SHAPES = {"x": (M, K), "y": (K, N), "b": (N,), "c": (M,), "r": (M, N), "s": (), "k": (K,)}
ARRAYS = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
ARRAYS["mask"] = RNG.random((M, K)) < 0.5
ARRAYS["bytes"] = RNG.integers(-128, 128, (K, N)).astype(np.int8)
ARRAYS["half"] = ARRAYS["y"].astype(nv.bfloat16.numpy)
ARRAYS["turned"] = np.ascontiguousarray(ARRAYS["half"].T)


def product(x: Value, y: Value) -> Value:
    return ops.Contract(x, y, (0, 2), (2, 1), (0, 1)).output


def spread(x: Value, *axes: int, like: Value) -> Value:
    return ops.Broadcast(x, like.shape, axes).output


def ran(build: Callable[..., object], count: int = 1) -> list[np.ndarray]:
    """The results of a function of the arrays that it names, which takes so many kernels."""
    names = build.__code__.co_varnames[:build.__code__.co_argcount]
    parameters = [nv.Parameter(nv.as_dtype(ARRAYS[name].dtype), ARRAYS[name].shape) for name in names]
    made = build(*[parameter.value for parameter in parameters])
    executable = CPU.build(nv.Function(list(made) if isinstance(made, tuple) else [made], parameters))
    steps = executable.compilation.plan.steps
    assert len(steps) == count, "\n".join(map(str, nv.explain(executable).kernels))
    return executable(*[ARRAYS[name] for name in names])


# -- epilogues ---------------------------------------------------------------------------------------------------


EPILOGUES: dict[str, tuple[Callable[..., object], Callable[[np.ndarray], np.ndarray]]] = {
    "a bias of columns": (lambda x, y, b: product(x, y) + spread(b, 0, like=product(x, y)), lambda z: z + ARRAYS["b"]),
    "a bias of rows": (lambda x, y, c: product(x, y) + spread(c, 1, like=product(x, y)),
                       lambda z: z + ARRAYS["c"][:, None]),
    "an activation": (lambda x, y: ops.Relu(product(x, y)), lambda z: np.maximum(z, 0)),
    "a residual": (lambda x, y, r: r + product(x, y), lambda z: ARRAYS["r"] + z),
    "a scale": (lambda x, y, s: product(x, y) * spread(s, 0, 1, like=product(x, y)), lambda z: z * ARRAYS["s"]),
    "another type": (lambda x, y: ops.Convert(product(x, y), nv.bfloat16), lambda z: z.astype(nv.bfloat16.numpy)),
    "a mask": (lambda x, y, r: ops.Where(ops.Less(r, r.full(0.0)), product(x, y), r.full(-1e9)),
               lambda z: np.where(ARRAYS["r"] < 0, z, np.float32(-1e9))),
    "a permutation": (lambda x, y: ops.Permute(product(x, y), (1, 0)), np.transpose),
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_what_follows_a_product_is_part_of_its_kernel(name):
    """O48."""
    build, expected = EPILOGUES[name]
    result, = ran(build)
    assert result.tobytes() == np.ascontiguousarray(expected(contraction(ARRAYS["x"], ARRAYS["y"]))).tobytes()


def test_a_product_may_have_two_results():
    before, after = ran(lambda x, y: (product(x, y), ops.Relu(product(x, y))))
    np.testing.assert_array_equal(before, contraction(ARRAYS["x"], ARRAYS["y"]))
    np.testing.assert_array_equal(after, np.maximum(before, 0))


def test_sums_of_integers_become_floats_in_the_same_kernel():
    def build(bytes: Value, s: Value) -> Value:
        wide = ops.Convert(bytes, nv.int32).output
        total = ops.Convert(ops.Contract(wide, wide, (0, 2), (1, 2), (0, 1)), nv.float32).output
        return total * spread(s, 0, 1, like=total)
    result, = ran(build)
    wide = ARRAYS["bytes"].astype(np.int32)
    np.testing.assert_array_equal(result, (wide @ wide.T).astype(np.float32) * ARRAYS["s"])


def test_the_heads_of_an_attention_are_merged_by_the_products_around_them():
    """No kernel moves elements: the scores' product reads views, the other one writes what the next one reads."""
    def build(x: Value, r: Value) -> Value:
        q = ops.Permute(ops.Reshape(x, (M, 5, 8)), (1, 0, 2)).output
        scores = ops.Contract(q, q, (0, 1, 3), (0, 2, 3), (0, 1, 2))
        mixed = ops.Contract(scores, q, (0, 1, 2), (0, 2, 3), (0, 1, 3))
        return product(ops.Reshape(ops.Permute(mixed, (1, 0, 2)), (M, K)).output, ops.Slice(
            r, ((0, K, 1), (0, N, 1))).output)
    result, = ran(build, count=3)
    q = ARRAYS["x"].reshape(M, 5, 8).transpose(1, 0, 2)
    mixed = np.stack([contraction(contraction(head, head.T), head) for head in q])
    np.testing.assert_array_equal(result, contraction(mixed.transpose(1, 0, 2).reshape(M, K), ARRAYS["r"][:K]))


def test_a_step_of_descent_is_written_where_the_weights_are():
    w = nv.variable({"K": K, "N": N}, ARRAYS["y"])
    x, dy = nv.placeholder({"M": M, "K": K}), nv.placeholder({"M": M, "N": N})
    step = CPU.computation([nv.assign(w, w - 0.5 * nv.dot(x, dy))], x, dy)
    plan = step.executable.compilation.plan
    assert len(plan.steps) == 1 and len(plan.in_place) == 1
    step(ARRAYS["x"], ARRAYS["r"])
    expected = ARRAYS["y"] - np.float32(0.5) * contraction(ARRAYS["x"].T, ARRAYS["r"])
    np.testing.assert_array_equal(CPU.get(w), expected)


def test_a_layer_s_backward_pass_joins_the_products():
    """Two products forward, three backward; the derivative of the activation stands behind the one that gives its
    argument's gradient. Of the first layer its argument, the sigmoid and the result are stored.
    """
    x, y, b = [nv.placeholder(axes) for axes in ({"M": M, "K": K}, {"K": K, "N": N}, {"N": N})]
    w = nv.placeholder({"N": N, "H": K})
    loss = nv.sum(nv.square(nv.dot(nv.gelu(nv.dot(x, y) + b, approximate="tanh"), w)), out_axes=())
    computation = CPU.computation([nv.deriv(loss, each) for each in (y, b, w)], x, y, b, w)
    steps = computation.executable.compilation.plan.steps
    assert [step.kernel.name for step in steps].count("product") == len(steps) - 1 == 5
    assert len(steps[0].written) == 3


# -- prologues ---------------------------------------------------------------------------------------------------


PROLOGUES: dict[str, tuple[Callable[..., object], Callable[[], tuple[np.ndarray, np.ndarray]]]] = {
    "weights of another type": (lambda x, half: product(x, ops.Convert(half, nv.float32).output),
                                lambda: (ARRAYS["x"], ARRAYS["half"].astype(np.float32))),
    "the same across memory": (
        lambda x, turned: product(x, ops.Permute(ops.Convert(turned, nv.float32), (1, 0)).output),
        lambda: (ARRAYS["x"], ARRAYS["half"].astype(np.float32))),
    "weights of bytes, with a scale for each column": (
        lambda x, y, bytes, b: product(x, ops.Convert(bytes, nv.float32) * spread(b, 0, like=y)),
        lambda: (ARRAYS["x"], ARRAYS["bytes"].astype(np.float32) * ARRAYS["b"])),
    "a mask of the left side": (lambda x, y, mask: product(ops.Where(mask, x, x.full(0.0)).output, ops.Slice(
        y, ((0, K, 1), (0, 90, 1))).output), lambda: (np.where(ARRAYS["mask"], ARRAYS["x"], 0), ARRAYS["y"][:, :90])),
    "a scale for each point, and one of all": (
        lambda x, y, k, s: product(x * spread(s, 0, 1, like=x), y * spread(k, 1, like=y)),
        lambda: (ARRAYS["x"] * ARRAYS["s"], ARRAYS["y"] * ARRAYS["k"][:, None])),
}


@pytest.mark.parametrize("name", PROLOGUES)
def test_what_a_product_reads_is_computed_as_it_is_packed(name):
    """O48."""
    build, sides = PROLOGUES[name]
    result, = ran(build)
    np.testing.assert_array_equal(result, contraction(*sides()))


def test_a_mask_that_two_products_read_is_computed_by_both():
    def build(x: Value, y: Value, mask: Value) -> tuple[Value, ...]:
        masked = ops.Where(mask, x, x.full(0.0)).output
        first = product(masked, ops.Slice(y, ((0, K, 1), (0, 90, 1))).output)
        return first, ops.Contract(masked, x, (2, 0), (2, 1), (0, 1)).output
    first, second = ran(build, count=2)
    masked = np.where(ARRAYS["mask"], ARRAYS["x"], np.float32(0))
    np.testing.assert_array_equal(first, contraction(masked, ARRAYS["y"][:, :90]))
    np.testing.assert_array_equal(second, contraction(masked.T, ARRAYS["x"]))


@pytest.mark.parametrize("build", [
    lambda x, y: product(ops.Exp(x).output, ops.Concatenate(y, y, axis=1).output),
    lambda x, half: (product(x, ops.Convert(half, nv.float32).output), ops.Convert(half, nv.float32)),
], ids=["dear", "a result"])
def test_what_is_dear_or_needed_elsewhere_is_stored(build):
    assert len(ran(build, count=2 + (build.__code__.co_varnames[1] == "y"))) > 0


def test_an_explanation_says_what_is_computed_where():
    x, w = nv.Parameter(nv.float32, (300, 512)), nv.Parameter(nv.bfloat16, (512, 1000))
    function = nv.Function([product(ops.Relu(x).output, ops.Convert(w, nv.float32).output)], [x, w])
    text = nv.explain(CPU.build(function)).details()
    assert "the right side is packed: it is computed (convert)" in text
    assert "t0 is stored: step 1: Contract reads it: it would compute it 8 times" in text


def test_sizes_that_are_symbols_let_the_right_side_be_computed():
    n = nv.dim("n")
    x, w = nv.Parameter(nv.float32, (n, K)), nv.Parameter(nv.bfloat16, (K, N))
    executable = CPU.build(nv.Function([product(x.value, ops.Convert(w, nv.float32).output)], [x, w]))
    assert len(executable.compilation.plan.steps) == 1
    for rows in (0, 1, 7, 70):
        result, = executable(ARRAYS["x"][:rows], ARRAYS["half"])
        np.testing.assert_array_equal(result, contraction(ARRAYS["x"][:rows], ARRAYS["half"].astype(np.float32)))
