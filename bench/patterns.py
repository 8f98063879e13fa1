"""Problems around products and norms: groups by reshaping, masks, low precision, axes in any order, slices.

>>> from bench.problems import PROBLEMS
>>> problem = PROBLEMS["group_norm"](scale=0.1)
>>> x, gamma, beta = problem.inputs()
>>> x.shape, problem.mistake([x, gamma, beta], [x])[:7]
((2, 48, 40, 40), 'differs')
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from bench.problems import Bar, Problem, listed, softmax

GROUPS = 8
HIDDEN = np.float32(-1e30)


@listed("group_norm", f"group norm through reshapes, 16x48x40x40, {GROUPS} groups", Bar(1.1, 1.5),
        {"batch": 16, "channels": 48, "height": 40, "width": 40}, "batch")
class GroupNorm(Problem):
    """x, the scale gamma and the shift beta of each channel."""

    def inputs(self):
        shape = self.batch, self.channels, self.height, self.width
        return [self.normal(*shape), self.normal(self.channels), self.normal(self.channels)]

    def reference(self, x, gamma, beta):
        rows = x.reshape(self.batch, GROUPS, -1)
        z = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
        return [z.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]]


@listed("masked_softmax", "softmax of where(constant mask, x, -1e30), 6x4x384x384", Bar(1.1, 1.5),
        {"batch": 6, "heads": 4, "time": 384}, "batch heads time")
class MaskedSoftmax(Problem):
    """x; the mask is :func:`past`."""

    def inputs(self):
        return [self.normal(self.batch, self.heads, self.time, self.time)]

    def reference(self, x):
        return [softmax(np.where(past(self.time), x, HIDDEN))]


def past(time: int) -> np.ndarray:
    """True at and below the diagonal."""
    return np.tri(time, dtype=bool)


@listed("gated", "silu(a) * b in bfloat16, 2048x3000", Bar(1.1, 1.5), {"rows": 2048, "columns": 3000}, "rows")
class Gated(Problem):
    dtype = "bfloat16"
    tolerance = 2.0**-7

    def inputs(self):
        return [self.normal(self.rows, self.columns).astype(ml_dtypes.bfloat16) for _ in range(2)]

    def reference(self, a, b):
        return [a / (1 + np.exp(-a)) * b]


@listed("max_transposed", "max over axis 0 of x.T, x of 2048x4096", Bar(1.0, 1.3), {"rows": 2048, "columns": 4096},
        "rows columns")
class MaxTransposed(Problem):
    def inputs(self):
        return [self.normal(self.rows, self.columns)]

    def reference(self, x):
        return [np.max(x.T, 0)]


@listed("sum_short", "sum over the middle axis, 1024x64x64", Bar(1.0, 1.3), {"outer": 1024, "middle": 64, "inner": 64},
        "outer")
class SumShort(Problem):
    def inputs(self):
        return [self.normal(self.outer, self.middle, self.inner)]

    def reference(self, x):
        return [np.sum(x, 1)]


@listed("sum_ends", "sum over the first and the last axis, 256x256x256", Bar(1.0, 1.3),
        {"outer": 256, "middle": 256, "inner": 256}, "outer")
class SumEnds(SumShort):
    def reference(self, x):
        return [np.sum(x, (0, 2))]


@listed("lgamma", "lgamma, 1M", Bar(1.0, 1.3), {"count": 1 << 20}, "count")
class Lgamma(Problem):
    """Of positive numbers to about 50."""

    def inputs(self):
        return [10 * np.abs(self.normal(self.count)) + np.float32(0.1)]

    def reference(self, x):
        return [np.vectorize(math.lgamma)(x)]


@listed("sin_huge", "sin of numbers about 1e8, 4M", Bar(1.0, 1.3), {"count": 1 << 22}, "count")
class SinHuge(Problem):
    def inputs(self):
        return [np.float32(1e8) * self.normal(self.count)]

    def reference(self, x):
        return [np.sin(x)]


SIDE = 512


@listed("matmul_strided", f"x[::2, ::2] @ w, {SIDE}x{SIDE}x{SIDE}", Bar(1.0, 1.2), {})
class MatmulStrided(Problem):
    def inputs(self):
        return [self.normal(2 * SIDE, 2 * SIDE), self.normal(SIDE, SIDE) / np.float32(np.sqrt(SIDE))]

    def reference(self, x, w):
        return [x[::2, ::2] @ w]


@listed("matmul_sliced", f"x[:, 512:1024] @ w[:, 256:768].T, {SIDE}x{SIDE}x{SIDE}", Bar(1.0, 1.2), {})
class MatmulSliced(Problem):
    """A part of the columns of each side, as one has it of queries, keys and values."""

    def inputs(self):
        return [self.normal(SIDE, 3 * SIDE), self.normal(SIDE, 2 * SIDE) / np.float32(np.sqrt(SIDE))]

    def reference(self, x, w):
        return [x[:, SIDE:2 * SIDE] @ w[:, SIDE // 2:3 * SIDE // 2].T]
