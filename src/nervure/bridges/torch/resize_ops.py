"""Changes of the lengths of images as ops: PyTorch would write one as reads at many places, and its gradient as writes.

>>> import torch
>>> x = torch.arange(6.0).reshape(1, 1, 2, 3)
>>> torch.equal(interpolate(x, scale_factor=2.0, mode="bilinear"),
...             torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"))
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from nervure.bridges.torch.unsupported import Foreign

_OVERLOADS = {"nearest": {rank: f"upsample_nearest{rank - 2}d" for rank in (3, 4, 5)},
              "nearest-exact": {rank: f"_upsample_nearest_exact{rank - 2}d" for rank in (3, 4, 5)},
              "linear": {3: "upsample_linear1d"}, "bilinear": {4: "upsample_bilinear2d"},
              "trilinear": {5: "upsample_trilinear3d"}, "bicubic": {4: "upsample_bicubic2d"}}
"""PyTorch's overloads for the modes that are ops of nervure, by the number of dimensions of images."""

aten = torch.ops.aten


def _forward(x: Tensor, lengths: list[int], scales: list[float], mode: str, has_ends: bool) -> Tensor:
    """Returns x in other lengths, as PyTorch does."""
    ends = has_ends if "nearest" not in mode else None
    named = {"scale_factor": scales} if scales else {"size": lengths}
    return functional.interpolate(x, mode=mode, align_corners=ends, **named)


def _backward(gradient: Tensor, before: list[int], scales: list[float], mode: str, has_ends: bool) -> Tensor:
    """Returns the gradient of x, which had the shape ``before``, as PyTorch does."""
    overload = getattr(aten, f"{_OVERLOADS[mode][len(before)]}_backward")
    ends = () if "nearest" in mode else (has_ends,)
    given: Sequence[float | None] = scales or [None] * (len(before) - 2)
    return overload(gradient, list(gradient.shape[2:]), before, *ends, *given)


resize = torch.library.custom_op("nervure::resize", _forward, mutates_args=())
resize_backward = torch.library.custom_op("nervure::resize_backward", _backward, mutates_args=())
resize.register_fake(lambda x, lengths, scales, mode, has_ends: x.new_empty([*x.shape[:2], *lengths]))
resize_backward.register_fake(lambda gradient, before, scales, mode, has_ends: gradient.new_empty(before))


def _keep(ctx: Foreign, inputs: tuple[Foreign, ...], output: Tensor) -> None:
    x, _, *settings = inputs
    ctx.before, ctx.settings = x.shape, settings


def _gradients(ctx: Foreign, gradient: Tensor) -> tuple[Foreign, ...]:
    return resize_backward(gradient, ctx.before, *ctx.settings), None, None, None, None


resize.register_autograd(_gradients, setup_context=_keep)


def interpolate(input: Tensor, size: Foreign = None, scale_factor: Foreign = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """Returns what ``torch.nn.functional.interpolate`` makes of ``input``, by the op where it says the same."""
    found = None if antialias else _resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
    return found if found is not None else functional.interpolate(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _resized(input: Tensor, size: Foreign, scale_factor: Foreign, mode: str, align_corners: bool | None,
             recompute_scale_factor: bool | None = None) -> Tensor | None:
    """Returns what the op makes of ``input``; None where it does not say the same."""
    is_said = (isinstance(input, Tensor) and input.dim() in _OVERLOADS.get(mode, ()) and input.is_floating_point()
               and input.device.type == "cpu" and (size is None) != (scale_factor is None)
               and not (align_corners is not None and "nearest" in mode))
    lengths = _lengths(input, size, scale_factor) if is_said else None
    if lengths is None:
        return None
    scales = [] if scale_factor is None or recompute_scale_factor else [
        float(scale) for scale in _of_each(scale_factor, input.dim() - 2)]
    return resize(input, lengths, scales, mode, bool(align_corners))


def _of_each(given: Foreign, count: int) -> list[Foreign]:
    return list(given) if isinstance(given, (list, tuple)) else [given] * count


def _lengths(x: Tensor, size: Foreign, scale: Foreign) -> list[Foreign] | None:
    """Returns the new lengths; None for what PyTorch refuses."""
    count = x.dim() - 2
    found = _of_each(size if scale is None else scale, count)
    if len(found) != count or any([isinstance(entry, Tensor) for entry in found]):
        return None
    if scale is not None:
        pairs = list(zip(x.shape[2:], found, strict=True))
        if any([not isinstance(length, int) and int(entry) != entry for length, entry in pairs]):
            return None  # a symbol times a fraction would have to be rounded as floats are
        found = [math.floor(float(length) * entry) if isinstance(length, int) else length * int(entry)
                 for length, entry in pairs]
    return found if all([not isinstance(entry, int) or entry > 0 for entry in (*found, *x.shape)]) else None


def _of_overload(mode: str, has_choice: bool) -> Callable[..., Tensor]:
    def resized(x: Tensor, size: Sequence[int] | None, *rest: Foreign) -> Tensor:
        ends, scales = rest if has_choice else (None, *rest)
        found = _resized(x, size, scales, mode, ends)
        return NotImplemented if found is None else found
    return resized


def decompositions() -> dict[Foreign, Callable[..., Foreign]]:
    """Returns what is to stand for PyTorch's overloads in a graph that has them still, as those of torch.export do."""
    return {getattr(aten, name).vec: _of_overload(mode, "nearest" not in mode)
            for mode, names in _OVERLOADS.items() for name in names.values()}
