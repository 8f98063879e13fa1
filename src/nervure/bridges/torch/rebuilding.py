"""A Function over other values and lengths: its ops are built once more, with what takes the place of symbols.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (nv.dim("n", min=2, max=9), 3))
>>> first = nv.Function([nv.ops.Slice(x, [(0, 1, 1), (0, 3, 1)])], [x])
>>> bounds(widened(first).parameters[0].shape[0])
(1, None)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op, Value
from nervure.ir.provenance import on_behalf_of
from nervure.types.dim import Dim, DimLike, bounds, dim, substitute, symbols
from nervure.types.index_map import IndexMap
from nervure.types.shape import Shape

Bounds = tuple[int, int | None]


def widened(function: Function) -> Function:
    """Returns a function with bounds of its symbols as wide as its ops admit; those of a trace may be narrower.

    A symbol has the least lower bound of 0, 1, 2 and its own with which all ops can be built, and its upper bound
    only if it is needed.
    """
    known = _bounds(function)
    found = function
    for name in known:
        for chosen in _candidates(known[name]):
            wider = _with_bounds(function, {**known, name: chosen})
            if wider is not None:
                known[name], found = chosen, wider
                break
    return found


def _bounds(function: Function) -> dict[str, Bounds]:
    """Returns the bounds of the symbols that are lengths of parameters."""
    found: dict[str, Bounds] = {}
    for op in function.parameters:
        for length in op.shape:
            if is_symbol(length):
                low, high = bounds(length)
                found[str(length)] = (low or 0, high)
    return found


def _candidates(own: Bounds) -> Iterator[Bounds]:
    """Yields bounds that contain a symbol's own and differ from them, the widest ones first."""
    low, high = own
    for least in sorted({least for least in (0, 1, 2) if least < low} | {low}):
        for most in dict.fromkeys((None, high)):
            if (least, most) != own:
                yield least, most


def _with_bounds(function: Function, known: Mapping[str, Bounds]) -> Function | None:
    """Returns a function whose symbols have other bounds; None if one of its ops cannot be built for all of them."""
    try:
        return over(function, {name: dim(name, min=low, max=high) for name, (low, high) in known.items()})
    except NervureError:
        return None


def is_symbol(length: DimLike) -> TypeGuard[Dim]:
    """Returns whether a length is a single symbol."""
    return str(length) in symbols(length)


def shape_of(shape: Shape, symbols: Mapping[str, DimLike]) -> Shape:
    """Returns a shape with lengths in place of symbols."""
    return tuple([substitute(length, symbols) for length in shape])


def over(function: Function, symbols: Mapping[str, DimLike]) -> Function:
    """Returns a function with lengths in place of symbols."""
    parameters = [Parameter(op.dtype, shape_of(op.shape, symbols)) for op in function.parameters]
    for op, own in zip(function.parameters, parameters, strict=True):
        own.name = op.name
    table = {op.output: own.output for op, own in zip(function.parameters, parameters, strict=True)}
    return Function(results_of(function, table, symbols), parameters, name=function.name)


def results_of(function: Function, table: dict[Value, Value], symbols: Mapping[str, DimLike]) -> tuple[Value, ...]:
    """Returns the results of a function over the values that a table has for its parameters."""
    for inner in function.operations:
        if not isinstance(inner, Parameter):
            table.update(zip(inner.outputs, _rebuilt(inner, table, symbols).outputs, strict=True))
    return tuple([table[value] for value in function.results])


def _rebuilt(op: Op, table: Mapping[Value, Value], symbols: Mapping[str, DimLike]) -> Op:
    """Returns an op over other operands, with lengths in place of symbols in its attributes."""
    operands = [table[value] for value in op.operands]
    attributes = {name: _attribute(entry, symbols) for name, entry in op.attributes.items()}
    with on_behalf_of(op.provenance):
        try:
            return type(op)(*operands, **attributes)
        except NervureError as error:
            raise error.within("from_torch") from None


def _attribute(entry: object, symbols: Mapping[str, DimLike]) -> object:
    """Returns an attribute with lengths in place of symbols."""
    if isinstance(entry, Dim):
        return substitute(entry, symbols)
    if isinstance(entry, IndexMap):
        return IndexMap(*[shape_of(parts, symbols) for parts in (entry.shape, entry.coordinates)])
    if isinstance(entry, tuple):
        return tuple([_attribute(part, symbols) for part in entry])
    if isinstance(entry, Function):  # the body of a loop
        return over(entry, symbols)
    return entry
