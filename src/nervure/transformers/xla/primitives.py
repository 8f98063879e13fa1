"""Ops for which XLA has a primitive that does more than the kind of the op shows: a table by their classes.

A row gives None where the op is one that the primitive does not cover; then the op is read by its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.ir.op import Op
from nervure.ops.contraction import Contract
from nervure.ops.convolution import Convolution, ConvolutionDataGradient, ConvolutionFilterGradient
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.indexing import Gather, Scatter
from nervure.ops.reductions import Max, Min, Prod, Sum
from nervure.ops.rematerialising import After
from nervure.ops.sharding import ShardAs
from nervure.ops.sorting import Sort, TopK
from nervure.transformers.xla import library_rows
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.element_types import convert, wide
from nervure.transformers.xla.functions import Array, is_float
from nervure.transformers.xla.products import contract, convolution
from nervure.transformers.xla.structured_form import Domain, accumulated, domain_of
from nervure.transformers.xla.window_reductions import reduced


def after(trace: CallTrace, op: After, operands: Sequence[Array]) -> list[Array]:
    """Returns the first of the ``operands``, behind a barrier that XLA moves nothing across."""
    return [lax.optimization_barrier(tuple(operands))[0]]


def gather(trace: CallTrace, op: Gather, operands: Sequence[Array]) -> list[Array] | None:
    """Returns whole slices of the first of the ``operands``, by a gather of slices."""
    x, _ = operands
    if not x.size:
        return None
    return [jnp.take(x, _rows(domain_of(trace, op, operands), op), axis=op.axis, mode="clip")]


def scatter(trace: CallTrace, op: Scatter, operands: Sequence[Array]) -> list[Array] | None:
    """Returns the first of the ``operands`` with whole slices added to it. In other modes the order counts."""
    x, _, updates = operands
    if op.mode != "add" or not x.size or not updates.size or x.dtype == jnp.bool_:
        return None
    rows = _rows(domain_of(trace, op, operands), op)
    box = (*[slice(None)] * op.axis, rows)
    exact = op.operands[0].type.dtype.compute
    made = convert(x, exact).at[box].add(convert(updates, exact), mode="drop")
    return [accumulated(made, op.outputs[0].type.dtype)]


def sort(trace: CallTrace, op: Sort, operands: Sequence[Array]) -> list[Array]:
    """Returns the rows of the one of ``operands`` in order, and the positions that the elements had."""
    x, = operands
    positions = jnp.argsort(wide(x), axis=-1, stable=True, descending=op.descending)
    return [jnp.take_along_axis(x, positions, axis=-1), positions.astype(jnp.int64)]


def top_k(trace: CallTrace, op: TopK, operands: Sequence[Array]) -> list[Array] | None:
    """Returns the first elements of each row of the one of ``operands``, and their positions.

    XLA's primitive takes the largest ones; it tells zeros and the signs of NaN apart, so that they are made alike.
    """
    x, = operands
    if not op.descending or not x.size or not op.k:
        order = jnp.argsort(wide(x), axis=-1, stable=True, descending=op.descending)[..., :op.k]
        return [jnp.take_along_axis(x, order, axis=-1), order.astype(jnp.int64)]
    keys = wide(x)
    keys = jnp.where(jnp.isnan(keys), jnp.nan, keys + 0) if is_float(keys) else keys.astype(
        jnp.int8 if keys.dtype == jnp.bool_ else keys.dtype)
    _, positions = lax.top_k(keys, op.k)
    return [jnp.take_along_axis(x, positions, axis=-1), positions.astype(jnp.int64)]


def cumulative(trace: CallTrace, op: Cumulative, operands: Sequence[Array]) -> list[Array]:
    """Returns running values of the one of ``operands``, whose sums are rounded in another order."""
    x, = operands
    if op.kind in ("maximum", "minimum"):
        # XLA's choice among equal elements is open, so a scan keeps the first.
        exceeds = jnp.greater if op.kind == "maximum" else jnp.less
        return [_scanned(op, lambda before, own: jnp.where(exceeds(own, before) | (own != own), own, before), x)]
    return [(lax.cumsum if op.kind == "add" else lax.cumprod)(x, op.axis, reverse=op.reverse)]


def recurrence(trace: CallTrace, op: Recurrence, operands: Sequence[Array]) -> list[Array]:
    """Returns what follows from factors and terms, the ``operands``, with or without a rounding of products."""
    return [_scanned(op, lambda before, factor, x: factor * before + x, *operands)]


def _scanned(op: Cumulative | Recurrence, step: Callable[..., Array], *operands: Array) -> Array:
    """Returns what follows from the last operand when each slice is made of the one before it."""
    moved = [jnp.moveaxis(operand, op.axis, 0) for operand in operands]
    if not moved[-1].shape[0]:
        return operands[-1]
    first = -1 if op.reverse else 0
    rest = [each[:-1] if op.reverse else each[1:] for each in moved]

    def following(before: Array, slices: list[Array]) -> tuple[Array, Array]:
        made = step(before, *slices)
        return made, made

    _, found = lax.scan(following, moved[-1][first], rest, reverse=op.reverse)
    start = moved[-1][first][None]
    whole = jnp.concatenate([found, start] if op.reverse else [start, found])
    return jnp.moveaxis(whole, 0, op.axis)


def shard_as(trace: CallTrace, op: ShardAs, operands: Sequence[Array]) -> list[Array]:
    """Returns the one of ``operands``, distributed over the mesh if there is one."""
    return [trace.placement.pinned(operands[0], op)]


def _rows(domain: Domain, op: Gather | Scatter) -> Array:
    """Returns the positions along the axis that the index names, checked."""
    coordinates = op.places(*[operand.type for operand in op.operands[:2]]).coordinates
    return domain.places([coordinates[op.axis]])[0].reshape(np.shape(domain.operands[1]))


ROWS: dict[type[Op], Callable[[CallTrace, Any, Sequence[Array]], list[Array] | None]] = {
    After: after, Contract: contract, Convolution: convolution, ConvolutionDataGradient: convolution,
    ConvolutionFilterGradient: convolution, Cumulative: cumulative, Gather: gather, Max: reduced, Min: reduced,
    Prod: reduced, Recurrence: recurrence, Scatter: scatter, ShardAs: shard_as, Sort: sort, Sum: reduced,
    TopK: top_k, **library_rows.ROWS}
