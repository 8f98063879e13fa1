"""NumPy's array headers, as native code reads them, and arrays that native code makes in the pool's memory.

An array is its header: the address of its data, its rank, lengths, element type and flags. NumPy frees the data of an
array through a *memory handler*, four functions that the array refers to; ours return memory to the pool. So a result
owns its data like any other array, and the memory is used again after the array dies.

>>> new_array.name, new_array.is_hot
('new_array', True)
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I32, PTR, Type
from nervure.transformers.cpu.runtime.memory_pool import HEAD, bytes_of, put, take
from nervure.transformers.cpu.runtime.native import At, Pointer, Word, hot, native
from nervure.transformers.cpu.runtime.records import (
    ALIGNED,
    ARRAY_FIELDS,
    C_CONTIGUOUS,
    OWNS_DATA,
    WRITEABLE,
    ArrayRecord,
    BlockHeader,
    Python,
)


def python(b: Builder) -> At[Python]:
    """Returns the record of addresses that native code knows of this process's Python and NumPy."""
    return At(Python, Register(b, PTR, "@python"))


def read(b: Builder, array: Register, name: str, type: Type) -> Register:
    """Reads a field of an array's header."""
    return b.load(b.offset(array, ARRAY_FIELDS[name], I8), type)


@hot
def new_array(b: Builder, spec: At[ArrayRecord]) -> Pointer:
    """Makes an uninitialised array of this type, shape and strides; null with an exception set. The calling thread
    holds the GIL.
    """
    record = python(b)
    data = take(b, spec["bytes"])
    with b.if_(data.equal(0)):
        b.ret(b.call("PyErr_NoMemory", PTR))
    b.call("Py_IncRef", None, spec["descr"])
    null = b.constant(PTR, 0)
    array = b.call_pointer(record["new_from_descr"], PTR, record["array_type"], spec["descr"],
                           spec["rank"].cast("trunc", I32), spec["dims"], spec["strides"], data,
                           b.constant(I32, C_CONTIGUOUS | ALIGNED | WRITEABLE), null)
    with b.if_(array.equal(0)):
        put(b, data)
        b.ret(array)
    b.call("Py_IncRef", None, record["memory_handler"])
    b.store(record["memory_handler"], b.offset(array, ARRAY_FIELDS["memory_handler"], I8))
    flags = b.offset(array, ARRAY_FIELDS["flags"], I8)
    b.store(b.load(flags, I32) | OWNS_DATA, flags)
    return array


# -- the memory handler: NumPy calls it for arrays made here -------------------------------------------------------


@native
def handler_malloc(b: Builder, context: Pointer, size: Word) -> Pointer:
    """Returns ``size`` bytes of memory."""
    return take(b, size)


@native
def handler_calloc(b: Builder, context: Pointer, count: Word, size: Word) -> Pointer:
    """Returns memory of zeros for ``count`` times ``size`` bytes. NumPy has checked the product."""
    size = count * size
    memory = take(b, size)
    with b.if_(memory.not_equal(0)):
        b.call("memset", PTR, memory, b.constant(I32, 0), size)
    return memory


@native
def handler_realloc(b: Builder, context: Pointer, memory: Pointer, size: Word) -> Pointer:
    """Returns the same memory if it is large enough, else other memory."""
    with b.if_(memory.equal(0)):
        b.ret(take(b, size))
    room = bytes_of(b, At(BlockHeader, b.offset(memory, -HEAD, I8))["size_class"])
    with b.if_(size <= room):
        b.ret(memory)
    other = take(b, size)
    with b.if_(other.not_equal(0)):
        b.call("memcpy", PTR, other, memory, room)
        put(b, memory)
    return other


@hot
def handler_free(b: Builder, context: Pointer, memory: Pointer, size: Word) -> None:
    """Returns memory to the pool."""
    with b.if_(memory.not_equal(0)):
        put(b, memory)
