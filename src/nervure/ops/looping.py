"""Loops: a body runs again and again, and hands values of fixed types, its *carries*, from iteration to iteration.

>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total + x, total], [total, x])
>>> xs = nv.Parameter(nv.float32, (5,))
>>> sums = Scan(nv.ops.Full(0.0, nv.float32, ()), xs, body=body, carries=1, slices=1, length=5)
>>> sums
f32[], f32[5] Scan(Full, Parameter)

The parameters of a body are the carries, one slice of each sliced operand, and values that stay the same, which it
captures from outside. Its results are the new carries, and what is stacked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.errors import DtypeMismatch, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir import field
from nervure.ir.function import Assumption, Function, function_attribute
from nervure.ir.leaves import Parameter
from nervure.ir.op import Gradients, Value, in_front, or_zeros, registry
from nervure.ir.region import (
    AlongDirections,
    Batched,
    Differentiate,
    ForAll,
    Many,
    RegionOp,
    Tangent,
    taken_inside,
    without_effects,
)
from nervure.ir.traverse import postorder
from nervure.ops.iota import Iota
from nervure.ops.scattered_sums import added
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, dim_max, equal, less_equal
from nervure.types.dtype import bool_, int64, uint64


class LoopOp(RegionOp, abstract=True):
    """The common part of loops: the first operands are the carries before the first iteration."""

    def check_carries(self, carries: int, body: Function, types: Sequence[BasicTensorDescription]) -> None:
        """Raises an error, which names the carry, unless a body takes and gives carries of the operands' types."""
        if not 0 <= carries <= min(len(types), len(body.results)):
            raise self.fail(InvalidArgument, "there are fewer carries than attribute carries says", operand="carries",
                            got=carries, expected=f"at most {min(len(types), len(body.results))}",
                            help="the first operands and the first results of the body are the carries")
        for at in range(carries):
            self.require_type(f"carry {at}, as the body gives it,", self.operand_label(at), body.results[at].type,
                              types[at], "a carry keeps its type and shape from one iteration to the next")


    def differing(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched,
                  body: Function) -> tuple[list[bool], Many]:
        """Returns for each operand whether elements differ in it, and the ``body`` for ``length`` elements.

        ``mapped`` are the operands that differ, and ``batched`` maps the inside. A carry also differs if the body makes
        it from what does.
        """
        differs = [operand in mapped for operand in self.operands]
        while True:
            many = Many.of(body, length, differs, batched)
            found = [at for at in range(self.carries) if many.results[at].differs and not differs[at]]
            if not found:
                return differs, many
            for at in found:
                differs[at] = True

    def moving(self, directions: Sequence[Value | None], body: Function, tangents: AlongDirections) -> Tangent:
        """Returns a pure ``body`` whose parameters move along the ``directions`` of the operands (None: they stay).

        ``tangents`` differentiates inside. A carry also moves if the body makes it from what does.
        """
        moving = [at for at, direction in enumerate(directions) if direction is not None]
        while True:
            inside = Tangent.of(body, moving, tangents)
            further = [at for at in range(self.carries) if inside.found[at] is not None and at not in moving]
            if not further:
                return inside
            moving = sorted([*moving, *further])

    carries: int


class Scan(LoopOp):
    """A loop over the first dimension of its sliced operands, of ``length`` iterations, which may be 0.

    The operands are ``carries`` first carries, ``slices`` tensors whose first dimension is ``length``, and captured
    values. The outputs are the last carries, the body's other results stacked along a first dimension, and for each
    number in ``saved`` that carry as it was before each iteration. With ``reverse`` the iterations go from the last
    slice to the first; what is stacked lies where its slice does. The carries numbered in ``sums`` are sums of what the
    iterations add, in an order that is left open.
    """

    body_fields = ("body",)
    body = function_attribute()
    carries = field.integer()
    slices = field.integer()
    length = field.dimension()
    reverse = field.boolean(False)
    saved = field.ints(())
    sums = field.ints(())

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        self.require_pure()
        self.check_carries(self.carries, self.body, types)
        if not 0 <= self.slices <= len(types) - self.carries:
            raise self.fail(InvalidArgument, "there are fewer sliced operands than attribute slices says",
                            operand="slices", got=self.slices, expected=f"at most {len(types) - self.carries}",
                            help="the sliced operands follow the carries")
        first = self.carries + self.slices
        sliced = [self._slice(at, types[at]) for at in range(self.carries, first)]
        self.require_parameters("body", self.body, [*types[:self.carries], *sliced, *types[first:]])
        for name, numbers in (("saved", self.saved), ("sums", self.sums)):
            if not all([0 <= number < self.carries for number in numbers]) or len({*numbers}) < len(numbers):
                raise self.fail(InvalidArgument, f"attribute {name} names no carry, or one twice", operand=name,
                                got=numbers, expected=f"different numbers below {self.carries}",
                                help="carries count from 0")
        stacked = [value.type for value in self.body.results[self.carries:]]
        return (*types[:self.carries], *[self._stacked(entry) for entry in stacked],
                *[self._stacked(types[number]) for number in self.saved])

    def _slice(self, at: int, type: BasicTensorDescription) -> BasicTensorDescription:
        if not type.shape or equal(type.shape[0], self.length) is not True:
            raise self.fail(ShapeMismatch, "a sliced operand has another length", operand=self.operand_label(at),
                            got=type, expected=f"a first dimension of {self.length}",
                            help="all sliced operands have the same first dimension, as many as there are iterations")
        return type.with_(shape=type.shape[1:], layout=None)

    def _stacked(self, type: BasicTensorDescription) -> BasicTensorDescription:
        return type.with_(shape=(self.length, *type.shape), layout=None)

    def assumptions(self) -> list[Assumption]:
        found = super().assumptions()
        if isinstance(self.length, Dim) and less_equal(0, self.length) is not True:
            found.append(Assumption(dim_max(self.length, 0), self.length, type(self).__name__, self.location))
        return found

    @property
    def counters(self) -> tuple[int, ...]:
        """The sliced operands whose slice is the number of the position itself: a backend need not keep them."""
        return tuple([at for at in range(self.carries, self.carries + self.slices)
                      if isinstance(op := self.operands[at].op, Iota) and op.dtype in (int64, uint64)
                      and op.output.rank == 1])

    def at_once(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched) -> Sequence[ForAll] | None:
        """Returns the outputs of a loop in which each iteration has the slices of ``length`` elements.

        ``mapped`` has the operands for all elements, where they differ, and ``batched`` maps the inside.
        """
        carries, first = self.carries, self.carries + self.slices
        differs, many = self.differing(length, mapped, batched, self.body)
        operands = [mapped.get(operand, operand) for operand in self.operands]
        for at in range(first):
            if at < carries and differs[at] and self.operands[at] not in mapped:
                operands[at] = in_front(operands[at], length)
            elif at >= carries and differs[at]:
                operands[at] = _turned(operands[at])
        new = [entry.whole(length) if at < carries and differs[at] else entry.value
               for at, entry in enumerate(many.results)]
        body = Function(new, many.parameters, name=self.body.name)
        outputs = Scan(*operands, **{**self.attributes, "body": body}).outputs
        is_many = [*differs[:carries], *[entry.differs for entry in many.results[carries:]],
                   *[differs[number] for number in self.saved]]
        return [ForAll(_turned(output) if several and at >= carries else output, several)
                for at, (output, several) in enumerate(zip(outputs, is_many, strict=True))]

    # -- the derivative ------------------------------------------------------------------------------------

    def saving(self) -> Sequence[Value]:
        """Returns all carries as they were before each iteration: outputs, or those of the same loop with them."""
        if self.saved == tuple(range(self.carries)):
            return self.outputs[len(self.body.results):]
        whole = self
        if self.effectful:
            whole = self.with_bodies([without_effects(self.body)])
        attributes = {**whole.attributes, "saved": tuple(range(self.carries))}
        return Scan(*self.operands, **attributes).outputs[len(self.body.results):]

    def differentiated(self, gradients: Sequence[Value | None], wanted: Sequence[bool],
                       differentiate: Differentiate) -> Gradients:
        return _ReverseScan(self, gradients, wanted).gradients(differentiate)

    def along(self, directions: Sequence[Value | None], tangents: AlongDirections) -> list[Value | None]:
        """Returns the tangents of the outputs: carries and stacked results of a loop that goes the same way.

        It computes each iteration again from the carries before it. The other parameters are those of ``RegionOp``.
        """
        carries, first = self.carries, self.carries + self.slices
        inside = self.moving(directions, without_effects(self.body), tangents)
        moving = [at for at in inside.given if at < carries]
        stacked = [at for at in range(carries, len(inside.results)) if inside.found[at] is not None]
        results = [*map(inside.filled, moving), *map(inside.filled, stacked)]
        used = set(postorder(results))
        own, operands = inside.own, self.operands
        values = [*(self.saving() if not used.isdisjoint(own[:carries]) else operands[:carries]), *operands[carries:]]
        pairs = [(own[at], values[at], at >= first) for at in range(len(own)) if own[at] in used]
        pairs += [(given, or_zeros(directions[at], given), at >= first)
                  for at, given in inside.given.items() if at >= carries]
        pairs += [(parameter, value, True) for value, parameter in inside.outside.items()]
        ordered = sorted(pairs, key=lambda pair: pair[2])
        body = Function(results, [*[inside.given[at] for at in moving], *[pair[0] for pair in ordered]],
                        name=f"{self.body.name}_tangents")
        starts = [or_zeros(directions[at], operands[at]) for at in moving]
        saved = [at for at in self.saved if at in moving]
        outputs = Scan(*starts, *[pair[1] for pair in ordered], body=body, carries=len(moving),
                       slices=sum([not pair[2] for pair in pairs]), length=self.length, reverse=self.reverse,
                       saved=tuple([moving.index(at) for at in saved])).outputs
        places = [*moving, *stacked, *[len(inside.results) + self.saved.index(at) for at in saved]]
        found = dict(zip(places, outputs, strict=True))
        return [found.get(at) for at in range(len(self.outputs))]


class _ReverseScan:
    """The loop that goes through a scan backwards: it computes each iteration again, from the carries before it.

    Its carries are the gradients of the carries, and of the captured values so far. Its slices are the gradients of
    what was stacked or saved, the scan's own slices, and the saved carries.
    """

    def __init__(self, scan: Scan, gradients: Sequence[Value | None], wanted: Sequence[bool]) -> None:
        self.scan = scan
        carries, first, results = scan.carries, scan.carries + scan.slices, len(scan.body.results)
        self.floats = [at for at in range(carries) if scan.operands[at].dtype.is_inexact]
        self.sliced = [at for at in range(carries, first) if wanted[at]]
        self.captured = [at for at in range(first, len(scan.operands)) if wanted[at]]
        self.last = [or_zeros(gradients[at], scan.outputs[at]) for at in self.floats]
        self.stacked = {at: gradient for at, gradient in enumerate(gradients[carries:results], carries)
                        if gradient is not None}
        saved = zip(scan.saved, gradients[results:], strict=True)
        self.saved = {number: gradient for number, gradient in saved if gradient is not None}

    def gradients(self, differentiate: Differentiate) -> Gradients:
        """Returns the gradients of the scan's operands."""
        scan, first = self.scan, self.scan.carries + self.scan.slices
        pure = without_effects(scan.body)
        cotangents = [Parameter.of(scan.operands[at].type) for at in self.floats]
        sums = [Parameter.of(scan.operands[at].type) for at in self.captured]
        stacked = {at: Parameter.of(pure.results[at].type) for at in self.stacked}
        saved = {number: Parameter.of(scan.operands[number].type) for number in self.saved}
        own = [Parameter.of(parameter.type) for parameter in pure.parameters]
        results = self._results(differentiate, pure(*own), own, [*cotangents, *stacked.values()], sums, saved)
        results, outside = taken_inside(results, [*cotangents, *sums, *stacked.values(), *saved.values(), *own])
        used = set(postorder(results))
        sliced = [*zip(stacked.values(), self.stacked.values(), strict=True),
                  *zip(saved.values(), self.saved.values(), strict=True),
                  *zip(own[scan.carries:first], scan.operands[scan.carries:first], strict=True)]
        if not used.isdisjoint(own[:scan.carries]):  # else nothing has to be kept
            sliced += [*zip(own[:scan.carries], scan.saving(), strict=True)]
        sliced = [pair for pair in sliced if pair[0] in used]
        captured = [pair for pair in zip(own[first:], scan.operands[first:], strict=True) if pair[0] in used]
        captured += [(parameter, value) for value, parameter in outside.items()]
        body = Function(results, [*cotangents, *sums, *[pair[0] for pair in (*sliced, *captured)]],
                        name=f"{pure.name}_backward")
        zeros = [total.full(0) for total in sums]
        carries = len(cotangents) + len(sums)
        loop = Scan(*self.last, *zeros, *[pair[1] for pair in (*sliced, *captured)], body=body, carries=carries,
                    slices=len(sliced), length=scan.length, reverse=not scan.reverse, saved=tuple(range(carries)),
                    sums=tuple(range(len(cotangents), carries)))
        found: list[Value | None] = [None] * len(scan.operands)
        for at, value in zip([*self.floats, *self.captured, *self.sliced], loop.outputs, strict=False):
            found[at] = value
        return found

    def _results(self, differentiate: Differentiate, results: Sequence[Value], own: Sequence[Parameter],
                 seeds: Sequence[Parameter], sums: Sequence[Parameter],
                 saved: Mapping[int, Parameter]) -> list[Value]:
        """Returns the results of the backward body: gradients of carries, sums for captured values, and of slices."""
        sources = [results[at] for at in (*self.floats, *self.stacked)]
        wanted = [own[at] for at in (*self.floats, *self.captured, *self.sliced)]
        found = iter(differentiate(sources, wanted, seeds))
        before = [or_zeros(next(found), own[at]) for at in self.floats]
        for place, at in enumerate(self.floats):
            if at in saved:
                before[place] = before[place] + saved[at]
        totals = [total.output if part is None else added(total.output, part) for total, part in zip(
            sums, [next(found) for _ in sums], strict=True)]
        return [*before, *totals, *[or_zeros(next(found), own[at]) for at in self.sliced]]


def _turned(value: Value) -> Value:
    """Returns a tensor with its first two dimensions, elements and iterations, in the other order."""
    return registry["Permute"](value, (1, 0, *range(2, value.rank))).outputs[0]


class While(LoopOp):
    """A loop that runs as long as a condition holds: ``condition`` and ``body`` take the carries, then captured values.

    The operands are ``carries`` first carries, and captured values; the outputs are the carries for which the condition
    is false.
    """

    body_fields = ("condition", "body")
    condition = function_attribute()
    body = function_attribute()
    carries = field.integer()

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        self.require_pure()
        self.check_carries(self.carries, self.body, types)
        self.require_count("results of the body", "body", len(self.body.results), self.carries)
        self.require_parameters("condition", self.condition, types)
        self.require_parameters("body", self.body, types)
        self.require_count("results of the condition", "condition", len(self.condition.results), 1)
        found = self.condition.results[0].type
        if found.dtype is not bool_ or found.shape != ():
            raise self.fail(DtypeMismatch if found.dtype is not bool_ else ShapeMismatch,
                            "the condition of a loop is one bool", operand="condition", got=found,
                            expected=found.with_(dtype=bool_, shape=()),
                            help="compare numbers; ops.All and ops.Any make one bool of many")
        return tuple(types[:self.carries])

    def at_once(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched) -> Sequence[ForAll] | None:
        """Returns the outputs of a loop over ``length`` elements, if all of them run as many iterations.

        ``mapped`` has the operands for all elements, where they differ, and ``batched`` maps the inside.
        """
        differs, many = self.differing(length, mapped, batched, self.body)
        goes_on = Many.of(self.condition, length, differs, batched)
        holds = goes_on.results[0]
        if holds.differs:
            return None
        operands = [in_front(operand, length) if is_many and operand not in mapped else mapped.get(operand, operand)
                    for operand, is_many in zip(self.operands, differs, strict=True)]
        new = [entry.whole(length) if is_many else entry.value
               for entry, is_many in zip(many.results, differs, strict=False)]
        outputs = While(*operands, condition=Function([holds.value], goes_on.parameters, name=self.condition.name),
                        body=Function(new, many.parameters, name=self.body.name), carries=self.carries).outputs
        return [ForAll(output, is_many) for output, is_many in zip(outputs, differs, strict=False)]

    def differentiated(self, gradients: Sequence[Value | None], wanted: Sequence[bool],
                       differentiate: Differentiate) -> Gradients:
        raise self.fail(NotSupported, "a loop whose number of iterations is open has no derivative in reverse mode",
                        operand="body", got="While", expected="a loop with a bound",
                        help="nv.while_loop(..., max_trips=n) has derivatives, and so have nv.scan, and nv.fori_loop "
                             "whose bounds are numbers, such as static= names; nv.jvp needs no bound")

    def along(self, directions: Sequence[Value | None], tangents: AlongDirections) -> list[Value | None]:
        """Returns the tangents of the carries, from a loop that carries both. The parameters are those of ``RegionOp``.
        """
        carries = self.carries
        inside = self.moving(directions, without_effects(self.body), tangents)
        moving = [at for at in inside.given if at < carries]
        fixed = [given for at, given in inside.given.items() if at >= carries]
        fixed += inside.outside.values()
        order = [*inside.own[:carries], *[inside.given[at] for at in moving], *inside.own[carries:], *fixed]
        body = Function([*inside.results, *map(inside.filled, moving)], order, name=f"{self.body.name}_tangents")
        test = without_effects(self.condition)
        own = [Parameter.of(entry.type) for entry in order]
        condition = Function(test(*own[:carries], *own[carries + len(moving):len(own) - len(fixed)]), own,
                             name=test.name)
        operands = [*self.operands[:carries], *[or_zeros(directions[at], self.operands[at]) for at in moving],
                    *self.operands[carries:], *[directions[at] for at in inside.given if at >= carries],
                    *inside.outside]
        outputs = While(*operands, condition=condition, body=body, carries=carries + len(moving)).outputs[carries:]
        found = dict(zip(moving, outputs, strict=True))
        return [found.get(at) for at in range(carries)]
