"""Layers that move, resize, drop and pair: cases beside those of ``torch_cases``."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure import nn
from tests.nn.torch_cases import called, case

BAGS = np.array([[1, 5, 2], [1, 0, 1]])

for _spatial, _ours, _theirs in (
        (1, {"strides": 2}, {"stride": 2}), (2, {"strides": 2, "padding": 1, "output_padding": 1},
                                             {"stride": 2, "padding": 1, "output_padding": 1}),
        (3, {}, {}), (2, {"dilations": 2, "groups": 2}, {"dilation": 2, "groups": 2}),
        (2, {"dilations": (3, 2), "padding": 1, "output_padding": [2, 1]},
         {"dilation": (3, 2), "padding": 1, "output_padding": (2, 1)})):
    case(lambda torch, x, w, b, n=_spatial, options=_theirs: called(
            torch, getattr(torch.nn, f"ConvTranspose{n}d")(4, 6, (3, 2, 2)[:n], **options),
            {"weight": w, "bias": b}, x),
         lambda x, w, b, n=_spatial, options=_ours: nn.ConvTranspose(4, 6, (3, 2, 2)[:n], weights=w, bias=b,
                                                                     **options)(x),
         x=(2, 4, *(4, 3, 3)[:_spatial]), w=(4, 6 // _ours.get("groups", 1), *(3, 2, 2)[:_spatial]),
         b=6)(f"transposed convolution {_spatial} {' '.join(_ours)}")
case(lambda torch, x, w, b: called(torch, torch.nn.ConvTranspose2d(4, 3, (2, 3), stride=(2, 1)),
                                   {"weight": w.permute(0, 3, 1, 2), "bias": b}, x),
     lambda x, w, b: nn.ConvTranspose("C=4", "K=3", "H=2, W=3", strides={"H": 2}, weights=w, bias=b)(x),
     {"x": "N=2, C=4, H=3, W=4", "w": "C=4, H=2, W=3, K=3", "b": "K=3"},
     x=(2, 4, 3, 4), w=(4, 2, 3, 3), b=3)("transposed convolution of names")

for _name, _mode in (("ReflectionPad2d", "reflect"), ("ReplicationPad2d", "edge"), ("CircularPad2d", "wrap"),
                     ("ZeroPad2d", "constant")):
    case(lambda torch, x, kind=_name: getattr(torch.nn, kind)((1, 2, 3, 0))(x),
         lambda x, mode=_mode: nn.Pad([(3, 0), (1, 2)], mode)(x), x=(2, 3, 4, 5))(_name)
case(lambda torch, x: torch.nn.ConstantPad1d((2, 1), 3.5)(x), lambda x: nn.Pad({"W": (2, 1)}, value=3.5)(x),
     {"x": "N=2, C=3, W=4"}, x=(2, 3, 4))("ConstantPad1d")

for _mode, _other in (("linear", "bilinear"), ("cubic", "bicubic"), ("nearest", "nearest")):
    for _corners in (False, True)[:1 if _mode == "nearest" else 2]:
        for _lengths in ((8, 10), (3, 2)):
            case(lambda torch, x, mode=_other, corners=_corners, lengths=_lengths: torch.nn.Upsample(
                    lengths, mode=mode, align_corners=None if mode == "nearest" else corners)(x),
                 lambda x, mode=_mode, corners=_corners, lengths=_lengths: nn.Upsample(
                     lengths=lengths, mode=mode, align_corners=corners)(x),
                 x=(2, 3, 4, 5))(f"upsampling {_mode} {_corners} {_lengths}")
case(lambda torch, x: torch.nn.Upsample(scale_factor=(2, 3), mode="bilinear")(x),
     lambda x: nn.Upsample({"W": 3, "H": 2}, mode="linear")(x), {"x": "N=2, C=3, H=4, W=5"},
     x=(2, 3, 4, 5))("upsampling of names")
case(lambda torch, x: torch.nn.Upsample(size=4, mode="linear")(x), lambda x: nn.Upsample(lengths=4, mode="linear")(x),
     x=(2, 3, 5))("upsampling of one axis")
case(lambda torch, x: torch.nn.Upsample(scale_factor=2, mode="trilinear")(x),
     lambda x: nn.Upsample(2, mode="linear")(x), x=(1, 2, 2, 3, 2))("upsampling of three axes")

for _lengths in ((2, 3), (5, 7), (1, 1), (4, 5)):
    case(lambda torch, x, lengths=_lengths: torch.nn.AdaptiveAvgPool2d(lengths)(x),
         lambda x, lengths=_lengths: nn.AdaptiveAveragePool(lengths)(x), x=(2, 3, 5, 7))(f"adaptive mean {_lengths}")
    case(lambda torch, x, lengths=_lengths: torch.nn.AdaptiveMaxPool2d(lengths)(x),
         lambda x, lengths=_lengths: nn.AdaptiveMaxPool(dict(zip("HW", lengths, strict=True)))(x),
         {"x": "N=2, C=3, H=5, W=7"}, x=(2, 3, 5, 7))(f"adaptive largest {_lengths}")
case(lambda torch, x: torch.nn.LPPool2d(2, (2, 3), (1, 2))(x), lambda x: nn.LPPool([2, 3], 2.0, [1, 2])(x),
     x=(2, 3, 4, 7))("p-norms of windows")
case(lambda torch, x: torch.nn.LPPool1d(3, 2)(x.exp()), lambda x: nn.LPPool(2, 3.0)(nv.exp(x)),
     x=(2, 3, 6))("p-norms of windows of one axis")

case(lambda torch, x: torch.nn.PixelShuffle(2)(x), lambda x: nn.PixelShuffle(2)(x), x=(2, 12, 3, 5))("pixel shuffle")
case(lambda torch, x: torch.nn.PixelUnshuffle(2)(x), lambda x: nn.PixelUnshuffle(2)(x),
     x=(2, 3, 4, 6))("pixel unshuffle")
case(lambda torch, x: torch.nn.PixelShuffle(3)(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1),
     lambda x: nn.PixelShuffle(3, "C", ["H", "W"])(x), {"x": "N=2, H=2, W=3, C=18"},
     x=(2, 2, 3, 18))("pixel shuffle of names")
_SETTINGS: dict[str, Any] = {"dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
_OURS: dict[str, Any] = {"dilations": [2, 1], "padding": [1, 0], "strides": [1, 2]}
case(lambda torch, x: torch.nn.Unfold((2, 3), **_SETTINGS)(x), lambda x: nn.Unfold([2, 3], **_OURS)(x),
     x=(2, 3, 5, 7))("unfold")
case(lambda torch, x: torch.nn.Fold((5, 7), (2, 3), **_SETTINGS)(x), lambda x: nn.Fold([5, 7], [2, 3], **_OURS)(x),
     x=(2, 18, 15))("fold")
case(lambda torch, x: torch.nn.Flatten()(x), lambda x: nn.Flatten()(x), x=(2, 3, 4))("flatten")
case(lambda torch, x: torch.nn.Unflatten(1, (3, 4))(x), lambda x: nn.Unflatten(1, (3, 4))(x), x=(2, 12))("unflatten")

case(lambda torch, x, scale, shift: called(torch, torch.nn.InstanceNorm2d(3, affine=True),
                                           {"weight": scale, "bias": shift}, x),
     lambda x, scale, shift: nn.InstanceNorm(3, scale=scale, shift=shift)(x),
     x=(2, 3, 4, 3), scale=3, shift=3)("instance norm")
case(lambda torch, x: torch.nn.InstanceNorm1d(3)(x), lambda x: nn.InstanceNorm("C=3")(x), {"x": "N=2, C=3, W=5"},
     x=(2, 3, 5))("instance norm of names")

case(lambda torch, x, y, w, b: torch.nn.functional.bilinear(x, y, w, b),
     lambda x, y, w, b: nn.Bilinear(3, 4, 2, weights=w, bias=b)(x, y), x=(5, 3), y=(5, 4), w=(2, 3, 4), b=2)("bilinear")
case(lambda torch, x, y, w: torch.nn.functional.bilinear(x, y, w.permute(2, 0, 1)),
     lambda x, y, w: nn.Bilinear("F=3", "G=4", "K=2", weights=w, bias=False)(x, y),
     {"x": "N=5, F=3", "y": "N=5, G=4", "w": "F=3, G=4, K=2"}, x=(5, 3), y=(5, 4), w=(3, 4, 2))("bilinear of names")
for _mode in ("sum", "mean", "max"):
    case(lambda torch, w, mode=_mode: torch.nn.functional.embedding_bag(torch.tensor(BAGS), w, mode=mode),
         lambda w, mode=_mode: nn.EmbeddingBag(6, 4, mode, weights=w)(BAGS), w=(6, 4))(f"bags, {_mode}")
    case(lambda torch, w, mode=_mode: torch.nn.functional.embedding_bag(torch.tensor(BAGS), w, mode=mode,
                                                                        padding_idx=1),
         lambda w, mode=_mode: nn.EmbeddingBag("V=6", "F=4", mode, "B", 1, weights=w)(nv.constant(BAGS, "N=2, B=3")),
         {"w": "V=6, F=4"}, w=(6, 4))(f"bags with an empty row, {_mode}")
case(lambda torch, w, s: torch.nn.functional.embedding_bag(torch.tensor(BAGS), w, mode="sum", per_sample_weights=s),
     lambda w, s: nn.EmbeddingBag(6, 4, "sum", weights=w)(BAGS, s), w=(6, 4), s=(2, 3))("bags with shares")
for _p in (1.0, 2.0, 3.0):
    case(lambda torch, x, y, p=_p: torch.nn.PairwiseDistance(p)(x, y),
         lambda x, y, p=_p: nn.PairwiseDistance(p)(x, y), x=(3, 4), y=(3, 4))(f"distance {_p}")
case(lambda torch, x, y: torch.nn.CosineSimilarity(1)(x, y), lambda x, y: nn.CosineSimilarity("F")(x, y),
     {"x": "N=3, F=4", "y": "N=3, F=4"}, x=(3, 4), y=(3, 4))("cosines of names")
