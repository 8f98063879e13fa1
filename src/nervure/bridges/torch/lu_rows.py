"""Rows of LU factorisation, whose pivots PyTorch counts from 1.

>>> import nervure as nv
>>> a = nv.Parameter(nv.float64, (3, 3)).output
>>> pivots, info = a.type.with_(dtype=nv.int32, shape=(3,)), a.type.with_(dtype=nv.int32, shape=())
>>> [value.type for value in factors((a.type, pivots, info), a, True, False)]
[f64[3, 3], i32[3], i32[]]
"""

from __future__ import annotations

from nervure import ops
from nervure.bridges.torch.fitting import converted, fitted
from nervure.bridges.torch.row_table import row
from nervure.bridges.torch.unsupported import Unsupported
from nervure.front.arranging.diagonals import diagonal
from nervure.front.arranging.filled import iota
from nervure.front.matrices import lu_factors
from nervure.front.op_functions import equal
from nervure.front.pointwise.elementwise import where
from nervure.front.statistics.reductions import min as least
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
from nervure.ops.linear_algebra import adjoint
from nervure.types.description import BasicTensorDescription as Type

Types = tuple[Type, ...]


def _require_pivots(has_pivots: bool) -> None:
    if not has_pivots:
        raise Unsupported("factors without exchanges of rows")


@row("linalg_lu_factor_ex.default")
def factors(result: Types, a: Value, has_pivots: bool, checks: bool) -> tuple[Value, Value, Value]:
    _require_pivots(has_pivots)
    packed, pivots = lu_factors.lu_factor(Tensor(a))
    return packed.value, converted((pivots + 1).value, result[1].dtype), _first_zero(packed, result[2])


def _first_zero(packed: Tensor, result: Type) -> Value:
    """Returns the place, counted from 1, of the first zero on the diagonal of U; 0 if there is none."""
    on_diagonal = diagonal(packed, axis1=-2, axis2=-1)
    count = on_diagonal.type.shape[-1]
    if count == 0:
        return fitted(0, result.dtype, result.shape)
    places = where(equal(on_diagonal, 0), iota(count), count)
    first = least(places, axis=-1)
    return converted(where(equal(first, count), 0, first + 1).value, result.dtype)


@row("linalg_lu.default")
def all_factors(result: Types, a: Value, has_pivots: bool) -> tuple[Value, ...]:
    _require_pivots(has_pivots)
    return tuple([entry.value for entry in lu_factors.lu(Tensor(a))])


@row("linalg_lu_solve.default")
def solution(result: Type, packed: Value, pivots: Value, b: Value, left: bool, is_adjoint: bool) -> Value:
    given = Tensor(packed), Tensor(pivots) - 1
    if left:
        return lu_factors.lu_solve(given, Tensor(b), 2 if is_adjoint else 0).value
    # x a = b is a^H x^H = b^H.
    return adjoint(lu_factors.lu_solve(given, Tensor(adjoint(b)), 0 if is_adjoint else 2).value)


@row("lu_unpack.default")
def unpacked(result: Types, packed: Value, pivots: Value, wants_factors: bool,
             wants_order: bool) -> tuple[Value | None, ...]:
    both = Tensor(packed)
    rows, columns = packed.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Unsupported("factors of unknown lengths")
    found = list[Value | None]([None, None, None])
    if wants_order:
        found[0] = lu_factors.permutation(lu_factors.order_of_rows(Tensor(pivots) - 1, rows), both).value
    if wants_factors:
        found[1:] = [factor.value for factor in lu_factors.triangles(both)]
    return tuple([value if value is not None else ops.Full(0, type.dtype, type.shape).output
                  for value, type in zip(found, result, strict=True)])
