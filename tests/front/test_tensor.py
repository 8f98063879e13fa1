"""Tensors as Python's numbers, sequences and texts."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind

X = nv.constant([[1.0, 2.0], [3.0, 4.0]], axes="H=2, W=2")


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "spec"), [(1.25, ".3f"), (0.1, "g"), (12, "5.1f"), (3 + 4j, ".1f"), (True, "d")])
def test_a_format_is_that_of_the_number(value, spec):
    """P16: of the only element."""
    number = nv.constant(value).item()
    assert format(nv.constant(value), spec) == format(nv.constant([value]), spec) == format(number, spec)
    assert f"{nv.constant(value) * 1:{spec}}" == format(number, spec)


def test_without_a_format_nothing_is_computed():
    """P16: it is the text of the tensor."""
    x = nv.placeholder("N=2").named("x")
    assert f"{x}" == str(x) == repr(x) == "<placeholder f32[N=2] 'x'>"


def test_formats_of_several_elements():
    """P16: an error that says how each is shown."""
    with pytest.raises(InvalidArgument, match="one element") as caught:
        format(X, ".3f")
    assert "tolist" in caught.value.help
    with pytest.raises(InvalidArgument, match="a placeholder has no value"):
        format(nv.placeholder(()), ".3f")
    with pytest.raises(ValueError, match="format"):
        format(nv.constant(1.0), "words")


@pytest.mark.parametrize(("tensor", "text"), [
    (nv.constant([1.0, 2.0, 3.0]), "<constant f32[3] [1. 2. 3.]>"), (nv.constant(2.5), "<constant f32[] 2.5>"),
    (nv.constant(0.1), "<constant f32[] 0.1>"), (nv.constant(True), "<constant bool[] True>"),
    (nv.constant([[1, 2], [3, 4]], axes="H=2, W=2").named("m"), "<constant f32[H=2, W=2] [[1. 2.] [3. 4.]] 'm'>"),
    (nv.constant(np.arange(3)), "<constant i64[3] [0 1 2]>"), (nv.zeros((2, 3)), "<Tensor f32[2, 3] Full 0.0>"),
    (nv.constant(np.ones(2, ml_dtypes.bfloat16)), "<constant bf16[2] [1 1]>"),
    (nv.constant([]), "<constant f32[0] []>"), (nv.constant([1 / 3]), "<constant f32[1] [0.3333]>"),
    (nv.constant(np.arange(100)), "<constant i64[100] [ 0 1 ... 98 99]>"),
    (nv.constant([1.0]) * 2, "<Tensor f32[1] Multiply>")])
def test_constants_show_their_elements(tensor, text):
    """P19: on one line, without most of them where there are many."""
    assert repr(tensor) == text


@pytest.mark.parametrize("shape", [(1000, 1000), (10,) * 6, (3, 0, 2), (1, 1, 1, 1, 100)])
def test_large_constants_have_short_texts(shape):
    """P19: of one line, whatever their rank."""
    text = repr(nv.constant(np.full(shape, 123456789.0, np.float32)))
    assert len(text) < 160 and "\n" not in text


def double(x, times=2):
    return x * times


@pytest.mark.parametrize(("make", "text"), [
    (lambda w: nv.optim.Adam(0.5), "Adam(learning_rate=0.5, beta1=0.9, beta2=0.999, epsilon=1e-08, weight_decay=0.0)"),
    (lambda w: nv.jit(double), "<jitted double(x, times=2): 0 specialisations>"),
    (lambda w: nv.assign(w, 0.0), "<effect Assign to Variable(w: f32[3])>"),
    (lambda w: nv.doall([nv.assign(w, 0.0)]), "<effect DoAll of 1>"),
    (lambda w: nv.transformers.make_transformer("interpreter"), "<transformer interpreter>"),
    (lambda w: nv.custom_vjp(double, double), "<double with a derivative of its own>"),
    (lambda w: w.at, "<at of <Tensor f32[F=3] ReadVariable 'w'>: x.at[index].set(y)>"),
    (lambda w: nv.transformers.make_transformer("interpreter").computation([w + 1, nv.assign(w, w + 1)]),
     "<computation on interpreter: () -> (f32[F=3]), updates w>")], ids=range(8))
def test_what_is_met_first_says_what_it_is(make, text):
    """P19: in one line."""
    assert repr(make(nv.variable("F=3", 0.5).named("w"))) == text


def test_the_elements_of_a_place_say_how_they_are_changed():
    """P19: for those who forget it."""
    assert ".set(y)" in repr(X.at[0])


def test_a_jitted_function_counts_what_it_has_compiled():
    """P19: one for each combination of types and shapes."""
    function = nv.jit(double)
    function(np.ones(2))
    assert repr(function) == "<jitted double(x, times=2): 1 specialisation>"


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_python_s_functions_of_one_number_compute():
    """P18: exactly, for integers of any size; of several elements there is no number."""
    large = nv.constant(np.int64(2**60 + 1), dtype=nv.int64)
    assert (math.floor(large), math.ceil(large), math.trunc(large)) == (2**60 + 1,) * 3
    x = nv.constant(-1.5)
    numbers = [math.floor(x), math.ceil(x), math.trunc(x), int(x), float(x), complex(x), bool(x)]
    assert numbers == [-2, -1, -1, -1, -1.5, -1.5 + 0j, True]
    assert [type(number) for number in numbers] == [int, int, int, int, float, complex, bool]
    for function in (math.floor, math.ceil, math.trunc, int, float, complex, bool):
        with pytest.raises(InvalidArgument, match="one element"):
            function(X)


def test_python_s_operators_give_tensors():
    """P17: abs, round and divmod go on building the graph."""
    x, y = nv.constant([-7.0, 7.5]), nv.constant([2.0, 2.0])
    quotient, remainder = divmod(x, y)
    assert (quotient.tolist(), remainder.tolist()) == ([-4, 3], [1, 1.5])
    assert [entry.tolist() for entry in divmod(9, y)] == [[4, 4], [1, 1]]
    assert [entry.tolist() for entry in divmod(x, np.array([2, 2]))] == [[-4, 3], [1, 1.5]]
    assert [entry.tolist() for entry in np.divmod(x, y)] == [[-4, 3], [1, 1.5]]
    assert abs(x).tolist() == [7, 7.5] and round(x).tolist() == [-7, 8]
    assert divmod(nv.placeholder("N=3"), 2)[0].axes.names == ("N",)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounding_to_decimals(dtype, decimals):
    """P17: as NumPy's round; halves go to the even digit."""
    values = np.array([0.0, -0.0, 1.005, 2.675, -3.14159, 149.5, 1234.567, np.inf, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(round(nv.constant(values, dtype=dtype), decimals).numpy(), values.round(decimals))
    np.testing.assert_array_equal(np.round(nv.constant(values, dtype=dtype), decimals).numpy(), values.round(decimals))


def test_rounding_what_is_large_or_low_in_precision():
    """P17: what has no decimals stays; low precision is rounded once."""
    large = nv.constant([1e38, 3e30])
    assert round(large, 5).tolist() == large.tolist()
    assert round(nv.constant([1.25, 100.5], dtype=nv.bfloat16), 1).tolist() == nv.constant([1.2, 100.5], None,
                                                                                           nv.bfloat16).tolist()
    assert round(nv.constant(np.array([15, 16])), 1).tolist() == [15, 16]
    assert nv.round(1.26, 1).dtype is nv.float32


@pytest.mark.parametrize(("value", "decimals", "kind"), [
    (nv.constant(np.array([15])), -1, InvalidArgument), (nv.constant(1.0), 31, InvalidArgument),
    (nv.constant(1.0), 1.5, WrongKind)])
def test_decimals_that_are_not_rounded_to(value, decimals, kind):
    """P17: an error that says which are."""
    with pytest.raises(kind, match="decimals"):
        round(value, decimals)


def test_sequences():
    """P18: a tensor is one of tensors."""
    x = nv.constant([1.0, 2.0, 3.0])
    assert [entry.item() for entry in reversed(x)] == [3, 2, 1] and sum(x).item() == 6
    with pytest.raises(WrongKind, match="item"):
        max(x)
    assert [entry.tolist() for entry in reversed(X)] == [[3, 4], [1, 2]]
