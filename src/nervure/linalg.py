"""Linear algebra: systems of equations, factorisations, eigenvalues, functions and norms of matrices.

Matrices are the last two axes of tensors without names; the axes in front number them.

>>> import nervure as nv
>>> nv.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
[[0.5, 0.0], [0.0, 0.25]]
"""

from __future__ import annotations

from nervure.front.factorisations import (
    cholesky,
    cholesky_solve,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from nervure.front.matrix_functions import (
    cond,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    vector_norm,
)

__all__ = ["cholesky", "cholesky_solve", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
           "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
           "solve", "solve_triangular", "svd", "svdvals", "vector_norm"]
