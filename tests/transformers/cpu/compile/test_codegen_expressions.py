"""Expressions over loop indices as machine code: floor division and remainder of any sign, in one lane and in many."""

from __future__ import annotations

import numpy as np
import pytest

from nervure.kernel.ir import Address, Buffer, For, Index, Kernel, Store, Variable
from nervure.types.dim import Dim, DimLike, dim, dim_max, dim_min, index, product
from nervure.types.dtype import int64
from tests.kernel import block
from tests.transformers.cpu.running import check

I, J = index(0), index(1)
N, M, A = dim("N"), dim("M"), dim("A", min=1)

EXPRESSIONS: dict[str, DimLike] = {
    "quotient": (I * 3 + J) // 4,
    "of a symbol": (I + J * 5) // A,
    "by zero": (I + J) // N,
    "remainder by zero": (J + I * 7) % N,
    "negative": (J - I * 9) // A,
    "negative remainder": (J - I * 9 - 1) % 7,
    "negative by zero": (J - I - 3) % N,
    "far": (J + M) // A,
    "far remainder": (J * 1000 + M) % A,
    "by an index": (M - J * 3) // (I + 1),
    "by the lanes": (I - 5) // (J + 1),
    "nested": (I * 8 + J) // 3 % 5 * 2 + J % 4,
    "clamped": dim_min(dim_max(J - I, 0), A),
    "square": J * J * I + A * A * J,
    "product": product([I + J, J + A, I - J]),
}


def table(expression: DimLike, vector: bool) -> Kernel:
    y, value = Buffer("y", int64, 5 * 21, "out"), Variable(int64)
    body = (Index(value, expression), Store(y, Address(0, ((block.I, 21), (block.J, 1))), value))
    inner = For(block.J, 21, body, vector=vector)
    return Kernel("table", (y,), (For(block.I, 5, (inner,), parallel=True),))


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("vector", [False, True])
def test_expressions(name: str, vector: bool) -> None:
    expression = EXPRESSIONS[name]
    assert isinstance(expression, Dim)
    for bindings in ({"N": 0, "M": 0, "A": 1}, {"N": 3, "M": 2**50 - 1, "A": 7}, {"N": 1, "M": 2**47, "A": 2**20 + 1},
                     {"N": 5, "M": 3**31, "A": 3}):
        check(table(expression, vector), {"y": np.zeros(5 * 21, np.int64)}, bindings, (8, 32))
