"""Functions made from elementwise op classes: one for each class with a ``surface``, which names it.

>>> import nervure as nv
>>> nv.ops.Maximum.surface
'maximum(np.array([1, 5]), 3) -> [3, 5]'
>>> nv.maximum(nv.constant([1, 5]), 3).tolist()
[3.0, 5.0]

``op_functions.pyi``, made from the functions that exist when this module has run, declares them for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable

from nervure import ops
from nervure.front import alignment
from nervure.front.apply import described, operate, operate_real, truth
from nervure.front.tensor import Operand, Tensor
from nervure.ir.op import Op
from nervure.support.elsewhere import explains_keywords
from nervure.types.element_groups import BOOL, INTEGERS


def _plain(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """Makes a function that computes in its operands' promoted type."""
    if core.arity == 1:
        def unary(x: Operand) -> Tensor:
            return operate(name, core, (x,))
        return unary

    def binary(x: Operand, y: Operand) -> Tensor:
        return operate(name, core, (x, y))
    return binary


def _real(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """Makes a function of real numbers: integers and bool become float32."""
    def unary(x: Operand) -> Tensor:
        return operate_real(name, core, x)

    def binary(x: Operand, y: Operand) -> Tensor:
        return operate_real(name, core, x, y)
    return unary if core.arity == 1 else binary


def _logical(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """Makes a function of truth values: numbers count as true when they are not 0."""
    def binary(x: Operand, y: Operand) -> Tensor:
        values, axes, _ = alignment.aligned([truth(x), truth(y)], name)
        return Tensor(core(*values), axes)
    return binary


def _function(core: object) -> Callable[..., Tensor]:
    """Makes the function of an op class. The types that the op admits decide how it chooses element types."""
    name, _, call = core.surface.partition("(")
    arguments, _, result = call.rpartition(") -> ")
    family = _logical if core.admits == BOOL else _plain if core.admits & INTEGERS else _real
    return explains_keywords(described(family(name, core), name, core.__doc__, arguments, result))


FUNCTIONS = {function.__name__: function for function in [
    _function(core) for core in map(vars(ops).get, ops.__all__) if getattr(core, "surface", None)]}

globals().update(FUNCTIONS)
__all__ = [*FUNCTIONS]  # noqa: PLE0604  # names of functions
