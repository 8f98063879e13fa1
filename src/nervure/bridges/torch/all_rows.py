"""The whole table: the rows of all families.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> ROWS["add.Tensor"](x.type, x, 2, 1)
f32[2, 3] Add(Parameter, Full)
"""

from __future__ import annotations

from nervure.bridges.torch import (  # noqa: F401  # each enters its rows
    attention_rows,
    bag_rows,
    creation_rows,
    distance_rows,
    elementwise_rows,
    fft_rows,
    histogram_rows,
    index_rows,
    linear_algebra_rows,
    lu_rows,
    norm_rows,
    order_rows,
    part_rows,
    product_rows,
    recurrent_rows,
    reduction_rows,
    sampling_rows,
    scan_rows,
    segment_rows,
    special_rows,
    strided_rows,
    view_rows,
    window_rows,
)
from nervure.bridges.torch.row_table import ROWS

__all__ = ["ROWS"]
