"""Profiles: what is printed adds up, and the tensor goes on."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.inspection.explain import Explanation
from nervure.inspection.profiling import profile
from nervure.transformers.report import CompilationReport, OpReport, StepReport


def test_a_table_has_each_instruction_and_each_kind(capsys):
    """T138."""
    x = nv.tensor(np.ones((4, 8), np.float32))
    found = nv.proceed_bench(nv.sum(nv.exp(x), axis=1) + 1, n=3)
    instructions, kinds = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert re.match(r" *time +share +bytes +instruction$", instructions.splitlines()[0])
    assert re.match(r" *time +share +bytes +ops$", kinds.splitlines()[0])
    assert instructions.splitlines()[-1].endswith("together") and "Exp" in kinds
    np.testing.assert_allclose(found.numpy(), np.full(4, 8 * np.e + 1), rtol=1e-6)
    assert nv.proceed_time(x * 2).tolist() == np.full((4, 8), 2.0).tolist()


def test_times_of_a_kind_add_up():
    """T138."""
    lines = [OpReport(op, None, "f32[2]", "", None, None) for op in ("Exp", "Add")]
    steps = [StepReport(number, "kernel", "k", tuple(ops), (), (), bytes=size, seconds=seconds)
             for number, (ops, size, seconds)
             in enumerate([(lines, 8, 1e-3), (lines[:1], 1000, 2e-3), (lines, None, 1e-3)])]
    text = profile(Explanation(CompilationReport("f", "cpu", (), tuple(steps)), 4e-3))
    assert text == """\
time  share  bytes  instruction
1 ms    25%      8  kernel k: Exp, Add
2 ms    50%  1,000  kernel k: Exp
1 ms    25%         kernel k: Exp, Add
4 ms   100%         together

time  share  bytes  ops
2 ms    50%         Exp, Add
2 ms    50%  1,000  Exp"""


def test_mistakes():
    """T138."""
    with pytest.raises(InvalidArgument, match="n is 1 or more"):
        nv.proceed_bench(nv.constant(1.0) + 1, n=0)
    with pytest.raises(WrongKind, match="no machine code"):
        nv.disassemble(nv.constant(1.0))


def test_where_nothing_runs_there_is_no_table():
    """T138."""
    assert profile(Explanation(CompilationReport("f", "cpu", (), ()))) == "nothing to run"


def test_what_has_no_kernels_is_shown_by_name():
    """T137."""
    x = nv.placeholder((3,))
    with nv.transformers.make_transformer("interpreter") as made:
        assert nv.disassemble(made.computation(nv.exp(x), x)) == "computation, step 0: op Exp, Exp\n"
