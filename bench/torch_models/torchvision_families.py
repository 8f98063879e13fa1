"""Families of torchvision: classification, segmentation, detection and video, narrow and shallow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torchvision import models
from torchvision.models import convnext, detection, maxvit, segmentation, swin_transformer, video

from bench.torch_models.family import Family, Made


def _image(make: Callable[[], Any], side: int = 64, batch: int = 4) -> Made:
    return make(), (torch.randn(batch, 3, side, side),), {}


def _without_classifier(make: Callable[..., Any]) -> Any:
    """A model whose classifier of 100 million weights is left out."""
    model = make()
    model.classifier = torch.nn.Identity()
    return model


def _resnext() -> Any:
    return models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], 10, groups=32, width_per_group=4)


def _convnext() -> Any:
    blocks = [convnext.CNBlockConfig(*widths, 1) for widths in ((24, 48), (48, 96), (96, None))]
    return models.ConvNeXt(blocks, 0.0, num_classes=10)


def _swin(block: Any, merging: Any) -> Any:
    return models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [7, 7], stochastic_depth_prob=0.0, num_classes=10,
                                  block=block, downsample_layer=merging)


def _vit() -> Any:
    return models.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=10)


def _maxvit() -> Any:
    return maxvit.MaxVit((64, 64), 16, 8, [16, 32], [1, 1], 8, 0.0, num_classes=10)


def _detector(make: Callable[..., Any]) -> Made:
    return make(weights=None, weights_backbone=None, num_classes=5), ([torch.rand(3, 64, 64)],), {}


def _pyramid() -> Made:
    made = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5,
                                                        norm_layer=torch.nn.BatchNorm2d)
    return made, (torch.randn(2, 3, 64, 64),), {}


def _video(make: Callable[..., Any]) -> Made:
    return make(num_classes=5), (torch.randn(2, 3, 4, 32, 32),), {}


def _raft() -> Made:
    return models.optical_flow.raft_small(), tuple(torch.randn(2, 1, 3, 128, 128)), {"num_flow_updates": 2}


_IMAGES: dict[str, tuple[Callable[[], Any], int]] = {
    "AlexNet": (partial(_without_classifier, models.alexnet), 64),
    "VGG-11": (partial(_without_classifier, models.vgg11_bn), 32),
    "ResNet-18": (partial(models.resnet18, num_classes=10), 64),
    "ResNeXt": (_resnext, 64),
    "DenseNet": (partial(models.DenseNet, 12, (2, 3, 2), 24, num_classes=10), 64),
    "SqueezeNet 1.1": (partial(models.squeezenet1_1, num_classes=10), 64),
    "MobileNetV2": (partial(models.mobilenet_v2, width_mult=0.35, num_classes=10), 64),
    "MobileNetV3 small": (partial(models.mobilenet_v3_small, num_classes=10), 64),
    "MNASNet": (partial(models.mnasnet0_5, num_classes=10), 64),
    "ShuffleNetV2": (partial(models.shufflenet_v2_x0_5, num_classes=10), 64),
    "EfficientNet-B0": (partial(models.efficientnet_b0, num_classes=10, stochastic_depth_prob=0.0), 64),
    "RegNetX": (partial(models.regnet_x_400mf, num_classes=10), 64),
    "RegNetY": (partial(models.regnet_y_400mf, num_classes=10), 64),
    "GoogLeNet": (partial(models.googlenet, num_classes=10, init_weights=False, aux_logits=False), 64),
    "InceptionV3": (partial(models.inception_v3, num_classes=10, init_weights=False, aux_logits=False), 80),
    "ConvNeXt": (_convnext, 64),
    "ViT": (_vit, 64),
    "Swin": (partial(_swin, swin_transformer.SwinTransformerBlock, swin_transformer.PatchMerging), 64),
    "Swin V2": (partial(_swin, swin_transformer.SwinTransformerBlockV2, swin_transformer.PatchMergingV2), 64),
    "MaxViT": (_maxvit, 64),
    "FCN": (partial(segmentation.fcn_resnet50, weights_backbone=None, num_classes=5), 32),
    "DeepLabV3": (partial(segmentation.deeplabv3_mobilenet_v3_large, weights_backbone=None, num_classes=5), 64),
    "LR-ASPP": (partial(segmentation.lraspp_mobilenet_v3_large, weights_backbone=None, num_classes=5), 64)}


def families() -> Iterator[Family]:
    for name, (make, side) in _IMAGES.items():
        yield Family("torchvision", name, partial(_image, make, side))
    yield Family("torchvision", "ResNet-18 FPN", _pyramid)
    fcos = partial(detection.fcos_resnet50_fpn, min_size=64, max_size=64)
    yield Family("torchvision", "FCOS", partial(_detector, fcos), False)
    yield Family("torchvision", "SSDlite", partial(_detector, detection.ssdlite320_mobilenet_v3_large), False)
    yield Family("torchvision", "MC3-18", partial(_video, video.mc3_18))
    yield Family("torchvision", "RAFT", _raft)
