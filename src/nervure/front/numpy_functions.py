"""The ``__array_function__`` protocol: NumPy's functions of tensors. Functions with a derivative build the graph;
functions that compare, test, print or save compute at once.

>>> import numpy as np
>>> import nervure as nv
>>> v = nv.variable((3,), [-1.0, 2.0, 3.0])
>>> y = np.where(v > 0, v, 0.0)
>>> y, nv.deriv(nv.sum(y), v).tolist()
(<Tensor f32[3] Where>, [0.0, 1.0, 1.0])
>>> np.allclose(y, [0.0, 2.0, 3.0])
True

They mean what they mean for arrays: ``np.sum(x)`` is over all axes, N too; only products of named tensors go by names,
as ``@`` does. Every other function is an error that names its counterpart in nv, so that no array silently loses its
derivative. ``np.asarray(x)`` computes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from nervure.errors import InvalidArgument, WrongKind
from nervure.front.argument_parsing import not_into, position_of
from nervure.front.arranging import (
    diagonals,
    editing,
    filled,
    found,
    gathering,
    grids,
    index_grids,
    joining,
    rearranging,
    selecting,
    stacking,
    views,
)
from nervure.front.creation import as_tensor
from nervure.front.matrices import contraction, factorisations, matrix_functions, matrix_products, tensor_systems
from nervure.front.pointwise import bits, complex_parts, elementary, elementwise, predicates
from nervure.front.signals import fourier_transforms, polynomial_roots, polynomials
from nervure.front.special import bessel_functions
from nervure.front.statistics import bins as counts
from nervure.front.statistics import differences, nan_reductions, prefixes, ranks, reductions, sets, sorts
from nervure.front.tensor import Number, Operand, Tensor, TensorLike
from nervure.types.axes import AxesLike, AxisLike
from nervure.types.dtype import DTypeLike

COMPUTING = frozenset(
    "allclose isclose array_equal array_equiv isin shares_memory may_share_memory "
    "array_repr array_str array2string save savez savez_compressed savetxt".split())
"""Functions that give an answer or write a file: they receive the numbers."""

INSTEAD = {
    "block": "concatenate", "fill_diagonal": "fill_diagonal", "put_along_axis": "put_along_axis",
    **dict.fromkeys("linalg.tensordot linalg.vecdot".split(), "einsum"),
    "extract": "where", "linalg.matmul": "matmul", "linalg.outer": "outer", "linalg.matrix_norm": "linalg.matrix_norm",
    "linalg.vector_norm": "linalg.vector_norm", "linalg.qr": "linalg.qr", "linalg.svd": "linalg.svd",
    "empty_like": "zeros_like"}
"""Functions that have another name in nv, with that name."""


def array_function(x: Tensor, function: Callable[..., object], types: Sequence[type],
                   arguments: Sequence[object], keywords: dict[str, object]) -> object:
    """Calls the counterpart of a function of NumPy, or the function itself with numbers in place of tensors."""
    if not all([issubclass(kind, (Tensor, np.ndarray)) for kind in types]):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    if name in COMPUTING:
        return function(*map(_numbers, arguments), **{key: _numbers(entry) for key, entry in keywords.items()})
    if name not in GRAPH:
        other = INSTEAD.get(name)
        raise WrongKind("this NumPy function does not know tensors", op=f"np.{name}", got="a tensor", expected="arrays",
                        help=f"nv.{other} does it in the graph; x.numpy() gives an array, without a derivative"
                        if other else "x.numpy() gives an array, which has no derivative")
    bound = _bound(name, arguments, {key: keywords[key] for key in keywords if key != "out"}, keywords.get("out"))
    return GRAPH[name](*bound.args, **bound.kwargs)


def _bound(name: str, arguments: Sequence[object], keywords: dict[str, object], out: object) -> inspect.BoundArguments:
    """Binds the arguments to the function's parameters; WrongKind for those that tensors do not support."""
    if out is not None:
        raise not_into(out, f"np.{name}")
    signature = inspect.signature(GRAPH[name])
    try:
        return signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise WrongKind(f"this is not for tensors: {error}", op=f"np.{name}",
                        got=", ".join(keywords) or f"{len(arguments)} arguments",
                        expected=", ".join(signature.parameters), help="leave it out, or compute x.numpy() first"
                        ) from None


def _numbers(value: object) -> object:
    """Returns arguments with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: _numbers(entry) for key, entry in value.items()}
    if type(value) is tuple:
        return tuple([_numbers(entry) for entry in value])
    return [_numbers(entry) for entry in value] if type(value) is list else value


# -- reductions ------------------------------------------------------------------------------------


def _reduced(name: str, a: Operand, axis: AxesLike | None, dtype: DTypeLike | None = None,
             **settings: object) -> Tensor:
    """Applies a reduction. ``axis`` of None means all axes, as in NumPy, including those that nv keeps."""
    own = as_tensor(a, name)
    own = own if dtype is None else elementwise.convert(own, dtype)
    result: Tensor = getattr(reductions, name)(own, axis=_everywhere(own, axis), **settings)
    return result


def _everywhere(x: Tensor, axis: AxesLike | None) -> AxesLike:
    return list(range(x.ndim)) if axis is None else axis


def _extremum(name: str) -> Callable[..., Tensor]:
    def reduction(a: Operand, axis: AxesLike | None = None, *, keepdims: bool = False,
                  initial: Number | None = None) -> Tensor:
        return _reduced(name, a, axis, keepdims=keepdims, initial=initial)
    return reduction


def _answer(name: str) -> Callable[..., Tensor]:
    def reduction(a: Operand, axis: AxesLike | None = None, *, keepdims: bool = False) -> Tensor:
        return _reduced(name, a, axis, keepdims=keepdims)
    return reduction


def _mean(a: Operand, axis: AxesLike | None = None, dtype: DTypeLike | None = None, *,
          keepdims: bool = False) -> Tensor:
    return _reduced("mean", a, axis, dtype, keepdims=keepdims)


def _total(name: str) -> Callable[..., Tensor]:
    def reduction(a: Operand, axis: AxesLike | None = None, dtype: DTypeLike | None = None, *,
                  keepdims: bool = False, initial: Number | None = None) -> Tensor:
        return _reduced(name, a, axis, dtype, keepdims=keepdims, initial=initial)
    return reduction


def _spread(name: str) -> Callable[..., Tensor]:
    def reduction(a: Operand, axis: AxesLike | None = None, dtype: DTypeLike | None = None, *, ddof: int = 0,
                  keepdims: bool = False) -> Tensor:
        return _reduced(name, a, axis, dtype, ddof=ddof, keepdims=keepdims)
    return reduction


# -- products and choices --------------------------------------------------------------------------


def _clip(a: Operand, a_min: Operand | None = None, a_max: Operand | None = None, *, min: Operand | None = None,
          max: Operand | None = None) -> Tensor:
    return elementwise.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def _where(condition: Operand, /, *choices: Operand) -> Tensor | tuple[Tensor, ...]:
    if not choices:
        return found.nonzero(condition)
    if len(choices) != 2:
        raise InvalidArgument("where takes a condition, and both choices or none", op="np.where", got=len(choices) + 1,
                              expected="1 or 3 arguments", help="np.where(x > 0, x, 0)")
    return elementwise.where(condition, *choices)


def _unique(ar: Operand, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, *,
            equal_nan: bool = True) -> Tensor | tuple[Tensor, ...]:
    return found.unique(ar, return_index, return_inverse, return_counts, equal_nan)


def _outer(a: Operand, b: Operand) -> Tensor:
    return contraction.outer(*[entry if entry.ndim == 1 else views.flatten(entry)
                               for entry in (as_tensor(a, "outer"), as_tensor(b, "outer", 2))])


def _take(a: Operand, indices: Operand, axis: AxisLike | None = None) -> Tensor:
    return gathering.gather(views.flatten(a) if axis is None else a, indices, 0 if axis is None else axis)


# -- moves -----------------------------------------------------------------------------------------


def _concatenate(arrays: Sequence[Operand], /, axis: AxisLike = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    listed = [views.flatten(entry) for entry in arrays] if axis is None else list(arrays)
    joined = joining.concatenate(listed, 0 if axis is None else axis)
    return joined if dtype is None else elementwise.convert(joined, dtype)


def _reshape(a: Operand, /, shape: AxesLike, order: str = "C") -> Tensor:
    if order != "C":
        raise InvalidArgument("tensors are reshaped in row-major order", op="np.reshape", operand="order",
                              got=repr(order), expected="'C'", help="nv.reshape(x.T, shape[::-1]).T is the other order")
    return views.reshape(a, shape)


def _transpose(a: Operand, axes: AxesLike | None = None) -> Tensor:
    own = as_tensor(a, "transpose")
    return views.transpose_method(own) if axes is None else views.axes_with_order(own, axes)


def _pad(array: Operand, pad_width: ArrayLike | dict[AxisLike, object], mode: str = "constant", *,
         constant_values: Number = 0) -> Tensor:
    own = as_tensor(array, "pad")
    if isinstance(pad_width, dict):
        return views.pad(own, {position_of(own, axis, "pad"): entry for axis, entry in pad_width.items()}, None, mode,
                         constant_values)
    try:
        pairs = np.broadcast_to(pad_width, (own.ndim, 2)).tolist()
    except ValueError:
        raise InvalidArgument("a pair (before, after) is needed for each axis", op="np.pad", operand="pad_width",
                              got=repr(pad_width), expected=f"{own.ndim} pairs, or one for all",
                              help="((1, 1), (0, 2)) pads two axes") from None
    return views.pad(own, [tuple(pair) for pair in pairs], None, mode, constant_values)


# -- without NaN, and without a place to write -----------------------------------------------------


def _without_nan(name: str) -> Callable[..., Tensor]:
    function = getattr(nan_reductions, name)

    def reduction(a: Operand, axis: AxesLike | None = None, *, keepdims: bool = False, **settings: object) -> Tensor:
        own = as_tensor(a, name)
        result: Tensor = function(own, _everywhere(own, axis), keepdims, **settings)
        return result
    return reduction


def _average(a: Operand, axis: AxesLike | None = None, weights: Operand | None = None, *,
             keepdims: bool = False) -> Tensor:
    own = as_tensor(a, "average")
    return differences.average(own, _everywhere(own, axis), weights, keepdims)


# -- orders ----------------------------------------------------------------------------------------


def _ordered(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Makes a sort of NumPy's: its ``kind`` and ``stable`` change nothing, since all sorts here are stable."""
    def sort(a: Operand, axis: AxisLike | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Tensor:
        return function(a, axis)
    return sort


def _running(name: str) -> Callable[..., Tensor]:
    function = getattr(prefixes, name)

    def running(a: Operand, axis: AxisLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
        own = as_tensor(a, name)
        result: Tensor = function(own if dtype is None else elementwise.convert(own, dtype), axis)
        return result
    return running


# -- bins ------------------------------------------------------------------------------------------


def _histogram(a: Operand, bins: int | TensorLike = 10, range: Sequence[float] | None = None,
               density: bool | None = None, weights: Operand | None = None) -> tuple[Tensor, Tensor]:
    return counts.histogram(a, bins, range, weights, bool(density))


def _bin_edges(a: Operand, bins: int | TensorLike = 10, range: Sequence[float] | None = None) -> Tensor:
    return counts.histogram_bin_edges(a, bins, range)


# -- transforms ------------------------------------------------------------------------------------


def _fourier(name: str) -> Callable[..., Tensor]:
    function = getattr(fourier_transforms, name)

    def transform(a: Operand, *arguments: object, **keywords: object) -> Tensor:
        result: Tensor = function(a, *arguments, **keywords)
        return result
    return transform


# -- what is known without numbers -----------------------------------------------------------------


def _size(a: Operand, axis: AxesLike | None = None) -> object:
    own = as_tensor(a, "size")
    return own.size if axis is None else own.shape[position_of(own, axis, "size")]


GRAPH: dict[str, Callable[..., object]] = {
    **{name: _total(name) for name in ("sum", "prod")}, "mean": _mean,
    "std": _spread("std"), "var": _spread("variance"),
    **{name: _answer(name) for name in ("any", "all", "argmax", "argmin", "count_nonzero")},
    **{name: _extremum(name) for name in ("max", "min")},
    "amax": _extremum("max"), "amin": _extremum("min"),
    **{f"fft.{name}": _fourier(name) for name in fourier_transforms.__all__
       if hasattr(np.fft, name) and not name.endswith(("freq", "shift"))},
    "fft.fftshift": fourier_transforms.fftshift, "fft.ifftshift": fourier_transforms.ifftshift,
    "linalg.norm": matrix_functions.norm,
    **{f"linalg.{name}": getattr(factorisations, name) for name in (
        "solve", "inv", "pinv", "slogdet", "det", "svdvals", "eigh", "eigvalsh", "eig", "eigvals")},
    **{f"linalg.{name}": getattr(matrix_functions, name) for name in (
        "cond", "matrix_power", "matrix_rank", "multi_dot")},
    "linalg.cholesky": lambda a, /, *, upper=False: factorisations.cholesky(a, upper),
    "linalg.lstsq": factorisations.lstsq,
    **{f"linalg.{name}": getattr(tensor_systems, name) for name in ("tensorinv", "tensorsolve")},
    "where": _where,
    **{name: getattr(found, name) for name in ("argwhere", "flatnonzero", "nonzero")},
    "compress": lambda condition, a, axis=None: found.compress(condition, a, axis),
    "repeat": lambda a, repeats, axis=None: found.repeat(a, repeats, axis),
    "unique": _unique,
    "clip": _clip,
    "round": lambda a, decimals=0: elementwise.round(a, decimals),
    "around": lambda a, decimals=0: elementwise.round(a, decimals),
    "dot": lambda a, b: contraction.dot(a, b),
    "outer": _outer,
    "einsum": lambda subscripts, *operands: contraction.einsum(subscripts, *operands),
    "take": _take,
    "take_along_axis": lambda arr, indices, axis=-1: gathering.gather_elements(arr, indices, axis),
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0: joining.stack(list(arrays), pos=axis),
    "split": lambda ary, indices_or_sections, axis=0: joining.split(ary, indices_or_sections, axis),
    "reshape": _reshape,
    "ravel": lambda a: views.flatten(a),
    "transpose": _transpose,
    "permute_dims": _transpose,
    "matrix_transpose": views.matrix_transposed,
    **{name: getattr(rearranging, name) for name in (
        "swapaxes", "moveaxis", "roll", "rot90", "tile", "flipud", "fliplr", "broadcast_arrays", "atleast_1d",
        "atleast_2d", "atleast_3d")},
    "vstack": lambda tup: stacking.vstack(list(tup)),
    "hstack": lambda tup: stacking.hstack(list(tup)),
    "dstack": lambda tup: stacking.dstack(list(tup)),
    "column_stack": lambda tup: stacking.column_stack(list(tup)),
    "append": lambda arr, values, axis=None: stacking.append(arr, values, axis),
    **{name: getattr(stacking, name) for name in ("hsplit", "vsplit", "dsplit", "unstack")},
    "array_split": lambda ary, indices_or_sections, axis=0: stacking.array_split(ary, indices_or_sections, axis),
    **{name: getattr(diagonals, name) for name in ("diagonal", "trace")},
    "diag": lambda v, k=0: diagonals.diag(v, k),
    "diagflat": lambda v, k=0: diagonals.diagflat(v, k),
    "meshgrid": grids.meshgrid,
    "vander": lambda x, N=None, increasing=False: grids.vander(x, N, increasing),
    **{name: getattr(matrix_products, name) for name in ("inner", "vdot", "tensordot", "kron")},
    "cross": lambda a, b, axis=-1: matrix_products.cross(a, b, axis),
    **{name: getattr(differences, name) for name in ("diff", "trapezoid", "cov", "corrcoef")},
    "gradient": lambda f, *varargs, axis=None: differences.gradient(f, *varargs, axis=axis),
    "ptp": lambda a, axis=None, *, keepdims=False: differences.ptp(a, _everywhere(as_tensor(a, "ptp"), axis), keepdims),
    "average": _average,
    **{name: _without_nan(name) for name in nan_reductions.__all__ if name != "nan_to_num"},
    "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None: nan_reductions.nan_to_num(
        x, nan, posinf, neginf),
    **{name: getattr(complex_parts, name) for name in ("real", "imag", "iscomplex", "isreal")},
    "angle": lambda z: complex_parts.angle(z),
    "sinc": elementary.sinc,
    "i0": lambda x: bessel_functions.i0(x),
    "fix": lambda x: elementary.fix(x),
    "isposinf": lambda x: predicates.isposinf(x),
    "isneginf": lambda x: predicates.isneginf(x),
    **{name: _ordered(getattr(sorts, name)) for name in ("sort", "argsort")},
    "partition": lambda a, kth, axis=-1, kind="introselect": sorts.partition(a, kth, axis),
    "argpartition": lambda a, kth, axis=-1, kind="introselect": sorts.argpartition(a, kth, axis),
    **{name: _running(name) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")},
    **{name: lambda x, /, *, axis=None, name=name: getattr(prefixes, name)(x, axis)
       for name in ("cumulative_sum", "cumulative_prod")},
    "median": lambda a, axis=None, *, keepdims=False: ranks.median(a, axis, keepdims),
    **{name: lambda a, q, axis=None, *, method="linear", keepdims=False, name=name: getattr(ranks, name)(
        a, q, axis, keepdims, method) for name in ("quantile", "percentile")},
    "nanmedian": lambda a, axis=None, *, keepdims=False: ranks.nanmedian(a, axis, keepdims),
    **{name: lambda a, q, axis=None, *, method="linear", keepdims=False, name=name: getattr(ranks, name)(
        a, q, axis, keepdims, method) for name in ("nanquantile", "nanpercentile")},
    "unwrap": lambda p, discont=None, axis=-1, *, period=2 * math.pi: differences.unwrap(p, discont, axis, period),
    **{name: lambda ar1, ar2, assume_unique=False, name=name: getattr(sets, name)(ar1, ar2)
       for name in ("intersect1d", "setdiff1d", "setxor1d")},
    "union1d": lambda ar1, ar2: sets.union1d(ar1, ar2),
    **{name: getattr(sets, name) for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")},
    "searchsorted": lambda a, v, side="left": ranks.searchsorted(a, v, side),
    "digitize": lambda x, bins, right=False: ranks.digitize(x, bins, right),
    "bincount": lambda x, /, weights=None, minlength=0: counts.bincount(x, weights, minlength),
    "histogram": _histogram,
    "histogram_bin_edges": _bin_edges,
    "histogram2d": lambda x, y, bins=10, range=None, density=None, weights=None: counts.histogram2d(
        x, y, bins, range, bool(density), weights),
    "histogramdd": lambda sample, bins=10, range=None, density=None, weights=None: counts.histogramdd(
        sample, bins, range, bool(density), weights),
    "interp": counts.interp,
    "convolve": lambda a, v, mode="full": polynomials.convolve(a, v, mode),
    "correlate": lambda a, v, mode="valid": polynomials.correlate(a, v, mode),
    "poly": lambda seq_of_zeros: polynomial_roots.poly(seq_of_zeros),
    "roots": polynomial_roots.roots, "polydiv": polynomial_roots.polydiv,
    "polyfit": lambda x, y, deg, rcond=None, *, w=None: polynomial_roots.polyfit(x, y, deg, rcond, w),
    "choose": lambda a, choices, *, mode="raise": selecting.choose(a, choices, mode),
    "select": lambda condlist, choicelist, default=0: selecting.select(condlist, choicelist, default),
    "piecewise": lambda x, condlist, funclist, *args: selecting.piecewise(x, condlist, funclist, *args),
    "delete": lambda arr, obj, axis=None: editing.delete(arr, obj, axis),
    "insert": lambda arr, obj, values, axis=None: editing.insert(arr, obj, values, axis),
    "trim_zeros": lambda filt, trim="fb": editing.trim_zeros(filt, trim),
    "packbits": lambda a, axis=None, bitorder="big": bits.packbits(a, axis, bitorder),
    "unpackbits": lambda a, axis=None, count=None, bitorder="big": bits.unpackbits(a, axis, count, bitorder),
    "ix_": index_grids.ix_, "diag_indices_from": lambda arr: index_grids.diag_indices_from(arr),
    **{name: lambda arr, k=0, name=name: getattr(index_grids, name)(arr, k)
       for name in ("tril_indices_from", "triu_indices_from")},
    "ravel_multi_index": lambda multi_index, dims, mode="raise": index_grids.ravel_multi_index(
        multi_index, dims, mode),
    "unravel_index": lambda indices, shape: index_grids.unravel_index(indices, shape),
    "polyval": polynomials.polyval, "polyder": polynomials.polyder, "polyint": polynomials.polyint,
    **{name: lambda a1, a2, name=name: getattr(polynomials, name)(a1, a2)
       for name in ("polyadd", "polysub", "polymul")},
    "lexsort": lambda keys, axis=-1: sorts.lexsort(keys, axis),
    "expand_dims": lambda a, axis: views.expand_dims(a, axis),
    "squeeze": lambda a, axis=None: views.squeeze(a, axis),
    "broadcast_to": lambda array, shape: views.broadcast(array, shape),
    "flip": lambda m, axis=None: views.reverse(m, axis),
    "pad": _pad,
    "tril": lambda m, k=0: filled.tril(m, k),
    "triu": lambda m, k=0: filled.triu(m, k),
    "astype": lambda x, dtype, /: elementwise.convert(x, dtype),
    "zeros_like": lambda a, dtype=None: filled.zeros_like(a, dtype),
    "ones_like": lambda a, dtype=None: filled.ones_like(a, dtype),
    "full_like": lambda a, fill_value, dtype=None: filled.full_like(a, fill_value, dtype),
    "shape": lambda a: as_tensor(a, "shape").shape,
    "ndim": lambda a: as_tensor(a, "ndim").ndim,
    "size": _size,
    "result_type": lambda *given: np.result_type(*[entry.dtype.numpy if isinstance(entry, Tensor) else entry
                                                    for entry in given]),
    "iscomplexobj": lambda x: as_tensor(x, "iscomplexobj").dtype.is_complex,
    "isrealobj": lambda x: not as_tensor(x, "isrealobj").dtype.is_complex}
"""NumPy's functions, by their names, with NumPy's arguments."""
