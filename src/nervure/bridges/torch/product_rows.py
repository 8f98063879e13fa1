"""Rows of products of matrices.

>>> from nervure.ops import Parameter
>>> import nervure as nv
>>> x, w, b = [Parameter(nv.float32, shape).output for shape in ((4, 3), (3, 2), (2,))]
>>> addmm(Parameter(nv.float32, (4, 2)).type, b, x, w, 1, 1)
f32[4, 2] Add(MatMul, Broadcast)
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure import ops
from nervure.bridges.torch.fitting import Given, converted, expanded, widened
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.matrices.contraction import einsum
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.types.description import BasicTensorDescription as Type


@row("mm.default", "bmm.default")
def matmul(result: Type, x: Value, y: Value, *others: object) -> Value:
    return ops.MatMul(x, y).output


@row("mv.default")
def matrix_by_vector(result: Type, x: Value, y: Value) -> Value:
    return ops.Contract(x, y, (0, 1), (1,), (0,)).output


@row("dot.default")
def dot(result: Type, x: Value, y: Value) -> Value:
    return ops.Contract(x, y, (0,), (0,), ()).output


@row("addmm.default", "baddbmm.default")
def addmm(result: Type, bias: Value, x: Value, y: Value, beta: Given, alpha: Given) -> Value:
    product = _wide_product(x, y)
    if alpha != 1:
        product = product * _factor(alpha, product)
    if beta == 0:  # whatever the bias is, NaN included
        return converted(product, result.dtype)
    term = widened(bias, result.dtype, result.shape)
    if beta != 1:
        term = term * _factor(beta, term)
    return converted(product + term, result.dtype)


@row("addmv.default")
def addmv(result: Type, bias: Value, x: Value, y: Value, beta: Given, alpha: Given) -> Value:
    column = ops.Reshape(y, (*y.shape, 1)).output
    wide = result.with_(shape=(*result.shape, 1))
    term = ops.Reshape(expanded(bias, result.shape), wide.shape).output
    return ops.Reshape(addmm(wide, term, x, column, beta, alpha), result.shape).output


@row("addbmm.default")
def addbmm(result: Type, bias: Value, x: Value, y: Value, beta: Given, alpha: Given) -> Value:
    # The products of all matrices add up: they are one product, of long rows.
    (count, rows, width), columns = x.shape, y.shape[2]
    left = ops.Reshape(ops.Permute(x, (1, 0, 2)), (rows, count * width)).output
    return addmm(result, bias, left, ops.Reshape(y, (count * width, columns)).output, beta, alpha)


@row("_trilinear.default")
def product_of_three(result: Type, x: Value, y: Value, z: Value, x_lacks: Sequence[int], y_lacks: Sequence[int],
                     z_lacks: Sequence[int], summed: Sequence[int], *others: object) -> Value:
    rank = x.rank + len(x_lacks)
    subscripts = ["".join([chr(ord("a") + d) for d in range(rank) if d not in lacks])
                  for lacks in (x_lacks, y_lacks, z_lacks, summed)]
    known = "".join([letter for letter in subscripts[3] if letter in "".join(subscripts[:3])])
    wide = [Tensor(converted(operand, operand.dtype.compute)) for operand in (x, y, z)]
    found = einsum(f"{','.join(subscripts[:3])}->{known}", *wide).value
    return converted(ops.Reshape(found, result.shape).output, result.dtype)


def _factor(factor: Given, x: Value) -> Value:
    if x.dtype.is_integer and factor != int(factor):
        raise Unsupported("integers times a fraction")
    return x.full(factor)


def _wide_product(x: Value, y: Value) -> Value:
    """Returns the product in the type in which it is computed, so that a bias is added before it is rounded."""
    return ops.MatMul(converted(x, x.dtype.compute), converted(y, y.dtype.compute)).output
