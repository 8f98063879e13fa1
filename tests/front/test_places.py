"""Index grids, choices, edits, bits, segments and roots: what NumPy lacks or says otherwise, symbols, names,
derivatives, errors.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nervure as nv

RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 3)).astype(np.float32)
SEGMENTS = np.array([1, 0, 3, 1, 1, 0])


@pytest.fixture(autouse=True)
def oracle(monkeypatch):
    """What is asked for at once is interpreted, so that little is compiled; tests of transformers name theirs."""
    monkeypatch.setattr(nv.flags, "transformer", "interpreter")


@pytest.mark.parametrize(("shape", "wrap"), [((4, 4), False), ((7, 3), False), ((7, 3), True), ((3, 5), True),
                                             ((3, 3, 3), False), ((8, 2), True)])
@pytest.mark.parametrize("number", [7.0, [1.0, 2.0], [[1.0], [2.0], [3.0], [4.0]]])
def test_diagonals_are_filled_in_a_copy(shape, wrap, number):
    x = RNG.standard_normal(shape).astype(np.float32)
    expected = x.copy()
    np.fill_diagonal(expected, number, wrap)
    np.testing.assert_array_equal(nv.fill_diagonal(x, number, wrap).numpy(), expected)


def test_put_along_axis():
    positions, fresh = np.array([[2, 0]]), np.float32([[1, 2]])
    for axis, index in ((0, np.array([[5, 0, 1]])), (1, RNG.integers(0, 3, (6, 1)))):
        expected = X.copy()
        np.put_along_axis(expected, index, 9.0, axis)
        np.testing.assert_array_equal(nv.put_along_axis(X, index, 9.0, axis).numpy(), expected)
    added = nv.put_along_axis(X[:1, :2], positions * 0, fresh, 1, mode="add").numpy()
    np.testing.assert_allclose(added, [[X[0, 0] + 3, X[0, 1]]], rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_segments(name, dtype):
    """Those of JAX; the mean is that of a loop."""
    x = (X * 10).astype(dtype)
    if name == "mean":
        expected = np.stack([x[SEGMENTS == at].astype(np.float32).mean(0) if (SEGMENTS == at).any() else np.zeros(3)
                             for at in range(5)])
    else:
        expected = getattr(jax.ops, f"segment_{name}")(x, SEGMENTS, 5)
    function = getattr(nv, f"segment_{name}")
    np.testing.assert_allclose(function(x, SEGMENTS, 5).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(function(x.T, SEGMENTS, 5, axis=1).numpy(), np.transpose(expected), rtol=1e-5)
    named = function(nv.constant(x, "N=6, F=3"), nv.constant(SEGMENTS, "N=6"), 5, axis="N")
    assert str(named.axes) == "(N: 5, F: 3)"


@pytest.mark.parametrize("sizes", [[2, 0, 4], [1, 2, 1], [0, 0, 0]])
def test_ragged_products(sizes):
    y = RNG.standard_normal((3, 3, 4)).astype(np.float32)
    expected = jax.lax.ragged_dot(X, y, jnp.array(sizes))
    np.testing.assert_allclose(nv.ragged_dot(X, y, sizes).numpy(), expected, rtol=1e-5, atol=1e-6)
    inner = jax.lax.RaggedDotDimensionNumbers((([1], [0]), ([], [])), [1], [])
    expected = jax.lax.ragged_dot_general(X.T, X, jnp.array(sizes), inner)
    np.testing.assert_allclose(nv.ragged_dot(X.T, X, sizes).numpy(), expected, rtol=1e-5, atol=1e-6)
    batch = np.stack([X, -X])
    outer = jax.lax.RaggedDotDimensionNumbers((([2], [2]), ([0], [1])), [1], [0])
    expected = jax.lax.ragged_dot_general(batch, np.stack([y, 2 * y], 1), jnp.array([sizes, sizes]), outer)
    found = nv.vmap(nv.ragged_dot)(batch, np.stack([y, 2 * y]), np.array([sizes, sizes]))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_as_bits(dtype):
    limits = np.iinfo(dtype)
    x, y = [RNG.integers(limits.min, limits.max, 50, dtype, endpoint=True) for _ in range(2)]
    x[:2], y[:2] = [limits.min, limits.max], [limits.max, limits.max]
    high = [int(a) * int(b) >> limits.bits for a, b in zip(x, y, strict=True)]
    assert nv.mulhi(x, y).tolist() == high
    mask = (1 << limits.bits) - 1
    by = RNG.integers(0, limits.bits, 50).astype(dtype)
    shifted = [(int(a) & mask) >> int(b) for a, b in zip(x, by, strict=True)]
    assert [entry & mask for entry in nv.shift_right_logical(x, by).tolist()] == shifted


@pytest.mark.parametrize("p", [[1.0, -3.0, 2.0], [2.0, 0.0, 0.0, -16.0], [0.0, 0.0, 1.0, -5.0, 6.0], [1.0, 2.0, 0.0],
                               [3.0], [1j, 2.0, 1.0 + 1j], RNG.standard_normal(8)])
def test_roots(p):
    """NumPy's, in the order of their magnitudes; NaN stands where a leading 0 takes one away."""
    found, expected = nv.roots(np.array(p)).numpy(), np.roots(p)
    kept = found[~np.isnan(found)]
    assert len(found) == len(p) - 1 and len(kept) == len(expected) and not np.isnan(found[:len(kept)]).any()
    assert (np.diff(np.abs(kept)) <= 1e-9).all()
    for root in expected:
        assert np.abs(kept - root).min() < 1e-9
    np.testing.assert_allclose(np.roots(nv.constant(np.array(p))).numpy(), found)


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_lengths_may_be_symbols(transformer):
    n = nv.dim("n", min=4)
    x = nv.placeholder((n, 3))
    row, numbers = x[:, 0], nv.placeholder((n,), dtype=nv.int64)
    results = [nv.tril_indices(n)[0], nv.indices((n, 2)), nv.fill_diagonal(x, 5.0), nv.poly(row),
               *nv.polydiv(row, [2.0, 1.0]), nv.polyfit(row, x[:, 1], 1), nv.trim_zeros(nv.relu(row)),
               nv.segment_sum(x, numbers, 4), nv.segment_mean(x, numbers, n), nv.roots(row)[0],
               nv.choose(numbers % 2, [row, x[:, 1]]), nv.select([row > 0], [row], -1.0)]
    with nv.transformers.make_transformer(transformer) as made:
        run = made.computation(results, x, numbers)
        for length in (4, 6):
            a, at = X[:length], SEGMENTS[:length]
            filled = a.copy()
            np.fill_diagonal(filled, 5)
            sums = np.stack([a[at == k].sum(0) for k in range(length)])
            expected = [np.tril_indices(length)[0], np.indices((length, 2)), filled, np.poly(a[:, 0]),
                        *np.polydiv(a[:, 0], [2, 1]), np.polyfit(a[:, 0], a[:, 1], 1),
                        np.trim_zeros(np.maximum(a[:, 0], 0)),
                        sums[:4], sums / np.maximum(np.bincount(at, minlength=length), 1)[:, None],
                        np.array(max(np.roots(a[:, 0]), key=abs)), np.choose(at % 2, [a[:, 0], a[:, 1]]),
                        np.where(a[:, 0] > 0, a[:, 0], -1)]
            for position, (mine, theirs) in enumerate(zip(run(a, at), expected, strict=True)):
                if position == 10:
                    mine, theirs = abs(mine), abs(theirs)
                np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("function", "points"), [
    (nv.poly, [[1.0, 2.0, -0.5]]), (lambda u, v: nv.polydiv(u, v)[0], [[1.0, 2.0, 3.0], [2.0, 0.5]]),
    (lambda u, v: nv.polydiv(u, v)[1], [[1.0, 2.0, 3.0], [2.0, 0.5]]),
    (lambda x, y: nv.polyfit(x, y, 1), [[1.0, 2.0, 4.0], [0.5, 3.0, 2.0]]),
    (lambda p: nv.real(nv.roots(p)), [[1.0, -6.0, 11.0, -6.0]]),
    (lambda x, v: nv.fill_diagonal(x, v), [[[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]]),
    (lambda x, v: nv.insert(x, [0, 2], v), [[1.0, 2.0], [5.0, 6.0]]), (lambda x: nv.delete(x, 1), [[1.0, 2.0, 3.0]]),
    (lambda x, y: nv.choose([1, 0], [x, y]), [[1.0, 2.0], [5.0, 6.0]]),
    (lambda x: nv.piecewise(x, [x < 1.5], [nv.square, nv.exp]), [[1.0, 2.0]]),
    (lambda x, v: nv.put_along_axis(x, [[1], [0]], v, 1), [[[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]]]),
    (lambda x: nv.segment_prod(x, [0, 1, 0], 3), [[1.0, 2.0, 3.0]]),
    (lambda x: nv.segment_prod(x, [0, 1, 0, 0], 3, axis=1), [[[1.0, 2.0, 3.0, 0.5]]]),
    (lambda x: nv.segment_mean(x, [0, 1, 0], 3), [[1.0, 2.0, 3.0]]),
    (lambda x: nv.segment_max(x, [0, 1, 0], 2), [[1.0, 2.0, 3.0]]),
    (lambda x, y: nv.ragged_dot(x, y, [1, 2]), [[[1.0, 2.0]] * 3, [[[1.0], [2.0]], [[3.0], [0.5]]]]),
    (lambda x, y: nv.ragged_dot(x, y, [1, 2]), [[[1.0, 2.0, 4.0]] * 2, [[3.0], [0.5], [2.0]]])])
def test_derivatives(function, points):
    nv.testing.check_grads(function, [np.array(point) for point in points], order=2)


def test_a_product_with_zeros_has_a_derivative():
    found = nv.grad(lambda x: nv.sum(nv.segment_prod(x, [0, 0, 1, 1, 1], 2)))(np.float32([0, 3, 0, 0, 2]))
    assert found.tolist() == [3, 0, 0, 0, 0]


def test_axes_keep_their_names():
    x = nv.constant(X, "N=6, F=3")
    for found, axes in ((nv.delete(x, 1, "N"), "(N: 5, F: 3)"), (nv.insert(x, 0, 1.0, "F"), "(N: 6, F: 4)"),
                        (nv.select([x > 0], [x]), "(N: 6, F: 3)"), (nv.fill_diagonal(x, 1), "(N: 6, F: 3)"),
                        (nv.piecewise(x, [x > 0], [1]), "(N: 6, F: 3)"), (nv.choose(x > 0, [x, -x]), "(N: 6, F: 3)"),
                        (nv.put_along_axis(x, [[0]] * 6, 1.0, "F"), "(N: 6, F: 3)"),
                        (nv.unravel_index(nv.argmax(x, axis="F"), (2, 2))[0], "(N: 6)")):
        assert str(found.axes) == axes


def test_an_element_is_changed_by_any_function():
    x = nv.constant([1.0, 2.0, 3.0])
    assert x.at[1:].apply(nv.square).tolist() == [1.0, 4.0, 9.0]
    assert x.at[[0, 2]].divide(2.0).tolist() == [0.5, 2.0, 1.5] and x.at[0].power(3).tolist() == [1.0, 2.0, 3.0]
    assert x.at[[2, 2]].subtract(1.0).tolist() == [1.0, 2.0, 1.0] and x.at[1].power(3.0).tolist() == [1.0, 8.0, 3.0]
    y, at = np.float32([1, 2, 3]), np.array([0, 0, 2])
    for name, number in (("divide", 4.0), ("power", 2.0), ("multiply", 3.0), ("subtract", 1.0)):
        expected = getattr(jnp.array(y).at[at], name)(number)
        np.testing.assert_allclose(getattr(nv.constant(y).at[at], name)(number).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(("program", "kind", "message"), [
    (lambda: nv.tril_indices_from([1.0]), nv.ShapeMismatch, "lie in a matrix"),
    (lambda: nv.diag_indices_from(X), nv.ShapeMismatch, "axes of one length"),
    (lambda: nv.fill_diagonal(np.ones((2, 3, 2)), 1.0), nv.ShapeMismatch, "axes of one length"),
    (lambda: nv.indices("H=2"), nv.InvalidArgument, "goes by positions"),
    (lambda: nv.ix_(X), nv.ShapeMismatch, "made of vectors"),
    (lambda: nv.ix_([0.5]), nv.WrongKind, "of integers"),
    (lambda: nv.ravel_multi_index(([1],), (2, 3)), nv.InvalidArgument, "has a coordinate"),
    (lambda: nv.ravel_multi_index(([1],), (2,), "no"), nv.InvalidArgument, "unknown mode"),
    (lambda: nv.ravel_multi_index(([-1], [0]), (2, 3)).numpy(), nv.IndexOutOfRange, "position|index"),
    (lambda: nv.unravel_index([6], (2, 3)).__getitem__(0).numpy(), nv.IndexOutOfRange, "position|index"),
    (lambda: nv.choose([3], [[1.0], [2.0]]).numpy(), nv.IndexOutOfRange, "position|index"),
    (lambda: nv.choose([0], []), nv.InvalidArgument, "nothing to choose from"),
    (lambda: nv.choose([0], [[1]], np.ones(2)), nv.InvalidArgument, "unknown mode"),
    (lambda: nv.select([X > 0], []), nv.InvalidArgument, "has a choice"),
    (lambda: nv.piecewise(X, [X > 0], [1, 2, 3]), nv.InvalidArgument, "has a function"),
    (lambda: nv.put_along_axis(X, [0], 1.0), nv.ShapeMismatch, "as many axes as x"),
    (lambda: nv.delete(X, 7, 0), nv.IndexOutOfRange, "no such position"),
    (lambda: nv.insert(X, 7, 1.0, 0), nv.IndexOutOfRange, "no such position"),
    (lambda: nv.delete(nv.placeholder((nv.dim("n"),)), 0), nv.ShapeMismatch, "is a symbol"),
    (lambda: nv.trim_zeros(X), nv.ShapeMismatch, "from a vector"),
    (lambda: nv.trim_zeros([1.0], "x"), nv.InvalidArgument, "ends are not known"),
    (lambda: nv.packbits([1], bitorder="middle"), nv.InvalidArgument, "unknown bitorder"),
    (lambda: nv.unpackbits([1.0]), nv.DtypeMismatch, "from bytes"),
    (lambda: nv.mulhi(X, X), nv.DtypeMismatch, "of integers"),
    (lambda: nv.segment_sum(X, [0], 2), nv.ShapeMismatch, "number of its segment"),
    (lambda: nv.segment_sum(X, [0, 0, 0, 0, 0, -1], 2).numpy(), nv.IndexOutOfRange, "position|index"),
    (lambda: nv.ragged_dot(X, X, [1]), nv.ShapeMismatch, "do not fit together"),
    (lambda: nv.polyfit([1.0], [1.0, 2.0], 1), nv.ShapeMismatch, "has a value"),
    (lambda: nv.polyfit([1.0], [1.0], -1), nv.InvalidArgument, "0 or more"),
    (lambda: nv.roots(nv.placeholder((nv.dim("n"),))), nv.ShapeMismatch, "has a coefficient"),
    (lambda: nv.mask_indices(2, 3), nv.WrongKind, "takes a function")])
def test_what_is_told(program, kind, message):
    with pytest.raises(kind, match=message) as caught:
        program()
    assert caught.value.help
