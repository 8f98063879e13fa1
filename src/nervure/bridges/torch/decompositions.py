"""The ops that PyTorch writes in terms of others before it gives a graph away: all for which the table has no row.

>>> import torch
>>> found = decompositions()
>>> torch.ops.aten.silu.default in found, torch.ops.aten.gelu.default in found
(True, False)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from nervure.bridges.torch import kept_whole
from nervure.bridges.torch.all_rows import ROWS
from nervure.bridges.torch.translation import name_of
from nervure.bridges.torch.unsupported import Foreign

aten = torch.ops.aten

_FURTHER = ("upsample_bilinear2d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
            "upsample_bicubic2d", "upsample_linear1d", "upsample_trilinear3d", "col2im",
            "native_layer_norm_backward", "native_group_norm_backward", "reflection_pad1d_backward",
            "reflection_pad2d_backward", "_native_batch_norm_legit_functional", "native_batch_norm_backward",
            "upsample_bilinear2d_backward", "upsample_nearest2d_backward", "log_sigmoid_forward",
            "_native_batch_norm_legit", "_batch_norm_with_update_functional", "glu")


# -- random numbers are made of those that a shape alone decides, so that PyTorch draws them before the rest -----------


def _dropout(x: torch.Tensor, rate: float, is_training: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    if is_training is False or rate == 0:
        return x.clone(), torch.ones(x.shape, dtype=torch.bool, device=x.device)
    if rate == 1:
        return torch.zeros_like(x), torch.zeros(x.shape, dtype=torch.bool, device=x.device)
    kept = torch.rand(x.shape, dtype=torch.float32, device=x.device) < 1 - rate
    return torch.where(kept, x * (1 / (1 - rate)), 0), kept


def _uniform_like(x: torch.Tensor, dtype: torch.dtype | None = None, **others: Foreign) -> torch.Tensor:
    return torch.rand(x.shape, dtype=dtype or x.dtype, device=x.device)


def _normal_like(x: torch.Tensor, dtype: torch.dtype | None = None, **others: Foreign) -> torch.Tensor:
    return torch.randn(x.shape, dtype=dtype or x.dtype, device=x.device)


def _bernoulli(x: torch.Tensor, chance: float = 0.5, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not 0 <= chance <= 1:  # PyTorch refuses other chances
        return NotImplemented
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < chance).to(x.dtype)


def _uniform(x: torch.Tensor, low: float = 0.0, high: float = 1.0, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not low <= high:
        return NotImplemented
    return _uniform_like(x) * (high - low) + low


def _normal(x: torch.Tensor, mean: float = 0.0, deviation: float = 1.0, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not deviation >= 0:
        return NotImplemented
    return _normal_like(x) * deviation + mean


def _exponential(x: torch.Tensor, rate: float = 1.0, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not rate > 0:
        return NotImplemented
    least = torch.finfo(x.dtype).eps / 2  # PyTorch gives no 0 either
    return torch.clamp(-torch.log1p(-_uniform_like(x)), min=least) / rate


def _integers_like(x: torch.Tensor, *bounds: int, dtype: torch.dtype | None = None, **others: Foreign) -> torch.Tensor:
    return torch.randint(*bounds, x.shape, dtype=dtype or x.dtype, device=x.device)


def _normal_around(mean: Foreign, deviation: Foreign = 1.0, generator: Foreign = None) -> torch.Tensor:
    tensors = [entry for entry in (mean, deviation) if isinstance(entry, torch.Tensor)]
    if generator is not None or not tensors[0].is_floating_point():
        return NotImplemented
    if isinstance(deviation, torch.Tensor):  # PyTorch refuses numbers below 0, which are seen too late here
        deviation = torch.where(deviation < 0, math.nan, deviation)
    elif not deviation >= 0:
        return NotImplemented
    shape = torch.broadcast_shapes(*[entry.shape for entry in tensors])
    drawn = torch.randn(shape, dtype=tensors[0].dtype, device=tensors[0].device)
    return (drawn * deviation + mean).to(drawn.dtype)


def _log_normal(x: torch.Tensor, mean: float = 1.0, deviation: float = 2.0, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not deviation > 0:
        return NotImplemented
    return torch.exp(_normal_like(x) * deviation + mean)


def _cauchy(x: torch.Tensor, median: float = 0.0, scale: float = 1.0, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not scale > 0:
        return NotImplemented
    return torch.tan((_uniform_like(x) - 0.5) * math.pi) * scale + median


def _geometric(x: torch.Tensor, chance: float, generator: Foreign = None) -> torch.Tensor:
    if generator is not None or not 0 < chance < 1:
        return NotImplemented
    trials = torch.log1p(-_uniform_like(x, torch.float64)) / math.log1p(-chance)
    return torch.clamp(torch.ceil(trials), min=1).to(x.dtype)


def _multinomial(x: torch.Tensor, count: int, with_repetition: bool = False,
                 generator: Foreign = None) -> torch.Tensor:
    """Returns numbers of chances that are drawn. Chances that PyTorch refuses name a place that there is not."""
    categories = x.shape[-1]
    if generator is not None or not x.is_floating_point() or not with_repetition and count > categories:
        return NotImplemented
    chances, shape = x.double(), (*x.shape[:-1], count)
    total = chances.sum(-1, keepdim=True)
    if with_repetition and count != 1:
        ends = torch.cumsum(chances, -1)
        drawn = torch.rand(shape, dtype=torch.float64, device=x.device) * ends[..., -1:]
        below = torch.minimum(drawn, torch.nextafter(ends[..., -1:], torch.zeros_like(total)))
        found = torch.searchsorted(ends, below, right=True)
    else:  # the first arrival of as many clocks, and the next ones, is at a category in proportion to its chance
        arrival = -torch.log1p(-torch.rand(x.shape, dtype=torch.float64, device=x.device)).clamp(max=-1e-300)
        found = torch.topk(chances / arrival, count, -1).indices
    is_right = (chances >= 0).all(-1, keepdim=True) & (total > 0) & (total < math.inf)
    places = torch.arange(categories, device=x.device).expand(x.shape)
    return torch.gather(places, -1, torch.where(is_right, found, categories))


_RANDOM = {aten.native_dropout.default: _dropout, aten.rand_like.default: _uniform_like,
           aten.randn_like.default: _normal_like, aten.bernoulli.p: _bernoulli, aten.uniform.default: _uniform,
           aten.normal_functional.default: _normal, aten.exponential.default: _exponential,
           aten.randint_like.default: _integers_like, aten.randint_like.low_dtype: _integers_like,
           aten.normal.Tensor_float: _normal_around, aten.normal.float_Tensor: _normal_around,
           aten.normal.Tensor_Tensor: _normal_around, aten.log_normal.default: _log_normal,
           aten.cauchy.default: _cauchy, aten.geometric.default: _geometric,
           aten.multinomial.default: _multinomial}


@cache
def decompositions() -> dict[Foreign, Callable[..., Foreign]]:
    """Returns PyTorch's decompositions of everything but the overloads that have a row."""
    further = get_decompositions([getattr(aten, name) for name in _FURTHER if hasattr(aten, name)])
    found = {**core_aten_decompositions(), **further}
    found.update({**_RANDOM, **kept_whole.decompositions()})
    # A composite with a row for what it is made of, such as grid_sampler, comes to that by PyTorch's own dispatch.
    found.pop(aten.grid_sampler.default, None)
    return {op: function for op, function in found.items() if name_of(op) not in ROWS}
