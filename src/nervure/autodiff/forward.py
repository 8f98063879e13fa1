"""Forward mode: how some values move when others move along given directions, as a graph beside the original one.

A walk from the values that move to the outputs gives each value between them a *tangent*: its derivative along the
directions. Almost no op has a rule for that, since its rule for cotangents (``Op.vjp``) says the same:

* The derivative of an elementwise op is a slope at each place, for both directions of a walk: ``vjp`` of the tangent.
* A view moves its tangents as it moves its elements.
* A composite without a derivative of its own is replaced by its decomposition.
* For all other ops ``vjp`` is linear in the gradient, and the transpose of that linear function is what is wanted: the
  derivative of ``vjp`` with respect to the gradient, weighted by the tangents.

>>> import nervure as nv
>>> x, y, direction = [nv.Parameter(nv.float32, (3,)) for _ in range(3)]
>>> tangents([nv.ops.Sum(nv.ops.Multiply(x, y), axes=(0,))], [x], [direction])
[f32[] Sum(Multiply)]

An op that needs another rule declares ``Op.jvp``, beside its ``vjp``. The result consists of ordinary ops: it has
derivatives of both kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.autodiff.reverse import call_vjp, checked_gradient, differentiable, gradients, is_differentiable
from nervure.errors import InvalidArgument, NotSupported, WrongKind
from nervure.ir.gc_paused import gc_paused
from nervure.ir.kinds import Composite, Elementwise, View
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Operand, Tangents, Value, as_value
from nervure.ir.provenance import NO_GRAD, of_derivative, set_override
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ops.arithmetic import Add, Subtract
from nervure.ops.conversion import Convert
from nervure.ops.rematerialising import After, at_once
from nervure.ops.selection import Where
from nervure.ops.views import Concatenate, Stack


def tangents(outputs: Sequence[Operand], moving: Sequence[Operand],
             directions: Sequence[Operand]) -> list[Value | None]:
    """Returns the derivative of each output along the ``directions`` in which the values ``moving`` move. It is None,
    for zero, if no path leads there, and for booleans and integers.

    A direction has the type of its value. Raises WrongKind (a TypeError) for an integer or bool that moves, and
    NotSupported for complex numbers, and for an op on a path that has no derivative.

    >>> x, direction = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
    >>> [value.type.shape for value in nv.autodiff.tangents([x * x], [x], [direction])]
    [(3,)]
    """
    targets = [differentiable(as_value(value), position) for position, value in enumerate(moving)]
    sources = [as_value(output) for output in outputs]
    if len(directions) != len(targets):
        raise InvalidArgument("one direction for each value is needed", op="tangents", operand="directions",
                              got=len(directions), expected=len(targets), help="a value that stays is left out of both")
    walk = _Walk({target: _direction(as_value(direction), target, position)
                  for position, (target, direction) in enumerate(zip(targets, directions, strict=True))})
    with gc_paused():
        walk.run(postorder(sources))
    return [walk.known.get(source) for source in sources]


class _Walk:
    """The state of one forward walk: the tangents that are ``known``; a value without one does not move."""

    def __init__(self, known: dict[Value, Value]) -> None:
        self.known = known

    def run(self, order: Iterable[Op]) -> None:
        """Visits ops, operands before users, each on behalf of the user's line that made it."""
        known = self.known
        before = set_override(None)
        try:
            for op in order:
                if not any([operand in known for operand in op.operands]) or NO_GRAD in op.provenance.metadata:
                    continue
                moving = [output for output in op.outputs if is_differentiable(output) and output not in known]
                if moving:
                    set_override(of_derivative(op.provenance))
                    self._visit(op, moving)
        finally:
            set_override(before)

    def _visit(self, op: Op, moving: Sequence[Value]) -> None:
        given = [self.known.get(operand) for operand in op.operands]
        if isinstance(op, RegionOp):
            found: Tangents = op.along(given, tangents)
        elif type(op).jvp is not Op.jvp:
            found = _call_jvp(op, given)
        elif isinstance(op, Composite) and not op.has_own_derivative:
            found = self._inlined(op)
        elif isinstance(op, Elementwise):
            found = [_along_slopes(op, given)]
        else:
            found = _transposed(op, given)
        for output, tangent in zip(op.outputs, found, strict=True):
            if tangent is not None and output in moving:
                self.known[output] = _checked_tangent(op, output, as_value(tangent))

    def _inlined(self, op: Composite) -> Tangents:
        """Returns the tangents of the results of a decomposition."""
        results = op.decomposed()
        self.run(postorder(results, {operand.op for operand in op.operands}))
        return [self.known.get(result) for result in results]


def _call_jvp(op: Op, given: Sequence[Value | None]) -> Tangents:
    found = op.jvp(tuple(given), *op.operands)
    if not isinstance(found, (tuple, list)) or len(found) != len(op.outputs):
        raise op.fail(WrongKind, "jvp must give one tangent for each output, None for zero",
                      got=f"{type(found).__name__} {found!r:.80}", expected=f"a tuple of {len(op.outputs)}",
                      help="return (tangent,), for example")
    return found


def _along_slopes(op: Elementwise, given: Sequence[Value | None]) -> Value | None:
    """Returns the sum of the tangents of an elementwise op's operands, each times the op's slope in that operand."""
    output, total = op.outputs[0], None
    for position, (operand, tangent) in enumerate(zip(op.operands, given, strict=True)):
        if tangent is None:
            continue
        if operand.dtype is output.dtype and not operand.dtype.is_complex:
            part = call_vjp(op, [tangent])[position]
        else:  # a slope is a number only for real operands and results
            part = _transposed(op, [tangent if at == position else None for at in range(len(given))])[0]
        if part is not None:
            total = as_value(part) if total is None else total + part
    return total


def _transposed(op: Op, given: Sequence[Value | None]) -> Tangents:
    """Returns the tangents of an op's outputs by the transpose of ``vjp``, a linear function of the gradient.

    Raises NotSupported if that function is not linear, which only a derivative that a user declares can be.
    """
    seeds = [Parameter.of(output.type).outputs[0] if is_differentiable(output) else None
             for output in op.outputs]
    with at_once():
        contributions = call_vjp(op, seeds)
    pairs = [(checked_gradient(op, position, operand, as_value(part)), tangent) for position, (operand, part, tangent)
             in enumerate(zip(op.operands, contributions, given, strict=True))
             if part is not None and tangent is not None]
    wanted = [seed for seed in seeds if seed is not None]
    below = {op, *[operand.op for operand in op.operands], *[tangent.op for _, tangent in pairs]}
    found = iter(gradients([part for part, _ in pairs], wanted, [tangent for _, tangent in pairs], set(below)))
    results = [None if seed is None else next(found) for seed in seeds]
    reached = postorder([result for result in results if result is not None], below)
    parts = [part for part, _ in pairs]
    if any([seed.op in reached for seed in wanted]) or _is_no_slope(parts, wanted, results, below):
        raise op.fail(NotSupported, "the derivative of this op is no linear function of the gradient, so it says "
                                    "nothing about directions", got=repr(op),
                      expected="a vjp that adds and scales its gradient",
                      help="use reverse mode alone here: nv.grad, nv.vjp, nv.jacobian(..., mode='reverse')")
    return results


def _is_no_slope(parts: Sequence[Value], seeds: Sequence[Value], found: Tangents, below: set[Op]) -> bool:
    """Whether some ``parts`` that a rule gives follow from no seed, or from one by steps, which have no slope.

    Numbers and steps that a rule adds to what follows from a seed, or chooses in its place, count as parts of their
    own.
    """
    moved, rest = set(seeds), set[Value]()  # what follows from a seed, and of that what is not 0 where seeds are 0
    for op in postorder(parts, below):
        own = [operand for operand in (op.operands[:1] if isinstance(op, After) else op.operands) if operand in moved]
        if own:
            joined = op.operands if isinstance(op, _JOINING) else op.operands[1:] if isinstance(op, Where) else own
            if _is_step(op, own) or any([value in rest or value not in moved and not _is_zero(value)
                                         for value in joined]):
                rest.update(op.outputs)
            moved.update(op.outputs)
    has_slope = any([value is not None for value in found]) or moved.isdisjoint(parts)
    return not has_slope or any([part in rest or part not in moved and not _is_zero(part) for part in parts])


def _is_step(op: Op, operands: Sequence[Value]) -> bool:
    """Whether an op has no slope in any of these operands, though its results follow from them."""
    if not any([is_differentiable(output) for output in op.outputs]):
        return True
    if not isinstance(op, Elementwise):
        return False
    slopes = call_vjp(op, [Parameter.of(op.outputs[0].type).outputs[0]])
    return all([slope is None for operand, slope in zip(op.operands, slopes, strict=True) if operand in operands])


def _is_zero(value: Value) -> bool:
    while isinstance(value.op, (View, Convert)):
        value = value.op.operands[0]
    return isinstance(value.op, Full) and value.op.number == 0 or \
        isinstance(value.op, Constant) and not value.op.array.any()


_JOINING = (Add, Subtract, Concatenate, Stack)


def _checked_tangent(op: Op, output: Value, tangent: Value) -> Value:
    """Returns the tangent, if it has the type of its output."""
    got, expected = tangent.type, output.type
    if kind := got.mismatch(expected):
        raise op.fail(kind, "the tangent that jvp gives has another type than the output", operand="jvp", got=got,
                      expected=expected, help="correct the op's jvp")
    return tangent


def _direction(direction: Value, value: Value, position: int) -> Value:
    """Returns a direction, if it has the type of its value."""
    got, expected = direction.type, value.type
    if kind := got.mismatch(expected):
        raise kind("a direction has another type than its value", op="tangents", operand=position + 1, got=got,
                   expected=expected, help="a direction has the element type and the shape of its value")
    return direction
