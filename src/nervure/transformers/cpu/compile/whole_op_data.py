"""Whole ops as data: the runtime's function for each, which sizes tell where operands and outputs are.

>>> import numpy as np
>>> import nervure as nv
>>> from nervure.ir.whole_op import fresh_length
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> mask = nv.Parameter(nv.bool_, (3,))
>>> positions = nv.ops.FindPositions(mask, length=fresh_length(3))
>>> loaded = compile_function(nv.Function(positions.outputs, [mask]), Target.host()).loaded
>>> most, program = {str(positions.length): 3}, loaded.program({str(positions.length): 3})
>>> found, count = program.make_results()
>>> program.run([np.array([False, True, True])], [found, count]).code, found[:int(count)].tolist()
(0, [1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import numpy as np

from nervure.errors import NotSupported
from nervure.ir.op import Op
from nervure.ir.whole_op import WholeOp
from nervure.kernel.plan import OpaqueStep
from nervure.memory.storage import Storage
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.finding import FindPositions
from nervure.ops.library_op import LibraryOp
from nervure.ops.sorting import Sort, TopK
from nervure.transformers.call_memory import total
from nervure.transformers.cpu.compile.library_loops import library_sizes
from nervure.transformers.cpu.compile.region_data import place_of
from nervure.transformers.cpu.compiled import LIBRARY_RUNNER, CompiledCall, LaunchParameters
from nervure.transformers.cpu.runtime.accumulating import part_of
from nervure.transformers.cpu.runtime.key_sorting import KINDS
from nervure.transformers.cpu.runtime.ordering import SPARE, KeyKind, fits_a_word
from nervure.types.dim import DimLike, dim_min, product
from nervure.types.dtype import DType, bool_
from nervure.types.duration import Duration

_MANY = 1 << 20
"""A number of elements by which time is told in proportion."""

LIBRARY_ELEMENT = 20
"""The nanoseconds that a loop of a library is expected to take for an element of its operands."""


def call_of(step: OpaqueStep, wanted: Container[Storage]) -> tuple[CompiledCall, LaunchParameters]:
    """Returns the call that computes a whole op, and what it is told. NotSupported if there is no code for the op.

    Memory that is not ``wanted`` is read by no step, and is no result.
    """
    op = step.op
    places = [*[place_of(step, operand) for operand in op.operands],
              *[step.storages.index(storage) for storage in step.outputs]]
    elements = total([product(operand.shape) for operand in op.operands])
    duration = Duration(elements, ((0, 0), (_MANY, _MANY * _ELEMENT.get(type(op), LIBRARY_ELEMENT))))
    if isinstance(op, LibraryOp):
        call = CompiledCall(LIBRARY_RUNNER, loop=op.loop_name, types=op.loop_types)
        return call, LaunchParameters(library_sizes(op, places), duration=duration)
    if type(op) not in _SIZES:
        raise op.fail(NotSupported, "the cpu has no code for this op", got=type(op).__name__,
                      expected="an op of nervure.ops", help="the interpreter runs it")
    name_of, own = _SIZES[type(op)]
    runner = name_of(op)
    if isinstance(op, Cumulative):
        places = places[:1] + places  # in the place of factors, which are not read
    if isinstance(op, Sort) and step.outputs[1] not in wanted and op.operands[0].dtype.itemsize in KINDS:
        runner = "run_sort_keys"
    rows, row_bytes = _borrowed(op, runner)
    call = CompiledCall(runner, is_shared=type(op) in _SHARED, rows=rows, row_bytes=row_bytes)
    return call, LaunchParameters((*places, *own(op)), duration=duration)


def _of_positions(op: FindPositions) -> tuple[DimLike, ...]:
    counts, = op.operands
    assert op.bound is not None
    return counts.shape[0], int(counts.dtype is bool_), op.bound


def _of_rows(op: WholeOp) -> tuple[DimLike, ...]:
    *rows, length = op.operands[0].shape
    return product(rows), length


def _of_sort(op: Sort | TopK) -> tuple[DimLike, ...]:
    return *_of_rows(op), *_ordering(op.operands[0].dtype, op.descending)


SORTS = (Sort, TopK)
"""The whole ops that take memory of the pool while they run."""


def _borrowed(op: Op, runner: str) -> tuple[DimLike, DimLike]:
    """Returns the number of rows, and the bytes of the two places between which a sort moves the entries of a row."""
    if not isinstance(op, SORTS):
        return 1, 0
    rows, length = _of_rows(op)
    width = op.operands[0].dtype.itemsize
    entry = width if runner == "run_sort_keys" else 8 if fits_a_word(width) else 16
    return rows, 2 * entry * (dim_min(length, 2 * op.k + SPARE) if isinstance(op, TopK) else length)


def _of_top_k(op: TopK) -> tuple[DimLike, ...]:
    return *_of_sort(op), op.k


def _of_cumulative(op: Cumulative | Recurrence) -> tuple[DimLike, ...]:
    shape = op.operands[0].shape
    return product(shape[:op.axis]), shape[op.axis], product(shape[op.axis + 1:]), int(op.reverse)


def _ordering(dtype: DType, is_descending: bool) -> tuple[int, ...]:
    """Returns the sizes of an ``Ordering``."""
    kind = KeyKind.SIGNED if dtype.is_signed else KeyKind.UNSIGNED
    if dtype.is_float:
        zero = np.array(-0.0).astype(dtype.numpy).astype(np.float64)
        kind = KeyKind.FLOAT if np.signbit(zero) else KeyKind.FLOAT_WITHOUT_NEGATIVE_ZERO
    sign = 1 << (8 * dtype.itemsize - 1)
    inverted = (2 * sign - 1) * is_descending
    return (dtype.itemsize, int(kind), *[x - 2 ** 64 * (x >> 63) for x in (sign, _largest(dtype), inverted)])


def _largest(dtype: DType) -> int:
    """Returns the bits of the largest float, an infinity where there is one; 0 for other types."""
    if not dtype.is_float:
        return 0
    infinity = np.array(np.inf).astype(dtype.numpy)
    number = infinity if np.isinf(infinity.astype(np.float64)) else np.array(dtype.maximum).astype(dtype.numpy)
    return int.from_bytes(number.tobytes(), "little")


def _name_of_cumulative(op: Cumulative | Recurrence) -> str:
    way = op.kind if isinstance(op, Cumulative) else "linear"
    return f"run_{part_of(way, op.operands[0].dtype.name)}"


_SIZES: dict[type[Op], tuple[Callable[[Any], str], Callable[[Any], tuple[DimLike, ...]]]] = {
    Cumulative: (_name_of_cumulative, _of_cumulative), Recurrence: (_name_of_cumulative, _of_cumulative),
    FindPositions: (lambda op: "run_positions", _of_positions),
    Sort: (lambda op: "run_sort", _of_sort), TopK: (lambda op: "run_top_k", _of_top_k)}
"""The runtime's function for each whole op, and what it is told behind the places of operands and outputs."""

_ELEMENT: dict[type[Op], int] = {Cumulative: 1, Recurrence: 1, FindPositions: 2, Sort: 8, TopK: 1}
"""The nanoseconds that an op is expected to take for an element of its operand."""

_SHARED: frozenset[type[Op]] = frozenset({Cumulative, Recurrence, Sort, TopK})
"""The ops that threads share."""
