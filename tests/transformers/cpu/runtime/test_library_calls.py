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
