"""Branches: one of several functions runs, chosen while the program runs.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> larger, smaller = nv.Function([x * 2.0], [x]), nv.Function([y / 2.0], [y])
>>> If(nv.Parameter(nv.bool_, ()), nv.Parameter(nv.float32, (3,)), branches=(larger, smaller))
f32[3] If(Parameter, Parameter)

All branches take the same operands, those behind the one that chooses, and give results of the same types. The others
do not run: neither their effects happen nor their checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.function import Function, function_attributes
from nervure.ir.leaves import Parameter
from nervure.ir.op import Gradients, Value, or_zeros
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
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import bool_
from nervure.types.element_groups import INTEGERS


class Branches(RegionOp, abstract=True):
    """The common part: the first operand chooses among ``branches``, the others are given to the chosen one."""

    body_fields = ("branches",)
    branches = function_attributes()

    def chosen(self, value: int) -> int:
        """Returns the number of the branch that a value of the first operand chooses."""
        raise NotImplementedError

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        self.require_pure()
        if not types or not self.branches:
            raise self.fail(InvalidArgument, "a choice needs a value that chooses, and branches", operand="branches",
                            got=f"{len(types)} operands, {len(self.branches)} branches", expected="one or more of each",
                            help=f"write {self.usage()}")
        self._check_choice(types[0])
        if types[0].shape != ():
            raise self.fail(ShapeMismatch, "one value chooses the branch", operand=self.operand_label(0), got=types[0],
                            expected=types[0].with_(shape=()), help="nv.where chooses element by element")
        first = [value.type for value in self.branches[0].results]
        for number, branch in enumerate(self.branches):
            self.require_parameters("branches", branch, types[1:], 1)
            self.require_count(f"results of branch {number}", "branches", len(branch.results), len(first))
            for at, (value, expected) in enumerate(zip(branch.results, first, strict=True)):
                self.require_type(f"result {at} of branch {number}", "branches", value.type, expected,
                                  "all branches give results of the same types; insert ops.Convert or ops.Broadcast")
        return tuple(first)

    def _check_choice(self, type: BasicTensorDescription) -> None:
        raise NotImplementedError

    def at_once(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched) -> Sequence[ForAll] | None:
        choice, *given = self.operands
        if choice in mapped:
            return None
        differs = [operand in mapped for operand in given]
        many = [Many.of(branch, length, differs, batched) for branch in self.branches]
        is_many = [any([entry.differs for entry in entries])
                   for entries in zip(*[each.results for each in many], strict=True)]
        made = [Function([entry.whole(length) if several else entry.value
                          for entry, several in zip(each.results, is_many, strict=True)], each.parameters,
                         name=branch.name) for each, branch in zip(many, self.branches, strict=True)]
        outputs = type(self)(choice, *[mapped.get(operand, operand) for operand in given], branches=tuple(made)).outputs
        return [ForAll(output, several) for output, several in zip(outputs, is_many, strict=True)]

    def differentiated(self, gradients: Sequence[Value | None], wanted: Sequence[bool],
                       differentiate: Differentiate) -> Gradients:
        choice, *given = self.operands
        seeds = [gradient for gradient in gradients if gradient is not None]
        chosen = [at for at, is_wanted in enumerate(wanted[1:]) if is_wanted]
        seeded = [at for at, gradient in enumerate(gradients) if gradient is not None]
        backward, outside = _of_all([_backward(branch, seeded, chosen, seeds, differentiate)
                                     for branch in self.branches])
        given = [*given, *outside]
        used = set(postorder([value for branch in backward for value in branch.results]))
        kept = [at for at in range(len(seeds) + len(given))
                if any([branch.parameters[at] in used for branch in backward])]
        lean = [Function(branch.results, [branch.parameters[at] for at in kept], name=branch.name)
                for branch in backward]
        found = type(self)(choice, *[[*seeds, *given][at] for at in kept], branches=tuple(lean)).outputs
        results: list[Value | None] = [None] * len(self.operands)
        for at, value in zip(chosen, found, strict=True):
            results[at + 1] = value
        return results

    def along(self, directions: Sequence[Value | None], tangents: AlongDirections) -> list[Value | None]:
        choice, *given = self.operands
        moving = [at for at, direction in enumerate(directions[1:]) if direction is not None]
        inside = [Tangent.of(without_effects(branch), moving, tangents) for branch in self.branches]
        found = [at for at in range(len(self.outputs)) if any([entry.found[at] is not None for entry in inside])]
        made, outside = _of_all([
            (Function([entry.filled(at) for at in found], [*entry.own, *entry.given.values(), *entry.outside.values()],
                      name=f"{branch.name}_tangents"), [*entry.outside])
            for entry, branch in zip(inside, self.branches, strict=True)])
        values = iter(type(self)(choice, *given, *[directions[at + 1] for at in moving], *outside,
                                 branches=tuple(made)).outputs)
        return [next(values) if at in found else None for at in range(len(self.outputs))]


def _backward(branch: Function, seeded: Sequence[int], chosen: Sequence[int], seeds: Sequence[Value],
              differentiate: Differentiate) -> tuple[Function, list[Value]]:
    """Returns the function of the gradients of results, then the operands, that gives the gradients of chosen ones.

    Beside it are the values that its last parameters take from outside.
    """
    pure = without_effects(branch)
    cotangents = [Parameter.of(seed.type) for seed in seeds]
    own = [Parameter.of(entry.type) for entry in pure.parameters]
    results = pure(*own)
    found = differentiate([results[at] for at in seeded], [own[at] for at in chosen], cotangents)
    filled = [or_zeros(gradient, own[at]) for at, gradient in zip(chosen, found, strict=True)]
    filled, outside = taken_inside(filled, [*cotangents, *own])
    made = Function(filled, [*cotangents, *own, *outside.values()], name=f"{branch.name}_backward")
    return made, [*outside]


def _of_all(branches: Sequence[tuple[Function, list[Value]]]) -> tuple[list[Function], list[Value]]:
    """Returns branches that all take the same values from outside, and these. A branch is given with those that its own
    last parameters stand for.
    """
    whole = list(dict.fromkeys([value for _, outside in branches for value in outside]))
    made = []
    for branch, outside in branches:
        first = len(branch.parameters) - len(outside)
        taken = dict(zip(outside, branch.parameters[first:], strict=True))
        parameters = [taken[value] if value in taken else Parameter.of(value.type) for value in whole]
        made.append(Function(branch.results, [*branch.parameters[:first], *parameters], name=branch.name))
    return made, whole


class If(Branches):
    """The results of the first of two branches if the first operand, a bool, is true, else those of the second."""

    def chosen(self, value: int) -> int:
        return 0 if value else 1

    def _check_choice(self, type: BasicTensorDescription) -> None:
        if type.dtype is not bool_:
            raise self.fail(DtypeMismatch, "a predicate is a bool", operand=self.operand_label(0), got=type,
                            expected=type.with_(dtype=bool_), help="compare it: ops.NotEqual(x, x.full(0))")
        self.require_count("branches", "branches", len(self.branches), 2)


class Switch(Branches):
    """The results of the branch whose number the first operand, an integer, gives; a number below or above chooses the
    first or the last.
    """

    def chosen(self, value: int) -> int:
        return min(max(value, 0), len(self.branches) - 1)

    def _check_choice(self, type: BasicTensorDescription) -> None:
        if type.dtype not in INTEGERS:
            raise self.fail(DtypeMismatch, "the number of a branch is an integer", operand=self.operand_label(0),
                            got=type, expected="an integer", help="insert ops.Convert")
