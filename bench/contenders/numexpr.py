"""numexpr: elementwise expressions in pieces, on several threads, into memory that is kept."""

from __future__ import annotations

import numexpr
import numpy as np

from bench.contenders import Prepared, Programs, made

programs = Programs("numexpr", numexpr.__version__)

THREADS = 2
numexpr.set_num_threads(THREADS)


@programs("sum_squares", evaluate=made)
@programs("idle", evaluate=made)
def sum_squares(x, y):
    """In float64: the float32 sum of numexpr adds one number after the other and is off by 3 %."""
    names = {"x": x, "y": y, "one": np.float64(1)}
    return Prepared(lambda: np.float32(numexpr.evaluate("sum((x - y) * (x - y) * one)", names)))


@programs("gelu", evaluate=made)
def gelu(x, y):
    result = np.empty_like(x)
    names = {"x": x, "y": y, "root": np.float32(np.sqrt(2 / np.pi)), "half": np.float32(0.5), "one": np.float32(1),
             "cubic": np.float32(0.044715), "slope": np.float32(1.5)}
    z = "(slope * x + y)"
    text = f"half * {z} * (one + tanh(root * {z} * (one + cubic * {z} * {z})))"
    return Prepared(lambda: numexpr.evaluate(text, names, out=result))


@programs("exp_masked", evaluate=made)
def exp_masked(x):
    result, names = np.empty_like(x), {"x": x}
    return Prepared(lambda: numexpr.evaluate("exp(x)", names, out=result))


@programs("adam", evaluate=made)
@programs("adam_decayed", evaluate=made)
def adam(parameter, gradient, *moments):
    """With moments of 0, or those that are given."""
    mean, square = moments or [np.zeros_like(parameter) for _ in range(2)]
    state = {"p": parameter, "m": mean, "v": square, "g": gradient,
             **{name: np.float32(value) for name, value in (("a", 0.9), ("b", 0.1), ("c", 0.999), ("d", 0.001),
                                                            ("small", 1e-8))}}
    steps = 0

    def call():
        nonlocal steps
        steps += 1
        root = np.sqrt(1 - 0.999**steps)
        names = {**state, "rate": np.float32(1e-3 * root / (1 - 0.9**steps)), "small": np.float32(1e-8 * root)}
        numexpr.evaluate("a * m + b * g", names, out=state["m"])
        numexpr.evaluate("c * v + d * g * g", names, out=state["v"])
        numexpr.evaluate("p - rate * m / (sqrt(v) + small)", names, out=state["p"])
        return state["p"], state["m"], state["v"]
    return Prepared(call)


@programs("small", again=made)
def small(a, b, c):
    names = {"a": a, "b": b, "c": c}
    numexpr.evaluate("(a + b) * c", names)
    return Prepared(lambda: numexpr.re_evaluate(names))
