"""Tensors of other libraries, as DLPack describes them: native code reads their headers, and makes tensors.

A library that implements DLPack's exchange API has C functions for both. The one fills a DLTensor with the address,
the lengths and the strides of an object's elements, which stay where they are; the other makes an object of memory that
is given away, with the function that frees it. So an argument costs some 80 ns, and a result that lies in the pool's
memory some 400 until it is freed.

>>> read_tensor.name, tensor_fits.is_hot
('read_tensor', True)
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.memory_pool import put, take
from nervure.transformers.cpu.runtime.native import At, Pointer, Table, Truth, greatest, hot, native
from nervure.transformers.cpu.runtime.records import (
    ArrayRecord,
    ManagedRecord,
    TensorArgumentRecord,
    TensorEntryRecord,
    TensorRecord,
    TensorResultRecord,
)

_CPU = 1
"""The word of the device: kDLCPU, number 0."""

_VERSION = 1
"""The word of the version: major 1, minor 0."""


@hot
def read_tensor(b: Builder, record: At[TensorEntryRecord], argument: At[TensorArgumentRecord], given: Pointer,
                tensor: At[TensorRecord]) -> Truth:
    """Reads the header of an object that is ``given`` into ``tensor``; returns whether it can be that ``argument``.

    It can if it is a tensor of the parameter's rank and element type, aligned, in this machine's memory.
    """
    no = b.constant(I1, False)
    types, own = Table(record["types"]), b.load(b.offset(given, 8, I8), PTR)
    with b.if_(own.not_equal(types[0])), b.if_(own.not_equal(types[1])):
        b.ret(no)
    with b.if_(b.call_pointer(record["read"], I32, given, tensor.pointer).not_equal(0)):
        b.call("PyErr_Clear", None)
        b.ret(no)
    start = b.offset(tensor["data"], tensor["offset"], I8)
    tensor["data"] = start
    is_aligned = (start.cast("ptrtoint", I64) & argument["mask"]).equal(0)
    return tensor["device"].equal(_CPU) & tensor["kind"].equal(argument["kind"]) & is_aligned


@hot
def tensor_fits(b: Builder, tensor: At[TensorRecord], argument: At[TensorArgumentRecord],
                spec: At[ArrayRecord]) -> Truth:
    """Whether a tensor that was read has the lengths of ``spec``, and lies without gaps in the argument's order."""
    no, yes = b.constant(I1, False), b.constant(I1, True)
    lengths, strides = Table(tensor["dims"], I64), Table(tensor["strides"], I64)
    expected, rank = Table(spec["dims"], I64), spec["rank"]
    with b.loop(0, rank) as loop, b.if_(lengths[_dimension(b, argument["order"], loop.index)]
                                        .not_equal(expected[loop.index])):
        b.ret(no)
    with b.if_(spec["bytes"].equal(0)):
        b.ret(yes)
    with b.if_(tensor["data"].equal(0)):
        b.ret(no)
    with b.loop(0, rank, carried=[b.constant(I64, 1)]) as loop:
        d, (due,) = rank - 1 - loop.index, loop.carried
        length, stride = expected[d], strides[_dimension(b, argument["order"], d)]
        with b.if_(length.not_equal(1) & stride.not_equal(due)):
            b.ret(no)
        loop.carried = [due * length]
    return yes


@native
def lies_apart(b: Builder, record: At[TensorEntryRecord], tensors: At[TensorRecord],
               specs: At[ArrayRecord]) -> Truth:
    """Whether the tensors whose memory results are written into share none of it with another argument."""
    arguments, count = At(TensorArgumentRecord, record["arguments"]), record["parameter_count"]
    with b.loop(0, count) as outer, b.if_(arguments.element(outer.index)["is_written"].not_equal(0)):
        start, end = _range(tensors.element(outer.index), specs.element(outer.index))
        with b.loop(0, count) as inner, b.if_(inner.index.not_equal(outer.index)):
            other, other_end = _range(tensors.element(inner.index), specs.element(inner.index))
            with b.if_((start < other_end) & (other < end)):
                b.ret(b.constant(I1, False))
    return b.constant(I1, True)


def _range(tensor: At[TensorRecord], spec: At[ArrayRecord]) -> tuple[Register, Register]:
    """Returns the addresses between which the elements of a tensor lie."""
    start = tensor["data"].cast("ptrtoint", I64)
    return start, start + spec["bytes"]


@hot
def make_tensor(b: Builder, record: At[TensorEntryRecord], result: At[TensorResultRecord], spec: At[ArrayRecord],
                data: Pointer) -> Pointer:
    """Returns a tensor of a result's type and shape over a block of the pool, which it owns from then on.

    It is null, with an exception set, if there is no memory for it.
    """
    rank = spec["rank"]
    managed = At(ManagedRecord, take(b, rank * 16 + ctypes.sizeof(ManagedRecord)))
    with b.if_(managed.pointer.equal(0)):
        put(b, data)
        b.ret(b.call("PyErr_NoMemory", PTR))
    dims = Table(b.offset(managed.pointer, ctypes.sizeof(ManagedRecord), I8), I64)
    strides, lengths = dims.after(rank), Table(spec["dims"], I64)
    with b.loop(0, rank, carried=[b.constant(I64, 1)]) as loop:
        d, (due,) = rank - 1 - loop.index, loop.carried
        place, length = _dimension(b, result["order"], d), lengths[d]
        dims[place], strides[place] = length, due
        loop.carried = [due * greatest(b, length, 1)]
    managed["version"], managed["flags"], managed["context"] = _VERSION, 0, data
    managed["deleter"] = delete_tensor.address(b)
    tensor = At(TensorRecord, managed.place("tensor"))
    tensor["data"], tensor["device"], tensor["kind"], tensor["offset"] = data, _CPU, result["kind"], 0
    tensor["dims"], tensor["strides"] = dims.pointer, strides.pointer
    made = b.allocate(PTR)
    b.store(b.constant(PTR, 0), made)
    b.call_pointer(record["make"], I32, managed.pointer, made)
    return b.load(made, PTR)


@native
def delete_tensor(b: Builder, managed: At[ManagedRecord]) -> None:
    """Returns the memory of a tensor to the pool. Any thread may call it, with the GIL or without."""
    put(b, managed["context"])
    put(b, managed.pointer)


def _dimension(b: Builder, order: Register, d: Register) -> Register:
    """Returns the dimension of a tensor that is ``d`` in memory."""
    return b.choose(order.equal(0), lambda: d, lambda: Table(order, I64)[d])
