"""Networks of images, asked and trained: their rows, sizes and bars. The networks are in :mod:`bench.models.images`.

>>> problem = PROBLEMS["unet"](scale=0.01)
>>> model, = problem.inputs()
>>> model.levels, problem.mistake([model], [model.results().astype("float32")])
(1, None)
"""

from __future__ import annotations

from bench.models.images import Digits, Images, ResNet, SmallResNet, UNet
from bench.problems import PROBLEMS, Bar, listed
from bench.steps import A_TENTH_LESS, FirstStep, Forward, KeptFirstStep, Memory, Training

RESNET = "ResNet-18, 224x224"
SMALL_RESNET = "ResNet-18 for 32x32 images, batch 32"
UNET = "U-Net of 4 levels, width 16, 1x3x128x128"
SIZES = {Digits: ("batch",), ResNet: ("batch", "width", "blocks"), SmallResNet: ("batch", "width", "blocks"),
         UNet: ("batch", "width", "levels")}
NEAR = {"tolerance": 1e-4}
FAR = {"tolerance": 1e-3, "calls": 5}  # as few losses of a ResNet are compared: float64 takes seconds a step

for name, title, base, bar, model, options in (
        ("digits", "the digits network, batch 64: Adam step", Training, Bar(1.2, 2.0), Digits, NEAR),
        ("resnet", f"{RESNET}, batch 1: forward", Forward, Bar(0.8, 1.0), ResNet, FAR),
        ("resnet_16", f"{RESNET}, batch 16: forward", Forward, Bar(0.8, 1.0), ResNet, {"batch": 16, **FAR}),
        ("resnet_step", f"{SMALL_RESNET}: SGD step with momentum", Training, Bar(1.0, 1.4), SmallResNet, FAR),
        ("unet", f"{UNET}: forward", Forward, Bar(0.9, 1.2), UNet, NEAR),
        ("unet_step", f"{UNET}: Adam step", Training, Bar(0.9, 1.2), UNet, {**NEAR, "calls": 5}),
        ("resnet_memory", f"{SMALL_RESNET}: memory of 50 steps", Memory, A_TENTH_LESS, SmallResNet, FAR),
        ("resnet_first", f"{SMALL_RESNET}: first loss, empty cache", FirstStep, Bar(3.0, absolute=True), SmallResNet,
         {"tolerance": 1e-3}),
        ("resnet_first_kept", f"{SMALL_RESNET}: first loss, full cache", KeptFirstStep, Bar(0.5, absolute=True),
         SmallResNet, {"tolerance": 1e-3})):
    own = {size: options.get(size, getattr(model(), size)) for size in SIZES[model]}
    kind = {entry: value for entry, value in options.items() if entry not in own}
    listed(name, title, bar, own, " ".join(own))(type(base.__name__, (base,), {"model": model, **kind}))

IMAGES = {name: problem for name, problem in PROBLEMS.items() if issubclass(getattr(problem, "model", object), Images)}
