"""A call as a transaction: the arrays that it holds, the program that runs on them, and what becomes of the results.

A block of the pool has the array objects of arguments, results and variables and then the addresses of their data. Each
array is held by a reference until the call ends. If it ends well, variables take their new values and the caller
gets the other results; else nothing has changed.

>>> [function.name for function in functions()][:4]
['call_program', 'read_cells', 'make_results', 'finish']
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.arrays import host, read
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.objects import LIST_ITEMS, LIST_SIZE, WRITEABLE
from nervure.transformers.cpu.runtime.pool import borrowed
from nervure.transformers.cpu.runtime.records import Array, Cell, Code, Entry, Program, Status

ROOM = 512
"""Bytes on the stack for the arrays of a call, 16 each; a call with more takes them from the pool."""


def functions() -> list[Builder]:
    """The code of transactions."""
    return [call_program(), read_cells(), make_results(), finish(), fail(), move_items(), update_cells(), run_lists()]


def call_program() -> Builder:
    """``call_program(entry, program, arguments)``: the tuple of results, or null.

    Null without an exception means that nothing was done, for want of memory or of a variable that fits.
    """
    b = Builder("call_program", [(name, PTR) for name in ("record", "program", "arguments")], result=PTR,
                attributes="nounwind")
    record, program, arguments = At(Entry, b.arguments[0]), At(Program, b.arguments[1]), b.arguments[2]
    counts = [program[name] for name in ("argument_count", "result_count", "variable_count")]
    total = counts[0] + counts[1] + counts[2]
    answer = b.allocate(PTR)
    b.store(b.constant(PTR, 0), answer)
    with borrowed(b, total * 16, ROOM) as block:
        with b.if_(block.equal(0)):
            b.ret(block)
        objects, addresses = [_divided(b, start, counts) for start in (block, b.offset(block, total, PTR))]
        _hold(b, program, arguments, objects, addresses)
        with b.if_(b.call("read_cells", I1, record.pointer, program.pointer, objects[2], addresses[2])), \
                b.if_(b.call("make_results", I1, program.pointer, objects[1], addresses[1])):
            status = _new_status(b)
            b.call("run_call", None, program.pointer, *addresses, status)
            b.store(b.call("finish", PTR, record.pointer, program.pointer, block, status), answer)
        with b.loop(0, total) as loop:
            b.call("Py_DecRef", None, b.load(b.offset(block, loop.index, PTR), PTR))
        b.call("Py_DecRef", None, program["owner"])
    b.ret(b.load(answer, PTR))
    return b


def _hold(b: Builder, program: At, arguments: Register, objects: list[Register], addresses: list[Register]) -> None:
    """Code that takes references to the program and the arguments; of results and variables there are none yet."""
    b.call("Py_IncRef", None, program["owner"])
    with b.loop(0, program["argument_count"]) as loop:
        argument = b.load(b.offset(arguments, loop.index, PTR), PTR)
        b.call("Py_IncRef", None, argument)
        b.store(argument, b.offset(objects[0], loop.index, PTR))
        b.store(read(b, argument, "data", PTR), b.offset(addresses[0], loop.index, PTR))
    with b.loop(0, program["result_count"] + program["variable_count"]) as loop:
        b.store(b.constant(PTR, 0), b.offset(objects[1], loop.index, PTR))


def _divided(b: Builder, start: Register, counts: list[Register]) -> list[Register]:
    """Where the parts of a table begin: arguments, results, variables."""
    second = b.offset(start, counts[0], PTR)
    return [start, second, b.offset(second, counts[1], PTR)]


def _new_status(b: Builder) -> Register:
    words = ctypes.sizeof(Status) // 8
    status = b.allocate(I64, words)
    for word in range(words):
        b.store(b.constant(I64, 0), b.offset(status, word, I64))
    return status


def read_cells() -> Builder:
    """``read_cells(entry, program, objects, addresses)``: the arrays of the variables; whether they fit.

    What a program writes in place must be held by nobody but the cell and this call.
    """
    b = Builder("read_cells", [(name, PTR) for name in ("record", "program", "objects", "addresses")], result=I1,
                attributes="nounwind")
    record, program, objects, addresses = b.arguments
    cells, specs = At(Cell, At(Entry, record)["cells"]), At(Array, At(Program, program)["variables"])
    with b.loop(0, At(Program, program)["variable_count"]) as loop:
        spec = specs.element(loop.index)
        array = b.call("PyObject_GetAttr", PTR, cells.element(loop.index)["cell"], host(b)["array_name"])
        with b.if_(array.equal(0)):
            b.ret(b.constant(I1, False))
        b.store(array, b.offset(objects, loop.index, PTR))
        with b.if_(~b.call("fits", I1, array, spec.pointer)):
            b.ret(b.constant(I1, False))
        is_free = read(b, array, "references", I32).equal(2) & (read(b, array, "flags", I32) & WRITEABLE).not_equal(0)
        with b.if_((spec["variable"] >= 0) & ~is_free):
            b.ret(b.constant(I1, False))
        b.store(read(b, array, "data", PTR), b.offset(addresses, loop.index, PTR))
    b.ret(b.constant(I1, True))
    return b


def make_results() -> Builder:
    """``make_results(program, objects, addresses)``: new arrays; whether there was memory for all of them."""
    b = Builder("make_results", [(name, PTR) for name in ("program", "objects", "addresses")], result=I1,
                attributes="nounwind")
    program, objects, addresses = At(Program, b.arguments[0]), *b.arguments[1:]
    specs = At(Array, program["results"])
    with b.loop(0, program["result_count"]) as loop:
        array = b.call("new_array", PTR, specs.element(loop.index).pointer)
        with b.if_(array.equal(0)):
            b.call("PyErr_Clear", None)
            b.ret(b.constant(I1, False))
        b.store(array, b.offset(objects, loop.index, PTR))
        b.store(read(b, array, "data", PTR), b.offset(addresses, loop.index, PTR))
    b.ret(b.constant(I1, True))
    return b


# -- the end of a call ---------------------------------------------------------------------------------------


def finish() -> Builder:
    """``finish(entry, program, objects, status)``: the tuple of results (or the single one), or null and an exception.

    Variables take their new values. What is returned takes over the references to the results among the ``objects``.
    """
    b = Builder("finish", [(name, PTR) for name in ("record", "program", "objects", "status")], result=PTR,
                attributes="nounwind")
    record, program, objects, status = b.arguments
    null = b.constant(PTR, 0)
    code = At(Status, status)["code"]
    with b.if_(code.equal(Code.INTERRUPTED) | code.equal(Code.NO_MEMORY)):
        b.ret(null)
    with b.if_(code.not_equal(Code.DONE)):
        b.ret(b.call("fail", PTR, record, program, objects, status))
    results = b.offset(objects, At(Program, program)["argument_count"], PTR)
    with b.if_(At(Entry, record)["single"].not_equal(0)):
        answer = b.load(results, PTR)
        b.call("update_cells", None, record, program, results)
        b.store(null, results)
        b.ret(answer)
    answer = b.call("PyTuple_New", PTR, At(Program, program)["returned_count"])
    with b.if_(answer.equal(0)):
        b.ret(null)
    b.call("update_cells", None, record, program, results)
    b.call("move_items", None, answer, results, At(Program, program)["returned_count"])
    b.ret(answer)
    return b


def fail() -> Builder:
    """``fail(entry, program, objects, status)``: raises what Python makes of the status and the arguments."""
    b = Builder("fail", [(name, PTR) for name in ("record", "program", "objects", "status")], result=PTR,
                attributes="nounwind")
    record, program, objects, status = b.arguments
    count = At(Program, program)["argument_count"]
    given = b.allocate(PTR, 2)
    arguments = b.call("PyTuple_New", PTR, count)
    with b.if_(arguments.equal(0)):
        b.ret(arguments)
    b.call("move_items", None, arguments, objects, count)
    b.store(b.call("PyLong_FromVoidPtr", PTR, status), given)
    b.store(arguments, b.offset(given, 1, PTR))
    answer = b.call("PyObject_Vectorcall", PTR, At(Entry, record)["failed"], given, b.constant(I64, 2),
                    b.constant(PTR, 0))
    b.call("Py_DecRef", None, b.load(given, PTR))
    b.call("Py_DecRef", None, arguments)
    b.ret(answer)
    return b


def move_items() -> Builder:
    """``move_items(tuple, objects, count)``: a new tuple takes over references."""
    b = Builder("move_items", [("tuple", PTR), ("objects", PTR), ("count", I64)], attributes="nounwind")
    items, objects, count = b.arguments
    with b.loop(0, count) as loop:
        place = b.offset(objects, loop.index, PTR)
        b.call("PyTuple_SetItem", I32, items, loop.index, b.load(place, PTR))
        b.store(b.constant(PTR, 0), place)
    b.ret()
    return b


def update_cells() -> Builder:
    """``update_cells(entry, program, objects)``: variables have their new arrays, and versions are raised."""
    b = Builder("update_cells", [(name, PTR) for name in ("record", "program", "objects")], attributes="nounwind")
    cells, program, objects = At(Cell, At(Entry, b.arguments[0])["cells"]), At(Program, b.arguments[1]), b.arguments[2]
    specs = At(Array, program["results"])
    with b.loop(program["returned_count"], program["result_count"]) as loop:
        cell = cells.element(specs.element(loop.index)["variable"])["cell"]
        b.call("PyObject_SetAttr", I32, cell, host(b)["array_name"], b.load(b.offset(objects, loop.index, PTR), PTR))
        _raise_version(b, cell)
    specs = At(Array, program["variables"])
    with b.loop(0, program["variable_count"]) as loop, b.if_(specs.element(loop.index)["variable"] >= 0):
        _raise_version(b, cells.element(loop.index)["cell"])
    b.ret()
    return b


def _raise_version(b: Builder, cell: Register) -> None:
    before = b.call("PyObject_GetAttr", PTR, cell, host(b)["version_name"])
    after = b.call("PyNumber_Add", PTR, before, host(b)["one"])
    b.call("PyObject_SetAttr", I32, cell, host(b)["version_name"], after)
    b.call("Py_DecRef", None, before)
    b.call("Py_DecRef", None, after)


# -- a call with everything given ----------------------------------------------------------------------------


def run_lists() -> Builder:
    """``run_lists(program, arguments, results, variables, status)``: ``run_call`` on lists of arrays."""
    names = ["arguments", "results", "variables"]
    b = Builder("run_lists", [("program", PTR), *[(name, PTR) for name in names], ("status", PTR)],
                attributes="nounwind")
    program, *lists, status = b.arguments
    counts = [b.load(b.offset(entries, LIST_SIZE, I8), I64) for entries in lists]
    with borrowed(b, (counts[0] + counts[1] + counts[2]) * 8, ROOM) as block:
        with b.if_(block.equal(0)):
            At(Status, status)["code"] = Code.NO_MEMORY
            b.ret()
        tables = _divided(b, block, counts)
        for entries, count, table in zip(lists, counts, tables, strict=True):
            items = b.load(b.offset(entries, LIST_ITEMS, I8), PTR)
            with b.loop(0, count) as loop:
                array = b.load(b.offset(items, loop.index, PTR), PTR)
                b.store(read(b, array, "data", PTR), b.offset(table, loop.index, PTR))
        b.call("run_call", None, program, *tables, status)
    b.ret()
    return b
