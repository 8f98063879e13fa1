"""Sums of what is added to zeros at places that data name: it is added to the total instead.

So a term touches the places that it has, and not the whole of the sum. The order in which terms add up is open.

>>> import nervure as nv
>>> total, rows = nv.Parameter(nv.float32, (9, 2)).output, nv.Parameter(nv.float32, (3, 2)).output
>>> at = nv.Parameter(nv.int64, (3,)).output
>>> part = nv.ops.Scatter(total.full(0), at, rows, axis=0, mode="add").output
>>> added(total, part).op.operands[0] is total
True
>>> added(total, part + part).op.operands[1]
i64[6] Concatenate(Reshape, Reshape)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nervure.ir.leaves import Full
from nervure.ir.op import Value
from nervure.ops.arithmetic import Add
from nervure.ops.indexing import Scatter, Scattering
from nervure.ops.views import Concatenate, Reshape
from nervure.types.dim import product


def added(total: Value, part: Value) -> Value:
    """Returns a ``total`` plus a ``part`` of it, in an order that is open."""
    scattered = [term for term in _terms(part) if _is_scattered(term)]
    if not scattered:
        return total + part
    for term in _terms(part):
        if term not in scattered:
            total = total + term
    alike: dict[object, list[Scatter]] = {}
    for op in [term.op for term in scattered]:
        if isinstance(op, Scatter):
            alike.setdefault((op.axis, op.operands[1].dtype), []).append(op)
        elif isinstance(op, Scattering):
            total = op.scattered(total, op.operands[1], op.operands[2], "add")
    for terms in alike.values():
        total = _at_once(total, terms)
    return total


def _terms(part: Value) -> Iterator[Value]:
    """Yields the terms of a sum."""
    if not isinstance(part.op, Add):
        yield part
        return
    for operand in part.op.operands:
        yield from _terms(operand)


def _is_scattered(term: Value) -> bool:
    """Whether a value is what is added to zeros at some places, in the type that sums are made in."""
    op = term.op
    if not isinstance(op, Scattering) or op.mode != "add" or term.dtype.compute is not term.dtype:
        return False
    zeros = op.operands[0].op
    return isinstance(zeros, Full) and zeros.number == 0


def _at_once(total: Value, terms: Sequence[Scatter]) -> Value:
    """Returns a ``total`` to which one op adds the updates of all ``terms``, which are along one axis."""
    axis = terms[0].axis
    if len(terms) == 1:
        return terms[0].scattered(total, terms[0].operands[1], terms[0].operands[2], "add")
    indices, updates = [], []
    for term in terms:
        _, index, update = term.operands
        size = product(index.shape)
        indices.append(Reshape(index, (size,)).output)
        updates.append(Reshape(update, (*total.shape[:axis], size, *total.shape[axis + 1:])).output)
    return Scatter(total, Concatenate(*indices, axis=0), Concatenate(*updates, axis=axis), axis=axis, mode="add").output
