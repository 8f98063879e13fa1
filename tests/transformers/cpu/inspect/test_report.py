"""Explanations of a program, its steps and its memory."""

from __future__ import annotations

import numpy as np

import nervure as nv


def test_a_report_names_its_function_its_transformer_and_the_lengths_of_a_call(cpu):
    x, n = nv.Parameter(nv.float32, (nv.dim("n"), 4)), 3
    executable = cpu.build(nv.Function([nv.ops.Sum(nv.ops.Exp(x), [1])], [x], name="totals"))
    report = executable.report([np.ones((n, 4), np.float32)])
    assert (report.name, report.transformer, report.bindings) == ("totals", "cpu", (("n", n),))
    step, = report.steps
    assert step.bytes == 4 * (n * 4 + n)
