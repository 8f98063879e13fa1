"""Samples of elementwise ops, made from what their classes say: names of operands, fields, element types admitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure import ops
from nervure.ir.field import REQUIRED
from nervure.ir.kinds import Pointwise
from nervure.ir.op import Op, registry
from nervure.types.dtype import DType, all_dtypes, bool_, float16, float32, int4, int8, int64
from tests.conformance.sampling import TABLE, M, N, Operand, Sample, of

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "Elu": [{"alpha": 0.5}], "HardSigmoid": [{"alpha": 0.25, "beta": 0.25}], "LeakyRelu": [{"slope": 0.5}],
    "SafeLog": [{"limit": 1.0}],
}
"""Attributes besides the defaults."""


def derived(cls: type[Op]) -> bool:
    """Whether samples follow from the class alone."""
    return issubclass(cls, Pointwise) and not any(entry.default is REQUIRED for entry in cls.fields.values())


def pointwise(cls: Any, dtype: DType) -> Iterator[Sample]:
    """The op on matrices and on numbers, with each set of attributes."""
    domains = cls.sample
    for attributes in [{}, *VARIANTS.get(cls.__name__, [])]:
        for shape in ((N, M), ()):
            operands = [Operand(shape, dtype, domains[min(at, len(domains) - 1)]) for at in range(cls.arity)]
            yield Sample(lambda at, *xs, attributes=attributes: cls(*xs, **attributes), tuple(operands))


@of("Where")
def where(cls: Any, dtype: DType) -> Iterator[Sample]:
    for shape in ((N, M), ()):
        yield Sample(lambda at, *xs: cls(*xs), (Operand(shape, bool_), Operand(shape, dtype), Operand(shape, dtype)))


@of("Convert")
def convert(cls: Any, dtype: DType) -> Iterator[Sample]:
    for target in (float32, float16, int8, int64, int4, bool_, dtype):
        yield Sample(lambda at, x, target=target: cls(x, target), (Operand((N, M), dtype),), is_smooth=target is dtype)
    yield Sample(lambda at, x: cls(x, int8, mode="wrap"), (Operand((), dtype),), is_smooth=False)


@of("Bitcast")
def bitcast(cls: Any, dtype: DType) -> Iterator[Sample]:
    for target in all_dtypes:
        if target.bits == dtype.bits:
            yield Sample(lambda at, x, target=target: cls(x, target), (Operand((N,), dtype),), is_smooth=False)


@of("StopGradient")
def stop_gradient(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x), (Operand((N, M), dtype),), is_smooth=False)


@of("StraightThrough")
def straight_through(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x, y: cls(x, y), (Operand((N, M), dtype), Operand((N, M), dtype)), is_smooth=False)


assert ops  # which fills the registry
for _name, _cls in list(registry.items()):
    if _cls.__module__.startswith("nervure.ops.") and _name not in TABLE and derived(_cls):
        of(_name)(pointwise)
