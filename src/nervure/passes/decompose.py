"""Decomposition of composites: each is replaced by its parts, and these in turn, down to ops that are supported.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> decompose(nv.Function([nv.ops.Square(x)], [x])).results
(f32[4] Multiply(Parameter, Parameter),)

The parts inherit the line, scope and metadata of the composite, and its result the name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.op import Op
from nervure.passes.inner_functions import within_bodies
from nervure.passes.rewrite import Replacement, Rewriter, Rule

Supports = Callable[[type[Op]], bool]

_VISITS = 1_000  # nested parts of a composite count as visits of it


class Decomposition(Rule):
    """The rule that decomposes composites, except those that ``supports`` (asked once for each class) keeps."""

    name = "decompose"

    def __init__(self, supports: Supports | None = None) -> None:
        self._supports = supports

    def may_apply(self, op_class: type[Op], operand_classes: Sequence[type[Op]]) -> bool:
        return issubclass(op_class, Composite) and not (self._supports is not None and self._supports(op_class))

    def apply(self, op: Op) -> Replacement:
        assert isinstance(op, Composite)
        return op.decomposed()


def decompose(function: Function, supports: Supports | None = None) -> Function:
    """Returns the function without composites, except the classes for which ``supports`` is true."""
    return decompose_by(function, Decomposition(supports))


def decompose_by(function: Function, rule: Decomposition) -> Function:
    """Returns the function without the composites that ``rule`` decomposes, in the functions of its ops, too."""
    whole = Rewriter("decompose", [rule], _VISITS)(function)
    return within_bodies(whole, lambda body: decompose_by(body, rule))
