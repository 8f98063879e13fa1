"""NaN of both signs through kernels of every vector width.

The width changes neither which elements are NaN, nor any other bit, nor ops that only move elements. The sign and the
payload of a NaN that is computed are left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import standard
from nervure.types.dtype import DType
from tests.transformers.cpu.running import run

WIDTHS = (4, 16, 32, 64)
WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}

ONE = [ops.Mish, ops.Softplus, ops.Silu, ops.Sigmoid, ops.Gelu, ops.Elu, ops.Relu, ops.Exp, ops.Log, ops.Tanh, ops.Sin,
       ops.Atan, ops.Sqrt, ops.Erfc, ops.Lgamma, ops.Negative, ops.Absolute, ops.Sign, ops.Round, ops.Reciprocal]
TWO = [ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.FloorDivide, ops.Mod, ops.Power, ops.Maximum, ops.Minimum,
       ops.Atan2, ops.Hypot, ops.PRelu]
COMPLEX = [ops.Add, ops.Multiply, ops.Divide, ops.Negative, ops.Absolute]


def words(array: np.ndarray) -> np.ndarray:
    """The bits, of complex numbers those of their parts."""
    parts = np.ascontiguousarray(array)
    return parts.view(WORDS[parts.itemsize // (2 if parts.dtype.kind == "c" else 1)])


def specials(dtype: DType) -> np.ndarray:
    """NaN, quiet with and without a payload and signalling, infinities and numbers, all with both signs."""
    if dtype.is_complex:
        part = specials({64: nv.float32, 128: nv.float64}[dtype.bits])[[0, 1, 3, 6, 7, 8, 9]]
        return np.stack([grid.ravel() for grid in np.meshgrid(part, part)], axis=1).reshape(-1).view(dtype.numpy)
    word = WORDS[dtype.itemsize]
    with np.errstate(all="ignore"):
        plain = np.array([np.nan, np.nan, np.nan, np.inf, 0.0, 1.5, 0.25], np.float64).astype(dtype.numpy).view(word)
    quiet = np.array([np.inf], np.float64).astype(dtype.numpy).view(word)[0] ^ (plain[0] & word(~word(0) >> word(1)))
    plain[:3] = plain[0] & word(~word(0) >> word(1))
    plain[1] |= word(5)
    plain[2] = (plain[2] ^ quiet) | word(3)
    return np.concatenate([plain, plain | word(1 << (dtype.bits - 1))]).view(dtype.numpy)


def grid(dtype: DType, count: int) -> list[np.ndarray]:
    """All combinations, an odd number of them, several times over: each in every lane, and behind the last row."""
    columns = [column.ravel() for column in np.meshgrid(*[specials(dtype)] * count, indexing="ij")]
    columns = [column if len(column) % 2 else np.append(column, column[:1]) for column in columns]
    return [np.concatenate([column] * (17 if count == 1 else 3)) for column in columns]


def on_widths(build: Any, arrays: Sequence[np.ndarray], widths: Sequence[int] = WIDTHS) -> list[np.ndarray]:
    """The result of the one kernel that an op becomes, for each width."""
    parameters = [nv.Parameter(nv.types.dtype.as_dtype(array.dtype), array.shape) for array in arrays]
    op = build(*parameters)
    step, = make_plan(standard(Function([op], parameters))).steps
    kernel, result = step.lowered.kernel, op.outputs[0].type
    sources = [buffer.name for buffer in kernel.buffers if buffer.role == "in"]
    target, = [buffer.name for buffer in kernel.buffers if buffer.role == "out"]
    found = []
    for width in widths:
        memory = {name: array.reshape(-1).copy() for name, array in zip(sources, arrays, strict=True)}
        memory[target] = np.zeros(int(np.prod(result.shape)), result.dtype.numpy)
        run(kernel, memory, {}, width)
        found.append(memory[target])
    return found


def assert_same_but_for_nan(results: Sequence[np.ndarray], about: object) -> None:
    first, *others = results
    bits, is_nan = words(first), _nan_parts(first)
    for other in others:
        assert (_nan_parts(other) == is_nan).all(), about
        assert (words(other) == bits)[~is_nan].all(), about


def _nan_parts(array: np.ndarray) -> np.ndarray:
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
    with np.errstate(all="ignore"):
        return np.isnan(parts.astype(np.float64))


def with_other_signs(array: np.ndarray) -> np.ndarray:
    """The same numbers, with the signs of all NaN flipped."""
    bits = words(array).copy()
    bits[_nan_parts(array)] ^= bits.dtype.type(1 << (8 * bits.itemsize - 1))
    return bits.view(array.dtype)


@pytest.mark.parametrize("op", [*ONE, *TWO], ids=lambda op: op.__name__)
def test_nan_through_functions(op: Any) -> None:
    """O14: for each width; the signs of NaN decide nothing."""
    arrays = grid(nv.float32, op.arity)
    flipped = on_widths(op, [with_other_signs(array) for array in arrays], WIDTHS[-1:])
    assert_same_but_for_nan([*on_widths(op, arrays), *flipped], op)


@pytest.mark.parametrize("dtype", [nv.float64, nv.float16, nv.bfloat16, nv.complex64, nv.complex128], ids=str)
def test_nan_of_other_types(dtype: DType) -> None:
    """O14: in every float type."""
    for op in COMPLEX if dtype.is_complex else [ops.Softplus, ops.Maximum, ops.Multiply]:
        arrays = grid(dtype, op.arity)
        flipped = on_widths(op, [with_other_signs(array) for array in arrays], (32,))
        assert_same_but_for_nan([*on_widths(op, arrays, (4, 32, 64)), *flipped], op)


REDUCTIONS = {
    "sum": lambda x: ops.Sum(x, [1]), "max": lambda x: ops.Max(x, [1]), "min of columns": lambda x: ops.Min(x, [0]),
    "product": lambda x: ops.Prod(x, [1]), "softmax": lambda x: ops.Softmax(x, [1]),
    "logsumexp": lambda x: ops.LogSumExp(x, [1]), "argmax": lambda x: ops.ArgMax(x, [1]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_through_reductions(name: str) -> None:
    """O14: a NaN among many elements, anywhere, makes its result NaN, and no other."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((40, 75)).astype(np.float32)
    for row, column in zip(range(0, 40, 2), rng.integers(0, 75, 20)):
        x[row, column] = np.float32(np.nan) * (1 if row % 4 else -1)
    x[4, :2], x[8, 3:5] = (np.nan, -np.nan), (np.inf, -np.inf)
    results = on_widths(REDUCTIONS[name], [x])
    if name == "argmax":
        assert all((result == np.argmax(x, axis=1)).all() for result in results)
        return
    assert_same_but_for_nan(results, name)
    is_nan = np.isnan(results[0].reshape(40, -1) if name != "min of columns" else results[0])
    if name in ("sum", "max", "softmax"):
        assert (is_nan.any(axis=1) == np.isnan(x).any(axis=1)).all()


MOVES = {
    "reverse": lambda x: ops.Reverse(x, [0]), "transpose": lambda x: ops.Permute(x, (1, 0)),
    "slice": lambda x: ops.Slice(x, [(1, 4, 2), (0, 30, 1)]), "pad": lambda x: ops.Pad(x, ((1, 0), (0, 2))),
    "concatenate": lambda x: ops.Concatenate(x, x, axis=1), "broadcast": lambda x: ops.Broadcast(x, (3, 8, 35), (0,)),
    "where": lambda x: ops.Where(ops.Constant(np.arange(8 * 35).reshape(8, 35) % 3 == 0), x, ops.Reverse(x, [1])),
    "gather": lambda x: ops.Gather(x, ops.Constant(np.array([3, 0, -1, 7, 7])), 0),
    "scatter": lambda x: ops.Scatter(x, ops.Constant(np.array([3, 0])), ops.Slice(x, [(5, 2, 1), (0, 35, 1)]), 0),
}


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.float16, nv.bfloat16, nv.complex64], ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_moves_keep_the_bits_of_nan(name: str, dtype: DType) -> None:
    """O14, O38: on both transformers, signalling NaN included: numbers go where their places, as integers, go."""
    x = np.resize(specials(dtype), (8, 35))
    places = np.arange(1, x.size + 1).reshape(x.shape)  # 0 is what padding adds
    for transformer in ("interpreter", "cpu"):
        made = nv.transformers.make_transformer(transformer)
        parameters = [nv.Parameter(entry, x.shape) for entry in (dtype, nv.int64)]
        moved, origins = made.compile(Function([MOVES[name](entry) for entry in parameters], parameters))([x, places])
        assert moved.tobytes() == np.append(np.zeros(1, x.dtype), x)[origins].tobytes(), transformer
