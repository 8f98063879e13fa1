"""Whole ops as steps of a program: native code of the runtime, told by sizes where operands and outputs are.

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

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nervure.errors import NotSupported
from nervure.ir.op import Op
from nervure.ir.whole_op import WholeOp
from nervure.kernel.plan import OpaqueStep
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.finding import FindPositions
from nervure.ops.library_op import LibraryOp
from nervure.ops.sorting import Sort, TopK
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.compile.library_loops import addresses, library_sizes
from nervure.transformers.cpu.compile.llvm.types import F32, F64, I32, I64
from nervure.transformers.cpu.compile.region_code import place_of
from nervure.transformers.cpu.compiled import CompiledFunction, LaunchParameters
from nervure.transformers.cpu.loaded import found_sizes
from nervure.transformers.cpu.runtime import accumulating, runtime_library
from nervure.transformers.cpu.runtime.ordering import KeyKind
from nervure.transformers.cpu.runtime.runtime_library import RUNTIME
from nervure.transformers.memory_estimate import most
from nervure.types.dim import DimLike, product
from nervure.types.dtype import DType, bool_, float32, float64, int32, int64, uint64
from nervure.types.duration import MOST_NANOSECONDS

LIBRARY_ELEMENT = 20
"""The nanoseconds that a loop of a library is expected to take for an element of its operands."""


class WholeOpCode(NamedTuple):
    """A whole op as the code of a compiled function: the step, the numbers of its storages, the function that runs it,
    with the part of the runtime that has it, and its sizes.
    """

    planned: OpaqueStep
    buffers: Sequence[int]
    runner: str
    part: str
    sizes: tuple[DimLike, ...]
    found: runtime.FoundSizes | None

    @classmethod
    def of(cls, step: OpaqueStep, buffers: Sequence[int], compiled: CompiledFunction) -> WholeOpCode:
        """Returns the code of a step of a compiled function."""
        op = step.op
        places = [*[place_of(step, operand) for operand in op.operands],
                  *[step.storages.index(storage) for storage in step.outputs]]
        if isinstance(op, LibraryOp):
            sizes = library_sizes(op, places)
            return cls(step, buffers, "run_library", RUNTIME, sizes, found_sizes(compiled, LaunchParameters(sizes)))
        if type(op) not in _SIZES:
            raise op.fail(NotSupported, "the cpu has no code for this op", got=type(op).__name__,
                          expected="an op of nervure.ops", help="the interpreter runs it")
        runner, part, own = _SIZES[type(op)]
        runtime_library.begin(part)
        if isinstance(op, Cumulative):
            places = places[:1] + places  # in the place of factors, which are not read
        sizes = (*places, *own(op))
        return cls(step, buffers, runner, part, sizes, found_sizes(compiled, LaunchParameters(sizes)))

    def step(self, bindings: Bindings) -> runtime.ProgramStep:
        """Returns the step for these sizes."""
        sizes = most(self.sizes, bindings)
        if isinstance(self.planned.op, LibraryOp):
            sizes = (*addresses(self.planned.op.function, self.planned.op.loop_types), *sizes[2:])
        elements = sum([math.prod(most(operand.shape, bindings)) for operand in self.planned.op.operands])
        nanoseconds = min(_ELEMENT.get(type(self.planned.op), LIBRARY_ELEMENT) * elements, MOST_NANOSECONDS)
        return runtime.ProgramStep(
            0, self.buffers, sizes, nanoseconds=nanoseconds,
            runner=runtime_library.library(self.part).address(self.runner),
            longest=nanoseconds if type(self.planned.op) in _SHARED else 0,
            found=() if self.found is None else self.found.instructions(bindings))


def _of_positions(op: FindPositions) -> tuple[DimLike, ...]:
    counts, = op.operands
    assert op.bound is not None
    return counts.shape[0], int(counts.dtype is bool_), op.bound


def _of_rows(op: WholeOp) -> tuple[DimLike, ...]:
    *rows, length = op.operands[0].shape
    return product(rows), length


def _of_sort(op: Sort | TopK) -> tuple[DimLike, ...]:
    return *_of_rows(op), *_ordering(op.operands[0].dtype, op.descending)


def _of_top_k(op: TopK) -> tuple[DimLike, ...]:
    return *_of_sort(op), op.k


def _of_cumulative(op: Cumulative | Recurrence) -> tuple[DimLike, ...]:
    shape, dtype = op.operands[0].shape, op.operands[0].dtype
    kind = op.kind if isinstance(op, Cumulative) else "linear"
    code = accumulating.code_of(kind, _TYPES[dtype], not dtype.is_signed and not dtype.is_float)
    return product(shape[:op.axis]), shape[op.axis], product(shape[op.axis + 1:]), int(op.reverse), code


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


_SIZES: dict[type[Op], tuple[str, str, Callable[[Any], tuple[DimLike, ...]]]] = {
    Cumulative: ("run_cumulative", "accumulating", _of_cumulative),
    Recurrence: ("run_cumulative", "accumulating", _of_cumulative),
    FindPositions: ("run_positions", RUNTIME, _of_positions),
    Sort: ("run_sort", "row_sorting", _of_sort), TopK: ("run_top_k", "row_sorting", _of_top_k)}
"""The runtime's function for each whole op, its part, and what it is told behind the places of operands and outputs."""

_TYPES = {float32: F32, float64: F64, int32: I32, int64: I64, uint64: I64}

_ELEMENT: dict[type[Op], int] = {Cumulative: 1, Recurrence: 1, FindPositions: 2, Sort: 8, TopK: 1}
"""The nanoseconds that an op is expected to take for an element of its operand."""

_SHARED: frozenset[type[Op]] = frozenset({Cumulative, Recurrence, Sort, TopK})
"""The ops that threads share."""
