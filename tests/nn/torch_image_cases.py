"""Functions of images, and their layers: cases beside those of ``torch_cases``."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure import nn
from tests.nn.torch_cases import case

PLACES = np.array([[[0, 5], [9, 11]], [[1, 3], [8, 7]]])
THEIR_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}
SAMPLES = np.random.default_rng(3).uniform(size=(2, 3, 3))
GRID = np.random.default_rng(4).uniform(-1.5, 1.5, (2, 4, 6, 2, 3)).astype(np.float32)


# -- elements between places ---------------------------------------------------------------------------


for _mode, _padding, _corners in (
        ("linear", "zeros", False), ("linear", "border", True), ("linear", "reflection", False),
        ("linear", "reflection", True), ("nearest", "zeros", True), ("nearest", "border", False),
        ("nearest", "reflection", True), ("cubic", "zeros", False), ("cubic", "border", False),
        ("cubic", "reflection", True)):
    case(lambda torch, x, grid, mode=_mode, padding=_padding, corners=_corners: torch.nn.functional.grid_sample(
            x, grid, mode=THEIR_MODES[mode], padding_mode=padding, align_corners=corners),
         lambda x, grid, mode=_mode, padding=_padding, corners=_corners: nv.grid_sample(
             x, grid, mode, padding, corners),
         x=(2, 3, 4, 5), grid=GRID[:, :, :, 0, :2])(f"grid of two places {_mode} {_padding} {_corners}")
    if _mode != "cubic":
        case(lambda torch, x, grid, mode=_mode, padding=_padding, corners=_corners: torch.nn.functional.grid_sample(
                x, grid, mode=THEIR_MODES[mode], padding_mode=padding, align_corners=corners),
             lambda x, grid, mode=_mode, padding=_padding, corners=_corners: nv.grid_sample(
                 x, grid, mode, padding, corners),
             x=(2, 2, 3, 4, 2), grid=GRID)(f"grid of three places {_mode} {_padding} {_corners}")
case(lambda torch, x, grid: torch.nn.functional.grid_sample(
        x.permute(3, 0, 1, 2), grid.permute(1, 0, 2, 3), align_corners=False).permute(1, 2, 3, 0),
     lambda x, grid: nv.grid_sample(x, grid, places=["H", "W"]),
     {"x": "C=3, H=4, W=5, N=2", "grid": "H=4, N=2, W=6, D=2"}, x=(3, 4, 5, 2),
     grid=np.ascontiguousarray(GRID[:, :, :, 0, :2].transpose(1, 0, 2, 3)))("grid of names")
for _corners in (False, True):
    case(lambda torch, theta, corners=_corners: torch.nn.functional.affine_grid(
            theta, [2, 1, 3, 4], align_corners=corners),
         lambda theta, corners=_corners: nv.affine_grid(theta, [3, 4], corners), theta=(2, 2, 3))(f"affine {_corners}")
case(lambda torch, theta: torch.nn.functional.affine_grid(theta, [2, 1, 2, 3, 4], align_corners=False),
     lambda theta: nv.affine_grid(theta, {"D": 2, "H": 3, "W": 4}), {"theta": "N=2, R=3, S=4"},
     theta=(2, 3, 4))("affine of names")


# -- channels ------------------------------------------------------------------------------------------


for _size in (2, 3, 9):
    case(lambda torch, x, size=_size: torch.nn.LocalResponseNorm(size, 0.1, 0.7, 2.0)(x),
         lambda x, size=_size: nn.LocalResponseNorm(size, 0.1, 0.7, 2.0)(x), x=(2, 6, 3, 2))(f"responses {_size}")
case(lambda torch, x: torch.nn.LocalResponseNorm(3)(x.permute(0, 2, 1)).permute(0, 2, 1),
     lambda x: nn.LocalResponseNorm(3)(x), {"x": "N=2, W=3, C=6"}, x=(2, 3, 6))("responses of names")
case(lambda torch, x: torch.nn.ChannelShuffle(3)(x), lambda x: nn.ChannelShuffle(3)(x), x=(2, 6, 3, 2))("shuffle")
case(lambda torch, x: torch.nn.functional.channel_shuffle(x.permute(0, 2, 1), 2).permute(0, 2, 1),
     lambda x: nn.ChannelShuffle(2, "C")(x), {"x": "N=2, W=3, C=6"}, x=(2, 3, 6))("shuffle of names")


# -- poolings and positions ----------------------------------------------------------------------------


def unpooled(spatial: int) -> None:
    """Through the largest elements and back."""
    def there(torch: Any, x: Any) -> object:
        layers = [getattr(torch.nn, f"{name}{spatial}d")(2, **settings)
                  for name, settings in (("MaxPool", {"return_indices": True}), ("MaxUnpool", {}))]
        values, index = layers[0](x)
        return layers[1](values * values, index, output_size=x.shape)

    def here(x: nv.Tensor) -> nv.Tensor:
        values, index = nn.MaxPool(2).with_index(x)
        return nn.MaxUnpool(2)(values * values, index, list(x.shape[2:]))
    case(there, here, x=(2, 3, 4, 5, 6)[:2 + spatial])(f"unpooling of {spatial}")


for _spatial in (1, 2, 3):
    unpooled(_spatial)
case(lambda torch, x: torch.nn.functional.max_unpool2d(x, torch.tensor(PLACES), 2),
     lambda x: nn.MaxUnpool({"H": 2, "W": 2})(x, nv.constant(PLACES, "C=2, H=2, W=2")),
     {"x": "C=2, H=2, W=2"}, x=(2, 2, 2))("unpooling of names")
case(lambda torch, x: torch.nn.FractionalMaxPool2d(
        (2, 3), output_size=(4, 3), _random_samples=torch.tensor(SAMPLES[..., 1::-1].copy()))(x),
     lambda x: nv.fractional_max_pooling(x, [2, 3], [4, 3], samples=SAMPLES[..., :2]),
     x=(2, 3, 9, 8))("fractional of two places")
case(lambda torch, x: torch.nn.FractionalMaxPool3d(
        2, output_ratio=0.6, _random_samples=torch.tensor(SAMPLES))(x),
     lambda x: nv.fractional_max_pooling(x, 2, ratio=0.6, samples=SAMPLES),
     x=(2, 3, 5, 6, 4))("fractional of three places")
case(lambda torch, x: torch.nn.FractionalMaxPool2d(2, output_size=3, _random_samples=torch.tensor(
        SAMPLES[..., 1::-1].copy()))(x.permute(2, 3, 0, 1)).permute(2, 3, 0, 1),
     lambda x: nv.fractional_max_pooling(x, {"H": 2, "W": 2}, {"H": 3, "W": 3}, samples=SAMPLES[..., :2]),
     {"x": "H=7, W=6, N=2, C=3"}, x=(7, 6, 2, 3))("fractional of names")
case(lambda torch, x, w: torch.nn.functional.conv2d(x, w, stride=2, padding=1, groups=2),
     lambda x, w: nv.deformable_convolution(x, w, np.zeros((2, 24, 3, 4)), None, 2, padding=1, groups=2),
     x=(2, 4, 5, 6), w=(6, 2, 3, 2))("offsets of zero")
