"""Sums over windows, written out: what is added up at ``2*i + k`` is a sum over the few ``k`` of padded slices.

For each of these the coordinates are lines, along which the value lies with zeros in between and around. So the
gradient of pooling needs no scatter.

>>> from nervure.types.dim import index
>>> spread(jnp.ones((3, 2)), (3, 2), (6,), (2 * index(0) + index(1),), {}).tolist()
[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.transformers.xla.functions import Array, summed
from nervure.transformers.xla.views import Line, Shape, line_of
from nervure.types.dim import DimLike, index_symbols, substitute

MOST_SLICES = 64
"""The number of slices up to which a sum over windows is written out."""


def spread(value: Array, domain: Shape, shape: Shape, coordinates: Sequence[DimLike],
           bindings: Mapping[str, int]) -> Array | None:
    """Returns zeros of a shape to which a value over a domain is added at coordinates.

    What leaves the shape is dropped. None unless few dimensions have to be numbers for the others to be lines.
    """
    fixed = _shared(domain, coordinates)
    if fixed is None:
        return None
    total: Array = jnp.zeros(shape, value.dtype)
    value = jnp.broadcast_to(value, domain)
    for numbers in itertools.product(*[range(domain[d]) for d in fixed]):
        known = dict(zip([f"%{d}" for d in fixed], numbers, strict=True))
        inner = tuple([1 if d in fixed else length for d, length in enumerate(domain)])
        lines = [line_of(substitute(entry, known), inner, bindings) for entry in coordinates]
        part = value[tuple([slice(at, at + 1) if (at := known.get(f"%{d}")) is not None else slice(None)
                            for d in range(len(domain))])]
        padded = _along(part, inner, shape, lines)
        if padded is None:
            return None
        total = total + padded
    return total


def _shared(domain: Shape, coordinates: Sequence[DimLike]) -> list[int] | None:
    """Returns the dimensions that share a coordinate with a longer one; None if there are none, or many elements in
    them.
    """
    fixed: set[int] = set()
    for entry in coordinates:
        names = index_symbols(entry)
        used = [d for d in range(len(domain)) if f"%{d}" in names]
        opened = [d for d in used if type(domain[d]) is not int]
        if len(opened) > 1:
            return None
        used = sorted(used, key=lambda d: (math.inf if d in opened else domain[d]))
        fixed |= set(used[:-1])
    return sorted(fixed) if fixed and math.prod([domain[d] for d in fixed]) <= MOST_SLICES else None


def _along(part: Array, domain: Shape, shape: Shape, lines: Sequence[Line | None]) -> Array | None:
    """Returns a part over a domain as it lies in a tensor of a shape, one line along each axis, with zeros elsewhere.
    """
    taken = [line.dimension for line in lines if line is not None and line.dimension is not None]
    if None in lines or len(set(taken)) < len(taken):
        return None
    rest = [d for d in range(len(domain)) if d not in taken]
    part = summed(part, rest)
    part = lax.transpose(part, [sorted(taken).index(d) for d in taken])
    padding, backward = [], []
    known = [line for line in lines if line is not None]
    part = part.reshape([1 if line.dimension is None else domain[line.dimension] for line in known])
    for axis, (line, length) in enumerate(zip(known, shape, strict=True)):
        step, count = line.step or 1, part.shape[axis]
        first = line.start if step > 0 else line.start + step * (count - 1)
        if step < 0:
            backward.append(axis)
        padding.append((first, length - first - abs(step) * (count - 1) - 1, abs(step) - 1))
    part = lax.rev(part, backward) if backward else part
    return lax.pad(part, np.zeros((), part.dtype), padding)
