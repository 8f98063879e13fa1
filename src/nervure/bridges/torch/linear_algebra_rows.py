"""Rows of linear algebra. A matrix for which an op fails, such as a singular one, is an error when the call runs.

So what PyTorch would look at afterwards, ``info``, is no result of a row, and a graph that gives it away runs in
PyTorch.

>>> import nervure as nv
>>> a = nv.Parameter(nv.float64, (3, 3)).output
>>> inverse((a.type, a.type.with_(shape=())), a, False)
(f64[3, 3] Solve(Parameter, Eye), None)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import converted, expanded, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.matrices import factorisations as names
from nervure.front.matrices import matrix_functions
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops.linear_algebra import adjoint, identity_like, product, spread_rows, transposed, weighted
from nervure.ops.reductions import Max
from nervure.ops.selection import where
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription as Type
from nervure.types.dim import DimLike, dim_max

Types = tuple[Type, ...]
Several = tuple[Value | None, ...]


def _values(tensors: Sequence[Tensor], result: Types) -> Several:
    return tuple([converted(tensor.value, type.dtype) for tensor, type in zip(tensors, result, strict=False)])


# -- systems of equations ----------------------------------------------------------------------------------------------


@row("linalg_inv_ex.default")
def inverse(result: Types, a: Value, checks: bool) -> Several:
    return names.inv(Tensor(a)).value, None


@row("_linalg_solve_ex.default")
def solution(result: Types, a: Value, b: Value, left: bool, checks: bool) -> Several:
    is_vector = len(result[0].shape) == a.rank - 1
    right = ops.Reshape(b, (*b.shape, 1)).output if is_vector and left else b
    found = _solved(a, right, left)
    return (ops.Reshape(found, result[0].shape).output if is_vector else found,)


def _solved(a: Value, b: Value, left: bool) -> Value:
    """Returns the x with a @ x = b, or x @ a = b; batches are repeated for each other."""
    if left:
        return names.solve(Tensor(a), Tensor(b)).value
    return transposed(names.solve(Tensor(transposed(a)), Tensor(transposed(b))).value)


@row("linalg_solve_triangular.default")
def triangular_solution(result: Type, a: Value, b: Value, upper: bool, left: bool, has_ones: bool) -> Value:
    if left:
        return names.solve_triangular(Tensor(a), Tensor(b), not upper, 0, has_ones).value
    turned = names.solve_triangular(Tensor(transposed(a)), Tensor(transposed(b)), upper, 0, has_ones)
    return transposed(turned.value)


@row("triangular_solve.default")
def older_triangular_solution(result: Types, b: Value, a: Value, upper: bool, is_turned: bool,
                              has_ones: bool) -> Several:
    found = names.solve_triangular(Tensor(a), Tensor(b), not upper, int(is_turned), has_ones)
    return found.value, expanded(a, result[1].shape)


@row("linalg_pinv.atol_rtol_tensor")
def pseudo_inverse(result: Type, a: Value, absolute: Value | None, relative: Value | None, hermitian: bool) -> Value:
    if 0 in a.shape:
        return fitted(0, a.dtype, result.shape)
    if hermitian:  # of which one triangle counts
        values, vectors = [tensor.value for tensor in names.eigh(Tensor(a))]
        s, u, vh = ops.Absolute(values).output, vectors, adjoint(vectors)
        u = u * spread_rows(converted(ops.Sign(values).output, u.dtype), u)
    else:
        u, s, vh = [tensor.value for tensor in names.svd(Tensor(a))]
    bound = s.full(0)
    largest = expanded(ops.Reshape(Max(s, axes=[s.rank - 1]), (*s.shape[:-1], 1)).output, s.shape)
    if relative is None and absolute is None:
        relative = names.tolerance(dim_max(*a.shape[-2:]), a.dtype).value
    if relative is not None:
        bound = largest * _for_each(relative, s)
    if absolute is not None:
        bound = ops.Maximum(bound, _for_each(absolute, s)).output
    counts = ops.Greater(s, bound)
    inverse = where(counts, 1 / where(counts, s, 1), 0)
    return weighted(adjoint(vh), inverse, adjoint(u))


def _for_each(tolerance: Value, s: Value) -> Value:
    """Returns a tolerance, one for each matrix or for all, like singular values."""
    value = converted(tolerance, s.dtype)
    return expanded(ops.Reshape(value, (*value.shape, 1)).output, s.shape)


# -- determinants ------------------------------------------------------------------------------------------------------


@row("_linalg_slogdet.default")
def logarithm_of_determinant(result: Types, a: Value) -> Several:
    return _values(names.slogdet(Tensor(a)), result)


@row("_linalg_det.default")
def determinant(result: Types, a: Value) -> Several:
    return (names.det(Tensor(a)).value,)


# -- factorisations ----------------------------------------------------------------------------------------------------


@row("linalg_cholesky_ex.default")
def cholesky_factor(result: Types, a: Value, upper: bool, checks: bool) -> Several:
    return older_cholesky_factor(result[0], a, upper), None


@row("cholesky.default")
def older_cholesky_factor(result: Type, a: Value, upper: bool) -> Value:
    """The factor reads one triangle of ``a``; both have the derivative, as in PyTorch."""
    both = (a + adjoint(a)) * 0.5
    return names.cholesky(Tensor(ops.StraightThrough(a, both)), upper).value


@row("cholesky_solve.default")
def solution_by_cholesky(result: Type, b: Value, factor: Value, upper: bool) -> Value:
    return names.cholesky_solve(Tensor(adjoint(factor) if upper else factor), Tensor(b)).value


@row("cholesky_inverse.default")
def inverse_by_cholesky(result: Type, factor: Value, upper: bool) -> Value:
    return solution_by_cholesky(result, identity_like(factor), factor, upper)


@row("linalg_qr.default")
def orthogonal_factors(result: Types, a: Value, mode: str) -> Several:
    rows, columns = a.shape[-2:]
    if mode == "complete" and not (isinstance(rows, int) and isinstance(columns, int) and rows <= columns):
        raise Unsupported("an orthonormal basis beyond the columns of a matrix")
    q, r = _values(names.qr(Tensor(a)), result)
    return (fitted(0, a.dtype, result[0].shape), r) if mode == "r" else (q, r)


@row("geqrf.default")
def reflections(result: Types, a: Value) -> Several:
    made = ops.Reflections(_in_doubles(a))
    return tuple([converted(value, a.dtype) for value in made.outputs])


def _in_doubles(x: Value) -> Value:
    return converted(x, types.complex128 if x.dtype.is_complex else types.float64)


@row("linalg_householder_product.default")
def product_of_reflections(result: Type, reflected: Value, factors: Value) -> Value:
    if 0 in result.shape:
        return fitted(0, result.dtype, result.shape)
    return converted(_reflections(reflected, factors, reflected.shape[-1]), result.dtype)


@row("ormqr.default")
def by_product_of_reflections(result: Type, reflected: Value, factors: Value, other: Value, is_left: bool,
                              is_transposed: bool) -> Value:
    made, other = _reflections(reflected, factors, reflected.shape[-2]), _in_doubles(other)
    if is_transposed:
        made = adjoint(made)
    return converted(product(made, other) if is_left else product(other, made), result.dtype)


def _reflections(reflected: Value, factors: Value, columns: DimLike) -> Value:
    """Returns the first columns of a product of reflections, after which none more change anything."""
    def longer(x: Value) -> Value:
        missing = columns - x.shape[-1]
        return ops.Pad(x, [(0, 0)] * (x.rank - 1) + [(0, missing)], 0).output if missing != 0 else x
    return ops.ReflectionProduct(longer(_in_doubles(reflected)), longer(_in_doubles(factors))).output


@row("_linalg_svd.default")
def singular_values(result: Types, a: Value, is_full: bool, with_vectors: bool, driver: object) -> Several:
    if not with_vectors:
        found = names.svdvals(Tensor(a)).value
        return fitted(0, a.dtype, result[0].shape), found, fitted(0, a.dtype, result[2].shape)
    if is_full and a.shape[-1] != a.shape[-2]:
        raise Unsupported("singular vectors beyond the smaller length of a matrix")
    return _values(names.svd(Tensor(a)), result)


@row("_linalg_eigh.default")
def symmetric_eigenvalues(result: Types, a: Value, triangle: str, with_vectors: bool) -> Several:
    values, vectors = _values(names.eigh(Tensor(a), triangle.upper()), result)
    return values, vectors if with_vectors else fitted(0, a.dtype, result[1].shape)


@row("linalg_eig.default")
def eigenvalues(result: Types, a: Value) -> Several:
    return _values(names.eig(Tensor(a)), result)


@row("_linalg_eigvals.default", "linalg_eigvals.default")
def eigenvalues_alone(result: Type, a: Value) -> Value:
    return converted(names.eigvals(Tensor(a)).value, result.dtype)


@row("linalg_matrix_exp.default")
def matrix_exponential(result: Type, a: Value) -> Value:
    if a.dtype.compute is not a.dtype:
        raise Unsupported(f"the exponential of matrices of {a.dtype.name}")
    return matrix_functions.matrix_exp(Tensor(a)).value
