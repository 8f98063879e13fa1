"""Small tensors whose elements are all different, each with its array, and what a result must be."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure.types.axis import Axis


def tensor(*axes: Axis) -> tuple[nv.Tensor, np.ndarray]:
    """A constant with these axes, and its array."""
    array = _counted([one.length for one in axes])
    return nv.constant(array, axes=list(axes)), array


def plain(*shape: int) -> tuple[nv.Tensor, np.ndarray]:
    """A constant without names, and its array."""
    array = _counted(shape)
    return nv.constant(array), array


def check(result: nv.Tensor, expected: Any, axes: Any = None) -> None:
    """The same elements, and these axes (None: no names)."""
    np.testing.assert_array_equal(result.numpy(), expected)
    if axes is None:
        assert not result.is_named
    else:
        assert result.axes == nv.make_axes(axes)


def check_close(result: nv.Tensor, expected: Any, axes: Any) -> None:
    """Elements that are nearly the same, and these axes."""
    assert result.axes == nv.make_axes(axes)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-12)


def _counted(shape: Any) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
