"""The figures beside JAX: the script measures small calls, and the workloads are there."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="jax is not installed")


def test_small_calls_are_measured_by_turns(capsys):
    from bench import xla
    xla.main(["--small", "--seconds", "0"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("jax ") and ["by hand" in line for line in lines[1:]] == [True, True]
    assert [name for name, _, _ in xla.small_calls()][0].startswith("x * 2 + 1")
