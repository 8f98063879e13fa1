"""Functions over ordinary and extreme numbers: nanoseconds an element, and how many times as long others take.

``python -m bench extremes [name ...]`` measures functions whose names contain one of the words: all without a word. One
thread, data in the second-level cache, the best of many calls, the kinds of data in turns. On some processors (Intel's)
arithmetic that makes a denormal takes a hundred cycles; a figure far above 1 is where it happens on the way.

>>> sorted(KINDS), KINDS["tiny"](np.float32([-2.0, 1.0])).tolist()[1] < 1e-29
(['denormal', 'huge', 'infinite', 'masked', 'nan', 'ordinary', 'tiny'], True)
>>> [row["function"] for row in rows(["tanh"], count=64, seconds=0.0)]
['tanh', 'atanh']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import nervure as nv
from bench.__main__ import table
from bench.patterns import HIDDEN

KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ordinary": lambda x: x,
    "huge": lambda x: x * np.float32(1e30),
    "masked": lambda x: np.where(x < 0, HIDDEN, x),
    "tiny": lambda x: x * np.float32(1e-30),
    "denormal": lambda x: x * np.float32(1e-40),
    "infinite": lambda x: np.copysign(np.float32(np.inf), x),
    "nan": lambda x: np.full_like(x, np.nan),
}
"""Data made of numbers from the normal distribution."""

ELEMENTWISE = ("exp exp2 expm1 log log2 log10 log1p sigmoid log_sigmoid softplus silu gelu mish elu selu tanh "
               "erf erfc erf_inv sin cos tan asin acos atan sinh cosh asinh acosh atanh sqrt rsqrt cbrt lgamma "
               "digamma reciprocal square").split()
FUNCTIONS: dict[str, Callable[[nv.Tensor], nv.Tensor]] = {
    **{name: getattr(nv, name) for name in ELEMENTWISE},
    "power(|x|, 1.7)": lambda x: nv.power(nv.absolute(x), 1.7),
    "softmax of rows": lambda x: nv.softmax(nv.reshape(x, (-1, 64)), axis=1),
    "log_softmax of rows": lambda x: nv.log_softmax(nv.reshape(x, (-1, 64)), axis=1),
    "layer_norm of rows": lambda x: nv.layer_norm(nv.reshape(x, (-1, 64)), axes=[1]),
    "gradient of gelu": lambda x: nv.deriv(nv.sum(nv.gelu(x)), x),
    "gradient of silu": lambda x: nv.deriv(nv.sum(nv.silu(x)), x),
}


def rows(words: list[str], count: int = 1 << 16, seconds: float = 0.02) -> Iterator[dict[str, object]]:
    """A row for each function: the time of an element of ordinary data, and that of the others in proportion."""
    numbers = np.random.default_rng(0).standard_normal(count, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        data = {kind: make(numbers) for kind, make in KINDS.items()}
    for name, function in FUNCTIONS.items():
        if words and not any(word in name for word in words):
            continue
        best = times(function, data, seconds)
        ordinary = best.pop("ordinary")
        yield {"function": name, "ns": f"{ordinary / count * 1e9:.3f}",
               **{kind: f"{found / ordinary:.2f}" for kind, found in best.items()}}


def times(function: Callable[[nv.Tensor], nv.Tensor], data: dict[str, np.ndarray], seconds: float) -> dict[str, float]:
    """The least time of a call for each kind of data, in seconds; as many turns as fit, and one."""
    x = nv.placeholder(data["ordinary"].shape)
    with nv.flags.overriding(threads=1), nv.transformers.make_transformer("cpu") as cpu:
        call, best = cpu.computation(function(x), x), dict.fromkeys(data, np.inf)
        end = time.perf_counter() + seconds * len(data)
        for turn in range(1_000_000):
            for kind, array in data.items():
                start = time.perf_counter()
                call(array)
                best[kind] = min(best[kind], time.perf_counter() - start)
            if turn and time.perf_counter() > end:
                break
    return best


def main(words: list[str]) -> None:
    """Prints the table."""
    print(table(rows(words)))
