"""The comparison of an op's results with the expected ones: some ops are exact, the others have bounds.

The bounds are those of docs/ops.md. Whatever moves elements, compares, counts or has integer results is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from nervure.ir.kinds import Composite, Elementwise, Structured
from nervure.ir.op import Op
from nervure.ir.region import RegionOp
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.library_op import LibraryOp
from nervure.types.dtype import DType, as_dtype
from tests.conformance.running import REFERENCE, run
from tests.conformance.sampling import Case
from tests.conformance.tolerance import (
    COMPLEX_ROUNDED,
    EXACT,
    ROUNDED,
    Tolerance,
    differs,
    flushed,
    last_place,
    scalar_tolerance,
)

COMPOSITE_ULPS = 64
"""How many roundings, each scaled by the largest number around, the decompositions of composites may differ by."""


def check(case: Case, provider: str, got: Sequence[np.ndarray], expected: Sequence[np.ndarray], about: str) -> None:
    """Fails where results of a provider are further from the reference than the op allows."""
    assert len(got) == len(expected)
    for position, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
        wrong = differs(mine, theirs)
        if wrong.any():  # else there is no need to know what is allowed, which may take a run
            wrong = differs(mine, theirs, _allowed(case, provider, theirs)) & ~np.asarray(flushed(REFERENCE, mine))
        at = [tuple(map(int, place)) for place in np.argwhere(wrong)[:4]]
        shown = [f"{place}: {mine[place]}, not {theirs[place]}" for place in at]
        assert not wrong.any(), f"{case.op!r} {case.op.attributes} {about} [{position}] on {provider}: {shown}"


def _allowed(case: Case, provider: str, expected: np.ndarray) -> Any:
    op, dtype = case.op, as_dtype(expected.dtype)
    if not (dtype.is_float or dtype.is_complex):
        return EXACT
    if isinstance(op, Elementwise):
        return _allowed_elementwise(op, provider, dtype, expected)
    if isinstance(op, Structured):
        return _allowed_sum(case, expected)
    # XLA fuses the body of a loop: a product and a sum in it may round once. It adds running sums in its own order, and
    # has Fourier transforms and decompositions of its own.
    is_xlas_own = isinstance(op, (RegionOp, Cumulative, Recurrence, LibraryOp)) and provider == "xla"
    return _allowed_composite(case, expected) if is_xlas_own or isinstance(op, Composite) else EXACT


def _parts(dtype: DType) -> DType:
    """The type whose precision counts."""
    return as_dtype(f"float{dtype.bits // 2}") if dtype.is_complex else dtype


def _rounding(expected: np.ndarray) -> np.ndarray:
    """One unit in the last place of each number: of its larger part, where it is complex."""
    size = np.abs(expected.astype(np.complex128 if expected.dtype.kind == "c" else np.float64))
    return last_place(np.where(np.isfinite(size), size, 0), _parts(as_dtype(expected.dtype)))


def _eps(expected: np.ndarray) -> float:
    return float(ml_dtypes.finfo(_parts(as_dtype(expected.dtype)).compute.numpy).eps)


def _allowed_elementwise(op: Op, provider: str, dtype: DType, expected: np.ndarray) -> Any:
    name = getattr(op, "function", None)
    if type(op).__name__ == "Hypot":
        return 8 * _rounding(expected)
    if type(op).__name__ == "Relu":
        name = "maximum"
    if name in COMPLEX_ROUNDED.split() and op.operands[0].dtype.is_complex:
        return 16 * _rounding(expected)
    if name is None or (name not in ROUNDED and name not in ("maximum", "minimum")):
        return EXACT
    parts = [scalar_tolerance(each, name, dtype.compute) for each in (provider, REFERENCE)]
    return Tolerance(max(2, sum([part.ulps for part in parts])) if name in ROUNDED else 0,
                     sum([part.absolute for part in parts]), parts[0].is_zero_unsigned)


def _adds_up(op: Op, structure: Any) -> bool:
    return structure.combine == "add" or type(op).__name__ == "ProductChains"


def _allowed_sum(case: Case, expected: np.ndarray) -> Any:
    """``(70 + log2 n) eps sum|x|``, and one rounding of the result. The sum of magnitudes is the op's own, of |x|."""
    structure: Any = case.op.structure(*[operand.type for operand in case.op.operands])  # type: ignore[attr-defined]
    if structure.combine == "multiply":
        return 70 * _eps(expected) * np.abs(_finite(expected)) + _rounding(expected)
    if not _adds_up(case.op, structure) or not case.op.operands:
        return Tolerance(is_zero_unsigned=structure.combine in ("maximum", "minimum"))
    sizes = [np.abs(array) if array.dtype.kind not in "iub" else array for array in case.arguments]
    sizes = [size.astype(array.dtype) for size, array in zip(sizes, case.arguments, strict=True)]
    magnitude = np.maximum.reduce(run("interpreter", case.function, sizes))
    count = max(math.prod(structure.domain), 1)
    bound = (70 + math.log2(count)) * _eps(expected) * np.abs(_finite(magnitude))
    return np.where(bound > 0, bound + _rounding(expected), 0)


def _allowed_composite(case: Case, expected: np.ndarray) -> Any:
    floats = [np.abs(_finite(array)) for array in case.arguments if as_dtype(array.dtype).kind in ("float", "complex")]
    largest = max([1.0, *[float(array.max(initial=0)) for array in floats]])
    scale = largest**2 + float(np.abs(_finite(expected)).max(initial=0))
    return COMPOSITE_ULPS * _eps(expected) * scale + _rounding(expected)


def _finite(array: np.ndarray) -> np.ndarray:
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return np.where(np.isfinite(wide), wide, 0)
