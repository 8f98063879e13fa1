"""Small changes to a source text, each of which a good test suite notices.

A mutant is the source with one expression or statement replaced in place: everything else, comments and lines
included, stays as it was. Messages, annotations, decorators and docstrings are left alone, since no test should
depend on them.

>>> mutants = find_mutants("def smaller(a, b):\\n    return a < b\\n")
>>> for mutant in mutants:
...     print(mutant.line, mutant)
2 return: return a < b  ->  return None
2 comparison: a < b  ->  (a <= b)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
               ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
             ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
             ast.RShift: ast.LShift, ast.Pow: ast.Mult}


class Mutant(NamedTuple):
    """One change: the bytes ``begin`` to ``end`` of a source, which read ``before``, become ``after``.

    (Positions in a syntax tree count the bytes of UTF-8.)
    """

    line: int
    kind: str
    begin: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind}: {one_line(self.before)}  ->  {one_line(self.after)}"

    def apply(self, source: str) -> str | None:
        """The changed source, or None where it would be invalid or mean the same."""
        data = source.encode()
        changed = (data[:self.begin] + self.after.encode() + data[self.end:]).decode()
        try:
            differs = tree_of(changed) != tree_of(source)
        except SyntaxError:  # a place where no expression in parentheses may stand, such as a match pattern
            return None
        return changed if differs else None


@lru_cache(maxsize=2)
def tree_of(source: str) -> str:
    """The syntax tree of a source as text; that of the source of many mutants is kept."""
    return ast.dump(ast.parse(source))


def comparison(node: ast.AST) -> ast.AST | None:
    """``a < b`` becomes ``a <= b``; ``==``, ``is`` and ``in`` become their opposites."""
    if not isinstance(node, ast.Compare):
        return None
    return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def arithmetic(node: ast.AST) -> ast.AST | None:
    """``a + b`` becomes ``a - b``, and so on."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        return ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    return None


def constant(node: ast.AST) -> ast.AST | None:
    """A number becomes one more, a truth value its opposite."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int | float):
        return None
    return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)


def returned(node: ast.AST) -> ast.AST | None:
    """``return value`` becomes ``return None``."""
    if not isinstance(node, ast.Return) or node.value is None:
        return None
    if isinstance(node.value, ast.Constant) and node.value.value is None:
        return None
    return ast.Return(ast.Constant(None))


def removed(node: ast.AST) -> ast.AST | None:
    """A statement that acts on something else (a call, a raise, an element or attribute set, a jump) vanishes."""
    acts = isinstance(node, ast.Raise | ast.AugAssign | ast.Continue | ast.Break | ast.Delete)
    acts = acts or isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    acts = acts or isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return ast.Pass() if acts else None


def connective(node: ast.AST) -> ast.AST | None:
    """``and`` becomes ``or``, ``or`` becomes ``and``."""
    if not isinstance(node, ast.BoolOp):
        return None
    return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def negation(node: ast.AST) -> ast.AST | None:
    """``not a`` becomes ``a``."""
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub) else None


def swapped(node: ast.AST) -> ast.AST | None:
    """``f(a, b)`` becomes ``f(b, a)``."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    first, second, *rest = node.args
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred) or ast.dump(first) == ast.dump(second):
        return None
    return ast.Call(node.func, [second, first, *rest], node.keywords)


MUTATORS: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    "comparison": comparison, "arithmetic": arithmetic, "constant": constant, "return": returned,
    "removed": removed, "connective": connective, "negation": negation, "swapped": swapped,
}


def left_alone(node: ast.AST) -> bool:
    """What no mutant changes, with all that is in it: texts, types, imports, what holds for the type checker alone."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("cast", "TypeVar", "NewType")
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert)


def inner_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that may be changed."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "exc", "cause"):
            continue
        children = value if isinstance(value, list) else [value]
        yield from (child for child in children if isinstance(child, ast.AST))


def changeable(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes that may be changed, in the order of the source."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if left_alone(node):
            continue
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        waiting.extend(reversed(list(inner_nodes(node))))


def one_line(text: str, width: int = 60) -> str:
    """Text as a single line of limited width, for reports."""
    joined = " ".join(text.split())
    return joined if len(joined) <= width else joined[:width - 3] + "..."


def find_mutants(source: str) -> list[Mutant]:
    """All changes to a source text, in the order of its lines."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mutants = []
    for node in changeable(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        for kind, mutate in MUTATORS.items():
            changed = mutate(node)
            if changed is not None:
                text = ast.unparse(ast.fix_missing_locations(changed))
                mutants.append(Mutant(node.lineno, kind, begin, end, data[begin:end].decode(),
                                      f"({text})" if isinstance(node, ast.expr) else text))
    return mutants
