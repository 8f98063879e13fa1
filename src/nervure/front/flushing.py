"""Flushing of denormals: numbers carried from call to call become 0 once they are below the normal range.

A running mean whose input is 0 shrinks by a factor a call. Rounded to nearest, 0.9 times the least denormal is itself,
so it never gets to 0, and each call computes with denormals, which costs some processors a hundred cycles each.

>>> import nervure as nv
>>> mean = nv.persistent_tensor((2,), [2e-38, 1.0])
>>> decay = nv.computation(nv.assign(mean, without_denormals(0.5 * mean)))
>>> decay(), decay(), mean.tolist()
(None, None, [0.0, 0.25])
"""

from __future__ import annotations

import ml_dtypes

from nervure.front.op_functions import absolute, less
from nervure.front.pointwise.elementwise import where
from nervure.front.tensor import Tensor


def without_denormals(x: Tensor) -> Tensor:
    """Replaces elements of a float x below the least normal number of the type that computes them by 0. That is
    float32 for float32 and bfloat16, float64 for float64. Narrower types are left alone: a denormal float16 is an
    ordinary float32.

    >>> without_denormals(nv.constant([1e-40, 1e-30, float("nan")])).tolist()
    [0.0, 1.0000000031710769e-30, nan]
    """
    own, computed = ml_dtypes.finfo(x.dtype.numpy), ml_dtypes.finfo(x.dtype.compute.numpy)
    if own.minexp != computed.minexp:
        return x
    return where(less(absolute(x), float(computed.tiny)), 0.0, x)
