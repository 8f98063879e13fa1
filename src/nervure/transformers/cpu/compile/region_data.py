"""Branches and loops as data: their functions are compiled, and where those find arguments and results is written down.

>>> import nervure as nv
>>> from nervure.transformers.cpu.compile.compilation import compile_function
>>> from nervure.transformers.cpu.target import Target
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> body = nv.Function([total * 2.0 + x], [total, x])
>>> start, xs = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, (3,))
>>> scan = nv.ops.Scan(start, xs, body=body, carries=1, slices=1, length=3)
>>> kernel, = compile_function(nv.Function(scan.outputs, [start, xs]), Target.host()).loaded.compiled.kernels
>>> kernel.region.trips, kernel.region.carries, kernel.region.slices
(3, (4,), (0, 4))

A while loop over single numbers is one kernel: then that kernel is its only function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nervure.errors import InternalError
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.region import RegionOp
from nervure.kernel.plan import OpaqueStep, make_plan
from nervure.kernel.producers import dense_base
from nervure.memory.storage import Storage, StorageKind
from nervure.ops.branching import Branches
from nervure.ops.looping import LoopOp, Scan, While
from nervure.transformers.cpu.cache.library_cache import kernel_key
from nervure.transformers.cpu.compile.compiler import Compilations
from nervure.transformers.cpu.compile.scalar_loops import generate_scalar_loop
from nervure.transformers.cpu.compiled import (
    CompiledFunction,
    CompiledKernel,
    CompiledRegion,
    LaunchParameters,
    RegionKind,
)
from nervure.transformers.cpu.loaded import LoadedFunction, kernel_code
from nervure.transformers.cpu.target import Target
from nervure.transformers.memory_estimate import MemoryEstimate
from nervure.types.dtype import bool_, int64
from nervure.types.duration import Duration

AT_ONCE = 1 << 14
"""The iterations of a loop over single numbers between two looks for signals."""

STATEMENT = 2
"""The nanoseconds of an op on single numbers."""


Compiled = Callable[[Function, range, Mapping[str, Storage]], LoadedFunction]
"""A compiler of a function with these invariant parameters, and with the memory of lengths that were found outside."""


class RegionData(NamedTuple):
    """A branch or a loop as data, and its functions with their code."""

    data: CompiledRegion
    functions: tuple[LoadedFunction, ...]


def region_of(step: OpaqueStep, names: Mapping[Storage, str], target: Target, compiled: Compiled) -> RegionData:
    """Returns the branch or the loop of a step. ``names`` has those of found lengths by their memory; where sizes
    depend on them, they are further arguments of the functions. ``compiled`` compiles a function.
    """
    op = step.op
    assert isinstance(op, RegionOp)
    loop = _scalar_loop(op, target) if isinstance(op, While) else None
    if loop is not None:
        return RegionData(_described(step, RegionKind.SCALAR_WHILE, (loop,)), (loop,))
    same, count = [range(0)] * len(op.bodies), len(op.operands) - isinstance(op, Branches)
    lengths = {names[storage]: Storage(StorageKind.ARGUMENT, int64, (), count + at)
               for at, storage in enumerate(step.lengths)}
    if isinstance(op, LoopOp):
        same[-1] = range(op.carries + (op.slices if isinstance(op, Scan) else 0), count + len(lengths))
    pairs = list(zip(op.bodies, same, strict=True))
    known = {pair: compiled(*pair, lengths) for pair in dict.fromkeys(pairs)}
    functions = tuple([known[pair] for pair in pairs])
    kind = RegionKind.BRANCH if isinstance(op, Branches) else RegionKind.SCAN if isinstance(op, Scan) \
        else RegionKind.WHILE
    return RegionData(_described(step, kind, functions), functions)


def _described(step: OpaqueStep, kind: RegionKind, functions: Sequence[LoadedFunction]) -> CompiledRegion:
    op = step.op
    counters = op.counters if isinstance(op, Scan) else ()
    places = [-1 if at in counters else place_of(step, value) for at, value in enumerate(op.operands)]
    places += [step.storages.index(storage) for storage in step.lengths]
    outputs = [step.storages.index(storage) for storage in step.outputs]
    compiled = tuple([function.compiled for function in functions])
    if isinstance(op, Scan):
        first, results = op.carries + op.slices, len(op.body.results)
        kept = dict(zip(op.saved, outputs[results:], strict=True))
        return CompiledRegion(
            kind, tuple(places), tuple(outputs[:results]), compiled, trips=op.length, reverse=op.reverse,
            carries=tuple([value.type.nbytes for value in op.operands[:op.carries]]),
            slices=tuple([parameter.value.type.nbytes if op.carries <= at < first and at not in counters else 0
                          for at, parameter in enumerate(op.body.parameters)]) + (0,) * len(step.lengths),
            stacked=tuple([value.type.nbytes if at >= op.carries else 0
                           for at, value in enumerate(op.body.results)]) or (0,),
            saved=tuple([kept.get(at, -1) for at in range(op.carries)]))
    if isinstance(op, Branches):
        return CompiledRegion(kind, tuple(places), tuple(outputs), compiled, op.operands[0].dtype is bool_)
    return CompiledRegion(kind, tuple(places), tuple(outputs), compiled,
                          carries=tuple([value.type.nbytes for value in op.outputs]))


def _scalar_loop(op: While, target: Target) -> LoadedFunction | None:
    """Returns a loop over single numbers as a function of one kernel; None if it does more than a kernel can.

    The kernel writes the carries where they are, and a flag, its result.
    """
    if any([value.shape != () for value in op.operands]):
        return None
    condition, body = [make_plan(function, target.machine) for function in op.bodies]
    text = generate_scalar_loop(condition, body, op.carries, target)
    if text is None:
        return None
    key = kernel_key(text, target)
    with Compilations(target) as compilations:
        compilations.begin(key, text)
        library = compilations.libraries()[key]
    count, statements = len(op.operands), sum([len(function.operations) for function in op.bodies])
    duration = Duration(known=((0, AT_ONCE * STATEMENT * statements),))
    kernel = CompiledKernel(
        key, LaunchParameters(extent=AT_ONCE, duration=duration, ordered=True), tuple(range(count + 1)),
        tuple(range(count)), (*range(op.carries), count))
    storages = [*[Storage(StorageKind.ARGUMENT, value.dtype, (), at) for at, value in enumerate(op.operands)],
                Storage(StorageKind.ROOT, bool_, ())]
    compiled = CompiledFunction((kernel,), tuple(storages), (count,), (), (), 0, MemoryEstimate((), (), (), (), (), ()))
    return LoadedFunction(compiled, None, [kernel_code(compiled, kernel, library)], ())


def place_of(planned: OpaqueStep, value: Value) -> int:
    """Returns the place of an operand among the buffers of a step."""
    storage = planned.bases.get(dense_base(value))
    if storage is None or storage.layout is not None:
        raise InternalError(f"an operand of {planned.op!r} is not in memory in row-major order: {value!r}")
    return planned.storages.index(storage)
