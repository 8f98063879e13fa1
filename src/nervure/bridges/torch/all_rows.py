"""The whole table: the rows of all families.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3)).output
>>> ROWS["add.Tensor"](x.type, x, 2, 1)
f32[2, 3] Add(Parameter, Full)
"""

from __future__ import annotations

from nervure.bridges.torch.row_table import ROWS

__all__ = ["ROWS"]
