"""The problems of the bench: each says its inputs, the right results, and how fast nervure must be.

A problem is measured with every contender that has a program for it (:mod:`bench.contenders`). Inputs are drawn from
the normal distribution, the same for all contenders. Results are compared with NumPy in float64 before anything is
timed.

>>> problem = PROBLEMS["softmax"](scale=0.01)
>>> x, = problem.inputs()
>>> x.shape, problem.mistake([x], [softmax(x)])
((41, 1024), None)
>>> problem.mistake([x], [x])[:7]
'differs'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import ml_dtypes
import numpy as np

Arrays = Sequence[np.ndarray]
FLOATS = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


class Bar(NamedTuple):
    """How fast nervure must be, and how fast we want it: by ratio (best peer / ours), or at most a figure.

    The best of the frameworks, or of the settings of one ``peer``.
    """

    bar: float
    stretch: float | None = None
    absolute: bool = False
    peer: str = ""

    def met(self, ratio: float | None, figure: float) -> bool | None:
        """Whether the bar is met; None where there is no peer to compare with."""
        if self.absolute:
            return figure <= self.bar
        return None if ratio is None else ratio >= self.bar


class Problem:
    """One row of the table. ``scale`` shrinks the sizes that ``scaled`` names, for trials."""

    title = ""
    table = "workloads"  # the benchmark that has the row
    bar = Bar(1.0)
    sizes: dict[str, int] = {}
    scaled: tuple[str, ...] = ()
    dtype = "float32"  # of results
    tolerance = 1e-5
    calls = 1  # before results are compared: more than one where each builds on the one before
    figure = "call"  # what is measured: seconds a "call", or what is "above" its floor; CPU seconds while "idle" after
    # one; or bytes of "memory"
    own_process = False  # whether each figure takes a process of its own
    threads: int | None = None  # of this row, where it has its own
    kept_cache = False  # whether such a process finds what compilers kept in one before it

    def __init__(self, scale: float = 1.0) -> None:
        for name, size in self.sizes.items():
            setattr(self, name, max(1, round(size * scale)) if name in self.scaled else size)
        self._random = np.random.default_rng(0)  # a problem made anew draws the same inputs

    def normal(self, *shape: int) -> np.ndarray:
        """The next float32 numbers from the normal distribution."""
        return self._random.standard_normal(shape, dtype=np.float32)

    def inputs(self) -> list[np.ndarray]:
        """What programs are given."""
        raise NotImplementedError

    def reference(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """The right results for inputs in float64."""
        raise NotImplementedError

    def of_calls(self, results: Sequence[list[np.ndarray]]) -> list[np.ndarray]:
        """What is compared of the results of each call: those of the last."""
        return results[-1]

    def mistake(self, inputs: Arrays, results: Arrays) -> str | None:
        """What is wrong with the results of a program, if anything is.

        The largest difference may be ``tolerance`` of the largest number that is expected.
        """
        rights = self.reference(*precise(inputs))
        if len(results) != len(rights):
            return f"{len(results)} results, not {len(rights)}"
        for position, (result, right) in enumerate(zip(results, rights)):
            if result.shape != np.shape(right) or result.dtype != self.dtype:
                expected = f"{self.dtype}{list(np.shape(right))}"
                return f"result {position} is {result.dtype}{list(result.shape)}, not {expected}"
            error = np.max(np.abs(result - right)) / np.max(np.abs(right))
            if not error <= self.tolerance:
                return f"differs: result {position} by {error:.2g} of its largest element"
        return None


def precise(inputs: Arrays) -> list[np.ndarray]:
    """Inputs in float64; indices and models stay."""
    return [entry.astype(np.float64) if getattr(entry, "dtype", None) in FLOATS else entry for entry in inputs]


PROBLEMS: dict[str, type[Problem]] = {}
"""In the order of the table, by the name that the command line knows."""


def listed(name: str, title: str, bar: Bar, sizes: dict[str, int], scaled: str = "") -> type:
    """Puts a problem into the table."""
    def decorate(problem: type[Problem]) -> type[Problem]:
        problem.title, problem.bar, problem.sizes, problem.scaled = title, bar, sizes, tuple(scaled.split())
        PROBLEMS[name] = problem
        return problem
    return decorate


# -- elementwise -----------------------------------------------------------------------------------

MILLIONS_16 = 1 << 24


@listed("sum_squares", "sum((x-y)^2), 16M", Bar(1.25, 1.5), {"count": MILLIONS_16}, "count")
class SumSquares(Problem):
    tolerance = 2e-5  # of the peers' plain sums of 16M numbers in float32

    def inputs(self):
        return [self.normal(self.count), self.normal(self.count)]

    def reference(self, x, y):
        return [np.sum((x - y) ** 2)]


@listed("gelu", "gelu_tanh(1.5*x + y), 16M", Bar(3, 4.5), {"count": MILLIONS_16}, "count")
class Gelu(Problem):
    def inputs(self):
        return [self.normal(self.count), self.normal(self.count)]

    def reference(self, x, y):
        z = 1.5 * x + y
        return [0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))]


# -- rows ------------------------------------------------------------------------------------------

ROWS = {"rows": 4096, "columns": 1024}


def softmax(x: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    powers = np.exp(x - np.max(x, -1, keepdims=True))
    return powers / np.sum(powers, -1, keepdims=True)


@listed("softmax", "softmax, 4096x1024", Bar(1.1, 1.4), ROWS, "rows")
class Softmax(Problem):
    def inputs(self):
        return [self.normal(self.rows, self.columns)]

    def reference(self, x):
        return [softmax(x)]


@listed("softmax_gradient", "softmax backward, 4096x1024", Bar(1.1, 1.4), ROWS, "rows")
class SoftmaxGradient(Problem):
    """From x, the softmax y of it, and the gradient of y: whichever a program wants to start from."""

    def inputs(self):
        x = self.normal(self.rows, self.columns)
        return [x, softmax(x), self.normal(self.rows, self.columns)]

    def reference(self, x, y, dy):
        y = softmax(x)
        return [y * (dy - np.sum(y * dy, -1, keepdims=True))]


class _LayerNorm(Problem):
    """x, the scale gamma and the shift beta; what programs save from the forward pass is theirs."""

    def inputs(self):
        return [self.normal(self.rows, self.columns), self.normal(self.columns), self.normal(self.columns)]

    def standardized(self, x):
        centred = x - np.mean(x, -1, keepdims=True)
        scale = 1 / np.sqrt(np.mean(centred**2, -1, keepdims=True) + 1e-5)
        return centred * scale, scale


@listed("layer_norm", "layer norm, 4096x1024", Bar(1.1, 1.4), ROWS, "rows")
class LayerNorm(_LayerNorm):
    def reference(self, x, gamma, beta):
        return [self.standardized(x)[0] * gamma + beta]


@listed("layer_norm_gradient", "layer norm backward with gamma and beta, 4096x1024", Bar(1.1, 1.4), ROWS, "rows")
class LayerNormGradient(_LayerNorm):
    def inputs(self):
        return [*super().inputs(), self.normal(self.rows, self.columns)]

    def reference(self, x, gamma, beta, dy):
        z, scale = self.standardized(x)
        dz = dy * gamma
        dx = scale * (dz - np.mean(dz, -1, keepdims=True) - z * np.mean(dz * z, -1, keepdims=True))
        return [dx, np.sum(dy * z, 0), np.sum(dy, 0)]


# -- training --------------------------------------------------------------------------------------

@listed("batch_norm", "batch norm (training) + relu, 32x64x56x56, forward and backward", Bar(1.2, 2),
        {"batch": 32, "channels": 64, "height": 56, "width": 56}, "batch")
class BatchNorm(Problem):
    """From x, gamma, beta and the gradient of the result: the result and the gradients of the first three."""

    tolerance = 1e-4  # where the result rounds to another side of 0, its gradient jumps: few elements, summed

    def inputs(self):
        shape = self.batch, self.channels, self.height, self.width
        return [self.normal(*shape), self.normal(self.channels), self.normal(self.channels), self.normal(*shape)]

    def reference(self, x, gamma, beta, dy):
        over = (0, 2, 3)
        gamma, beta = gamma[:, None, None], beta[:, None, None]
        centred = x - np.mean(x, over, keepdims=True)
        scale = 1 / np.sqrt(np.mean(centred**2, over, keepdims=True) + 1e-5)
        z = centred * scale
        y = np.maximum(z * gamma + beta, 0)
        dy = dy * (y > 0)
        dz = dy * gamma
        dx = scale * (dz - np.mean(dz, over, keepdims=True) - z * np.mean(dz * z, over, keepdims=True))
        return [y, dx, np.sum(dy * z, over), np.sum(dy, over)]

    def mistake(self, inputs, results):
        """An element of dx within rounding of the kink of relu may have either gradient."""
        y, dx, *rest = results
        right_y, right_dx, *_ = self.reference(*precise(inputs))
        at_kink = (y > 0) != (right_y > 0)
        if np.mean(at_kink) > 1e-5:
            return f"differs: {np.count_nonzero(at_kink)} elements are on the other side of 0"
        return super().mistake(inputs, [y, np.where(at_kink, right_dx, dx).astype(dx.dtype), *rest])


@listed("adam", "Adam update of 10M parameters", Bar(1.1), {"count": 10_000_000}, "count")
class Adam(Problem):
    """Parameters, and the gradient of each call; results are the parameters and both moments after three calls."""

    calls = 3

    def inputs(self):
        return [self.normal(self.count), self.normal(self.count)]

    def reference(self, parameter, gradient):
        mean, square = np.zeros_like(parameter), np.zeros_like(parameter)
        for step in range(1, self.calls + 1):
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient**2
            parameter = parameter - 1e-3 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        return [parameter, mean, square]


# -- axes and positions ----------------------------------------------------------------------------

@listed("variance", "variance over the outer axis, 2048x4096", Bar(1.0, 1.3), {"rows": 2048, "columns": 4096},
        "columns")
class Variance(Problem):
    def inputs(self):
        return [self.normal(self.rows, self.columns)]

    def reference(self, x):
        return [np.var(x, 0)]


@listed("sum_middle", "sum over the middle axis, 64x512x512", Bar(1.0, 1.3),
        {"outer": 64, "middle": 512, "inner": 512}, "outer")
class SumMiddle(Problem):
    def inputs(self):
        return [self.normal(self.outer, self.middle, self.inner)]

    def reference(self, x):
        return [np.sum(x, 1)]


TABLE = {"rows": 50_000, "columns": 256, "count": 8192}


@listed("gather", "embedding: gather, 50,000x256, 8,192 indices", Bar(1.1, 1.5), TABLE, "rows count")
class Gather(Problem):
    tolerance = 0.0

    def inputs(self):
        return [self.normal(self.rows, self.columns), self._random.integers(0, self.rows, self.count)]

    def reference(self, table, index):
        return [table[index]]


@listed("scatter_add", "embedding: gradient of the table, 50,000x256, 8,192 indices", Bar(1.1, 1.5), TABLE,
        "rows count")
class ScatterAdd(Problem):
    """The table, the indices and the gradient of the chosen rows."""

    def inputs(self):
        return [self.normal(self.rows, self.columns), self._random.integers(0, self.rows, self.count),
                self.normal(self.count, self.columns)]

    def reference(self, table, index, dy):
        gradient = np.zeros_like(table)
        np.add.at(gradient, index, dy)
        return [gradient]


# -- random numbers --------------------------------------------------------------------------------

class _Random(Problem):
    """Results are those of two calls, which must differ; mean and deviation must be those of the distribution."""

    calls = 2
    mean, deviation = 0.0, 1.0

    def inputs(self):
        return [np.empty(self.count, np.float32)]

    def mistake(self, inputs, results):
        numbers = results[0]
        allowed = 8 / np.sqrt(self.count)
        for name, right in (("mean", self.mean), ("std", self.deviation)):
            found = float(getattr(np, name)(numbers, dtype=np.float64))
            if not abs(found - right) <= allowed:
                return f"the {name} is {found}, not {right}"
        return "numbers repeat" if np.mean(numbers == np.roll(numbers, 1)) > 0.001 else None


@listed("uniform", "uniform, 16M", Bar(1.0, 2), {"count": MILLIONS_16}, "count")
class Uniform(_Random):
    mean, deviation = 0.5, 12**-0.5


@listed("normal", "normal, 16M", Bar(1.0, 2), {"count": MILLIONS_16}, "count")
class Normal(_Random):
    pass


# -- small, cold and idle --------------------------------------------------------------------------

@listed("small", "(a+b)*c, 32x32, per call", Bar(1.0e-6, 0.5e-6, absolute=True), {"side": 32})
class Small(Problem):
    def inputs(self):
        return [self.normal(self.side, self.side) for _ in range(3)]

    def reference(self, a, b, c):
        return [(a + b) * c]


class _Cold(Problem):
    """Softmax cross entropy of logits and labels: its mean, and the gradient of that."""

    own_process = True

    def inputs(self):
        labels = np.zeros((self.rows, self.columns), np.float32)
        labels[np.arange(self.rows), self._random.integers(0, self.columns, self.rows)] = 1
        return [self.normal(self.rows, self.columns), labels]

    def reference(self, logits, labels):
        loss = -np.sum(labels * np.log(softmax(logits)))
        return [loss / self.rows, (softmax(logits) - labels) / self.rows]


COLD = {"rows": 256, "columns": 1000}


@listed("cold", "softmax cross entropy with gradient: graph to first result, empty cache",
        Bar(3.0, peer="jax"), COLD)
class Cold(_Cold):
    pass


@listed("cached", "softmax cross entropy with gradient: graph to first result, full cache",
        Bar(0.08, absolute=True), COLD)
class Cached(_Cold):
    kept_cache = True


@listed("import", "import", Bar(0.15, 0.12, absolute=True), {})
class Import(Problem):
    own_process = True

    def inputs(self):
        return []

    def reference(self):
        return []


@listed("idle", "CPU time used from 1 ms to 50 ms after a call of sum((x-y)^2), 16M", Bar(0.2e-3, absolute=True),
        {"count": MILLIONS_16}, "count")
class Idle(SumSquares):
    figure = "idle"
