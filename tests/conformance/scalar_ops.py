"""An op for each function of the scalar namespace, so that any transformer can be asked for it.

>>> scalar_op("atan2").operand_names
('x', 'y')
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from nervure.ir import field
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op
from nervure.ops.complex import real_part_type
from nervure.ops.scalar import SCALAR_FUNCTIONS, ScalarNamespace
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import bool_, complex64, complex128, float32

PREDICATES = frozenset({"equal", "not_equal", "less", "less_equal", "is_nan", "is_inf", "is_finite"})
WITH_TYPE = ("convert", "wrap", "bitcast")
VALUES = ("constant", "index")
"""These make values; they need no operand."""

FUNCTIONS = tuple([name for name in SCALAR_FUNCTIONS if name not in (*WITH_TYPE, *VALUES)])


def arity(name: str) -> int:
    """The number of elements that a function takes."""
    return len(inspect.signature(getattr(ScalarNamespace, name)).parameters) - 1


@cache
def scalar_op(name: str) -> type[Op]:
    """The elementwise op that is one function of the namespace."""
    def evaluate(self: Any, s: Any, *elements: Any) -> Any:
        return getattr(s, name)(*elements)

    def evaluate_typed(self: Any, s: Any, *elements: Any) -> Any:
        return getattr(s, name)(*elements, self.dtype)

    def infer(self: Any, *types: BasicTensorDescription) -> BasicTensorDescription:
        dtype = types[-1].dtype
        if name in WITH_TYPE:
            dtype = self.dtype
        elif name in PREDICATES:
            dtype = bool_
        elif name == "complex":
            dtype = complex64 if dtype is float32 else complex128
        elif dtype.is_complex and name in ("absolute", "real", "imaginary"):
            dtype = real_part_type(dtype)
        return types[-1].with_(dtype=dtype)
    names = " ".join(["x", "y", "z"][:arity(name)])
    parts: dict[str, Any] = {"operand_names": names, "infer": infer, "evaluate": evaluate}
    if name in WITH_TYPE:
        parts.update(operand_names="x", dtype=field.dtype(), evaluate=evaluate_typed)
    return type(Elementwise)(f"Scalar_{name}", (Elementwise,), {**parts, "__module__": __name__})
