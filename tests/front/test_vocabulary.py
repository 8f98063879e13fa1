"""Names that NumPy has: each gives NumPy's numbers, by nv and by np on tensors, for lengths that are symbols too."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.front.arranging import diagonals, editing, grids, index_grids, rearranging, selecting, stacking
from nervure.front.matrices import matrix_products
from nervure.front.pointwise import bits, elementary, predicates
from nervure.front.signals import polynomial_roots, polynomials
from nervure.front.statistics import bins, differences, nan_reductions, sets
from tests.conformance.running import transformer

MODULES = (bins, bits, diagonals, differences, editing, elementary, grids, index_grids, matrix_products,
           nan_reductions, polynomial_roots, polynomials, predicates, rearranging, selecting, sets, stacking)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
Y = RNG.standard_normal((5, 4, 3)).astype(np.float32)
ROW, COLUMN, MATRIX = X[0, 0], X[0, :, 0], X[0]
HOLES = np.where(RNG.random(X.shape) < 0.4, np.nan, X).astype(np.float32)
HOLES[0, 0] = np.nan
SOME = HOLES.copy()
SOME[:, :, 0] = 1
LARGE = np.array([[2**30, 2**30 + 7, 2**31 - 1], [2**30, -2**31, 5]], np.int32)
NUMBERS, PLACES = np.array([3, 0, 5, 3, 1]), np.float32([-1, -0.5, 0.5, 2])
BYTES = RNG.integers(0, 256, (3, 4)).astype(np.uint8)
ODD = np.concatenate([RNG.standard_normal(9) * 3, [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5]]).astype(np.float32)
PAIRS = np.meshgrid(ODD, ODD)
COMPLEX = (X[0] + 1j * Y[:4, :, 0][:, :1] - 1j * X[1]).astype(np.complex64)
THREES = RNG.standard_normal((4, 3)).astype(np.float32), RNG.standard_normal((2, 4, 3)).astype(np.float32)

CALLS = [
    *[("roll", (X, shift, axis), {}) for shift, axis in ((1, 0), (-2, 1), (7, 2), ((1, 2), (0, 2)), (3, (0, 1)),
                                                         (5, None), (0, 0))],
    *[("rot90", (X, k, axes), {}) for k in range(-2, 5) for axes in ((0, 1), (2, 0), (-1, 1))],
    *[("tile", (X, reps), {}) for reps in (2, (2, 3), (1, 2, 3), (2, 1, 1, 2), 0)],
    *[("flip", (X, axis), {}) for axis in (None, 1, (0, 2))], ("flipud", (X,), {}), ("fliplr", (X,), {}),
    ("moveaxis", (X, (0, 1), (-1, 0)), {}), ("swapaxes", (X, 0, -1), {}), ("matrix_transpose", (X,), {}),
    ("ravel", (X,), {}), ("broadcast_to", (ROW, (2, 5)), {}), ("broadcast_arrays", (ROW, COLUMN[:, None]), {}),
    *[(f"atleast_{rank}d", (x,), {}) for rank in (1, 2, 3) for x in (1.5, ROW, MATRIX, X)],
    *[(name, ([x, x],), {}) for name in ("vstack", "hstack", "dstack", "column_stack") for x in (ROW, MATRIX)],
    ("column_stack", ([ROW, MATRIX.T],), {}), ("append", (X, Y), {}), ("append", (X, X, 1), {}),
    *[("array_split", (X, parts, 2), {}) for parts in (1, 2, 3, 5, [1, 3])], ("hsplit", (X, 2), {}),
    ("hsplit", (ROW, 5), {}), ("vsplit", (X, [1]), {}), ("dsplit", (X, 5), {}), ("unstack", (X,), {"axis": 1}),
    *[(name, (X, offset, *axes), {}) for name in ("diagonal", "trace") for offset in (-2, 0, 1, 4, 9)
      for axes in ((0, 1), (-1, 0))],
    *[("diag", (x, offset), {}) for x in (ROW, MATRIX) for offset in (-4, 0, 2)], ("diagflat", (MATRIX, 1), {}),
    *[("tri", (3, columns, offset), {}) for columns in (None, 5) for offset in (-1, 0, 2)], ("identity", (3,), {}),
    *[(name, (1, 3, 7), {"endpoint": endpoint}) for name in ("linspace", "logspace", "geomspace")
      for endpoint in (True, False)], ("linspace", (0, 1, 1), {}), ("logspace", (0, 3, 4), {"base": 2.0}),
    *[("meshgrid", vectors, {"indexing": indexing}) for indexing in ("xy", "ij")
      for vectors in ((ROW,), (ROW, COLUMN), (ROW, COLUMN, X[:, 0, 0]), (ROW, 2.0))],
    ("vander", (ROW,), {}), ("vander", (ROW, 3), {"increasing": True}), ("vander", (np.arange(4),), {}),
    ("inner", (X, ROW), {}), ("inner", (X, MATRIX), {}), ("inner", (X, 2.0), {}), ("vdot", (X, X), {}),
    ("vdot", (COMPLEX, COMPLEX[::-1]), {}), *[(name, (COMPLEX,), {}) for name in ("cov", "corrcoef")],
    ("cov", (COMPLEX, COMPLEX[::-1]), {}),
    *[("tensordot", (X, Y, axes), {}) for axes in (1, ([2, 0], [0, 2]), ([1], [1]))],
    ("tensordot", (MATRIX, ROW, 0), {}),
    *[("kron", pair, {}) for pair in ((X, Y), (MATRIX, Y), (ROW, MATRIX), (X, ROW), (X, 2.0))],
    ("cross", THREES, {}), ("cross", (THREES[0].T, THREES[0].T[:, ::-1]), {"axis": 0}),
    *[("diff", (X, n, axis), {}) for n in range(3) for axis in (0, -1)], ("diff", (X > 0,), {}),
    ("gradient", (X,), {}), ("gradient", (X, 2.0, 3.0, 0.5), {}), ("gradient", (X, 2.0), {"axis": 1}),
    ("gradient", (np.array([1, 4, 9]),), {}), ("trapezoid", (X,), {}), ("trapezoid", (X,), {"dx": 2.0, "axis": 0}),
    ("trapezoid", (X, COLUMN), {"axis": 1}), ("trapezoid", (X, X[::-1]), {"axis": 1}),
    ("ptp", (X, 1), {}), ("ptp", (X,), {"keepdims": True}), ("var", (X, 1), {}), ("average", (X, 1), {}),
    ("average", (X, 1, COLUMN), {}), ("average", (X,), {"weights": X * X}),
    ("average", ([1, 2, 4],), {"weights": [1, 2, 3]}), ("average", (BYTES, 1, BYTES[0]), {}),
    *[("average", (X, axis, weights), {"keepdims": keepdims}) for axis, weights in (
        ((0, 1), X[:, :, 0]), ((0, 2), X[:, 0] + 3), ((2, 1), X[0].T), ((-1, 0), X[:, 0].T + 3), ((2, 0, 1), X * X))
      for keepdims in (False, True)],
    *[("cov", (MATRIX,), options) for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 2}, {"ddof": 9})],
    ("cov", (ROW,), {}), ("cov", (MATRIX[:1],), {}), ("corrcoef", (MATRIX[:1],), {}),
    ("cov", (ROW, MATRIX[1]), {}), ("corrcoef", (MATRIX,), {}), ("corrcoef", (ROW,), {}),
    *[(name, (HOLES,), {"axis": axis, "keepdims": keepdims}) for name in (
        "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin") for axis in (None, 0, 2, (0, 1))
      for keepdims in (False, True)],
    ("nanvar", (HOLES,), {"axis": 2, "ddof": 1}), ("nanvar", (X > 0,), {}),
    ("nanmean", (np.arange(6).reshape(2, 3),), {"axis": 1}), ("nanmean", (np.full(3, 2**62),), {}),
    *[(name, (LARGE,), {"axis": axis}) for name in ("nanmean", "nanvar", "nanstd") for axis in (None, 1)],
    ("nanargmax", (SOME, 2), {}), ("nanargmin", (SOME, 2), {}), ("nan_to_num", (ODD,), {}),
    ("nan_to_num", (ODD,), {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}), ("nan_to_num", (np.arange(3),), {}),
    *[(name, (ODD,), {}) for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "degrees", "radians",
                                      "rad2deg", "deg2rad", "sinc", "rint", "fix", "positive")],
    ("i0", (np.array([0.0, -2.5, 700.0]),), {}),
    ("isnan", (np.arange(3),), {}), ("invert", (np.arange(3),), {}), ("remainder", (np.array([-3, 3]), 2), {}),
    *[(name, PAIRS, {}) for name in ("logaddexp", "logaddexp2", "fmax", "fmin", "heaviside", "isclose")],
    ("fmax", (np.arange(3), 1), {}), ("isclose", PAIRS, {"equal_nan": True, "rtol": 0.5}),
    ("isclose", (np.array([2**40]), np.array([2**40 + 1])), {"rtol": 0, "atol": 0}),
    ("allclose", (X, X + 1e-7), {}), ("allclose", (X, X + 1), {}),
    *[("array_equal", (X, other), {}) for other in (X.copy(), X + 1, ROW, Y)],
    ("bincount", (NUMBERS,), {}), ("bincount", (NUMBERS, ROW), {"minlength": 9}), ("bincount", (NUMBERS[:0],), {}),
    *[("histogram", (X, bins), options) for bins in (3, 10, [-1.5, 0.0, 0.25, 1.0]) for options in (
        {}, {"range": (-1, 1.5)}, {"density": True}, {"weights": X * X})],
    ("histogram", (np.linspace(0, 1000, 40).astype(np.float16), 100), {"range": (0, 1000)}),
    ("histogram", (np.linspace(0, 1e308, 50), 20), {}), ("histogram", (np.linspace(-1e308, 7e307, 50), 20), {}),
    ("histogram", (ODD, 4), {"range": (-1, 1)}), ("histogram", (NUMBERS,), {}), ("histogram", (np.ones(3),), {}),
    *[(name, pair, {}) for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d") for pair in (
        (NUMBERS, NUMBERS[2:] + 1), (ODD, ODD[3:]), (X.round(), Y.round()), (NUMBERS, NUMBERS[:0]),
        (NUMBERS[:0], NUMBERS), (NUMBERS, ROW.round()))],
    *[(f"unique_{what}", (x,), {}) for what in ("all", "counts", "inverse")
      for x in (NUMBERS, X.round(), np.append(ODD, [np.nan, 1]).astype(np.float32), NUMBERS[:0])],
    *[("unwrap", (4 * X,), options) for options in (
        {}, {"axis": 0}, {"period": 3.0}, {"discont": 4.0}, {"discont": 1.0, "axis": 1})],
    ("unwrap", (np.array([0, 1, 2, 5, 7, 3]),), {"period": 4}),
    *[("histogram2d", (ROW, X[1, 1]), options) for options in (
        {}, {"bins": [2, [-1.0, 0.0, 2.0]], "density": True}, {"bins": 3, "range": [[-1, 1], [0, 2]], "weights": ROW})],
    ("histogram2d", (ROW, X[1, 1]), {"bins": 2, "weights": ROW > 0, "density": True}),
    ("histogramdd", (Y[0],), {"bins": [2, 3, 2], "density": True}), ("histogramdd", (Y[0],), {"bins": 2}),
    *[("histogram_bin_edges", (X, 7), {"range": range}) for range in (None, (2, 2), (-1, 3))],
    *[("interp", (ODD, PLACES, COLUMN), options) for options in (
        {}, {"left": -9.0, "right": 9.0}, {"period": 2.5})], ("interp", (X, [1.0], [2.0]), {}),
    ("interp", (ROW, [0, 0, 1], [1, 2, 3]), {}), ("interp", (ROW, [-1, 0, 1], [np.inf, 0, 0]), {}),
    *[(name, pair, {"mode": mode}) for name in ("convolve", "correlate") for mode in ("full", "same", "valid")
      for pair in ((ROW, COLUMN), (COLUMN, ROW), (ROW, ROW[:1]), (ROW, ROW), (ROW[:2], ROW), (NUMBERS, NUMBERS[:3]))],
    ("correlate", (ROW * 1j + 1, COLUMN * 1j), {}), ("polyval", (ROW, X), {}), ("polyval", (NUMBERS, NUMBERS), {}),
    ("polyval", (ROW[:0], X), {}),
    *[(name, pair, {}) for name in ("polyadd", "polysub", "polymul")
      for pair in ((ROW, COLUMN), (COLUMN, ROW), (NUMBERS, NUMBERS))],
    *[(name, (p, m), {}) for name in ("polyder", "polyint") for p in (ROW, NUMBERS) for m in (0, 1, 2, 7)],
    ("polyint", (ROW, 2), {"k": [1.0, 2.0]}),
    ("poly", (ROW,), {}), ("poly", (MATRIX[:4, :4] + MATRIX[:4, :4].T,), {}),
    *[("polydiv", pair, {}) for pair in ((ROW, COLUMN[:3]), (COLUMN, ROW), (ROW, ROW[:1]), ([1.0, 2.0], [4.0, 1.0]))],
    *[("polyfit", (COLUMN, *rest), options) for rest in ((X[0, :, 1], 2), (X[0, :, 1:4], 1), (X[0, :, 1], 0))
      for options in ({}, {"w": np.float32([1, 2, 0.5, 3])})],
    ("polyfit", (ROW.astype(float), NUMBERS + 0.0, 3), {"rcond": 1e-3}),
    *[("packbits", (x, axis), {"bitorder": order}) for x in (X > 0, NUMBERS, np.ones((2, 16), bool))
      for axis in (None, -1) for order in ("big", "little")], ("packbits", (X > 0, 0), {}),
    *[("unpackbits", (BYTES, axis), {"count": count, "bitorder": order}) for axis in (None, 0, 1)
      for count in (None, 3, 30, -5) for order in ("big", "little")],
    *[("choose", (np.array(index), [ROW, X[:2, 0], 2.5]), {"mode": mode}) for index, mode in (
        ([[0], [2]], "raise"), ([[-1], [7]], "wrap"), ([[-1], [7]], "clip"))],
    ("select", ([ROW > 0, ROW < -0.5], [ROW, X[:2, 0]], 9.0), {}), ("select", ([X > 0], [X * 2]), {}),
    ("piecewise", (X, [X < -0.5, X > 0.5], [-1, np.square]), {}),
    ("piecewise", (X, [X < -0.5, X > 0.5, X > 1], [-1, np.square, lambda x: x + 1, 7.0]), {}),
    *[("delete", (X, index, axis), {}) for index, axis in (
        (1, 0), (-1, 2), ([0, 2], 1), (slice(1, None, 2), 1), ([True, False, True, False], 1), ([], 0), (7, None))],
    *[("insert", (X, index, values, axis), {}) for index, values, axis in (
        (1, 9.0, 0), (-1, ROW[0], 2), (1, X[0, :, 0], 2), (1, np.moveaxis(X[:, :, :2], 2, 0), 2), ([0, 3], 9.0, 0),
        ([1, 1, 4], ROW[:3], 2),
        ([2], COLUMN[:, None], 2), (slice(0, 3, 2), 1.0, 1), ([5, 0], [1.0, 2.0], None), (0, [1.0, 2.0], None),
        (np.array([True, False, True]), 8.0, 0))],
    *[("trim_zeros", (np.array(x), trim), {}) for x in ([0, 0, 1, 0, 2, 0], [0, 0], [3], [0, 1])
      for trim in ("fb", "f", "b")],
    *[(f"{name}_indices", (rows, offset), {}) for name in ("tril", "triu") for rows in (3, 0) for offset in (-1, 0, 2)],
    ("tril_indices", (3, 1, 5), {}), ("triu_indices", (3, -1, 2), {}),
    *[(f"{name}_indices_from", (MATRIX, offset), {}) for name in ("tril", "triu") for offset in (-1, 0)],
    ("diag_indices", (3,), {}), ("diag_indices", (2, 3), {}), ("diag_indices_from", (MATRIX[:, :4],), {}),
    ("indices", ((2, 3),), {}), ("indices", ((2, 3),), {"sparse": True}), ("indices", ((),), {}),
    ("ix_", (NUMBERS, NUMBERS[:2], [1]), {}), ("ix_", ([0, 2], [True, False, True]), {}),
    ("fromfunction", (lambda i, j: i * 2 + j, (2, 3)), {}), ("mask_indices", (3, np.triu, 1), {}),
    ("unravel_index", (np.array([[5, 11], [0, 23]]), (2, 3, 4)), {}), ("unravel_index", (5, (7,)), {}),
    *[("ravel_multi_index", ((np.array([[0], [1]]), np.array(index)), (2, 3)), {"mode": mode}) for index, mode in (
        ([0, 2], "raise"), ([-1, 4], "wrap"), ([-1, 4], "clip"))]]

BY_FORMULA = {"xlogy": lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y)),
              "xlog1py": lambda x, y: np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y)),
              "logit": lambda x: np.log(x / (1 - x)),
              "entr": lambda x: np.where(x == 0, 0, np.where(x < 0, -np.inf, -x * np.log(x)))}


def same(found, expected):
    """Compares tensors with arrays, alone or in lists."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "arguments", "options"), CALLS)
def test_numbers_are_those_of_numpy(name, arguments, options):
    same(getattr(nv, name)(*arguments, **options), getattr(np, name)(*arguments, **options))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BY_FORMULA)
def test_numbers_are_those_of_formulas(name):
    operands = PAIRS if name.startswith("xlog") else (ODD,)
    same(getattr(nv, name)(*operands), BY_FORMULA[name](*[entry.astype(np.float64) for entry in operands]))


def test_all_names_are_tried():
    known = {name for module in MODULES for name in module.__all__}
    assert known | {"i0"} == {name for name, *_ in CALLS} | {*BY_FORMULA} | {"unique_values"} | BELOW


BELOW = {"fill_diagonal", "put_along_axis", "roots", "mulhi", "shift_right_logical"}
"""Functions of tests/front/test_places.py."""

COMPUTED = {"allclose", "array_equal", "isclose"}  # of tensors, NumPy's answer is at hand
OTHER = {"entr", "identity", "linspace", "logspace", "geomspace", "tri", "flip", "ravel", "broadcast_to", "var",
         "xlogy", "xlog1py", "logit", "invert", "remainder", "histogramdd", "tril_indices", "triu_indices",
         "diag_indices", "ravel_multi_index", "indices", "fromfunction", "mask_indices"}

BY_NUMPY = {name: (arguments, options) for name, arguments, options in reversed(CALLS)
            if name not in COMPUTED | OTHER}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "arguments", "options"), [
    next(call for call in CALLS if call[0] == name) for name in dict.fromkeys([call[0] for call in CALLS])
    if name not in COMPUTED | OTHER])
def test_numpy_s_functions_build_the_graph(name, arguments, options):
    def tensors(entry):
        if isinstance(entry, list):
            return [tensors(one) for one in entry]
        return nv.constant(entry) if isinstance(entry, np.ndarray) else entry
    expected = getattr(np, name)(*arguments, **options)
    if not any(isinstance(entry, (np.ndarray, list)) for entry in arguments):
        arguments = (np.float32(arguments[0]) * np.ones(1, np.float32), *arguments[1:])
        expected = getattr(np, name)(*arguments, **options)
    found = getattr(np, name)(*map(tensors, arguments), **options)
    assert all([isinstance(one, nv.Tensor) for one in (found if isinstance(found, (list, tuple)) else [found])])
    same(found, expected)


# -- lengths, names, derivatives -------------------------------------------------------------------------------------

SYMBOLIC = {
    "roll": lambda f, x: f.roll(x, 2, 0), "rolled_back": lambda f, x: f.roll(x, -1, 0),
    "rolled_flat": lambda f, x: f.roll(x, 3),
    "tile": lambda f, x: f.tile(x, (2, 1)), "rot90": lambda f, x: f.rot90(x), "diag": lambda f, x: f.diag(x[:, 0], 1),
    "diagonal": lambda f, x: f.diagonal(x, 1), "trace": lambda f, x: f.trace(x),
    "meshgrid": lambda f, x: f.meshgrid(x[:, 0], x[0])[0], "vander": lambda f, x: f.vander(x[:, 0], 3),
    "kron": lambda f, x: f.kron(x, x), "tensordot": lambda f, x: f.tensordot(x, x, ([0], [0])),
    "diff": lambda f, x: f.diff(x, axis=0), "gradient": lambda f, x: f.gradient(x, axis=0),
    "cov": lambda f, x: f.cov(x, rowvar=False), "trapezoid": lambda f, x: f.trapezoid(x, axis=0),
    "histogram": lambda f, x: f.histogram(x, 4)[0], "edges": lambda f, x: f.histogram(x[:, 0], 3)[1],
    "edges_of_a_tensor": lambda f, x: f.histogram(x[:, 1:], f.sort(x[:, 0]))[0],
    "interp": lambda f, x: f.interp(x, [-1.0, 0.0, 0.5], [1.0, 3.0, 2.0]),
    "interp_of_points": lambda f, x: f.interp([0.1, 0.5], f.sort(x[:, 0]), x[:, 1]),
    "convolve": lambda f, x: f.convolve(x[:, 0], [1.0, 2.0, 3.0]), "polyder": lambda f, x: f.polyder(x[:, 0]),
    "correlate": lambda f, x: f.correlate(x[:, 0], [1.0, 2.0], "same"), "polyint": lambda f, x: f.polyint(x[:, 0], 2),
    "polyval": lambda f, x: f.polyval([1.0, 2.0], x), "polyadd": lambda f, x: f.polyadd(x[:, 0], [1.0, 2.0]),
    "nanquantile": lambda f, x: f.nanquantile(x, 0.3, axis=0), "unwrap": lambda f, x: f.unwrap(4 * x, axis=0),
    "setdiff1d": lambda f, x: f.setdiff1d(x, x[0]), "union1d": lambda f, x: f.union1d(x, x[0]),
    "unique_counts": lambda f, x: f.unique_counts(f.sign(x)).counts,
    "average": lambda f, x: f.average(x[:, :, None], (1, 0), x.T * x.T),
    "nanmax": lambda f, x: f.nanmax(x, axis=0), "vstack": lambda f, x: f.vstack([x, x])}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SYMBOLIC)
def test_lengths_may_be_symbols(name):
    x = nv.placeholder((nv.dim("n", min=2), 3))
    compiled = nv.computation(SYMBOLIC[name](nv, x), x)
    for length in (2, 3, 5):
        rows = RNG.standard_normal((length, 3)).astype(np.float32)
        np.testing.assert_allclose(compiled(rows), SYMBOLIC[name](np, rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["interpreter", "cpu"])
@pytest.mark.parametrize("function", [
    nv.diff, nv.unwrap, nv.polyder, lambda x: nv.polyder(x, 2), lambda x: nv.polyder(x, 5), nv.polyint])
def test_lengths_may_be_symbols_for_few_elements(function, name):
    """O7: a length of 0 or 1, too, and the derivative."""
    x = nv.placeholder((nv.dim("n"),), nv.float64)
    result = function(x)
    compiled = nv.computation([result, nv.deriv(nv.sum(result ** 2), x)], x, transformer=transformer(name))
    for length in (0, 1, 2, 3, 7):
        given = 4.0 * np.arange(length) ** 2
        gradient = nv.grad(lambda v: nv.sum(function(v) ** 2))(given)
        nv.testing.assert_close(compiled(given), [function(given).numpy(), gradient])


@pytest.mark.parametrize(("function", "axes"), [
    (lambda x: nv.flip(x, "W"), "H W"), (lambda x: nv.roll(x, 1, "H"), "H W"),
    (lambda x: nv.swapaxes(x, "H", "W"), "W H"), (lambda x: nv.moveaxis(x, "H", 1), "W H"),
    (lambda x: nv.tile(x, 2), "H W"), (lambda x: nv.diff(x, axis="W"), "H W"),
    (lambda x: nv.gradient(x, axis="H"), "H W"), (lambda x: nv.nanmean(x, "H"), "W"), (lambda x: nv.ptp(x, "W"), "H"),
    (lambda x: nv.trapezoid(x, axis="W"), "H"), (lambda x: nv.average(x, "H", nv.constant([1, 2, 3, 4], "H=4")), "W"),
    (lambda x: nv.diagonal(x), "H"), (lambda x: nv.isclose(x, x), "H W"), (lambda x: nv.unstack(x, "H")[0], "W"),
    (lambda x: nv.interp(x, [0, 1], [1, 2]), "H W"), (lambda x: nv.polyval([1, 2], x), "H W"),
    (lambda x: nv.unwrap(x, axis="H"), "H W"), (lambda x: nv.nanmedian(x, "H"), "W")])
def test_axes_keep_their_names(function, axes):
    assert [axis.name for axis in function(nv.constant(MATRIX, "H=4, W=5")).axes] == axes.split()


@pytest.mark.parametrize(("function", "points"), [
    (nv.sinc, [[0.0, 0.3, -2.0]]), (nv.logit, [[0.2, 0.7]]), (nv.entr, [[0.2, 2.0]]), (nv.degrees, [[1.0]]),
    (nv.logaddexp, [[1.0, 2.0, 3.0], [1.0, 2.5, -1.0]]), (nv.xlogy, [[1.0, 2.0], [2.0, 0.5]]),
    (nv.xlog1py, [[1.0, 2.0], [2.0, -0.5]]), (lambda x: nv.roll(x, 1, 0), [[1.0, 2.0, 3.0]]),
    (lambda x: nv.diag(x, 1), [[1.0, 2.0]]), (nv.kron, [[1.0, 2.0], [3.0, 4.0]]), (nv.cov, [[[1.0, 2.0], [0.5, 4.0]]]),
    (nv.cross, [[1.0, 2.0, 3.0], [0.5, 4.0, 1.0]]), (nv.gradient, [[1.0, 4.0, 2.0]]), (nv.vander, [[1.5, 2.0]]),
    (lambda x, y: nv.interp(x, [0.0, 1.0, 3.0], y), [[-1.0, 0.4, 2.0, 5.0], [1.0, 2.0, 2.0]]),
    (lambda places: nv.interp(0.4, places, [1.0, 2.0, 5.0]), [[0.0, 1.0, 3.0]]), (nv.polyval, [[1.0, 2.0], [3.0, 0.5]]),
    (lambda x: nv.unwrap(x, axis=0), [[0.0, 4.0, 2.0, 9.0]]),
    (lambda x, w: nv.average(x, (2, 0), w), [[[[1.0, 2.0]], [[4.0, 0.5]], [[3.0, 7.0]]], [[1, 2, 3], [4, 5, 7.0]]]),
    (nv.convolve, [[1.0, 2.0, 3.0], [0.5, 4.0]]), (nv.correlate, [[1.0, 2.0, 3.0], [0.5, 4.0]]),
    (lambda w: nv.bincount([0, 2, 2], w), [[1.0, 2.0, 3.0]]), (nv.polyint, [[1.0, 2.0]]), (nv.polyder, [[1.0, 2.0]]),
    (lambda w: nv.histogram([0.0, 2.0, 2.5], 2, weights=w, density=True)[0], [[1.0, 2.0, 3.0]])])
def test_derivatives(function, points):
    nv.testing.check_grads(function, [np.array(point) for point in points], order=2)


def test_elements_that_are_left_out_have_no_derivative():
    x = nv.variable(initial_value=np.array([1.0, np.nan, 3.0]))
    assert nv.deriv(nv.nanmean(x), x).tolist() == [0.5, 0.0, 0.5]
    assert nv.deriv(nv.nanmax(x), x).tolist() == [0.0, 0.0, 1.0]
    assert nv.deriv(nv.nanvar(x), x).tolist() == [-1.0, 0.0, 1.0]


def test_no_distance_of_an_infinity_is_left_out():
    assert np.isnan(nv.nanvar([1.0, np.inf, np.nan]).item())


def test_where_all_elements_are_nan():
    nothing = np.full(2, np.nan)
    assert [nv.nansum(nothing).item(), nv.nanprod(nothing).item(), nv.nanargmax(nothing).item()] == [0, 1, -1]
    assert all(np.isnan(getattr(nv, name)(nothing).item()) for name in ("nanmax", "nanmean", "nanvar"))


# -- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("program", "kind", "message"), [
    (lambda: nv.roll(X, (1, 2), 0), nv.InvalidArgument, "each axis takes a shift"),
    (lambda: nv.roll(X, 1.5, 0), nv.WrongKind, "shift is an integer"),
    (lambda: nv.tile(X, -1), nv.InvalidArgument, "reps is 0 or more"),
    (lambda: nv.tile(nv.zeros("A=2"), (2, 2)), nv.ShapeMismatch, "more repetitions than axes"),
    (lambda: nv.fliplr([1.0]), nv.ShapeMismatch, "too few axes"),
    (lambda: nv.moveaxis(X, (0, 1), 0), nv.InvalidArgument, "one new place"),
    (lambda: nv.rot90(X, 1, (0,)), nv.InvalidArgument, "a plane has two axes"),
    (lambda: nv.atleast_2d(nv.zeros("A=2")), nv.InvalidArgument, "need names"),
    (lambda: nv.vstack([]), nv.InvalidArgument, "nothing to join"),
    (lambda: nv.array_split(X, 0), nv.InvalidArgument, "no such number of parts"),
    (lambda: nv.array_split(nv.placeholder((nv.dim("n"),)), 2), nv.ShapeMismatch, "depends on the call"),
    (lambda: nv.unstack(nv.placeholder((nv.dim("n"),))), nv.ShapeMismatch, "no small number"),
    (lambda: nv.dsplit(MATRIX, 2), nv.ShapeMismatch, "too few axes"),
    (lambda: nv.linspace(0, 1, -1), nv.InvalidArgument, "num is 0 or more"),
    (lambda: nv.geomspace(0, 1), nv.InvalidArgument, "one sign"),
    (lambda: nv.meshgrid(MATRIX), nv.ShapeMismatch, "vectors without names"),
    (lambda: nv.meshgrid(ROW, indexing="yx"), nv.InvalidArgument, "unknown indexing"),
    (lambda: nv.inner(X, Y), nv.ShapeMismatch, "one length"),
    (lambda: nv.tensordot(X, Y, 9), nv.InvalidArgument, "axes that are contracted"),
    (lambda: nv.tensordot(X, Y, ([0], [0, 1])), nv.InvalidArgument, "with one of y"),
    (lambda: nv.cross(X, X), nv.ShapeMismatch, "three elements"),
    (lambda: nv.bincount([0, -1]), nv.InvalidArgument, "is negative"),
    (lambda: nv.bincount([0, 1], [1.0]), nv.ShapeMismatch, "a weight for each number"),
    (lambda: nv.bincount([0.5]), nv.WrongKind, "of integers"),
    (lambda: nv.bincount(nv.placeholder((3,), dtype=nv.int64)), nv.InvalidArgument, "depends on the call"),
    (lambda: nv.bincount([0, 7], length=3).numpy(), nv.IndexOutOfRange, "7"),
    (lambda: nv.histogram(X, 0), nv.InvalidArgument, "bins is 1 or more"),
    (lambda: nv.histogram(X, "auto"), nv.InvalidArgument, "by rules"),
    (lambda: nv.histogram(X, [1.0]), nv.ShapeMismatch, "two edges"),
    (lambda: nv.histogram(X, [1.0, 0.0]), nv.InvalidArgument, "do not ascend"),
    (lambda: nv.histogram(X, 3, range=(2, 1)), nv.InvalidArgument, "up to another"),
    (lambda: nv.histogram(X, 3, weights=ROW), nv.ShapeMismatch, "for each element"),
    (lambda: nv.histogram(nv.zeros("A=2, B=2"), 3, weights=np.ones((2, 2))), nv.ShapeMismatch, "for each element"),
    (lambda: nv.histogramdd(ROW), nv.ShapeMismatch, "a row for each point"),
    (lambda: nv.histogramdd(MATRIX, [3]), nv.InvalidArgument, "bins for each column"),
    (lambda: nv.interp(X, [1.0, 2.0], [1.0]), nv.ShapeMismatch, "has a value"),
    (lambda: nv.unwrap(X, period=0), nv.InvalidArgument, "is positive"),
    (lambda: nv.interp(X, [1.0], [1.0], period=0), nv.InvalidArgument, "not 0"),
    (lambda: nv.convolve(ROW, ROW[:0]), nv.ShapeMismatch, "no element"),
    (lambda: nv.convolve(ROW, ROW, "wrap"), nv.InvalidArgument, "unknown mode"),
    (lambda: nv.correlate(nv.placeholder((nv.dim("n", min=1),)), ROW), nv.ShapeMismatch, "which vector is longer"),
    (lambda: nv.polyval(MATRIX, 1.0), nv.ShapeMismatch, "vectors without names"),
    (lambda: nv.polyder(ROW, -1), nv.InvalidArgument, "0 or more"),
    (lambda: nv.polyint(ROW, 2, [1.0]), nv.InvalidArgument, "a constant for each time"),
    (lambda: nv.kron(nv.zeros("A=2"), X), nv.AxisMismatch, "goes by positions"),
    (lambda: nv.diag(X), nv.ShapeMismatch, "a vector or a matrix"),
    (lambda: nv.diagonal(ROW), nv.ShapeMismatch, "lies in two axes"),
    (lambda: nv.diff(X, -1), nv.InvalidArgument, "n is 0 or more"),
    (lambda: nv.unravel_index(nv.constant([6]).astype(int), (1,))[0].numpy(), nv.IndexOutOfRange, "6"),
    (lambda: nv.unravel_index(nv.constant([6]).astype(int), (1, 3))[0].numpy(), nv.IndexOutOfRange, "6"),
    (lambda: nv.insert(MATRIX, np.zeros((1, 2), int), 1), nv.ShapeMismatch, "stand in a row"),
    (lambda: nv.expand_dims(MATRIX, (0, -1)), nv.InvalidArgument, "one axis is new"),
    (lambda: nv.special.comb(3, 2, repetition=np.ones(2, bool)), nv.WrongKind, "repetition is a switch"),
    (lambda: nv.blackman(3, periodic=np.ones(2, bool)), nv.WrongKind, "periodic is a switch"),
    (lambda: nv.rand(3, requires_grad=np.ones(2, bool)), nv.WrongKind, "requires_grad is a switch"),
    (lambda: nv.variable((2,), layout=np.ones(2, bool)), nv.WrongKind, "no layout"),
    (lambda: nv.gradient([1.0]), nv.ShapeMismatch, "two neighbours"),
    (lambda: nv.gradient(X, 1.0, 2.0), nv.InvalidArgument, "for each axis"),
    (lambda: nv.cov(X), nv.ShapeMismatch, "rows of a matrix"),
    (lambda: nv.average(X, (0, 1), [1.0, 2.0, 3.0]), nv.ShapeMismatch, "axes that are reduced"),
    (lambda: nv.average(X, None, ROW), nv.ShapeMismatch, "axes that are reduced"),
    (lambda: nv.average(X, (1, 2), X[0].T), nv.ShapeMismatch, r"the lengths \(4, 5\)"),
    (lambda: nv.nan_to_num(np.ones(2, np.complex64)), nv.NotSupported, "real ones")])
def test_what_is_told(program, kind, message):
    with pytest.raises(kind, match=message) as caught:
        program()
    assert caught.value.help and caught.value.location is not None


def test_different_values_ascend():
    """NumPy's are in no order; each NaN is one, and a derivative goes to the first of equal elements."""
    for x in (NUMBERS, np.array([np.nan, 2, 2, np.nan, 1])):
        same(nv.unique_values(x), np.sort(np.unique_values(x)))
        same(nv.unique(x, equal_nan=False), np.unique(x, equal_nan=False))
    assert nv.grad(lambda x: nv.sum(nv.square(nv.union1d(x, [2.0]))))(np.float32([3, 2, 3])).tolist() == [6, 4, 0]


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize(("dtype", "ends", "bins"), [
    (nv.float32, (-3e38, 3e38), 4), (nv.float64, (-1.2e308, 1.5e308), 9), (nv.float16, (0, 1000), 100),
    (nv.float16, (-6e4, 6.5e4), 7), (nv.bfloat16, (-5, 5), 300)])
def test_bins_lie_between_their_edges(transformer, dtype, ends, bins):
    """Distances may be too large for the type, and edges are rounded: they ascend, and the counts are theirs."""
    x = nv.placeholder((nv.dim("n", min=1),), dtype)
    points = nv.constant(np.linspace(*np.divide(ends, 2), 301) * 2, dtype=dtype).numpy()
    with nv.transformers.make_transformer(transformer) as made:
        counts, edges = [np.asarray(entry, np.float64) for entry in made.computation(nv.histogram(x, bins), x)(points)]
    assert np.isfinite(edges).all() and (np.diff(edges / 2) > 0).all()
    assert [edges[0], edges[-1]] == [points[0], points[-1]]
    np.testing.assert_array_equal(counts, np.histogram(points.astype(np.float64), edges)[0])


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
def test_numbers_that_a_call_brings_are_counted(transformer):
    """A length that is given may be a symbol; numbers that have no count are errors."""
    x, n = nv.placeholder((nv.dim("m"),), dtype=nv.int64), nv.dim("n")
    given = nv.placeholder((n,))
    with nv.transformers.make_transformer(transformer) as made:
        counted = made.computation(nv.bincount(x, length=n), x, given)
        np.testing.assert_array_equal(counted(NUMBERS, np.zeros(7, np.float32)), np.bincount(NUMBERS, minlength=7))
        for number in (-1, 7):
            with pytest.raises(nv.IndexOutOfRange):
                counted(np.array([number]), np.zeros(7, np.float32))
        found = made.computation(nv.interp(given, [0.0, 1.0], [2.0, 3.0]), given)
        np.testing.assert_allclose(found(PLACES), np.interp(PLACES, [0, 1], [2, 3]))
        edges = made.computation(nv.histogram(given, 3), given)
        for one, other in zip(edges(PLACES), np.histogram(PLACES, 3), strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_area_between_unsigned_places_counts_backwards():
    """Differences of unsigned integers would be taken modulo their range."""
    places = np.uint8([5, 0, 3])
    assert nv.trapezoid([1, 2, 4], places).item() == np.trapezoid([1, 2, 4], places.astype(float))
