"""The native function behind an executable: from NumPy arrays to a tuple of results without Python in between.

``entry(*arrays)`` or ``entry([arrays])`` compares types, ranks, shapes and layouts of the arguments with those that a
program was made for. If all fit, it makes the results, runs the program and returns them. Whatever does not fit (other
types, strides, sizes that are new, keywords, a variable that is in use) is passed on to a Python callable as it came.

>>> len(functions())
13

What a call holds, in one block of the pool: the data of arguments, results and variables, and the array objects of
results and variables. Each array that is read or written is held by a reference until the call ends.
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.llvm.builder import Builder, Register
from nervure.transformers.cpu.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.arrays import (
    ALIGNED,
    C_CONTIGUOUS,
    LIST_ITEMS,
    LIST_SIZE,
    TUPLE_ITEMS,
    WRITEABLE,
    host,
    read,
)
from nervure.transformers.cpu.runtime.records import Array, At, Cell, Code, Entry, Program, Status
from nervure.transformers.cpu.runtime.team import team


def functions() -> list[Builder]:
    """The code of the entry."""
    return [fits(), find_program(), entry(), take_cells(), release_cells(), call_program(), read_cells(),
            make_results(), finish(), fail(), move_items(), update_cells(), run_lists()]


# -- arguments -----------------------------------------------------------------------------------------------


def fits() -> Builder:
    """``fits(array, spec)``: whether an object is a C-contiguous array of this type and shape."""
    b = Builder("fits", [("array", PTR), ("spec", PTR)], result=I1, attributes="nounwind")
    array, spec = b.arguments[0], At(Array, b.arguments[1])
    no = b.constant(I1, False)
    with b.if_(read(b, array, "type", PTR).not_equal(host(b)["array_type"])):
        b.ret(no)
    rank = spec["rank"]
    wanted = C_CONTIGUOUS | ALIGNED
    is_plain = (read(b, array, "flags", I32) & wanted).equal(wanted)
    same_type = read(b, array, "descr", PTR).equal(spec["descr"])
    same_rank = read(b, array, "rank", I32).cast("zext", I64).equal(rank)
    with b.if_(~(is_plain & same_type & same_rank)):
        b.ret(no)
    lengths, expected = read(b, array, "dims", PTR), spec["dims"]
    with b.loop(0, rank) as loop:
        length, wanted_length = [b.load(b.offset(table, loop.index, I64), I64) for table in (lengths, expected)]
        with b.if_(length.not_equal(wanted_length)):
            b.ret(no)
    b.ret(b.constant(I1, True))
    return b


def find_program() -> Builder:
    """``find_program(entry, arguments, count)``: the program for arguments of these shapes, or null."""
    b = Builder("find_program", [("record", PTR), ("arguments", PTR), ("count", I64)], result=PTR,
                attributes="nounwind")
    record, arguments, count = At(Entry, b.arguments[0]), b.arguments[1], b.arguments[2]
    programs = record["programs"]
    with b.loop(0, record["program_count"]) as loop:
        program = At(Program, b.load(b.offset(programs, loop.index, PTR), PTR))
        next_program = b.label("next")
        number = b.allocate(I64)
        b.store(b.constant(I64, 0), number)
        matching = b.label("matching")
        b.branch(program["argument_count"].equal(count), matching, next_program)
        b.block(matching)
        specs = At(Array, program["arguments"])
        with b.while_(lambda: b.load(number, I64) < count):
            index = b.load(number, I64)
            going_on = b.label("same")
            argument = b.load(b.offset(arguments, index, PTR), PTR)
            b.branch(b.call("fits", I1, argument, specs.element(index).pointer), going_on, next_program)
            b.block(going_on)
            b.store(index + 1, number)
        b.ret(program.pointer)
        b.block(next_program)
    b.ret(b.constant(PTR, 0))
    return b


def entry() -> Builder:
    """``entry(self, arguments, count, keywords)``: CPython's METH_FASTCALL with keywords.

    ``self`` is a tuple whose first item is the address of the record.
    """
    b = Builder("entry", [("self", PTR), ("given", PTR), ("given_count", I64), ("keywords", PTR)], result=PTR,
                attributes="nounwind")
    itself, given, given_count, keywords = b.arguments
    record = At(Entry, b.call("PyLong_AsVoidPtr", PTR, b.load(b.offset(itself, TUPLE_ITEMS, I8), PTR)))
    slow = b.label("slow")

    def needs(condition: Register) -> None:
        going_on = b.label("fast")
        b.branch(condition, going_on, slow)
        b.block(going_on)

    needs(keywords.equal(0) & b.load(record["gate"], I64).not_equal(0) & team(b).peek("lost").equal(0))
    arguments, count = _listed(b, given, given_count)
    program = b.call("find_program", PTR, record.pointer, arguments, count)
    needs(program.not_equal(0))
    needs(b.call("take_cells", I64, record.pointer, record["cell_count"]).equal(record["cell_count"]))
    answer = b.call("call_program", PTR, record.pointer, program, arguments)
    b.call("release_cells", None, record.pointer, record["cell_count"])
    with b.if_(answer.not_equal(0)):
        b.ret(answer)
    # Null without an exception: nothing was done, for want of memory or of a variable that fits.
    with b.if_(b.call("PyErr_Occurred", PTR).not_equal(0)):
        b.ret(answer)
    b.block(slow)
    b.ret(b.call("PyObject_Vectorcall", PTR, record["slow"], given, given_count, keywords))
    return b


def _listed(b: Builder, given: Register, count: Register) -> tuple[Register, Register]:
    """Where the arguments are, and how many: a single list or tuple stands for all of them."""
    place, number = b.allocate(PTR), b.allocate(I64)
    b.store(given, place)
    b.store(count, number)
    with b.if_(count.equal(1)):
        first = b.load(given, PTR)
        kind = b.load(b.offset(first, 8, I8), PTR)
        is_list = kind.equal(host(b)["list_type"])
        with b.if_(is_list | kind.equal(host(b)["tuple_type"])):
            b.store(b.load(b.offset(first, LIST_SIZE, I8), I64), number)
            items = b.choose(is_list, lambda: b.load(b.offset(first, LIST_ITEMS, I8), PTR),
                             lambda: b.offset(first, TUPLE_ITEMS, I8))
            b.store(items, place)
    return b.load(place, PTR), b.load(number, I64)


# -- the locks of variables ----------------------------------------------------------------------------------


def take_cells() -> Builder:
    """``take_cells(entry, count)``: takes the locks if all are free; ``count``, or -1 and none is taken."""
    b = Builder("take_cells", [("record", PTR), ("count", I64)], result=I64, attributes="nounwind")
    cells, count = At(Cell, At(Entry, b.arguments[0])["cells"]), b.arguments[1]
    no = b.allocate(PTR)
    b.store(host(b)["no"], no)
    with b.loop(0, count) as loop:
        answer = b.call("PyObject_Vectorcall", PTR, cells.element(loop.index)["acquire"], no, b.constant(I64, 1),
                        b.constant(PTR, 0))
        with b.if_(answer.equal(0)):
            b.call("PyErr_Clear", None)
        with b.if_(answer.not_equal(0)):
            b.call("Py_DecRef", None, answer)
        with b.if_(answer.not_equal(host(b)["yes"])):
            b.call("release_cells", None, b.arguments[0], loop.index)
            b.ret(b.constant(I64, -1))
    b.ret(count)
    return b


def release_cells() -> Builder:
    """``release_cells(entry, count)``: gives back the locks of the first ``count`` variables."""
    b = Builder("release_cells", [("record", PTR), ("count", I64)], attributes="nounwind")
    with b.if_(b.arguments[1].equal(0)):
        b.ret()
    cells = At(Cell, At(Entry, b.arguments[0])["cells"])
    null, nothing = b.constant(PTR, 0), b.constant(I64, 0)
    exception = [b.allocate(PTR) for _ in range(3)]
    b.call("PyErr_Fetch", None, *exception)
    with b.loop(0, b.arguments[1]) as loop:
        b.call("Py_DecRef", None, b.call("PyObject_Vectorcall", PTR, cells.element(loop.index)["release"], null,
                                         nothing, null))
    b.call("PyErr_Restore", None, *[b.load(place, PTR) for place in exception])
    b.ret()
    return b


# -- the call ------------------------------------------------------------------------------------------------


def call_program() -> Builder:
    """``call_program(entry, program, arguments)``: the tuple of results, or null.

    Null without an exception means that nothing was done, for want of memory or of a variable that fits.
    """
    b = Builder("call_program", [(name, PTR) for name in ("record", "program", "arguments")], result=PTR,
                attributes="nounwind")
    record, program, arguments = At(Entry, b.arguments[0]), At(Program, b.arguments[1]), b.arguments[2]
    counts = [program[name] for name in ("argument_count", "result_count", "variable_count")]
    total = counts[0] + counts[1] + counts[2]
    block = b.call("take", PTR, total * 16)
    with b.if_(block.equal(0)):
        b.ret(block)
    b.call("memset", PTR, block, b.constant(I32, 0), total * 8)
    objects, addresses = [_divided(b, start, counts) for start in (block, b.offset(block, total, PTR))]
    b.call("Py_IncRef", None, program["owner"])
    with b.loop(0, counts[0]) as loop:
        argument = b.load(b.offset(arguments, loop.index, PTR), PTR)
        b.call("Py_IncRef", None, argument)
        b.store(argument, b.offset(objects[0], loop.index, PTR))
        b.store(read(b, argument, "data", PTR), b.offset(addresses[0], loop.index, PTR))
    answer = b.allocate(PTR)
    b.store(b.constant(PTR, 0), answer)
    with b.if_(b.call("read_cells", I1, record.pointer, program.pointer, objects[2], addresses[2])), \
            b.if_(b.call("make_results", I1, program.pointer, objects[1], addresses[1])):
        status = _new_status(b)
        b.call("run_call", None, program.pointer, *addresses, status)
        b.store(b.call("finish", PTR, record.pointer, program.pointer, block, status), answer)
    with b.loop(0, total) as loop:
        b.call("Py_DecRef", None, b.load(b.offset(block, loop.index, PTR), PTR))
    b.call("Py_DecRef", None, program["owner"])
    b.call("put", None, block)
    b.ret(b.load(answer, PTR))
    return b


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
        with b.if_(b.call("fits", I1, array, spec.pointer).equal(False)):
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
    """``finish(entry, program, objects, status)``: the results as a tuple, or null and an exception.

    Variables take their new values. The tuple takes over the references to the results among the ``objects``.
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
    block = b.call("take", PTR, (counts[0] + counts[1] + counts[2]) * 8)
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
    b.call("put", None, block)
    b.ret()
    return b
