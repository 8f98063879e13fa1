"""Patterns over graphs, spelled with the op classes.

``p.Add(x, p.Negative(y))`` matches a value that is such a sum, and captures x and y. Addition commutes, so the
negation may be on either side; a name that occurs twice must stand for one value; a number matches a tensor that is
that number everywhere.

>>> import nervure as nv
>>> p = Patterns()
>>> x, y = p.any("x"), p.any("y")
>>> difference = p.Add(x, p.Negative(y))
>>> print(difference)
Add(x, Negative(y))
>>> a, b = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> found = match(difference, nv.ops.Add(-a, b).output)
>>> found["x"] is b.output, found["y"] is a.output
(True, True)

A pattern is compiled once into closures that call each other: each tests one thing and, if it holds, calls the next;
if a later one fails, it tries another way (swapped operands, another alternative).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full, is_held
from nervure.ir.op import Op, Value, registry
from nervure.types.view import SimpleView

Registers = list[Any]
Step = Callable[[Registers], bool]
Predicate = Callable[[Any], bool]

_SEEN_THROUGH = 8


def is_kind(op_class: type[Op], wanted: type[Op]) -> bool:
    """Whether a rule for ``wanted`` holds for an op class. An abstract class stands for all its subclasses, a concrete
    one for itself alone, since a subclass may change its meaning.
    """
    return op_class is wanted or (wanted.abstract and issubclass(op_class, wanted))


def uniform_number(value: Value) -> complex | None:
    """Returns the number that a tensor is everywhere, None if it is not known to be one number.

    It is found in a Full, in a Constant of one element, and below views of one tensor that only move elements.
    """
    op = value.op
    views: list[View] = []
    while isinstance(op, View) and len(op.operands) == 1 and len(views) < _SEEN_THROUGH:
        views.append(op)
        op = op.operands[0].op
    if type(op) is Full:
        number: complex = op.number
    elif type(op) is Constant and op.array.size == 1 and is_held(op.array):
        number = op.array.item()
    else:
        return None
    return number if all([isinstance(entry.view, SimpleView) for entry in views]) else None


def same_number(left: complex, right: complex) -> bool:
    """Whether two numbers are equal, the sign of a zero included."""
    if left != right:
        return False
    return bool(left) or _signs(left) == _signs(right)


def _signs(zero: complex) -> set[float]:
    return {math.copysign(1, zero.real), math.copysign(1, zero.imag if isinstance(zero, complex) else zero.real)}


class Pattern(ABC):
    """A pattern that a value may match. ``named`` captures the match, ``where`` restricts it, ``|`` is an alternative.
    """

    name: str | None = None
    predicates: tuple[Predicate, ...] = ()

    def named(self, name: str) -> Pattern:
        """Returns the same pattern, which captures its match under that name."""
        return self._copy(name=name)

    def where(self, predicate: Predicate) -> Pattern:
        """Returns the same pattern, for values (numbers, for a number) that satisfy ``predicate``."""
        return self._copy(predicates=(*self.predicates, predicate))

    def __or__(self, other: Pattern | complex) -> Pattern:
        return Alternatives((self, as_pattern(other)))

    def _copy(self, **changes: object) -> Pattern:
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, **changes})
        return copy

    def admits(self, op_class: type[Op]) -> bool:
        """Whether a value of an op of that class could match."""
        return True

    def compiled(self, frame: Frame, at: int, then: Step) -> Step:
        """Returns the steps that match register ``at`` and continue with ``then``."""
        if self.name is not None:
            then = _bound(frame.slot(self.name), at, then)
        for predicate in reversed(self.predicates):
            then = _tested(predicate, at, then)
        return self.steps(frame, at, then)

    @abstractmethod
    def steps(self, frame: Frame, at: int, then: Step) -> Step:
        """Returns the steps of this pattern itself, which match register ``at``, without name and predicates."""

    @abstractmethod
    def __str__(self) -> str: ...


class Frame:
    """The registers that a compiled pattern needs: one for each place in the pattern, one for each name."""

    def __init__(self) -> None:
        self.count = 0
        self.slots: dict[str, int] = {}

    def fresh(self) -> int:
        """Returns the number of a new register."""
        self.count += 1
        return self.count - 1

    def slot(self, name: str) -> int:
        """Returns the register of a name."""
        if name not in self.slots:
            self.slots[name] = self.fresh()
        return self.slots[name]


class Anything(Pattern):
    """Any value."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def steps(self, frame: Frame, at: int, then: Step) -> Step:
        return then

    def __str__(self) -> str:
        return self.name or "_"


class Number(Pattern):
    """A tensor that is one number everywhere: a given one, or any; a name captures the number, not the tensor."""

    def __init__(self, wanted: complex | None = None, name: str | None = None) -> None:
        self.wanted, self.name = wanted, name

    def admits(self, op_class: type[Op]) -> bool:
        return issubclass(op_class, (Full, Constant, View))

    def compiled(self, frame: Frame, at: int, then: Step) -> Step:
        found, inner = frame.fresh(), super().compiled
        wanted = self.wanted
        # Names and predicates see the number: they are compiled for its register.
        then = inner(frame, found, then)

        def read(registers: Registers) -> bool:
            number = uniform_number(registers[at])
            if number is None or (wanted is not None and not same_number(number, wanted)):
                return False
            registers[found] = number
            return then(registers)
        return read

    def steps(self, frame: Frame, at: int, then: Step) -> Step:
        return then

    def __str__(self) -> str:
        return self.name or ("number" if self.wanted is None else repr(self.wanted))


class Node(Pattern):
    """An op of a class (of any derived from it, if it is abstract) with one output, given operands and attributes."""

    def __init__(self, op_class: type[Op], operands: Sequence[object], attributes: dict[str, object]) -> None:
        self.op_class = op_class
        self.operands = tuple([as_pattern(operand) for operand in operands])
        self.attributes = attributes
        unknown = next((name for name in attributes if name not in op_class.fields), None)
        if unknown is not None:
            raise InvalidArgument(f"no attribute {unknown}", op=f"pattern {op_class.__name__}",
                                  expected=", ".join(op_class.fields) or "none",
                                  help=did_you_mean(unknown, op_class.fields))

    def admits(self, op_class: type[Op]) -> bool:
        return is_kind(op_class, self.op_class)

    def steps(self, frame: Frame, at: int, then: Step) -> Step:
        places = [frame.fresh() for _ in self.operands]
        for operand, place in zip(reversed(self.operands), reversed(places), strict=True):
            then = operand.compiled(frame, place, then)
        if self.attributes:
            then = _tested(self._has_attributes, at, then)
        swapped = len(places) == 2 and self.op_class.commutative
        return _opened(at, self.op_class, places, swapped, then)

    def _has_attributes(self, value: Value) -> bool:
        return all([getattr(value.op, name) == wanted for name, wanted in self.attributes.items()])

    def __str__(self) -> str:
        attributes = [f"{name}={wanted}" for name, wanted in self.attributes.items()]
        return f"{self.op_class.__name__}({', '.join([*map(str, self.operands), *attributes])})"


class Alternatives(Pattern):
    """The first of several patterns that matches; names that only the others capture are None."""

    def __init__(self, choices: Sequence[Pattern]) -> None:
        self.choices = tuple(choices)

    def admits(self, op_class: type[Op]) -> bool:
        return any([choice.admits(op_class) for choice in self.choices])

    def steps(self, frame: Frame, at: int, then: Step) -> Step:
        ways = [choice.compiled(frame, at, then) for choice in self.choices]

        def choose(registers: Registers) -> bool:
            for way in ways:
                if way(registers):
                    return True
            return False
        return choose

    def __str__(self) -> str:
        return "(" + " | ".join(map(str, self.choices)) + ")"


def _accept(registers: Registers) -> bool:
    return True


def _bound(slot: int, at: int, then: Step) -> Step:
    """Gives a name its value, or compares it with the value it has; undoes that if the rest fails."""
    def bind(registers: Registers) -> bool:
        known, value = registers[slot], registers[at]
        if known is None:
            registers[slot] = value
            if then(registers):
                return True
            registers[slot] = None
            return False
        return (known is value or (type(value) is not Value and same_number(known, value))) and then(registers)
    return bind


def _tested(predicate: Predicate, at: int, then: Step) -> Step:
    def test(registers: Registers) -> bool:
        return bool(predicate(registers[at])) and then(registers)
    return test


def _opened(at: int, op_class: type[Op], places: Sequence[int], is_swapped: bool, then: Step) -> Step:
    """Tests the op and puts its operands into the ``places`` of their patterns, in either order if they may be
    swapped.
    """
    first, count = (places[0] if places else 0), len(places)

    def open_op(registers: Registers) -> bool:
        op = registers[at].op
        if type(op) is not op_class and not is_kind(type(op), op_class):
            return False
        if len(op.operands) != count or len(op.outputs) != 1:
            return False
        registers[first:first + count] = op.operands
        if then(registers):
            return True
        if not is_swapped:
            return False
        registers[first:first + count] = op.operands[::-1]
        return then(registers)
    return open_op


class Matcher:
    """A compiled pattern. Called with a value it returns the captures by name, or None."""

    __slots__ = ("pattern", "names", "_slots", "_count", "_root", "_run")

    def __init__(self, pattern: Pattern) -> None:
        frame = Frame()
        self.pattern, self._root = pattern, frame.fresh()
        self._run = pattern.compiled(frame, self._root, _accept)
        self.names = tuple(frame.slots)
        self._slots, self._count = tuple(frame.slots.items()), frame.count

    def __call__(self, value: Value) -> dict[str, object] | None:
        registers: Registers = [None] * self._count
        registers[self._root] = value
        if not self._run(registers):
            return None
        return {name: registers[slot] for name, slot in self._slots}


def match(pattern: Pattern, value: Value) -> dict[str, object] | None:
    """Returns the captures of a pattern at a value by name, or None if it does not match."""
    return Matcher(pattern)(value)


def as_pattern(entry: object) -> Pattern:
    """Returns a pattern itself; for a Python number the pattern of a tensor of that number."""
    if isinstance(entry, Pattern):
        return entry
    if isinstance(entry, (bool, int, float, complex)):
        return Number(entry)
    raise WrongKind("a pattern is made of patterns and numbers", op="pattern", got=type(entry).__name__,
                    expected="a Pattern or a number")


class Patterns:
    """The constructors of patterns: ``p.Add(x, 0)``, for every registered op class by its name.

    A class that is not registered is written ``p.of(View, x)``.
    """

    def __getattr__(self, name: str) -> Callable[..., Node]:
        if name.startswith("_"):
            raise AttributeError(name)
        op_class = registry.get(name)
        if op_class is None:
            raise InvalidArgument(f"there is no op {name}", op="pattern", got=name, help=did_you_mean(name, registry))
        return lambda *operands, **attributes: self.of(op_class, *operands, **attributes)

    def of(self, op_class: type[Op], *operands: object, **attributes: object) -> Node:
        """Returns the pattern of an op of a class, or of any subclass if it is abstract."""
        return Node(op_class, operands, attributes)

    def any(self, name: str | None = None) -> Anything:
        """Returns the pattern of any value, captured under a name."""
        return Anything(name)

    def number(self, name: str | None = None) -> Number:
        """Returns the pattern of a tensor that is one number everywhere; the name captures the number."""
        return Number(None, name)

    def optional(self, node: Node) -> Pattern:
        """Returns the pattern of an op that may be absent: either it matches, or its first operand does."""
        return node | node.operands[0]
