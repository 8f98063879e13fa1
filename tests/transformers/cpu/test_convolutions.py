"""Convolutions as the cpu runs them: memory of a step, kernels of a network."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure import nn
from nervure.tools.recipes import DigitsNetwork
from nervure.transformers.cpu.cache import executable_cache


def digits_step(count: int = 16) -> tuple[nv.Computation, list[np.ndarray]]:
    """A training step of the recipe's network, and its arguments."""
    images, labels = nv.placeholder({"N": count, "H": 8, "W": 8}), nv.placeholder({"N": count}, dtype=nv.int64)
    loss = nn.losses.cross_entropy(DigitsNetwork()(images), labels)
    generator = np.random.default_rng(0)
    data = [generator.standard_normal((count, 8, 8), np.float32), generator.integers(0, 10, count)]
    return nv.transformers.make_transformer("cpu").computation([loss, nv.optim.Adam(2e-3)(loss)], images, labels), data


def test_a_training_step_of_convolutions_has_no_host_step_and_is_kept_on_disk():
    step, arguments = digits_step()
    losses = [step(*arguments)[0].item() for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    assert all([each.kernel is not None for each in step.executable.compilation.plan.steps])
    assert executable_cache.describe(step.function, step.executable.compilation) is not None


def test_the_memory_of_a_step_of_convolutions_is_what_is_alive_at_once():
    """Windows are read where the data lie: what a window position sees is never in memory beside it."""
    step, arguments = digits_step()
    report = nv.explain(step, *arguments, repeat=0).report
    alive = [sum([-(-each.bytes // 64) * 64 for each in report.temporaries if each.first <= number <= each.last])
             for number in range(len(report.steps))]
    assert max(alive) <= report.together_bytes <= 1.1 * max(alive)
    padded = 16 * 48 * 11 * 10 * 4
    assert max([each.bytes for each in report.temporaries]) <= padded
