"""Products of groups of rows, each group with a matrix of its own, where groups have any lengths.

>>> import nervure as nv
>>> x, w = nv.constant([[1.], [2.], [3.]]), nv.constant([[[1.]], [[10.]]])
>>> nv.ragged_dot(x, w, [1, 2]).tolist()
[[1.0], [20.0], [30.0]]
"""

from __future__ import annotations

from nervure.errors import ShapeMismatch
from nervure.front.apply import promoted_pair
from nervure.front.contraction import matmul
from nervure.front.elementwise import as_floats
from nervure.front.filled import iota, zeros
from nervure.front.found import flatnonzero
from nervure.front.gathering import as_index, gather, scatter
from nervure.front.op_functions import greater_equal, less, logical_and
from nervure.front.prefixes import cumsum
from nervure.front.tensor import Tensor, TensorLike
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import Dim
from nervure.types.dim import equal as equal_lengths

__all__ = ["ragged_dot"]


def ragged_dot(x: TensorLike, w: TensorLike, sizes: TensorLike) -> Tensor:
    """Multiplies groups of rows of x, (rows, k), by matrices of ``w``, (groups, k, n): the first ``sizes[0]`` rows by
    the first, and so on.

    Rows behind the last group give 0. The work is that of one product: each group's rows are as many as are found when
    the graph runs (``docs/found_sizes.md``). It is JAX's function of this name, and PyTorch's ``grouped_mm``, where
    offsets are the sums of the sizes. The number of groups is a number.

    >>> nv.ragged_dot(nv.ones((3, 2)), nv.ones((2, 2, 1)), [0, 2]).tolist()
    [[2.0], [2.0], [0.0]]
    """
    own, matrices = promoted_pair(as_floats(x, "ragged_dot"), as_floats(w, "ragged_dot", 2), "ragged_dot")
    lengths = as_index(sizes, "ragged_dot", 3)
    groups = matrices.type.shape[0] if matrices.ndim == 3 else None
    if own.is_named or matrices.is_named or own.ndim != 2 or groups is None or isinstance(groups, Dim) or equal_lengths(
            own.type.shape[1], matrices.type.shape[1]) is False:
        raise ShapeMismatch("rows meet a matrix for each group", op="ragged_dot", got=f"{own.type} and {matrices.type}",
                            expected="(rows, k) and (groups, k, n), without names, for a number of groups",
                            help="nv.matmul multiplies groups of one length: (groups, rows, k) @ (groups, k, n)")
    if lengths.ndim != 1 or equal_lengths(lengths.type.shape[0], groups) is False:
        raise ShapeMismatch("each group has a size", op="ragged_dot", operand="sizes", got=str(lengths.type),
                            expected=f"{groups} integers", help="nv.bincount(group of each row) counts them")
    ends, place = cumsum(lengths, axis=0), iota(own.type.shape[0])
    result = zeros((own.type.shape[0], matrices.type.shape[2]), own.dtype)
    for k in range(groups):
        end = gather(ends, k, 0)
        rows = flatnonzero(logical_and(greater_equal(place, end - gather(lengths, k, 0)), less(place, end)))
        result = scatter(result, rows, matmul(gather(own, rows, 0), matrices[k]), 0)
    return result


explain_keywords(globals(), __all__)
