"""Linear algebra on batches of matrices: systems, factorisations, eigenvalues, determinants. LAPACK computes them.

>>> import nervure as nv
>>> Svd(nv.Parameter(nv.float64, (3, 2)))
f64[3, 2], f64[2], f64[2, 2] Svd(Parameter)

Derivatives are those of complex numbers by the convention of :mod:`nervure.autodiff.reverse`. Formulas that are known
for the other convention stand between two conjugations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.errors import DtypeMismatch, ShapeMismatch
from nervure.ir.kinds import Composite, require_admitted
from nervure.ir.op import Gradient, Gradients, Op, Operand, Value, or_zeros
from nervure.ops.arithmetic import Complex, Conjugate, Imaginary, Real
from nervure.ops.comparison import Equal, Greater, GreaterEqual
from nervure.ops.contraction import Contract
from nervure.ops.conversion import converted
from nervure.ops.iota import row_and_column
from nervure.ops.library_op import DOUBLES, SINGLES_AND_DOUBLES, LibraryOp
from nervure.ops.selection import where
from nervure.ops.views import Broadcast, Permute, Slice
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, dim_min, less_equal, same_lengths
from nervure.types.dtype import DType, complex128


class Solve(LibraryOp):
    """The matrix x with a @ x = b, by LU with partial pivoting (gesv). A singular a is a NumericError."""

    operand_names = "a b"
    core = "m m, m n -> m n"
    loop_name = "solve"
    failure = "the matrix is singular"
    remedy = "nv.linalg.lstsq and nv.linalg.pinv take singular matrices; nothing was changed by this call"

    def vjp(self, gradient: Gradient, a: Value, b: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        of_b = Solve(transposed(a), gradient).output
        return -product(of_b, transposed(self.output)), of_b


class Cholesky(LibraryOp):
    """The lower triangle l with l @ l^H = a, of which the lower triangle is read (potrf).

    An a that is not positive definite is a NumericError. The derivative is that in the lower triangle.
    """

    operand_names = "a"
    core = "m m -> m m"
    loop_name = "cholesky_lo"
    failure = "the matrix is not positive definite"
    remedy = "add a small multiple of the identity; nothing was changed by this call"

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        lower = self.output
        inner = half_lower(product(transposed(lower), gradient.value))
        left = Solve(transposed(lower), inner).output
        both = transposed(Solve(adjoint(lower), transposed(left)).output)  # left @ inverse(conj(lower))
        return (half_lower(both + adjoint(both)),)


class Reflections(LibraryOp):
    """Reflections that make a triangular (geqrf): R on and above the diagonal, the reflections below; their factors."""

    operand_names = "a"
    core = "m n -> m n, k"
    loop_name = "qr_r_raw"
    admits = DOUBLES
    writes_first = True

    def extents(self, known: Mapping[str, DimLike]) -> Mapping[str, DimLike]:
        return {"k": dim_min(known["m"], known["n"])}


class ReflectionProduct(LibraryOp):
    """The first k columns of the product of k reflections, as ``Reflections`` gives them (orgqr)."""

    operand_names = "reflections factors"
    core = "m n, k -> m k"
    loop_name = "qr_reduced"
    admits = DOUBLES


def require_tall(op: Op, a: BasicTensorDescription, help: str) -> None:
    """Raises ShapeMismatch, with a ``help``, unless a matrix has no more columns than rows."""
    if len(a.shape) < 2 or less_equal(a.shape[-1], a.shape[-2]) is not True:
        raise op.fail(ShapeMismatch, "the matrix has more columns than rows", got=a, operand=op.operand_label(0),
                      expected="at least as many rows as columns", help=help)


class Qr(Composite):
    """The product a = q @ r of a matrix with orthonormal columns and an upper triangle; a has no more columns than
    rows. A wide a has no derivative.
    """

    operand_names = "a"
    admits = DOUBLES

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        a, = types
        require_admitted(self, a, self.admits)
        require_tall(self, a, "nv.linalg.qr takes wide matrices, too")
        return a.with_(layout=None), a.with_(shape=(*a.shape[:-2], a.shape[-1], a.shape[-1]), layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[None, ...]:
        return (None, None)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {}

    def decompose(self, *operands: Value) -> tuple[Operand, ...]:
        a, = operands
        made = Reflections(a)
        raw, factors = made.outputs
        top = Slice(raw, [*[(0, length, 1) for length in a.shape[:-2]], *[(0, a.shape[-1], 1)] * 2]).output
        return ReflectionProduct(raw, factors), where(on_triangle(top, -1), 0, top)

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        q, r = self.outputs
        of_q, of_r = conjugated(gradient, self.outputs)
        inner = product(of_r, adjoint(r)) - product(adjoint(q), of_q)
        upper = where(on_triangle(inner, -1), 0, inner)
        right = of_q + product(q, halved_diagonal(upper + adjoint(upper)))
        return (conjugate(adjoint(Solve(r, adjoint(right)).output)),)


class Svd(LibraryOp):
    """The singular value decomposition a = u @ diag(s) @ vh, with the smaller number of columns of u (gesdd).

    The derivative of the vectors needs distinct singular values, and values that are not 0.
    """

    operand_names = "a"
    core = "m n -> m k, k, k n"
    loop_name = "svd_s"
    failure = "the singular values do not converge"
    extents = Reflections.extents

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return dtype, dtype.part, dtype

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        u, s, vh = self.outputs
        of_u, of_s, of_vh = conjugated(gradient, self.outputs)
        if not reaches(gradient, 0, 2):
            return (conjugate(weighted(u, of_s, vh)),)
        v, of_v, values = adjoint(vh), adjoint(of_vh), converted(s, a.dtype)
        turn_u, turn_v = product(adjoint(u), of_u), product(adjoint(v), of_v)
        turn_u, turn_v = turn_u - adjoint(turn_u), turn_v - adjoint(turn_v)
        squares = values * values
        gap = along_rows(squares) - along_columns(squares)
        on_diagonal = is_diagonal(gap)
        inner = (turn_u * along_rows(values) + along_columns(values) * turn_v) / where(on_diagonal, 1, gap)
        inner = where(on_diagonal, along_rows(converted(of_s, a.dtype)), inner)
        if a.dtype.is_complex:
            inner = inner + where(on_diagonal, turn_u / (along_rows(values) * 2), 0)
        found = product(product(u, inner), vh)
        rest_u = (of_u - product(u, product(adjoint(u), of_u))) / spread_rows(values, of_u)
        rest_v = (of_v - product(v, product(adjoint(v), of_v))) / spread_rows(values, of_v)
        return (conjugate(found + product(rest_u, vh) + product(u, adjoint(rest_v))),)


class PseudoInverse(Composite):
    """The Moore-Penrose inverse of a, where singular values up to ``zero``, one for each matrix, count as 0.

    The derivative is that for changes of a that keep its rank, whether or not singular values are distinct. See G.
    Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate", 1973, (4.12).
    """

    operand_names = "a zero"
    admits = SINGLES_AND_DOUBLES

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        a, zero = types
        require_admitted(self, a, self.admits)
        if len(a.shape) < 2 or not same_lengths(a.shape[:-2], zero.shape):
            raise self.fail(ShapeMismatch, "each matrix has one number", got=zero, operand=self.operand_label(1),
                            expected=f"a number for each matrix of {a}", help="a has two dimensions or more")
        if zero.dtype is not a.dtype.part:
            raise self.fail(DtypeMismatch, "singular values have another type", got=zero,
                            operand=self.operand_label(1), expected=a.dtype.part.name, help="insert ops.Convert")
        return a.with_(shape=(*a.shape[:-2], a.shape[-1], a.shape[-2]), layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[None, ...]:
        return (None,)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return {}

    def decompose(self, *operands: Value) -> Operand:
        a, zero = operands
        u, s, vh = Svd(a).outputs
        counts = Greater(s, Broadcast(zero, s.shape, (zero.rank,)).output).output
        return weighted(adjoint(vh), where(counts, 1 / where(counts, s, 1), 0), adjoint(u))

    def vjp(self, gradient: Gradient, a: Value, zero: Value) -> Gradients:
        inverse = self.output
        of_inverse, = conjugated(gradient, self.outputs)
        back, turned = adjoint(inverse), adjoint(of_inverse)
        left = turned - product(a, product(inverse, turned))
        right = turned - product(product(turned, inverse), a)
        found = product(product(left, inverse), back) + product(back, product(inverse, right))
        return conjugate(found - product(product(back, of_inverse), back)), None


class SingularValues(LibraryOp):
    """The singular values of a, in descending order (gesdd)."""

    operand_names = "a"
    core = "m n -> k"
    loop_name = "svd"
    failure = "the singular values do not converge"
    extents = Svd.extents

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return (dtype.part,)

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        assert isinstance(gradient, Operand)
        u, _, vh = Svd(a).outputs
        return (conjugate(weighted(u, gradient, vh)),)


class EigenHermitian(LibraryOp):
    """Eigenvalues of a symmetric or Hermitian a in ascending order, and eigenvectors as columns (syevd, heevd).

    Its lower triangle is read, and the derivative is that in it; that of the vectors needs distinct eigenvalues.
    """

    operand_names = "a"
    core = "m m -> m, m m"
    loop_name = "eigh_lo"
    failure = "the eigenvalues do not converge"

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return dtype.part, dtype

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        values, vectors = self.outputs
        of_values, of_vectors = conjugated(gradient, self.outputs)
        if not reaches(gradient, 1):
            whole = weighted(vectors, of_values, adjoint(vectors))
            return (conjugate(half_lower(whole + adjoint(whole))),)
        wide = converted(values, a.dtype)
        gap = along_rows(wide) - along_columns(wide)
        on_diagonal = is_diagonal(gap)
        inner = product(adjoint(vectors), of_vectors) / where(on_diagonal, 1, gap)
        inner = where(on_diagonal, along_rows(converted(of_values, a.dtype)), inner)
        whole = product(product(vectors, inner), adjoint(vectors))
        return (conjugate(half_lower(whole + adjoint(whole))),)


class Eigen(LibraryOp):
    """Eigenvalues of a square a, complex, and eigenvectors of length 1 as columns (geev); no order is promised.

    The derivative of the vectors needs distinct eigenvalues, and functions that do not depend on their phases.
    """

    operand_names = "a"
    core = "m m -> m, m m"
    loop_name = "eig"
    admits = DOUBLES
    failure = "the eigenvalues do not converge"

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return complex128, complex128

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        values, vectors = self.outputs
        of_values, of_vectors = conjugated(gradient, self.outputs)
        gap = conjugate(along_rows(values) - along_columns(values))
        on_diagonal = is_diagonal(gap)
        inner = gap.full(0)
        if reaches(gradient, 1):
            turn = product(adjoint(vectors), of_vectors)
            lengths = along_rows(converted(Real(diagonal_of(turn)).output, complex128))
            inner = (turn - product(adjoint(vectors), vectors) * lengths) / where(on_diagonal, 1, gap)
        inner = where(on_diagonal, along_rows(of_values), inner)
        found = Solve(adjoint(vectors), product(inner, adjoint(vectors))).output
        return (conjugate(found) if a.dtype.is_complex else Real(found),)


class LogDeterminant(LibraryOp):
    """The sign of the determinant, and the logarithm of its magnitude (getrf); 0 and -inf of a singular a."""

    operand_names = "a"
    core = "m m -> , "
    loop_name = "slogdet"

    def results(self, dtype: DType) -> tuple[DType, ...]:
        return dtype, dtype.part

    def vjp(self, gradient: Gradient, a: Value) -> Gradients:
        sign, logarithm = self.outputs
        assert isinstance(gradient, tuple)
        of_sign, of_logarithm = map(or_zeros, gradient, self.outputs)
        share = of_logarithm
        if a.dtype.is_complex:
            share = Complex(of_logarithm, Imaginary(of_sign * sign)).output
        inverse = Solve(transposed(a), identity_like(a)).output
        return (inverse * Broadcast(share, a.shape, (a.rank - 2, a.rank - 1)).output,)


# -- matrices --------------------------------------------------------------------------------------------------------


def transposed(x: Operand) -> Value:
    """Returns x with its last two dimensions swapped."""
    rank = x.rank
    return Permute(x, (*range(rank - 2), rank - 1, rank - 2)).output


def conjugate(x: Operand) -> Value:
    """Returns the conjugate of complex numbers, and real ones as they are."""
    return Conjugate(x).output if x.dtype.is_complex else x.value


def adjoint(x: Operand) -> Value:
    """Returns the conjugate of x with its last two dimensions swapped."""
    return conjugate(transposed(x))


def product(x: Operand, y: Operand) -> Value:
    """Returns the products of two batches of matrices."""
    rank = x.rank
    batch = tuple(range(rank - 2))
    return Contract(x, y, (*batch, rank - 2, rank), (*batch, rank, rank - 1), (*batch, rank - 2, rank - 1)).output


def along_rows(x: Operand) -> Value:
    """Returns square matrices with a vector as each row."""
    return Broadcast(x, (*x.shape, x.shape[-1]), (x.rank - 1,)).output


def along_columns(x: Operand) -> Value:
    """Returns square matrices with a vector as each column."""
    return Broadcast(x, (*x.shape, x.shape[-1]), (x.rank,)).output


def weighted(left: Operand, weights: Operand, right: Operand) -> Value:
    """Returns left @ diag(weights) @ right, for real or complex weights of each matrix."""
    return product(left.value * spread_rows(converted(weights.value, left.dtype), left), right)


def spread_rows(x: Operand, like: Operand) -> Value:
    """Returns matrices like others with a vector as each row."""
    return Broadcast(x, like.shape, (like.rank - 2,)).output


def on_triangle(x: Operand, offset: int) -> Value:
    """Returns where an element lies on or below the diagonal that begins ``offset`` columns to the right."""
    rows, columns = row_and_column(x.shape)
    return GreaterEqual(rows + offset, columns).output


def is_diagonal(x: Operand) -> Value:
    """Returns where an element lies on the diagonal."""
    return Equal(*row_and_column(x.shape)).output


def halved_diagonal(x: Operand) -> Value:
    """Returns matrices with half of their diagonal."""
    return where(is_diagonal(x), x.value * 0.5, x)


def half_lower(x: Operand) -> Value:
    """Returns lower triangles with half of the diagonal."""
    return halved_diagonal(where(on_triangle(x, 0), x, 0))


def diagonal_of(x: Operand) -> Value:
    """Returns the diagonals of square matrices."""
    return where(is_diagonal(x), x, 0).sum((x.rank - 1,))


def identity_like(x: Operand) -> Value:
    """Returns the identity for each of a batch of square matrices."""
    return where(is_diagonal(x), x.full(1), x.full(0))


def reaches(gradient: Gradient, *places: int) -> bool:
    """Returns whether one of the outputs at ``places`` has a gradient."""
    assert isinstance(gradient, tuple)
    return any([gradient[at] is not None for at in places])


def conjugated(gradient: Gradient, outputs: Sequence[Value]) -> list[Value]:
    """Returns the conjugates of the gradients of several outputs, with zeros for None."""
    given = gradient if isinstance(gradient, tuple) else (gradient,)
    return [or_zeros(None if entry is None else conjugate(entry), output)
            for entry, output in zip(given, outputs, strict=True)]
