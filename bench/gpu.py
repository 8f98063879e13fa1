"""Training steps on a GPU beside JAX written by hand and PyTorch's compiler: ``python -m bench gpu``.

A GPT of 124 million parameters, which computes in bfloat16, and ResNet-50, whose products and convolutions have the
device's usual precision for float32. A row has milliseconds a step, what was processed in a second, and the share of
the device's peak in bfloat16 that 6 operations for each parameter and token are. PyTorch takes part where it has the
device. ``--small`` runs tiny models on any device, to show that the script works.

>>> share("NVIDIA H100 80GB HBM3", 124e6 * 6 * 4e5)
'30 %'
>>> share("a processor", 1e9)
''
"""

from __future__ import annotations

import argparse
import statistics
import time

import jax

import nervure as nv
from bench.models.gpt import Gpt
from bench.models.images import ResNet50
from bench.networks import jax as image_networks_in_jax
from bench.networks import nervure as image_networks
from bench.training import jax as training_in_jax
from bench.training import nervure as training

GPT = Gpt(batch=16, layers=12, width=768, heads=12, context=1024, vocabulary=50_304, low=True, tied=True)
SMALL_GPT = Gpt(batch=2, layers=1, width=32, context=16, low=True, tied=True)
SMALL_RESNET = ResNet50(batch=2, side=32, width=4)

PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12, "4090": 165e12}
"""Operations a second of dense products in bfloat16, by a part of the device's name, from the makers' data sheets."""


def share(device, operations):
    """The share of a device's peak that operations in a second are, as text; nothing for a device without a row."""
    peak = next((peak for name, peak in PEAKS.items() if name in device), None)
    return "" if peak is None else f"{operations / peak:.0%}".replace("%", " %")


def median(call, seconds):
    """The median time of a call, in seconds, after three calls, of as many as fit into some seconds."""
    for _ in range(3):
        call()
    taken, end = [], time.perf_counter() + seconds
    while not taken or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def contenders(model, here, in_jax):
    """Programs for a step of a model: name, and a function that prepares a call."""
    def ready(prepare):
        def prepared():
            program = prepare(None, [model])
            return lambda: program.call(*program.arguments)
        return prepared
    yield "nervure", ready(here)
    yield "jax", ready(in_jax)
    compiled = in_torch(model)
    if compiled is not None:
        yield "torch.compile", compiled


def in_torch(model):
    """PyTorch's compiled step on its GPU, or nothing where it has none."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.set_float32_matmul_precision("high")
    torch.set_default_device("cuda")
    if isinstance(model, Gpt):
        from bench.training.torch import trained
        prepare = trained(compile_loss=True, fused=True)
    else:
        from bench.networks.torch import trained
        prepare = trained(torch.channels_last, compiled=True)

    def prepared():
        program = prepare(None, [model])
        arguments = [argument.cuda() for argument in program.arguments]
        return lambda: float(program.call(*arguments))
    return prepared


def rows(is_small, seconds):
    """The rows of both models."""
    device = jax.devices()[0].device_kind
    gpt, network = (SMALL_GPT, SMALL_RESNET) if is_small else (GPT, ResNet50())
    size = sum([value.size for value in gpt.parameters().values()])
    for model, name, here, in_jax, unit, count, operations in (
            (gpt, f"GPT of {size / 1e6:.0f} M parameters, {gpt.batch}x{gpt.context}", training.given(False),
             training_in_jax.trained(lambda step: step), "tokens", gpt.batch * gpt.context, 6 * size),
            (network, f"ResNet-50, {network.batch}x3x{network.side}x{network.side}", image_networks.trained,
             image_networks_in_jax.trained("NHWC"), "images", network.batch, 0)):
        for program, prepare in contenders(model, here, in_jax):
            took = median(prepare(), seconds)
            yield {"step": name, "program": program, "ms": f"{took * 1e3:.1f}",
                   "a second": f"{count / took:,.0f} {unit}", "of the peak": share(device, count / took * operations)
                   if operations else ""}


def main(arguments=None):
    """Prints the rows, or says that there is no GPU."""
    parser = argparse.ArgumentParser(prog="python -m bench gpu", description=__doc__.partition(":")[0])
    parser.add_argument("--seconds", type=float, default=20, help="for each program (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="tiny models, on any device")
    options = parser.parse_args(arguments)
    device = jax.devices()[0]
    if device.platform == "cpu" and not options.small:
        print("jax has no GPU here: nothing is measured (--small runs tiny models on the processor)")
        return
    print(f"jax {jax.__version__} on {device.device_kind}")
    with nv.flags.overriding(transformer="xla", xla_precision="default"), jax.default_matmul_precision("default"):
        for row in rows(options.small, options.seconds):
            print("  ".join(filter(None, row.values())), flush=True)


if __name__ == "__main__":
    main()
