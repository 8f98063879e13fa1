"""Linear algebra: systems of equations, factorisations, eigenvalues, functions and norms of matrices.

Matrices are the last two axes of tensors without names; the axes in front number them.

>>> import nervure as nv
>>> nv.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
[[0.5, 0.0], [0.0, 0.25]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.front.matrices.factorisations import (
    cholesky,
    cholesky_solve,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
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
from nervure.front.matrices.lu_factors import lu, lu_factor, lu_solve
from nervure.front.matrices.matrix_functions import (
    cond,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    sqrtm,
    vector_norm,
)
from nervure.front.matrices.subspaces import null_space, orth
from nervure.front.matrices.tensor_systems import kron_sum, tensorinv, tensorsolve
from nervure.support.elsewhere import unknown_name

__all__ = ["cholesky", "cholesky_solve", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "householder_product",
           "inv", "kron_sum", "lstsq", "lu", "lu_factor", "lu_solve", "matrix_exp", "matrix_norm", "matrix_power",
           "matrix_rank", "multi_dot", "norm", "null_space", "orth", "pinv", "qr", "slogdet", "solve",
           "solve_triangular", "sqrtm", "svd", "svdvals", "tensorinv", "tensorsolve", "vector_norm"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.linalg", name, __all__)
