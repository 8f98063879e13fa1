"""Arrays of other libraries as operands, arguments and indices, and tensors as theirs."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.types.dtype import all_dtypes


class Column:
    """Stands for a column of a data frame: an array with operators, whose results are columns.

    Like pandas' Series since 2.1 it leaves operators to what has a higher ``__pandas_priority__``, refuses NumPy's
    functions of what it does not know, and is iterable.
    """

    __array_priority__ = 1000
    __pandas_priority__ = 3000

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype) if copy else np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        known = [entry.values if isinstance(entry, Column) else entry for entry in inputs]
        unknown = [entry for entry in known if not isinstance(entry, (np.ndarray, np.generic))]
        if any(hasattr(entry, "__array_ufunc__") for entry in unknown):
            return NotImplemented
        return Column(getattr(ufunc, method)(*known, **keywords))

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values.tolist())

    def _result(self, other, compute):
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Column(compute(self.values, other))

    def __add__(self, other):
        return self._result(other, operator.add)

    def __radd__(self, other):
        return self._result(other, lambda mine, theirs: theirs + mine)

    def __sub__(self, other):
        return self._result(other, operator.sub)

    def __rsub__(self, other):
        return self._result(other, lambda mine, theirs: theirs - mine)

    def __eq__(self, other):
        return self._result(other, operator.eq)

    __hash__ = None


class OldColumn(Column):
    """As pandas' Series before 2.1, which answers every operator with a column."""

    __pandas_priority__ = 10**9


class Buffer:
    """An array that NumPy alone knows, without any operator."""

    def __init__(self, values):
        self.__array_interface__ = np.asarray(values).__array_interface__
        self._kept = values

    __array_interface__ = None


class Lent:
    """An array that only speaks DLPack."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __dlpack__(self, **keywords):
        return self._values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


KINDS = [Column, Buffer, Lent]
A = np.array([10.0, 20.0])


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_other_libraries_join_the_graph(kind):
    """P8: on either side of an operator, in functions, and through NumPy's functions."""
    x, a = nv.constant([1.0, 2.0], dtype=nv.float64), kind(A)
    for result, expected in ((x + a, [11, 22]), (a + x, [11, 22]), (x - a, [-9, -18]), (a - x, [9, 18]),
                             (nv.multiply(a, x), [10, 40]), (nv.where(x > 1, a, 0), [0, 20]), (nv.dot(a, x), 50),
                             (nv.stack([x, a]), [[1, 2], [10, 20]]), (nv.negative(a), [-10, -20])):
        assert isinstance(result, nv.Tensor) and result.tolist() == expected


def test_numpy_s_functions_of_a_column_and_a_tensor():
    """P8: NumPy asks the column first, which leaves it to the tensor."""
    x = nv.constant([1.0, 2.0])
    for result in (np.add(Column(A), x), np.add(x, Column(A))):
        assert isinstance(result, nv.Tensor) and result.tolist() == [11, 22]


def test_a_column_that_answers_itself_holds_numbers():
    """P8: never tensors as objects."""
    result = OldColumn(A) + nv.constant([1.0, 2.0])
    assert isinstance(result, Column) and result.values.dtype == np.float64 and list(result) == [11, 22]


@pytest.mark.parametrize("kind", [np.asarray, *KINDS])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays_keep_their_element_types(kind, dtype):
    """P9: with every bit of their elements, wherever they enter."""
    values = np.array([0.1, 3.0], dtype)
    assert nv.reverse(kind(values)).dtype == nv.maximum(kind(values), kind(values)).dtype == dtype
    added = nv.constant([0.0, 0.0], dtype=dtype) + kind(values)
    assert added.dtype == dtype and added.numpy().tolist() == values.tolist()
    for made in (nv.constant(kind(values)), nv.variable((2,), kind(values)), nv.tensor(kind(values))):
        assert made.dtype == dtype and made.tolist() == values.tolist()


def test_the_precision_of_an_array_beside_a_narrower_tensor():
    """P9: nothing is rounded on the way."""
    assert (nv.constant([0.0]) + np.array([0.1])).tolist() == [0.1]
    assert nv.where([True], np.array([0.1]), nv.constant([0.0])).tolist() == [0.1]
    assert nv.dot(np.array([0.1]), nv.constant([1.0])).item() == 0.1


NARROW = [kind for kind in all_dtypes if kind.is_float and kind.itemsize <= 2]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,)])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.usefixtures("silent_infinities")
def test_each_nan_keeps_its_bits(dtype, shape, transformer):
    """P9: of one element, too, though Python's numbers do not have them."""
    every = np.arange(256 ** dtype.itemsize, dtype=f"uint{8 * dtype.itemsize}").view(dtype.numpy)
    found = every[every != every]
    for element in (*found[:2], *found[-2:]):
        array = np.full(shape, element)
        for given in (nv.constant(array), nv.variable(shape, array, dtype=dtype), nv.reverse(array)):
            assert transformer.computation(given)().tobytes() == array.tobytes()


class Answers:
    """A class that is an array, and wants to answer operators with tensors itself."""

    __array_ufunc__ = None

    def __array__(self, dtype=None, copy=None):
        return A

    def __add__(self, other):
        return "left"

    def __radd__(self, other):
        return "right"


class PriorArray:
    """A class with a higher priority than a tensor's, as NumPy counts it."""

    __array_priority__ = 2000
    __array__ = Answers.__array__
    __radd__ = Answers.__radd__


@pytest.mark.parametrize("kind", [Answers, PriorArray])
def test_a_class_may_answer_itself(kind):
    """P10: with __array_ufunc__ None, or a higher __array_priority__, as beside NumPy's arrays."""
    assert nv.constant([1.0, 2.0]) + kind() == "right"
    assert nv.add(nv.constant([1.0, 2.0]), kind()).tolist() == [11, 22]


@pytest.mark.parametrize("kind", [np.asarray, Column])
@pytest.mark.parametrize("values", [np.array(["a", "b"]), np.array([None, 1]), np.array([1, 2], "M8[s]")], ids=repr)
def test_elements_that_are_no_numbers_are_refused(kind, values):
    """P11: on either side; no tensor of objects."""
    x = nv.constant([1.0, 2.0])
    for call in (lambda: x + kind(values), lambda: kind(values) + x, lambda: nv.reverse(kind(values))):
        with pytest.raises(WrongKind, match="the elements are not numbers") as caught:
            call()
        assert caught.value.operand in ("1", "2")


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("can't convert; use .detach()")


@pytest.mark.parametrize("use", [lambda a: nv.constant([1.0]) + a, lambda a: a + nv.constant([1.0]), nv.constant,
                                 nv.reverse, nv.jit(nv.reverse)])
def test_an_array_that_cannot_be_read_says_why(use):
    """P11: in the words of its library."""
    with pytest.raises(InvalidArgument, match="use .detach()"):
        use(Broken())


def test_masked_elements_are_refused():
    """P11: they have no value; an array without any is an array."""
    x = nv.constant([1.0, 2.0])
    assert (x + np.ma.array([1.0, 2.0])).tolist() == [2, 4]
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for call in (lambda: x + masked, lambda: nv.constant(masked), lambda: nv.computation(x * 2, "all")(masked)):
        with pytest.raises((InvalidArgument, WrongKind)):
            call()
    parameter = nv.placeholder((2,))
    with pytest.raises(WrongKind, match="masked elements have no value"):
        nv.computation(parameter * 2, parameter)(masked)


@pytest.mark.parametrize("kind", KINDS)
def test_equality_beside_an_array(kind):
    """P11: == and != compare elements, from either side."""
    x = nv.constant([10.0, 2.0])
    for equality in (x == kind(A), kind(A) == x):
        assert isinstance(equality, nv.Tensor) and equality.tolist() == [True, False]
    assert (x != kind(A)).tolist() == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_other_libraries_are_arguments_and_values(kind):
    """P12: of computations and jitted functions, of variables, and as indices."""
    x = nv.placeholder("N=2")
    assert nv.computation(x * 2, x)(kind(A)).tolist() == [20, 40]
    w = nv.variable("N=2", kind(A))
    assert w.dtype is nv.float64 and w.tolist() == [10, 20]
    nv.transformers.default().set(w, kind(A + 1))
    assert w.tolist() == [11, 21]
    picked = nv.constant([1.0, 2.0, 3.0])[kind(np.array([2, 0]))]
    assert picked.tolist() == [3, 1]
    assert nv.constant([1.0, 2.0])[kind(np.array([False, True]))].tolist() == [2]
    assert nv.gather(nv.constant([1.0, 2.0]), kind(np.array([1])), 0).tolist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_jitted_functions_are_traced_with_arrays_of_other_libraries(kind):
    """P12: their elements are no part of what is compiled."""
    function = nv.jit(lambda x: x * 2)
    values = np.array([1.0, 2.0])
    array = kind(values)
    assert function(array).tolist() == [2, 4]
    values[0] = 5.0
    assert function(array).tolist() == [10, 4] and function(kind(A)).tolist() == [20, 40]
    assert function.specialisations == ["f64[2]"]
