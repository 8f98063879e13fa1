"""The native function behind an executable: from NumPy arrays to a tuple of results without Python in between.

``entry(*arrays)`` or ``entry([arrays])`` compares types, ranks, shapes and layouts of the arguments with those that a
program was made for. If all fit, it makes the results, runs the program and returns them. Whatever does not fit (other
types, strides, sizes that are new, keywords, a variable that is in use) is passed on to a Python callable as it came.

>>> [function.name for function in functions()]
['fits', 'all_fit', 'find_program', 'entry', 'take_cells', 'release_cells']
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.arrays import host, read
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.objects import ALIGNED, C_CONTIGUOUS, LIST_ITEMS, LIST_SIZE, TUPLE_ITEMS
from nervure.transformers.cpu.runtime.records import KEPT_PROGRAMS, Array, Cell, Entry, Program
from nervure.transformers.cpu.runtime.team import team


def functions() -> list[Builder]:
    """The code of the entry."""
    return [fits(), all_fit(), find_program(), entry(), take_cells(), release_cells()]


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


def all_fit() -> Builder:
    """``all_fit(program, arguments, count)``: whether these are the arguments that a program was made for."""
    b = Builder("all_fit", [("record", PTR), ("arguments", PTR), ("count", I64)], result=I1, attributes="nounwind")
    program, arguments, count = At(Program, b.arguments[0]), b.arguments[1], b.arguments[2]
    with b.if_(program["argument_count"].not_equal(count)):
        b.ret(b.constant(I1, False))
    specs = At(Array, program["arguments"])
    with b.loop(0, count) as loop:
        argument = b.load(b.offset(arguments, loop.index, PTR), PTR)
        with b.if_(~b.call("fits", I1, argument, specs.element(loop.index).pointer)):
            b.ret(b.constant(I1, False))
    b.ret(b.constant(I1, True))
    return b


def find_program() -> Builder:
    """``find_program(entry, arguments, count)``: the program for arguments of these shapes, or null."""
    b = Builder("find_program", [("record", PTR), ("arguments", PTR), ("count", I64)], result=PTR,
                attributes="nounwind")
    record, arguments, count = At(Entry, b.arguments[0]), b.arguments[1], b.arguments[2]
    programs = record["programs"]
    with b.loop(0, KEPT_PROGRAMS) as loop:
        program = b.load(b.offset(programs, loop.index, PTR), PTR)
        with b.if_(program.equal(0)):
            b.ret(program)
        with b.if_(b.call("all_fit", I1, program, arguments, count)):
            b.ret(program)
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
    """``take_cells(entry, count)``: takes the locks if all are free; ``count``, or -1 and none is taken.

    None is free that this thread has: it is inside of a call that uses the variable.
    """
    b = Builder("take_cells", [("record", PTR), ("count", I64)], result=I64, attributes="nounwind")
    cells, count = At(Cell, At(Entry, b.arguments[0])["cells"]), b.arguments[1]
    with b.if_(count.equal(0)):
        b.ret(count)
    no = b.allocate(PTR)
    b.store(host(b)["no"], no)
    thread = b.call("pthread_self", I64)
    with b.loop(0, count) as loop:
        holder = cells.element(loop.index)["holder"]
        with b.if_(b.load(holder, I64).equal(thread)):
            b.call("release_cells", None, b.arguments[0], loop.index)
            b.ret(b.constant(I64, -1))
        answer = b.call("PyObject_Vectorcall", PTR, cells.element(loop.index)["acquire"], no, b.constant(I64, 1),
                        b.constant(PTR, 0))
        with b.if_(answer.equal(0)):
            b.call("PyErr_Clear", None)
        with b.if_(answer.not_equal(0)):
            b.call("Py_DecRef", None, answer)
        with b.if_(answer.not_equal(host(b)["yes"])):
            b.call("release_cells", None, b.arguments[0], loop.index)
            b.ret(b.constant(I64, -1))
        b.store(thread, holder)
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
        cell = cells.element(loop.index)
        b.store(nothing, cell["holder"])
        b.call("Py_DecRef", None, b.call("PyObject_Vectorcall", PTR, cell["release"], null, nothing, null))
    b.call("PyErr_Restore", None, *[b.load(place, PTR) for place in exception])
    b.ret()
    return b
