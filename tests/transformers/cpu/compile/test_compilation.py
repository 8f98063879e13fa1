"""Compilation: values that are never stored need no memory, and kernels are compiled while others are planned."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument
from nervure.kernel.tuning import STREAMED_RESULT
from nervure.passes.pipelines import standard
from nervure.transformers.cpu.compile import compilation
from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.target import Target


def test_what_is_never_stored_needs_no_memory():
    x = nv.placeholder((nv.dim("N"),))
    y = nv.sin(nv.cos(nv.exp(x)))
    with nv.transformers.make_transformer("cpu") as cpu, nv.flags.overriding(memory_limit=1 << 16):
        values = np.ones(1 << 16, np.float32)
        total = cpu.computation(nv.sum(y), x)
        np.testing.assert_allclose(total(values), (1 << 16) * np.sin(np.cos(np.exp(np.float32(1)))), rtol=1e-4)
        with pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(y, x)(values)
        with nv.flags.overriding(check_nan=True), pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(nv.sum(y), x)(values)


def test_kernels_begin_to_be_compiled_while_the_next_ones_are_planned(monkeypatch):
    """But for those with a large result: whether it is read, or lies in place, the whole plan tells."""
    written, planned = [], compilation.make_plan

    def generating(kernel, *others):
        written.append(kernel)
        return generate(kernel, *others)

    def planning(*arguments):
        plan = planned(*arguments)
        written.append("planned")
        return plan

    monkeypatch.setattr(compilation, "generate", generating)
    monkeypatch.setattr(compilation, "make_plan", planning)
    x = nv.Parameter(nv.float32, (STREAMED_RESULT // 4, 2))
    function = nv.Function([nv.ops.Exp(x), nv.ops.Sum(nv.ops.Exp(x), [0])], [x])
    steps = compilation.compile_function(function, Target.host()).plan.steps
    kernels = [step.kernel for step in steps]
    large = [kernel for kernel in kernels
             if any([buffer.role == "out" and buffer.size == 2 * STREAMED_RESULT // 4 for buffer in kernel.buffers])]
    assert large and len(large) < len(kernels)
    assert written == [*[kernel for kernel in kernels if kernel not in large], "planned", *large]


@pytest.mark.parametrize(("rows", "name"), [(9, "multiply_many_f32"), (100, "multiply_many_f32"), (8, "multiply_f32"),
                                            (nv.dim("n"), "multiply_f32")])
def test_a_product_that_never_has_few_rows_links_nothing_for_them(rows, name):
    x, w = nv.Parameter(nv.float32, (rows, 300)), nv.Parameter(nv.float32, (300, 400))
    function = standard(nv.Function([nv.ops.MatMul(x, w)], [x, w]))
    code, = compilation.compile_function(function, Target.host()).texts
    assert f"@{name}." in code.text
