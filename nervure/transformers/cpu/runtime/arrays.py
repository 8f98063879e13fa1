"""NumPy's arrays from the inside: native code that reads their headers, and makes arrays whose memory is the pool's.

An array is its header: where its data is, its rank, lengths, element type and flags. NumPy frees the data of an array
through a *memory handler*, four functions that the array refers to; ours give memory back to the pool. So a result
owns its data like any other array, and the memory is used again when it dies.

>>> [function.name for function in functions()][:2]
['new_array', 'handler_malloc']
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I8, I32, I64, PTR, Type
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.objects import ALIGNED, C_CONTIGUOUS, FIELDS, OWNS_DATA, WRITEABLE
from nervure.transformers.cpu.runtime.pool import HEAD
from nervure.transformers.cpu.runtime.records import Array, Block, Host


def functions() -> list[Builder]:
    """The code about arrays, and that of the memory handler."""
    return [new_array(), handler_malloc(), handler_calloc(), handler_realloc(), handler_free()]


def host(b: Builder) -> At:
    """What this process's Python and NumPy told about themselves."""
    return At(Host, Register(b, PTR, "@host"))


def read(b: Builder, array: Register, name: str, type: Type) -> Register:
    """A field of an array's header."""
    return b.load(b.offset(array, FIELDS[name], I8), type)


def new_array() -> Builder:
    """``new_array(spec)``: an array of this type and shape, not filled in; null with an exception set.

    The calling thread holds the GIL.
    """
    b = Builder("new_array", [("spec", PTR)], result=PTR, attributes="nounwind")
    spec, record = At(Array, b.arguments[0]), host(b)
    data = b.call("take", PTR, spec["bytes"])
    with b.if_(data.equal(0)):
        b.ret(b.call("PyErr_NoMemory", PTR))
    b.call("Py_IncRef", None, spec["descr"])
    null = b.constant(PTR, 0)
    array = b.call_pointer(record["new_from_descr"], PTR, record["array_type"], spec["descr"],
                           spec["rank"].cast("trunc", I32), spec["dims"], null, data,
                           b.constant(I32, C_CONTIGUOUS | ALIGNED | WRITEABLE), null)
    with b.if_(array.equal(0)):
        b.call("put", None, data)
        b.ret(array)
    b.call("Py_IncRef", None, record["memory_handler"])
    b.store(record["memory_handler"], b.offset(array, FIELDS["memory_handler"], I8))
    flags = b.offset(array, FIELDS["flags"], I8)
    b.store(b.load(flags, I32) | OWNS_DATA, flags)
    b.ret(array)
    return b


# -- the memory handler: what NumPy calls for arrays made here -----------------------------------------------


def handler_malloc() -> Builder:
    """``handler_malloc(context, size)``."""
    b = Builder("handler_malloc", [("context", PTR), ("size", I64)], result=PTR, attributes="nounwind")
    b.ret(b.call("take", PTR, b.arguments[1]))
    return b


def handler_calloc() -> Builder:
    """``handler_calloc(context, count, size)``: memory of zeros. NumPy has checked the product."""
    b = Builder("handler_calloc", [("context", PTR), ("count", I64), ("size", I64)], result=PTR, attributes="nounwind")
    size = b.arguments[1] * b.arguments[2]
    memory = b.call("take", PTR, size)
    with b.if_(memory.not_equal(0)):
        b.call("memset", PTR, memory, b.constant(I32, 0), size)
    b.ret(memory)
    return b


def handler_realloc() -> Builder:
    """``handler_realloc(context, memory, size)``: the same memory where it is large enough, else other memory."""
    b = Builder("handler_realloc", [("context", PTR), ("memory", PTR), ("size", I64)], result=PTR,
                attributes="nounwind")
    _, memory, size = b.arguments
    with b.if_(memory.equal(0)):
        b.ret(b.call("take", PTR, size))
    room = b.call("class_bytes", I64, At(Block, b.offset(memory, -HEAD, I8))["size_class"])
    with b.if_(size <= room):
        b.ret(memory)
    other = b.call("take", PTR, size)
    with b.if_(other.not_equal(0)):
        b.call("memcpy", PTR, other, memory, room)
        b.call("put", None, memory)
    b.ret(other)
    return b


def handler_free() -> Builder:
    """``handler_free(context, memory, size)``."""
    b = Builder("handler_free", [("context", PTR), ("memory", PTR), ("size", I64)], attributes="nounwind")
    with b.if_(b.arguments[1].not_equal(0)):
        b.call("put", None, b.arguments[1])
    b.ret()
    return b
