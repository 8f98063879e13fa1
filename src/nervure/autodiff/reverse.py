"""Reverse mode: the derivatives of some values with respect to others, as a graph beside the original one.

A walk from the outputs back to the wanted values gives each value between them a *cotangent*: the derivative of the
outputs, weighted by the seeds, with respect to it. An op turns the cotangent of its output into those of its operands
(``Op.vjp``); contributions of several users add up.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> gradients([nv.ops.Multiply(x, y)], [x], [None])
[f32[3] Multiply(Full, Parameter)]

The result consists of ordinary ops, so it can be differentiated again. Ops that no path from a wanted value reaches
are not visited, and each new op carries the line of the op that it differentiates.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from nervure.autodiff.slices import beside_each_other
from nervure.errors import InvalidArgument, NotSupported, WrongKind
from nervure.ir.gc_paused import gc_paused
from nervure.ir.kinds import Composite
from nervure.ir.op import Gradient, Gradients, Op, Operand, Value, as_value
from nervure.ir.provenance import NO_GRAD, of_derivative, set_override
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ops.arithmetic import Add


def gradients(outputs: Sequence[Operand], wanted: Sequence[Operand],
              seeds: Sequence[Operand | None], below: set[Op] | None = None) -> list[Value | None]:
    """Returns the derivative of the sum of ``seed * output`` with respect to each wanted value. It is None, for zero,
    if no path leads there.

    A seed has the type of its output; None stands for ones. Booleans and integers cut paths. ``below`` may name ops
    that no path passes, so that nothing beneath them is visited; the set is extended. Raises WrongKind (a TypeError)
    for a wanted integer or bool, and NotSupported for an op on a path that has no derivative.

    The derivative with respect to a complex value x + iy is that in x minus i times that in y, JAX's convention: of a
    function that is differentiable as one of complex numbers it is the derivative, and rules conjugate nothing.

    >>> x = nv.Parameter(nv.float32, (3,))
    >>> [value.type.shape for value in nv.autodiff.gradients([nv.ops.Sum(x * x, (0,))], [x], [None])]
    [(3,)]
    """
    targets = [differentiable(as_value(value), position) for position, value in enumerate(wanted)]
    sources = [as_value(output) for output in outputs]
    if len(seeds) != len(sources):
        raise InvalidArgument("one seed an output is needed", op="gradients", operand="seeds", got=len(seeds),
                              expected=len(sources), help="None stands for ones, where the output is a scalar")
    walk = _Walk(targets)
    walk.enter(postorder(sources, below))
    for position, (output, seed) in enumerate(zip(sources, seeds, strict=True)):
        if output in walk.active:
            walk.add(output, output.full(1) if seed is None else _seed(as_value(seed), output, position))
    with gc_paused():
        walk.run()
    return [walk.cotangent(target) for target in targets]


class _Walk:
    """The state of one reverse walk.

    ``active`` are the values that depend on a wanted one, ``pending`` the ops still to be visited, users after their
    operands, so that the last one has all its cotangents.
    """

    def __init__(self, wanted: Sequence[Value]) -> None:
        self.active: set[Value] = set(wanted)
        self.kept: set[Value] = set(wanted)
        self.pending: list[Op] = []
        self.contributions: dict[Value, list[Value]] = {}

    def enter(self, order: Iterable[Op]) -> None:
        """Marks the active values among ops in postorder, and queues these ops."""
        active = self.active
        for op in order:
            if not any([operand in active for operand in op.operands]) or NO_GRAD in op.provenance.metadata:
                continue
            differentiable = [output for output in op.outputs if is_differentiable(output)]
            if differentiable:
                active.update(differentiable)
                self.pending.append(op)

    def add(self, value: Value, cotangent: Value) -> None:
        """Adds a contribution to a cotangent."""
        self.contributions.setdefault(value, []).append(cotangent)

    def cotangent(self, value: Value) -> Value | None:
        """Returns the sum of the contributions so far; None if there is none."""
        contributions = self.contributions.get(value)
        if contributions is None:
            return None
        first, *more = beside_each_other(contributions)
        for entry in more:
            first = Add(first, entry).outputs[0]
        self.contributions[value] = [first]
        return first

    def run(self) -> None:
        """Visits the pending ops from the last to the first, each on behalf of the user's line that made it."""
        before = set_override(None)
        try:
            while self.pending:
                op = self.pending.pop()
                received = [self._take(output) for output in op.outputs]
                if any([cotangent is not None for cotangent in received]):
                    set_override(of_derivative(op.provenance))
                    self._visit(op, received)
        finally:
            set_override(before)

    def _take(self, output: Value) -> Value | None:
        found = self.cotangent(output)
        if output not in self.kept:
            self.contributions.pop(output, None)
        return found

    def _visit(self, op: Op, received: Sequence[Value | None]) -> None:
        if isinstance(op, Composite) and not op.has_own_derivative:
            self._inline(op, received)
            return
        contributions = call_vjp(op, received, self.active)
        for position, (operand, contribution) in enumerate(zip(op.operands, contributions, strict=True)):
            if contribution is not None and operand in self.active:
                self.add(operand, checked_gradient(op, position, operand, as_value(contribution)))

    def _inline(self, op: Composite, received: Sequence[Value | None]) -> None:
        """Replaces a composite by its decomposition: same operands, with the cotangents moved to its results."""
        results = op.decomposed()
        self.enter(postorder(results, {operand.op for operand in op.operands}))
        for result, cotangent in zip(results, received, strict=True):
            if cotangent is not None and result in self.active:
                self.add(result, cotangent)


def call_vjp(op: Op, received: Sequence[Value | None], active: Container[Value] | None = None) -> Gradients:
    """Returns the contributions of an op to its operands, from the gradients that its outputs received.

    Those of a branch or a loop are for its ``active`` operands (absent: for all that are floats), since the functions
    that it holds are differentiated in turn.
    """
    if isinstance(op, RegionOp):
        wanted = [operand.type.dtype.is_inexact and (active is None or operand in active) for operand in op.operands]
        return op.differentiated(tuple(received), wanted, gradients)
    gradient: Gradient = tuple(received) if len(received) > 1 or received[0] is None else received[0]
    try:
        contributions = op.vjp(gradient, *op.operands)
    except NotSupported:
        raise
    except NotImplementedError:
        raise op.fail(NotSupported, "this op has no derivative", operand=op.name, got=repr(op),
                      expected="an op with a vjp",
                      help="stop the gradient before it with ops.StopGradient, or give the op a vjp") from None
    if not isinstance(contributions, (tuple, list)) or len(contributions) != len(op.operands):
        raise op.fail(WrongKind, "vjp must give one gradient an operand, None for zero",
                      got=f"{type(contributions).__name__} {contributions!r:.80}",
                      expected=f"a tuple of {len(op.operands)}", help="return (gradient_of_x, None), for example")
    return contributions


def checked_gradient(op: Op, position: int, operand: Value, contribution: Value) -> Value:
    """Returns the contribution, if it has the type of its operand."""
    got, expected = contribution.type, operand.type
    if kind := got.mismatch(expected):
        raise op.fail(kind, "the gradient that vjp gives has another type than the operand",
                      operand=op.operand_label(position), got=got, expected=expected, help="correct the op's vjp")
    return contribution


def is_differentiable(value: Value) -> bool:
    return value.type.dtype.is_inexact


def differentiable(value: Value, position: int) -> Value:
    """Returns a value that may be asked for; WrongKind for integers."""
    dtype = value.type.dtype
    if not dtype.is_inexact:
        raise WrongKind(f"there is no derivative with respect to {dtype.name} elements", op="gradients",
                        operand=position + 1, got=value.type, expected="a float type", location=value.op.location,
                        help="convert it to a float type first")
    return value


def _seed(seed: Value, output: Value, position: int) -> Value:
    """Returns a seed, if it has the type of its output."""
    got, expected = seed.type, output.type
    if kind := got.mismatch(expected):
        raise kind("a seed has another type than its output", op="gradients", operand=position + 1, got=got,
                   expected=expected, help="a seed has the element type and the shape of its output")
    return seed
