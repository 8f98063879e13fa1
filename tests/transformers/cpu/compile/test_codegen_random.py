"""Random kernels as machine code: the bits that the interpreter of the loop IR gives, for any width and any slices."""

from __future__ import annotations

import os

import pytest

from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.target import Target
from tests.transformers.cpu.random_kernels import random_kernel
from tests.transformers.cpu.running import check

SEEDS = 1_000 if os.environ.get("DEEP_TESTS") else 100
WIDTHS = (4, 8, 16, 32)


@pytest.mark.parametrize("start", range(0, SEEDS, 10))
def test_random_kernels_leave_the_bits_that_they_mean(start: int) -> None:
    for seed in range(start, start + 10):
        kernel, arrays, bindings = random_kernel(seed)
        cuts = ((), (64,), (1, 2), (64, 128))[seed % 4]
        check(kernel, arrays, bindings, WIDTHS[seed % 3 if seed % 2 else 3], cuts)


@pytest.mark.parametrize("start", range(0, SEEDS // 4, 5))
def test_results_that_go_past_the_caches_have_the_same_bits(start: int) -> None:
    """Whole or in part aligned, and where a size that is no number decides it."""
    for seed in range(start, start + 5):
        kernel, arrays, bindings = random_kernel(seed)
        check(kernel, arrays, bindings, WIDTHS[2 + seed % 2], ((), (64,), (1, 2))[seed % 3], past=(0, 200)[seed % 2])


@pytest.mark.parametrize("start", range(0, SEEDS // 4, 5))
def test_text_for_avx512_compiles_and_means_the_same(start: int) -> None:
    """Where there is no AVX-512 its text runs in pieces."""
    for seed in range(start, start + 5):
        kernel, arrays, bindings = random_kernel(seed)
        assert compile_object(generate(kernel, Target.avx512()).text, Target.avx512())
        check(kernel, arrays, bindings, 64)
