"""Element types: one object per type, found by any of its names."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from nervure.errors import InternalError, WrongKind
from nervure.types import dtype as module
from nervure.types.dtype import DType, all_dtypes, as_dtype


def ids(dtypes):
    return [dtype.name for dtype in dtypes]


def test_the_table_is_complete():
    assert ids(all_dtypes) == [
        "bool", "int2", "int4", "int8", "int16", "int32", "int64", "uint2", "uint4", "uint8", "uint16", "uint32",
        "uint64", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
        "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "bfloat16", "float32",
        "float64", "complex64",
        "complex128"]
    ours = {name for name in dir(ml_dtypes) if name.startswith(("float8", "float4"))}
    assert ours <= set(ids(all_dtypes))


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_every_spelling_is_one_object(dtype):
    spellings = [dtype, dtype.name, dtype.short, dtype.numpy, dtype.numpy.type]
    assert all(as_dtype(spelling) is dtype for spelling in spellings)
    assert copy.copy(dtype) is dtype and copy.deepcopy(dtype) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    own = "bool_" if dtype.name == "bool" else dtype.name
    assert repr(dtype) == f"nervure.{own}" and str(dtype) == dtype.name and getattr(module, own) is dtype
    assert dtype.itemsize == np.zeros(3, dtype.numpy).nbytes // 3


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_limits_are_the_largest_finite_values(dtype):
    if dtype.is_complex:
        assert dtype.minimum is None and dtype.maximum is None
        return
    assert isinstance(dtype.minimum, (bool, int, float))
    ends = np.array([dtype.minimum, dtype.maximum], dtype.numpy)
    assert ends[0] == dtype.minimum and ends[1] == dtype.maximum
    if dtype.is_float:
        assert np.isfinite(ends.astype(np.float64)).all()
        everything = np.arange(256, dtype=np.uint8).view(dtype.numpy) if dtype.bits == 8 else ends
        finite = everything.astype(np.float64)
        finite = finite[np.isfinite(finite)]
        assert (finite.min(), finite.max()) == (dtype.minimum, dtype.maximum)


def test_kinds_and_properties():
    signed = [d.name for d in all_dtypes if not d.is_signed]
    assert signed == ["bool", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "float8_e8m0fnu"]
    low = [d for d in all_dtypes if d.is_low_precision]
    assert {d.compute for d in low} == {module.float32}
    assert {"float16", "bfloat16"} < {d.name for d in low} and all(d.kind == "float" for d in low)
    assert all(d.compute is d for d in all_dtypes if d not in low)
    assert {d.name for d in all_dtypes if d.storage_only} == (
        {"int2", "int4", "uint2", "uint4", "float4_e2m1fn"} |
        {d.name for d in all_dtypes if d.name.startswith("float8")})
    assert not module.bool_.is_integer and module.uint4.is_integer and module.int4.itemsize == 1
    assert (module.int4.minimum, module.int4.maximum, module.int4.bits) == (-8, 7, 4)


@pytest.mark.parametrize("spelling, expected", [
    (bool, "bool"), (int, "int32"), (float, "float32"), (complex, "complex64"), (np.longlong, "int64"),
    (np.dtype(">f4"), "float32"), (np.dtype("<i2"), "int16"), (np.dtype("q"), "int64"), ("i8", "int8"),
    ("u8", "uint8"), ("bf16", "bfloat16"), (ml_dtypes.bfloat16, "bfloat16"),
    (np.dtype(ml_dtypes.int4), "int4"), (np.dtype(ml_dtypes.bfloat16).newbyteorder(">"), "bfloat16")])
def test_other_spellings(spelling, expected):
    assert as_dtype(spelling).name == expected


@pytest.mark.parametrize("wrong", [
    None, 3, object(), str, list, np.floating, np.dtype("O"), np.dtype("U3"), np.dtype("M8[s]"),
    np.dtype([("a", "f4")]), np.float32(1), np.ones(2), "double", "float", ""])
def test_what_is_not_an_element_type(wrong):
    with pytest.raises(WrongKind) as caught:
        as_dtype(wrong)
    assert caught.value.help and caught.value.expected and caught.value.location.file == __file__


def test_close_names_are_suggested():
    with pytest.raises(WrongKind) as caught:
        as_dtype("flaot32")
    assert "float32" in caught.value.help and caught.value.help.startswith("did you mean")


def test_types_cannot_be_changed_or_doubled():
    with pytest.raises(AttributeError):
        module.float32.name = "other"
    with pytest.raises(AttributeError):
        del module.float32.name
    with pytest.raises(InternalError):
        DType("float32", "f32", "float", 32, np.float32)
    assert as_dtype("float32").name == "float32"


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_numpy_takes_it_for_a_dtype(dtype):
    """P5: also as an argument of its functions."""
    assert np.dtype(dtype) is dtype.numpy or np.dtype(dtype) == dtype.numpy
    assert np.zeros(2, dtype).dtype == np.zeros(2).astype(dtype).dtype == dtype.numpy
    assert np.result_type(dtype, dtype) == dtype.numpy


def test_jax_takes_it_for_a_dtype():
    """P5, P7: and has scalar types that mean ours."""
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    assert jnp.zeros(2, module.bfloat16).dtype == module.bfloat16
    assert as_dtype(jnp.bfloat16) is as_dtype(jnp.dtype("bfloat16")) is module.bfloat16


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_it_equals_what_means_it(dtype):
    """P6: from either side, and nothing else."""
    for spelling in (dtype.name, dtype.short, dtype.numpy, dtype.numpy.type):
        assert dtype == spelling and spelling == dtype
        assert not dtype != spelling and not spelling != dtype
    for other in all_dtypes:
        if other is not dtype:
            assert dtype != other and dtype != other.numpy and other.numpy != dtype and dtype != other.name


@pytest.mark.parametrize("kind, name", [(bool, "bool"), (int, "int32"), (float, "float32"), (complex, "complex64")])
def test_python_s_types_mean_what_they_mean_as_an_argument(kind, name):
    """P6: float is float32 here, and no other."""
    assert [dtype.name for dtype in all_dtypes if dtype == kind] == [name]


@pytest.mark.parametrize("other", [None, 3, "", "flot32", object(), str, np.floating, np.dtype(">f4"), np.dtype("U3")])
def test_it_equals_nothing_else(other):
    """P6: another byte order is another dtype, to NumPy too."""
    assert module.float32 != other and other != module.float32


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_as_a_key_it_is_its_numpy_dtype(dtype):
    """P6: they are equal and hash alike; a class or a name is another key."""
    assert {dtype: 1}[dtype.numpy] == {dtype.numpy: 1}[dtype] == 1
    assert len({dtype, dtype.numpy}) == 1
    assert dtype not in {entry.name: 1 for entry in all_dtypes}
