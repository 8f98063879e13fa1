"""Data that ends in numbers which are almost nothing: masked scores, saturated units, moments that have decayed.

Arithmetic that makes a denormal takes some processors (Intel's) a hundred cycles, and others (AMD's) next to none.

>>> from bench.problems import PROBLEMS
>>> problem = PROBLEMS["exp_masked"](scale=0.0001)
>>> x, = problem.inputs()
>>> bool(np.mean(x == HIDDEN) > 0.4), problem.mistake([x], [np.exp(x)])
(True, None)
"""

from __future__ import annotations

import numpy as np

from bench.patterns import HIDDEN
from bench.problems import Adam, Bar, Problem, Softmax, listed

MILLIONS_4 = 1 << 22


@listed("exp_masked", "exp of scores, half of them -1e30, 4M", Bar(1.0, 1.3), {"count": MILLIONS_4}, "count")
class ExpMasked(Problem):
    def inputs(self):
        scores = self.normal(self.count)
        return [np.where(self.normal(self.count) < 0, HIDDEN, scores)]

    def reference(self, x):
        return [np.exp(x)]


@listed("silu_saturated", "silu of numbers about 200, 4M", Bar(1.0, 1.3), {"count": MILLIONS_4}, "count")
class SiluSaturated(Problem):
    """A third of the results rounds to 0."""

    def inputs(self):
        return [200 * self.normal(self.count)]

    def reference(self, x):
        with np.errstate(over="ignore"):
            return [x / (1 + np.exp(-x))]


@listed("softmax_causal", "softmax of scores whose future is -1e30, 4416x184", Bar(1.1, 1.4),
        {"images": 24, "time": 184}, "images")
class SoftmaxCausal(Softmax):
    """The rows of ``images`` square matrices of scores, which are masked in the data."""

    def inputs(self):
        scores = self.normal(self.images, self.time, self.time)
        return [np.where(np.tri(self.time, dtype=bool), scores, HIDDEN).reshape(-1, self.time)]


@listed("adam_decayed", "Adam update of 1M parameters without gradients for long", Bar(1.1), {"count": 1_000_000},
        "count")
class AdamDecayed(Adam):
    """Parameters, gradients of 0, and moments that are denormal by now; of the results the parameters are compared."""

    def inputs(self):
        moments = [np.float32(size) * np.abs(self.normal(self.count)) for size in (1e-40, 1e-42)]
        return [self.normal(self.count), np.zeros(self.count, np.float32), *moments]

    def reference(self, parameter, gradient, mean, square):
        return super().reference(parameter, gradient)[:1]

    def of_calls(self, results):
        return results[-1][:1]
