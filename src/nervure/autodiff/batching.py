"""Mapping: a graph of one element becomes the graph of many, with one more dimension in front of what depends on them.

A walk from the values that are *mapped* to the outputs gives each value between them its counterpart for all elements.
What does not depend on a mapped value stays as it is, and is computed once; what an op of all elements computes once
for all of them, such as a carry in which they agree, is shared from there on. There is a rule for each kind of op:

* Elementwise ops, views, reductions and others that have a dimension in front as they have any other are applied with
  moved attributes (``Op.raised``).
* An op that knows better what a dimension in front is, such as a contraction, says so (``Op.vmap``).
* A composite is replaced by its decomposition. A derivative of its own stays that of each element.
* Lengths that each element finds for itself stay inside of a loop over the elements
  (:mod:`nervure.autodiff.found_batches`).

>>> import nervure as nv
>>> x, many, weights = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (5, 3)), nv.Parameter(nv.float32, (3,))
>>> batched([nv.ops.Sum(x * weights, axes=(0,)), weights], {x.output: many.output}, 5)
[ForAll(value=f32[5] Sum(Multiply), differs=True), ForAll(value=f32[3] Parameter(), differs=False)]

An op that holds functions declares ``Op.vmap``, beside its ``vjp`` and ``jvp``. The result consists of ordinary ops: it
has derivatives, and can be mapped again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from nervure.autodiff.found_batches import Apart
from nervure.autodiff.reverse import call_vjp
from nervure.errors import NotSupported
from nervure.ir.gc_paused import gc_paused
from nervure.ir.kinds import Composite, Elementwise
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Operand, Value, as_value
from nervure.ir.provenance import set_override
from nervure.ir.region import ForAll, RegionOp, differing
from nervure.ir.traverse import postorder
from nervure.ir.whole_op import found_lengths
from nervure.ops.custom import CustomDerivative
from nervure.ops.order import Sequential, Together, value_operands
from nervure.ops.random import Random
from nervure.ops.tracing import traced
from nervure.types.dim import DimLike


def batched(outputs: Sequence[Operand], mapped: Mapping[Value, Value], length: DimLike,
            draws: Collection[Op] = (), also: Sequence[Value] = ()) -> list[ForAll]:
    """Returns each output for all elements at once, and whether it differs between them.

    ``mapped`` has pairs of a value and what stands for it: many of it, numbered by a dimension of this ``length`` in
    front.

    ``draws`` are ops of random numbers that draw for each element; others give the same numbers to all. ``also`` are
    positions of which the outputs use the number. Raises NotSupported for an op on a path that has no rule.
    """
    sources = [as_value(output) for output in outputs]
    walk = _Walk(dict(mapped), length, set(draws))
    with gc_paused():
        walk.run(postorder([*also, *sources]), sources)
    return [walk.for_all(source) for source in sources]


class _Walk:
    """The state of one walk: the counterparts that are ``known``; a value without one is the same for all elements.

    Where an op of all elements computes such a value, what stands for it is ``shared``.
    """

    def __init__(self, known: dict[Value, Value], length: DimLike, draws: set[Op]) -> None:
        self.known, self.length, self.draws = known, length, draws
        self.shared: dict[Value, Value] = {}

    def for_all(self, value: Value) -> ForAll:
        """Returns what stands for a value."""
        found = self.known.get(value)
        return ForAll(self.shared.get(value, value), False) if found is None else ForAll(found, True)

    def run(self, order: Sequence[Op], roots: Sequence[Value]) -> None:
        """Visits ops, operands before users. Those around lengths that each element finds run in a loop."""
        apart = Apart.of(order, self.known)
        if apart is None:
            self._visit_all(order)
            return
        self._visit_all(apart.front)
        finder = apart.finders[0]
        names = found_lengths(apart.finders).keys()
        if any([not names.isdisjoint(root.type.symbols) for root in roots]) or not self.draws.isdisjoint(apart.inside):
            self._applied(finder)  # an error
        before = set_override(finder.provenance)
        try:
            self.known.update(apart.outputs(roots, self.known, self.shared, self.length))
        finally:
            set_override(before)
        self._visit_all(apart.behind)

    def _visit_all(self, order: Iterable[Op]) -> None:
        """Visits ops, each on behalf of the user's line that made it."""
        before = set_override(None)
        try:
            for op in order:
                if any([output in self.known or output in self.shared for output in op.outputs]):
                    continue
                draws = op in self.draws
                if draws or any([operand in self.known for operand in op.operands]):
                    set_override(op.provenance)
                    self._put(op, self._found(self._sharing(op), draws))
                elif (fresh := self._sharing(op)) is not op:
                    self.shared.update(zip(op.outputs, fresh.outputs, strict=True))
        finally:
            set_override(before)

    def _sharing(self, op: Op) -> Op:
        """Returns an op on what stands for its operands that do not differ."""
        return op.with_operands([self.shared.get(operand, operand) for operand in op.operands]) if self.shared else op

    def _put(self, op: Op, found: Sequence[ForAll]) -> None:
        for output, entry in zip(op.outputs, found, strict=True):
            if entry.differs:
                self.known[output] = self._checked(op, output, entry.value)
            else:
                self.shared[output] = entry.value

    def _found(self, op: Op, draws: bool) -> Sequence[ForAll]:
        """Returns the outputs of an op; if it ``draws``, it does for each element."""
        if isinstance(op, Random) and draws:
            return differing(op.for_each(self.length).outputs)
        if isinstance(op, (Sequential, Together)):
            placed = op.with_operands([self.known.get(operand, operand) for operand in op.operands])
            return [ForAll(placed.outputs[0], not self.known.keys().isdisjoint(value_operands(op)))]
        if isinstance(op, RegionOp):
            return op.for_each(self.length, self.known, batched, draws)
        if isinstance(op, Composite) and type(op).vmap is Op.vmap and type(op).raised is Op.raised:
            return self._decomposed(op, op.decomposed(), op.has_own_derivative)
        if isinstance(op, Elementwise) and not _takes_any_rank(op):
            return self._decomposed(op, [traced(op.evaluate, op.operands, type(op).__name__)], True)
        return differing(self._applied(op))

    def _applied(self, op: Op) -> Sequence[Operand]:
        operands = [self.known.get(operand, operand) for operand in op.operands]
        try:
            return op.vmap(self.length, [operand in self.known for operand in op.operands], *operands)
        except NotSupported:
            raise
        except NotImplementedError:
            raise op.fail(NotSupported, "this op has no rule for many elements at once", operand=op.name, got=repr(op),
                          expected="an op with decompose, raised or vmap",
                          help="compute it outside of what is mapped, or give the op a decompose or a vmap") from None

    def _decomposed(self, op: Op, results: Sequence[Value], has_own_derivative: bool) -> Sequence[ForAll]:
        self.run(postorder(results, {operand.op for operand in op.operands}), results)
        found = [self.for_all(result) for result in results]
        if has_own_derivative:
            return differing(self._with_own_derivative(op, [entry.whole(self.length) for entry in found]))
        return found

    def _with_own_derivative(self, op: Op, found: Sequence[Value]) -> Sequence[Value]:
        """Returns the outputs of a composite for all elements, with the derivative that it has for one."""
        length = self.length
        is_mapped = [operand in self.known for operand in op.operands]

        def rule(gradients: Sequence[Value | None], operands: Sequence[Value]) -> list[Value | None]:
            inner = [_one_of(operand) if mapped else operand
                     for operand, mapped in zip(operands, is_mapped, strict=True)]
            seeds = [None if gradient is None else _one_of(gradient) for gradient in gradients]
            one = op.with_operands(inner)
            contributions = call_vjp(one, seeds)
            pairs = [*zip(inner, operands, strict=True), *zip(seeds, gradients, strict=True)]
            own = {x: many for x, many in pairs if x is not None and many is not None and x is not many}
            table = {**self.known, **own}  # a rule of the user's may read what stands around it
            wanted = [None if entry is None else as_value(entry) for entry in contributions]
            several = iter(batched([entry for entry in wanted if entry is not None], table, length))
            return [None if entry is None else _contribution(next(several), mapped, length)
                    for entry, mapped in zip(wanted, is_mapped, strict=True)]

        operands = [self.known.get(operand, operand) for operand in op.operands]
        return CustomDerivative(*found, *operands, count=len(found), rule=rule).outputs

    def _checked(self, op: Op, output: Value, value: Value) -> Value:
        """Returns what stands for an output, if it has its type behind the dimension in front."""
        got, expected = value.type, output.type.with_(shape=(self.length, *output.shape), layout=None)
        if kind := got.mismatch(expected):
            raise op.fail(kind, "the rule for many elements gives another type than the op for one", operand="vmap",
                          got=got, expected=expected, help="correct the op's vmap, or raised")
        return value


def _takes_any_rank(op: Op) -> bool:
    """Whether a where string of the user's lets operands have one more dimension."""
    rule = op.type_rule
    return rule is None or all(["~" in pattern.entries for pattern in rule.operands])


def _one_of(many: Value) -> Value:
    """Returns a parameter that stands for one element."""
    return Parameter(many.dtype, many.shape[1:]).outputs[0]


def _contribution(found: ForAll, mapped: bool, length: DimLike) -> Value:
    """Returns the gradient of an operand from those of all elements, which add up in an operand that all share."""
    whole = found.whole(length)
    return whole if mapped else whole.sum((0,))
