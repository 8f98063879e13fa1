"""Ten kernels, one for each way in which loops are used: the texts of tests/golden/kernel."""

from __future__ import annotations

from nervure.kernel.ir import Kernel
from nervure.kernel.parser import parse_kernel
from tests.ir.golden import GOLDEN

NAMES = ("pointwise", "strided", "softmax", "outer_sum", "gather", "scatter_add", "argmax", "padded", "several",
         "in_place")


def text_of(name: str) -> str:
    """The text of one of them, without the comment that says what it does."""
    comment, _, text = (GOLDEN / "kernel" / f"{name}.txt").read_text(encoding="ascii").partition("\n")
    assert comment.startswith("# ")
    return text


def kernel_of(name: str) -> Kernel:
    """One of them."""
    return parse_kernel(text_of(name))
