"""Reductions: over the named axes, or over all but the kept ones.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="N=2, H=2")
>>> nv.sum(x).tolist(), nv.sum(x, out_axes=()).tolist(), nv.max(x, "N").tolist()
([3.0, 7.0], 10.0, [3.0, 4.0])

Without axes, a reduction goes over all but batch (N) and time (REC). Positions serve in place of names: ``nv.sum(x,
0)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nervure import ops
from nervure.errors import InvalidArgument, NervureError
from nervure.front.alignment import reordered
from nervure.front.apply import described
from nervure.front.argument_parsing import either, number, positions_of, truth
from nervure.front.creation import as_tensor
from nervure.front.promotion import accumulating, floating
from nervure.front.tensor import Number, Tensor, TensorLike
from nervure.ir.leaves import fit_number
from nervure.ir.op import Op, Value
from nervure.ops.conversion import converted
from nervure.ops.reductions import Extremum
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.dim import product
from nervure.types.dtype import DType, bool_, float32


def sample_axes(x: Tensor) -> list[int]:
    """Returns the positions of the axes that tell samples apart: those of batch and time, without names the first."""
    return [at for at, axis in enumerate(x.axes) if (axis.is_of_samples if x.is_named else at == 0)]


def chosen_axes(x: Tensor, reduction_axes: AxesLike | None, out_axes: AxesLike | None,
                op: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the positions that are reduced, and those that stay, in the order of the result.

    ``reduction_axes`` lists the former and ``out_axes`` the latter; if both are given, they must partition the axes of
    x.
    """
    if reduction_axes is None and out_axes is None:
        kept = sample_axes(x) if x.is_named else []
        return tuple([at for at in range(x.ndim) if at not in kept]), tuple(kept)
    if out_axes is None:
        reduced = positions_of(x, reduction_axes, op)
        return reduced, tuple([at for at in range(x.ndim) if at not in reduced])
    kept_in_order = positions_of(x, out_axes, op)
    rest = tuple([at for at in range(x.ndim) if at not in kept_in_order])
    if reduction_axes is not None and set(positions_of(x, reduction_axes, op)) != set(rest):
        raise InvalidArgument("reduction_axes and out_axes must be disjoint and cover the tensor", op=op,
                              got=f"{reduction_axes} and {out_axes}", expected=f"a partition of {x.axes}",
                              help="give one of them")
    return rest, kept_in_order


def reduce(name: str, core: Callable[..., Op], x: TensorLike, reduction_axes: AxesLike | None,
           out_axes: AxesLike | None, axis: AxesLike | None, keepdims: bool,
           dtype: Callable[[DType], DType], **attributes: object) -> Tensor:
    """Applies a core reduction: ``dtype`` maps the element type of ``x`` to the type that is reduced."""
    own = as_tensor(x, name)
    reduced, kept = chosen_axes(own, either(reduction_axes, axis, name, "reduction_axes"), out_axes, name)
    value = core(converted(own.value, dtype(own.dtype)), axes=tuple(sorted(reduced)), **attributes).outputs[0]
    return _arranged(value, own, reduced, kept, keepdims)


def _arranged(value: Value, own: Tensor, reduced: tuple[int, ...], kept: tuple[int, ...], keepdims: bool) -> Tensor:
    """Returns the reduced value with its axes: in the order asked for, or with lengths of 1 in the old places."""
    if truth(keepdims, type(value.op).__name__, "keepdims"):
        shape = tuple([1 if at in reduced else length for at, length in enumerate(own.type.shape)])
        value = ops.Reshape(value, shape).output
        if not own.is_named:
            return Tensor(value)
        return Tensor(value, Axes([axis.resized(1) if at in reduced else axis for at, axis in enumerate(own.axes)]))
    value = reordered(value, [sorted(kept).index(at) for at in kept])
    return Tensor(value, Axes([own.axes[at] for at in kept]) if own.is_named else None)


def _reduction(name: str, core: type[Op], dtype: Callable[[DType], DType], arguments: str,
               result: str) -> Callable[..., Tensor]:
    """Makes the reduction ``name``; its docstring shows the ``result`` for some ``arguments``."""
    def reduction(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *,
                  axis: AxesLike | None = None, keepdims: bool = False) -> Tensor:
        return reduce(name, core, x, reduction_axes, out_axes, axis, keepdims, dtype)
    return described(reduction, name, core.__doc__, arguments, result)


def _fold(name: str, core: type[Op], combine: type[Op], dtype: Callable[[DType], DType], arguments: str,
          result: str) -> Callable[..., Tensor]:
    """Makes a reduction that may start from a number: ``combine`` is its operation on two elements."""
    def reduction(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *,
                  axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None) -> Tensor:
        if initial is None:
            return reduce(name, core, x, reduction_axes, out_axes, axis, keepdims, dtype)
        begun = partial(_begun, name, core, combine, initial)
        return reduce(name, begun, x, reduction_axes, out_axes, axis, keepdims, dtype)
    document = f"{core.__doc__}\n\n    ``initial`` is a number to begin with, and what a reduction over nothing gives."
    return described(reduction, name, document, arguments, result)


def _begun(name: str, core: type[Op], combine: type[Op], initial: Number, value: Value, axes: tuple[int, ...]) -> Op:
    """Builds the reduction of a value and an initial number."""
    begin = number(initial, name, "initial", f"nv.{combine.__name__.lower()}(nv.{name}(x), y) takes tensors")
    try:
        fitting = fit_number(begin, value.dtype)
    except NervureError as error:
        error.operand = "initial"
        raise error.within(name) from None
    wide = converted(value, value.dtype.compute)  # rounded once
    reduced = core(wide, axes, of_nothing=True) if issubclass(core, Extremum) else core(wide, axes)
    begun = combine(reduced.outputs[0], reduced.outputs[0].full(fitting)).outputs[0]
    return converted(begun, value.dtype).op


def _same(dtype: DType) -> DType:
    return dtype


def _truth(dtype: DType) -> DType:
    return bool_


sum = _fold("sum", ops.Sum, ops.Add, accumulating, "[[1, 2], [3, 4]], axis=0", "[4.0, 6.0]")  # NumPy's name
prod = _fold("prod", ops.Prod, ops.Multiply, accumulating, "[[1, 2], [3, 4]], axis=1", "[2.0, 12.0]")
max = _fold("max", ops.Max, ops.Maximum, _same, "[[1, 5], [4, 2]], axis=1", "[5.0, 4.0]")
min = _fold("min", ops.Min, ops.Minimum, _same, "[[1, 5], [4, 2]], axis=1", "[1.0, 2.0]")
mean = _reduction("mean", ops.Mean, floating, "[[1, 2], [3, 4]], axis=0", "[2.0, 3.0]")
any = _reduction("any", ops.Any, _truth, "[[0, 0], [0, 1]], axis=1", "[False, True]")
all = _reduction("all", ops.All, _truth, "[[1, 0], [1, 1]], axis=1", "[False, True]")
argmax = _reduction("argmax", ops.ArgMax, _same, "[[1, 5], [4, 2]], axis=1", "[1, 0]")
argmin = _reduction("argmin", ops.ArgMin, _same, "[[1, 5], [4, 2]], axis=1", "[0, 1]")
count_nonzero = _reduction("count_nonzero", ops.CountNonzero, _same, "[[0, 3], [1, 2]], axis=1", "[1, 2]")
logsumexp = _reduction("logsumexp", ops.LogSumExp, floating, "[0.0, 0.0, 0.0]", "1.0986")
logmeanexp = _reduction("logmeanexp", ops.LogMeanExp, floating, "[0.0, 0.0, 0.0]", "0.0")
squared_L2 = _reduction("squared_L2", ops.SquaredL2, floating, "[3.0, 4.0]", "25.0")
L2_norm = _reduction("L2_norm", ops.L2Norm, floating, "[3.0, 4.0]", "5.0")
L1_norm = _reduction("L1_norm", ops.L1Norm, floating, "[3.0, -4.0]", "7.0")


def variance(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *,
             axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """The mean squared distance from the mean over the reduced axes; divides by n - ``ddof``. Integers give float32.

    >>> nv.variance([1, 2, 3, 4]).item(), nv.variance([1, 3], ddof=1).item()
    (1.25, 2.0)
    """
    return reduce("variance", ops.Variance, x, reduction_axes, out_axes, axis, keepdims, floating, ddof=ddof)


def std(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *,
        axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
    """The square root of the variance, with the same axes and ``ddof``. Integers give float32.

    >>> nv.std([[1, 5], [2, 2]], axis=1).tolist()
    [2.0, 0.0]
    """
    return reduce("std", ops.Std, x, reduction_axes, out_axes, axis, keepdims, floating, ddof=ddof)


def tensor_size(x: TensorLike, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None) -> Tensor:
    """The number of elements that a reduction over ``reduction_axes`` or ``out_axes`` combines, as a float32 scalar.

    >>> nv.tensor_size(nv.zeros("N=4, H=2, W=3")).item()
    6.0
    """
    own = as_tensor(x, "tensor_size")
    reduced, _ = chosen_axes(own, reduction_axes, out_axes, "tensor_size")
    return Tensor(ops.Extent(product([own.type.shape[at] for at in reduced]), float32, ()))


def batch_size(x: TensorLike) -> Tensor:
    """The length of the batch axis, as a float32 scalar; 1 if there is none.

    >>> nv.batch_size(nv.zeros("N=4, H=2")).item()
    4.0
    """
    own = as_tensor(x, "batch_size")
    return tensor_size(own, reduction_axes=own.axes.batch_axes() if own.is_named else [])


__all__ = ["L1_norm", "L2_norm", "all", "any", "argmax", "argmin", "batch_size", "count_nonzero", "logmeanexp",
           "logsumexp", "max", "mean", "min", "prod", "squared_L2", "std", "sum", "tensor_size", "variance"]

explain_keywords(globals(), __all__)
