"""The cross entropy of logits that a dense product makes, of which only some rows exist at a time.

>>> import nervure as nv
>>> x, weights = nv.ones((4, 3)), nv.zeros((3, 10))
>>> print(nv.nn.losses.linear_cross_entropy(x, weights, [1, 2, 3, 4], rows=2).numpy().round(4))
2.3026
"""

from __future__ import annotations

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch, did_you_mean
from nervure.front import alignment
from nervure.front.argument_parsing import shown
from nervure.front.contraction import matmul
from nervure.front.creation import as_tensor
from nervure.front.elementwise import as_floats, convert
from nervure.front.filled import ones, zeros
from nervure.front.gathering import as_index
from nervure.front.loop_functions import map as each
from nervure.front.op_functions import add, divide
from nervure.front.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.front.views import pad, reshape
from nervure.front.windows import step
from nervure.nn.loss_parts import REDUCTIONS, classified, reduced
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.dim import equal, product
from nervure.types.dtype import int64


def linear_cross_entropy(x: TensorLike, weights: TensorLike, targets: TensorLike, bias: TensorLike | None = None,
                         class_weights: TensorLike | None = None, smoothing: float = 0.0,
                         ignore_index: int | None = None, rows: int | None = None,
                         reduction: str = "mean") -> Tensor:
    """The cross entropy of the logits ``x @ weights + bias`` and ``targets``, class numbers over all axes of x but its
    last.

    ``weights`` is (features, classes). With ``rows`` there are at most that many rows of logits at a time; derivatives
    compute them again, and no tensor of all logits exists. ``class_weights``, ``smoothing``, ``ignore_index`` and
    ``reduction`` are those of ``cross_entropy``. It is PyTorch's ``linear_cross_entropy``, with transposed weights.

    >>> nv.nn.losses.linear_cross_entropy([[1.0, 2.0]], [[0.0], [0.0]], [0]).item()
    0.0
    """
    op = "linear_cross_entropy"
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise InvalidArgument("unknown reduction", op=op, operand="reduction", got=shown(reduction),
                              expected=", ".join(REDUCTIONS),
                              help=did_you_mean(str(reduction), REDUCTIONS, "'none' gives the loss of each position"))
    own, matrix = as_floats(x, op), Tensor(as_floats(weights, op, 2).value)
    if not own.ndim or matrix.ndim != 2 or equal(own.type.shape[-1], matrix.type.shape[0]) is False:
        raise ShapeMismatch("the weights are (features, classes)", op=op, operand="weights",
                            got=f"{matrix.type} for {own.type}", expected="the last length of x, and the classes",
                            help="PyTorch's are transposed: weights.T")
    place = Tensor(zeros(own.type.shape[:-1], int64).value, Axes(own.axes[:-1]) if own.is_named else None)
    goal = as_index(targets, op, 3)
    if goal.ndim != place.ndim:
        raise ShapeMismatch("each vector has a class number", op=op, operand="targets", got=str(goal.type),
                            expected=str(place.type), help="integers over all axes of x but its last")
    count = product(own.type.shape[:-1])
    numbers = reshape(Tensor(alignment.fitted(goal, place, op)), (count,))
    vectors = reshape(Tensor(own.value), (count, own.type.shape[-1]))
    shift = None if bias is None else Tensor(as_tensor(bias, op).value)

    def of_rows(part: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Returns the loss of each row, and how much each counts."""
        logits = matmul(part[0], matrix)
        made, goal = classified(op, logits if shift is None else add(logits, shift), part[1], 1, class_weights,
                                smoothing, ignore_index)
        found = Tensor(ops.SoftmaxCrossEntropy(made.value, goal.targets.value, [1]))
        counts = ones(found.type.shape, found.dtype) if goal.counted is None else total(goal.counted, axis=1)
        return found, counts
    if rows is None:
        found, counts = of_rows((vectors, numbers))
    else:
        size = step(op, "rows", rows)
        blocks = (count + size - 1) // size
        longer = [pad(vectors, [(0, blocks * size - count), (0, 0)]), pad(numbers, [(0, blocks * size - count)])]
        parts = reshape(longer[0], (blocks, size, own.type.shape[-1])), reshape(longer[1], (blocks, size))
        found, counts = [reshape(entry, (blocks * size,))[:count] for entry in each(of_rows, parts, checkpoint=1)]
    if reduction == "mean":
        return convert(divide(total(found), total(counts)), own.dtype)
    return reduced(Tensor(reshape(found, own.type.shape[:-1]).value, place._axes), reduction, own.dtype, op)


__all__ = ["linear_cross_entropy"]

explain_keywords(globals(), __all__)
