"""The loops of products in blocks, of convolutions and of their gradients are valid.

Every access lies inside its buffer, those to tables, panels and tiles included.
"""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import nervure as nv
from nervure.kernel.ir import Kernel
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import KernelStep, make_plan
from nervure.kernel.printer import print_kernel
from nervure.kernel.verify import verify_kernel
from nervure.passes.pipelines import native

SEEDS = 2_000 if os.environ.get("DEEP_TESTS") else 200

SIZES = (1, 5, 70)
"""Values of a symbol."""


def parameter(*shape: nv.DimLike) -> nv.Parameter:
    return nv.Parameter(nv.float32, shape)


def random_convolution(rng: np.random.Generator, batch: nv.DimLike) -> nv.Function:
    """A convolution of any settings, or one of its gradients."""
    rank, groups = int(rng.choice([1, 2, 2, 3])), int(rng.choice([1, 1, 1, 2, 4]))
    windows, strides, dilations = [rng.choice(sizes, rank).tolist()
                                   for sizes in ([1, 2, 3, 5], [1, 1, 2, 3], [1, 1, 2])]
    paddings = [tuple(rng.integers(0, 3, 2).tolist()) for _ in range(rank)]
    lengths = [max(int(rng.choice([4, 5, 7, 9, 14, 16, 28])), dilation * (window - 1) + 1)
               for window, dilation in zip(windows, dilations, strict=True)]
    inputs, outputs = rng.choice([1, 3, 8, 16, 64], 2).tolist()
    x, filters = parameter(batch, groups * inputs, *lengths), parameter(groups * outputs, inputs, *windows)
    settings = {"strides": strides, "dilations": dilations, "paddings": paddings, "groups": groups}
    forward = nv.ops.Convolution(x, filters, **settings)
    gradient = parameter(*forward.outputs[0].shape)
    return [nv.Function([forward], [x, filters]),
            nv.Function([nv.ops.ConvolutionDataGradient(gradient, filters, **settings, lengths=lengths)],
                        [gradient, filters]),
            nv.Function([nv.ops.ConvolutionFilterGradient(x, gradient, **settings, lengths=windows)],
                        [x, gradient])][rng.integers(3)]


def random_product(rng: np.random.Generator, rows: nv.DimLike) -> nv.Function:
    """A product, whose left side may lie across memory, and what may follow it."""
    points, columns = int(rng.choice([1, 3, 60, 513, 2000])), int(rng.choice([1, 5, 16, 50, 300, 1024]))
    x, y = parameter(rows, points), parameter(points, columns)
    left = x
    if rng.random() < 0.5:
        x = parameter(points, rows)
        left = nv.ops.Permute(x, [1, 0])
    product = nv.ops.MatMul(left, y)
    return nv.Function([nv.ops.Tanh(product) if rng.random() < 0.5 else product], [x, y])


def random_function(seed: int) -> nv.Function:
    """One of both, of a number or of any number of images or rows."""
    rng = np.random.default_rng(seed)
    is_convolution, is_open = rng.random() < 0.7, rng.random() < 0.3
    make, sizes = (random_convolution, [1, 2, 5, 32]) if is_convolution else (random_product, [1, 7, 64, 1000])
    return make(rng, nv.dim("count", min=1) if is_open else int(rng.choice(sizes)))


def bound(kernel: Kernel, size: int) -> Kernel:
    """A kernel where the symbol ``count`` is a number."""
    lines = [line for line in print_kernel(kernel).splitlines() if not line.startswith("  symbol ")]
    return parse_kernel(re.sub(r"\bcount\b", str(size), "\n".join(lines)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_place_of_a_scheduled_kernel_is_inside_of_its_buffer(seed):
    """Proved or tried where all is numbers; else proved, or tried for some sizes."""
    for step in make_plan(native(random_function(seed))).steps:
        assert isinstance(step, KernelStep)
        unproved = []
        verify_kernel(step.kernel, unproved)
        if "  symbol " not in print_kernel(step.kernel):
            assert not unproved
        for size in SIZES if unproved else ():
            verify_kernel(bound(step.kernel, size))
