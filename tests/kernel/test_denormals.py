"""Whole kernels over masked and saturated data: no arithmetic is assisted where their results are 0 or normal (O85)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.ir.function import Function
from nervure.kernel.math import FUNCTIONS
from nervure.transformers.executable import Executable
from nervure.transformers.interpreter.scalar import NumPyScalars
from tests.kernel.loops_transformer import Loops, LoopsExecutable
from tests.kernel.math.assisted import assisted_lanes, is_denormal


class WatchedScalars(NumPyScalars):
    """The functions as compiled code computes them, with a list of those whose arithmetic was assisted."""

    def __init__(self) -> None:
        super().__init__()
        self.assisted: list[str] = []

    def watched(self, name: str, function: Any, *operands: Any) -> Any:
        arrays = np.broadcast_arrays(*[np.atleast_1d(operand) for operand in operands])
        if arrays[0].dtype.kind != "f":
            return getattr(NumPyScalars, name)(self, *operands)
        results, lanes = assisted_lanes(function, *[np.array(array) for array in arrays])
        if lanes.any():
            self.assisted.append(f"{name}{tuple(map(float, operands))}")
        return results[0]


def _method(name: str, function: Any) -> Any:
    return lambda self, *operands: self.watched(name, function, *operands)


_ARITHMETIC = {"add": lambda s, x, y: x + y, "subtract": lambda s, x, y: x - y, "multiply": lambda s, x, y: x * y,
               "divide": lambda s, x, y: x / y, "fma": lambda s, x, y, z: s.fma(x, y, z)}
for _name, _function in {**FUNCTIONS, **_ARITHMETIC}.items():
    setattr(WatchedScalars, _name, _method(_name, _function))


class WatchedLoops(Loops):
    """Interprets the loops of kernels, and keeps a list of what was assisted."""

    def __init__(self) -> None:
        super().__init__()
        self.scalars = WatchedScalars()

    def make_executable(self, function: Function) -> Executable:
        executable = LoopsExecutable(function, self)
        executable.scalars = self.scalars
        return executable


MASKED = np.float32([[1.0, -2.0, -1e30, 0.5, -1e30, -1e30], [-np.inf, 3.0, -np.inf, 2.0, 0.0, -np.inf],
                     [-1e9, -1e9, 5.0, -1e9, -1e9, 4.0], [0.0, -150.0, -1000.0, 1.0, -3e38, -120.0]])
SATURATED = np.float32([[0.0, 1.0, -3.0, 40.0, -40.0, 200.0], [-200.0, -1e4, 1e4, -1e30, 1e30, 7.0]])
LABELS = np.array([0, 1, 2, 3])


def gradient(function: Any) -> Any:
    def of(x: Any) -> Any:
        return nv.deriv(nv.sum(function(x)), x)
    return of


OVER_ROWS = {
    "softmax": lambda x: nv.softmax(x, axis=1), "log_softmax": lambda x: nv.log_softmax(x, axis=1),
    "logsumexp": lambda x: nv.logsumexp(x, axis=1),
    "attention": lambda x: nv.softmax(x, axis=1) @ nv.constant(np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)),
    "cross entropy": lambda x: nv.nn.losses.cross_entropy(x, nv.constant(LABELS)),
}
OVER_ELEMENTS = {
    "gelu": nv.gelu, "silu": nv.silu, "mish": nv.mish, "elu": nv.elu, "selu": nv.selu, "sigmoid": nv.sigmoid,
    "log_sigmoid": nv.log_sigmoid, "softplus": nv.softplus,
    "tanh": nv.tanh, "erf": nv.erf, "gelu of a tanh": lambda x: nv.gelu(x, approximate="tanh"),
}
CASES = [*[(name, function, MASKED) for name, function in OVER_ROWS.items()],
         *[(name, function, SATURATED) for name, function in OVER_ELEMENTS.items()]]


@pytest.mark.parametrize("backward", [False, True], ids=["values", "gradients"])
@pytest.mark.parametrize(("name", "function", "data"), CASES, ids=[case[0] for case in CASES])
def test_no_arithmetic_is_assisted(name, function, data, backward):
    """O85."""
    loops, x = WatchedLoops(), nv.placeholder(data.shape)
    made = loops.computation((gradient(function) if backward else function)(x), x)
    result = np.asarray(made(data))
    assert not is_denormal(result).any()
    assert loops.scalars.assisted == []


@pytest.mark.parametrize("optimizer", [nv.optim.Adam, nv.optim.Lion, lambda: nv.optim.RMSProp(centered=True),
                                       lambda: nv.optim.SGD(momentum=0.9)], ids=["adam", "lion", "rmsprop", "momentum"])
def test_moments_that_have_decayed_cost_one_step(optimizer):
    """O86: from then on they are 0, and nothing is assisted."""
    loops, w, gradient = WatchedLoops(), nv.variable((3,), 1.0), nv.placeholder((3,))
    rule = optimizer()
    step = loops.computation(rule.update(w, gradient), gradient)
    for name, place in rule.slots(w).items():
        if name in ("m", "v", "mean"):
            loops.set(place, np.float32([1e-40, 3e-39, 0.0]))
    step(np.zeros(3, np.float32))
    assert loops.scalars.assisted
    loops.scalars.assisted.clear()
    step(np.zeros(3, np.float32))
    assert loops.scalars.assisted == []


def test_what_is_denormal_is_told():
    loops, x = WatchedLoops(), nv.placeholder((2,))
    loops.computation(nv.exp(x) * 1e-30, x)(np.float32([-30.0, 0.0]))
    assert [entry.split("(")[0] for entry in loops.scalars.assisted] == ["multiply"]
