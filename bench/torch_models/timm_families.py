"""Families of timm: one member of each, shallow where its depth can be told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import timm
import torch

from bench.torch_models.family import Family, Made

_MEMBERS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "ViT": ("vit_tiny_patch16_224", 64, {"img_size": 64, "depth": 2}),
    "DeiT": ("deit_tiny_distilled_patch16_224", 64, {"img_size": 64, "depth": 2}),
    "BEiT": ("beit_base_patch16_224", 64, {"img_size": 64, "depth": 2, "embed_dim": 48, "num_heads": 4}),
    "EVA-02": ("eva02_tiny_patch14_224", 56, {"img_size": 56, "depth": 2}),
    "CaiT": ("cait_xxs24_224", 64, {"img_size": 64, "depth": 2}),
    "XCiT": ("xcit_nano_12_p16_224", 64, {"img_size": 64, "depth": 2}),
    "VOLO": ("volo_d1_224", 64, {"img_size": 64}),
    "Twins": ("twins_pcpvt_small", 64, {"img_size": 64, "depths": (1, 1, 1, 1)}),
    "PVT v2": ("pvt_v2_b0", 64, {"depths": (1, 1, 1, 1)}),
    "Swin": ("swin_tiny_patch4_window7_224", 56, {"img_size": 56, "depths": (2, 2), "embed_dim": 24,
                                                  "num_heads": (2, 4)}),
    "CoAtNet": ("coatnet_nano_rw_224", 64, {"img_size": 64}),
    "LeViT": ("levit_128s", 64, {"img_size": 64}),
    "MobileViT": ("mobilevit_xxs", 64, {}),
    "EdgeNeXt": ("edgenext_xx_small", 64, {}),
    "FastViT": ("fastvit_t8", 64, {}),
    "PoolFormer": ("poolformer_s12", 64, {}),
    "MLP-Mixer": ("mixer_s32_224", 64, {"img_size": 64}),
    "gMLP": ("gmlp_ti16_224", 64, {"img_size": 64}),
    "ConvMixer": ("convmixer_768_32", 28, {}),
    "ConvNeXt": ("convnext_atto", 64, {"depths": (1, 1, 1, 1)}),
    "MambaOut": ("mambaout_femto", 64, {"depths": (1, 1, 1, 1)}),
    "FocalNet": ("focalnet_tiny_srf", 64, {}),
    "NFNet": ("nfnet_l0", 64, {}),
    "Res2Net": ("res2net50_26w_4s", 64, {"layers": (1, 1, 1, 1)}),
    "ResNeSt": ("resnest14d", 64, {}),
    "RepVGG": ("repvgg_a0", 64, {}),
    "GhostNet": ("ghostnet_100", 64, {}),
    "ReXNet": ("rexnet_100", 64, {}),
    "LCNet": ("lcnet_050", 64, {}),
    "HGNet v2": ("hgnetv2_b0", 64, {}),
    "DLA": ("dla34", 64, {}),
    "ESE-VoVNet": ("ese_vovnet19b_dw", 64, {}),
    "Sequencer": ("sequencer2d_s", 64, {"layers": (1, 1), "embed_dims": (32, 32), "hidden_sizes": (8, 8),
                                        "patch_sizes": (8, 1), "mlp_ratios": (3.0, 3.0)})}


def _made(member: str, side: int, settings: dict[str, Any]) -> Made:
    return timm.create_model(member, pretrained=False, num_classes=10, **settings), (torch.randn(4, 3, side, side),), {}


def families() -> Iterator[Family]:
    for name, given in _MEMBERS.items():
        yield Family("timm", name, partial(_made, *given))
