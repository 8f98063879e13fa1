"""Kernels before and after a rewrite: the files of tests/golden/kernel/simplify and tests/golden/kernel/schedule.

A case is a comment, a kernel, and either ``becomes`` and another kernel or ``stays``. A case without a comment belongs
to the one above it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from nervure.kernel.ir import Kernel
from nervure.kernel.parser import parse_kernel
from nervure.kernel.printer import print_kernel
from nervure.kernel.verify import verify_kernel
from nervure.types.dim import bounds, declared_symbols, evaluate
from nervure.types.dtype import DType
from tests.ir.golden import GOLDEN, check_golden
from tests.kernel.running import run
from tests.shares import DEEP

SIZES = (1, 5, 70)
"""Values of the symbols, in turn."""

MANY = 30_000
"""Kernels of more elements, which take Python seconds, run in a deep run alone; what they become is compared always."""


class Case(NamedTuple):
    """What is said of a kernel, and its text."""

    comment: str
    before: str


def check_file(name: str, rewrite: Callable[[Kernel], Kernel]) -> None:
    """Each kernel of a file becomes what stands there."""
    made = []
    for case, before in _cases_of(name):
        assert print_kernel(before) == case.before
        text = print_kernel(rewrite(before))
        end = "stays\n" if text == case.before else f"becomes\n{text}"
        made.append(f"{case.comment}{case.before}{end}")
    check_golden(name, "\n".join(made))


def check_bits(name: str, rewrite: Callable[[Kernel], Kernel]) -> None:
    """What each kernel of a file becomes leaves the bits that the kernel leaves."""
    for case, before in _cases_of(name):
        after = rewrite(before)
        if print_kernel(after) != case.before:
            _check_bits(before, after)


def _cases_of(name: str) -> Iterator[tuple[Case, Kernel]]:
    for case in _cases((GOLDEN / name).read_text(encoding="ascii")):
        yield case, parse_kernel(case.before)


def _cases(text: str) -> Iterator[Case]:
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = re.split(r"^(?:becomes|stays)$", block, flags=re.MULTILINE)[0].splitlines(keepends=True)
        comment = [line for line in lines if line.startswith("#")]
        yield Case("".join(comment), "".join(lines[len(comment):]))


def _check_bits(before: Kernel, after: Kernel) -> None:
    """The same bits and failures, whatever the sizes and the order of independent iterations are."""
    symbols = {str(symbol): symbol for buffer in before.buffers for symbol in declared_symbols(buffer.size)}
    for first in range(len(SIZES) if symbols else 1):
        bindings = {name: max(SIZES[(first + number) % len(SIZES)], bounds(symbols[name])[0] or 0)
                    for number, name in enumerate(sorted(symbols))}
        arrays = {buffer.name: numbers(buffer.dtype, evaluate(buffer.size, bindings))
                  for buffer in before.buffers if buffer.role in ("in", "inout")}
        if not DEEP and any([array.size > MANY for array in arrays.values()]):
            continue
        expected, failures = run(before, bindings, **arrays)
        untouched, _ = run(Kernel("none", before.buffers, ()), bindings, **arrays)
        for backwards in (False, True):
            found, failed = run(after, bindings, backwards, **arrays)
            assert set(failures) == set(failed)
            assert all([array.tobytes() == found.get(name, untouched[name]).tobytes()
                        for name, array in expected.items()])
    verify_kernel(before, [])
    verify_kernel(after, [])


def numbers(dtype: DType, size: int) -> np.ndarray:
    """Numbers of a type; floats with zeros of both signs, infinities and NaN among them, integers that are places."""
    rng = np.random.default_rng(size)
    if not dtype.is_float and not dtype.is_complex:
        return rng.integers(0, 2, size).astype(dtype.numpy)
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], size)
    return np.where(rng.random(size) < 0.2, special, rng.standard_normal(size)).astype(dtype.numpy)
