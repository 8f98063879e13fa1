"""``nv.testing``: what it accepts, what it reports, and that it finds wrong derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.testing import assert_close, check_grads


@dataclass
class Pair:
    left: object
    right: object


@pytest.mark.parametrize(("actual", "expected"), [
    (1.0, 1), ([1, 2], np.array([1, 2])), (nv.constant([1.0, 2.0]), [1, 2]), (np.float32([1.000001]), [1.0]),
    (np.float32([0.1]), np.float64([0.1])), (np.float16([1.001]), [1.0]), (ml_dtypes.bfloat16(1.01), 1.0),
    (np.float32([np.nan, np.inf, -np.inf]), [np.nan, np.inf, -np.inf]), (np.zeros((0, 3)), np.zeros((0, 3))),
    (np.array([True]), [True]), ({"a": [1.0, np.ones(3)]}, {"a": [1.0, np.ones(3)]}),
    (Pair(np.ones(2), 3.0), Pair(np.ones(2), 3.0)), (np.complex64([1 + 1j]), [1 + 1j]), ([], []),
    ((np.ones(2), nv.zeros((2,))), (np.ones(2), np.zeros(2))), ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
    ([{"a": np.ones(1), "b": np.zeros(1)}], [{"b": np.zeros(1), "a": np.ones(1)}])], ids=repr)
def test_what_is_close(actual, expected):
    assert_close(actual, expected)


def test_named_tensors_are_compared_by_their_names():
    rows = np.float32([[1, 2], [3, 4]])
    turned = nv.constant(rows.T, axes="W=2, H=2")
    assert_close(turned, nv.constant(rows, axes="H=2, W=2"))
    assert_close(turned, rows.T)
    with pytest.raises(AssertionError, match=r"axes \(W: 2, H: 2\) instead of \(H: 2, K: 2\)"):
        assert_close(turned, nv.constant(rows, axes="H=2, K=2"))


@pytest.mark.parametrize(("actual", "expected", "message"), [
    (np.float64([1.0, 2.0]), [1.0, 2.1], r"1 of 2 elements differ \(float64"),
    (np.float32([1.0, 2.0]), [1.0, 2.1], r"largest absolute difference 0.1 at \[1\]: 2.0 instead of 2.1"),
    (np.float64([1.000001]), [1.0], "rtol 1e-10"), (np.array([1, 2]), [1, 3], r"first at \[1\]: 2 instead of 3"),
    (np.float32([np.nan]), [1.0], r"first at \[0\]: nan instead of 1.0"),
    (np.float32([np.inf]), [-np.inf], "inf instead of -inf"), (np.float32([1e38]), [np.inf], "instead of inf"),
    (np.zeros(3), np.zeros((3, 1)), r"shape \(3,\) instead of \(3, 1\)"),
    ({"a": np.ones(2)}, {"a": np.zeros(2)}, r"\['a'\]: 2 of 2 elements differ"),
    ({"a": 1}, {"b": 1}, "nested differently"), ([np.ones(2), np.ones(2)], [np.ones(2)], "nested differently"),
    (np.array([True]), [False], "True instead of False"),
    ([np.ones(2), [np.ones(1)]], [np.ones(2), [np.zeros(1)]], r"\[1\]\[0\]: 1 of 1"),
    (Pair(1.0, [2.0]), Pair(1.0, [3.0]), r"\.right: 1 of 1"),
    ([(np.ones(1), np.ones(1)), (np.ones(1),)], [(np.ones(1),), (np.ones(1), np.ones(1))],
     r"\[0\]: the values are nested differently"),
    ([{"a": np.ones(1)}], [{"b": np.ones(1)}], r"\[0\]: the values are nested differently: dict with 'a' of 1"),
    ({}, 1.0, "nested differently"), ({0: np.ones(1)}, [np.ones(1)], "nested differently")], ids=repr)
def test_what_is_not(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_close(actual, expected)


def test_tolerances():
    assert_close(1.0, 1.05, rtol=0.1)
    assert_close(np.array([10]), np.array([11]), atol=1)
    with pytest.raises(AssertionError):
        assert_close(np.array([10]), np.array([12]), atol=1)
    assert_close(np.float32([1]), np.float64([1]))
    with pytest.raises(AssertionError, match="element type float32 instead of float64"):
        assert_close(np.float32([1]), np.float64([1]), check_dtype=True)


def test_right_derivatives():
    check_grads(lambda x: nv.exp(nv.sin(x)), [np.array([0.3, -2.0])], order=3, rtol=1e-5)
    check_grads(lambda x, y: nv.dot(x, y) / nv.sum(y * y), [np.ones((2, 3)), np.arange(1.0, 4.0)])
    check_grads(lambda x: nv.sum(x * x, "W"), [nv.constant([[1.0, 2.0]], axes="H=1, W=2")])
    check_grads(lambda x: nv.constant([1.0]), [np.ones(2)])


def test_wrong_derivatives_are_found():
    """A planted op whose derivative, or second derivative alone, is wrong."""
    @nv.custom_vjp
    def cube(x):
        return x * x * x
    cube.defvjp(lambda gradient, x: gradient * x * x * 2.0)
    with pytest.raises(AssertionError, match="derivative 1 differs"):
        check_grads(cube, [np.array([1.0, 2.0])])
    cube.defvjp(lambda gradient, x: gradient * nv.stop_gradient(x * x) * 3.0)
    with pytest.raises(AssertionError, match="derivative 2 differs"):
        check_grads(cube, [np.array([1.0, 2.0])])
    check_grads(cube, [np.array([1.0, 2.0])], order=1)


def test_what_cannot_be_checked():
    with pytest.raises(InvalidArgument):
        check_grads(lambda: nv.constant(1.0), [])
    with pytest.raises(WrongKind, match="must give one tensor"):
        check_grads(lambda x: [x], [np.ones(2)])
