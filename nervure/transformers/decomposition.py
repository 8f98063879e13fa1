"""What a transformer does not support, written in terms of what it does.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> f = decomposed(nv.Function([nv.ops.Relu(x)], [x]), lambda kind: not issubclass(kind, Composite))
>>> any(isinstance(op, Composite) for op in f.operations)
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.op import Op, Value, as_value
from nervure.ir.provenance import set_override

DEEPEST = 100
"""A composite made of composites, and so on: more levels than this are taken for an endless decomposition."""


def decomposed(function: Function, supports: Callable[[type[Op]], bool]) -> Function:
    """The function with every composite that is not supported replaced by its decomposition; types are
    unchanged.

    New ops carry the provenance of the op that they stand for.
    """
    for _ in range(DEEPEST):
        wanted: set[Op] = {op for op in function.operations if isinstance(op, Composite) and not supports(type(op))}
        if not wanted:
            return function
        function = _one_level(function, wanted)
    raise InternalError(f"{sorted({type(op).__name__ for op in wanted})} decompose without an end")


def _one_level(function: Function, wanted: set[Op]) -> Function:
    table: dict[Value, Value] = {}
    for op in function.operations:
        before = set_override(op.provenance)
        try:
            fresh = op.with_operands([table.get(value, value) for value in op.operands])
            outputs = _parts(fresh) if op in wanted else fresh.outputs
        finally:
            set_override(before)
        if outputs is not op.outputs:
            table.update(zip(op.outputs, outputs, strict=True))
    return function.substituted(table)


def _parts(op: Any) -> tuple[Value, ...]:
    """The values that stand for a composite's outputs."""
    results = op.decompose(*op.operands)
    values = tuple([as_value(entry) for entry in (results if isinstance(results, (tuple, list)) else (results,))])
    for value, output in zip(values, op.outputs, strict=True):
        if value.type.dtype is not output.type.dtype or len(value.type.shape) != len(output.type.shape):
            raise InternalError(f"{op!r} decomposes into {value.type}, not {output.type}")
    return values
