"""A program over symbolic lengths computes what the same program computes with numbers for them.

Lengths of 0 and 1 are among the numbers. Lengths that have to be equal are assumed to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.types.dim import DimLike, dim, dim_max, evaluate
from tests.conformance.running import DEEP

N, M = dim("n"), dim("m")
OFTEN: list[DimLike] = [N - 2, N]
OTHERS: list[DimLike] = [2 * N - 1, N + M, N // 2, dim_max(N - 1, 0), N + M - 2]
"""One of them in turn for each program, or all with ``DEEP_TESTS=1``, on the cpu, too."""
BINDINGS = [{"n": n, "m": m} for n, m in ((0, 1), (1, 0), (2, 5), (5, 2))]
TRANSFORMERS = ["interpreter", "cpu"]
LABELS = nv.constant([0, 1], dtype=nv.int64)

Program = tuple[Any, ...]
"""A function of tensors, and the shape of each, in which "L" is the length and "3L" three times that."""


def slope(function: Callable[..., nv.Tensor]) -> Callable[..., nv.Tensor]:
    """The derivative of a function in its first operand, of a sum in which every element counts otherwise."""
    return lambda x, *others: nv.deriv(nv.sum(nv.sin(function(x, *others)), out_axes=()), x)


def attention(q: nv.Tensor, k: nv.Tensor, v: nv.Tensor) -> nv.Tensor:
    return nv.softmax(nv.matmul(q, k.mT), axis=2) @ v


def classes(x: nv.Tensor, labels: nv.Tensor) -> nv.Tensor:
    return nv.nn.losses.cross_entropy(x, nv.convert(labels * 0, nv.int64))


def deconvolved(stride: int, padding: int) -> Callable[..., nv.Tensor]:
    return lambda x, f: nv.deconvolution(x, f, strides=stride, padding=padding)


ROWS, COLUMNS, SQUARE = ("L", 3), (2, "L"), ("L", "L")
PROGRAMS: Mapping[str, Program] = {
    **{f"x[{item}]": (lambda x, item=item: x[item], ROWS) for item in (
        0, -1, 1, slice(1, None), slice(1, -1), slice(-3, None), slice(None, None, -1), slice(1, None, 3),
        slice(None, None, -2))},
    "x[:, 1]": (lambda x: x[:, 1], ROWS), "x[...]": (lambda x: x[None, 1:][:, 1:, 0], ROWS),
    "x[[0, 1]]": (lambda x: x[LABELS], ROWS), "written": (lambda x: x.at[1:, 0].add(5), ROWS),
    "written first": (lambda x: x.at[0].set(1.0), ROWS), "neighbours": (lambda x: x[2:] + x[1:-1] + x[:-2], ROWS),
    **{name: (lambda x, name=name: getattr(nv, name)(x, axis=1), COLUMNS) for name in (
        "max", "argmin", "mean", "prod", "std", "logsumexp", "softmax", "log_softmax", "any")},
    **{f"{name} of a square": (lambda x, name=name: getattr(nv, name)(x, axis=1), SQUARE)
       for name in ("min", "argmax")},
    "begun": (lambda x: nv.max(x, axis=1, initial=0), COLUMNS), "kept": (lambda x: nv.max(x, axis=1), ROWS),
    **{f"derivative of {name}": (slope(lambda x, name=name: getattr(nv, name)(x, axis=1)), COLUMNS) for name in (
        "softmax", "log_softmax", "logsumexp", "max", "variance", "layer_norm")},
    **{f"padded by {mode}": (lambda x, mode=mode: nv.pad(x, [(0, 0), (1, 2)], mode=mode), COLUMNS)
       for mode in ("constant", "edge", "wrap")},
    "cropped": (lambda x: nv.pad(x, [(-1, -1), (0, 0)]), ROWS), "flat": (lambda x: x.reshape(-1)[1:-1], SQUARE),
    "squeezed": (lambda x: nv.squeeze(x, [0]), ROWS), "split": (lambda x: nv.split(x, [1])[1], ROWS),
    "halved": (lambda x: nv.split(x, 2)[1], ("2L", 3)),
    "joined": (lambda x, y: nv.concatenate([x, y, x])[1:-1], ROWS, ROWS),
    "product": (lambda x, y: x @ y, ROWS, (3, "L")), "nothing contracted": (lambda x, y: y @ x, ROWS, (3, "L")),
    "products": (lambda x, y: x @ y, ("L", 2, 3), ("L", 3, 2)), "trace": (lambda x: nv.einsum("ii->", x), SQUARE),
    "attention": (attention, (2, 4, 3), (2, "L", 3), (2, "L", 3)),
    "derivative of attention": (slope(lambda k, q, v: attention(q, k, v)), (2, "L", 3), (2, 4, 3), (2, "L", 3)),
    "cross entropy": (classes, ROWS, ("L",)), "of no classes": (nv.nn.losses.cross_entropy, COLUMNS, COLUMNS),
    "window": (lambda x, f: nv.convolution(x, f), (2, 2, "L"), (3, 2, 3)),
    "pooled": (lambda x: nv.pooling(x, "max", (3, 1), strides=2, padding=1), (1, 2, "L", 4)),
    **{f"deconvolution {each}": (deconvolved(*each), (2, 2, "L"), (2, 3, 3)) for each in ((2, 1), (1, 0), (3, 2))},
    "derivative of a deconvolution": (slope(deconvolved(2, 1)), (2, 2, "L"), (2, 3, 3)),
    "batch norm": (slope(nv.batch_norm), ("L", 3, 2))}


def parameters(shapes: tuple[Any, ...], length: DimLike) -> list[nv.Tensor]:
    return [nv.placeholder(tuple([{"L": length, "2L": 2 * length}.get(one, one) for one in shape])) for shape in shapes]


def arrays(shapes: tuple[Any, ...], size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [rng.standard_normal([{"L": size, "2L": 2 * size}.get(one, one) for one in shape], np.float32)
            for shape in shapes]


def outcome(run: Callable[[], Any]) -> Any:
    """The value, or the error, of which more is compared than that there is one."""
    try:
        return np.asarray(run())
    except nv.NervureError as error:
        return error


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbols_do_what_numbers_do(name):
    """A168, A300: values, shapes and kinds of errors, on both transformers."""
    function, *shapes = PROGRAMS[name]
    shapes = tuple(shapes)
    known: dict[int, Any] = {}
    interpreter, cpu = [nv.transformers.make_transformer(transformer) for transformer in TRANSFORMERS]
    with interpreter, cpu:
        turn = list(PROGRAMS).index(name) % len(OTHERS)
        for number, length in enumerate([*OFTEN, *(OTHERS if DEEP else [OTHERS[turn]])]):
            own, sizes = parameters(shapes, length), [nv.placeholder((N,)), nv.placeholder((M,))]
            result = [function(*own), *map(nv.sum, sizes)]  # so that each call says what the symbols are
            makers = (interpreter, cpu) if DEEP or not number else (interpreter,)
            compute = [made.computation(result, *own, *sizes) for made in makers]
            for binding in BINDINGS:
                size = evaluate(length, binding)
                if size < 0:
                    continue
                if size not in known:
                    known[size] = outcome(lambda size=size: run_with_numbers(interpreter, function, shapes, size))
                for run in compute:
                    given = [*arrays(shapes, size), *[np.zeros(number, np.float32) for number in binding.values()]]
                    check(outcome(lambda run=run, given=given: run(*given)[0]), known[size], f"{length} is {size}")


def run_with_numbers(made: Any, function: Callable[..., Any], shapes: tuple[Any, ...], size: int) -> Any:
    own = parameters(shapes, size)
    return made.computation(function(*own), *own)(*arrays(shapes, size))


def check(found: Any, expected: Any, where: str) -> None:
    assert type(found) is type(expected), f"{where}: {found} for {expected}"
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=where, strict=True)


EQUAL: Mapping[str, Program] = {
    "sum": (nv.add, ("a", 3), ("b", 3)), "joined": (lambda x, y: nv.concatenate([x, y]), (2, "a"), (3, "b")),
    "matmul": (nv.matmul, ("a", 2, 3), ("b", 3, 2)),
    "convolution": (nv.convolution, (2, "a", 5), (3, "b", 2)),
    "deconvolution": (nv.deconvolution, (2, "a", 5), ("b", 3, 2)), "batch norm": (nv.batch_norm, (3, "a"), ("b",)),
    "layer norm": (lambda x, y: nv.layer_norm(x, 1, y), (3, "a"), ("b",)),
    "elements": (lambda x, y: nv.gather_elements(x, nv.convert(y * 0, nv.int64), 1), ("a", 3), ("b", 2)),
    "coordinates": (lambda x, y: nv.gather_nd(x, nv.convert(y * 0, nv.int64), 1), ("a", 3, 2), ("b", 1)),
    "broadcast": (lambda x, y: nv.broadcast(x, y.shape), ("a",), (2, "b")),
    "error of deriv": (lambda x, y: nv.deriv(x * x, x, y), ("a",), ("b",)),
    "classes": (classes, ("a", 3), ("b",)), "loss": (nv.nn.losses.huber, ("a", 3), ("b", 3))}


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("lengths", [(N, 4), (4, M), (N, M)], ids=str)
def test_lengths_that_have_to_be_equal(name, lengths):
    """A68: a symbol against a number or another symbol is assumed to be equal; the call checks it."""
    function, *shapes = EQUAL[name]

    def replaced(a, b):
        return [tuple([{"a": a, "b": b}.get(one, one) for one in shape]) for shape in shapes]

    own = [nv.placeholder(shape) for shape in replaced(*lengths)]
    with nv.transformers.make_transformer("interpreter") as made:
        compute = made.computation(function(*own), *own)
        x, y = [np.random.default_rng(1).random(shape, np.float32) for shape in replaced(4, 4)]
        np.testing.assert_allclose(compute(x, y), function(nv.constant(x), nv.constant(y)).numpy(), rtol=1e-5)
        for wrong in ((4, 3), (5, 4), (4, 1)):
            with pytest.raises(nv.ShapeMismatch):
                compute(*[np.ones(shape, np.float32) for shape in replaced(*wrong)])


def test_a_length_that_has_to_be_nothing_is_named():
    x, value = nv.placeholder((nv.dim("k", min=4),)), nv.placeholder((nv.dim("d"),))
    compute = nv.computation(x.at[-4:0].add(value), x, value)
    assert compute(np.ones(4), np.ones(0)).tolist() == [1.0] * 4
    with pytest.raises(nv.ShapeMismatch, match=r"at.add: d = 0 does not hold in this call"):
        compute(np.ones(4), np.ones(1))


@pytest.mark.parametrize("shape", ["n", "n n m", "n n", "n m"])
def test_a_range_that_is_always_empty(shape):
    """A139: of a length of several symbols, too."""
    x = nv.placeholder(tuple(map(dim, shape.split())))
    row = nv.ravel(x)
    for length in (1, 3):
        given = np.ones([length] * x.ndim, np.float32)
        for first, second in ((slice(4), slice(5, -2, 2)), (slice(4), slice(4, -1)), (slice(4), slice(-5, 3, -1))):
            found = row[first][second]
            assert found.shape == (0,) and nv.computation(found, x)(given).tolist() == []
