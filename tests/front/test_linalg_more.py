"""LU, reflections, roots, subspaces and tensors as matrices, against SciPy, NumPy and torch; derivatives; errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import nervure as nv
from tests.front.test_linalg import RNG, TYPES, adjoint, bound, matrices


@pytest.fixture(autouse=True)
def oracle(monkeypatch):
    """What is asked for at once is interpreted, so that little is compiled; tests of transformers name theirs."""
    monkeypatch.setattr(nv.flags, "transformer", "interpreter")


@pytest.mark.parametrize(("shape", "dtype"), [
    *[((4, 4), dtype) for dtype in TYPES], ((5, 3), np.float32), ((3, 5), np.complex128), ((2, 3, 6, 6), np.float64),
    ((1, 1), np.float64), ((2, 1, 7), np.complex64)])
def test_lu_gives_its_matrix_back(shape, dtype):
    """A445: the factors are SciPy's up to rounding, the pivots are the same."""
    a = matrices(*shape, dtype=dtype)
    p, lower, upper = [entry.numpy() for entry in nv.linalg.lu(a)]
    expected = scipy.linalg.lu(a)
    assert p.dtype == lower.dtype == upper.dtype == dtype
    np.testing.assert_array_equal(p, expected[0])
    for mine, theirs in zip((lower, upper, p @ lower @ upper), (*expected[1:], a), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=10 * bound(a))
    packed, pivots = nv.linalg.lu_factor(a)
    factors, expected_pivots = scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(packed.numpy(), factors, atol=10 * bound(a))
    np.testing.assert_array_equal(pivots.numpy(), expected_pivots)


@pytest.mark.parametrize(("trans", "dtype"), [(0, np.float32), (1, np.float64), (2, np.complex128), (1, np.complex64)])
def test_factors_solve_systems(trans, dtype):
    """A445: vectors and columns, batches that broadcast, the transpose and the adjoint."""
    a, b = matrices(3, 5, 5, dtype=dtype), matrices(5, 2, dtype=dtype)
    turned = [a, a.swapaxes(-1, -2), adjoint(a)][trans]
    x = nv.linalg.lu_solve(nv.linalg.lu_factor(a), b, trans).numpy()
    np.testing.assert_allclose(turned @ x, np.broadcast_to(b, x.shape), atol=50 * bound(a))
    x = nv.linalg.lu_solve(nv.linalg.lu_factor(a[0]), b[:, 0], trans).numpy()
    np.testing.assert_allclose(turned[0] @ x, b[:, 0], atol=50 * bound(a))
    factors = scipy.linalg.lu_factor(a[0])
    np.testing.assert_allclose(nv.linalg.lu_solve(factors, b, trans).numpy(), scipy.linalg.lu_solve(factors, b, trans),
                               atol=50 * bound(a))


def test_lu_of_what_is_singular():
    """A445: a column of zeros has the pivot 0, and NaN stays."""
    for a in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0])):
        p, lower, upper = [entry.numpy() for entry in nv.linalg.lu(a)]
        np.testing.assert_allclose(p @ lower @ upper, a)
    assert np.isnan(nv.linalg.lu_factor(np.full((2, 2), np.nan)).LU.numpy()).any()


@pytest.mark.parametrize("dtype", TYPES)
def test_reflections_are_multiplied(dtype):
    """A446: those of LAPACK's QR give its Q; fewer factors leave columns as they are."""
    a = matrices(2, 5, 3, dtype=dtype)
    for each in a:
        (raw, tau), _ = scipy.linalg.qr(each, mode="raw")
        expected, _ = scipy.linalg.qr(each, mode="economic")
        np.testing.assert_allclose(nv.linalg.householder_product(raw, tau).numpy(), expected, atol=bound(a))
    torch = pytest.importorskip("torch")
    tau = matrices(2, 2, dtype=dtype)
    expected = torch.linalg.householder_product(torch.tensor(a), torch.tensor(tau)).numpy()
    np.testing.assert_allclose(nv.linalg.householder_product(a, tau).numpy(), expected, rtol=1e-3, atol=50 * bound(a))


@pytest.mark.parametrize("dtype", TYPES)
def test_square_roots(dtype):
    """A447: the principal one, SciPy's; up to conditions of 10**8; NaN where a real matrix has none."""
    a = matrices(2, 4, 4, dtype=dtype)
    a = a @ adjoint(a) + np.eye(4, dtype=dtype) + 0.3 * matrices(2, 4, 4, dtype=dtype)
    found = nv.linalg.sqrtm(a).numpy()
    assert found.dtype == dtype
    for mine, each in zip(found, a, strict=True):
        np.testing.assert_allclose(mine, scipy.linalg.sqrtm(each), rtol=1e-4, atol=10 * bound(a))
    wide = np.finfo(dtype).eps < 1e-10
    for condition in (1e4, 1e8) if wide else (1e4,):
        values = np.geomspace(1, 1 / condition, 6)
        q, _ = np.linalg.qr(matrices(6, 6, dtype=dtype))
        root = nv.linalg.sqrtm((q * values @ adjoint(q)).astype(dtype)).numpy()
        limit = 30 * condition**0.5 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(root, q * np.sqrt(values) @ adjoint(q), atol=limit)
    jordan = np.array([[4, 1], [0, 4]], dtype)  # has one eigenvector
    np.testing.assert_allclose(nv.linalg.sqrtm(jordan).numpy(), [[2, 0.25], [0, 2]], atol=10 * np.finfo(dtype).eps)
    assert np.isnan(nv.linalg.sqrtm(np.array([[-2, 0], [0, 3]], dtype)).numpy()).all()


@pytest.mark.parametrize(("shape", "rank", "dtype"), [
    ((4, 4), 2, np.float32), ((3, 6), 3, np.complex128), ((3, 6), 1, np.float64), ((6, 3), 2, np.complex64)])
def test_subspaces(shape, rank, dtype):
    """A448: their projectors are SciPy's; a rank that is given serves a batch."""
    a = matrices(shape[0], rank, dtype=dtype) @ matrices(rank, shape[1], dtype=dtype)
    close = {"atol": 100 * float(np.finfo(dtype).eps)}
    for mine, theirs in ((nv.linalg.null_space, scipy.linalg.null_space), (nv.linalg.orth, scipy.linalg.orth)):
        expected = theirs(a, 1e-4)
        for found in (mine(a, 1e-4).numpy(), mine(a, rank=rank).numpy(), mine(a[None], rank=rank).numpy()[0]):
            assert found.shape == expected.shape and found.dtype == dtype
            np.testing.assert_allclose(found @ adjoint(found), expected @ adjoint(expected), **close)
            np.testing.assert_allclose(adjoint(found) @ found, np.eye(found.shape[1]), **close)


def test_tensors_as_matrices():
    """A449: NumPy's, by nv and by np on tensors."""
    a, b = matrices(4, 6, 8, 3), matrices(4, 6)
    for found in (nv.linalg.tensorinv(a), np.linalg.tensorinv(nv.constant(a))):
        np.testing.assert_allclose(found.numpy(), np.linalg.tensorinv(a), atol=1e-8)
    np.testing.assert_allclose(nv.linalg.tensorinv(a.reshape(24, 8, 3), 1).numpy(),
                               np.linalg.tensorinv(a.reshape(24, 8, 3), 1), atol=1e-8)
    np.testing.assert_allclose(np.linalg.tensorsolve(nv.constant(a), b).numpy(), np.linalg.tensorsolve(a, b), atol=1e-8)
    moved = np.moveaxis(a, 2, 0)
    np.testing.assert_allclose(nv.linalg.tensorsolve(moved, b, axes=(0,)).numpy(),
                               np.linalg.tensorsolve(moved, b, axes=(0,)), atol=1e-8)


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_of_kronecker_products(dtype):
    """A449: the exponential is the product of exponentials; batches broadcast."""
    a, b = matrices(2, 3, 3, dtype=dtype), matrices(2, 2, dtype=dtype)
    found = nv.linalg.kron_sum(a, b).numpy()
    for mine, each in zip(found, a, strict=True):
        np.testing.assert_allclose(mine, np.kron(each, np.eye(2)) + np.kron(np.eye(3), b), rtol=1e-6)


FUNCTIONS = {
    "lu": (lambda a: nv.linalg.lu(a).L[1:] ** 2 * nv.linalg.lu(a).U[1:], (3, 3)),
    "lu tall": (lambda a: nv.linalg.lu_factor(a).LU ** 3, (4, 2)),
    "lu wide": (lambda a: nv.linalg.lu_factor(a).LU ** 3, (2, 4)),
    "lu batch": (lambda a: nv.linalg.lu_factor(a).LU ** 3, (2, 3, 3)),
    "lu_solve": (lambda a: nv.linalg.lu_solve(nv.linalg.lu_factor(a), a[0], 1), (3, 3)),
    "householder": (lambda a: nv.linalg.householder_product(a, a[0]), (3, 2)),
    "sqrtm": (lambda a: nv.linalg.sqrtm(a @ a.T + a + 3 * np.eye(3)), (3, 3)),
    "null_space": (lambda a: (lambda n: n @ n.T)(nv.linalg.null_space(a, rank=2)), (2, 4)),
    "null_space found": (lambda a: (lambda n: n @ n.T)(nv.linalg.null_space(a)), (2, 4)),
    "orth": (lambda a: (lambda n: n @ n.T)(nv.linalg.orth(a, rank=2)), (4, 2)),
    "tensorinv": (lambda a: nv.linalg.tensorinv(nv.reshape(a + 3 * np.eye(4), (2, 2, 4))), (4, 4)),
    "tensorsolve": (lambda a: nv.linalg.tensorsolve(nv.reshape(a + 3 * np.eye(4), (4, 2, 2)), a[0]), (4, 4)),
    "kron_sum": (lambda a: nv.linalg.kron_sum(a, a @ a), (2, 2))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    """A445 to A449: in both modes, to the second order."""
    function, shape = FUNCTIONS[name]
    nv.testing.check_grads(function, [np.random.default_rng(4).standard_normal(shape)], order=2)


COMPLEX = {
    "lu": lambda a: nv.sum(nv.absolute(nv.linalg.lu_factor(a).LU - 0.5) ** 2),
    "householder": lambda a: nv.real(nv.sum(nv.linalg.householder_product(a, a[0]))),
    "sqrtm": lambda a: nv.sum(nv.absolute(nv.linalg.sqrtm(a @ nv.conj(a.T) + a + 4 * np.eye(3)) - 0.5) ** 2),
    "null_space": lambda a: nv.sum(nv.absolute(nv.linalg.null_space(a[:2], rank=2)[:, 0]) ** 4),
    "orth": lambda a: nv.sum(nv.absolute(nv.linalg.orth(a[:, :1], rank=1)[0]) ** 4),
    "kron_sum": lambda a: nv.sum(nv.absolute(nv.linalg.kron_sum(a, a @ a) - 0.5) ** 2)}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_are_differences(name):
    """A445 to A449: of functions with real values."""
    a = matrices(3, 3, dtype=np.complex128)
    gradient, step = nv.grad(COMPLEX[name])(a), 1e-6
    direction = matrices(3, 3, dtype=np.complex128)
    ahead, behind = [COMPLEX[name](a + sign * step * direction).item() for sign in (1, -1)]
    slope = (gradient * direction).sum().real
    assert abs((ahead - behind) / (2 * step) - slope) < 2e-5 * max(1, abs(slope))


SYSTEMS = {
    "solve": nv.linalg.solve, "lstsq": lambda a, b: nv.linalg.lstsq(a, b).x,
    "residuals": lambda a, b: nv.linalg.lstsq(a, b).residuals,
    "solve_triangular": nv.linalg.solve_triangular, "cholesky_solve": nv.linalg.cholesky_solve,
    "lu_solve": lambda a, b: nv.linalg.lu_solve((a, np.arange(2)), b), "tensorsolve": nv.linalg.tensorsolve,
    "householder_product": nv.linalg.householder_product,
    "kron_sum": lambda a, b: nv.linalg.kron_sum(a, np.diag(b))}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("left", "right", "expected"), [
    (np.float64, np.int64, nv.float64), (np.float64, np.float16, nv.float64), (np.float32, np.float64, nv.float64),
    (np.complex128, np.float32, nv.complex128), (np.complex64, np.float64, nv.complex128),
    (np.float16, np.int32, nv.float16), (np.int64, np.uint64, nv.float32), (np.int32, np.float64, nv.float64)])
def test_operands_of_two_types(name, left, right, expected):
    """A441: results have the type in which the operands are multiplied; integers have that of the others."""
    a, b = 3 * np.eye(2, dtype=left), np.array([1, 2], right)
    found = SYSTEMS[name](a, b)
    assert found.dtype is (expected.part if name == "residuals" else expected)
    if name == "solve":
        np.testing.assert_allclose(found.numpy(), [1 / 3, 2 / 3], rtol=4 * float(np.finfo(expected.part.numpy).eps))
        named = nv.linalg.solve(nv.constant(a, "H=2, W=2"), nv.constant(b, "H=2"))
        assert named.dtype is expected


def test_lists_have_the_digits_of_the_matrix():
    """A441: beside a matrix of doubles their numbers are doubles."""
    np.testing.assert_array_equal(nv.linalg.solve(3 * np.eye(2), [1.1, 2]).numpy(),
                                  np.linalg.solve(3 * np.eye(2), [1.1, 2]))


def test_residuals_are_real():
    """A441: also where the right side alone is complex."""
    b = np.array([1j, 1, 2 - 1j])
    np.testing.assert_allclose(nv.linalg.lstsq(np.ones((3, 1)), b).residuals.numpy(),
                               np.linalg.lstsq(np.ones((3, 1)), b, rcond=None)[1][0])


def test_matrices_without_elements():
    """A443: they have empty results, and norms of 0."""
    assert nv.linalg.matrix_exp(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    n = nv.dim("n")
    x = nv.placeholder((n, n))
    exponential = nv.computation(nv.linalg.matrix_exp(x), x)
    np.testing.assert_array_equal(exponential(np.zeros((0, 0))), np.zeros((0, 0)))
    np.testing.assert_array_equal(exponential(np.zeros((2, 2))), np.eye(2))
    for shape in ((0, 0), (0, 3), (3, 0)):
        a, b = np.zeros(shape), np.ones((shape[0], 2))
        for ord in ("fro", "nuc", 1, 2, np.inf):
            assert nv.linalg.matrix_norm(a, ord).item() == np.linalg.norm(a, ord) == 0
        found, known = nv.linalg.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None)
        np.testing.assert_array_equal(found.x.numpy(), known[0])
        assert found.rank.item() == known[2] == 0
        np.testing.assert_array_equal(nv.linalg.orth(a).numpy(), scipy.linalg.orth(a))
        assert nv.linalg.null_space(a).shape == (shape[1], shape[1])
        p, l, u = [part.numpy() for part in nv.linalg.lu(a)]
        np.testing.assert_array_equal(p @ l @ u, a)
        assert [part.numpy().shape for part in nv.linalg.lu_factor(a)] == [shape, (0,)]
    assert nv.linalg.vector_norm(np.zeros(0), np.inf).item() == 0


SQUARE = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
TALL = np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]])
RIGHT = np.array([1.0, 2, 4, 3])


@pytest.mark.parametrize(("function", "operands"), [
    *[(lambda a: nv.linalg.pinv(a) ** 2, [a]) for a in (SQUARE, np.eye(3), TALL, TALL.T, np.stack([TALL, 2 * TALL]))],
    (lambda a, b: nv.linalg.pinv(a @ b), [TALL[:, :2], TALL.T[:2]]),
    (lambda a, b: nv.linalg.pinv(nv.complex(a, b)), [TALL, TALL[::-1] * 0.5]),
    (lambda a, b: nv.linalg.lstsq(a, b).x ** 2, [TALL, RIGHT]),
    (lambda a, b: nv.linalg.lstsq(a, b).residuals, [TALL, RIGHT[:, None]]),
    (lambda x, y: nv.polyfit(x, y, 1), [TALL[:, 1], RIGHT])])
def test_pseudo_inverses_of_equal_singular_values(function, operands):
    """A444: derivatives of pseudo-inverses, to the second order."""
    def real(*given):
        found = function(*given)
        return nv.real(found) * nv.imag(found) if found.dtype.is_complex else found
    nv.testing.check_grads(real, operands, order=2)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize(("function", "share"), [
    (lambda a: nv.sum(nv.linalg.eigvalsh(a) ** 2), 2), (lambda a: nv.sum(nv.real(nv.linalg.eigvals(a) ** 2)), 2),
    (lambda a: nv.sum(nv.linalg.svd(a).S), 1), (lambda a: nv.sum(nv.linalg.svdvals(a)), 1)])
def test_values_that_are_equal(transformer, function, share, monkeypatch):
    """A444: eigenvalues and singular values without their vectors have derivatives in both modes."""
    monkeypatch.setattr(nv.flags, "transformer", transformer)
    np.testing.assert_allclose(nv.grad(function)(np.eye(3)), share * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(nv.jvp(function, (np.eye(3),), (np.ones((3, 3)),))[1], 3 * share)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_tolerances_of_symbolic_lengths(transformer, monkeypatch):
    """A443: which singular values count as 0 does not depend on whether lengths are symbols."""
    monkeypatch.setattr(nv.flags, "transformer", transformer)
    n, m = nv.dim("n"), nv.dim("m", min=1)
    a, x, one = np.arange(1.0, 10).reshape(3, 3), nv.placeholder((n, n), nv.float64), nv.placeholder((n, 3), nv.float64)
    functions = [nv.linalg.pinv, nv.linalg.matrix_rank, nv.linalg.orth, nv.linalg.null_space,
                 lambda a: nv.linalg.lstsq(a, np.ones(3)).x]
    found = nv.computation([*[function(x) for function in functions], nv.linalg.pinv(one)], x, one)(a, a)
    for mine, known in zip(found, [function(a) for function in (*functions, nv.linalg.pinv)], strict=True):
        np.testing.assert_allclose(mine, known.numpy(), atol=1e-12)
    places, values = 1 + 4e-15 * RNG.standard_normal(200), RNG.standard_normal(200)
    p, q = nv.placeholder((m,), nv.float64), nv.placeholder((m,), nv.float64)
    np.testing.assert_allclose(nv.computation(nv.polyfit(p, q, 1), p, q)(places, values),
                               nv.polyfit(places, values, 1).numpy(), rtol=1e-9)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu", "xla"])
def test_transformers_and_symbolic_batches(transformer):
    """A445: one program serves all lengths of a batch, and of a square matrix."""
    n, m = nv.dim("n"), nv.dim("m", min=1)
    x, y = nv.placeholder((n, 3, 3), dtype=nv.float64), nv.placeholder((m, m), dtype=nv.float64)
    with nv.transformers.make_transformer(transformer) as made:
        run = made.computation([nv.linalg.lu_factor(x).LU, nv.linalg.lu_factor(y).LU, nv.linalg.sqrtm(y @ y.T + 1.0),
                                nv.linalg.null_space(x[0, :1] + 0.0)], x, y)
        for batch, length in ((1, 2), (3, 5)):
            a, b = matrices(batch, 3, 3), matrices(length, length)
            found = run(a, b)
            np.testing.assert_allclose(found[0], scipy.linalg.lu_factor(a)[0], atol=1e-12)
            np.testing.assert_allclose(found[1], scipy.linalg.lu_factor(b)[0], atol=1e-12)
            np.testing.assert_allclose(found[2] @ found[2], b @ b.T + 1, atol=1e-7)
            np.testing.assert_allclose(a[0, :1] @ found[3], np.zeros((1, 2)), atol=1e-12)


@pytest.mark.parametrize(("program", "kind", "message"), [
    (lambda: nv.linalg.lu_solve((np.eye(2),), np.ones(2)), nv.InvalidArgument, "no factored matrix"),
    (lambda: nv.linalg.lu_solve((np.eye(2), [0, 1]), np.ones(2), 3), nv.InvalidArgument, "as it is, transposed"),
    (lambda: nv.linalg.lu_solve((np.eye(2), [0]), np.ones(2)), nv.ShapeMismatch, "has a pivot"),
    (lambda: nv.linalg.householder_product(np.ones((2, 3)), np.ones(2)), nv.ShapeMismatch, "a column and a factor"),
    *[(lambda solve=solve: solve(np.eye(2), np.ones(2), trans=np.array([0, 1])), nv.WrongKind, "trans is an integer")
      for solve in (nv.linalg.solve_triangular, lambda a, b, trans: nv.linalg.lu_solve((a, [0, 1]), b, trans))],
    (lambda: nv.linalg.vector_norm(np.ones(3), np.ones(2)), nv.InvalidArgument, "is a number"),
    (lambda: nv.linalg.sqrtm(np.ones((2, 3))), nv.ShapeMismatch, "not square"),
    (lambda: nv.linalg.sqrtm(np.zeros((2, 2))).numpy(), nv.NumericError, "singular"),
    (lambda: nv.linalg.null_space(np.ones((2, 2, 2))), nv.ShapeMismatch, "differ in rank"),
    (lambda: nv.linalg.orth(np.ones((2, 2)), rank=3), nv.InvalidArgument, "no such rank"),
    (lambda: nv.linalg.tensorinv(np.ones((2, 3, 4))), nv.ShapeMismatch, "no square matrix"),
    (lambda: nv.linalg.tensorsolve(np.ones((2, 3)), np.ones(3)), nv.ShapeMismatch, "no square system"),
    (lambda: nv.linalg.lu(nv.ones("H=2, W=2")), nv.AxisMismatch, "goes by positions"),
    (lambda: nv.linalg.lu(nv.placeholder((nv.dim("n"), nv.dim("m")))), nv.ShapeMismatch, "not known")])
def test_what_is_told(program, kind, message):
    with pytest.raises(kind, match=message) as caught:
        program()
    assert caught.value.help


# -- names -----------------------------------------------------------------------------------------------------------

NAMED = RNG.standard_normal((3, 2, 3)) + 4 * np.eye(3)[:, None]
PLAIN = np.moveaxis(NAMED, 1, 0)


@pytest.mark.parametrize(("name", "axes"), [
    ("inv", "W N H"), ("pinv", "W N H"), ("matrix_exp", "H N W"), ("sqrtm", "H N W"), ("det", "N"), ("cond", "N"),
    ("matrix_rank", "N"), ("matrix_norm", "N")])
def test_matrices_lie_in_named_axes(name, axes):
    """A441: results have the axes of the batch, and those of the matrices, each other's for an inverse."""
    function = getattr(nv.linalg, name)
    expected = function(PLAIN).numpy()
    found = function(nv.constant(NAMED, "H=3, N=2, W=3"), axes=("H", "W"))
    assert [axis.name for axis in found.axes] == axes.split()
    plain = found.numpy() if found.ndim < 3 else np.moveaxis(found.numpy(), 1, 0)
    np.testing.assert_allclose(plain, expected, rtol=1e-9)
    np.testing.assert_allclose(function(NAMED, axes=(0, 2)).numpy(), found.numpy(), rtol=1e-12)
    last = function(nv.constant(PLAIN, "N=2, H=3, W=3"))
    assert {axis.name for axis in last.axes} == {*axes.split()} and last.shape[0] == 2


def test_named_systems():
    """A441: the right side has the axis of the rows, the solution that of the columns in its place."""
    a = nv.constant(NAMED, "H=3, N=2, W=3")
    b = RNG.standard_normal((4, 3, 2, 5))
    found = nv.linalg.solve(a, nv.constant(b, "K=4, H=3, N=2, M=5"), axes=("H", "W"))
    assert str(found.axes) == "(K: 4, W: 3, N: 2, M: 5)"
    np.testing.assert_allclose(np.einsum("hnw,kwnm->khnm", NAMED, found.numpy()), b, atol=1e-9)
    alone = nv.linalg.solve(a, nv.constant(b[0, :, 0, 0], "H=3"), axes=("H", "W"))
    assert str(alone.axes) == "(N: 2, W: 3)"
    np.testing.assert_allclose(np.einsum("hnw,nw->nh", NAMED, alone.numpy()), np.tile(b[0, :, 0, 0], (2, 1)), atol=1e-9)
    square = nv.constant(PLAIN @ np.swapaxes(PLAIN, 1, 2), "N=2, H=3, W=3")
    assert str(nv.linalg.cholesky(square).axes) == str(nv.linalg.matrix_power(square, 3).axes) == str(square.axes)
    assert [str(entry.axes) for entry in nv.linalg.slogdet(square)] == ["(N: 2)", "(N: 2)"]
    assert str(nv.linalg.norm(a, "nuc", ("H", "W")).axes) == "(N: 2)"
    assert str(nv.linalg.norm(a, axis="N").axes) == "(H: 3, W: 3)"


@pytest.mark.parametrize(("program", "message"), [
    (lambda a: nv.linalg.solve(a, np.ones(3)), "both be named"),
    (lambda a: nv.linalg.solve(a, nv.ones("N=2")), "lacks the axis H"),
    (lambda a: nv.linalg.solve(a, nv.ones("H=3, W=3")), "has the axis W"),
    (lambda a: nv.linalg.svd(a), "goes by positions"), (lambda a: nv.linalg.qr(a), "goes by positions")])
def test_names_that_do_not_fit(program, message):
    """A441: what has axes of its own takes no names."""
    with pytest.raises(nv.AxisMismatch, match=message) as caught:
        program(nv.constant(PLAIN, "N=2, H=3, W=3"))
    assert caught.value.help


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_lengths_that_are_found(transformer):
    """A441: matrices of rows that a mask selects, where a loop of the library gets its sizes while the call runs."""
    a, mask = nv.placeholder((5, 3), dtype=nv.float64), nv.placeholder((5,), dtype=nv.bool_)
    rows = nv.compress(mask, a, 0)
    with nv.transformers.make_transformer(transformer) as made:
        run = made.computation([nv.linalg.solve(rows @ rows.T + 0.0, rows), nv.linalg.svdvals(rows)], a, mask)
        for chosen in ([True, False, True, False, False], [False, True, True, False, True]):
            x = matrices(5, 3)
            found, values = run(x, np.array(chosen))
            np.testing.assert_allclose(x[chosen] @ x[chosen].T @ found, x[chosen], atol=1e-10)
            np.testing.assert_allclose(values, np.linalg.svdvals(x[chosen]), rtol=1e-10)
