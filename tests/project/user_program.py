"""A user's program as a type checker sees it: what it infers, and what it finds wrong.

``mypy --strict`` accepts this file (test_generated.py). A mistake stands with the error that it is; where mypy did
not find it, the comment would be one too many, and that is an error as well.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import nervure as nv

x = nv.placeholder("N=4, F=3")
w = nv.variable("F=3", initial_value=0.5)

# Functions, operators and methods give tensors.
assert_type(nv.exp(x), nv.Tensor)
assert_type(nv.softmax(x, axis=1), nv.Tensor)
assert_type(nv.sum(x, "F", keepdims=True), nv.Tensor)
assert_type(nv.maximum(x, 0), nv.Tensor)
assert_type(nv.sum([[1, 2], [3, 4]]), nv.Tensor)
assert_type(nv.split(x, 2), list[nv.Tensor])
assert_type(x + 1, nv.Tensor)
assert_type(2.0 - x, nv.Tensor)
assert_type(np.float32(2) * x, nv.Tensor)
assert_type(-x, nv.Tensor)
assert_type(x < w, nv.Tensor)
assert_type(x @ w, nv.Tensor)
assert_type(x[0], nv.Tensor)
assert_type(x.sum(), nv.Tensor)
assert_type(x.sum(axis="F", dtype=nv.float64), nv.Tensor)
assert_type(x.std(ddof=1), nv.Tensor)
assert_type(x.astype(nv.float64), nv.Tensor)
assert_type(x.T.reshape(-1), nv.Tensor)
assert_type(x.at[0].set(1.0), nv.Tensor)
assert_type(w.named("w"), nv.AssignableTensorOp)
assert_type(list(x), list[nv.Tensor])

assert_type(nv.deriv(x.sum(), w), nv.Tensor)
assert_type(nv.deriv(x.sum(), [w]), list[nv.Tensor])

assert_type(nv.host_call(np.sort, [x], like=x), nv.Tensor)
assert_type(nv.host_call(np.modf, [x], like=[x, x]), tuple[nv.Tensor, ...])

# Numbers leave the graph as arrays.
assert_type(x.numpy(), np.ndarray)
assert_type(nv.evaluate(x), np.ndarray)
assert_type(nv.evaluate([x, w]), tuple[np.ndarray, ...])
assert_type(float(w.sum()), float)
assert_type(x.dtype, nv.DType)
assert_type(x.axes, nv.Axes)
assert_type(nv.flags.check_nan, bool)


# What is compiled gives arrays.
@nv.jit
def loss(x: nv.Tensor, scale: nv.Tensor) -> nv.Tensor:
    return nv.mean(x * scale, out_axes=())


@nv.jit(static="power")
def moments(x: nv.Tensor, power: int) -> tuple[nv.Tensor, nv.Tensor]:
    return nv.mean(x), nv.mean(x ** power)


def untyped(x: Any) -> Any:
    return x, x


@nv.custom_vjp
def straight_through(x: nv.Tensor) -> nv.Tensor:
    return nv.round(x)


assert_type(straight_through(x), nv.Tensor)
assert_type(loss(np.ones(3), 2.0), np.ndarray)
assert_type(moments(np.ones(3), 2), Any)
assert_type(nv.jit(untyped)(np.ones(3)), Any)
assert_type(nv.computation(x.sum(), x)(np.ones((4, 3))), np.ndarray)
assert_type(nv.computation([x, w], x)(np.ones((4, 3))), tuple[np.ndarray, ...])
assert_type(nv.computation({"w": w})(), dict[str, np.ndarray])
assert_type(nv.transformers.default().get(w), np.ndarray)



# Modules are classes with fields.
class Block(nv.nn.Module):
    inner: nv.nn.Module
    rate: float = 0.5

    def forward(self, x: nv.Tensor) -> nv.Tensor:
        y: nv.Tensor = self.inner(x)
        return y * self.rate


block = Block(nv.nn.Sequential(nv.nn.LinearLayer("F=3", "K=2", bias=False), nv.relu), rate=1)
assert_type(block.eval(), Block)
assert_type(block.parameters(), list[nv.AssignableTensorOp])
assert_type(nv.nn.LinearLayer(3, 2).weights, nv.AssignableTensorOp)
assert_type(nv.nn.losses.mean_squared_error(x, [1.0, 2.0]), nv.Tensor)


# A call of a module is one of its forward: claim T360.
class Net(nv.nn.Module):
    def __post_init__(self) -> None:
        self.hidden = nv.nn.LinearLayer("F=3", "H=4")
        self.blocks: list[nv.nn.Module] = [Block(self.hidden)]

    def forward(self, x: nv.Tensor, rate: float = 1.0, *, mask: nv.Tensor | None = None) -> nv.Tensor:
        for block in self.blocks:
            x = block(x)
        assert_type(self.hidden(x), nv.Tensor)
        return x * rate if mask is None else x * mask


class Pair(Net):
    def forward(self, x: nv.Tensor, rate: float = 1.0, *, mask: nv.Tensor | None = None) -> nv.Tensor:
        return super().forward(x, rate) + super().__call__(x)


class Parts(nv.nn.Module):
    def forward(self, x: nv.Tensor) -> tuple[nv.Tensor, dict[str, nv.Tensor]]:
        return x, {"double": x * 2}


def applied(module: nv.nn.Module, function: Callable[[nv.Tensor], nv.Tensor]) -> nv.Tensor:
    assert_type(module(x, 1, name="x"), Any)
    return function(x)


assert_type(Net()(x), nv.Tensor)
assert_type(Net()(x, 0.5, mask=x), nv.Tensor)
assert_type(Pair()(x), nv.Tensor)
assert_type(Parts()(x), tuple[nv.Tensor, dict[str, nv.Tensor]])
assert_type(applied(Net(), Net()), nv.Tensor)
assert_type(nv.nn.LinearLayer(3, 2)(x), nv.Tensor)
assert_type(nv.nn.Conv(3, 8, (3, 3))(x), nv.Tensor)
assert_type(nv.nn.BatchNorm(3)(x), nv.Tensor)
assert_type(nv.nn.Embedding(9, 4)([1, 2]), nv.Tensor)
assert_type(nv.nn.Dropout(0.5)(x), nv.Tensor)
assert_type(nv.nn.ReLU()(x), nv.Tensor)
assert_type(nv.nn.Sequential(nv.nn.ReLU(), nv.nn.Tanh())(x), Any)

# Mistakes.
nv.computation(x, transformer="cpu")  # type: ignore[call-overload]
nv.sofmax(x)  # type: ignore[attr-defined]
x.sums()  # type: ignore[attr-defined]
nv.softmax(x, axes=1)  # type: ignore[call-arg]
x.sum(keep_dims=True)  # type: ignore[call-arg]
nv.exp(x, 1)  # type: ignore[call-arg]
nv.exp("x")  # type: ignore[arg-type]
nv.exp([1.0, 2.0])  # type: ignore[arg-type]
x + "y"  # type: ignore[operator]
nv.exp(x).variable  # type: ignore[attr-defined]
nv.flags.check_nans  # type: ignore[attr-defined]
Block("inner")  # type: ignore[arg-type]
Block(block, depth=1)  # type: ignore[call-arg]
nv.nn.Conv2d(3, 8, 3)  # type: ignore[attr-defined]
nv.optim.Adan(0.1)  # type: ignore[attr-defined]
Net()("x")  # type: ignore[arg-type]
Net()(x, 0.5, x)  # type: ignore[call-arg]
Net()()  # type: ignore[call-arg]
Net()(x, rates=0.5)  # type: ignore[call-arg]
nv.nn.LinearLayer(3, 2)("x")  # type: ignore[arg-type]
nv.nn.ReLU()(x, x)  # type: ignore[call-arg]
applied(Net(), Parts())  # type: ignore[arg-type]
