"""Products of matrices: sizes, how the operands lie in memory, and the bars.

>>> case = PRODUCTS["matmul_weights"]
>>> case.title, case.right_shape
('x @ w.T, 100x784x256', (256, 784))
"""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

from bench.problems import Bar, Problem, listed


class Product(NamedTuple):
    """The product of ``rows`` x ``points`` by ``points`` x ``columns``, of so many pairs; sides may be given
    transposed.
    """

    rows: int
    points: int
    columns: int
    bar: Bar
    batch: int = 0
    left: bool = False
    right: bool = False

    @property
    def title(self) -> str:
        """What the table calls it."""
        pairs = f"{self.batch} x " if self.batch else ""
        sides = f"{'x.T' if self.left else 'x'} @ {'w.T' if self.right else 'w'}"
        return f"{sides}, {pairs}{self.rows}x{self.points}x{self.columns}"

    @property
    def left_shape(self) -> tuple[int, ...]:
        """As it lies in memory."""
        return self._shape(self.rows, self.points, self.left)

    @property
    def right_shape(self) -> tuple[int, ...]:
        """As it lies in memory."""
        return self._shape(self.points, self.columns, self.right)

    def _shape(self, rows: int, columns: int, is_transposed: bool) -> tuple[int, ...]:
        pair = (columns, rows) if is_transposed else (rows, columns)
        return (self.batch, *pair) if self.batch else pair


PRODUCTS = {
    "matmul_64": Product(64, 64, 64, Bar(0.9, 1.2)),
    "matmul_96": Product(96, 96, 96, Bar(0.9, 1.2)),
    "matmul_128": Product(128, 128, 128, Bar(0.95, 1.2)),
    "matmul_256": Product(256, 256, 256, Bar(0.97, 1.2)),
    "matmul_512": Product(512, 512, 512, Bar(0.97, 1.05)),
    "matmul_1024": Product(1024, 1024, 1024, Bar(0.97, 1.05)),
    "matmul_2048": Product(2048, 2048, 2048, Bar(0.97, 1.05)),
    "matmul_odd": Product(333, 257, 511, Bar(0.97, 1.05)),
    "matmul_gradient": Product(1000, 900, 1100, Bar(1.0, 1.2), left=True),
    "matmul_weights": Product(100, 784, 256, Bar(1.0, 1.2), right=True),
    "batched_64": Product(64, 64, 64, Bar(1.0, 1.3), batch=64),
    "batched_48": Product(48, 48, 48, Bar(1.0, 1.3), batch=96),
    "batched_32": Product(32, 32, 32, Bar(1.0, 1.3), batch=64),
    "row": Product(1, 4096, 4096, Bar(1.0, 1.3)),
    "row_weights": Product(1, 4096, 4096, Bar(1.0, 1.3), right=True),
    "few_rows": Product(8, 4096, 4096, Bar(1.0, 1.3)),
    "few_rows_weights": Product(8, 4096, 4096, Bar(1.0, 1.3), right=True),
    "few_columns": Product(4096, 4096, 8, Bar(1.0, 1.3)),
    "few_columns_weights": Product(4096, 4096, 8, Bar(1.0, 1.3), right=True),
}


class Matmul(Problem):
    """One of the products. Inputs are scaled, so that results are of the size of 1."""

    case: Product
    tolerance = 1e-5

    def inputs(self):
        left, right = self.normal(*self.case.left_shape), self.normal(*self.case.right_shape)
        return [left, right / np.float32(np.sqrt(self.case.points))]

    def reference(self, left, right):
        left = np.swapaxes(left, -1, -2) if self.case.left else left
        right = np.swapaxes(right, -1, -2) if self.case.right else right
        return [left @ right]


for name, case in PRODUCTS.items():
    listed(name, case.title, case.bar, {})(type("Matmul", (Matmul,), {"case": case}))


@listed("dense", "gelu(x @ w + b) + r, 512x768x3072, w a variable", Bar(1.05, 1.2), {})
class Dense(Problem):
    """x, w, b and r; gelu is the one with the error function."""

    def inputs(self):
        return [self.normal(512, 768), self.normal(768, 3072) / np.float32(np.sqrt(768)), self.normal(3072),
                self.normal(512, 3072)]

    def reference(self, x, w, b, r):
        from math import erf
        z = x @ w + b
        return [0.5 * z * (1 + np.vectorize(erf)(z / np.sqrt(2))) + r]


@listed("dense_bfloat16", "gelu(x @ w + b) + r in bfloat16, 512x768x3072, w a variable", Bar(1.0, 1.2), {})
class DenseBfloat16(Dense):
    tolerance = 2.0**-6
    dtype = "bfloat16"

    def inputs(self):
        return [entry.astype(ml_dtypes.bfloat16) for entry in super().inputs()]


@listed("bytes", "x @ w of uint8 and int8 in int32, 512x3072x768, w a variable", Bar(1.0, 1.2), {})
class Bytes(Problem):
    """Results are exact, or rounded to float32."""

    def inputs(self):
        x, w = [self._random.integers(0, 256, shape, np.uint8) for shape in ((512, 3072), (3072, 768))]
        return [x, w.view(np.int8)]

    def reference(self, x, w):
        return [x.astype(np.float64) @ w.astype(np.float64)]

    def mistake(self, inputs, results):
        result, right = results[0], self.reference(*inputs)[0]
        wanted = right.astype(np.float32) if result.dtype == np.float32 else right.astype(np.int32)
        return None if result.dtype == wanted.dtype and np.array_equal(result, wanted) else "differs"
