"""Calls of a library's loops on matrices that have no elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nervure as nv
from nervure.transformers.cpu.runtime import pooled_arrays


@pytest.mark.parametrize("solve", [nv.linalg.inv, nv.linalg.cholesky, lambda x: nv.linalg.solve(x, x),
                                   lambda x: nv.linalg.eigh(x)[0]], ids=["inv", "cholesky", "solve", "eigh"])
def test_what_lies_where_a_result_has_no_elements_is_no_failure(
        solve: Callable[[nv.Tensor], nv.Tensor]) -> None:
    n = nv.dim("n")
    x = nv.placeholder((2, n, n), nv.float64)
    call = nv.computation(solve(x), x)
    assert np.isfinite(call(np.stack([np.eye(3)] * 2))).all()
    freed = [pooled_arrays.empty((8,), np.dtype(np.float64)) for _ in range(8)]  # the next results lie there
    for array in freed:
        array[:] = np.nan
    del array, freed
    assert np.asarray(call(np.empty((2, 0, 0)))).size == 0


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.complex64, nv.complex128], ids=str)
def test_matrices_with_numbers_that_are_not_finite_are_no_failure(dtype: nv.types.dtype.DType) -> None:
    """Wherever they lie; a finite one without a result is one, whatever lies beside it."""
    x = nv.placeholder((2, 3, 3), dtype)
    call = nv.computation(nv.linalg.cholesky(x), x)
    good = np.stack([np.eye(3, dtype=dtype.numpy)] * 2)
    for place in range(9):
        given = good.copy()
        given[0].flat[place] = np.nan
        assert np.isfinite(np.asarray(call(given))[1]).all()
    bad = good.copy()
    bad[0], bad[1, 0, 0] = -bad[0], np.nan
    with pytest.raises(nv.NervureError, match="cholesky|Cholesky"):
        call(bad)
