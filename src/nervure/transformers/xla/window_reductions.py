"""Reductions of windows: a maximum or a sum over ``Windows`` is one reduce_window of what the view shows.

The windows themselves, many times as large, are nowhere then.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (5,))
>>> with nv.transformers.make_transformer("xla") as xla:
...     xla.build(nv.Function([nv.ops.MaxPool(x, axes=(0,), windows=(3,))], [x]))(np.float32([1, 5, 2, 3, 4]))
(array([5., 5., 4.], dtype=float32),)
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax

from nervure.ops.pooling import Windows
from nervure.ops.reductions import Fold
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.element_types import convert
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.structured_form import FUNCTIONS, accumulated, unit_of


def reduced(trace: CallTrace, op: Fold, operands: Sequence[Array]) -> list[Array] | None:
    """Returns a reduction of the windows that the one of ``operands`` shows; None where it is one of other elements."""
    view = op.operands[0].op
    if not isinstance(view, Windows) or view.operands[0] not in trace.values:
        return None
    x, rank = trace.values[view.operands[0]], len(view.operands[0].type.shape)
    if sorted(op.axes) != list(range(rank, rank + len(view.axes))) or x.dtype == jnp.bool_ or not operands[0].size:
        return None
    lengths, strides, dilations = [[dict(zip(view.axes, listed, strict=True)).get(axis, 1) for axis in range(rank)]
                                   for listed in (view.windows, view.strides, view.dilations)]
    dtype = op.outputs[0].type.dtype
    found = lax.reduce_window(convert(x, dtype.compute), unit_of(op.combine, dtype.compute), FUNCTIONS[op.combine],
                              lengths, strides, [(0, 0)] * rank, None, dilations)
    return [accumulated(found, dtype)]
