"""The results that a function may give: its value on the interpreter, and how far rounding may move it.

The effect of rounding is measured, not assumed. The function is evaluated a few times more with noise: wherever an op
rounds in an order or by a formula that is open, a few units of the last place are added at random. A result that the
noise moves by d may differ by a few d. Where no op rounds that way the numbers must be the same.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> exact, rounded = expected(nv.Function([x + x, nv.ops.Exp(x)], [x]), {}, [np.float32([1, 2, 3])], {})
>>> exact.spread is None, bool((rounded.spread > 0).any())
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import ml_dtypes
import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import Structured
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.ir.variable import Variable
from nervure.ops import Contract, Prod, ProductChains
from nervure.ops.convolution import ConvolutionForm
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.passes.pipelines import minimal
from nervure.transformers.binding import Bindings
from nervure.transformers.interpreter.step_list import StepList
from nervure.types.dtype import as_dtype
from tests.conformance.tolerance import ROUNDED, scalar_tolerance
from tests.fuzz.growth import is_rounding

UNITS = 4.0
"""Units of the last place that noise adds at most."""

IN_ORDER = ("AccumulateView", "Scatter", "ScatterElements", "ScatterNd")
"""Ops that add one element after the other to a place: the roundings of many equal ones do not average out."""

ARITHMETIC = ("Add", "Subtract", "Multiply", "Divide", "Square", "SquaredDifference", "Sqrt", "Reciprocal", "Convert")
"""Ops that round once. Where an operand is open, so is which way that goes: two numbers that are moved alike may be a
unit closer to each other, or further apart, which is much where they are subtracted then.
"""

PRODUCTS, SUMS = ("Multiply", "Divide", "Square", "SquaredDifference"), ("Add", "Subtract")
"""Ops whose result may go into a sum before it is rounded, where a device contracts products and sums (XLA's CPU). What
a sum of exact opposites leaves is the rounding of the product then. A sum that is 0 may have either sign.
"""

CHAIN = 512
"""Products that contractions add one after the other (O48): a part of the roundings of equal ones adds up. Chains of
products have no such blocks (O69).
"""

RUNS, MORE_RUNS = 4, 40
"""How often noise is tried; more often before a difference is taken for a failure."""

FACTOR = 8.0
"""How many times what noise moves a result may be off."""

Arrays = Sequence[np.ndarray]
States = Mapping[Variable, np.ndarray]


class Expected(NamedTuple):
    """A result, and how far noise moves each element of it; None where all bits are fixed. ``least`` is the size below
    which numbers may be zeros.
    """

    value: np.ndarray
    spread: np.ndarray | None
    least: float = 0.0


class Noise(Enum):
    """Which numbers of an array move alike."""

    APART = "each its own way"
    BY_VALUE = "equal ones alike"
    COMMON = "all the same way"


class _NoisySteps(StepList):
    """The interpreter, with noise after every op that rounds (and before every sum)."""

    def __init__(self, function: Function, bindings: Bindings, contracts: bool) -> None:
        super().__init__(function, bindings)
        self._rng, self._contracts = np.random.default_rng(0), contracts
        self._open = rounded_values(function, contracts)

    def _runner(self, body: Function, bindings: Bindings) -> Callable[[Arrays], list[np.ndarray]]:
        """Bodies run with the same noise."""
        steps = _NoisySteps(body, bindings, self._contracts)
        steps._rng = self._rng
        steps._open.update([parameter.value for parameter in body.parameters])
        return lambda arguments: [np.asarray(result) for result in steps.run(arguments, {})]

    def results_of(self, op: Op, operands: Arrays, bindings: Bindings) -> Arrays:
        if _is_open(op, self._contracts) and not isinstance(op, RegionOp):
            return self._noisy(op, operands, bindings)
        results = super().results_of(op, operands, bindings)
        if self._contracts and type(op).__name__ in SUMS:
            return [self._contracted(result, operands) for result in map(np.asarray, results)]
        if type(op).__name__ not in ARITHMETIC or self._open.isdisjoint(op.operands):
            return results
        return [np.where(result == 0, result, moved(result, self._rng, Noise.APART, _share(self._rng)))
                for result in map(np.asarray, results)]

    def _contracted(self, total: np.ndarray, operands: Arrays) -> np.ndarray:
        """A sum of products that were not rounded before."""
        dtype = as_dtype(total.dtype)
        if not (dtype.is_float or dtype.is_complex):
            return total
        part = as_dtype(f"float{dtype.bits // 2}") if dtype.is_complex else dtype
        most = np.maximum(*[np.abs(value.astype(np.complex128)) for value in operands])
        noise = self._rng.uniform(-1, 1, total.shape) * _share(self._rng) * float(ml_dtypes.finfo(part.numpy).eps)
        wide = total.astype(np.complex128 if dtype.is_complex else np.float64)
        found = (wide + noise * most).astype(total.dtype)
        return np.where((total == 0) & (noise < 0), -found, found)

    def _noisy(self, op: Op, operands: Arrays, bindings: Bindings) -> Arrays:
        reads_several = isinstance(op, (Structured, ConvolutionForm))
        is_chained = isinstance(op, (Contract, ConvolutionForm, ProductChains))
        declared = SCALAR_FUNCTIONS.get(getattr(op, "function", ""))
        least = 4.0 if declared is not None and declared.absolute else 0.0  # near its zeros the error is absolute
        share, kept = _share(self._rng), operands
        most = max([np.size(value) for value in kept], default=0) if reads_several else 0
        length = most if isinstance(op, ProductChains) else min(most, CHAIN)
        drift = most if type(op).__name__ in IN_ORDER else length / 16 if is_chained else 0
        if reads_several:  # sums of equal ones drift their way, also where others take most of that sum away
            alike = Noise.BY_VALUE if drift else Noise.APART
            noisy = {id(value): moved(np.asarray(value), self._rng, alike, (UNITS + drift) * share)
                     for value in operands}
            operands = [noisy[id(value)] for value in operands]
        common = self._common(op, operands)
        # A formula is off by the same where operands are, so that a sum of many such results does not average that out.
        own = Noise.BY_VALUE if not reads_several and self._rng.random() < 0.5 else Noise.APART
        # Where many equal ones are added, each sum drifts its own way.
        results = [moved(moved(np.asarray(value), self._rng, own, (UNITS + drift) * share, least),
                         self._rng, Noise.COMMON, common)
                   for value in super().results_of(op, operands, bindings)]
        if isinstance(op, Prod):
            results[0] = np.where(_may_leave_range(np.asarray(kept[0]), op.axes), np.nan, results[0])
        if self._contracts and self._rng.random() < 0.5:  # a denormal is 0 there, whatever it is multiplied by
            results = [np.where(np.abs(result) < _least(result), 0, result).astype(result.dtype) for result in results]
        return results


    def _common(self, op: Op, operands: Arrays) -> float:
        """How far all results of a function may be off in one direction: XLA's tanh is 1 from 8 on (X9)."""
        name, kind = getattr(op, "function", ""), as_dtype(np.asarray(operands[0]).dtype) if operands else None
        if not self._contracts or name not in ROUNDED or kind is None or not kind.is_float:
            return 0.0
        return 2 * scalar_tolerance("xla", name, kind.compute).ulps / FACTOR


def _share(rng: np.random.Generator) -> float:
    """How much of its noise an op gets in a run: all or less. Where two errors meet their ratio may matter: how far
    equal numbers are from each other, and all of them from their mean.
    """
    return 1.0 if rng.random() < 0.5 else 2.0 ** rng.uniform(-10, 0)


def _may_leave_range(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Whether the large factors of a product alone are infinite, or the small ones alone too small for all digits, and
    the others bring it back: the order decides.
    """
    dtype = as_dtype(x.dtype)
    if not (dtype.is_float or dtype.is_complex):
        return np.zeros((), bool)
    info = ml_dtypes.finfo(as_dtype(f"float{dtype.bits // 2}").numpy if dtype.is_complex else dtype.numpy)
    exponents = np.log2(np.abs(x.astype(np.complex128 if dtype.is_complex else np.float64)))
    large, small = [np.sum(part, axis=axes) for part in (np.maximum(exponents, 0), np.minimum(exponents, 0))]
    whole = large + small
    return ((large > info.maxexp - 1) & (whole < info.maxexp + 1)) | (
        (small < info.minexp + 1) & (whole > info.minexp - info.nmant - 1))


def moved(array: np.ndarray, rng: np.random.Generator, noise: Noise, units: float, least: float = 0.0) -> np.ndarray:
    """Floats moved by ``units`` of the last place at most, of that of ``least`` where they are smaller; all else as it
    is. Parts of complex numbers move apart, whatever the ``noise``.
    """
    if units == 0:
        return array
    dtype = as_dtype(array.dtype)
    if dtype.is_complex:
        parts = as_dtype(f"float{dtype.bits // 2}").numpy
        real, imaginary = [moved(part.astype(parts), rng, Noise.APART, units) for part in (array.real, array.imag)]
        return (real + 1j * imaginary).astype(array.dtype)
    if not dtype.is_float:
        return array
    eps, tiny = float(ml_dtypes.finfo(dtype.numpy).eps), float(ml_dtypes.finfo(dtype.numpy).smallest_subnormal)
    wide = array.astype(np.float64)
    shifts = _shifts(array, rng, noise, units)
    return (wide + shifts * (np.maximum(np.abs(wide), least) * eps + tiny)).astype(dtype.numpy)


def _shifts(array: np.ndarray, rng: np.random.Generator, noise: Noise, units: float) -> np.ndarray:
    """By how many units of the last place floats move: one number for all of them, or one for each."""
    if noise is Noise.BY_VALUE:
        return units * _signed(array, rng)
    return rng.uniform(-units, units, array.shape if noise is Noise.APART else ())


def _signed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random numbers from -1 to 1, the same for equal elements of an ``array`` of floats."""
    bits = array.reshape(-1).view(f"u{array.itemsize}").astype(np.uint64)
    mixed = (bits + rng.integers(2**63, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(np.float64).reshape(array.shape) * 2.0**-52 - 1


def expected(function: Function, binding: Mapping[str, int], arrays: Arrays, states: States,
             runs: int = RUNS, contracts: bool = False) -> list[Expected]:
    """The results and then the new values of variables, on a device that may contract a product and a sum to one
    instruction, and take denormals for zeros, if it ``contracts``.
    """
    plain = minimal(function)
    with np.errstate(all="ignore"):
        values = [np.array(value) for value in StepList(plain, dict(binding)).run(arrays, states)]
        open_values = rounded_values(plain, contracts)
        spreads = [np.zeros(value.shape) for value in values]
        noisy = _NoisySteps(plain, dict(binding), contracts) if open_values.intersection(plain.roots) else None
        for _ in range(runs if noisy is not None else 0):
            for at, value in enumerate(noisy.run(arrays, states)):
                spreads[at] = np.maximum(spreads[at], distance(np.asarray(value), values[at]))
    return [Expected(value, spread if root in open_values else None, _least(value) if contracts else 0.0)
            for value, spread, root in zip(values, spreads, plain.roots, strict=True)]


def _least(value: np.ndarray) -> float:
    """A few times the smallest normal number of a type of floats: a factor below that is 0."""
    dtype = as_dtype(value.dtype)
    parts = as_dtype(f"float{dtype.bits // 2}") if dtype.is_complex else dtype
    return 64 * float(ml_dtypes.finfo(parts.numpy).smallest_normal) if parts.is_float else 0.0


def _is_open(op: Op, contracts: bool) -> bool:
    """Whether an op rounds in an open way; running values do on a device that takes them in its own order."""
    return is_rounding(op) or contracts and isinstance(op, (Cumulative, Recurrence))


def rounded_values(function: Function, contracts: bool = False) -> set[Value]:
    """The values below which some op rounds in an open way; products are among them if a device ``contracts``."""
    found: set[Value] = set()
    for op in function.operations:
        is_contracted = contracts and (isinstance(op, RegionOp) or type(op).__name__ in PRODUCTS + SUMS)
        if is_contracted or _is_open(op, contracts) or any([operand in found for operand in op.operands]):
            found.update(op.outputs)
    return found


def distance(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How far numbers are apart; infinite where only one of them is finite, 0 where both are the same or NaN."""
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        left, right = left.astype(wide), right.astype(wide)
        far = np.abs(left - right)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return np.where(same, 0.0, np.where(np.isnan(far), np.inf, far))


def wrong(got: np.ndarray, wanted: Expected) -> np.ndarray:
    """Where a result is not what is expected. A number that noise makes infinite or NaN is not looked at."""
    if got.dtype != wanted.value.dtype or got.shape != wanted.value.shape:
        return np.ones((), bool)
    far = distance(got, wanted.value)
    if wanted.spread is None:
        return far > wanted.least
    dtype = as_dtype(got.dtype)
    if not (dtype.is_float or dtype.is_complex):
        return (far > 0) & (wanted.spread == 0)
    parts = as_dtype(f"float{dtype.bits // 2}") if dtype.is_complex else dtype
    info = ml_dtypes.finfo(parts.numpy)
    size = np.abs(wanted.value.astype(np.complex128 if dtype.is_complex else np.float64))
    room = 8 * float(info.eps) * np.where(np.isfinite(size), size, 0) + 8 * float(info.smallest_subnormal)
    return far > FACTOR * wanted.spread + room + wanted.least
