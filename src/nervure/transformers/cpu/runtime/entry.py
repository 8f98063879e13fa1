"""The native function behind an executable: a call from NumPy arrays to results as a transaction, without Python.

``entry(*arrays)`` or ``entry([arrays])`` compares types, ranks, shapes and layouts of the arguments with those that a
program was made for. If all fit, it makes the results, runs the program and returns the results. Any other call (other
types, strides, new sizes, keywords, a variable in use) is passed on unchanged to a Python callable.

A block of the pool holds the array objects of arguments, results and variables, and then the addresses of their data.
Each array is held by a reference until the call ends. If it ends well, variables take their new values and the caller
gets the other results; else nothing has changed.

>>> entry.build().declaration
'declare ptr @entry(ptr, ptr, i64, ptr)'
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from nervure.transformers.cells import BORROWED
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.array_headers import new_array, python, read
from nervure.transformers.cpu.runtime.call import run_call
from nervure.transformers.cpu.runtime.memory_pool import borrowed, fail_without_memory
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Truth, Word, hot, native
from nervure.transformers.cpu.runtime.records import (
    ALIGNED,
    C_CONTIGUOUS,
    KEPT_PROGRAMS,
    LIST_ITEMS,
    LIST_SIZE,
    REPLACED,
    TUPLE_ITEMS,
    WRITEABLE,
    ArrayRecord,
    CellRecord,
    EntryRecord,
    ProgramRecord,
    Status,
    StatusCode,
)
from nervure.transformers.cpu.runtime.thread_pool import thread_pool

ROOM = 512
"""The bytes on the stack for the arrays of a call, 16 each; a call with more takes them from the pool."""


# -- entering ---------------------------------------------------------------------------------------------------


@hot
def entry(b: Builder, itself: Pointer, given: Table, given_count: Word, keywords: Pointer) -> Pointer:
    """Returns the entry in CPython's METH_FASTCALL form with ``keywords``; ``itself`` is a tuple whose first item is
    the address of the record.
    """
    record = At(EntryRecord, b.call("PyLong_AsVoidPtr", PTR, b.load(b.offset(itself, TUPLE_ITEMS, I8), PTR)))
    slow = b.label("slow")

    def needs(condition: Register) -> None:
        going_on = b.label("fast")
        b.branch(condition, going_on, slow)
        b.block(going_on)

    needs(keywords.equal(0) & b.load(record["gate"], I64).not_equal(0) & thread_pool(b).peek("lost").equal(0))
    arguments, count = listed(b, given, given_count)
    program = find_program(b, record, arguments, count)
    needs(program.not_equal(0))
    needs(take_cells(b, record, record["cell_count"]).equal(record["cell_count"]))
    answer = call_program(b, record, program, arguments)
    release_cells(b, record, record["cell_count"])
    with b.if_(answer.not_equal(0)):
        b.ret(answer)
    # Null without an exception: nothing was done, for lack of memory or of a variable that fits.
    with b.if_(b.call("PyErr_Occurred", PTR).not_equal(0)):
        b.ret(answer)
    b.block(slow)
    return b.call("PyObject_Vectorcall", PTR, record["slow"], given.pointer, given_count, keywords)


def listed(b: Builder, given: Table, count: Register) -> tuple[Register, Register]:
    """Returns the address and the number of the arguments that a call is ``given``: a single list or tuple stands for
    all of them.
    """
    place, number = LocalVariable(given.pointer), LocalVariable(count)
    with b.if_(count.equal(1)):
        first = b.load(given.pointer, PTR)
        kind = b.load(b.offset(first, 8, I8), PTR)
        is_list = kind.equal(python(b)["list_type"])
        with b.if_(is_list | kind.equal(python(b)["tuple_type"])):
            number.value = b.load(b.offset(first, LIST_SIZE, I8), I64)
            place.value = b.choose(is_list, lambda: b.load(b.offset(first, LIST_ITEMS, I8), PTR),
                                   lambda: b.offset(first, TUPLE_ITEMS, I8))
    return place.value, number.value


@native
def find_program(b: Builder, record: At[EntryRecord], arguments: Table, count: Word) -> Pointer:
    """Returns the program for ``arguments`` of these shapes, or null."""
    programs = Table(record["programs"])
    with b.loop(0, KEPT_PROGRAMS) as loop:
        program = programs[loop.index]
        with b.if_(program.equal(0)):
            b.ret(program)
        with b.if_(all_fit(b, program, arguments, count)):
            b.ret(program)
    return b.constant(PTR, 0)


@native
def all_fit(b: Builder, program: At[ProgramRecord], arguments: Table, count: Word) -> Truth:
    """Whether ``program`` was made for these ``arguments``."""
    with b.if_(program["argument_count"].not_equal(count)):
        b.ret(b.constant(I1, False))
    specs = At(ArrayRecord, program["arguments"])
    with b.loop(0, count) as loop:
        with b.if_(~fits(b, arguments[loop.index], specs.element(loop.index))):
            b.ret(b.constant(I1, False))
    return b.constant(I1, True)


@hot
def fits(b: Builder, array: Pointer, spec: At[ArrayRecord]) -> Truth:
    """Whether an object is an array of the type, shape and memory of ``spec``: C-contiguous, or by strides."""
    no = b.constant(I1, False)
    with b.if_(read(b, array, "type", PTR).not_equal(python(b)["array_type"])):
        b.ret(no)
    rank, own_strides = spec["rank"], spec["strides"]
    is_row_major = own_strides.equal(0)
    wanted = b.choose(is_row_major, lambda: b.constant(I32, C_CONTIGUOUS | ALIGNED), lambda: b.constant(I32, ALIGNED))
    is_plain = (read(b, array, "flags", I32) & wanted).equal(wanted)
    same_type = read(b, array, "descr", PTR).equal(spec["descr"])
    same_rank = read(b, array, "rank", I32).cast("zext", I64).equal(rank)
    with b.if_(~(is_plain & same_type & same_rank)):
        b.ret(no)
    lengths, expected = Table(read(b, array, "dims", PTR), I64), Table(spec["dims"], I64)
    with b.loop(0, rank) as loop:
        with b.if_(lengths[loop.index].not_equal(expected[loop.index])):
            b.ret(no)
    with b.if_(~is_row_major):
        strides, due = Table(read(b, array, "strides", PTR), I64), Table(own_strides, I64)
        with b.loop(0, rank) as loop, b.if_(lengths[loop.index].not_equal(1)):
            with b.if_(strides[loop.index].not_equal(due[loop.index])):
                b.ret(no)
    return b.constant(I1, True)


# -- the locks of variables ----------------------------------------------------------------------------------


@native
def take_cells(b: Builder, record: At[EntryRecord], count: Word) -> Word:
    """Takes the locks of variables if all are free, and returns ``count``; else takes none and returns -1.

    A lock that this thread already holds counts as taken: it is inside of a call that uses the variable.
    """
    cells = At(CellRecord, record["cells"])
    with b.if_(count.equal(0)):
        b.ret(count)
    no = LocalVariable(python(b)["no"]).place
    thread = b.call("pthread_self", I64)
    with b.loop(0, count) as loop:
        holder = cells.element(loop.index)["holder"]
        with b.if_(b.load(holder, I64).equal(thread)):
            release_cells(b, record, loop.index)
            b.ret(b.constant(I64, -1))
        answer = b.call("PyObject_Vectorcall", PTR, cells.element(loop.index)["acquire"], no, b.constant(I64, 1),
                        b.constant(PTR, 0))
        with b.if_(answer.equal(0)):
            b.call("PyErr_Clear", None)
        with b.if_(answer.not_equal(0)):
            b.call("Py_DecRef", None, answer)
        with b.if_(answer.not_equal(python(b)["yes"])):
            release_cells(b, record, loop.index)
            b.ret(b.constant(I64, -1))
        b.store(thread, holder)
    return count


@native
def release_cells(b: Builder, record: At[EntryRecord], count: Word) -> None:
    """Releases the locks of the first ``count`` variables."""
    with b.if_(count.equal(0)):
        b.ret()
    cells = At(CellRecord, record["cells"])
    null, nothing = b.constant(PTR, 0), b.constant(I64, 0)
    exception = [b.allocate(PTR) for _ in range(3)]
    b.call("PyErr_Fetch", None, *exception)
    with b.loop(0, count) as loop:
        cell = cells.element(loop.index)
        b.store(nothing, cell["holder"])
        b.call("Py_DecRef", None, b.call("PyObject_Vectorcall", PTR, cell["release"], null, nothing, null))
    b.call("PyErr_Restore", None, *[b.load(place, PTR) for place in exception])


# -- the transaction -----------------------------------------------------------------------------------------


@hot
def call_program(b: Builder, record: At[EntryRecord], program: At[ProgramRecord], arguments: Table) -> Pointer:
    """Runs a program with ``arguments``, and returns the tuple of results, or null.

    Null without an exception means that nothing was done, for lack of memory or of a variable that fits.
    """
    answer = LocalVariable(b.constant(PTR, 0))
    with borrowed_tables(b, program) as (everything, total, objects, addresses):
        _hold(b, program, arguments, objects, addresses)
        with b.if_(read_cells(b, record, program, objects[2], addresses[2])), \
                b.if_(make_results(b, program, objects[1], addresses[1])):
            status = new_status(b)
            run_call(b, program, *addresses, status)
            answer.value = finish(b, record, program, everything.pointer, status)
        with b.loop(0, total) as loop:
            b.call("Py_DecRef", None, everything[loop.index])
        b.call("Py_DecRef", None, program["owner"])
    return answer.value


def _hold(b: Builder, program: At[ProgramRecord], arguments: Table, objects: list[Table],
          addresses: list[Table]) -> None:
    """Emits code that takes references to the program and the arguments; results and variables have none yet."""
    b.call("Py_IncRef", None, program["owner"])
    with b.loop(0, program["argument_count"]) as loop:
        argument = arguments[loop.index]
        b.call("Py_IncRef", None, argument)
        objects[0][loop.index] = argument
        addresses[0][loop.index] = read(b, argument, "data", PTR)
    with b.loop(0, program["result_count"] + program["variable_count"]) as loop:
        objects[1][loop.index] = b.constant(PTR, 0)


@contextmanager
def borrowed_tables(b: Builder, program: At[ProgramRecord]) -> Iterator[
        tuple[Table, Register, list[Table], list[Table]]]:
    """Yields the memory of a call for the code built inside; without memory the function returns null.

    It is a table of all objects, their number, and tables of objects and addresses: of the arguments, the results and
    the variables.
    """
    counts = [program[name] for name in ("argument_count", "result_count", "variable_count")]
    total = counts[0] + counts[1] + counts[2]
    with borrowed(b, total * 16, ROOM) as block:
        with b.if_(block.equal(0)):
            b.ret(block)
        everything = Table(block)
        objects, addresses = [divided(start, counts) for start in (everything, everything.after(total))]
        yield everything, total, objects, addresses


def divided(start: Table, counts: list[Register]) -> list[Table]:
    """Divides a table into its parts: arguments, results, variables."""
    second = start.after(counts[0])
    return [start, second, second.after(counts[1])]


def new_status(b: Builder) -> Register:
    words = ctypes.sizeof(Status) // 8
    status = Table(b.allocate(I64, words), I64)
    for word in range(words):
        status[word] = b.constant(I64, 0)
    return status.pointer


@native
def read_cells(b: Builder, record: At[EntryRecord], program: At[ProgramRecord], objects: Table,
               addresses: Table) -> Truth:
    """Reads the arrays of the variables into ``objects``; returns whether they fit.

    None may be lent; a variable that a program writes in place must be held by its cell and this call alone. The
    addresses of arguments and results stand before those of variables.
    """
    cells, specs = At(CellRecord, record["cells"]), At(ArrayRecord, program["variables"])
    with b.loop(0, program["variable_count"]) as loop:
        spec = specs.element(loop.index)
        with b.if_(b.load(cells.element(loop.index)["lent"], I64).not_equal(0)), \
                b.if_(~may_be_borrowed(b, program, cells.element(loop.index), spec, addresses)):
            b.ret(b.constant(I1, False))
        array = b.call("PyObject_GetAttr", PTR, cells.element(loop.index)["cell"], python(b)["array_name"])
        with b.if_(array.equal(0)):
            b.ret(b.constant(I1, False))
        objects[loop.index] = array
        with b.if_(~fits(b, array, spec)):
            b.ret(b.constant(I1, False))
        is_free = read(b, array, "references", I32).equal(2) & (read(b, array, "flags", I32) & WRITEABLE).not_equal(0)
        with b.if_((spec["variable"] >= 0) & ~is_free):
            b.ret(b.constant(I1, False))
        addresses[loop.index] = read(b, array, "data", PTR)
    return b.constant(I1, True)


@native
def may_be_borrowed(b: Builder, program: At[ProgramRecord], cell: At[CellRecord], spec: At[ArrayRecord],
                    addresses: Table) -> Truth:
    """Whether the array of a ``cell``, which is not its own, is borrowed, and a ``program`` may use it.

    The program must not replace it, and may write it in place only if no argument lies there. The ``addresses`` are
    those of variables.
    """
    no, yes = b.constant(I1, False), b.constant(I1, True)
    with b.if_(b.load(cell["lent"], I64).not_equal(BORROWED) | spec["variable"].equal(REPLACED)):
        b.ret(no)
    with b.if_(spec["variable"] < 0):
        b.ret(yes)
    array = b.call("PyObject_GetAttr", PTR, cell["cell"], python(b)["array_name"])
    with b.if_(array.equal(0)):
        b.ret(no)
    start = read(b, array, "data", PTR).cast("ptrtoint", I64)
    b.call("Py_DecRef", None, array)
    arguments = At(ArrayRecord, program["arguments"])
    given = addresses.after(b.constant(I64, 0) - program["argument_count"] - program["result_count"])
    with b.loop(0, program["argument_count"]) as loop:
        first = given[loop.index].cast("ptrtoint", I64)
        with b.if_((first < start + spec["bytes"]) & (start < first + arguments.element(loop.index)["bytes"])):
            b.ret(no)
    return yes


@native
def make_results(b: Builder, program: At[ProgramRecord], objects: Table, addresses: Table) -> Truth:
    """Makes new arrays for the results, in ``objects``; returns whether there was memory for all of them."""
    specs = At(ArrayRecord, program["results"])
    with b.loop(0, program["result_count"]) as loop:
        array = new_array(b, specs.element(loop.index))
        with b.if_(array.equal(0)):
            b.call("PyErr_Clear", None)
            b.ret(b.constant(I1, False))
        objects[loop.index] = array
        addresses[loop.index] = read(b, array, "data", PTR)
    return b.constant(I1, True)


@native
def finish(b: Builder, record: At[EntryRecord], program: At[ProgramRecord], objects: Table,
           status: At[Status]) -> Pointer:
    """Returns the tuple of results (or the single one), or null and an exception, by ``status``.

    Variables take their new values. The returned tuple takes over the references to the results among the ``objects``.
    """
    null = b.constant(PTR, 0)
    code = status["code"]
    with b.if_(code.equal(StatusCode.INTERRUPTED) | code.equal(StatusCode.NO_MEMORY)):
        b.ret(null)
    with b.if_(code.not_equal(StatusCode.DONE)):
        b.ret(fail(b, record, program, objects, status))
    raise_versions(b, record, program)
    results = objects.after(program["argument_count"])
    with b.if_(record["single"].not_equal(0)):
        answer = b.load(results.pointer, PTR)
        update_cells(b, record, program, results)
        b.store(null, results.pointer)
        b.ret(answer)
    answer = b.call("PyTuple_New", PTR, program["returned_count"])
    with b.if_(answer.equal(0)):
        b.ret(null)
    update_cells(b, record, program, results)
    move_items(b, answer, results, program["returned_count"])
    return answer


@native
def fail(b: Builder, record: At[EntryRecord], program: At[ProgramRecord], objects: Pointer, status: Pointer) -> Pointer:
    """Raises the error that Python makes of the ``status`` and the arguments."""
    count = program["argument_count"]
    given = Table(b.allocate(PTR, 2))
    arguments = b.call("PyTuple_New", PTR, count)
    with b.if_(arguments.equal(0)):
        b.ret(arguments)
    move_items(b, arguments, objects, count)
    b.store(b.call("PyLong_FromVoidPtr", PTR, status), given.pointer)
    given[1] = arguments
    answer = b.call("PyObject_Vectorcall", PTR, record["failed"], given.pointer, b.constant(I64, 2),
                    b.constant(PTR, 0))
    b.call("Py_DecRef", None, b.load(given.pointer, PTR))
    b.call("Py_DecRef", None, arguments)
    return answer


@native
def move_items(b: Builder, items: Pointer, objects: Table, count: Word) -> None:
    """Moves ``count`` references from ``objects`` into a new tuple, ``items``."""
    with b.loop(0, count) as loop:
        place = objects.place(loop.index)
        b.call("PyTuple_SetItem", I32, items, loop.index, b.load(place, PTR))
        b.store(b.constant(PTR, 0), place)


@native
def update_cells(b: Builder, record: At[EntryRecord], program: At[ProgramRecord], objects: Table) -> None:
    """Gives variables their new arrays, which are among the ``objects``."""
    cells, specs = At(CellRecord, record["cells"]), At(ArrayRecord, program["results"])
    with b.loop(program["returned_count"], program["result_count"]) as loop:
        cell = cells.element(specs.element(loop.index)["variable"])
        b.call("PyObject_SetAttr", I32, cell["cell"], python(b)["array_name"], objects[loop.index])
        _raise_version(b, cell)


@native
def raise_versions(b: Builder, record: At[EntryRecord], program: At[ProgramRecord]) -> None:
    """Raises the versions of variables that a ``program`` wrote in place, even if the call fails afterwards."""
    cells, specs = At(CellRecord, record["cells"]), At(ArrayRecord, program["variables"])
    with b.loop(0, program["variable_count"]) as loop, b.if_(specs.element(loop.index)["variable"] >= 0):
        _raise_version(b, cells.element(loop.index))


def _raise_version(b: Builder, cell: At[CellRecord]) -> None:
    """Raises a version. No Python runs between a new value and this, not even a signal handler."""
    place = cell["stamp"]
    b.store(b.load(place, I64) + 1, place)


# -- a call with everything given ----------------------------------------------------------------------------


@native
def run_lists(b: Builder, program: Pointer, arguments: Pointer, results: Pointer, variables: Pointer,
              status: At[Status]) -> None:
    """Runs ``run_call`` on lists of arrays: ``arguments``, ``results`` and ``variables``."""
    lists = (arguments, results, variables)
    counts = [b.load(b.offset(entries, LIST_SIZE, I8), I64) for entries in lists]
    with borrowed(b, (counts[0] + counts[1] + counts[2]) * 8, ROOM) as block:
        fail_without_memory(b, block, status)
        tables = divided(Table(block), counts)
        for entries, count, table in zip(lists, counts, tables, strict=True):
            items = Table(b.load(b.offset(entries, LIST_ITEMS, I8), PTR))
            with b.loop(0, count) as loop:
                table[loop.index] = read(b, items[loop.index], "data", PTR)
        run_call(b, program, *tables, status)
