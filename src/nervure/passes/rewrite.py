"""The rewrite driver: rows of (pattern, builder) applied to a Function until none applies, in one walk.

>>> import nervure as nv
>>> from nervure.passes.pattern import Patterns
>>> p = Patterns()
>>> x, y = p.any("x"), p.any("y")
>>> simplify = Rewriter("simplify", [(p.Add(x, p.Negative(y)), lambda x, y: x - y)])
>>> a, b = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))
>>> simplify(nv.Function([a + -b], [a, b])).results
(f32[3] Subtract(Parameter, Parameter),)

A builder's parameters are names that the pattern captures. It returns a value, a number (a tensor of it, of the type
of the replaced value), or None: unchanged. It is called on behalf of the op that it replaces, whose provenance, name
and labels the result inherits.

The walk goes from operands to users, so that an op is tried once all ops below it are final; the result of a builder
is tried next, before the walk goes on. A pattern looks only downward, so one walk reaches the fixed point. Rows that
cannot match are excluded by the classes of an op and of its operands: for most ops that is one look-up in a table.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any, NamedTuple

from nervure.errors import InternalError, InvalidArgument, did_you_mean
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Operand, Value, as_value
from nervure.ir.provenance import set_override
from nervure.ir.traverse import postorder
from nervure.passes.pattern import Matcher, Node, Pattern, is_kind
from nervure.types.description import Labels

VISITS = 8
"""The fuel of a rewrite: the number of visits for each op of the function."""
_SPARE = 1_000
_DEEPEST = 100
"""The depth of nested rewrites that counts as endless."""


Replacement = Operand | complex | Sequence[Operand] | None
"""The result of a rule for an op: a value, a number (a tensor of it), values for several outputs, or None: unchanged.
"""

Builder = Callable[..., Replacement]
"""A function of the captures of a pattern, by name."""


class Rule(ABC):
    """One rewrite. ``name`` identifies it in errors and counts."""

    name: str

    def may_begin(self, op_class: type[Op]) -> bool:
        """Whether an op of that class could be rewritten, whatever its operands. Asked once for each class."""
        return True

    @abstractmethod
    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        """Whether an op of that class on operands of those classes could be rewritten. Asked once for each
        combination.
        """

    @abstractmethod
    def apply(self, op: Op) -> Replacement:
        """Returns the replacement of the op."""


class Row(Rule):
    """A pattern and a builder."""

    def __init__(self, pattern: Pattern, builder: Builder) -> None:
        if not isinstance(pattern, Node):
            raise InvalidArgument("a row's pattern starts with an op", op="Row", got=pattern, expected="p.SomeOp(...)")
        self.pattern, self.name = pattern, str(pattern)
        self._match, self._build = Matcher(pattern), builder
        self._wanted = tuple(inspect.signature(builder).parameters)
        unknown = next((name for name in self._wanted if name not in self._match.names), None)
        if unknown is not None:
            raise InvalidArgument(f"the builder takes {unknown}, which the pattern does not capture", op="Row",
                                  got=pattern, expected=", ".join(self._match.names) or "no parameters",
                                  help=did_you_mean(unknown, self._match.names))

    def may_begin(self, op_class: type[Op]) -> bool:
        return self.pattern.admits(op_class)

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return self.pattern.admits(op_class) and all(
            [any([operand.admits(entry) for entry in operand_classes]) for operand in self.pattern.operands])

    def apply(self, op: Op) -> Replacement:
        if len(op.outputs) != 1:
            return None
        found = self._match(op.outputs[0])
        return None if found is None else self._build(*[found[name] for name in self._wanted])


class Local(Rule):
    """A function of an op, for all ops of some classes."""

    def __init__(self, name: str, op_classes: Iterable[type[Op]], function: Callable[[Any], Replacement]) -> None:
        self.name, self._op_classes, self._function = name, tuple(op_classes), function

    def may_begin(self, op_class: type[Op]) -> bool:
        return any([is_kind(op_class, wanted) for wanted in self._op_classes])

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return self.may_begin(op_class)

    def apply(self, op: Op) -> Replacement:
        return self._function(op)


class Outcome(NamedTuple):
    """A rewritten Function, the number of nodes visited, and how often each rule fired."""

    function: Function
    visits: int
    fired: Counter[str]


class Rewriter:
    """A pass made of rules: Rules, or pairs of a pattern and a builder.

    ``visits`` is the fuel for each op of the function; a rewrite that needs more is an InternalError which names the
    rule that fired most.
    """

    def __init__(self, name: str, rules: Iterable[Rule | tuple[Pattern, Builder]],
                 visits: int = VISITS) -> None:
        self.name, self.visits = name, visits
        self.rules = tuple([rule if isinstance(rule, Rule) else Row(*rule) for rule in rules])
        self._beginning: dict[type[Op], tuple[Rule, ...]] = {}
        self._candidates: dict[tuple[object, ...], tuple[Rule, ...]] = {}

    def __call__(self, function: Function) -> Function:
        return self.outcome(function).function

    def outcome(self, function: Function) -> Outcome:
        """Returns the rewritten function (itself if no rule applies), with counts."""
        walk = _Walk(self, function)
        walk.run()
        return Outcome(walk.result(), walk.visits, walk.fired)

    def candidates(self, op: Op) -> tuple[Rule, ...]:
        """Returns the rules that may apply to an op, by its class and those of its operands."""
        operands = op.operands
        count = len(operands)
        key: tuple[object, ...]
        if count == 2:
            key = type(op), type(operands[0].op), type(operands[1].op)
        elif count == 1:
            key = type(op), type(operands[0].op)
        else:
            key = type(op), frozenset([type(operand.op) for operand in operands])
        found = self._candidates.get(key)
        if found is None:
            classes = list({type(operand.op): None for operand in operands})
            found = tuple([rule for rule in self._rules_for(type(op)) if rule.may_apply(type(op), classes)])
            self._candidates[key] = found
        return found

    def _rules_for(self, op_class: type[Op]) -> tuple[Rule, ...]:
        found = self._beginning.get(op_class)
        if found is None:
            found = self._beginning[op_class] = tuple([rule for rule in self.rules if rule.may_begin(op_class)])
        return found


class _Walk:
    """One run of a rewriter over one function.

    ``replaced`` maps values of the old graph, and intermediate ones, to final ones; ``final`` holds the ops that are
    done, and those that wait to be visited next.
    """

    def __init__(self, rewriter: Rewriter, function: Function) -> None:
        self.rewriter, self.function = rewriter, function
        self.replaced: dict[Value, Value] = {}
        self.final: set[Op] = set()
        self.visits = 0
        self.fired: Counter[str] = Counter()
        self.fuel = rewriter.visits * len(function.operations) + _SPARE
        self.inherited = Inheritance(function)

    def run(self) -> None:
        before = set_override(None)
        try:
            for op in self.function.operations:
                results = self.visit(op)
                if results is not None:
                    self.settle(op, results)
        finally:
            set_override(before)

    def result(self) -> Function:
        return self.inherited.given_to(self.function.substituted(self.replaced))

    def visit(self, op: Op) -> Sequence[Value] | None:
        """Rebuilds an op on its final operands and tries the rules; returns its replacement, or None if it stays."""
        self.visits += 1
        replaced = self.replaced
        fresh = op
        if replaced:
            for operand in op.operands:
                if operand in replaced:
                    fresh = op.with_operands([replaced.get(entry, entry) for entry in op.operands])
                    break
        for rule in self.rewriter.candidates(fresh):
            results = self.attempt(rule, fresh)
            if results is not None:
                return results
        self.final.add(fresh)
        if fresh is not op:
            replaced.update(zip(op.outputs, fresh.outputs, strict=True))
        return None

    def attempt(self, rule: Rule, op: Op) -> Sequence[Value] | None:
        set_override(op.provenance)
        found = rule.apply(op)
        if found is None:
            return None
        if isinstance(found, (bool, int, float, complex)):
            found = op.outputs[0].full(found)
        results = [as_value(entry) for entry in (found if isinstance(found, (tuple, list)) else (found,))]
        if len(results) == len(op.outputs) and all(map(is_, results, op.outputs)):
            return None
        self.check(rule, op, results)
        self.fired[rule.name] += 1
        return results

    def check(self, rule: Rule, op: Op, results: Sequence[Value]) -> None:
        """Raises InternalError, which names the ``rule``, if the types of ``results`` are not those of the ``op``."""
        got, expected = [entry.type for entry in results], [entry.type for entry in op.outputs]
        if got != expected:
            raise InternalError(f"{self.rewriter.name}: rule {rule.name} makes {_listed(got)} of {op!r} "
                                f"({op.location}), where {_listed(expected)} is due")

    def settle(self, op: Op, results: Sequence[Value]) -> None:
        """Visits the results of a rule until all are final, then lets them stand for the op."""
        stack: list[tuple[Op, Sequence[Value] | None]] = []
        depth = 0
        current: Op = op
        made: Sequence[Value] | None = results
        while True:
            if made is not None:
                depth += 1
                self.check_fuel(current, depth)
                stack.append((current, made))
                stack.extend([(entry, None) for entry in reversed(postorder(made, self.final))])
            current, ready = stack.pop()
            if ready is None:
                made = self.visit(current)
                continue
            made, depth = None, depth - 1
            for old, new in zip(current.outputs, ready, strict=True):
                final = self.replaced.get(new, new)
                self.replaced[old] = final
                self.inherited.add(old, final)
            if not stack:
                return

    def check_fuel(self, op: Op, depth: int) -> None:
        if self.visits <= self.fuel and depth <= _DEEPEST:
            return
        rule, count = self.fired.most_common(1)[0]
        raise InternalError(f"{self.rewriter.name}: the rewrite does not end: {self.visits} visits of "
                            f"{len(self.function.operations)} ops, {depth} rewrites one inside the other; "
                            f"rule {rule} fired {count} times, last at {op!r} ({op.location})")


class Inheritance:
    """The names and labels of replaced ops, for their replacements that have none of their own.

    Nodes that a pass has made receive them at once. Nodes of the function itself belong to its builder: they are
    copied at the end, together with their users.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._originals: set[Op] | None = None
        self._names: dict[Op, str] = {}
        self._labels: dict[Value, Labels] = {}

    def add(self, old: Value, new: Value) -> None:
        """Lets ``new`` stand for ``old`` from now on."""
        if old.op.name is not None and new.op.name is None and new.op not in self._names:
            if self._is_original(new.op):
                self._names[new.op] = old.op.name
            else:
                new.op.name = old.op.name
        if old.labels is None or (new.labels is not None and None not in new.labels):
            return
        known = self._labels.get(new, new.labels) or (None,) * len(old.labels)
        labels = tuple([mine or theirs for mine, theirs in zip(known, old.labels, strict=True)])
        if not self._is_original(new.op):
            new.labels = labels
        elif labels != new.labels:
            self._labels[new] = labels

    def _is_original(self, op: Op) -> bool:
        if self._originals is None:
            self._originals = set(self._function.operations)
        return op in self._originals

    def given_to(self, function: Function) -> Function:
        """Returns the function with names and labels passed on; parameters, which belong to the caller, stay as they
        are.
        """
        heirs = {*self._names, *[value.op for value in self._labels]}
        if not heirs:
            return function
        table: dict[Value, Value] = {}
        for op in function.operations:
            operands = [table.get(operand, operand) for operand in op.operands]
            if op in heirs and not isinstance(op, Parameter):
                fresh = op.copied(operands)
                fresh.name = self._names.get(op, op.name)
                for old, new in zip(op.outputs, fresh.outputs, strict=True):
                    new.labels = self._labels.get(old, old.labels)
            else:
                fresh = op.with_operands(operands)
            if fresh is not op:
                table.update(zip(op.outputs, fresh.outputs, strict=True))
        return function.substituted(table)


def _listed(types: Sequence[object]) -> str:
    return ", ".join(map(str, types)) or "nothing"
