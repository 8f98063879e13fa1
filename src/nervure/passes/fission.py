"""Fission: products inside of a scan that wait for no carry become one product for all iterations, outside of the loop.

What depends on slices and captured values alone is computed in front of the loop, and each iteration reads its slice of
it. What feeds stacked results alone is computed behind the loop, from values that the loop stacks. So the products of
a recurrent layer with its inputs are one large product:

>>> import nervure as nv
>>> h, x, w = [nv.Parameter(nv.float32, shape) for shape in ((2, 4), (2, 3), (3, 4))]
>>> body = nv.Function([nv.ops.Tanh(h + nv.ops.Contract(x, w, (0, 1), (1, 2), (0, 2)))], [h, x, w])
>>> start, xs, weight = [nv.Parameter(nv.float32, shape) for shape in ((2, 4), (5, 2, 3), (3, 4))]
>>> scan = nv.ops.Scan(start, xs, weight, body=body, carries=1, slices=1, length=5)
>>> loop = fission(nv.Function(scan.outputs, [start, xs, weight])).results[0].op
>>> loop.operands[2].op, loop.body.results
(f32[5, 2, 4] Contract(Parameter, Parameter), (f32[2, 4] Tanh(Add),))

A row of a product has the bits of that row alone, so that all bits stay. An exception are the carries that the op calls
``sums``, such as the gradients of weights: where each iteration adds a product, one product over all iterations takes
its place, in the order of that product.

Nothing moves that may fail or that has an effect, and nothing whose values for all iterations take much more memory
than what an iteration reads and stacks anyway. A total that it adds to is no part of that.
What is made of an ``After``, such as the values that a checkpoint makes again, stays in its iteration, and so does what
is made of a length that the iteration finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from nervure.autodiff.batching import batched
from nervure.ir.function import Function, is_effect
from nervure.ir.kinds import Elementwise, View
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Value
from nervure.ir.traverse import postorder, rebuild
from nervure.ir.whole_op import found_lengths
from nervure.ops.arithmetic import Add
from nervure.ops.contraction import Contract
from nervure.ops.looping import Scan
from nervure.ops.reductions import Fold, Sum
from nervure.ops.rematerialising import After
from nervure.ops.update import AccumulateView, FilledView
from nervure.ops.views import Broadcast, Permute, Reshape
from nervure.passes.extended_scans import extended, further_outputs, outputs_of
from nervure.types.dim import DimLike, less_equal

ROOM = 8
"""How many times the bytes that an iteration reads and stacks, totals apart, may move out of it."""

UNSTACKED = 5
"""The cost of one point of an elementwise op up to which it is computed again rather than stacked.

It is that of the op alone, where :data:`nervure.passes.cut.AGAIN` is that of all that a value needs.
"""

class _Rank(IntEnum):
    """The kinds of values of a body: they depend on nothing that changes, on slices alone, or on carries."""

    SAME = 0
    SLICED = 1
    CARRIED = 2


def fission(function: Function) -> Function:
    """Returns the function with products outside of scans, where that is possible; itself if there are none."""
    return function.rebuilt(_divided)


def _divided(op: Op) -> list[Value] | None:
    """Returns values for the outputs of a scan of which something leaves; None for all other ops."""
    outputs = _Fission(op).outputs() if isinstance(op, Scan) else None
    if outputs is None or is_effect(op) and not any([is_effect(output.op) for output in outputs]):
        return None
    return outputs


class _Fission:
    """A scan, and what may leave its body.

    ``kept`` are the ops that the next iteration needs, ``front`` those of them that move in front of the loop,
    ``behind`` others that move behind it, and ``sums`` maps the carries that become one sum behind the loop to what an
    iteration adds.
    """

    def __init__(self, op: Scan) -> None:
        self.op, operands, body = op, op.operands, op.body
        parameters = [entry.output for entry in body.parameters]
        first = op.carries + op.slices
        self.carried = dict(zip(parameters[:op.carries], range(op.carries), strict=True))
        self.sliced = dict(zip(parameters[op.carries:first], operands[op.carries:first], strict=True))
        self.captured = dict(zip(parameters[first:], operands[first:], strict=True))
        self.rank = self._ranks()
        self.users: dict[Value, list[Op]] = {}
        for user in body.operations:
            for value in user.operands:
                self.users.setdefault(value, []).append(user)
        added = {number: part for number in range(op.carries) if (part := self._added(number)) is not None}
        passed = [value for number, value in enumerate(parameters[:first]) if number not in added]
        self.room: DimLike = ROOM * sum([value.type.nbytes for value in (*passed, *body.results[op.carries:])], start=0)
        self.apart = _apart(body)
        self.sums = {number: added[number] for number in op.sums if number in added
                     and added[number].op not in self.apart and self._is_sum(added[number])}
        roots = [*body.effects, *[body.results[at] for at in range(op.carries) if at not in self.sums]]
        self.kept = set(postorder(roots))
        self.front = self._in_front()
        self.behind = self._behind()

    # -- choosing ---------------------------------------------------------------------------------------------

    def _ranks(self) -> dict[Value, _Rank]:
        """Returns for each value of the body whether it is the same in all iterations, depends on slices, or stays."""
        rank = {**dict.fromkeys(self.captured, _Rank.SAME), **dict.fromkeys(self.sliced, _Rank.SLICED),
                **dict.fromkeys(self.carried, _Rank.CARRIED)}
        for op in self.op.body.operations:
            if not isinstance(op, Parameter):
                found = max([rank[operand] for operand in op.operands], default=_Rank.SAME)
                rank.update(dict.fromkeys(op.outputs, found if may_move(op) else _Rank.CARRIED))
        return rank

    def _is_product(self, op: Op) -> bool:
        """Whether an op is a product that keeps its order of additions beside those of other iterations.

        It has rows or columns of its own, or takes both sides from the iteration.
        """
        return isinstance(op, Contract) and (not {*op.x_indices} == {*op.y_indices} or all(
            [self.rank[operand] != _Rank.SAME for operand in op.operands]))

    def _fits(self, value: Value) -> bool:
        return less_equal(value.type.nbytes, self.room) is not False

    def _in_front(self) -> dict[Op, None]:
        """Returns the products of slices that carries need, and what is computed of them element by element."""
        found: dict[Op, None] = {}
        for op in self.op.body.operations:
            first = op.outputs[0] if op.outputs and op in self.kept else None
            if first is not None and self.rank[first] == _Rank.SLICED and self._fits(first):
                follows = isinstance(op, Elementwise) and any([operand.op in found for operand in op.operands])
                if follows or self._is_product(op):
                    found[op] = None
        return found

    def _behind(self) -> dict[Op, None]:
        """Returns the products that stacked results alone need, and everything that is computed of them."""
        movable: dict[Op, bool] = {}
        for op in reversed(self.op.body.operations):
            if op not in self.kept and op not in self.apart and op.outputs and may_move(op):
                users = [user for value in op.outputs for user in self.users.get(value, ())]
                movable[op] = all([movable.get(user, False) or user in self._adding for user in users])
        found: dict[Op, None] = {}
        for op in self.op.body.operations:
            if movable.get(op) and self.rank[op.outputs[0]] != _Rank.SAME:
                begins = self._is_product(op) and self._fits(op.outputs[0])
                if begins or any([operand.op in found for operand in op.operands]):
                    found[op] = None
        return found

    # -- sums -------------------------------------------------------------------------------------------------

    @property
    def _adding(self) -> set[Op]:
        """The ops that add to the carries that leave the loop."""
        return {self.op.body.results[number].op for number in self.sums}

    def _added(self, number: int) -> Value | None:
        """Returns what an iteration adds to a carry, if nothing else reads the carry."""
        op = self.op
        total, new = op.body.parameters[number].output, op.body.results[number]
        if not isinstance(new.op, Add) or number in op.saved or self.users.get(total) != [new.op] \
                or self.users.get(new) or op.body.results.count(new) > 1:
            return None
        part = new.op.operands[1] if new.op.operands[0] is total else new.op.operands[0]
        return None if part is total else part

    def _is_sum(self, part: Value) -> bool:
        """Whether a value is a sum of products, or of rows, for which there is one product for all iterations."""
        op = part.op
        if isinstance(op, Contract):
            return all([self.rank[operand] != _Rank.SAME for operand in op.operands])
        if isinstance(op, Sum):
            return self.rank[part] != _Rank.SAME
        return isinstance(op, (Add, Permute, Reshape, Broadcast)) and all(map(self._is_sum, op.operands))

    def _terms(self, part: Value) -> list[Value]:
        """Returns the operands of the products and sums that a value consists of."""
        if isinstance(part.op, (Contract, Sum)):
            return [*part.op.operands]
        return [value for operand in part.op.operands for value in self._terms(operand)]

    def _summed(self, part: Value, whole: Mapping[Value, Value]) -> Value:
        """Returns the sum of a value over all iterations, given its terms for all of them."""
        op = part.op
        if isinstance(op, Contract):
            x, y = [whole[operand] for operand in op.operands]
            indices = [tuple([entry + 1 for entry in each]) for each in (op.x_indices, op.y_indices, op.indices)]
            return Contract(x, y, (0, *indices[0]), (0, *indices[1]), indices[2]).output
        if isinstance(op, Sum):
            return whole[op.operands[0]].sum((0, *[axis + 1 for axis in op.axes]))
        return op.with_operands([self._summed(operand, whole) for operand in op.operands]).outputs[0]

    # -- building ---------------------------------------------------------------------------------------------

    def outputs(self) -> list[Value] | None:
        """Returns values for the scan's outputs; None if nothing leaves it."""
        op, body = self.op, self.op.body
        leaving = {at: body.results[at] for at in range(op.carries, len(body.results))
                   if body.results[at].op in self.behind}
        wanted = [*leaving.values(), *[term for part in self.sums.values() for term in self._terms(part)]]
        given: dict[Value, None] = {}
        inner = self._inner(wanted, given)
        stacked = [value for value in given if value not in self.carried and value not in self.sliced
                   and value.op not in self.front]
        if not all(map(self._fits, stacked)):
            self.sums, wanted, leaving, inner, stacked, given = {}, [], {}, [], [], {}
        read = dict.fromkeys([value for entry in self.front for value in entry.outputs
                              if any([user not in self.front for user in self.users.get(value, ())])
                              or value in body.results])
        if not read and not wanted:
            return None
        cone = [entry for entry in body.operations if self._is_given_outside(entry)]
        sliced = dict(self.sliced)
        front = dict(zip(read, self._spread([*read], cone, sliced), strict=True))
        saved = [self.carried[value] for value in given if value in self.carried
                 and self.carried[value] not in op.saved]
        made = extended(op, op.operands, front, stacked, saved)
        found = outputs_of(op, made)
        places = dict(zip([*op.saved, *saved], made.outputs[len(made.body.results):], strict=True))
        whole = {**{value: places[number] for value, number in self.carried.items() if number in places},
                 **self.sliced, **front, **dict(zip(stacked, further_outputs(op, made), strict=True))}
        results = dict(zip(wanted, self._spread(wanted, inner, whole), strict=True))
        for at, value in leaving.items():
            found[at] = results[value]
        for number, part in self.sums.items():
            first, total = op.operands[number], self._summed(part, results)
            found[number] = total if _is_zero(first) else Add(first, total).output
        return found

    def _is_given_outside(self, op: Op) -> bool:
        return op.outputs != () and not isinstance(op, Parameter) and self.rank[op.outputs[0]] != _Rank.CARRIED

    def _inner(self, wanted: Sequence[Value], given: dict[Value, None]) -> list[Op]:
        """Returns the ops that are computed behind the loop for the ``wanted`` values, in order.

        ``given`` is filled in with the values that they read of the loop.
        """
        inside: set[Op] = set()
        pending = [*wanted]
        while pending:
            value = pending.pop()
            op = value.op
            if value in self.captured or op in inside:
                continue
            if op in self.behind or self.rank[value] == _Rank.SAME or (op not in self.front and self._is_seen(value)):
                inside.add(op)
                pending.extend(op.operands)
            else:
                given[value] = None
        return [op for op in self.op.body.operations if op in inside]

    def _is_seen(self, value: Value) -> bool:
        """Whether a value is made again from what is there for all iterations, rather than stacked."""
        op = value.op
        if isinstance(op, Parameter) or not may_move(op):
            return False
        if isinstance(op, View) and len(op.operands) == 1:
            return less_equal(op.operands[0].type.nbytes, value.type.nbytes) is True
        is_cheap = isinstance(op, Elementwise) and op.cost <= UNSTACKED
        return self.rank[value] == _Rank.SLICED and (is_cheap or op not in self.kept)

    def _spread(self, values: Sequence[Value], ops: Iterable[Op], whole: Mapping[Value, Value]) -> list[Value]:
        """Returns some values for all iterations, made by ``ops`` of the body from what is there for all of them."""
        ones = {value: Parameter.of(value.type).output for value in whole}
        table: dict[Value, Value] = {**self.captured, **ones}
        rebuild([op for op in ops if table.keys().isdisjoint(op.outputs)], table)
        found = batched([table.get(value, value) for value in values],
                        {one: whole[value] for value, one in ones.items()}, self.op.length)
        assert all([entry.differs for entry in found])
        return [entry.value for entry in found]


def may_move(op: Op) -> bool:
    """Whether an op has a form for all iterations, no effect, cannot fail, and is not to wait for an iteration."""
    return not isinstance(op, After) and isinstance(op, (
        Elementwise, View, Fold, Contract, FilledView, AccumulateView, Constant, Full))


def _apart(body: Function) -> set[Op]:
    """Returns the ops of a body that read, through others too, what exists only in its iteration.

    That is an ``After``, or has a length that the iteration finds.
    """
    found, names = set[Op](), found_lengths(body.effects).keys()
    for op in body.operations:
        if isinstance(op, After) or any([operand.op in found for operand in op.operands]) or names and any(
                [not names.isdisjoint(value.type.symbols) for value in op.outputs]):
            found.add(op)
    return found


def _is_zero(value: Value) -> bool:
    return isinstance(value.op, Full) and value.op.number == 0
