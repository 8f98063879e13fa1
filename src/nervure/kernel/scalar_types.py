"""The types of functions in a kernel: those of their operands and of their results.

>>> from nervure.types.dtype import complex64, float32, int8
>>> result_type("less", [float32, float32]), result_type("absolute", [complex64])
(nervure.bool_, nervure.float32)
>>> result_type("convert", [float32], int8)
nervure.int8
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InternalError
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dtype import DType, bool_


def result_type(function: str, operands: Sequence[DType], carried: DType | None = None) -> DType:
    """Returns the type of a ``function``'s result; InternalError if it does not take these ``operands``.

    ``carried`` is the type in the statement, for functions that carry the type of their result.
    """
    declared = SCALAR_FUNCTIONS.get(function)
    if declared is None:
        raise InternalError(f"there is no function {function}")
    if len(operands) != len(declared.operands):
        raise InternalError(f"{function} takes {len(declared.operands)} operands, not {len(operands)}")
    if declared.carries_type:
        return _carried(function, operands[0], carried)
    if function == "where":
        return _chosen(operands)
    first = operands[0]
    if any([operand is not first for operand in operands]):
        raise InternalError(f"{function} takes operands of one type, not {_listed(operands)}")
    if not computes(first) or first not in declared.domain:
        raise InternalError(f"{function} does not take {first}")
    return declared.result(first)


def carries_type(function: str) -> bool:
    """Whether a function carries the type of its result."""
    return function in SCALAR_FUNCTIONS and SCALAR_FUNCTIONS[function].carries_type


def computes(dtype: DType) -> bool:
    """Whether functions compute with a type; elements of other types are converted first."""
    return not (dtype.is_low_precision or dtype.storage_only)


def _carried(function: str, operand: DType, carried: DType | None) -> DType:
    if carried is None:
        raise InternalError(f"{function} carries the type of its result")
    if function == "bitcast" and operand.bits != carried.bits:
        raise InternalError(f"bitcast keeps the width: {operand} has {operand.bits} bits, {carried} {carried.bits}")
    return carried


def _chosen(operands: Sequence[DType]) -> DType:
    condition, first, second = operands
    if condition is not bool_:
        raise InternalError(f"where takes a condition, not {condition}")
    if first is not second:
        raise InternalError(f"where takes two scalars of one type, not {_listed(operands[1:])}")
    return first


def _listed(dtypes: Sequence[DType]) -> str:
    return ", ".join(map(str, dtypes))
