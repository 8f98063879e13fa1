"""nv.linalg against NumPy and SciPy, with bounds on residuals; errors; derivatives that do not depend on phases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import nervure as nv

RNG = np.random.default_rng(7)
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrices(*shape: int, dtype: type = np.float64) -> np.ndarray:
    numbers = RNG.standard_normal(shape)
    return (numbers + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else numbers).astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return x.conj().swapaxes(-1, -2)


def bound(x: np.ndarray) -> float:
    """Twenty times the rounding of all that has been added up."""
    return float(20 * x.shape[-1] * np.finfo(x.dtype).eps * max(np.abs(x).max(), 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_factorisations_give_their_matrix_back(dtype):
    """A441: backward errors are those of LAPACK; results have the type of their operands."""
    a = matrices(2, 5, 3, dtype=dtype)
    for given in (a, adjoint(a)):
        q, r = [x.numpy() for x in nv.linalg.qr(given)]
        assert q.dtype == r.dtype == dtype
        np.testing.assert_allclose(q @ r, given, atol=bound(a))
        np.testing.assert_allclose(adjoint(q) @ q, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=bound(a))
        assert not np.tril(r, -1).any()
        u, s, vh = [x.numpy() for x in nv.linalg.svd(given)]
        np.testing.assert_allclose(u * s[..., None, :] @ vh, given, atol=bound(a))
        np.testing.assert_allclose(nv.linalg.svdvals(given).numpy(), s, atol=bound(a))
        np.testing.assert_allclose(nv.linalg.pinv(given).numpy(), np.linalg.pinv(given), atol=10 * bound(a))
    square = a @ adjoint(a) + np.eye(5, dtype=dtype)
    lower = nv.linalg.cholesky(square).numpy()
    np.testing.assert_allclose(lower @ adjoint(lower), square, atol=bound(square))
    np.testing.assert_allclose(nv.linalg.cholesky(square, upper=True).numpy(), adjoint(lower), atol=bound(square))
    w, v = [x.numpy() for x in nv.linalg.eigh(square)]
    np.testing.assert_allclose(v * w[..., None, :] @ adjoint(v), square, atol=bound(square))
    w, v = [x.numpy() for x in nv.linalg.eig(square)]
    np.testing.assert_allclose(square @ v, v * w[..., None, :], atol=bound(square))


@pytest.mark.parametrize("dtype", TYPES)
def test_systems_and_determinants(dtype):
    """A441: also of batches that broadcast, of vectors, and of triangles."""
    a, b, v = matrices(3, 4, 4, dtype=dtype), matrices(4, 2, dtype=dtype), matrices(4, dtype=dtype)
    x = nv.linalg.solve(a, b).numpy()
    assert x.shape == (3, 4, 2) and x.dtype == dtype
    np.testing.assert_allclose(a @ x, np.broadcast_to(b, x.shape), atol=20 * bound(a))
    np.testing.assert_allclose(a[0] @ nv.linalg.solve(a[0], v).numpy(), v, atol=20 * bound(a))
    np.testing.assert_allclose(a @ nv.linalg.inv(a).numpy(), np.broadcast_to(np.eye(4), a.shape), atol=20 * bound(a))
    np.testing.assert_allclose(nv.linalg.det(a).numpy(), np.linalg.det(a), rtol=1e3 * np.finfo(dtype).eps)
    for mine, theirs in zip(nv.linalg.slogdet(a), np.linalg.slogdet(a), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e3 * np.finfo(dtype).eps, atol=bound(a))
    for lower in (False, True):
        for trans in (0, 1, 2):
            triangle = a[0] + 8 * np.eye(4, dtype=dtype)
            mine = nv.linalg.solve_triangular(triangle, b, lower=lower, trans=trans).numpy()
            theirs = scipy.linalg.solve_triangular(triangle, b, lower=lower, trans=trans)
            np.testing.assert_allclose(mine, theirs, atol=20 * bound(a))
    found = nv.linalg.lstsq(a[0][:, :2], b)
    expected = np.linalg.lstsq(a[0][:, :2], b, rcond=None)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, atol=50 * bound(a))


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_and_norms(dtype):
    """A443: powers, exponentials, all norms, conditions and ranks are SciPy's and NumPy's."""
    a = matrices(2, 3, 3, dtype=dtype)
    close = {"rtol": 1e3 * np.finfo(dtype).eps, "atol": 100 * bound(a)}
    for scale in (0, 0.1, 3, 20):
        expected = np.stack([scipy.linalg.expm(scale * each.astype(np.result_type(dtype, np.float64))) for each in a])
        mine = nv.linalg.matrix_exp((scale * a).astype(dtype)).numpy()
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e4 * np.finfo(dtype).eps * np.abs(expected).max())
    for n in (-2, 0, 1, 5):
        np.testing.assert_allclose(nv.linalg.matrix_power(a, n).numpy(), np.linalg.matrix_power(a, n),
                                   rtol=1e4 * np.finfo(dtype).eps, atol=2e3 * bound(a))
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        np.testing.assert_allclose(nv.linalg.norm(a, ord, axis=(1, 2)).numpy(), np.linalg.norm(a, ord, axis=(1, 2)),
                                   **close)
        if ord != "nuc":
            np.testing.assert_allclose(nv.linalg.cond(a, ord).numpy(), np.linalg.cond(a, ord),
                                       rtol=1e5 * np.finfo(dtype).eps)
    for order in (0, 1, 2, 3, 0.5, np.inf, -np.inf):
        np.testing.assert_allclose(nv.linalg.vector_norm(a, order, axis=1, keepdims=True).numpy(),
                                   np.linalg.norm(a, order, axis=1, keepdims=True), **close)
    thin = a[0][:, :1] @ a[0][:1]
    for shape in ((0, 3), (3, 0), (2, 0, 0)):
        empty = np.zeros(shape)
        assert nv.linalg.matrix_rank(empty).tolist() == np.linalg.matrix_rank(empty).tolist()
        assert nv.linalg.pinv(empty).shape == np.linalg.pinv(empty).shape
    assert nv.linalg.matrix_rank(thin).item() == 1 and nv.linalg.matrix_rank(a).tolist() == [3, 3]
    chain = [matrices(3, 5), matrices(5, 2), matrices(2, 7), matrices(7)]
    np.testing.assert_allclose(nv.linalg.multi_dot(chain).numpy(), np.linalg.multi_dot(chain))


@pytest.mark.parametrize("transformer", ["interpreter", "cpu", "xla"])
def test_what_has_no_result_is_an_error(transformer):
    """A442: it names the op and the matrix, and nothing has changed; NaN that is given stays NaN."""
    x = nv.placeholder((2, 2, 2), dtype=nv.float64)
    count = nv.variable((), 0.0)
    made = nv.transformers.make_transformer(transformer)
    step = made.computation([nv.linalg.solve(x, np.ones((2, 2))), nv.assign(count, count + 1.0)], x)
    wrong = np.stack([np.eye(2), np.ones((2, 2))])
    with pytest.raises(nv.NumericError, match="the matrix is singular") as caught:
        step(wrong)
    assert caught.value.got == "the matrix at [1] of the batch" and "lstsq" in caught.value.help
    assert made.get(count).item() == 0
    assert np.isnan(step(np.where(wrong == 0, np.nan, wrong[:1]))[0][0]).all()
    factor = made.computation(nv.linalg.cholesky(x), x)
    with pytest.raises(nv.NumericError, match="not positive definite"):
        factor(-wrong)


def test_the_bits_are_those_of_the_library():
    """A440: the cpu's results are NumPy's."""
    a, b = matrices(3, 6, 6), matrices(3, 6, 2)
    x, y = nv.placeholder(a.shape, dtype=nv.float64), nv.placeholder(b.shape, dtype=nv.float64)
    found = nv.computation([nv.linalg.solve(x, y), nv.linalg.svdvals(x), nv.linalg.eigvals(x)], x, y)(a, b)
    for mine, theirs in zip(found, [np.linalg.solve(a, b), np.linalg.svdvals(a), np.linalg.eigvals(a)], strict=True):
        np.testing.assert_array_equal(mine, theirs)


FUNCTIONS = {
    "eigenvalues": lambda a: nv.real(nv.sum(nv.linalg.eigvals(a) ** 2)),
    "projector": lambda a: nv.sum(nv.absolute(nv.linalg.eig(a).eigenvectors[:, 0]) ** 4),
    "hermitian": lambda a: nv.sum(nv.absolute(nv.linalg.eigh(a + nv.conj(a.T)).eigenvectors[:, 0]) ** 4),
    "singular": lambda a: nv.sum(nv.absolute(nv.linalg.svd(a[:, :2]).U[:, 0]) ** 4),
    "inverse": lambda a: nv.real(nv.sum(nv.linalg.inv(a))), "determinant": lambda a: nv.real(nv.linalg.det(a)),
    "exponential": lambda a: nv.real(nv.sum(nv.linalg.matrix_exp(a))), "wide": lambda a: nv.real(
        nv.sum(nv.linalg.qr(a[:2]).R)), "pseudoinverse": lambda a: nv.real(nv.sum(nv.linalg.pinv(a[:, :2]))),
    "nuclear": lambda a: nv.linalg.matrix_norm(a, "nuc"), "condition": lambda a: nv.linalg.cond(a),
    "least squares": lambda a: nv.real(nv.sum(nv.linalg.lstsq(a[:, :2], a[:, 2]).x)),
}


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_differences(name, is_complex):
    """A444: of functions that do not depend on signs and phases of vectors."""
    a = matrices(3, 3, dtype=np.complex128 if is_complex else np.float64)
    gradient, step = nv.grad(FUNCTIONS[name])(a), 1e-6
    for direction in (matrices(3, 3, dtype=a.dtype.type) for _ in range(2)):
        ahead, behind = [FUNCTIONS[name](a + sign * step * direction).item() for sign in (1, -1)]
        slope = (gradient * direction).sum().real
        assert abs((ahead - behind) / (2 * step) - slope) < 2e-5 * max(1, abs(slope))


def test_symbolic_batches_and_low_precision():
    """A441: one program serves all lengths of a batch; float16 is computed in float32."""
    n = nv.dim("n")
    x = nv.placeholder((n, 2, 2), dtype=nv.float64)
    inverse = nv.computation(nv.linalg.inv(x), x)
    for count in (0, 1, 5):
        a = matrices(count, 2, 2)
        np.testing.assert_allclose(inverse(a), np.linalg.inv(a), rtol=1e-9)
    assert nv.linalg.inv(np.float16([[2, 0], [0, 4]])).dtype is nv.float16


def test_mistakes_are_told():
    """A441: shapes, names and orders."""
    with pytest.raises(nv.ShapeMismatch, match="not square"):
        nv.linalg.inv(np.ones((2, 3)))
    with pytest.raises(nv.ShapeMismatch, match="two axes"):
        nv.linalg.svd(np.ones(3))
    with pytest.raises(nv.InvalidArgument, match="no such norm"):
        nv.linalg.norm(np.ones((2, 2)), 3)
    with pytest.raises(nv.InvalidArgument, match="no such norm"):
        nv.linalg.norm(np.ones((2, 2)), np.ones(2))
    with pytest.raises(nv.ShapeMismatch, match="right side"):
        nv.linalg.solve(np.ones((2, 2)), np.ones(3))
