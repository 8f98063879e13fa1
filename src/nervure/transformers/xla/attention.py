"""Attention by JAX's own, which has fused kernels on GPUs; anywhere else, and where it differs, by the op's parts.

JAX's rounds the weights to the type of the values, and leaves the precision of products to the device. A row of queries
that sees nothing has a mean of 0 here, and none there.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax

from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ops.attention import Attention
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import numbers


def is_fused(trace: CallTrace, op: Attention) -> bool:
    """Whether JAX's attention gives what the op means: each row sees a key, and products may be the device's own."""
    query, key, value = [operand.type for operand in op.operands[:3]]
    shapes = [numbers(each.shape, trace.bindings) for each in (query, key, value)]
    is_plain = not op.may_see_nothing and shapes[0][-1] == shapes[2][-1] and all([0 not in shape for shape in shapes])
    return is_plain and (trace.precision == "default" or query.dtype.is_low_precision)


def fused(trace: CallTrace, op: Attention, operands: Sequence[Array]) -> Array:
    """Returns the attention of ``operands`` by JAX's own."""
    *batch, rows, _ = operands[0].shape
    heads = batch[-1] if batch else 1
    query, key, value = [x.reshape(-1, heads, *x.shape[-2:]).swapaxes(1, 2) for x in operands]
    is_causal = op.after == 0 and op.before is None
    window = None if is_causal or (op.before, op.after) == (None, None) else tuple(
        [most if bound is None else bound for bound, most in ((op.before, rows), (op.after, key.shape[1]))])
    found = jax.nn.dot_product_attention(query, key, value, scale=1.0, is_causal=is_causal, local_window_size=window)
    return found.swapaxes(1, 2).reshape(*batch, rows, value.shape[-1])


def parts(op: Attention) -> Function:
    """Returns the op as a Function of its operands, made of other ops."""
    parameters = [Parameter.of(operand.type) for operand in op.operands]
    again = type(op)(*parameters, **op.attributes)
    return Function([again.decompose(*[parameter.output for parameter in parameters])], parameters)
