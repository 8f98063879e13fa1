"""A float64 oracle that computes chosen elements of a function's results, and of what they follow from no more.

Every value of a graph is an index function. So the elements that are wanted of a result say which elements of its
operands are, and so on to the arguments; then these alone are computed, in float64, in the order of the operations.
Where most elements of a value are wanted, or where a product of whole matrices takes less time than its elements one
by one, the whole value is computed by the interpreter's plans. No kernel, pass or layout is involved.

>>> import nervure as nv
>>> x, y = nv.Parameter(nv.float32, (300, 200)), nv.Parameter(nv.float32, (200, 100))
>>> product = nv.Function([nv.ops.MatMul(nv.ops.Negative(x), y)], [x, y])
>>> ones = [np.ones(parameter.shape, np.float32) for parameter in (x, y)]
>>> elements_of(product, ones, [np.array([0, 299 * 100])])[0].tolist()
[-200.0, -200.0]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import Access, Elementwise, Structure, Structured, View, identity_body, multiply_body
from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.passes.decompose import decompose
from nervure.transformers.convert import convert
from nervure.transformers.interpreter.reading import view
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.transformers.interpreter.structure import iterate
from nervure.types.dim import DimLike, evaluate_arrays, index
from nervure.types.dtype import DType, float32, float64
from nervure.types.index_map import IndexMap
from nervure.types.view import ComplexView, ReshapeView

MOST_POINTS = 2**21
"""Points of an iteration that are computed at once, where elements are computed one by one."""

MOST_SHARE = 0.25
"""The share of a value's elements above which all of them are computed."""

POINT, PRODUCT, STEP = 60.0, 0.08, 8.0
"""Nanoseconds, roughly: a point of one element, a multiply-add of a matrix product, a point of other iterations."""


def elements_of(function: Function, arguments: Sequence[np.ndarray],
                wanted: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The elements at the flat indices ``wanted[k]`` of result ``k``; behind the results come the new values of
    variables. The function has no symbols; variables have their initial values.
    """
    oracle = _Oracle(decompose(function), arguments)
    return oracle.run(wanted)


class _Exact(NumPyScalars):
    """The scalar functions, with float64 in place of float32."""

    @staticmethod
    def convert(x: np.ndarray, dtype: DType) -> np.ndarray:
        return convert(x, _wide(dtype))


def _wide(dtype: DType) -> DType:
    return float64 if dtype is float32 else dtype


class _Oracle:
    """``_masks`` are the wanted elements of each value, ``_values`` their numbers, flat; NaN where none is wanted."""

    def __init__(self, function: Function, arguments: Sequence[np.ndarray]) -> None:
        self._function = function
        self._roots = [*function.results, *[value for _, value in function.updates]]
        self._arguments = dict(zip([op.value for op in function.parameters], arguments, strict=True))
        self._masks: dict[Value, np.ndarray] = {}
        self._values: dict[Value, np.ndarray] = {}

    def run(self, wanted: Sequence[np.ndarray]) -> list[np.ndarray]:
        for root, flat in zip(self._roots, wanted, strict=True):
            self._mask(root)[flat] = True
        for op in reversed(self._function.operations):
            self._want_operands(op)
        last = {operand: op for op in self._function.operations for operand in op.operands}
        for op in self._function.operations:
            self._compute(op)
            for operand in {*op.operands}.difference(self._roots):
                if last[operand] is op:
                    self._values.pop(operand, None)
        return [self._values[root][flat] for root, flat in zip(self._roots, wanted, strict=True)]

    # -- what is wanted --------------------------------------------------------------------------------------

    def _mask(self, value: Value) -> np.ndarray:
        if value not in self._masks:
            self._masks[value] = np.zeros(math.prod(value.shape), bool)
        return self._masks[value]

    def _want_operands(self, op: Op) -> None:
        masks = [self._masks[output] for output in op.outputs if output in self._masks]
        if not masks or not op.operands:
            return
        if self._is_whole(op):
            for mask in masks:
                mask[:] = True
            for operand in op.operands:
                self._mask(operand)[:] = True
            return
        for operand, flat in _sources(op, np.flatnonzero(masks[0])):
            self._mask(op.operands[operand])[flat] = True

    def _is_whole(self, op: Op) -> bool:
        """Whether an op is computed as a whole."""
        if len(op.outputs) != 1:
            return True
        mask = self._masks[op.outputs[0]]
        count = np.count_nonzero(mask)
        if isinstance(op, Structured):
            structure = _structure(op)
            return not _is_plain(structure) or _time_of_elements(structure, count) > _time_of_all(structure)
        return count > MOST_SHARE * mask.size

    # -- numbers -----------------------------------------------------------------------------------------------

    def _compute(self, op: Op) -> None:
        if not op.outputs or op.outputs[0] not in self._masks:
            return
        if isinstance(op, Parameter | Constant | Full | ReadVariable):
            array = self._leaf(op)
            self._values[op.outputs[0]] = convert(array, _wide(op.outputs[0].dtype)).reshape(-1)
        elif all([self._masks[output].all() for output in op.outputs if output in self._masks]):
            arrays = [self._values[operand].reshape(operand.shape) for operand in op.operands]
            for output, array in zip(op.outputs, _whole(op, arrays), strict=True):
                self._values[output] = np.broadcast_to(array, output.shape).reshape(-1)
        else:
            output, flat = op.outputs[0], np.flatnonzero(self._masks[op.outputs[0]])
            unknown, dtype = np.nan if output.dtype.is_float else 0, _wide(output.dtype).numpy
            result = np.full(self._masks[output].size, unknown, dtype)
            result[flat] = self._single(op, flat)
            self._values[output] = result

    def _leaf(self, op: Any) -> np.ndarray:
        if isinstance(op, Parameter):
            return self._arguments[op.value]
        if isinstance(op, ReadVariable):
            return np.asarray(op.variable.initial_value())
        return op.array if isinstance(op, Constant) else np.full(op.shape, op.dtype.numpy.type(op.number))

    def _single(self, op: Any, flat: np.ndarray) -> np.ndarray:
        """The elements of an op's result at some flat indices, one by one."""
        sources = [self._values[operand] for operand in op.operands]
        if isinstance(op, Elementwise):
            return np.asarray(op.evaluate(_Exact(), *[source[flat] for source in sources]))
        if isinstance(op, Structured):
            return _combined(_structure(op), [operand.shape for operand in op.operands], sources, op.outputs[0], flat)
        result = np.empty(len(flat), sources[0].dtype)
        for at, operand, place, constant in _pieces(op, flat):
            result[at] = constant if operand is None else sources[operand][place]
        return result


def _whole(op: Any, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """The results of an op, all elements."""
    if isinstance(op, Elementwise):
        results = op.evaluate(_Exact(), *arrays)
        return results if isinstance(results, tuple) else (results,)
    if isinstance(op, View):
        return [view(op.view, arrays, {}, op)]
    assert isinstance(op, Structured), f"the oracle has no meaning for {type(op).__name__}"
    results = [(output.shape, _wide(output.dtype)) for output in op.outputs]
    return iterate(_structure(op), arrays, results, op)


def _sources(op: Op, flat: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(operand, flat indices into it) that some elements of an op's result follow from."""
    if isinstance(op, Elementwise):
        yield from [(position, flat) for position in range(len(op.operands))]
    elif isinstance(op, View):
        yield from [(operand, place) for _, operand, place, _ in _pieces(op, flat) if operand is not None]
    else:
        structure = _structure(op)
        for part in _chunks(structure, flat):
            names = _points(structure, op.outputs[0].shape, part)
            for position, access in enumerate(structure.reads):
                if access is not None:
                    place, is_inside = _places(access, names, op.operands[position].shape)
                    yield position, place[is_inside]


# -- views ---------------------------------------------------------------------------------------------------------


def _pieces(op: Any, flat: np.ndarray) -> Iterator[tuple[np.ndarray, int | None, np.ndarray, complex]]:
    """For each piece of a view: which of the elements it shows, of which operand, where they lie there; or a number."""
    view, everything = op.view, np.arange(len(flat))
    if isinstance(view, ReshapeView):
        yield everything, 0, flat, 0
        return
    at = np.unravel_index(flat, view.shape)
    if not isinstance(view, ComplexView):
        yield everything, 0, _mapped(view.index_map, at, op.operands[0].shape), 0
        return
    for piece in view.pieces:
        is_here = np.ones(len(flat), bool)
        for coordinate, start, extent in zip(at, piece.starts, piece.extents, strict=True):
            is_here &= (coordinate >= start) & (coordinate < start + extent)
        here = np.flatnonzero(is_here)
        if piece.index_map is None:
            yield here, None, here, piece.constant
            continue
        inside = [coordinate[here] - start for coordinate, start in zip(at, piece.starts, strict=True)]
        yield here, piece.operand, _mapped(piece.index_map, inside, op.operands[piece.operand].shape), 0


def _mapped(index_map: IndexMap, at: Sequence[np.ndarray], source: Sequence[DimLike]) -> np.ndarray:
    names = {f"%{d}": coordinate for d, coordinate in enumerate(at)} or {"": np.zeros(1, np.int64)}
    place, is_inside = _places(Access(index_map.coordinates), names, source)
    assert np.all(is_inside), "a view leaves its tensor"
    return place


# -- iterations ----------------------------------------------------------------------------------------------------


def _structure(op: Any) -> Structure:
    return op.structure(*[operand.type for operand in op.operands])


def _is_plain(structure: Structure) -> bool:
    """Whether each element of the result is a sum, product or extreme over points that its own index tells."""
    known = structure.combine in ("add", "multiply", "maximum", "minimum", None)
    written = list(structure.writes[0].coordinates)
    places = [index(d) for d in range(len(structure.domain))]
    return (known and structure.initial is None and len(structure.writes) == 1 and structure.finish is None
            and structure.body in (multiply_body, identity_body)
            and all([entry in places for entry in written]) and len(set(written)) == len(written)
            and all([isinstance(entry, int) or not hasattr(entry, "operand")
                     for access in structure.reads if access is not None for entry in access.coordinates]))


def _time_of_elements(structure: Structure, count: int) -> float:
    return POINT * count * _reduced_size(structure)


def _time_of_all(structure: Structure) -> float:
    is_product = structure.body is multiply_body and structure.combine == "add"
    return (PRODUCT if is_product else STEP) * math.prod(structure.domain)


def _reduced_size(structure: Structure) -> int:
    return math.prod([structure.domain[d] for d in structure.reduced])


def _chunks(structure: Structure, flat: np.ndarray) -> Iterator[np.ndarray]:
    each = max(MOST_POINTS // max(_reduced_size(structure), 1), 1)
    for start in range(0, len(flat), each):
        yield flat[start:start + each]


def _points(structure: Structure, shape: Sequence[int], flat: np.ndarray) -> dict[str, np.ndarray]:
    """The indices of the points that some elements are made of: elements by rows, reduced points by columns."""
    names: dict[str, np.ndarray] = {}
    for entry, coordinate in zip(structure.writes[0].coordinates, np.unravel_index(flat, shape), strict=True):
        names[str(entry)] = coordinate[:, None]
    lengths = [structure.domain[d] for d in structure.reduced]
    grid = np.unravel_index(np.arange(math.prod(lengths)), lengths) if lengths else ()
    return names | {f"%{d}": coordinate[None] for d, coordinate in zip(structure.reduced, grid, strict=True)}


def _places(access: Access, names: dict[str, np.ndarray], shape: Sequence[DimLike]) -> tuple[np.ndarray, np.ndarray]:
    """(flat index, whether it is inside) of each point in a tensor of this shape."""
    points = np.broadcast_shapes(*[entry.shape for entry in names.values()])
    place, is_inside = np.zeros((), np.int64), np.ones((), bool)
    for entry, length in zip(access.coordinates, shape, strict=True):
        at = evaluate_arrays(entry, names)
        is_inside = is_inside & (at >= 0) & (at < length)
        place = place * length + at
    return np.broadcast_to(np.where(is_inside, place, 0), points), np.broadcast_to(is_inside, points)


_COMBINE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum, None: np.add}


def _combined(structure: Structure, shapes: Sequence[Sequence[int]], sources: Sequence[np.ndarray], output: Value,
              flat: np.ndarray) -> np.ndarray:
    """The elements of an iteration's result at some flat indices."""
    found = []
    for part in _chunks(structure, flat):
        names = _points(structure, output.shape, part)
        points = np.broadcast_shapes(*[entry.shape for entry in names.values()])
        read = []
        for access, shape, source in zip(structure.reads, shapes, sources, strict=True):
            if access is not None:
                place, is_inside = _places(access, names, shape)
                taken = source[place]
                read.append(taken if is_inside.all() else np.where(is_inside, taken, access.fill))
        elements = np.broadcast_to(structure.body(_Exact(), *read), points)
        found.append(_COMBINE[structure.combine].reduce(elements.reshape(len(part), -1), axis=1))
    return np.concatenate(found) if found else np.empty(0)
