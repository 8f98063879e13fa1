"""Folds: points combined in order by statements of their own, one after the other; in a vector loop in each lane.

>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.transformers.cpu.compile.codegen.generate import generate
>>> from nervure.transformers.cpu.target import Target
>>> text = generate(parse_kernel('''
... kernel product(in x: f32[100], out y: f32[1]):
...   v0 = fold over i < 100:
...     v1 = x[i]
...     give v1
...   combine (v2), (v3):
...     v4 = multiply(v2, v3)
...     give v4
...   y[0] = v0
... '''), Target.avx2()).text
>>> "fmul float" in text, "select i1" in text
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import Fold
from nervure.transformers.cpu.compile.codegen.combining import flat, shaped
from nervure.transformers.cpu.compile.codegen.element import literal
from nervure.transformers.cpu.compile.codegen.frame import Frame
from nervure.transformers.cpu.compile.codegen.loops import nest, stored
from nervure.transformers.cpu.compile.llvm.builder import Register
from nervure.transformers.cpu.compile.llvm.types import I1


def build_fold(frame: Frame, fold: Fold) -> None:
    """Builds a fold. The first point meets zeros, whose combination is thrown away."""
    b, width = frame.builder, frame.width
    zeros = [literal(b, 0, variable.dtype, width) for variable in fold.results]

    def point(carried: Sequence[Register]) -> Sequence[Register]:
        is_first, *before = carried
        frame.build(frame, fold.body)
        values = [frame.spread(frame.scalar(value), width) for value in fold.values]
        for variable, element in zip(fold.left, shaped(zeros, before), strict=True):
            frame.keep(variable, frame.here(element))
        for variable, value in zip(fold.right, values, strict=True):
            frame.keep(variable, value)
        frame.build(frame, fold.combine)
        combined = flat([frame.spread(frame.scalar(value), width).element for value in fold.combined])
        following = [b.where(is_first, new, both)
                     for new, both in zip(flat([value.element for value in values]), combined, strict=True)]
        return [b.constant(I1, False), *following]

    _, *results = nest(frame, fold.indices, stored(fold), [b.constant(I1, True), *flat(zeros)], point)
    for variable, element in zip(fold.results, shaped(zeros, results), strict=True):
        frame.keep(variable, frame.here(element))
