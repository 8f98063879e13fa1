"""Random vectors and matrices: in a ball, with a covariance, orthonormal columns; counts of several outcomes.

>>> import nervure as nv
>>> x = nv.evaluate(nv.random.multivariate_normal((20_000, 2), [1.0, 0.0], [[2.0, 1.0], [1.0, 1.0]]))
>>> bool(np.allclose(np.cov(x.T), [[2, 1], [1, 1]], atol=0.1)), bool(np.allclose(x.mean(axis=0), [1, 0], atol=0.1))
(True, True)
"""

from __future__ import annotations

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front.argument_parsing import position_of, real
from nervure.front.arranging.diagonals import diagonal
from nervure.front.arranging.filled import full
from nervure.front.arranging.joining import concatenate
from nervure.front.arranging.rearranging import moveaxis
from nervure.front.arranging.views import expand_dims, matrix_transposed, squeeze
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.matrices.factorisations import cholesky, qr
from nervure.front.op_functions import absolute, add, divide, greater, multiply, subtract
from nervure.front.pointwise.elementwise import as_floats, clip, convert, power, where
from nervure.front.random import normal
from nervure.front.statistics.prefixes import cumsum
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Operand, Tensor, TensorLike
from nervure.random.counts import binomial
from nervure.random.gammas import generalized_normal
from nervure.random.numbers import check_chances, exponentials, finished, floats, parameter, spread
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, AxisLike
from nervure.types.dim import equal, less_equal
from nervure.types.dtype import DTypeLike, as_dtype, float32, float64, int64


def ball(axes: AxesLike, p: float = 2.0, axis: AxisLike = -1, dtype: DTypeLike = float32) -> Tensor:
    """Draws vectors along ``axis`` evenly from those whose norm of order ``p`` is at most 1.

    See F. Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball", 2005: numbers with density
    exp(-abs(x) ** p), over a power of their sum and an exponential number.

    >>> x = nv.evaluate(nv.random.ball((10_000, 2)))
    >>> radius = np.hypot(*x.T)
    >>> bool(radius.max() <= 1), bool(abs((radius < 0.5).mean() - 0.25) < 0.02)
    (True, True)
    """
    own, wanted, working = floats(axes, dtype, "ball")
    if not real(p, "ball", "p") > 0:
        raise InvalidArgument("the order of a norm is positive", op="ball", operand="p", got=p, expected="more than 0",
                              help="2.0 is the length")
    numbers = generalized_normal(own, p, dtype=working)
    at = position_of(numbers, axis, "ball")
    plain = Tensor(numbers.value)
    sums = total(power(absolute(plain), p), axis=at, keepdims=True)
    rest = Tensor(exponentials(own.resized(at, 1), working).value)
    found = divide(plain, power(add(sums, rest), 1 / p))
    return finished(Tensor(found.value, numbers._axes), own, wanted, "ball")


@in_order
def multivariate_normal(axes: AxesLike, mean: Operand, covariance: TensorLike, dtype: DTypeLike = float32) -> Tensor:
    """Draws vectors along the last of ``axes`` from the normal distribution with a ``mean`` and a ``covariance``.

    They are mean + l @ z, where l is the Cholesky factor of the covariance, one positive definite matrix without names,
    or a batch that broadcasts. Derivatives go to both.

    >>> nv.random.multivariate_normal("N=3, F=2", 0.0, [[1.0, 0.0], [0.0, 4.0]]).shape
    (3, 2)
    """
    own, wanted, working = floats(axes, dtype, "multivariate_normal")
    given = convert(as_floats(covariance, "multivariate_normal", 3), working)
    if not len(own) or given.is_named or given.ndim < 2 or equal(given.type.shape[-1], own.lengths[-1]) is False:
        raise ShapeMismatch("the covariance is a matrix over the last axis", op="multivariate_normal",
                            operand="covariance", got=str(given.axes),
                            expected=f"({own.lengths[-1]}, {own.lengths[-1]})" if len(own) else "axes of vectors",
                            help="the last of the axes has a component of the vectors for each row")
    z = expand_dims(Tensor(normal(own, dtype=working).value), -2)
    moved = squeeze(matmul(z, matrix_transposed(cholesky(given))), -2)
    named = Tensor(moved.value, None if own.is_anonymous else own)
    return finished(add(named, parameter(mean, "multivariate_normal", "mean")), own, wanted, "multivariate_normal")


def orthogonal(axes: AxesLike, dtype: DTypeLike = float32) -> Tensor:
    """Draws matrices in the last two of ``axes`` evenly from those with orthonormal columns, or rows if there are more.

    They are the Q of a normal matrix, with the signs that make the diagonal of R positive (Mezzadri 2007).

    >>> x = nv.evaluate(nv.random.orthogonal((5, 3)))
    >>> bool(np.allclose(x.T @ x, np.eye(3), atol=1e-5))
    True
    """
    own, wanted, working = floats(axes, dtype, "orthogonal")
    if len(own) < 2:
        raise ShapeMismatch("a matrix has two axes", op="orthogonal", operand="axes", got=str(own),
                            expected="2 axes or more", help="(n, n) is one square matrix")
    numbers = Tensor(normal(own, dtype=working).value)
    is_tall = less_equal(own.lengths[-1], own.lengths[-2]) is True
    q, r = qr(numbers if is_tall else matrix_transposed(numbers))
    q = multiply(q, expand_dims(where(greater(diagonal(r, 0, -2, -1), 0), 1.0, -1.0), -2))
    found = q if is_tall else matrix_transposed(q)
    return convert(Tensor(found.value, None if own.is_anonymous else own), wanted)


@in_order
def multinomial(axes: AxesLike, n: Operand, p: TensorLike, axis: AxisLike = -1, dtype: DTypeLike = int64) -> Tensor:
    """Draws how often each outcome along ``axis`` occurs among ``n`` trials, with chances in proportion to ``p``.

    ``p`` is a vector over that axis, or over the last axes of the result. Each count is binomial among the trials that
    are left, from the first outcome on.

    >>> x = nv.evaluate(nv.random.multinomial((5000, 3), 10, [0.5, 0.3, 0.2]))
    >>> bool((x.sum(axis=1) == 10).all()), bool(np.allclose(x.mean(axis=0), [5, 3, 2], atol=0.2))
    (True, True)
    """
    like = full(axes, 1.0, float64)
    at, wanted = position_of(like, axis, "multinomial"), as_dtype(dtype)
    chances = convert(as_tensor(p, "multinomial", 3), float64)
    if chances.ndim == 1 and not chances.is_named:
        check_chances(chances, like.type.shape[at], "multinomial")
        for _ in range(like.ndim - at - 1):
            chances = expand_dims(chances, -1)
        chances = Tensor(multiply(Tensor(like.value), chances).value, like._axes)
    rows = moveaxis(Tensor(spread(chances, like.axes, float64, "multinomial").value), at, 0)
    behind = total(rows, axis=0, keepdims=True) - cumsum(rows, 0) + rows
    share = clip(divide(rows, where(greater(behind, 0), behind, 1.0)), 0.0, 1.0)
    others = Axes([each for d, each in enumerate(like.axes) if d != at])
    trials = spread(parameter(n, "multinomial", "n", 0.0, True), others, float64, "multinomial")
    places = others.lengths

    def counted(left: Tensor, chance: Tensor) -> tuple[Tensor, Tensor]:
        number = binomial(places, left, chance, float64)
        return subtract(left, number), number
    left, found = scan(counted, Tensor(trials.value), share[:-1])
    last = expand_dims(left, 0)
    return convert(Tensor(moveaxis(concatenate([found, last], 0), 0, at).value, like._axes), wanted)


__all__ = ["ball", "multinomial", "multivariate_normal", "orthogonal"]

explain_keywords(globals(), __all__)
