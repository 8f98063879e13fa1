"""A model compiled by the bridge against PyTorch's eager mode, in float32, and both against float64.

The error of a tensor is the norm of its difference from float64's. The ratio that a row reports is the worst one of
nervure's error to eager's, to which a few roundings of the tensor are added: by them alone two right orders of a sum
differ. Where an operand of ReLU is near 0, a rounding decides which gradient is 0, and a hundredth of a tensor may
differ in either. What is wrong is so for all weights; so a ratio above 2 is taken again with others. Tensors of one
element are compared together: the ratio of two single errors is luck, and has no bound.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from bench.torch_models.family import Family, without_dropout, without_zeros
from nervure.bridges.torch import compiling
from nervure.bridges.torch.fallback import lacks

_ROUNDINGS = 4 * 2.0**-23
"""The part of a tensor's norm that counts as no error."""
_GOOD, _SEEDS = 2.0, 4
"""A ratio that is good enough, and how many draws of the weights may show it."""


class Compared(NamedTuple):
    """What one mode of a model showed: the worst ratio of errors and its tensor, the graphs of PyTorch, the calls that
    PyTorch runs, the seconds of the first call, and the seed of its weights.
    """

    ratio: float
    worst: str
    error: float
    graphs: int
    fallbacks: dict[str, int]
    seconds: float
    seed: int


class _Watched:
    """The backend, with its graphs counted and what they leave to PyTorch."""

    def __init__(self) -> None:
        self.graphs = 0
        self.fallbacks = Counter[str]()

    def backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs += 1
        return compiling.compiled_model(graph, inputs)

    def compiled(self, graph: Any, *settings: Any) -> Callable[..., Any]:
        run = _compiled(graph, *settings)  # it takes new values of arguments out of the graph, which are no calls
        self.fallbacks.update([entry.op.removeprefix("aten.").removesuffix(".default") for entry in lacks(graph)])
        return run


_compiled = compiling.compiled


def compared(family: Family, is_training: bool) -> Compared:
    """Compares one family: its results in evaluation, or results, gradients and buffers in training. The ratio is the
    best one of a few draws of the weights.
    """
    found = _drawn(family, is_training, 0)
    for seed in range(1, _SEEDS):
        if found.ratio <= _GOOD:
            break
        found = min(found, _drawn(family, is_training, seed), key=lambda entry: entry.ratio)
    return found


def _drawn(family: Family, is_training: bool, seed: int) -> Compared:
    torch.manual_seed(seed)
    model, inputs, named = family.make()
    without_dropout(model)
    without_zeros(model)
    model.train(is_training)
    exact, eager = copy.deepcopy(model).double(), copy.deepcopy(model)
    _without_grouped_products(exact)
    wide = tree_map_only(torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, (inputs, dict(named)))
    with torch.set_grad_enabled(is_training):
        reference = _told(exact, exact, *wide, is_training)
        plain = _told(eager, eager, *copy.deepcopy((inputs, dict(named))), is_training)
        torch._dynamo.reset()
        watched = _Watched()
        with mock.patch.object(compiling, "compiled", watched.compiled):
            run = torch.compile(model, backend=watched.backend)
            start = time.perf_counter()
            own = _told(model, run, inputs, dict(named), is_training)
            seconds = time.perf_counter() - start
    ratio, worst, error = _worst_of(own, plain, reference)
    return Compared(ratio, worst, error, watched.graphs, dict(watched.fallbacks), seconds, seed)


def _without_grouped_products(model: torch.nn.Module) -> None:
    """Lets mixtures of experts take one after the other: PyTorch has no grouped product of float64 matrices."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "_experts_implementation"):
            config._experts_implementation = "eager"


def _told(model: torch.nn.Module, run: Callable[..., Any], inputs: Sequence[Any], named: Mapping[str, Any],
          is_training: bool) -> dict[str, torch.Tensor]:
    """Returns the results of a model, and in training its gradients and its buffers, by name."""
    results = [x for x in tree_leaves(run(*inputs, **named)) if isinstance(x, torch.Tensor)]
    found = {f"result {at}": x.detach() for at, x in enumerate(results)}
    if not is_training:
        return found
    loss = sum([(x * _weights(x)).sum() / x.numel() ** 0.5 for x in results if x.requires_grad])
    loss.backward()
    found.update({f"gradient of {name}": parameter.grad for name, parameter in model.named_parameters()
                  if parameter.grad is not None})
    found.update({f"buffer {name}": value for name, value in model.named_buffers()})
    return found


def _weights(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(1, x.numel() + 1, dtype=torch.float64).reshape(x.shape).cos().to(x.dtype)


def _worst_of(own: Mapping[str, torch.Tensor], plain: Mapping[str, torch.Tensor],
              reference: Mapping[str, torch.Tensor]) -> tuple[float, str, float]:
    """Returns the worst ratio of errors, the name of its tensor, and the error in terms of that tensor's norm."""
    if own.keys() != plain.keys():
        raise ValueError(f"other tensors than eager's: {sorted(own.keys() ^ plain.keys())[:3]}")
    own, plain, reference = [_with_numbers_together(entry) for entry in (own, plain, reference)]
    kinds = ("result", "gradient", "buffer")
    scale = {kind: max([0.0, *[_norm(x) / max(x.numel(), 1) ** 0.5 for name, x in reference.items()
                               if name.startswith(kind)]]) for kind in kinds}
    worst = (0.0, "", 0.0)
    for name, theirs in plain.items():
        mine, exact = own[name], reference[name]
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            raise ValueError(f"{name} is {mine.dtype} {tuple(mine.shape)}, not {theirs.dtype} {tuple(theirs.shape)}")
        if exact.shape != theirs.shape:
            raise ValueError(f"{name} has another shape in float64")
        size = _norm(exact)
        floor = _ROUNDINGS * size + _ROUNDINGS / 16 * scale[name.partition(" ")[0]] * exact.numel() ** 0.5
        error = _difference(mine, exact)
        ratio = error / max(_difference(theirs, exact) + floor, 1e-30)
        if ratio > worst[0] or ratio != ratio:
            worst = (ratio, name, error / max(size, 1e-30))
            if ratio != ratio:
                break
    return worst


def _with_numbers_together(found: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns tensors by name, with the gradients of one element each as one tensor."""
    numbers = {name: x for name, x in found.items() if name.startswith("gradient") and x.numel() == 1}
    if len(numbers) < 2:
        return dict(found)
    rest = {name: x for name, x in found.items() if name not in numbers}
    return {**rest, "gradient of each single number": torch.cat([x.reshape(1) for x in numbers.values()])}


def _norm(x: torch.Tensor) -> float:
    found = x.double()
    return torch.where(found.isfinite(), found, 0.0).norm().item()


def _difference(x: torch.Tensor, y: torch.Tensor) -> float:
    """Returns the norm of the difference; infinities and NaN that agree are equal."""
    x, y = x.double(), y.double()
    return torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, x - y).norm().item()
