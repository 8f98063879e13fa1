"""Every op, every element type it admits, on every transformer, against the second provider over JAX."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from nervure.errors import DtypeMismatch, IndexOutOfRange
from nervure.ir.kinds import Composite, Pointwise, Structured, View
from nervure.ops.library_op import LibraryOp
from nervure.ops.linear_algebra import PseudoInverse, Qr
from nervure.ops.triangles import Lu
from nervure.types.dtype import DType, all_dtypes
from tests.conformance import values
from tests.conformance.comparison import check
from tests.conformance.random_views import random_view
from tests.conformance.running import DEEP, REFERENCE, TRANSFORMERS, repeats, run, some
from tests.conformance.samples import NAMES, built_in, samples_of, types_of
from tests.conformance.sampling import (
    Case,
    Index,
    Operand,
    Sample,
    concrete,
    edges,
    generic,
    random_sizes,
    shape_of,
    vector_sizes,
)

pytestmark = pytest.mark.parametrize("transformer", TRANSFORMERS)

BY_VALUES = [name for name in NAMES if not issubclass(built_in()[name], (LibraryOp, PseudoInverse, Qr, Lu))]
"""The ops that round in one way; tests/front/test_linalg.py compares the residuals of factorisations."""


def generator(name: str, *more: object) -> np.random.Generator:
    """Random numbers of an op's own, the same in every run."""
    return np.random.default_rng(zlib.crc32(f"{name} {more}".encode()))


def agree(case: Case, transformer: str, about: str) -> None:
    expected = run(REFERENCE, case.function, case.arguments)
    check(case, transformer, run(transformer, case.function, case.arguments), expected, about)


def is_tried(name: str, dtype: DType, number: int) -> bool:
    """Whether the numbers of a sample of an op are compared in an element type.

    Without DEEP_TESTS the samples behind the first have one type each, by turns of those that the first one has.
    """
    chosen = some(types_of(name), f"{name} {number}")
    return dtype in chosen if number == 0 or DEEP else dtype is chosen[number % len(chosen)]


@pytest.mark.parametrize("name", BY_VALUES)
def test_values(name, transformer):
    """O4: all transformers agree; O3: an op takes every element type that it admits."""
    for dtype in types_of(name):
        for number, sample in enumerate(samples_of(name, dtype)):
            for repeat in repeats(3):
                case = concrete(sample, generic(sample), generator(name, number, repeat))
                if is_tried(name, dtype, number):
                    agree(case, transformer, f"sample {number}")
                elif transformer == "interpreter" and number == 0:
                    run(transformer, case.function, case.arguments)


@pytest.mark.parametrize("name", BY_VALUES)
def test_views_as_operands(name, transformer):
    """O4, O5: operands of any layout and size; a view is read alike, whatever its elements are."""
    for dtype in some(types_of(name), name):
        samples = samples_of(name, dtype)
        for repeat in repeats(10):
            rng = generator(name, dtype.name, repeat)
            sample = samples[int(rng.integers(len(samples)))]
            case = concrete(sample, random_sizes(sample, rng), rng, random_view)
            agree(case, transformer, f"{[str(operand.type) for operand in case.operands]}")


@pytest.mark.parametrize("name", BY_VALUES)
def test_lengths_around_vectors(name, transformer):
    """O4, O5: lengths at which vectors begin and end, views of such operands; the interpreter says what is right."""
    if transformer == "interpreter":
        return
    for dtype in some(types_of(name), name)[:2]:
        samples = samples_of(name, dtype)
        for repeat in repeats(10):
            rng = generator(name, dtype.name, "vectors", repeat)
            sample = samples[int(rng.integers(len(samples)))]
            case = concrete(sample, vector_sizes(sample, rng), rng, random_view)
            expected = run("interpreter", case.function, case.arguments)
            check(case, transformer, run(transformer, case.function, case.arguments), expected, "vectors")


@pytest.mark.parametrize("name", BY_VALUES)
def test_empty_and_single(name, transformer):
    """O6: lengths of 0 and 1, and tensors without dimensions."""
    types = types_of(name)
    for number, sample in enumerate(samples_of(name, types[-1])):
        for sizes in edges(sample):
            agree(concrete(sample, sizes, generator(name, number)), transformer, f"sample {number} with {sizes}")


@pytest.mark.parametrize("name", BY_VALUES)
def test_special_values(name, transformer):
    """O4: infinities, NaN, signed zeros, the limits of integers."""
    for dtype in some(types_of(name), name):
        sample = samples_of(name, dtype)[0]
        if not sample.operands:
            continue
        rng = generator(name, dtype.name)
        agree(special_case(name, sample, rng), transformer, "special values")


def special_case(name: str, sample: Sample, rng: np.random.Generator) -> Case:
    """Special values in every operand; of an elementwise op in every combination.

    What only moves elements gets denormals too. What adds up gets nothing near the largest number: whether a sum
    overflows on its way depends on the order, which is open. So is what arithmetic makes of complex infinities and of
    divisions by complex zeros.
    """
    cls = built_in()[name]
    pools = [pool(operand, cls) for operand in sample.operands]
    if issubclass(cls, Pointwise) and "axes" not in cls.fields:
        arrays = values.crossed(pools) if len(pools) < 3 else [rng.choice(entry, 1024) for entry in pools]
        sizes = dict.fromkeys(sample.symbols, 1) | {"N": len(arrays[0])}
        at = {id(operand): array for operand, array in zip(sample.operands, arrays, strict=True)}
        if len({id(operand) for operand in sample.operands}) == len(sample.operands):
            return concrete(sample, sizes, rng, fill=lambda operand, shape: at[id(operand)])
    sizes = generic(sample)

    def fill(operand: Operand, shape: tuple[int, ...]) -> Any:
        if isinstance(operand.domain, (Index, tuple)):
            return operand.array(shape, sizes, rng)
        return rng.choice(pool(operand, cls), shape)
    return concrete(sample, sizes, rng, fill=fill)


def pool(operand: Operand, cls: type) -> np.ndarray:
    special = values.special(operand.dtype)
    if issubclass(cls, View):
        return special
    special = special[~values.is_tiny(special)]
    if operand.dtype.is_complex:
        return special[np.isfinite(special) & ((special != 0) | (cls.__name__ not in ("Divide", "Reciprocal")))]
    if issubclass(cls, (Structured, Composite)) and not operand.dtype.is_integer:
        with np.errstate(all="ignore"):
            size = np.abs(special.astype(np.complex128 if operand.dtype.is_complex else np.float64))
        special = special[~(np.isfinite(size) & (size > 1000)) & ~((size < 1e-6) & (size > 0))]
    if cls.__name__ in ("ConvolutionDataGradient", "ConvolutionFilterGradient", "ConvolutionTranspose"):
        special = special[np.isfinite(special.astype(np.float64))]  # zeros may meet it: Q12
    return special


@pytest.mark.parametrize("name", [name for name in BY_VALUES if hasattr(built_in()[name], "admits")])
def test_other_types_are_refused(name, transformer):
    """O2, O3: the core converts nothing; a type that is not admitted is an error that names the operand."""
    admitted = set(types_of(name))
    sample = samples_of(name, min(admitted, key=lambda entry: entry.name))[0]
    for dtype in all_dtypes:
        if dtype in admitted:
            continue
        operands = tuple([retyped(operand, dtype) for operand in sample.operands])
        with pytest.raises(DtypeMismatch) as caught:
            concrete(Sample(sample.build, operands, sample.names), generic(sample), generator(name))
        assert caught.value.op == name and caught.value.got is not None and caught.value.expected is not None


def retyped(operand: Operand, dtype: DType) -> Operand:
    return Operand(operand.shape, dtype)


def reads_indices(name: str) -> bool:
    return any(isinstance(operand.domain, Index) for operand in samples_of(name, types_of(name)[0])[0].operands)


@pytest.mark.parametrize("name", [name for name in NAMES if reads_indices(name)])
def test_an_index_out_of_range_is_an_error(name, transformer):
    """O10: an index outside of [-length, length) is an IndexError that names the op."""
    sample = samples_of(name, types_of(name)[-1])[0]
    sizes = generic(sample)
    for bad in (sizes["A"], -sizes["A"] - 1):
        case = concrete(sample, sizes, generator(name))
        for operand, array in zip(sample.operands, case.arguments, strict=True):
            if isinstance(operand.domain, Index):
                array[(-1,) * array.ndim] = bad
        assert shape_of(sample.operands[0].shape, sizes) == case.arguments[0].shape
        with pytest.raises(IndexOutOfRange) as caught:
            run(transformer, case.function, case.arguments)
        assert str(bad) in str(caught.value)
