"""Recipes for branches and loops: scans, whole and in blocks, while loops, choices, checkpoints; nested two deep.

Their bodies are random graphs.

A body grows as the graph around it does, with the same recipes. Its parameters are the carries, slices and values from
outside; a new parameter that the recipes ask for becomes one more value from outside. Trips are few, and carries are
clipped, so that rounding errors do not multiply without end.

>>> growth = Growth(1)
>>> _ = growth.parameter(nv.float32, (4, 9))
>>> scanned(growth)
>>> growth.values[-1].op.body.name
'loop_body'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import nervure as nv
from nervure import ops
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value
from nervure.ops.rematerialising import Checkpoint
from nervure.ops.scan_in_blocks import scan_in_blocks
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, evaluate
from tests.fuzz.attending import attended
from tests.fuzz.growth import TYPES, Growth
from tests.fuzz.recipes import RECIPES, Recipe

MOST_TRIPS = 17
DEEPEST = 2
TRIPS = (0, 1, 1, 2, 2, 3, 5, 8, 17)


class _Wanted(NamedTuple):
    """What a carry, a slice or a result of a branch has to be."""

    type: BasicTensorDescription
    is_exact: bool


class Body:
    """A function that an op holds, while it grows: ``given`` are its own parameters."""

    def __init__(self, outside: Growth, given: Sequence[_Wanted]) -> None:
        self.outside, self.growth = outside, outside.inside()
        self.given = [self.growth.parameter(each.type.dtype, each.type.shape, each.is_exact) for each in given]
        self.own = list(self.growth.parameters)
        self.captured: dict[Value, Value] = {}
        for value in outside.random.sample(outside.values, min(len(outside.values), outside.random.choice((0, 1, 2)))):
            self._capture(value)
        if not self.growth.values:
            self._capture(outside.pick() or outside.parameter(nv.float32, ()))

    def _capture(self, value: Value) -> None:
        if value not in self.captured.values():
            self.captured[self.growth.parameter(value.dtype, value.shape, self.outside.is_exact(value))] = value

    def grow(self, steps: int) -> None:
        """Adds ops by the recipes, loops and branches among them unless the body is deep inside."""
        for recipe in self.outside.starts:
            grow_once(self.growth, [(recipe, 1)])
        recipes = [*RECIPES, *([(recipe, 3 * weight) for recipe, weight in REGIONS] if self.is_shallow else [])]
        for _ in range(steps):
            grow_once(self.growth, recipes)

    @property
    def is_shallow(self) -> bool:
        """Whether there may be a loop in it."""
        return self.growth.depth < DEEPEST

    def give(self, wanted: _Wanted) -> Value:
        """A value of a type: one that has grown, mixed with others, or a parameter as it is."""
        growth, dtype, shape = self.growth, wanted.type.dtype, wanted.type.shape
        fitting = [value for value in growth.values if value.type == wanted.type
                   and (growth.is_exact(value) or not wanted.is_exact)]
        if not fitting or growth.random.random() < 0.2:
            found = growth.like(dtype, shape, wanted.is_exact)
        else:
            found = fitting[max(growth.random.randrange(len(fitting)), growth.random.randrange(len(fitting)))]
        if growth.random.random() < 0.5 and fitting and dtype.kind in ("float", "int", "uint"):
            cls = growth.random.choice((ops.Add, ops.Subtract, ops.Multiply, ops.Maximum))
            found = growth.add(cls(found, growth.random.choice(fitting)))
        return found

    def carried(self, wanted: _Wanted) -> Value:
        """What the next iteration gets: a float within [-4, 4], sometimes halved."""
        value = self.give(wanted)
        if not value.dtype.is_float or self.growth.random.random() < 0.15 and value in self.given:
            return value
        clipped = ops.Clip(value, value.full(-4), value.full(4)).output
        return self.growth.add(clipped * clipped.full(0.5)) if self.growth.random.random() < 0.5 else clipped

    def guard(self) -> None:
        """Sometimes an effect: a check that holds, or one that may not; a print of exact numbers."""
        growth, chance = self.growth, self.growth.random.random()
        if chance < 0.12:
            condition = flag(growth)
            holds = growth.random.random() < 0.8
            growth.effects.append(ops.Guard(ops.LogicalOr(condition, condition.full(True)).output if holds
                                            else condition, "a check in a body"))
        elif chance < 0.22:
            shown = growth.pick(lambda value: growth.is_exact(value) and value.rank < 2 and value.dtype is nv.int32)
            if shown is not None:
                growth.effects.append(growth.add(ops.PrintOp(shown, "body")).op)

    def function(self, results: Sequence[Value], name: str, captured: Sequence[Value] | None = None) -> Function:
        """The function, which takes its own parameters and then those of all ``captured`` values."""
        mine = {outer: inner for inner, outer in self.finished().items()}
        parameters = [mine[value].op if value in mine else Parameter(value.dtype, value.shape)
                      for value in (mine if captured is None else captured)]
        return Function(results, [*self.own, *parameters], effects=self.growth.effects, name=name)

    def finished(self) -> dict[Value, Value]:
        """The parameters for what is captured, and what stands outside for each."""
        for parameter in self.growth.parameters[len(self.own):]:
            value = parameter.value
            if value not in self.captured:
                found = self.outside.like(value.dtype, value.shape, exact=True)
                is_taken = found in self.captured.values()
                self.captured[value] = self.outside.parameter(value.dtype, value.shape) if is_taken else found
        return self.captured


def grow_once(growth: Growth, recipes: Sequence[tuple[Recipe, float]]) -> None:
    """Tries one recipe; what is invalid adds nothing."""
    recipe, = growth.random.choices([entry for entry, _ in recipes], [weight for _, weight in recipes])
    count, effects = len(growth.values), len(growth.effects)
    try:
        recipe(growth)
    except NervureError:
        del growth.values[count:], growth.effects[effects:]


def flag(growth: Growth) -> Value:
    """One exact bool."""
    number = growth.like(nv.int32, (), exact=True)
    if growth.random.random() < 0.3:
        return growth.like(nv.bool_, (), exact=True)
    cls = growth.random.choice((ops.Less, ops.GreaterEqual, ops.NotEqual))
    return growth.add(cls(number, number.full(growth.random.choice((-1, 0, 2, 3)))))


def _add(growth: Growth, op: Op) -> None:
    """Adds an op, which happens in any case if it has an effect."""
    growth.add(op)
    if getattr(op, "effectful", False):
        growth.effects.append(op)


def _small(growth: Growth, shape: Sequence[DimLike], trips: DimLike = 1) -> bool:
    return growth.fits((trips, *shape))


def _wanted(growth: Growth, value: Value) -> _Wanted:
    return _Wanted(BasicTensorDescription(value.dtype, value.shape), growth.is_exact(value))


def _few(growth: Growth, trips: DimLike) -> bool:
    return all([0 <= evaluate(trips, binding) <= MOST_TRIPS for binding in growth.bindings])


def _first_carries(growth: Growth, most: int) -> list[Value]:
    """Values that a loop begins with, some of them numbers of the graph."""
    found = []
    for _ in range(growth.random.randint(0, most)):
        value = growth.pick(lambda entry: _small(growth, entry.shape, MOST_TRIPS))
        if value is None:
            continue
        if growth.random.random() < 0.2:
            value = ops.Full(growth.random.choice((0, 1, 2)), value.dtype, value.shape).output
        found.append(value)
    return found


def scanned(growth: Growth) -> None:
    """A scan over values of one first dimension, or over none."""
    random = growth.random
    lengths = list({value.shape[0]: None for value in growth.values if value.rank and _few(growth, value.shape[0])})
    length: DimLike = random.choice(lengths) if lengths and random.random() < 0.7 else random.choice(TRIPS)
    slices = [value for value in growth.values if value.rank and value.shape[0] == length]
    slices = random.sample(slices, min(len(slices), random.choice((0, 1, 1, 2, 3))))
    if random.random() < 0.3:
        shape = (length, *growth.shape()[:1])
        if growth.fits(shape):
            slices.append(growth.like(random.choice(TYPES), shape))
    first = _first_carries(growth, 3)
    body = Body(growth, [_wanted(growth, value) for value in first] + [
        _Wanted(BasicTensorDescription(value.dtype, value.shape[1:]), growth.is_exact(value)) for value in slices])
    body.grow(random.choice((0, 1, 2, 3, 4, 6)))
    body.guard()
    carries = [body.carried(_wanted(growth, value)) for value in first]
    stackable = [value for value in [*body.growth.values, *carries] if _small(growth, value.shape, length)]
    stacked = [random.choice(stackable[-12:]) for _ in range(random.choice((0, 1, 1, 2, 3))) if stackable]
    if not carries and not stacked:
        return
    function = body.function([*carries, *stacked], "loop_body")
    saved = tuple(random.sample(range(len(first)), random.randint(0, len(first)))) if random.random() < 0.4 else ()
    scan = ops.Scan(*first, *slices, *body.captured.values(), body=function, carries=len(first),
                    slices=len(slices), length=length, reverse=random.random() < 0.4, saved=saved)
    if saved or scan.effectful or len(growth.values) % 4:
        _add(growth, scan)
        return
    for made in dict.fromkeys([value.op for value in scan_in_blocks(scan, 1 + len(body.growth.values) % 3)]):
        growth.add(made)


def repeated(growth: Growth) -> None:
    """A while loop that counts to a small number, or ends before it."""
    random = growth.random
    start, bound = [_counter(growth) for _ in range(2)]
    first = [start, *_first_carries(growth, 3)]
    wanted = [_wanted(growth, value) for value in first]
    body, test = Body(growth, wanted), Body(growth, wanted)
    for each in (body, test):
        each.captured = {each.growth.parameter(bound.dtype, (), True): bound, **{
            inner: outer for inner, outer in each.captured.items() if outer is not bound}}
    body.grow(random.choice((0, 1, 2, 3, 5)))
    body.guard()
    counter = body.given[0]
    carries = [body.growth.add(counter + counter.full(random.choice((1, 1, 2)))),
               *[body.carried(each) for each in wanted[1:]]]
    holds = test.growth.add(ops.Less(test.given[0], next(iter(test.captured))))
    if random.random() < 0.4:
        test.grow(random.choice((0, 1, 2)))
        holds = test.growth.add(ops.LogicalAnd(holds, flag(test.growth)))
    captured = list(dict.fromkeys([*body.finished().values(), *test.finished().values()]))
    _add(growth, ops.While(*first, *captured, condition=test.function([holds], "loop_condition", captured),
                         body=body.function(carries, "loop_body", captured), carries=len(first)))


def _counter(growth: Growth) -> Value:
    """An int32 from -2 to 8."""
    if growth.random.random() < 0.5:
        return ops.Full(growth.random.choice((0, 0, 1, 5)), nv.int32, ()).output
    number = growth.like(nv.int32, (), exact=True)
    return growth.add(ops.Clip(number, number.full(-2), number.full(8)))


def chosen_branch(growth: Growth) -> None:
    """A choice by a bool or a number among branches."""
    random = growth.random
    given = [value for value in (growth.pick() for _ in range(random.randint(0, 3))) if value is not None]
    wanted = [_wanted(growth, value) for value in given]
    cls: type[Op] = random.choice((ops.If, ops.Switch))
    count = 2 if cls is ops.If else random.choice((1, 2, 3, 4))
    bodies = [Body(growth, wanted) for _ in range(count)]
    for body in bodies:
        body.grow(random.choice((0, 1, 2, 4)))
        body.guard()
    kinds = [_wanted(bodies[0].growth, random.choice(bodies[0].growth.values[-12:]))
             for _ in range(random.randint(1, 3))]
    results = [[body.give(kind) for kind in kinds] for body in bodies]
    captured = list(dict.fromkeys([value for body in bodies for value in body.finished().values()]))
    chooser = flag(growth) if cls is ops.If else growth.like(random.choice((nv.int32, nv.int64)), (), exact=True)
    _add(growth, cls(chooser, *given, *captured, branches=tuple(
        [body.function(found, "branch", captured) for body, found in zip(bodies, results, strict=True)])))


def remade(growth: Growth) -> None:
    """A checkpoint, whose derivative makes again what is inside of it."""
    random = growth.random
    given = [value for value in (growth.pick() for _ in range(random.randint(1, 3))) if value is not None]
    body = Body(growth, [_wanted(growth, value) for value in given])
    body.grow(random.choice((1, 2, 4)))
    body.guard()
    results = [random.choice(body.growth.values[-8:]) for _ in range(random.randint(1, 3))]
    function = body.function(results, "checkpoint_body")
    _add(growth, Checkpoint(*given, *body.captured.values(), body=function))


def chained(growth: Growth) -> None:
    """Two products with rows between them: attention, or two dense layers, in all sorts of sizes."""
    random = growth.random
    batch = [random.choice((1, 2, 3)) for _ in range(random.choice((0, 1, 1, 2)))]
    rows, columns = random.choice((1, 8, 40, 70, 130)), random.choice((1, 9, 65, 130, 250))
    depth, width = random.choice((1, 8, 16, 31)), random.choice((1, 8, 24))
    x, y, z = [growth.like(nv.float32, (*batch, *lengths)) for lengths in (
        (rows, depth), (columns, depth), (columns, width))]
    front = list(range(len(batch)))
    row, column, inner = [len(batch) + at for at in range(3)]
    scores = growth.add(ops.Contract(x, y, [*front, row, inner], [*front, column, inner], [*front, row, column]))
    kind = random.choice(("softmax", "softmax", "masked", "gelu", "norm", "tanh"))
    if kind == "masked":
        numbers = [ops.Iota(scores.shape, axis, nv.int32).output for axis in (row, column)]
        scores = growth.add(ops.Where(ops.LessEqual(numbers[1], numbers[0]).output, scores, scores.full(-1e30)))
    if kind == "norm":
        mean = growth.add(ops.Mean(scores, [column]))
        weights = growth.add(scores - growth.spread(mean, scores.shape, (column,)))
    else:
        weights = growth.add({"gelu": ops.GeluTanh, "tanh": ops.Tanh}[kind](scores) if kind in ("gelu", "tanh")
                             else ops.Softmax(scores, [column]))
    growth.add(ops.Contract(weights, z, [*front, row, column], [*front, column, inner], [*front, row, inner]))


REGIONS: list[tuple[Callable[[Growth], None], float]] = [(scanned, 3), (repeated, 1), (chosen_branch, 1.5),
                                                         (remade, 0.7), (chained, 0.5), (attended, 0.2)]
"""Recipes for ops that hold functions, and for kernels that share loops."""
