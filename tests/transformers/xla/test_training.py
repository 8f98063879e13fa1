"""Layers, optimisers and training on xla: the tests of other transformers run on it, and the digits are learnt."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import nervure as nv
from nervure.tools.cli import main
from tests.conformance.running import DEEP
from tests.processes import ROOT

pytest.importorskip("jax", reason="jax is not installed")

OF_THE_CPU = ("test_steps_are_written_in_place", "test_inputs_are_one_product_for_all_steps")
"""Tests of layers that look at the steps or the memory of the cpu's programs."""


def test_the_tests_of_layers_rules_and_trainings_hold_on_xla():
    """X12: a sample of them, all with DEEP_TESTS."""
    folders = [f"tests/{folder}" for folder in ("nn", "optim", "training")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders, "-k",
               " and ".join([f"not {name}" for name in OF_THE_CPU]), *([] if DEEP else ["--sample", "7"])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=9000, check=False,
                          env={**os.environ, "NERVURE_TRANSFORMER": "xla"})
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) >= 5


@pytest.fixture
def quick_xla():
    """XLA leaves most optimisations out, which make no difference to what a training learns."""
    import jax
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def test_the_digits_are_learnt(tmp_path, capsys, quick_xla):
    """X12: an epoch of the recipe, which is saved, and read on the default transformer."""
    assert main(["train", "digits", "--epochs", "1", "--transformer", "xla", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "steps per second on xla" in text and float(text.split("test accuracy:")[1]) > 0.85


def test_a_training_on_xla_is_that_on_the_cpu(xla, cpu):
    """X12: with dropout's masks bit for bit, batch norm, and a norm of all gradients."""
    found = []
    for transformer in (xla, cpu):
        nv.seed(3)
        nv.seed(3, transformer)
        model = nv.nn.Sequential(nv.nn.LinearLayer("F=6", "H=8"), nv.nn.BatchNorm("H=8"), nv.relu,
                                 nv.nn.Dropout(0.3), nv.nn.LinearLayer("H=8", "Y=2"))
        rule = nv.optim.Clipped(nv.optim.Adam(0.01), norm=1.0)
        trainer = nv.Trainer(model, rule, nv.nn.losses.mean_squared_error, axes=("N=n, F=6", "N=n, Y=2"),
                             transformer=transformer)
        generator = np.random.default_rng(0)
        data = generator.standard_normal((60, 6)), generator.standard_normal((60, 2))
        trainer.fit(data, epochs=2, size=16, shows=False)
        found.append([entry["loss"] for entry in trainer.history])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
