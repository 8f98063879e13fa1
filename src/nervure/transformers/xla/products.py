"""Products of tensors by XLA's primitives: contractions, and convolutions with their gradients.

Low-precision floats add up in float32 and are rounded once. ``flags.xla_precision`` says how exact products of float32
are on devices that have faster ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax

from nervure.ops.contraction import Contract
from nervure.ops.convolution import Convolution, ConvolutionDataGradient, ConvolutionFilterGradient, ConvolutionForm
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.element_types import wide, wrap
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import numbers
from nervure.types.dtype import DType


def contract(trace: CallTrace, op: Contract, operands: Sequence[Array]) -> list[Array]:
    """Returns a contraction of two ``operands``, by a dot_general and a transposition.

    Most do without the latter: the factor comes first whose own axes do in the result.
    """
    dtype, result = op.outputs[0].type.dtype, op.indices
    x, y = _factors(operands, dtype)
    mine, theirs = op.x_indices, op.y_indices
    if next((entry in theirs for entry in result if entry not in mine or entry not in theirs), False):
        x, y, mine, theirs = y, x, theirs, mine
    shared = [entry for entry in mine if entry in theirs]
    batch = [entry for entry in shared if entry in result]
    summed = [entry for entry in shared if entry not in result]
    dimensions = (([mine.index(entry) for entry in summed], [theirs.index(entry) for entry in summed]),
                  ([mine.index(entry) for entry in batch], [theirs.index(entry) for entry in batch]))
    made = lax.dot_general(x, y, dimensions, precision=_precision(trace), preferred_element_type=x.dtype)
    order = [*batch, *[entry for entry in mine if entry not in shared],
             *[entry for entry in theirs if entry not in shared]]
    return [_product(lax.transpose(made, [order.index(entry) for entry in result]), dtype)]


def _precision(trace: CallTrace) -> lax.Precision:
    return {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "default": lax.Precision.DEFAULT}[
        trace.precision]


def _factors(operands: Sequence[Array], dtype: DType) -> list[Array]:
    """Returns the operands in the type in which their products add up: narrow integers, which wrap in the end, in 32
    bits.
    """
    if dtype.kind == "bool" or (dtype.is_integer and dtype.bits < 32):
        return [x.astype(jnp.int32) for x in operands]
    return [wide(x) for x in operands]


def _product(made: Array, dtype: DType) -> Array:
    if dtype.kind == "bool":
        return made != 0
    return wrap(made, dtype)


def convolution(trace: CallTrace, op: ConvolutionForm, operands: Sequence[Array]) -> list[Array]:
    """Returns a convolution of ``operands``, or the gradient for its data or its filters, by a conv_general_dilated."""
    dtype, shape = op.outputs[0].type.dtype, numbers(op.outputs[0].type.shape, trace.bindings)
    left, right = _factors(operands, dtype)
    if 0 in shape or not left.size or not right.size:
        return [jnp.zeros(shape, dtype.numpy)]
    pads = [numbers(pair, trace.bindings) for pair in op.geometry.paddings]
    made = _MEANINGS[type(op)](op, left, right, pads, shape, _precision(trace))
    return [_product(made, dtype)]


Pads = Sequence[tuple[int, ...]]


def _names(spatial: int, first: str) -> str:
    return first + "DHW"[-spatial:]


def _forward(op: ConvolutionForm, x: Array, f: Array, pads: Pads, shape: tuple[int, ...],
             precision: lax.Precision) -> Array:
    spatial = x.ndim - 2
    layout = _names(spatial, "NC"), _names(spatial, "OI"), _names(spatial, "NC")
    return lax.conv_general_dilated(x, f, op.strides, [(low, high) for low, high in pads], None, op.dilations, layout,
                                    feature_group_count=op.groups, precision=precision, preferred_element_type=x.dtype)


def _data_gradient(op: ConvolutionForm, r: Array, f: Array, pads: Pads, shape: tuple[int, ...],
                   precision: lax.Precision) -> Array:
    """Returns a convolution of the result, with strides between its elements, by the reversed filters."""
    spatial = r.ndim - 2
    f = lax.rev(f, range(2, f.ndim))
    parts = f.reshape(op.groups, f.shape[0] // op.groups, *f.shape[1:])
    f = jnp.swapaxes(parts, 1, 2).reshape(-1, parts.shape[1], *f.shape[2:])
    padding = []
    for d, (low, _) in enumerate(pads):
        reach = op.dilations[d] * (f.shape[2 + d] - 1)
        spread = op.strides[d] * (r.shape[2 + d] - 1) + 1
        padding.append((reach - low, shape[2 + d] + low - spread))
    layout = _names(spatial, "NC"), _names(spatial, "OI"), _names(spatial, "NC")
    return lax.conv_general_dilated(r, f, (1,) * spatial, padding, op.strides, op.dilations, layout,
                                    feature_group_count=op.groups, precision=precision, preferred_element_type=r.dtype)


def _filter_gradient(op: ConvolutionForm, x: Array, r: Array, pads: Pads, shape: tuple[int, ...],
                     precision: lax.Precision) -> Array:
    """Returns a convolution of the data by the result, as filters as large as the result, over the batch."""
    spatial = x.ndim - 2
    padding = []
    for d, (low, _) in enumerate(pads):
        reach = op.dilations[d] * (shape[2 + d] - 1) + op.strides[d] * (r.shape[2 + d] - 1) + 1
        padding.append((low, reach - low - x.shape[2 + d]))
    layout = _names(spatial, "CN"), _names(spatial, "IO"), _names(spatial, "CN")
    return lax.conv_general_dilated(x, r, op.dilations, padding, None, op.strides, layout,
                                    batch_group_count=op.groups, precision=precision, preferred_element_type=x.dtype)


_MEANINGS = {Convolution: _forward, ConvolutionDataGradient: _data_gradient,
             ConvolutionFilterGradient: _filter_gradient}
