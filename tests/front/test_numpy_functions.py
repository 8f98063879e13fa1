"""NumPy's functions of tensors. The numbers are claims of docs/axes.md."""

from __future__ import annotations

import io
from operator import attrgetter

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.numpy_functions import COMPUTING, GRAPH, INSTEAD
from tests.front.test_vocabulary import BY_NUMPY

KNOWN = {"shape", "ndim", "size", "iscomplexobj", "isrealobj", "result_type"}
ORDER = np.array([2, 0, 0])

CALLS = [
    ("sort", lambda v: np.sort(v, 0)), ("sort", lambda v: np.sort(v, axis=None)),
    ("partition", lambda v: np.partition(v, [0, 1, 2])),
    ("argsort", lambda v: np.argsort(v)), ("argpartition", lambda v: np.argpartition(v, [0, 1, 2], axis=0)),
    ("cumsum", lambda v: np.cumsum(v, 0)), ("cumsum", lambda v: np.cumsum(v)), ("cumprod", lambda v: np.cumprod(v, 1)),
    ("cumulative_sum", lambda v: np.cumulative_sum(v, axis=1)), ("nancumsum", lambda v: np.nancumsum(v, 1)),
    ("cumulative_prod", lambda v: np.cumulative_prod(v, axis=0)), ("nancumprod", lambda v: np.nancumprod(v, 1)),
    ("median", lambda v: np.median(v, axis=1)), ("quantile", lambda v: np.quantile(v, 0.3, axis=0)),
    ("percentile", lambda v: np.percentile(v, 80)),
    ("nanmedian", lambda v: np.nanmedian(v, axis=1)), ("nanquantile", lambda v: np.nanquantile(v, 0.3, axis=0)),
    ("nanpercentile", lambda v: np.nanpercentile(v, 80)),
    ("unique_values", lambda v: np.sort(np.unique_values(v))), ("unique", lambda v: np.unique(v)),
    ("unique", lambda v: np.unique(v, return_index=True, return_counts=True, equal_nan=False)[1]),
    ("nonzero", lambda v: np.nonzero(v > 1)[1]),
    ("argwhere", lambda v: np.argwhere(v > 1)), ("flatnonzero", lambda v: np.flatnonzero(v > 1)),
    ("compress", lambda v: np.compress([True, False, True], v, axis=1)),
    ("repeat", lambda v: np.repeat(v, 2)), ("repeat", lambda v: np.repeat(v, [0, 2, 1], axis=1)),
    ("searchsorted", lambda v: np.searchsorted(v[0] * 0 + np.arange(1, 4), v)),
    ("digitize", lambda v: np.digitize(v, np.array([0.5, 1.5]))),
    ("histogramdd", lambda v: np.histogramdd(MATRIX, [2, 2, 2], weights=v[0])[0]),
    ("ravel_multi_index", lambda v: np.ravel_multi_index((np.argmax(v), np.argmin(v)), (9, 9))),
    ("roots", lambda v: np.real(np.roots(v[0])).sum()),
    ("lexsort", lambda v: np.lexsort(v)),
    ("where", lambda v: np.where(v > 1.5, v, 0.0)), ("where", lambda v: np.where(np.eye(3) > 0, v * v, v)),
    ("clip", lambda v: np.clip(v, 0.0, 1.75)), ("clip", lambda v: np.clip(v, None, 1.75)),
    ("clip", lambda v: np.clip(v, min=0.9)), ("clip", lambda v: np.clip(v, a_min=0.0, a_max=v / 2)),
    ("round", lambda v: np.round(v)), ("around", lambda v: np.around(v, 1)),
    ("sum", lambda v: np.sum(v)), ("sum", lambda v: np.sum(v, 0)), ("sum", lambda v: np.sum(v, axis=(0, 1))),
    ("sum", lambda v: np.sum(v, -1, keepdims=True)), ("sum", lambda v: np.sum(v, 1, np.float32, out=None)),
    ("prod", lambda v: np.prod(v, axis=1)), ("mean", lambda v: np.mean(v)), ("mean", lambda v: np.mean(v, 1)),
    ("std", lambda v: np.std(v, axis=0, ddof=1)), ("var", lambda v: np.var(v)), ("max", lambda v: np.max(v, axis=0)),
    ("min", lambda v: np.min(v)), ("real", lambda v: np.real(v)), ("imag", lambda v: np.imag(v)),
    ("angle", lambda v: np.angle(v)),
    ("isreal", lambda v: np.isreal(v)), ("iscomplex", lambda v: np.iscomplex(v)),
    ("fft.fft", lambda v: np.real(np.fft.fft(v, 4))), ("fft.ifft", lambda v: np.imag(np.fft.ifft(v, axis=0))),
    ("fft.rfft", lambda v: np.imag(np.fft.rfft(v, norm="ortho"))), ("fft.irfft", lambda v: np.fft.irfft(v, 5)),
    ("fft.hfft", lambda v: np.fft.hfft(v, axis=0)), ("fft.ihfft", lambda v: np.imag(np.fft.ihfft(v))),
    ("fft.fft2", lambda v: np.real(np.fft.fft2(v))), ("fft.ifft2", lambda v: np.imag(np.fft.ifft2(v, (2, 4)))),
    ("fft.rfft2", lambda v: np.real(np.fft.rfft2(v, axes=(1, 0)))), ("fft.irfft2", lambda v: np.fft.irfft2(v)),
    ("fft.fftn", lambda v: np.real(np.fft.fftn(v))), ("fft.ifftn", lambda v: np.real(np.fft.ifftn(v))),
    ("fft.rfftn", lambda v: np.imag(np.fft.rfftn(v))), ("fft.irfftn", lambda v: np.fft.irfftn(v, norm="forward")),
    ("fft.fftshift", lambda v: np.fft.fftshift(v)), ("fft.ifftshift", lambda v: np.fft.ifftshift(v, axes=0)),
    ("linalg.cholesky", lambda v: np.linalg.cholesky(v @ v.T + np.eye(3))),
    ("linalg.multi_dot", lambda v: np.linalg.multi_dot([v, v, v])),
    ("linalg.matrix_power", lambda v: np.linalg.matrix_power(v, 2)),
    ("linalg.lstsq", lambda v: np.linalg.lstsq(v[:, :2], v[:, 2])[0]),
    ("linalg.slogdet", lambda v: np.linalg.slogdet(v + 9 * np.eye(3))[1]),
    ("linalg.eigh", lambda v: np.linalg.eigh(v + v.T)[0]),
    ("linalg.eig", lambda v: np.real(np.linalg.eig(v + v.T)[0].sum())),
    ("linalg.solve", lambda v: np.linalg.solve(v + 9 * np.eye(3), v)),
    ("linalg.inv", lambda v: np.linalg.inv(v + 9 * np.eye(3))),
    ("linalg.pinv", lambda v: np.sum(np.linalg.pinv(v + 9 * np.eye(3)))),
    ("linalg.det", lambda v: np.linalg.det(v + 9 * np.eye(3))), ("linalg.svdvals", lambda v: np.linalg.svdvals(v)),
    ("linalg.eigvalsh", lambda v: np.linalg.eigvalsh(v + v.T)),
    ("linalg.eigvals", lambda v: np.real(np.linalg.eigvals(v + v.T).sum())),
    ("linalg.tensorinv", lambda v: np.linalg.tensorinv(np.reshape(v + 9 * np.eye(3), (3, 3, 1)), 1)),
    ("linalg.tensorsolve", lambda v: np.linalg.tensorsolve(np.reshape(v + 9 * np.eye(3), (3, 1, 3)), v[:, :1])),
    ("linalg.cond", lambda v: np.linalg.cond(v + 9 * np.eye(3))),
    ("linalg.matrix_rank", lambda v: np.linalg.matrix_rank(v)),
    ("amax", lambda v: np.amax(v, 1, keepdims=True)), ("amin", lambda v: np.amin(v)),
    ("any", lambda v: np.any(v > 2, axis=1)), ("all", lambda v: np.all(v)), ("argmax", lambda v: np.argmax(v)),
    ("argmin", lambda v: np.argmin(v, axis=0)), ("count_nonzero", lambda v: np.count_nonzero(v > 0, axis=1)),
    ("linalg.norm", lambda v: np.linalg.norm(v)), ("linalg.norm", lambda v: np.linalg.norm(v, axis=1)),
    ("linalg.norm", lambda v: np.linalg.norm(v[0], 1)), ("linalg.norm", lambda v: np.linalg.norm(v, 2, 1)),
    ("linalg.norm", lambda v: np.linalg.norm(v, "fro", keepdims=True)),
    ("dot", lambda v: np.dot(v, v)), ("dot", lambda v: np.dot(np.ones(3), v)), ("outer", lambda v: np.outer(v, v[0])),
    ("einsum", lambda v: np.einsum("ij,jk->ik", v, np.eye(3))), ("take", lambda v: np.take(v, ORDER, axis=1)),
    ("take", lambda v: np.take(v, [5, -1])), ("take_along_axis", lambda v: np.take_along_axis(v, ORDER[None], axis=0)),
    ("concatenate", lambda v: np.concatenate([v, np.ones((1, 3))])),
    ("concatenate", lambda v: np.concatenate((v, v), axis=None, dtype=np.float32)),
    ("concatenate", lambda v: np.concatenate([v, v], axis=1)), ("stack", lambda v: np.stack([v, v * 2], axis=-1)),
    ("split", lambda v: np.split(v, 3)[1]), ("split", lambda v: np.split(v, [1], axis=1)[1]),
    ("reshape", lambda v: np.reshape(v, (1, -1))), ("ravel", lambda v: np.ravel(v)),
    ("transpose", lambda v: np.transpose(v)), ("transpose", lambda v: np.transpose(v, (1, 0))),
    ("permute_dims", lambda v: np.permute_dims(v, (1, 0))), ("matrix_transpose", lambda v: np.matrix_transpose(v)),
    ("swapaxes", lambda v: np.swapaxes(v, 0, 1)), ("moveaxis", lambda v: np.moveaxis(v[None], 0, -1)),
    ("moveaxis", lambda v: np.moveaxis(v[None], [0, 2], [1, 0])), ("expand_dims", lambda v: np.expand_dims(v, 1)),
    ("squeeze", lambda v: np.squeeze(v[None])), ("squeeze", lambda v: np.squeeze(v[None], 0)),
    ("broadcast_to", lambda v: np.broadcast_to(v, (2, 3, 3))), ("flip", lambda v: np.flip(v)),
    ("flip", lambda v: np.flip(v, axis=1)), ("pad", lambda v: np.pad(v, 1)), ("pad", lambda v: np.pad(v, (1, 2))),
    ("pad", lambda v: np.pad(v, ((0, 1), (2, 0)), "edge")), ("pad", lambda v: np.pad(v, [(1, 0)], constant_values=7)),
    ("tril", lambda v: np.tril(v)), ("triu", lambda v: np.triu(v, k=1)), ("astype", lambda v: np.astype(v, np.float64)),
    ("zeros_like", lambda v: np.zeros_like(v)), ("ones_like", lambda v: np.ones_like(v, dtype=np.int64)),
    ("full_like", lambda v: np.full_like(v, 2.5)),
]
MATRIX = np.float32([[0.5, -1, 2], [3, 1.25, -0.75], [2.5, -3, 1]])
WITHOUT_DERIVATIVE = {"any", "all", "argmax", "argmin", "count_nonzero", "zeros_like", "ones_like", "full_like",
                      "round", "around", "argsort", "argpartition", "lexsort", "ravel_multi_index",
                      "searchsorted", "digitize", "unique_values", "unique", "nonzero", "argwhere", "flatnonzero"}


@pytest.mark.parametrize("transformer", ["interpreter", "cpu"])
@pytest.mark.parametrize(("name", "call"), CALLS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(CALLS)])
def test_a_function_with_a_counterpart_builds_the_graph(name, call, transformer):
    """A260: with NumPy's meaning, and the derivative goes through."""
    x = nv.placeholder((3, 3))
    y = call(x)
    assert isinstance(y, nv.Tensor)
    expected = call(MATRIX)
    with nv.transformers.make_transformer(transformer) as made:
        found = made.computation(y, x)(MATRIX)
        assert found.shape == expected.shape and found.dtype.kind == expected.dtype.kind
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if name not in WITHOUT_DERIVATIVE:
            weights = np.arange(1.0, expected.size + 1).reshape(expected.shape)
            gradient = made.computation(nv.deriv(nv.sum(y * weights), x), x)(MATRIX)
            np.testing.assert_allclose(gradient, slopes(call, weights), rtol=2e-3, atol=2e-3)


def slopes(call, weights):
    """Central differences of the weighted sum, in float64."""
    found = np.zeros((3, 3))
    for at in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[at] = 1e-4
        ends = [np.sum(call(MATRIX.astype(np.float64) + sign * step) * weights) for sign in (1, -1)]
        found[at] = (ends[0] - ends[1]) / 2e-4
    return found


def test_every_counterpart_is_tried():
    """A260: the table above, or that of NumPy's names, has a call of each function of the table."""
    assert {name for name, _ in CALLS} <= set(GRAPH) - KNOWN <= {name for name, _ in CALLS} | set(BY_NUMPY)


def dispatched():
    """All functions of NumPy that ask tensors, by name."""
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in dir(module):
            function = getattr(module, name)
            if hasattr(function, "_implementation") and function.__module__ == module.__name__:
                yield f"{prefix}{function.__name__}", function


DISPATCHED = dict(dispatched())


@pytest.mark.parametrize("name", sorted(set(DISPATCHED) - set(GRAPH) - COMPUTING))
def test_any_other_function_is_an_error(name):
    """A260: it names the function of nv where there is one, else ``x.numpy()``; no array comes back in silence."""
    with pytest.raises(WrongKind, match="does not know tensors") as caught:
        nv.ones((2, 2)).__array_function__(DISPATCHED[name], (nv.Tensor,), (nv.ones((2, 2)),), {})
    assert caught.value.op == f"np.{name}" and "x.numpy()" in caught.value.help
    if name in INSTEAD:
        assert f"nv.{INSTEAD[name]}" in caught.value.help and callable(attrgetter(INSTEAD[name])(nv))


def test_the_tables_name_functions_of_numpy():
    """A260: no name is misspelt, and none stands in two tables."""
    assert {*GRAPH, *COMPUTING, *INSTEAD} - set(DISPATCHED) <= {"permute_dims", "amax", "amin", "around"}
    assert not (set(GRAPH) & COMPUTING or set(INSTEAD) & (set(GRAPH) | COMPUTING))


def test_what_compares_tests_prints_or_saves_computes():
    """A261: NumPy's tests, comparisons, texts and files get the numbers."""
    x, a = nv.constant(MATRIX) * 2, MATRIX * 2
    for first, second in ((x, a), (a, x), (x, x)):
        assert np.allclose(first, second) is True and np.array_equal(first, second) and np.array_equiv(first, second)
        assert type(np.isclose(first, second)) is np.ndarray
        np.testing.assert_allclose(first, second)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_equal(first, a)
        np.testing.assert_array_almost_equal(first, second)
        np.testing.assert_array_max_ulp(first, second)
    np.testing.assert_array_less(x, a + 1)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(x, a + 1)
    assert (np.array_repr(x), np.array_str(x), np.array2string(x)) == (np.array_repr(a), str(a), str(a))
    assert np.isin([1.0, 99.0], x).tolist() == [True, False] and not np.shares_memory(x, a)
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    assert np.load(file).tolist() == a.tolist()
    file = io.BytesIO()
    np.savez(file, x, named=x)
    assert np.load(io.BytesIO(file.getvalue()))["named"].tolist() == a.tolist()
    text = io.StringIO()
    np.savetxt(text, x)
    assert len(text.getvalue().splitlines()) == 3


def test_conversions_compute():
    """A261: what NumPy is asked to make an array of becomes one, lists of tensors too."""
    x = nv.constant(MATRIX)
    for array in (np.asarray(x), np.array(x), np.ascontiguousarray(x), np.asanyarray(x), np.r_[x], np.array([x])[0]):
        assert type(array) is np.ndarray and array.tolist() == MATRIX.tolist()


def test_what_is_known_without_numbers_is_not_computed():
    """A260: shapes and kinds, of placeholders too."""
    x = nv.placeholder("N=n, H=3")
    assert np.shape(x) == x.shape and np.ndim(x) == 2 and np.size(x, 1) == 3 and np.size(x) == x.size
    assert np.isrealobj(x) and not np.iscomplexobj(x)


def test_while_tracing_nothing_is_computed():
    """A260, A261: choices are traced; a comparison of numbers says that there are none."""
    chosen = nv.jit(lambda x: np.where(x > 0, x, 0.0))
    assert chosen(MATRIX).tolist() == np.where(MATRIX > 0, MATRIX, 0).tolist()
    places = nv.jit(lambda x: np.where(x > 0)[1])
    assert places(MATRIX).tolist() == np.where(MATRIX > 0)[1].tolist()
    with pytest.raises(WrongKind, match="is traced"):
        nv.jit(lambda x: x if np.allclose(x, 0) else -x)(MATRIX)


def test_named_tensors():
    """A260: None is all axes, positions are positions, names stay; products go by names."""
    x = nv.constant(MATRIX[:2], axes="N=2, F=3")
    assert np.sum(x).item() == MATRIX[:2].sum() and np.max(x).item() == 3.0 and np.argmax(x).item() == 3
    assert np.mean(x, axis=0).axes == nv.make_axes("F=3")
    assert np.transpose(x).axes == nv.make_axes("F=3, N=2") and np.pad(x, {"F": 1}).shape == (2, 5)
    assert np.where(x > 0, x, 0.0).axes == x.axes
    weights = nv.constant(MATRIX, axes="K=3, F=3")
    np.testing.assert_allclose(np.dot(x, weights), MATRIX[:2] @ MATRIX.T)


@pytest.mark.parametrize("call", [
    lambda x: np.sum(x, where=MATRIX > 0), lambda x: np.sum(x, out=np.zeros(())), lambda x: np.any(x, where=MATRIX > 0),
    lambda x: np.unique(x, axis=0), lambda x: np.take(x, [0], mode="clip"), lambda x: np.concatenate([x], casting="no"),
    lambda x: np.pad(x, 1, "linear_ramp"), lambda x: np.pad(x, (1, 2, 3)), lambda x: np.round(x, 99),
    lambda x: np.reshape(x, (9,), order="F"), lambda x: np.linalg.norm(x, ord=3), lambda x: np.linalg.norm(x, "mean")])
def test_arguments_that_are_not_for_tensors(call):
    """A260: what nv does not do is an error, not left out."""
    with pytest.raises((WrongKind, InvalidArgument)) as caught:
        call(nv.constant(MATRIX))
    assert caught.value.help and caught.value.location.file == __file__


def test_other_classes_are_asked_first():
    """A260: a class that has its own NumPy functions gets the call."""
    class Foreign:
        def __array_function__(self, function, types, arguments, keywords):
            return "foreign"
    assert np.concatenate([nv.ones((2,)), Foreign()]) == "foreign"
