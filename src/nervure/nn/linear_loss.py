"""The cross entropy of logits that a dense product makes, of which only some rows exist at a time.

>>> import nervure as nv
>>> x, weights = nv.ones((4, 3)), nv.zeros((3, 10))
>>> print(nv.nn.losses.linear_cross_entropy(x, weights, [1, 2, 3, 4], rows=2).numpy().round(4))
2.3026
"""

from __future__ import annotations

from collections.abc import Callable

from nervure import ops
from nervure.autodiff.derivative import deriv
from nervure.errors import ShapeMismatch
from nervure.front.argument_parsing import integer
from nervure.front.arranging.filled import ones, zeros_like
from nervure.front.arranging.views import axes_with_order, pad, reshape
from nervure.front.creation import as_tensor
from nervure.front.custom import custom_vjp
from nervure.front.evaluation_order import in_order
from nervure.front.loops.loop_functions import map as each
from nervure.front.loops.loop_functions import scan
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import add, divide, multiply
from nervure.front.pointwise.elementwise import as_floats, convert
from nervure.front.statistics.reductions import sum as total
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.loss_parts import classified, numbered, reduced, require_reduction
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.dim import DimLike, equal, product


@in_order
def linear_cross_entropy(x: TensorLike, weights: TensorLike, targets: TensorLike, bias: TensorLike | None = None,
                         class_weights: TensorLike | None = None, smoothing: float = 0.0,
                         ignore_index: int | None = None, rows: int | None = None,
                         reduction: str = "mean") -> Tensor:
    """Returns the cross entropy of the logits ``x @ weights + bias`` and ``targets``, class numbers over all axes of x
    but its last.

    ``weights`` is (features, classes); a single axis that x and weights share by name is that of the features, in any
    place. With ``rows`` there are at most that many rows of logits at a time; derivatives keep none of them, and
    compute them again. ``class_weights``, ``smoothing``, ``ignore_index`` and
    ``reduction`` are those of ``cross_entropy``. It is PyTorch's ``linear_cross_entropy``, with transposed weights.

    >>> nv.nn.losses.linear_cross_entropy([[1.0, 2.0]], [[0.0], [0.0]], [0]).item()
    0.0
    """
    op = "linear_cross_entropy"
    require_reduction(reduction, op)
    own, matrix = _features_between(as_floats(x, op), as_floats(weights, op, 2))
    if not own.ndim or matrix.ndim != 2 or equal(own.type.shape[-1], matrix.type.shape[0]) is False:
        raise ShapeMismatch("the weights are (features, classes)", op=op, operand="weights",
                            got=f"{matrix.type} for {own.type}", expected="the last length of x, and the classes",
                            help="PyTorch's are transposed: weights.T")
    if bias is not None and as_tensor(bias, op).ndim > 1:
        raise ShapeMismatch("a bias has a number for each class", op=op, operand="bias",
                            got=str(as_tensor(bias, op).type), expected=f"{matrix.type.shape[1]} numbers",
                            help="bias= is over the axis of the classes alone")
    numbers, axes = numbered(own, targets, op, 3)
    count = product(own.type.shape[:-1])
    vectors = reshape(Tensor(own.value), (count, own.type.shape[-1]))
    others = {name: Tensor(as_tensor(entry, op).value) for name, entry in (
        ("bias", bias), ("class_weights", class_weights)) if entry is not None}

    def of_rows(vectors: Tensor, numbers: Tensor, matrix: Tensor, *beside: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the loss of each row, and how much each counts."""
        given, logits = dict(zip(others, beside, strict=True)), matmul(vectors, matrix)
        made, goal = classified(op, add(logits, given["bias"]) if "bias" in given else logits, numbers, 1,
                                given.get("class_weights"), smoothing, ignore_index)
        found = Tensor(ops.SoftmaxCrossEntropy(made.value, goal.targets.value, [1]))
        counts = ones(found.type.shape, found.dtype) if goal.counted is None else total(goal.counted, axis=1)
        return found, counts
    compute = of_rows if rows is None else _in_blocks(of_rows, count, integer(rows, op, "rows", least=1))
    found, counts = compute(vectors, numbers, matrix, *others.values())
    if reduction == "mean":
        return convert(divide(total(found), total(counts)), own.dtype)
    return reduced(Tensor(reshape(found, own.type.shape[:-1]).value, axes), reduction, own.dtype, op)


def _features_between(x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Returns x with the features as last axis, and weights, by positions, with them as first one.

    They are a single axis that both have by name; without one the axes stay as they are.
    """
    shared = [axis for axis in x.axes if axis in weights.axes] if x.is_named and weights.is_named else []
    if len(shared) == 1:
        x, weights = [axes_with_order(entry, Axes(order)) for entry, order in (
            (x, [*[axis for axis in x.axes if axis not in shared], *shared]),
            (weights, [*shared, *[axis for axis in weights.axes if axis not in shared]]))]
    return x, Tensor(weights.value)


def _in_blocks(of_rows: Callable[..., tuple[Tensor, Tensor]], count: DimLike,
               size: int) -> Callable[..., tuple[Tensor, Tensor]]:
    """Returns a function of all ``count`` rows that runs ``of_rows`` for ``size`` of them at a time.

    Its derivative runs it again for each block, and adds up the gradients of what all blocks share: a loop's own
    derivative would keep one for each.
    """
    blocks = (count + size - 1) // size

    def alone(x: Tensor) -> Tensor:
        """Returns x, as a value of which nothing is made for other blocks at the same time."""
        return Tensor(ops.After(x.value))

    def cut(x: Tensor) -> Tensor:
        longer = pad(x, [(0, blocks * size - count), *[(0, 0)] * (x.ndim - 1)])
        return reshape(longer, (blocks, size, *x.type.shape[1:]))

    def joined(x: Tensor) -> Tensor:
        return reshape(x, (blocks * size, *x.type.shape[2:]))[:count]

    def forward(vectors: Tensor, numbers: Tensor, *others: Tensor) -> tuple[Tensor, Tensor]:
        found = each(lambda part: of_rows(alone(part[0]), part[1], *others), (cut(vectors), cut(numbers)))
        return joined(found[0]), joined(found[1])

    def backward(gradients: tuple[Tensor, Tensor], vectors: Tensor, numbers: Tensor,
                 *others: Tensor) -> list[Tensor | None]:
        def add_block(totals: tuple[Tensor, ...], part: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            found = of_rows(alone(part[0]), part[1], *others)
            whole = add(*[total(multiply(entry, slope)) for entry, slope in zip(found, part[2:], strict=True)])
            own, *shared = deriv(whole, [part[0], *others])
            return tuple([add(before, entry) for before, entry in zip(totals, shared, strict=True)]), own
        parts = tuple([cut(entry) for entry in (vectors, numbers, *gradients)])
        totals, slopes = scan(add_block, tuple([zeros_like(entry) for entry in others]), parts)
        return [joined(slopes), None, *totals]
    return custom_vjp(forward, backward)


__all__ = ["linear_cross_entropy"]

explain_keywords(globals(), __all__)
