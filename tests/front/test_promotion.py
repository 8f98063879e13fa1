"""Element types: what a mixture has, what constants have, what an argument is converted to."""

from __future__ import annotations

import inspect

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

INTEGERS = [nv.int8, nv.int16, nv.int32, nv.int64, nv.uint8, nv.uint16, nv.uint32, nv.uint64]
FLOATS = [nv.float16, nv.bfloat16, nv.float32, nv.float64]


def of(dtype, shape=(2,)):
    return nv.placeholder(shape, dtype)


@pytest.mark.parametrize("make", [
    lambda **k: nv.constant([1, 2], **k), lambda **k: nv.placeholder((2,), **k), lambda **k: nv.variable((2,), **k),
    lambda **k: nv.persistent_tensor((2,), **k), lambda **k: nv.temporary((2,), **k), lambda **k: nv.zeros((2,), **k),
    lambda **k: nv.tensor([1.5], **k), lambda **k: nv.ones((2,), **k), lambda **k: nv.full((2,), 3, **k),
    lambda **k: nv.uniform((2,), **k), lambda **k: nv.normal((2,), **k), lambda **k: nv.eye(2, **k)])
def test_default_float(make):
    """A80: float32, and dtype= for another, in any spelling."""
    assert make().dtype is nv.float32
    assert make(dtype=nv.float64).dtype is make(dtype="float64").dtype is make(dtype=np.float64).dtype is nv.float64


BYTES = nv.zeros((2, 2), nv.int8)
SPELLED = {
    "arange": lambda d: nv.arange(3, dtype=d), "bernoulli": lambda d: nv.bernoulli((2,), 0.5, d),
    "bitcast": lambda d: nv.bitcast(nv.zeros((2,), nv.int16), d), "constant": lambda d: nv.constant(1, dtype=d),
    **{name: lambda d, name=name: getattr(nv, name)(3, dtype=d)
       for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")},
    "convert": lambda d: nv.convert(nv.zeros((2,)), d), "dot": lambda d: nv.dot(BYTES[0], BYTES[0], dtype=d),
    "dequantise_linear": lambda d: nv.dequantise_linear(BYTES[0], 0.5, dtype=d),
    "matmul": lambda d: nv.matmul(BYTES, BYTES, dtype=d), "outer": lambda d: nv.outer(BYTES[0], BYTES[0], dtype=d),
    "einsum": lambda d: nv.einsum("ij,jk", BYTES, BYTES, dtype=d), "eye": lambda d: nv.eye(2, dtype=d),
    "full": lambda d: nv.full((2,), 1, d), "full_like": lambda d: nv.full_like(nv.zeros((2,)), 1, d),
    "iota": lambda d: nv.iota(3, d), "normal": lambda d: nv.normal((2,), dtype=d),
    "one_hot": lambda d: nv.one_hot(nv.arange(2), 3, d), "ones": lambda d: nv.ones((2,), d),
    "ones_like": lambda d: nv.ones_like(nv.arange(2), d), "persistent_tensor": lambda d: nv.persistent_tensor((), 1, d),
    "make_tensor": lambda d: nv.make_tensor((2,), dtype=d), "make_input": lambda d: nv.make_input((2,), "x", d),
    "rand": lambda d: nv.rand(2, dtype=d), "randn": lambda d: nv.randn(2, dtype=d),
    "placeholder": lambda d: nv.placeholder((), d), "temporary": lambda d: nv.temporary((), d),
    "tensor": lambda d: nv.tensor([1], dtype=d), "uniform": lambda d: nv.uniform((2,), dtype=d),
    "variable": lambda d: nv.variable((), 1, d), "AssignableTensorOp": lambda d: nv.AssignableTensorOp((), 1, d,
                                                                                                       trainable=True),
    "zeros": lambda d: nv.zeros((2,), d), "identity": lambda d: nv.identity(2, d), "tri": lambda d: nv.tri(2, dtype=d),
    "indices": lambda d: nv.indices((2,), d), "fromfunction": lambda d: nv.fromfunction(lambda i: i, (2,), d),
    "linspace": lambda d: nv.linspace(0, 1, dtype=d), "logspace": lambda d: nv.logspace(0, 1, dtype=d),
    "geomspace": lambda d: nv.geomspace(1, 2, dtype=d), "fftfreq": lambda d: nv.fft.fftfreq(2, dtype=d),
    "rfftfreq": lambda d: nv.fft.rfftfreq(2, dtype=d),
    "zeros_like": lambda d: nv.zeros_like(nv.arange(2), d), "Parameter": lambda d: nv.Parameter(d, (2,)).value,
    "astype": lambda d: nv.zeros((2,)).astype(d), "sum": lambda d: nv.zeros((2,)).sum(dtype=d),
    "BasicTensorDescription": lambda d: nv.BasicTensorDescription(d, (2,)),
    "TensorDescription": lambda d: nv.TensorDescription(d, nv.make_axes(2))}


@pytest.mark.parametrize("name", SPELLED)
@pytest.mark.parametrize("spelling", [
    "float16", "f16", np.float16, np.dtype("float16"), np.dtype(">f2"), "bfloat16", ml_dtypes.bfloat16,
    np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_every_spelling_of_an_element_type(name, spelling):
    """P7: wherever one is asked for."""
    expected = nv.bfloat16 if "bfloat16" in str(spelling) else nv.float16
    assert getattr(SPELLED[name](spelling), "type", SPELLED[name](spelling)).dtype is expected


def test_every_function_with_an_element_type_is_in_the_table():
    def asks(thing):
        is_error = isinstance(thing, type) and issubclass(thing, Exception)
        return callable(thing) and not is_error and "dtype" in inspect.signature(thing).parameters
    assert {name for name in dir(nv) if asks(getattr(nv, name))} - set(SPELLED) == {"quantise_linear"}  # to integers


@pytest.mark.parametrize(("value", "dtype"), [
    (1, nv.float32), (1.5, nv.float32), ([1, 2], nv.float32), ([[1.5], [2]], nv.float32), (np.zeros(3), nv.float64),
    ([np.zeros(3)], nv.float64), ([np.float64(2)], nv.float32), (np.complex128(2), nv.complex64),
    ([np.float32(2)], nv.float32),
    (np.float64(2), nv.float32), (True, nv.bool_), ([True, False], nv.bool_), (1j, nv.complex64),
    (np.arange(3), nv.int64), (np.int8(3), nv.int8), (np.zeros(3, np.float16), nv.float16),
    (np.zeros(2, bool), nv.bool_),
    (np.zeros(2, np.uint16), nv.uint16), (np.zeros(2, ml_dtypes.bfloat16), nv.bfloat16),
    (np.zeros(2, np.complex128), nv.complex128)])
def test_types_of_values(value, dtype):
    """A81: Python's numbers become float32, arrays keep their type, in constants and initial values."""
    assert nv.constant(value).dtype is dtype
    assert nv.variable(np.shape(value), value).dtype is dtype
    wide = nv.complex128 if dtype.is_complex else nv.float64
    assert nv.constant(value, dtype=wide).dtype is wide


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_scalars_are_weak(dtype):
    """A82: Python's and NumPy's scalars take the tensor's type."""
    x = of(dtype)
    for scalar in (1, True, np.int64(1), np.uint8(1), np.bool_(True)):
        assert (x + scalar).dtype is (scalar + x).dtype is dtype
    if dtype.is_float:
        for scalar in (0.5, np.float64(0.5), np.float16(0.5)):
            assert (x * scalar).dtype is (scalar * x).dtype is dtype


TRUE = np.array([True, False, True])
BESIDE = {  # functions of several operands, of which the second one may be a number
    **{name: getattr(nv, name) for name in (
        "append", "array_equal", "complex", "copysign", "divide", "fmax", "fmin", "fmod", "gcd", "heaviside", "hypot",
        "intersect1d", "lcm", "less", "logaddexp", "logaddexp2", "maximum", "nextafter", "outer", "polar", "polyadd",
        "polydiv", "polymul", "polysub", "polyval", "power", "rel_entr", "searchsorted", "setdiff1d", "setxor1d",
        "squared_difference", "union1d", "xlog1py", "xlogy")},
    **{name: getattr(nv.special, name) for name in ("boxcox", "comb", "kl_div")},
    "array_equal of an element": lambda x, s: nv.array_equal(x[0], s),
    "choose": lambda x, s: nv.choose([1, 0, 1], [x, s]),
    "clip": lambda x, s: nv.clip(x, s),
    "convolve": lambda x, s: nv.convolve(x, s),
    "correlate": lambda x, s: nv.correlate(x, s),
    "digitize": lambda x, s: nv.digitize(s, x),
    "hstack": lambda x, s: nv.hstack([x, s]),
    "interp": lambda x, s: nv.interp(s, x, x),
    "interp to the left": lambda x, s: nv.interp(x, x + 1, x, left=s),
    "isclose": lambda x, s: nv.isclose(x, s, 0, 0),
    "piecewise": lambda x, s: nv.piecewise(x, [TRUE], [s]),
    "polyint": lambda x, s: nv.polyint(x, 1, s),
    "quantise_linear": lambda x, s: nv.quantise_linear(x, s),
    "select": lambda x, s: nv.select([TRUE], [s], x),
    "select by default": lambda x, s: nv.select([TRUE], [x], s),
    "sph_harm_y": lambda x, s: nv.special.sph_harm_y(2, 1, x, s),
    "stack": lambda x, s: nv.stack([x[0], s]),
    "where": lambda x, s: nv.where(TRUE, x, s)}
ROWS = {nv.int64: ([2**24 + 1, 2**24 + 3, 2**53 + 1], 2**24 + 1), nv.float64: ([0.1, 0.7, 2.5], 0.1),
        nv.float16: ([0.1, 0.7, 2.5], 0.1), nv.bfloat16: ([0.1, 0.7, 2.5], 0.1)}
NO_FLOATS, NO_INTEGERS = {"gcd", "lcm"}, {"power"}
NO_OTHER_ORDER = {"boxcox", "clip", "digitize", "interp", "piecewise", "polydiv", "polyint", "quantise_linear",
                  "searchsorted", "stack"}


INTERPRETER = nv.transformers.make_transformer("interpreter")


def parts_of(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", ROWS, ids=str)
@pytest.mark.parametrize("name", BESIDE)
def test_a_scalar_is_a_tensor_of_the_others_type(name, dtype):
    """A82: with all digits that the type has, on either side."""
    if name in (NO_INTEGERS if dtype.is_integer else NO_FLOATS):
        return
    row, number = ROWS[dtype]
    function, x, tensor = BESIDE[name], nv.constant(row, dtype=dtype), nv.constant(number, dtype=dtype)
    calls = [function, lambda a, b: function(b, a)]
    calls = calls[:1] if name in NO_OTHER_ORDER or " " in name else calls
    found, expected = [[part for call in calls for part in parts_of(call(x, entry))] for entry in (number, tensor)]
    assert [entry.dtype for entry in found] == [entry.dtype for entry in expected]
    values = INTERPRETER.computation([*found, *expected])()
    for got, right in zip(values[:len(found)], values[len(found):], strict=True):
        assert got.shape == right.shape and got.tobytes() == right.tobytes(), (got, right)


@pytest.mark.parametrize("name", ["append", "fmin", "gcd", "hstack", "polymul", "searchsorted", "select"])
def test_an_argument_of_a_traced_function_beside_a_tensor(name):
    """A262: a number among the arguments is as weak as outside."""
    row, number = ROWS[nv.int64]
    expected = BESIDE[name](nv.constant(row, dtype=nv.int64), number).numpy()
    found = nv.jit(BESIDE[name])(np.array(row), number)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_no_digit_of_a_scalar_is_lost(transformer):
    """A82: the values are those of whole numbers, and of Python's floats."""
    big = nv.constant(np.array([2**40 + 12345]))
    rows = [
        (nv.fmod(big, 16777217), [16724026]),
        (nv.gcd(nv.constant(np.array([3 * (2**24 + 1)])), 2**24 + 1), [2**24 + 1]),
        (nv.searchsorted(nv.constant(np.array([0.1, 0.2])), 0.1), 0),
        (nv.fmin(nv.constant(np.array([2**53 + 1])), 2**60), [2**53 + 1]),
        (nv.fmod(nv.constant(np.array([0.5])), 0.1), [np.fmod(0.5, 0.1)]),
        (nv.select([True], [2**24 + 1], nv.constant(np.array(1))), 2**24 + 1),
        (nv.array_equal(nv.constant(np.array(2**24 + 1)), 2**24), False)]
    with nv.transformers.make_transformer(transformer) as own:
        found = own.computation([result for result, _ in rows])()
    for value, (result, expected) in zip(found, rows, strict=True):
        assert value.dtype == result.dtype.numpy and value.tolist() == expected


@pytest.mark.parametrize("name", ["copysign", "fmax", "fmod", "hstack", "interp", "logaddexp", "polymul", "rel_entr",
                                  "select by default", "xlogy"])
def test_derivatives_and_symbols_beside_a_scalar(name):
    """A82: derivatives are those beside a tensor, and symbolic lengths change nothing."""
    length = 3 if "select" in name else nv.dim("n", min=1)
    x = nv.placeholder((length,), nv.float64)
    row, number = ROWS[nv.float64]
    results = []
    for beside in (number, nv.constant(number, dtype=nv.float64)):
        y = BESIDE[name](x, beside)
        results.append(nv.computation([y, nv.deriv(nv.sum(y), x)], x)(np.array(row)))
    for found, expected in zip(*results, strict=True):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


def test_scalars_of_a_higher_kind():
    """A83: the default type of the scalar's kind."""
    assert (of(nv.int32) + 0.5).dtype is nv.float32
    assert (of(nv.uint8) * np.float64(2)).dtype is nv.float32
    assert (of(nv.bool_) + 1).dtype is nv.int32
    assert (of(nv.float32) * 1j).dtype is nv.complex64
    assert (of(nv.float64) * 1j).dtype is nv.complex128
    assert (of(nv.int64) + 1j).dtype is nv.complex64
    assert (nv.constant(np.int32([3])) + 0.5).tolist() == [3.5]


PROMOTED = [
    (nv.bool_, nv.int8, nv.int8), (nv.bool_, nv.float16, nv.float16), (nv.uint64, nv.complex64, nv.complex64),
    (nv.int8, nv.int32, nv.int32), (nv.uint8, nv.uint16, nv.uint16), (nv.float16, nv.float64, nv.float64),
    (nv.bfloat16, nv.float32, nv.float32), (nv.int64, nv.float16, nv.float16), (nv.uint32, nv.bfloat16, nv.bfloat16),
    (nv.float32, nv.complex64, nv.complex64), (nv.float64, nv.complex64, nv.complex128),
    (nv.complex64, nv.complex128, nv.complex128), (nv.float16, nv.bfloat16, nv.float32),
    (nv.int8, nv.uint8, nv.int16), (nv.int8, nv.uint16, nv.int32), (nv.int16, nv.uint8, nv.int16),
    (nv.int32, nv.uint32, nv.int64), (nv.int64, nv.uint32, nv.int64), (nv.int16, nv.uint32, nv.int64)]


@pytest.mark.parametrize(("left", "right", "result"), PROMOTED)
def test_mixtures(left, right, result):
    """A84, A85, A86, A87, A88: by kind, then by width; neither half type holds the other; signs need room."""
    assert (of(left) * of(right)).dtype is (of(right) * of(left)).dtype is result


@pytest.mark.parametrize("signed", INTEGERS[:4])
def test_no_type_holds_uint64_and_signs(signed):
    """A88: a TypeError that says what to convert."""
    for pair in ((signed, nv.uint64), (nv.uint64, signed)):
        with pytest.raises(WrongKind, match="no common type") as caught:
            of(pair[0]) + of(pair[1])
        assert "uint64" in caught.value.got and "astype" in caught.value.help


@pytest.mark.parametrize("dtype", [nv.float8_e4m3fn, nv.float8_e5m2, nv.int4, nv.uint4])
@pytest.mark.parametrize("other", [nv.float32, nv.int32, nv.bool_, nv.float8_e4m3, nv.bfloat16])
def test_narrow_types_never_promote(dtype, other):
    """A89: a TypeError that says to convert first."""
    with pytest.raises(WrongKind, match="no common type") as caught:
        of(dtype) + of(other)
    assert dtype.name in caught.value.got and "convert one first" in caught.value.help


def test_narrow_types_alone():
    """A89: float8 with its own kind computes, 4-bit types are stored and moved alone; converting goes everywhere."""
    small = nv.constant(np.array([3, -2]).astype(ml_dtypes.int4))
    for use in (lambda: small + small, lambda: small * 2, lambda: -small, lambda: nv.equal(small, small)):
        with pytest.raises(TypeError, match="int4") as caught:
            use()
        assert "convert it first" in caught.value.help
    assert nv.where([True, False], small, small[::-1]).tolist() == [3, 3]
    x = nv.constant(np.array([1.0, 2.0]).astype(ml_dtypes.float8_e4m3fn))
    assert (x + x).dtype is nv.float8_e4m3fn and (x + x).astype(nv.float32).tolist() == [2.0, 4.0]
    assert nv.constant([3.0, -2.0]).astype(nv.int4).astype(nv.int32).tolist() == [3, -2]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division(dtype):
    """A90: / of integers is float32, // and % keep the type; all follow Python's signs."""
    a, b = np.array([7, 7, 1, 0]), np.array([2, 3, 5, 7])
    if dtype.kind == "int":
        a, b = np.concatenate([a, -a, a]), np.concatenate([b, b, -b])
    x, y = nv.constant(a.astype(dtype.numpy)), nv.constant(b.astype(dtype.numpy))
    assert (x / y).dtype is nv.float32 and (x // y).dtype is (x % y).dtype is dtype
    assert (x // y).tolist() == [int(p) // int(q) for p, q in zip(a, b)]
    assert (x % y).tolist() == [int(p) % int(q) for p, q in zip(a, b)]
    np.testing.assert_allclose((x / y).numpy(), a / b, rtol=1e-6)


def test_comparisons_are_bool():
    """A91: for every element type."""
    for dtype in [*INTEGERS, *FLOATS]:
        x = of(dtype)
        for result in (x < 1, x <= x, x > 0, x >= x, nv.equal(x, 1), nv.not_equal(x, x)):
            assert result.dtype is nv.bool_
    assert (nv.constant([1, 2, 3]) < 2).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", [nv.bool_, *INTEGERS])
def test_reductions_of_integers(dtype):
    """A92, A93, A94: mean and spread are float32; sums have at least 32 bits; positions and counts are int64."""
    x = nv.constant(np.array([1, 0, 1, 1]).astype(dtype.numpy))
    for result in (x.mean(), nv.variance(x), nv.std(x)):
        assert result.dtype is nv.float32
    wide = {"bool": nv.int32, "int": nv.int32, "uint": nv.uint32}[dtype.kind] if dtype.bits < 32 else dtype
    assert x.sum().dtype is x.prod().dtype is wide
    assert x.sum().item() == 3 and x.mean().item() == 0.75
    assert nv.count_nonzero(x).dtype is nv.int64 and nv.count_nonzero(x).item() == 3
    if dtype is not nv.bool_:
        assert x.argmax().dtype is x.argmin().dtype is nv.int64


def test_sums_of_small_integers_do_not_wrap():
    """A93: 200 times 100 fits the result's type."""
    assert nv.constant(np.full(200, 100, np.uint8)).sum().item() == 20_000
    assert nv.constant(np.full(200, -100, np.int8)).sum().item() == -20_000


@pytest.mark.parametrize("dtype", [nv.float16, nv.bfloat16, nv.float8_e4m3fn])
def test_low_precision_rounds_once(dtype):
    """A95: computed in float32, rounded at the end of each op; sums too."""
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(0.5, 1.5, 300).astype(dtype.numpy) for _ in range(2))
    x, y = nv.constant(a), nv.constant(b)
    for got, expected in ((x * y, a.astype(np.float32) * b.astype(np.float32)),
                          (x - y, a.astype(np.float32) - b.astype(np.float32))):
        assert got.dtype is dtype
        np.testing.assert_array_equal(got.numpy(), expected.astype(dtype.numpy))
    ones = np.ones(300, dtype.numpy)
    assert float(nv.constant(ones).sum()) == float(np.float32(300).astype(dtype.numpy))
    np.testing.assert_array_equal(nv.dot(x, y).numpy(),
                                  np.dot(a.astype(np.float64), b.astype(np.float64)).astype(dtype.numpy))


def test_arguments_are_converted():
    """A96: what NumPy calls same_kind is converted; anything else is a TypeError that names the argument."""
    x = nv.placeholder((2,)).named("x")
    f = nv.computation(x + 0, x)
    for array in (np.array([1.0, 2.0]), np.array([1, 2]), np.array([True, False]), np.float16([1, 2])):
        assert f(array).dtype == np.float32
    for bad in (np.array([1j, 2]), np.array(["a", "b"])):
        with pytest.raises(TypeError, match="x"):
            f(bad)
    k = nv.placeholder((2,), nv.int8).named("k")
    g = nv.computation(k + 0, k)
    assert g(np.array([1, -128])).tolist() == [1, -128]
    with pytest.raises(TypeError, match="k"):
        g(np.array([1.0, 2.0]))


def test_narrowed_integers_are_checked():
    """A97: a ValueError that names the first value that does not fit."""
    k = nv.placeholder((3,), nv.int8).named("k")
    f = nv.computation(k + 0, k)
    with pytest.raises(ValueError, match="200") as caught:
        f(np.array([1, 200, 300]))
    assert "k" in str(caught.value)
    unsigned = nv.placeholder((1,), nv.uint32)
    with pytest.raises((ValueError, TypeError)):
        nv.computation(unsigned + 0, unsigned)(np.array([-1]))


def test_arrays_join_the_graph():
    """A98: on either side of an operator, and through NumPy's functions."""
    x, a = nv.constant([1.0, 2.0], dtype=nv.float64), np.array([10.0, 20.0])
    for result, expected in ((a + x, [11, 22]), (x + a, [11, 22]), (a - x, [9, 18]), (np.float64(3) * x, [3, 6]),
                             (x / np.float32(2), [0.5, 1]), (a ** x, [10, 400]), (np.add(a, x), [11, 22]),
                             (np.maximum(x, a), [10, 20]), (np.exp(x * 0), [1, 1]), (a @ x, 50.0), (x @ a, 50.0)):
        assert isinstance(result, nv.Tensor) and result.tolist() == expected
    comparison = a > x
    assert isinstance(comparison, nv.Tensor) and comparison.tolist() == [True, True]
    assert (np.array([1, 2]) + nv.constant(np.int8([1, 2]))).dtype is nv.int64
    with pytest.raises(WrongKind, match="does not know tensors"):
        np.add.reduce(x)
    with pytest.raises(TypeError):
        np.add(x, a, out=a)


TENTHS = np.array([0.1, 0.7])


@pytest.mark.parametrize(("function", "expected"), [
    (lambda x, a: x + a, TENTHS), (lambda x, a: a - x, TENTHS), (nv.maximum, TENTHS),
    (lambda x, a: nv.exp(a), np.exp(TENTHS)),
    (lambda x, a: nv.where(a > 0, a, x), TENTHS), (lambda x, a: nv.clip(x, a, a), TENTHS),
    (lambda x, a: nv.dot(x + 1, a), TENTHS.sum()), (lambda x, a: nv.einsum("i,i->i", x + 1, a), TENTHS),
    (lambda x, a: nv.stack([x, a])[1], TENTHS), (lambda x, a: nv.concatenate([x, a])[2:], TENTHS),
    (lambda x, a: x.at[:].set(a), TENTHS), (lambda x, a: nv.outer(x + 1, a)[0], TENTHS),
    (lambda x, a: nv.layer_norm(x, shift=a), TENTHS), (lambda x, a: nv.convert(a, nv.float64), TENTHS),
    (lambda x, a: nv.sum(a), TENTHS.sum()), (lambda x, a: nv.gather(a, [0, 1], 0), TENTHS),
    (lambda x, a: nv.reshape(a, (2, 1))[:, 0], TENTHS), (lambda x, a: nv.scatter(x, [0, 1], a, 0), TENTHS),
    (lambda x, a: nv.evaluate(nv.sequential([nv.assign(w := nv.variable((2,), dtype=nv.float64), a), w + 0])), TENTHS),
    ], ids=range(19))
def test_float64_arrays_stay_what_they_are(function, expected):
    """A259: no digit is lost on the way into the graph."""
    result = function(nv.constant([0.0, 0.0], dtype=nv.float64), TENTHS)
    assert np.asarray(result).dtype == np.float64
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-15)


@pytest.mark.parametrize("wrong", ["a", None, [1.0, 2.0], {1: 2}, object, b"a"], ids=repr)
def test_what_is_no_operand(wrong):
    """A98: what NumPy does not read, and lists, are a TypeError of ours that says what would do."""
    x = of(nv.int32)
    for call in (lambda: x + wrong, lambda: wrong * x, lambda: x < wrong, lambda: nv.maximum(x, wrong)):
        with pytest.raises(WrongKind, match="this cannot be an operand") as caught:
            call()
        assert caught.value.location.file == __file__


def test_other_classes_may_know_tensors():
    """A98: an operator asks the class on the other side."""
    class Known:
        def __radd__(self, other):
            return "known"
    assert of(nv.int32) + Known() == "known"
    with pytest.raises(TypeError):
        of(nv.int32) - Known()


def test_numbers_that_do_not_fit():
    """A99: an integer that the type cannot hold is a ValueError, in constants and in expressions."""
    with pytest.raises(InvalidArgument, match="does not fit"):
        nv.constant([1, 300], dtype=nv.uint8)
    with pytest.raises(InvalidArgument, match="300"):
        of(nv.uint8) + 300
    with pytest.raises(WrongKind):
        nv.constant(["a"])
    with pytest.raises(InvalidArgument):
        nv.constant([[1, 2], [3]])
