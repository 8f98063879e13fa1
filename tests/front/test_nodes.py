"""Ops of users: where strings and classes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir import field
from nervure.ir.op import Op
from nervure.testing import check_grads

X, Y = nv.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), nv.constant([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])


@nv.defnode("A[~ i j] B[~ j k] -> C[~ i k]")
class MatrixProduct:
    """The product of matrices."""

    def decompose(self, a, b):
        return nv.matmul(a, b)


@nv.defnode("x[~] -> low[~] high[~]")
class Around:
    """x - by and x + by."""

    by = field.real(1.0)

    def decompose(self, x):
        return x - self.by, x + self.by


def test_a_class_and_a_string_make_a_function_of_tensors():
    """T100"""
    z = MatrixProduct(X, Y)
    assert isinstance(z, nv.Tensor) and z.shape == (2, 2) and z.tolist() == (X.numpy() @ Y.numpy()).tolist()
    assert repr(MatrixProduct) == "<node MatrixProduct: A[~ i j] B[~ j k] -> C[~ i k]>"
    assert "The product of matrices." in MatrixProduct.__doc__ and MatrixProduct.signature in MatrixProduct.__doc__
    assert issubclass(MatrixProduct.op, Op) and MatrixProduct.op.operand_names == ("A", "B")
    low, high = Around(X, by=0.5)
    assert low.tolist() == (X.numpy() - 0.5).tolist() and high.tolist() == (X.numpy() + 0.5).tolist()
    assert MatrixProduct([[1, 2]], np.float32([[3], [4]])).tolist() == [[11.0]]


def test_attributes_take_part_in_shapes():
    """T100"""
    @nv.defnode("x[n] -> y[m] where m = n*times")
    class Repeated:
        times = field.integer()

        def decompose(self, x):
            return nv.concatenate([x] * self.times, 0)

    assert Repeated(nv.constant([1.0, 2.0]), times=3).tolist() == [1.0, 2.0] * 3
    with pytest.raises(nv.InvalidArgument, match="attribute times is missing"):
        Repeated(nv.ones((2,)))


def test_what_does_not_fit_is_told_for_all_operands_at_once():
    """T101: before anything runs, with what would repair it."""
    @nv.defnode("A[~ i] B[~ i] C[~] -> D[~ i]")
    class Three:
        """Of three."""

    with pytest.raises(nv.ShapeMismatch) as caught:
        Three(nv.ones((2, 3)), nv.ones((2, 4)), nv.ones((5,)))
    error = caught.value
    assert (error.op, error.operand) == ("Three", "2 (B), 3 (C)") and error.location.file == __file__
    assert error.got == "A: f32[2, 3], B: f32[2, 4], C: f32[5]"
    assert error.expected.startswith("A: f32[2, 3], B: f32[2, 3]")
    assert error.help.count(";") == 1
    with pytest.raises(nv.ShapeMismatch, match="add a broadcastable axis") as caught:
        MatrixProduct(nv.ones((5, 2, 3)), nv.ones((3,)))
    for few, many in ((nv.ones((3, 4)), nv.ones((5, 2, 3))), (nv.ones((5, 3, 4)), nv.ones((2, 3)))):
        with pytest.raises(nv.ShapeMismatch) as caught:
            MatrixProduct(many, few)
        assert "nv.flexible(" in caught.value.help  # which repairs it, where the axis may be added in front
    assert MatrixProduct(nv.flexible(nv.ones((2, 3)), 0), nv.ones((5, 3, 4))).shape == (5, 2, 4)
    with pytest.raises(nv.InvalidArgument, match="wrong number of operands"):
        MatrixProduct(X)
    with pytest.raises(nv.DtypeMismatch, match="do not fit"):
        MatrixProduct(X, Y.astype(nv.int32))


def test_runs_are_the_same_dimensions():
    """T101: nothing is broadcast, not even what the front's own operators would."""
    for wrong in (nv.ones((1, 3, 2)), nv.ones((3, 2)), nv.ones((5, 5, 3, 2))):
        with pytest.raises(nv.ShapeMismatch):
            MatrixProduct(nv.ones((5, 2, 3)), wrong)
    assert MatrixProduct(nv.ones((5, 2, 3)), nv.ones((5, 3, 2))).shape == (5, 2, 2)
    n = nv.dim("n")
    x = nv.placeholder((n, 2, 3))
    assert MatrixProduct(x, nv.placeholder((n, 3, 4))).shape == (n, 2, 4)


def test_a_rank_is_raised_at_a_flexible_axis_alone():
    """T102"""
    w = nv.variable((3, 2), Y.numpy())
    marked = nv.flexible(w, 0)
    batch = nv.constant(np.arange(30, dtype=np.float32).reshape(5, 2, 3))
    assert MatrixProduct(batch, marked).tolist() == (batch.numpy() @ Y.numpy()).tolist()
    assert MatrixProduct(X, marked).shape == (2, 2)
    deeper = nv.constant(np.arange(60, dtype=np.float32).reshape(2, 5, 2, 3))
    assert MatrixProduct(deeper, marked).tolist() == (deeper.numpy() @ Y.numpy()).tolist()
    assert nv.deriv(nv.sum(MatrixProduct(batch, marked)), w).tolist() == batch.numpy().sum((0, 1))[:, None].repeat(
        2, 1).tolist()
    for wrong in (marked, nv.flexible(w, 1)):
        with pytest.raises(nv.ShapeMismatch):
            MatrixProduct(nv.ones((5, 2, 4)), wrong)


def test_derivatives_follow_from_the_decomposition():
    """T103"""
    check_grads(lambda x, y: nv.sum(MatrixProduct(x, y) ** 2), [X.numpy(), Y.numpy()])
    check_grads(lambda x: nv.sum(nv.multiply(*Around(x))), [X.numpy()])


def test_a_derivative_by_hand_comes_first():
    """T103: it gets tensors, and a tuple of gradients where there are several results."""
    given = []

    @nv.defnode("x[~] -> y[~]")
    class Straight:
        def decompose(self, x):
            return nv.round(x)

        def vjp(self, gradient, x):
            given.append((type(gradient), type(x)))
            return (gradient * 3,)

    x = nv.variable((2,), [0.4, 1.6])
    assert nv.deriv(nv.sum(Straight(x)), x).tolist() == [3.0, 3.0] and Straight(x).tolist() == [0.0, 2.0]
    assert given == [(nv.Tensor, nv.Tensor)]

    @nv.defnode("x[~] -> y[~] z[~]")
    class Twice:
        def decompose(self, x):
            return x * 1, x * 1

        def vjp(self, gradients, x):
            left, right = gradients
            return left * 5 + (0 if right is None else right * 7)

    left, right = Twice(x)
    assert nv.deriv(nv.sum(left) + 2 * nv.sum(right), x).tolist() == [19.0, 19.0]


def test_names_of_axes_pass_on():
    """T105"""
    x, w = nv.ones("N=2, F=3"), nv.ones("F=3, K=4")
    assert str(MatrixProduct(x, w).axes) == "(N: 2, K: 4)"
    assert not MatrixProduct(x, nv.ones((3, 4))).is_named

    @nv.defnode("x[~ n] -> y[~ m] where m = n*2")
    class Doubled:
        def decompose(self, x):
            return nv.concatenate([x, x], -1)

    assert not Doubled(nv.ones((3,))).is_named


def test_a_scalar_expression_is_an_elementwise_op():
    """T106"""
    @nv.defnode("x[~] y[~] -> z[~]")
    class Hypotenuse:
        def evaluate(self, s, x, y):
            return s.sqrt(s.add(s.multiply(x, x), s.multiply(y, y)))

    z = Hypotenuse(nv.constant([3.0, 5.0]), nv.constant([4.0, 12.0]))
    assert z.tolist() == [5.0, 13.0]
    with nv.transformers.make_transformer("interpreter") as interpreter:
        assert nv.computation(z, transformer=interpreter)().tolist() == [5.0, 13.0]
    with pytest.raises(nv.InvalidArgument, match="for operands and a result of one shape"):
        @nv.defnode("x[n] y[m] -> z[n]")
        class Uneven:
            def evaluate(self, s, x, y):
                return x


def test_einsum_takes_where_strings():
    """T107"""
    batch = nv.constant(np.arange(30, dtype=np.float32).reshape(5, 2, 3))
    other = nv.constant(np.arange(60, dtype=np.float32).reshape(5, 3, 4))
    got = nv.einsum("A[~ i j] B[~ j k] -> C[~ k i]", batch, other)
    assert got.tolist() == np.swapaxes(batch.numpy() @ other.numpy(), 1, 2).tolist()
    assert nv.einsum("x[i] -> y[]", [1, 2, 3]).item() == 6.0
    for where, error in [("A[~ i j] B[~ j k] -> C[~ i k]", nv.ShapeMismatch), ("A[~ 2 i] B[~ i j] -> C[~ j]",
                         nv.InvalidArgument), ("A[~ i j] B[~ j i] -> C[~] D[~]", nv.InvalidArgument)]:
        with pytest.raises(error) as caught:
            nv.einsum(where, batch, nv.ones((3, 4)) if error is nv.ShapeMismatch else batch.mT)
        assert caught.value.op == "einsum"


@pytest.mark.parametrize(("where", "cls", "message"), [
    (3, object, "defnode takes a where string"), ("A[~] -> B[~]", len, "defnode stands before a class"),
    ("A[~] B[~]", type("Arrowless", (), {}), "a signature needs an arrow"),
    ("A[~] -> B[~ k]", type("Unbound", (), {}), "nothing binds k"),
    ("A[~] -> B[~]", type("Sin", (), {}), "an op named Sin is built in")])
def test_what_declares_no_op_is_told_at_once(where, cls, message):
    """T108"""
    with pytest.raises(nv.NervureError, match=message):
        nv.defnode(where)(cls)


def test_an_op_without_a_meaning_runs_nowhere():
    """T75, T100: until something is implemented for a device."""
    @nv.defnode("x[~] -> y[~]")
    class Unwritten:
        """Declared, not more."""

    with pytest.raises(nv.NotSupported, match="Unwritten"):
        Unwritten(X).numpy()
