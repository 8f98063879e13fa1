"""Kernels whose time is that of long products are compiled in a hurry, and what they do with each element apart."""

import numpy as np
import pytest

import nervure as nv
from nervure.kernel import hot_parts
from nervure.kernel.parser import parse_kernel
from nervure.passes.pipelines import native_minimal
from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.compile.compilation import Compilation, compile_function
from nervure.transformers.cpu.executable import CpuExecutable
from nervure.transformers.cpu.settings import COLD
from nervure.transformers.cpu.target import Target
from nervure.transformers.cpu.transformer import CpuTransformer

PRODUCT = """
kernel product(in x: f32[{rows}*1024], in y: f32[16384], out z: f32[{rows}*1024], scratch s: f32[{rows}*128]):
  for i < 8 parallel:
    for j < {rows} as product:
      for k < 128 vector:
        v0 = contract over l < 128:
          v1 = x[128*{rows}*i + 128*j + l]
          v2 = y[k + 128*l]
          give v1, v2
        {target}[128*j + k] = v0
"""
ELEMENTS = """
    for j < 128*{rows} vector:
      v3 = s[j]
      v4 = exp(v3)
      z[128*{rows}*i + j] = v4
"""


def texts(kernel: str, rows: int, target: str) -> list[str]:
    """Returns the module of a kernel, and those of its parts."""
    apart: list[str] = []

    def place(text: str) -> str:
        apart.append(text)
        return f"apart{len(apart)}"

    code = generate(parse_kernel(kernel.format(rows=rows, target=target)), Target.avx2(), place=place)
    return [code.text, *apart]


def test_loops_around_a_long_product_are_cold() -> None:
    for rows, is_cold in ((4, False), (256, True)):
        text, = texts(PRODUCT, rows, "z")
        assert text.startswith(COLD) is is_cold


def test_what_follows_a_long_product_is_a_hot_kernel() -> None:
    whole, part = texts(PRODUCT + ELEMENTS.lstrip("\n"), 256, "s")
    assert whole.startswith(COLD) and "call void @apart1" in whole and "fmul" not in whole
    assert not part.startswith(COLD) and "fmul" in part and "@multiply" not in part
    assert len(texts(PRODUCT + ELEMENTS.lstrip("\n"), 4, "s")) == 1


def test_a_convolution_in_parts_gives_the_bits_of_a_whole_one(cpu: CpuTransformer,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, np.float32) for shape in ((3, 40, 12, 12), (40, 40, 3, 3))]
    x, w = [nv.placeholder(array.shape) for array in arrays]
    y = nv.relu(nv.convolution(x, w, padding=1) * 1.5)
    step = nv.computation([y, *nv.deriv(nv.sum(y * y), [x, w])], x, w)

    def compilation() -> Compilation:
        return compile_function(native_minimal(step.optimised, cpu.target.machine), cpu.target)

    def cold(compiled: Compilation) -> int:
        return sum([code is not None and code.text.startswith(COLD) for code in compiled.texts])

    parted = compilation()
    monkeypatch.setattr(hot_parts, "LONG_PRODUCT", 1 << 60)
    whole = compilation()
    assert cold(parted) > cold(whole) == 0
    for threads in (1, 2):
        with nv.flags.overriding(threads=threads):
            expected, results = [CpuExecutable(step.function, cpu, cpu._gate, each.loaded, each)(*arrays)
                                 for each in (whole, parted)]
        assert all(map(np.array_equal, results, expected))
