"""Calls with tensors of another library, which a backend may read and make without Python: what they look like.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> call = TensorCall((object,), 1, (TensorArgument(0),), (TensorResult(),), {}, lambda number, tensor: tensor)
>>> executable = nv.transformers.make_transformer("interpreter").compile(nv.Function([x], [x]))
>>> executable.tensor_entry(call, print) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Dimensions = tuple[int, ...] | None
"""The dimension of a tensor for each one of a parameter or a result; None if they are the same."""


class TensorArgument(NamedTuple):
    """The tensor for a parameter: its number among the arguments of a call, and its dimensions in memory."""

    place: int
    order: Dimensions = None


class TensorResult(NamedTuple):
    """The tensor for a result: its dimensions in memory."""

    order: Dimensions = None


class TensorCall(NamedTuple):
    """A call with a list of ``length`` arguments of any kind, those for parameters tensors of the classes ``kinds``.

    There are one or two classes, of a library that implements DLPack's exchange API. ``writes`` are the results that
    take the place of an argument, with the numbers of its parameter: they are written into its memory. ``read`` returns
    the array of a parameter, by its number, for what goes wrong.
    """

    kinds: tuple[type, ...]
    length: int
    arguments: tuple[TensorArgument, ...]
    results: tuple[TensorResult, ...]
    writes: Mapping[int, int]
    read: Callable[[int, Any], np.ndarray]
