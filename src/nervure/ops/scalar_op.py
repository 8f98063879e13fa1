"""Ops that apply one function of scalars at every index: they reuse the facts that the function declares.

>>> import nervure as nv
>>> Sinc = elementwise("sin", name="Sinc", vjp=lambda self, gradient, x: gradient * nv.ops.Cos(x))
>>> Sinc.operand_names, Sinc.cost, Sinc(nv.Parameter(nv.float32, (3,)))
(('x',), 16, f32[3] Sinc(Parameter))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ClassVar, cast

from nervure.ir.kinds import Elementwise
from nervure.ir.op import Gradients, Operand, OpMeta, Value
from nervure.ops.scalar import SCALAR_FUNCTIONS, Scalar, ScalarNamespace
from nervure.types.dtype import DType

Rule = Callable[..., Operand | tuple[Operand | None, ...] | None]
"""A derivative as ``elementwise`` takes it."""


class ScalarOp(Elementwise, abstract=True):
    """An op of one function of scalars, named by ``function``. Its declaration gives all that a class does not state:
    operands, element types, cost, and whether operands may be swapped.
    """

    function: ClassVar[str]

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        if "function" not in own:
            return
        declared = SCALAR_FUNCTIONS[own["function"]]
        facts = {"operand_names": declared.operands, "admits": declared.domain, "cost": declared.cost,
                 "commutative": declared.is_commutative, "sample": declared.sample}
        for name, fact in facts.items():
            if name not in own:
                setattr(cls, name, fact)

    def evaluate(self, s: ScalarNamespace[Scalar], *elements: Scalar) -> Scalar:
        return getattr(s, self.function)(*elements)

    def result_dtype(self, dtype: DType) -> DType:
        return self.result or SCALAR_FUNCTIONS[self.function].result(dtype)


def elementwise(function: str, *, vjp: Rule | None = None, name: str | None = None,
                doc: str | None = None, note: str = "", **parts: object) -> type[Elementwise]:
    """Makes the class of an op that is one function of scalars; its name is the function's, in the spelling of
    classes.

    ``vjp(self, gradient, x)`` is its derivative: one gradient for one operand, else a tuple; ``self`` stands for the
    result. ``doc`` replaces the function's text, and ``note`` adds to it. ``parts`` are further attributes of the
    class.
    """
    text = f"{SCALAR_FUNCTIONS[function].doc if doc is None else doc} {note}".rstrip()
    parts = {"function": function, "__doc__": text, "__module__": sys._getframe(1).f_globals["__name__"], **parts}
    if vjp is not None:
        parts["vjp"] = _with_tuple(vjp)
    spelled = name or "".join(map(str.capitalize, function.split("_")))
    return cast("type[Elementwise]", OpMeta(spelled, (ScalarOp,), parts))


def _with_tuple(rule: Rule) -> Callable[..., Gradients]:
    def vjp(self: ScalarOp, gradient: Value, *operands: Value) -> Gradients:
        found = rule(self, gradient, *operands)
        return found if isinstance(found, tuple) else (found,)
    return vjp
