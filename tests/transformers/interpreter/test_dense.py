"""O13: where the elements of the arguments lie changes no bit of a result."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.function import Function
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dtype import DType, complex64, complex128, float32, float64
from tests.conformance.scalar_ops import arity, scalar_op
from tests.conformance.tolerance import COMPLEX_ROUNDED, ROUNDED

SHAPE = (23, 530)


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same elements, in other places; the first is dense."""
    every_other = np.zeros([2 * length for length in x.shape], x.dtype)[::2, ::2]
    every_other[...] = x
    every_third = np.zeros((x.shape[0], 3 * x.shape[1]), x.dtype)[:, ::-3]
    every_third[...] = x
    return {"dense": x.copy(), "strided": every_other, "strided backwards": every_third,
            "reversed": x[::-1, ::-1].copy()[::-1, ::-1], "rows reversed": x[::-1].copy()[::-1],
            "transposed": x.T.copy().T, "with a gap": np.concatenate([x, x], axis=1)[:, :x.shape[1]]}


def numbers(dtype: DType, seed: int = 0) -> np.ndarray:
    """Numbers from (0.05, 0.95), where most functions are defined; complex ones have them as parts."""
    rng = np.random.default_rng(seed)
    parts = rng.random((2, *SHAPE)) * 0.9 + 0.05
    return (parts[0] + 1j * parts[1] if dtype.is_complex else parts[0]).astype(dtype.numpy)


def assert_same_bits(transformer: str, build: object, *arrays: np.ndarray) -> None:
    parameters = [nv.Parameter(dtype, array.shape) for dtype, array in
                  ((nv.types.dtype.as_dtype(array.dtype), array) for array in arrays)]
    run = nv.transformers.make_transformer(transformer).compile(Function([build(*parameters)], parameters))
    tables = [layouts(array) for array in arrays]
    wanted = np.ascontiguousarray(run([table["dense"] for table in tables])[0]).tobytes()
    for layout in tables[0]:
        got = np.ascontiguousarray(run([table[layout] for table in tables])[0])
        assert got.tobytes() == wanted, (transformer, layout)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", ROUNDED)
def test_functions_of_floats(name: str, dtype: DType) -> None:
    """O13: those that a library rounds, on the interpreter."""
    shift = SCALAR_FUNCTIONS[name].sample[0] == "above one"
    arrays = [numbers(dtype, seed) + shift for seed in range(arity(name))]
    assert_same_bits("interpreter", scalar_op(name), *arrays)


@pytest.mark.parametrize("dtype", [complex64, complex128], ids=str)
@pytest.mark.parametrize("name", COMPLEX_ROUNDED.split())
def test_functions_of_complex_numbers(name: str, dtype: DType) -> None:
    """O13: which take several roundings."""
    for transformer in ("interpreter", "cpu"):
        assert_same_bits(transformer, scalar_op(name), *[numbers(dtype, seed) for seed in range(arity(name))])


SUMS = {
    "sum of columns": lambda x: ops.Sum(x, [0]), "sum of rows": lambda x: ops.Sum(x, [1]),
    "sum": lambda x: ops.Sum(x, [0, 1]), "product": lambda x: ops.Prod(x + x * 0.05, [0, 1]),
    "variance": lambda x: ops.Variance(x, [0]), "softmax": lambda x: ops.Softmax(x, [0]),
    "logsumexp": lambda x: ops.LogSumExp(x, [1]), "exp": ops.Exp,
    "dot": lambda x: ops.Dot(x, x, pairs=[(0, 0), (1, 1)]),
    "matrix": lambda x: ops.Dot(x, x * 0.5, pairs=[(1, 1)]), "columns": lambda x: ops.Dot(x, x * 0.5, pairs=[(0, 0)]),
    "vector": lambda x: ops.MatMul(x, ops.Sum(x, [0])),
}


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str, transformer: str, dtype: DType) -> None:
    """O13: in one order, whatever the strides."""
    assert_same_bits(transformer, SUMS[name], numbers(dtype))


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_host_functions_get_dense_arrays(transformer: str) -> None:
    """O13: NumPy's own functions give the same bits, too."""
    x = nv.Parameter(float64, SHAPE)
    turned = ops.Permute(x, (1, 0))
    seen: list[np.ndarray] = []
    call = ops.HostCall(turned, x, function=lambda *arrays: seen.extend(arrays), types=[])
    run = nv.transformers.make_transformer(transformer).compile(Function([], [x], effects=[call]))
    run([numbers(float64)[:, ::-1]])
    assert [array.flags.c_contiguous and not array.flags.writeable for array in seen] == [True, True]


@pytest.mark.parametrize("dtype", [float64, complex128], ids=str)
def test_broadcast_operands(dtype: DType) -> None:
    """O13: one element with strides of 0 counts as many equal ones."""
    x, y = numbers(dtype), np.broadcast_to(dtype.numpy.type(0.7), SHAPE)
    op = ops.Multiply if dtype.is_complex else ops.Power
    parameters = [nv.Parameter(dtype, SHAPE) for _ in range(2)]
    run = nv.transformers.make_transformer("interpreter").compile(Function([op(*parameters)], parameters))
    assert run([x, y])[0].tobytes() == run([x, y.copy()])[0].tobytes()
