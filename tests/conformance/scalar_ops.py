"""An op for each function of the scalar namespace, so that any transformer can be asked for it.

>>> scalar_op("atan2").operand_names
('y', 'x')
"""

from __future__ import annotations

from functools import cache
from typing import Any

from nervure.ir import field
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.description import BasicTensorDescription

WITH_TYPE = tuple([name for name, declared in SCALAR_FUNCTIONS.items() if declared.carries_type])
FUNCTIONS = tuple([name for name in SCALAR_FUNCTIONS if name not in WITH_TYPE])


def arity(name: str) -> int:
    """The number of elements that a function takes."""
    return len(SCALAR_FUNCTIONS[name].operands)


@cache
def scalar_op(name: str) -> type[Op]:
    """The elementwise op that is one function of the namespace."""
    declared = SCALAR_FUNCTIONS[name]

    def evaluate(self: Any, s: Any, *elements: Any) -> Any:
        return getattr(s, name)(*elements)

    def infer(self: Any, *types: BasicTensorDescription) -> BasicTensorDescription:
        return types[-1].with_(dtype=declared.result(types[-1].dtype))

    def evaluate_typed(self: Any, s: Any, x: Any) -> Any:
        return getattr(s, name)(x, self.dtype)

    def infer_typed(self: Any, x: BasicTensorDescription) -> BasicTensorDescription:
        return x.with_(dtype=self.dtype)
    parts: dict[str, Any] = {"operand_names": " ".join(declared.operands), "infer": infer, "evaluate": evaluate}
    if declared.carries_type:
        parts.update(dtype=field.dtype(), infer=infer_typed, evaluate=evaluate_typed)
    return type(Elementwise)(f"Scalar_{name}", (Elementwise,), {**parts, "__module__": __name__})
