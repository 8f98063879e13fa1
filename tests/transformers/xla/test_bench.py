"""The figures beside JAX: the script measures small calls, and the workloads are there."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import transformers
from tests.conformance.running import DEEP

pytest.importorskip("jax", reason="jax is not installed")


@pytest.fixture(autouse=True)
def _own_default(monkeypatch):
    """The scripts run while xla is the default transformer, which the tests behind these do not see."""
    monkeypatch.setattr(transformers, "_default", None)


def test_small_calls_are_measured_by_turns(capsys):
    from bench import xla
    xla.main(["--small", "--seconds", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("jax ") and ["by hand" in line for line in lines[1:]] == [True, True]
    assert [name for name, _, _ in xla.small_calls()][0].startswith("x * 2 + 1")


def test_steps_on_a_gpu_are_those_of_a_gpt_of_124_million_parameters_and_resnet_50():
    from bench import gpu
    from bench.models.images import ResNet50
    from bench.models.nodes import learnt
    assert sum([np.prod(shape) for shape in gpu.GPT.shapes().values()]) == 124_475_904
    assert sum([value.size for value in learnt(ResNet50().parameters()).values()]) == 25_557_032
    assert gpu.share("NVIDIA H200", 98.9e12) == "10 %"


@pytest.mark.skipif(not DEEP, reason="XLA compiles for a minute: part of make test-deep")
def test_tiny_steps_take_part_on_any_device(capsys):
    from bench import gpu
    gpu.main(["--small", "--seconds", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines[1:3]] == ["nervure", "jax"]
    assert "tokens" in lines[1] and "images" in lines[-1]


@pytest.mark.skipif(not DEEP, reason="XLA compiles for a minute: part of make test-deep")
def test_low_precision_is_that_of_jax_written_by_hand():
    from bench import gpu
    from bench.training import jax as by_hand
    from bench.training import nervure as here
    losses = []
    with nv.flags.overriding(transformer="xla"):
        for prepare in (here.given(False), by_hand.trained(lambda step: step)):
            program = prepare(None, [gpu.SMALL_GPT])
            losses.append([np.ravel(program.call(*program.arguments)[0] if program.read is here.first
                                    else program.call(*program.arguments)).item() for _ in range(5)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.02)
    assert losses[0][-1] < losses[0][0]
