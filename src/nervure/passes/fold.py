"""Constant folding: ops of constants alone are computed now.

``evaluate(op, arrays)``, supplied by the caller of the pipeline, returns the results of an op; the passes themselves
run nothing. Without it only ops that need no arithmetic are folded.

* Elementwise ops on uniform tensors (``Full``) are evaluated on one element and stay uniform, whatever their shape.
* A view of a uniform tensor is uniform.
* Other ops on constants become a ``Constant``: of at most 1 MiB, or smaller than an operand. A view is not
  folded where that would take more memory than it shows.

An op whose evaluation fails (an index out of range) is left to fail when the function runs; so is an op that makes a
NaN from operands without one, which ``flags.check_nan`` must be able to name.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> ones = nv.ops.Broadcast(nv.ops.Full(1, nv.float32, (3,)), (2, 3), (0,))
>>> fold(nv.Function([x * ones], [x])).results[0].op.operands[1]
f32[2, 3] Full()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, Structured, View
from nervure.ir.leaves import Constant, Full, fit_number, is_held
from nervure.ir.op import Op, Value
from nervure.passes.pattern import same_number, uniform_number
from nervure.passes.rewrite import Local, Replacement, Rewriter, Rule
from nervure.types.view import SimpleView

Evaluate = Callable[[Op, Sequence[np.ndarray]], Sequence[np.ndarray]]
"""The results of an op (one array for each output) from the arrays of its operands, which must not be written."""

LIMIT = 1 << 20
"""The bytes of a constant that folding may make, unless an operand is larger."""


def fold(function: Function, evaluate: Evaluate | None = None) -> Function:
    """Returns the function with constants folded."""
    return Rewriter("fold", rules(evaluate))(function)


def rules(evaluate: Evaluate | None = None) -> list[Rule]:
    """Returns the rules of folding."""
    views: list[Rule] = [Local("fold: a constant of one element", [Constant], _single_element), _UniformView()]
    return views if evaluate is None else [*views, _UniformElementwise(evaluate), _Constants(evaluate)]


def _single_element(op: Constant) -> Op | None:
    """Makes a constant of one element uniform, if that keeps its bits."""
    return Full(op.array.item(), op.dtype, op.shape) if op.array.size == 1 and is_held(op.array) else None


class _UniformView(Rule):
    """A view of tensors that are each one number everywhere, without a border of another number."""

    name = "fold: a view of one number"

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return issubclass(op_class, View) and _are_constant(operand_classes)

    def apply(self, op: Op) -> Replacement:
        assert isinstance(op, View)
        numbers = [uniform_number(operand) for operand in op.operands]
        if numbers[0] is None:
            return None
        view = op.view
        if not isinstance(view, SimpleView):
            numbers += [fit_number(piece.constant, op.dtype) for piece in view.pieces if piece.operand is None]
        if not all([_is_same_number(number, numbers[0]) for number in numbers]):
            return None
        return Full(numbers[0], op.dtype, op.shape)


class _Evaluated(Rule):
    """The common part of the rules that evaluate."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def evaluated(self, op: Op, operands: Sequence[Value]) -> list[np.ndarray] | None:
        """Returns the results of an op on constant operands; None if it fails or makes a NaN."""
        return results_of(op.with_operands(operands), [array_of(operand) for operand in operands], self._evaluate)


class _UniformElementwise(_Evaluated):
    """An elementwise op on uniform tensors: evaluated on tensors of rank 0."""

    name = "fold: an elementwise op on numbers"

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return issubclass(op_class, Elementwise) and bool(operand_classes) and all(
            [entry is Full for entry in operand_classes])

    def apply(self, op: Op) -> Replacement:
        numbers = [operand.op for operand in op.operands]
        results = self.evaluated(op, [Full(entry.number, entry.dtype, ()).value
                                      for entry in numbers if isinstance(entry, Full)])
        if results is None:
            return None
        return [Full(result.item(), output.dtype, output.shape)
                for result, output in zip(results, op.outputs, strict=True)]


class _Constants(_Evaluated):
    """Any pure op on constants, if its results are small enough."""

    name = "fold: an op on constants"

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return issubclass(op_class, (Elementwise, View, Structured)) and _are_constant(operand_classes)

    def apply(self, op: Op) -> Replacement:
        if not _is_affordable(op):
            return None
        results = self.evaluated(op, op.operands)
        return None if results is None else [Constant(result) for result in results]


def results_of(op: Op, arrays: Sequence[np.ndarray], evaluate: Evaluate) -> list[np.ndarray] | None:
    """Returns the results of an op on ``arrays``; None if it fails, or makes a NaN of numbers."""
    try:
        results = [np.asarray(result) for result in evaluate(op, arrays)]
    except NervureError:
        return None
    if any(map(_has_nan, results)) and not any(map(_has_nan, arrays)):
        return None
    return results


def _are_constant(op_classes: Sequence[type[Op]]) -> bool:
    return bool(op_classes) and all([entry is Full or entry is Constant for entry in op_classes])


def _is_affordable(op: Op) -> bool:
    values = (*op.operands, *op.outputs)
    if not all([isinstance(length, int) for value in values for length in value.shape]):
        return False
    sizes = [value.type.nbytes for value in values]
    operands, results = sizes[:len(op.operands)], sum(sizes[len(op.operands):])
    held = [size for size, operand in zip(operands, op.operands, strict=True) if type(operand.op) is Constant]
    if isinstance(op, View) and results > sum(held):
        return False
    spread = sum(operands) - sum(held)  # uniform operands take no memory until they are evaluated
    return spread <= LIMIT and (results <= LIMIT or results < max(held, default=0))


def array_of(value: Value) -> np.ndarray:
    """Returns the elements of a ``Constant``, or of a ``Full`` of known shape: one number with strides of zero."""
    op = value.op
    if type(op) is Constant:
        return op.array
    assert isinstance(op, Full)
    return np.broadcast_to(op.dtype.numpy.type(op.number), [length for length in op.shape if isinstance(length, int)])


def _is_same_number(left: complex | None, right: complex) -> bool:
    return left is not None and (same_number(left, right) or (left != left and right != right))


def _has_nan(array: np.ndarray) -> bool:
    # Only a NaN differs from itself, in NumPy's types as in others; a signalling one makes NumPy warn.
    with np.errstate(invalid="ignore"):
        return bool((array != array).any())
