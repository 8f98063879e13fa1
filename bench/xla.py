"""Training steps and small calls on xla beside JAX written by hand, by turns: ``python -m bench.xla --seconds 60``.

The cost of a call is its processor time, the least of all rounds: so that other programs on the machine hardly count.

>>> least([lambda: None, lambda: sum(range(10_000))], 0.01)[0] >= 0
True
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

import nervure as nv
from bench.models.gpt import Gpt
from bench.models.images import SmallResNet
from bench.networks import jax as image_networks_in_jax
from bench.networks import nervure as image_networks
from bench.training import jax as training_in_jax
from bench.training import nervure as training

AT_ONCE = 2000  # calls of a small function in one measurement


def least(calls, seconds):
    """The least processor time of each call, in seconds, measured by turns for at least some seconds."""
    best, end = [float("inf")] * len(calls), time.perf_counter() + seconds
    for call in [*calls, *calls]:
        call()
    while True:
        for at, call in enumerate(calls):
            start = time.process_time()
            call()
            best[at] = min(best[at], time.process_time() - start)
        if time.perf_counter() > end:
            return best


def pair(prepared):
    """A program that is ready as a function without arguments."""
    return lambda: prepared.call(*prepared.arguments)


def steps():
    """The training steps: name, here, by hand."""
    gpt, network = Gpt(), SmallResNet()
    yield ("GPT, 4 layers of width 128, 12x64 characters: AdamW step", pair(training.given(False)(None, [gpt])),
           pair(training_in_jax.trained(lambda step: step)(None, [gpt])))
    yield ("small ResNet: step", pair(image_networks.trained(None, [network])),
           pair(image_networks_in_jax.trained("NCHW")(None, [network])))


def small_calls():
    """Calls of a small function, with results in memory and on the device: name, here, by hand."""
    x, given = nv.placeholder((8, 8)), np.ones((8, 8), np.float32)
    plain, on_device = jax.jit(lambda x: x * 2 + 1), jax.device_put(given)
    for results, array, wait in (("numpy", given, np.asarray), ("device", on_device, jax.block_until_ready)):
        mine = nv.computation(x * 2 + 1, x, results=results)

        def repeated(call, array=array, wait=lambda value: value):
            def run():
                for _ in range(AT_ONCE):
                    wait(call(array))
            return run
        yield (f"x * 2 + 1 of 8x8 numbers, results={results!r}, {AT_ONCE} calls", repeated(mine),
               repeated(plain, wait=wait))


def main(arguments=None):
    """Prints a line for each pair: milliseconds here and by hand, and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m bench.xla", description=__doc__.partition(":")[0])
    parser.add_argument("--seconds", type=float, default=60, help="for each pair (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="the small calls alone")
    options = parser.parse_args(arguments)
    print(f"jax {jax.__version__} on {jax.devices()[0]}")
    with nv.flags.overriding(transformer="xla"):
        for name, mine, theirs in [*([] if options.small else steps()), *small_calls()]:
            here, by_hand = least([mine, theirs], options.seconds)
            print(f"{name}: {here * 1e3:.2f} ms, by hand {by_hand * 1e3:.2f} ms, {here / by_hand:.2f}", flush=True)


if __name__ == "__main__":
    main()
