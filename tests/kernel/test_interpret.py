"""The interpreter of kernels against NumPy, and the one order of reduction against its formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nervure.errors import InternalError
from nervure.kernel.combiners import FUNCTIONS, unit
from nervure.kernel.interpret import Accumulator, interpret
from nervure.kernel.ir import BLOCK, COMBINERS, LANES, Buffer, Kernel, Prefetch
from nervure.kernel.parser import parse_kernel
from nervure.kernel.verify import verify_kernel
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dim import index
from nervure.types.dtype import bfloat16, bool_, complex64, float32, int8, int64, uint8
from tests.kernel.block import Block, I, J, at, number
from tests.kernel.kernels import kernel_of
from tests.kernel.running import run

RANDOM = np.random.default_rng(3)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_pointwise():
    a, b, c = normal(9), normal(9), normal(9)
    found, failures = run(kernel_of("pointwise"), {"N": 9}, a=a, b=b, c=c)
    assert failures == [] and np.array_equal(found["y"], (a + b) * c)


def test_strided():
    x = normal(4, 6)
    found, _ = run(kernel_of("strided"), {}, x=x)
    assert np.array_equal(found["y"].reshape(6, 4), -x[:, ::-1].T)


@pytest.mark.parametrize("shape", [(0, 3), (3, 1), (2, 70)])
def test_softmax(shape):
    x = normal(*shape)
    found, _ = run(kernel_of("softmax"), dict(zip("RC", shape, strict=True)), x=x)
    power = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found["y"].reshape(shape), power / power.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (70, 5)])
def test_outer_sum(shape):
    x = normal(*shape)
    found, _ = run(kernel_of("outer_sum"), dict(zip("RC", shape, strict=True)), x=x)
    np.testing.assert_allclose(found["y"], x.sum(0), rtol=1e-5, atol=1e-6)


def test_gather_reads_nothing_outside_and_reports_each_failure():
    x = normal(5, 8)
    found, failures = run(kernel_of("gather"), {"N": 4}, x=x, rows=[4, 5, 0, -1])
    assert np.array_equal(found["y"].reshape(4, 8), np.stack([x[4], 0 * x[0], x[0], 0 * x[0]]))
    assert failures == [(3, 5), (3, -1)]


def test_scatter_add():
    x, y, rows = normal(6, 8), normal(5, 8), np.array([1, 7, 1, 4, 0, 1])
    found, _ = run(kernel_of("scatter_add"), {"N": 6}, x=x, y=y, rows=rows)
    np.add.at(y, rows[rows < 5], x[rows < 5])
    assert np.array_equal(found["y"].reshape(5, 8), y)


def test_fold():
    x = np.round(normal(9, 7))
    found, _ = run(kernel_of("argmax"), {"R": 9}, x=x)
    assert np.array_equal(found["y"], x.argmax(1))


def test_padded():
    x = normal(6)
    found, _ = run(kernel_of("padded"), {}, x=x)
    assert np.array_equal(found["y"], np.pad(x, 2))


def test_several_outputs():
    x = normal(3, 5).astype(bfloat16.numpy)
    found, _ = run(kernel_of("several"), {"R": 3, "C": 5}, x=x)
    wide = x.astype(np.float32)
    assert np.array_equal(found["greatest"], wide.max(1))
    assert np.array_equal(found["negative"].reshape(3, 5), wide < 0)
    np.testing.assert_allclose(found["total"].astype(np.float32), wide.sum(1), rtol=2**-7)


def test_in_place():
    w, m, g = normal(5), normal(5), normal(5)
    found, _ = run(kernel_of("in_place"), {"N": 5}, w=w, m=m, g=g)
    np.testing.assert_allclose(found["m"], 0.9 * m + 0.1 * g, rtol=1e-6)
    assert np.array_equal(found["w"], w - found["m"])


# -- reductions ----------------------------------------------------------------------------------------------


def in_one_order(x):
    """The sum as the grammar says it, over arrays."""
    total = np.float32(0)
    for start in range(0, len(x), BLOCK):
        block = np.zeros(-(-len(x[start:start + BLOCK]) // LANES) * LANES, np.float32)
        block[:len(x[start:start + BLOCK])] = x[start:start + BLOCK]
        lanes = np.zeros(LANES, np.float32)
        for row in block.reshape(-1, LANES):
            lanes = lanes + row
        while len(lanes) > 1:
            lanes = lanes[:len(lanes) // 2] + lanes[len(lanes) // 2:]
        total = total + lanes[0]
    return total


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 200, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 70])
def test_sums_have_one_order(length):
    x = normal(length)
    numbers = Accumulator("add", float32, NumPyScalars())
    for value in x:
        numbers.add(value)
    assert numbers.result().tobytes() == in_one_order(x).tobytes()


def test_points_of_several_indices_are_in_row_major_order():
    x, y = Buffer("x", float32, 6 * 50, "in"), Buffer("y", float32, 1, "out")
    top, body = Block(), Block()
    total, = top.reduce(["add"], {I: 6, J: 50}, body, body.load(x, at(i0=50, i1=1)))
    top.store(y, at(), total)
    values = normal(300)
    assert run(Kernel("sum", (x, y), top.body), {}, x=values)[0]["y"][0] == in_one_order(values)


@pytest.mark.parametrize("combine", COMBINERS)
@pytest.mark.parametrize("dtype", [bool_, int8, uint8, float32], ids=str)
def test_units_change_nothing(combine, dtype):
    if dtype.is_float and combine in ("and", "or"):
        return
    function = getattr(NumPyScalars(), FUNCTIONS[combine])
    for value in (dtype.minimum, dtype.maximum, 0, 1):
        element = dtype.numpy.type(value)
        assert function(dtype.numpy.type(unit(combine, dtype).value), element) == element


def test_units_of_complex_numbers():
    assert unit("add", complex64).value == 0 and unit("multiply", complex64).value == 1
    with pytest.raises(InternalError, match="no order"):
        unit("maximum", complex64)


# -- what a kernel may not do ----------------------------------------------------------------------------------


def copying(y, address, x_role="in"):
    x = Buffer("x", float32, 4, x_role)
    top, body = Block(), Block()
    body.store(y, at(i0=1), body.load(x, address))
    top.loop(I, 4, body, parallel=True)
    return Kernel("copying", (x, y), top.body)


def test_a_prefetch_does_nothing_wherever_it_goes():
    kernel = copying(y := Buffer("y", float32, 4, "out"), at(i0=1))
    loop = replace(kernel.body[0], body=(Prefetch(y, at(-9, i0=30)), *kernel.body[0].body))
    x = normal(4)
    found, failures = run(replace(kernel, body=(loop,)), {}, x=x)
    assert failures == [] and np.array_equal(found["y"], x)


@pytest.mark.parametrize("count", [0, 1, 7, 512, 1300])
def test_the_order_of_a_reduction_is_its_own(count):
    """One lane in blocks of 512 points is a chain of sums, each block of which is added to those before."""
    kernel = parse_kernel(f'''
kernel chain(in x: f32[{count}], out y: f32[1]):
  v0 = reduce add over i < {count} order 1, 512:
    v1 = x[i]
    give v1
  y[0] = v0
''')
    verify_kernel(kernel)
    x = normal(count)
    expected = np.float32(0)
    for start in range(0, count, 512):
        total = np.float32(0)
        for entry in x[start:start + 512]:
            total += entry
        expected += total
    found, _ = run(kernel, {}, x=x)
    assert found["y"][0] == expected


@pytest.mark.parametrize("base", [-1, 1])
def test_a_place_outside_is_an_error(base):
    kernel = copying(Buffer("y", float32, 4, "out"), at(base, i0=1))
    with pytest.raises(InternalError, match=r"copying: v0 = x\[i [-+] 1\]: place -?\d is outside of x"):
        run(kernel, {}, x=normal(4))


def test_what_has_not_been_written_in_this_turn_is_not_read():
    for role, how in (("out", "parallel"), ("scratch", "parallel"), ("private", "vector")):
        y = Buffer("y", float32, 4, role)
        top, body = Block(), Block()
        body.store(y, at(i0=1), number(1.0, float32))
        body.load(y, at())
        top.loop(I, 4, body, **{how: True})
        with pytest.raises(InternalError, match="place 0 of y has not been written in this turn"):
            run(Kernel("first", (y,), top.body), {})


def test_a_store_that_combines_reads():
    y, top = Buffer("y", float32, 1, "out"), Block()
    top.store(y, at(), number(1.0, float32), "add")
    with pytest.raises(InternalError, match="has not been written"):
        run(Kernel("total", (y,), top.body), {})


@pytest.mark.parametrize("backwards", [False, True])
def test_a_strip_has_as_many_iterations_as_are_left(backwards):
    kernel = parse_kernel("""
kernel strips(out y: i64[10]):
  for i < 10 by j <= 4 parallel:
    for k < j vector:
      v0 = index 100*i + j
      y[i + k] = v0
""")
    verify_kernel(kernel)
    found, _ = run(kernel, {}, backwards)
    assert found["y"].tolist() == 4 * [4] + 4 * [404] + 2 * [802]


def test_a_fold_has_a_point():
    top, body, combine = Block(), Block(), Block()
    top.fold({I: 0}, body, [number(1, int64)], [], [], combine, [])
    with pytest.raises(InternalError, match="there is no point"):
        run(Kernel("empty", (), top.body), {})


def test_arrays_have_the_size_and_the_type_of_their_buffer():
    x = Buffer("x", float32, 4, "inout")
    for wrong in (normal(5), normal(4).astype(np.float64)):
        with pytest.raises(InternalError, match="the buffer x has 4 elements of float32"):
            interpret(Kernel("none", (x,), ()), {"x": wrong}, {}, NumPyScalars())


def test_turns_run_in_any_order():
    z = Buffer("z", float32, 4, "inout")
    for flags in ({"parallel": True}, {"vector": True}):
        top, body = Block(), Block()
        body.store(z, at(i0=1), body.load(z, at(1, i0=1)))
        top.loop(I, 3, body, **flags)
        shift = Kernel("shift", (z,), top.body)
        assert run(shift, {}, z=[1, 2, 3, 4])[0]["z"].tolist() == [2, 3, 4, 4]
        assert run(shift, {}, backwards=True, z=[1, 2, 3, 4])[0]["z"].tolist() == [4, 4, 4, 4]


def test_indices_are_values():
    y, top, body = Buffer("y", int64, 12, "out"), Block(), Block()
    body.store(y, at(i0=1), body.index(index(0) // 5 * 10 + index(0) % 5))
    top.loop(I, 12, body)
    assert run(Kernel("digits", (y,), top.body), {})[0]["y"].tolist() == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21]
