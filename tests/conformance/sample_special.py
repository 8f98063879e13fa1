"""A sample of special functions, which are rows of one op; tests/ops/test_special_functions.py has all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nervure.types.dtype import DType
from tests.conformance.sampling import M, N, Operand, Sample, of


@of("SpecialFunction")
def special_function(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, function="i1e"), (Operand((N, M), dtype),))


@of("ComplexFunction")
def complex_function(cls: Any, dtype: DType) -> Iterator[Sample]:
    yield Sample(lambda at, x: cls(x, function="sqrt"), (Operand((N, M), dtype),))
