"""Dot products by axes and by offsets, matmul and einsum. Values are those of ``np.einsum``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nervure as nv
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.types.axis import axis, match
from nervure.types.dim import dim

pytestmark = pytest.mark.filterwarnings("ignore:dot. every axis")

LENGTHS = {"N": 2, "C": 3, "H": 4, "W": 5, "K": 6, "M": 7}
H, W, N = axis("H", 4), axis("W", 5), axis("N", 2)


def random(*shape):
    return np.random.default_rng([7, *shape]).standard_normal(shape)


def tensor(*axes):
    """A constant with these axes (or the axes of these letters), and its array."""
    listed = [axis(letter, LENGTHS[letter]) for letter in axes[0]] if axes and isinstance(axes[0], str) else list(axes)
    array = random(*[one.length for one in listed])
    return nv.constant(array, axes=listed, dtype=nv.float64), array


def labels(x):
    return [one.label for one in x.axes]


def check(product, expected, axes):
    assert labels(product) == axes
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("left", "right"), [("HW", "WH"), ("HW", "HW"), ("NHW", "WNH")])
def test_a_product_of_which_nothing_is_left_warns(left, right):
    """A283: it names what keeps an axis; ``out_axes=()`` says that a number is meant, and is as quiet as all others."""
    (x, a), (y, _) = tensor(left), tensor(right)
    with pytest.warns(UserWarning, match="nv.map_roles") as caught:
        product = x @ y
    assert caught[0].filename == __file__ and product.axes == nv.make_axes(())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nv.dot(x, y, out_axes=()).item() == product.item()
        kept = nv.map_roles(y, {left[0]: "K"})
        assert labels(nv.dot(x, kept)) == [left[0], "K"]
        assert nv.dot(x.T, x).item() == nv.dot(nv.flatten(x), nv.flatten(x)).item() == pytest.approx((a * a).sum())
        assert labels(nv.dot(x, y, batch=left[0])) == [left[0]] and nv.dot(nv.ones("H=3"), nv.ones("H=3")).item() == 3


def test_out_axes_are_those_of_the_result():
    """A282: in another order."""
    (x, a), (y, b) = tensor("HW"), tensor("WN")
    check(nv.dot(x, y, out_axes=["N", "H"]), (a @ b).T, ["N", "H"])
    for wrong in ((), "H", ["H", "K"], ["H", "W"]):
        with pytest.raises(nv.NervureError):
            nv.dot(x, y, out_axes=wrong)


@pytest.mark.parametrize(("left", "right", "result"), [
    ("HW", "WN", "HN"), ("MCHW", "CHWN", "MN"), ("MCHW", "HNCW", "MN"), ("WMHC", "CHWN", "MN"), ("HW", "HW", ""),
    ("HW", "NC", "HWNC"), ("H", "", "H"), ("", "H", "H"), ("HW", "H", "W"), ("NHW", "WK", "NHK")])
def test_plain(left, right, result):
    """A100, A101, A102, A112: every axis that matches is contracted, in whatever order; none: the outer product."""
    (x, a), (y, b) = tensor(left), tensor(right)
    check(nv.dot(x, y), np.einsum(f"{left},{right}->{result}", a, b), list(result))


@given(st.lists(st.sampled_from("NCHW"), unique=True), st.lists(st.sampled_from("NCHW"), unique=True))
def test_plain_for_any_axes(left, right):
    """A100, A112 for any two operands."""
    (x, a), (y, b) = (tensor("".join(letters)) for letters in (left, right))
    result = [one for one in left if one not in right] + [one for one in right if one not in left]
    check(nv.dot(x, y), np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b), result)


def test_flattened_axes():
    """A101: a flattened axis survives, and is contracted with its like alone."""
    flat = nv.FlattenedAxis([H, W])
    (x, a), (y, b) = tensor(N, flat), tensor(flat, axis("K", 6))
    check(nv.dot(x, y), a @ b, ["N", "K"])
    product = nv.dot(x, tensor(N)[0])
    assert product.axes[0] is flat and nv.unflatten(product).shape == (4, 5)
    assert nv.dot(x, tensor("HW")[0]).ndim == 4


def test_one_class_of_two_lengths():
    """A103: fine where one pair of the class contracts; AxisMismatch where none does."""
    first, second = axis("F", 7), axis("F", 3)
    (x, a), (y, b) = tensor(N, first), tensor(first, second)
    check(nv.dot(x, y), a @ b, ["N", "F"])
    assert nv.dot(x, y).shape == (2, 3)
    with pytest.raises(AxisMismatch, match="axis F has two lengths") as caught:
        nv.dot(x, tensor(second)[0])
    assert (caught.value.got, caught.value.expected, caught.value.op) == ("F: 3", "F: 7", "dot")
    assert "nv.outer" in caught.value.help


def test_offsets():
    """A104, A105: level n on the left meets level n + 1 of its class and length on the right, and nothing else
    contracts.
    """
    (x, a), (y, b) = tensor(H, W.offset(-1)), tensor(W, N)
    check(nv.dot(x, y), a @ b, ["H", "N"])
    (w, a), (h, b) = tensor(H, H.offset(-1)), tensor(H, N)
    check(nv.dot(w, h), a @ b, ["H", "N"])
    (x, a), (y, b) = tensor(H, W.offset(-1)), tensor(W, H.offset(1))
    check(nv.dot(x, y), np.einsum("hw,wh->", a, b), [])
    (x, a), (y, b) = tensor(N, H, W.offset(-1)), tensor(W, H.offset(2))
    check(nv.dot(x, y), np.einsum("nhw,wk->nhk", a, b), ["N", "H", "H+2"])


def test_offsets_compare_class_and_length():
    """A104: of one class, the axis of the same length."""
    (x, a), (y, b) = tensor(N, axis("F", 7).offset(-1)), tensor(axis("F", 7), axis("F", 3))
    check(nv.dot(x, y), a @ b, ["N", "F"])
    with pytest.raises(AxisMismatch, match="no axis contracts"):
        nv.dot(x, tensor(axis("F", 3))[0])


def test_nothing_contracts():
    """A106: the levels are shown, nv.outer is named, and dropping a .T is advised where that would contract."""
    (x, _), (y, _) = tensor(H, W), tensor(W, N)
    with pytest.raises(AxisMismatch, match="no axis contracts") as caught:
        nv.dot(x, y.T)
    error = caught.value
    assert error.got == "H[0] W[0] with W-1[-1] N-1[-1]" and "nv.outer" in error.help and "drop the .T" in error.help
    with pytest.raises(AxisMismatch) as caught:
        nv.dot(tensor(H.offset(-1))[0], tensor(W)[0])
    assert "nv.outer" in caught.value.help and ".T" not in caught.value.help
    assert nv.dot(x.T, nv.constant(2.0)).shape == (4, 5)


def test_an_axis_twice_in_the_result():
    """A107: a ValueError that names the axis."""
    with pytest.raises(InvalidArgument, match="axis N would occur twice in the result") as caught:
        nv.dot(tensor(N, H.offset(-1))[0], tensor(H, N)[0])
    assert "nv.map_roles" in caught.value.help
    with pytest.raises(InvalidArgument, match="would occur twice"):
        nv.outer(tensor(H)[0], tensor(H)[0])


def test_transposed():
    """A108: the same elements in the same order, every level l as -1 - l; for anonymous tensors NumPy's."""
    x, a = tensor(N, H.offset(-1), W.offset(2))
    assert [one.level for one in x.T.axes] == [-1, 0, -3] and x.T.T.axes == x.axes
    np.testing.assert_array_equal(x.T.numpy(), a)
    assert x.T.value is x.value
    plain = nv.constant(random(2, 3, 4))
    np.testing.assert_array_equal(plain.T.numpy(), plain.numpy().T)
    np.testing.assert_array_equal(plain.mT.numpy(), plain.numpy().swapaxes(1, 2))


@st.composite
def products_by_offsets(draw):
    """Two operands of axes of a few classes and levels whose dot is by offsets and defined."""
    classes = st.sampled_from([H, W, N])
    axes = st.lists(st.tuples(classes, st.integers(-2, 1)), max_size=3, unique=True)
    left, right = ([one.offset(level) for one, level in draw(axes)] for _ in range(2))
    assume(any(one.level for one in (*left, *right)))
    pairs = [(one, other) for one in left for other in right if match(one.offset(1), other)]
    assume(pairs or not left or not right)
    kept = [one for one in left if one not in [pair[0] for pair in pairs]]
    kept += [one for one in right if one not in [pair[1] for pair in pairs]]
    assume(len(set(kept)) == len(kept))
    return left, right


@given(products_by_offsets())
def test_the_law_of_transposition(case):
    """A109: dot(x, y) is dot(y.T, x.T).T, up to the order of axes."""
    (x, _), (y, _) = (tensor(*axes) for axes in case)
    one, other = nv.dot(x, y), nv.dot(y.T, x.T).T
    assert one.axes.is_equal_set(other.axes)
    np.testing.assert_allclose(one.numpy(), nv.axes_with_order(other, one.axes).numpy(), rtol=1e-12)


@pytest.mark.parametrize("letters", ["", "H", "HW", "NCHW"])
def test_the_norm(letters):
    """A110: dot(x.T, x) is the squared L2 norm where all levels are 0."""
    x, a = tensor(letters)
    check(nv.dot(x.T, x), np.sum(a * a), [])


def test_batch_axes():
    """A111, A112: they must be in both, and stay where x has them."""
    (x, a), (y, b) = tensor("NHW"), tensor("WKN")
    check(nv.dot(x, y, batch="N"), np.einsum("nhw,wkn->nhk", a, b), ["N", "H", "K"])
    (x, a), (y, b) = tensor("HNWC"), tensor("CWN")
    check(nv.dot(x, y, batch=["N", axis("W", 5)]), np.einsum("hnwc,cwn->hnw", a, b), ["H", "N", "W"])
    with pytest.raises(AxisMismatch, match="batch axis N is not in both") as caught:
        nv.dot(tensor("NH")[0], tensor("H")[0], batch="N")
    assert caught.value.operand == "2"
    with pytest.raises(AxisMismatch, match="no axis is named"):
        nv.dot(tensor("H")[0], tensor("NH")[0], batch="N")


def test_einsum_over_names():
    """A113: terms of axis names; each must name every axis of its operand, in any order."""
    (x, a), (w, b) = tensor("NHW"), tensor("WK")
    check(nv.einsum("N H W, W K -> N H K", x, w), a @ b, ["N", "H", "K"])
    check(nv.einsum("W N H, K W -> K N", x, w), np.einsum("nhw,wk->kn", a, b), ["K", "N"])
    check(nv.einsum("N H W -> H", x), a.sum((0, 2)), ["H"])
    (y, c), (z, d) = tensor("H"), tensor("W")
    check(nv.einsum("H, W, W K -> K H", y, z, w), np.einsum("h,w,wk->kh", c, d, b), ["K", "H"])


@pytest.mark.parametrize(("text", "message"), [
    ("N H W, W K", "a term for each operand"), ("N H W -> N", "a term for each operand"),
    ("N H, W K -> N", "must name every axis"), ("N H W, W K -> Q", "in no term"),
    ("N H V, W K -> N", "no axis is named")])
def test_einsum_errors(text, message):
    """A113: what does not fit is a ValueError."""
    with pytest.raises(ValueError, match=message):
        nv.einsum(text, tensor("NHW")[0], tensor("WK")[0])


@pytest.mark.parametrize("text", ["ij,jk->ik", "ij,kj", "ij->ji", "ii->i", "ij,jk,k->i", "i,j->ij", "...j,j->..."])
def test_einsum_over_letters(text):
    """A113: anonymous tensors go by letters, as NumPy's."""
    sizes = {"i": 3, "j": 4, "k": 5}
    if "ii" in text:
        arrays = [random(3, 3)]
    else:
        arrays = [random(*([2] if "." in term else []), *[sizes[one] for one in term.replace(".", "")])
                  for term in text.split("->")[0].split(",")]
    result = nv.einsum(text, *[nv.constant(array, dtype=nv.float64) for array in arrays])
    np.testing.assert_allclose(result.numpy(), np.einsum(text, *arrays), rtol=1e-12)


def test_the_operator():
    """A114: @ is dot for named, matmul for anonymous tensors."""
    (x, a), (y, b) = tensor("HW"), tensor("NW")
    check(x @ y, a @ b.T, ["H", "N"])
    left, right = nv.constant(random(2, 3, 4)), nv.constant(random(4, 5))
    np.testing.assert_allclose((left @ right).numpy(), left.numpy() @ right.numpy(), rtol=1e-5)
    with pytest.raises(TypeError):
        x @ "no"


@pytest.mark.parametrize(("left", "right"), [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((), (3,)),
    ((2, 3), ()), ((5, 2, 3), (6, 3, 4))])
def test_dot_of_anonymous_tensors(left, right):
    """A115: NumPy's dot."""
    a, b = random(*left), random(*right)
    result = nv.dot(nv.constant(a, dtype=nv.float64), nv.constant(b, dtype=nv.float64))
    np.testing.assert_allclose(result.numpy(), np.dot(a, b), rtol=1e-12)


@pytest.mark.parametrize(("left", "right"), [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 2))])
def test_matmul(left, right):
    """A116: NumPy's matmul, for anonymous tensors only."""
    a, b = random(*left), random(*right)
    result = nv.matmul(nv.constant(a, dtype=nv.float64), nv.constant(b, dtype=nv.float64))
    np.testing.assert_allclose(result.numpy(), a @ b, rtol=1e-12)


def test_what_matmul_refuses():
    """A116: scalars, names, inner lengths that differ."""
    with pytest.raises(ShapeMismatch, match="a scalar has no matrix product"):
        nv.matmul(nv.constant(1.0), nv.zeros((2, 2)))
    with pytest.raises(AxisMismatch, match="by positions"):
        nv.matmul(tensor("HW")[0], nv.zeros((5, 2)))
    for product in (nv.matmul, nv.dot):
        with pytest.raises(ShapeMismatch):
            product(nv.zeros((2, 3)), nv.zeros((4, 2)))


def test_unknown_lengths():
    """A117: they are assumed to be equal, and checked by every call."""
    for x, y in ((nv.placeholder("N=2, H=n"), nv.placeholder("H=m, K=3")),
                 (nv.placeholder((2, dim("n"))), nv.placeholder((dim("m"), 3)))):
        f = nv.computation(nv.dot(x, y), x, y)
        a, b = np.float32(random(2, 4)), np.float32(random(4, 3))
        np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5)
        with pytest.raises(ValueError, match="m|n"):
            f(a, b[:3])


UNKNOWN = {"matmul": (nv.matmul, ("n", 2, 3), ("m", 3, 2)), "vector": (nv.matmul, (2, "n"), ("m",)),
           "letters": (lambda x, y: nv.einsum("ij,jk->ik", x, y), (2, "n"), ("m", 3)),
           "dots": (lambda x, y: nv.einsum("...ij,...jk->...ik", x, y), ("n", 2, 3), ("m", 3, 2)),
           "where": (lambda x, y: nv.einsum("A[~ i j] B[~ j k] -> C[~ i k]", x, y), ("n", 2, 3), ("m", 3, 2)),
           "kept": (lambda x, y: nv.einsum("ij,ij->i", x, y), ("n", 2), ("m", 2)),
           "diagonal": (lambda x, y: nv.einsum("ii,j->ij", x, y), ("n", "n"), ("m",)),
           "dot": (nv.dot, (2, "n"), (3, "m", 2))}


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("n, m", [(dim("n"), 4), (4, dim("m")), (dim("n"), dim("m"))], ids=str)
def test_unknown_lengths_of_anonymous_axes(name, n, m):
    """A68, A117: a symbol against a number, a number against a symbol, and two symbols; a length that differs in a call
    is an error, even a 1.
    """
    product, *shapes = UNKNOWN[name]
    x, y = [nv.placeholder(tuple([{"n": n, "m": m}.get(one, one) for one in shape])) for shape in shapes]
    f = nv.computation(product(x, y), x, y)

    def arrays(n, m):
        return [random(*[{"n": n, "m": m}.get(one, one) for one in shape]).astype(np.float32) for shape in shapes]

    a, b = arrays(4, 4)
    np.testing.assert_allclose(f(a, b), product(a, b).numpy(), rtol=1e-4, atol=1e-6)
    if name != "diagonal":
        for wrong in ((4, 3), (5, 4), (4, 1)):
            with pytest.raises(ShapeMismatch):
                f(*arrays(*wrong))


def test_a_product_with_a_number_has_a_number():
    """A117: the number is the length of the result; what cannot be equal, and what is no sum at all, is an error."""
    x, y = nv.placeholder((dim("n"), 2, 3)), nv.placeholder((5, 3, 2))
    assert nv.matmul(x, y).shape == nv.matmul(y, x)[:, :2, :2].shape == (5, 2, 2)
    assert nv.matmul(x, nv.zeros((1, 3, 2))).shape[0] is x.shape[0]
    for subscripts in ("bij,bkj->bik", "bij,bjkl->bi", "bij,bjk->bz", "bij->b"):
        with pytest.raises(ValueError):
            nv.einsum(subscripts, x, y)
    square = nv.einsum("ii->i", nv.placeholder((dim("n"), 3)))
    assert square.shape == (3,)


def test_outer():
    """A118: nothing is contracted."""
    (x, a), (y, b) = tensor("HW"), tensor("N")
    check(nv.outer(x, y), np.multiply.outer(a, b), ["H", "W", "N"])
    check(nv.outer(x, tensor(H.offset(1))[0]), np.multiply.outer(a, random(4)), ["H", "W", "H+1"])
    plain = nv.outer(nv.constant(a, dtype=nv.float64), nv.constant(b, dtype=nv.float64))
    np.testing.assert_array_equal(plain.numpy(), np.multiply.outer(a, b))


def test_types_are_promoted():
    """A119: as elementwise operands are."""
    x, y = nv.placeholder("H=4", nv.int8), nv.placeholder("H=4", nv.float16)
    assert nv.dot(x, y).dtype is nv.float16
    assert nv.einsum("H, H ->", x, y).dtype is nv.float16
    with pytest.raises(WrongKind):
        nv.dot(x, "no")


def test_names_are_lent_to_dot():
    """A119: an anonymous operand of equal rank and lengths takes the names."""
    x, a = tensor("HW")
    check(nv.dot(x, random(4, 5)), np.sum(a * random(4, 5)), [])
    with pytest.raises(AxisMismatch, match="has no axis names"):
        nv.dot(x, nv.zeros((5, 3)))


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)], ids=str)
def test_a_matrix_that_can_be_read_in_two_ways_needs_names(shape):
    """A257: by position it is a sum of products, for NumPy a matrix product; a vector is one thing for both."""
    batch = [N] if len(shape) == 3 else []
    a, y = random(*shape) + 1, random(*shape)
    x = nv.constant(a, axes=[*batch, H, axis("F", 4)], dtype=nv.float64)
    for product in (lambda: x @ y, lambda: y @ x, lambda: nv.dot(x, y), lambda: nv.dot(nv.constant(y), x),
                    lambda: x.dot(y)):
        with pytest.raises(AxisMismatch, match="two ways") as caught:
            product()
        assert "cast_axes" in caught.value.help
    for product in (nv.matmul, lambda x, y: nv.einsum("H F, F K -> H K", x, y)):
        with pytest.raises(AxisMismatch):
            product(x, y)
    named = nv.cast_axes(nv.constant(y, dtype=nv.float64), x.axes)
    check(nv.dot(x, named), np.sum(a * y), [])
    check(nv.dot(x, y, batch="F"), np.sum(a * y, tuple(range(len(shape) - 1))), ["F"])
    vector = nv.constant([1.0, 2.0], axes="F=2")
    assert (vector @ np.float32([3, 4])).item() == 11.0


@pytest.mark.parametrize(("left", "right"), [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)])
def test_the_sum_may_have_a_wider_type(left, right):
    """O49, O66."""
    generator = np.random.default_rng(0)
    x, y = [generator.integers(0, 256, (2, 3, 3), np.uint8).view(dtype) for dtype in (left, right)]
    wide = [entry.astype(np.int32) for entry in (x, y)]
    made = {"matmul": (nv.matmul(x, y, dtype=nv.int32), np.matmul(*wide)),
            "dot": (nv.dot(x, y, dtype="int32"), np.dot(*wide)),
            "outer": (nv.outer(x, y, dtype=np.int32), np.multiply.outer(*wide)),
            "einsum": (nv.einsum("bij,bjk->k", x, y, dtype=nv.int32), np.einsum("bij,bjk->k", *wide))}
    for name, (result, expected) in made.items():
        assert result.dtype is nv.int32, name
        np.testing.assert_array_equal(result.numpy(), expected, err_msg=name)
    named = [nv.constant(entry[0], axes=axes, dtype=entry.dtype) for entry, axes in ((x, "I=3, J=3"), (y, "J=3, K=3"))]
    np.testing.assert_array_equal(nv.dot(*named, dtype=nv.int32).numpy(), wide[0][0] @ wide[1][0])


def test_a_sum_of_bytes_wraps_unless_its_type_is_said():
    """O66."""
    x = np.full((1, 2), 200, np.uint8)
    assert nv.matmul(x, x.T).tolist() == [[80000 % 256]]
    assert nv.matmul(x, x.T, dtype=nv.uint16).tolist() == [[80000 % 65536]]


@pytest.mark.parametrize("call", [nv.matmul, nv.dot, nv.outer, lambda *xs, dtype: nv.einsum("i,i", *xs, dtype=dtype)])
def test_the_type_of_a_sum_holds_its_operands(call):
    """O66."""
    x = np.ones(3, np.float32)
    with pytest.raises(WrongKind) as caught:
        call(x, x, dtype=nv.int32)
    assert caught.value.operand == "dtype" and caught.value.got == "int32" and "float32" in caught.value.expected


def test_gradients():
    """A100, A104, A111: derivatives of every form, twice."""
    nv.testing.check_grads(lambda x, y: nv.dot(x, y), [tensor("HW")[0], tensor("WN")[0]])
    nv.testing.check_grads(lambda x, y: nv.dot(x, y, batch="N"), [tensor("NHW")[0], tensor("WN")[0]])
    nv.testing.check_grads(lambda w, h: nv.dot(w, nv.tanh(nv.dot(w, h))), [tensor(H, H.offset(-1))[0], tensor(H)[0]])
    nv.testing.check_grads(lambda x, y: x @ y, [random(3, 2, 4), random(4, 2)])
    nv.testing.check_grads(lambda x, y: nv.einsum("ij,jk->k", x, y), [random(3, 4), random(4, 2)])


def test_products_assume_lengths_that_no_one_knows_to_differ():
    n, m = nv.dim("n"), nv.dim("m")
    x, y = nv.placeholder((2, n)), nv.placeholder((2, m))
    compute = nv.computation([nv.inner(x, y), nv.vdot(x, y), nv.tensordot(x, y)], x, y)
    a, b = random(2, 3), random(2, 3)
    for found, expected in zip(compute(a, b), (np.inner(a, b), np.vdot(a, b), np.tensordot(a, b)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(nv.ShapeMismatch, match="inner: m = n does not hold"):
        compute(a, random(2, 4))
