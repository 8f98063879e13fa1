"""The training that optimisers are compared in: a dense layer fitted to drawn numbers, in float64, twenty steps.

``python -m tests.optim.training`` writes what PyTorch gives to ``figures.npz``, for where it is not installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nervure as nv

STEPS = 20
FIGURES = Path(__file__).with_name("figures.npz")
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Problem(NamedTuple):
    """Inputs and targets of each step, and where the weights start."""

    inputs: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    bias: np.ndarray


def problem() -> Problem:
    draw = np.random.default_rng(3).standard_normal
    return Problem(draw((STEPS, 5, 4)), draw((STEPS, 5, 3)), draw((4, 3)), draw(3))


class Case(NamedTuple):
    """An optimiser here, and what does the same to a list of PyTorch's tensors: a function that takes a step."""

    ours: Callable[[], nv.optim.Optimizer]
    theirs: Callable[[Any, list[Any]], Callable[[], None]]


def plain(name: str, **settings: Any) -> Callable[[Any, list[Any]], Callable[[], None]]:
    """One of PyTorch's optimisers."""
    def make(torch: Any, parameters: list[Any]) -> Callable[[], None]:
        return getattr(torch.optim, name)(parameters, **settings).step
    return make


def newton(**settings: Any) -> Callable[[Any, list[Any]], Callable[[], None]]:
    """PyTorch's L-BFGS, which asks for the loss again; the gradient is there already."""
    def make(torch: Any, parameters: list[Any]) -> Callable[[], None]:
        optimizer = torch.optim.LBFGS(parameters, **settings)
        return lambda: optimizer.step(lambda: torch.zeros(()))
    return make


def clipped(settings: dict[str, float]) -> Callable[[Any, list[Any]], Callable[[], None]]:
    def make(torch: Any, parameters: list[Any]) -> Callable[[], None]:
        optimizer = torch.optim.SGD(parameters, lr=0.1)

        def step() -> None:
            if "value" in settings:
                torch.nn.utils.clip_grad_value_(parameters, settings["value"])
            if "norm" in settings:
                torch.nn.utils.clip_grad_norm_(parameters, settings["norm"])
            optimizer.step()
        return step
    return make


def grouped(torch: Any, parameters: list[Any]) -> Callable[[], None]:
    weights, bias = parameters
    return torch.optim.AdamW([{"params": [weights]}, {"params": [bias], "lr": 0.2, "weight_decay": 0.0}],
                             lr=0.05, weight_decay=0.1).step


def accumulated(calls: int) -> Callable[[Any, list[Any]], Callable[[], None]]:
    def make(torch: Any, parameters: list[Any]) -> Callable[[], None]:
        optimizer, taken = torch.optim.Adam(parameters, lr=0.05), []
        totals = [torch.zeros_like(parameter) for parameter in parameters]

        def step() -> None:
            taken.append(None)
            for total, parameter in zip(totals, parameters, strict=True):
                total += parameter.grad
            if len(taken) % calls == 0:
                for total, parameter in zip(totals, parameters, strict=True):
                    parameter.grad = total / calls
                optimizer.step()
                for total in totals:
                    total.zero_()
        return step
    return make


def scheduled(name: str, **settings: Any) -> Callable[[Any, list[Any]], Callable[[], None]]:
    def make(torch: Any, parameters: list[Any]) -> Callable[[], None]:
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        schedule = getattr(torch.optim.lr_scheduler, name)(optimizer, **settings)

        def step() -> None:
            optimizer.step()
            schedule.step()
        return step
    return make


def chain(torch: Any, parameters: list[Any]) -> Callable[[], None]:
    optimizer, schedules = torch.optim.SGD(parameters, lr=0.1), torch.optim.lr_scheduler
    schedule = schedules.ChainedScheduler([schedules.ExponentialLR(optimizer, 0.9),
                                           schedules.StepLR(optimizer, 4, 0.5)])

    def step() -> None:
        optimizer.step()
        schedule.step()
    return step


def in_sequence(torch: Any, parameters: list[Any]) -> Callable[[], None]:
    optimizer, schedules = torch.optim.SGD(parameters, lr=0.1), torch.optim.lr_scheduler
    rising = schedules.LinearLR(optimizer, start_factor=0.25, total_iters=5)
    schedule = schedules.SequentialLR(optimizer, [rising, schedules.ExponentialLR(optimizer, 0.9)], [5])

    def step() -> None:
        optimizer.step()
        schedule.step()
    return step


CASES = {
    "sgd": Case(lambda: nv.optim.SGD(0.1), plain("SGD", lr=0.1)),
    "momentum": Case(lambda: nv.optim.SGD(0.1, momentum=0.8), plain("SGD", lr=0.1, momentum=0.8)),
    "nesterov": Case(lambda: nv.optim.SGD(0.1, momentum=0.8, nesterov=True, weight_decay=0.01),
                     plain("SGD", lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01)),
    "adagrad": Case(lambda: nv.optim.Adagrad(0.3, weight_decay=0.01), plain("Adagrad", lr=0.3, weight_decay=0.01)),
    "rmsprop": Case(lambda: nv.optim.RMSProp(0.05, decay=0.9), plain("RMSprop", lr=0.05, alpha=0.9)),
    "rmsprop_centered": Case(
        lambda: nv.optim.RMSProp(0.05, decay=0.9, momentum=0.5, centered=True, weight_decay=0.01),
        plain("RMSprop", lr=0.05, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.01)),
    "adam": Case(lambda: nv.optim.Adam(0.05), plain("Adam", lr=0.05)),
    "adam_decay": Case(lambda: nv.optim.Adam(0.05, beta1=0.8, beta2=0.9, epsilon=1e-3, weight_decay=0.1),
                       plain("Adam", lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1)),
    "adamw": Case(lambda: nv.optim.AdamW(0.05, weight_decay=0.1), plain("AdamW", lr=0.05, weight_decay=0.1)),
    "radam": Case(lambda: nv.optim.RAdam(0.05, beta2=0.9, weight_decay=0.01),
                  plain("RAdam", lr=0.05, betas=(0.9, 0.9), weight_decay=0.01)),
    "nadam": Case(lambda: nv.optim.NAdam(0.05, weight_decay=0.01, momentum_decay=0.01),
                  plain("NAdam", lr=0.05, weight_decay=0.01, momentum_decay=0.01)),
    "adamax": Case(lambda: nv.optim.Adamax(0.05, weight_decay=0.01), plain("Adamax", lr=0.05, weight_decay=0.01)),
    "adadelta": Case(lambda: nv.optim.Adadelta(0.5, weight_decay=0.01), plain("Adadelta", lr=0.5, weight_decay=0.01)),
    "rprop": Case(lambda: nv.optim.Rprop(0.05), plain("Rprop", lr=0.05)),
    "adafactor": Case(lambda: nv.optim.Adafactor(0.05, epsilon=2.0**-52, weight_decay=0.01),
                      plain("Adafactor", lr=0.05, weight_decay=0.01)),
    "asgd": Case(lambda: nv.optim.ASGD(0.1, shrinkage=0.02, power=0.6, start=5, weight_decay=0.01),
                 plain("ASGD", lr=0.1, lambd=0.02, alpha=0.6, t0=5, weight_decay=0.01)),
    "lbfgs": Case(lambda: nv.optim.LBFGS(nv.optim.SGD(0.1), memory=3), newton(lr=0.1, history_size=3, max_iter=1)),
    "clipped_norm": Case(lambda: nv.optim.Clipped(nv.optim.SGD(0.1), norm=0.5), clipped({"norm": 0.5})),
    "clipped_value": Case(lambda: nv.optim.Clipped(nv.optim.SGD(0.1), value=0.1), clipped({"value": 0.1})),
    "groups": Case(lambda: nv.optim.AdamW(0.05, weight_decay=0.1), grouped),
    "accumulated": Case(lambda: nv.optim.Accumulated(nv.optim.Adam(0.05), calls=3), accumulated(3)),
    "stepped": Case(lambda: nv.optim.SGD(nv.optim.stepped(0.1, every=6, factor=0.5)),
                    scheduled("StepLR", step_size=6, gamma=0.5)),
    "exponential": Case(lambda: nv.optim.SGD(nv.optim.exponential(0.1, 0.9)), scheduled("ExponentialLR", gamma=0.9)),
    "cosine": Case(lambda: nv.optim.SGD(nv.optim.cosine(0.1, steps=STEPS, end=0.01)),
                   scheduled("CosineAnnealingLR", T_max=STEPS, eta_min=0.01)),
    "warm_up": Case(lambda: nv.optim.SGD(nv.optim.warm_up(0.1, steps=8, start=0.025)),
                    scheduled("LinearLR", start_factor=0.25, total_iters=8)),
    "multi_step": Case(lambda: nv.optim.SGD(nv.optim.multi_step(0.1, [4, 5, 12], factor=0.5)),
                       scheduled("MultiStepLR", milestones=[4, 5, 12], gamma=0.5)),
    "polynomial": Case(lambda: nv.optim.SGD(nv.optim.polynomial(0.1, 15, exponent=2.0)),
                       scheduled("PolynomialLR", total_iters=15, power=2.0)),
    "warm_restarts": Case(lambda: nv.optim.SGD(nv.optim.warm_restarts(0.1, 3, growth=2, end=0.01)),
                          scheduled("CosineAnnealingWarmRestarts", T_0=3, T_mult=2, eta_min=0.01)),
    "restarts": Case(lambda: nv.optim.SGD(nv.optim.warm_restarts(0.1, 3)),
                     scheduled("CosineAnnealingWarmRestarts", T_0=3)),
    "cyclic": Case(lambda: nv.optim.SGD(nv.optim.cyclic(0.1, 0.3, 3, 2)),
                   scheduled("CyclicLR", base_lr=0.1, max_lr=0.3, step_size_up=3, step_size_down=2,
                             cycle_momentum=False)),
    "triangles": Case(lambda: nv.optim.SGD(nv.optim.cyclic(0.1, 0.3, 3, shrinkage=0.5)),
                      scheduled("CyclicLR", base_lr=0.1, max_lr=0.3, step_size_up=3, mode="triangular2",
                                cycle_momentum=False)),
    "cyclic_decay": Case(lambda: nv.optim.SGD(nv.optim.cyclic(0.1, 0.3, 3, decay=0.9)),
                         scheduled("CyclicLR", base_lr=0.1, max_lr=0.3, step_size_up=3, mode="exp_range", gamma=0.9,
                                   cycle_momentum=False)),
    "sequential": Case(lambda: nv.optim.SGD(nv.optim.sequential(
        [nv.optim.warm_up(0.1, 5, start=0.025), nv.optim.exponential(0.1, 0.9)], [5])), in_sequence),
    "formula": Case(lambda: nv.optim.SGD(nv.optim.Schedule(lambda n: 0.1 / (n + 1.0))),
                    scheduled("LambdaLR", lr_lambda=lambda n: 1 / (n + 1))),
    "multiplicative": Case(lambda: nv.optim.SGD(nv.optim.multiplicative(0.1, lambda n: 1.0 - 0.5 / n)),
                           scheduled("MultiplicativeLR", lr_lambda=lambda n: 1 - 0.5 / n)),
    "chained": Case(lambda: nv.optim.SGD(nv.optim.chained(
        [nv.optim.exponential(0.1, 0.9), nv.optim.stepped(1.0, 4, 0.5)])), chain),
    "one_cycle": Case(lambda: nv.optim.SGD(nv.optim.one_cycle(0.1, steps=STEPS)),
                      scheduled("OneCycleLR", max_lr=0.1, total_steps=STEPS + 1, cycle_momentum=False)),
}
CASES["one_cycle"] = CASES["one_cycle"]._replace(ours=lambda: nv.optim.SGD(nv.optim.one_cycle(0.1, steps=STEPS + 1)))


def optimizer_of(name: str, bias: nv.AssignableTensorOp) -> nv.optim.Optimizer:
    ours = CASES[name].ours()
    own = nv.optim.AdamW(0.2, weight_decay=0.0)
    return nv.optim.Groups([([bias], own)], rest=ours) if name == "groups" else ours


def trained(name: str, dtype: nv.DType, transformer_name: str) -> np.ndarray:
    """All parameters after each step here: (steps, 15)."""
    given = problem()
    weights = nv.variable("F=4, K=3", given.weights, dtype)
    bias = nv.variable("K=3", given.bias, dtype)
    x, y = nv.placeholder("N=5, F=4", dtype), nv.placeholder("N=5, K=3", dtype)
    loss = nv.mean(nv.square(nv.dot(x, weights) + bias - y), out_axes=())
    with nv.transformers.make_transformer(transformer_name) as transformer:
        step = transformer.computation([loss, optimizer_of(name, bias)(loss)], x, y)
        taken = []
        for inputs, targets in zip(given.inputs, given.targets, strict=True):
            step(inputs.astype(dtype.numpy), targets.astype(dtype.numpy))
            taken.append(np.concatenate([transformer.get(weights).ravel(), transformer.get(bias)]))
    return np.array(taken)


def trained_by_torch(name: str) -> np.ndarray:
    """The same by PyTorch."""
    import torch
    given = problem()
    parameters = [torch.tensor(array, requires_grad=True) for array in (given.weights, given.bias)]
    step = CASES[name].theirs(torch, parameters)
    taken = []
    for inputs, targets in zip(given.inputs, given.targets, strict=True):
        for parameter in parameters:
            parameter.grad = None
        loss = torch.mean((torch.tensor(inputs) @ parameters[0] + parameters[1] - torch.tensor(targets)) ** 2)
        loss.backward()
        step()
        taken.append(np.concatenate([parameter.detach().numpy().ravel() for parameter in parameters]))
    return np.array(taken)


@cache
def figures() -> dict[str, np.ndarray]:
    """What PyTorch gave when the figures were made."""
    with np.load(FIGURES, allow_pickle=False) as file:
        return dict(file)


def expected(name: str) -> np.ndarray:
    """What PyTorch gives: now where it is installed, else as it was kept."""
    return trained_by_torch(name) if HAS_TORCH else figures()[name]


if __name__ == "__main__":
    np.savez_compressed(FIGURES, **{name: trained_by_torch(name) for name in CASES})
