"""The entry for tensors: the native function behind an executable that another library's tensors are given to.

``entry([tensors])`` does for tensors what :mod:`entry` does for arrays, between the same two points: all fits, or the
call is passed on unchanged. Results are a list of new tensors in the pool's memory. A result that takes the place of an
argument is written there by the program, or copied there when nothing can fail any more, and is not in the list.

>>> tensor_entry.build().declaration
'declare ptr @tensor_entry(ptr, ptr, i64, ptr)'
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I32, I64, PTR
from nervure.transformers.cpu.runtime.call import run_call
from nervure.transformers.cpu.runtime.entry import (
    ROOM,
    borrowed_tables,
    fail,
    listed,
    new_status,
    read_cells,
    release_cells,
    take_cells,
)
from nervure.transformers.cpu.runtime.memory_pool import borrowed, put, take
from nervure.transformers.cpu.runtime.native import At, LocalVariable, Pointer, Table, Truth, Word, hot, native
from nervure.transformers.cpu.runtime.records import (
    KEPT_PROGRAMS,
    TUPLE_ITEMS,
    ArrayRecord,
    EntryRecord,
    ProgramRecord,
    Status,
    StatusCode,
    TensorArgumentRecord,
    TensorEntryRecord,
    TensorRecord,
    TensorResultRecord,
)
from nervure.transformers.cpu.runtime.tensor_headers import lies_apart, make_tensor, read_tensor, tensor_fits
from nervure.transformers.cpu.runtime.thread_pool import thread_pool


@hot
def tensor_entry(b: Builder, itself: Pointer, given: Table, given_count: Word, keywords: Pointer) -> Pointer:
    """Returns the entry in CPython's METH_FASTCALL form with ``keywords``; ``itself`` is a tuple whose first item is
    the address of the record.
    """
    record = At(TensorEntryRecord, b.call("PyLong_AsVoidPtr", PTR, b.load(b.offset(itself, TUPLE_ITEMS, I8), PTR)))
    own = At(EntryRecord, record["entry"])
    answer = LocalVariable(b.constant(PTR, 0))
    arguments, count = listed(b, given, given_count)
    is_open = keywords.equal(0) & b.load(own["gate"], I64).not_equal(0) & thread_pool(b).peek("lost").equal(0)
    with b.if_(is_open & count.equal(record["argument_count"])), \
            borrowed(b, record["parameter_count"] * ctypes.sizeof(TensorRecord), ROOM) as block:
        with b.if_(block.not_equal(0)), b.if_(read_tensors(b, record, Table(arguments), block)):
            program = find_tensor_program(b, record, block)
            with b.if_(program.not_equal(0)), \
                    b.if_(take_cells(b, own, own["cell_count"]).equal(own["cell_count"])):
                answer.value = call_tensors(b, record, program, Table(arguments), block)
                release_cells(b, own, own["cell_count"])
    with b.if_(answer.value.equal(0)), b.if_(b.call("PyErr_Occurred", PTR).equal(0)):
        # Nothing was done: a tensor does not fit, or there is no memory.
        b.ret(b.call("PyObject_Vectorcall", PTR, own["slow"], given.pointer, given_count, keywords))
    return answer.value


@native
def read_tensors(b: Builder, record: At[TensorEntryRecord], given: Table, tensors: At[TensorRecord]) -> Truth:
    """Reads the headers of the tensors for all parameters; returns whether each has its type and rank."""
    arguments = At(TensorArgumentRecord, record["arguments"])
    with b.loop(0, record["parameter_count"]) as loop:
        argument = arguments.element(loop.index)
        with b.if_(~read_tensor(b, record, argument, given[argument["place"]], tensors.element(loop.index))):
            b.ret(b.constant(I1, False))
    return b.constant(I1, True)


@native
def find_tensor_program(b: Builder, record: At[TensorEntryRecord], tensors: At[TensorRecord]) -> Pointer:
    """Returns the program for ``tensors`` of these shapes, or null."""
    programs, null = Table(At(EntryRecord, record["entry"])["programs"]), b.constant(PTR, 0)
    with b.loop(0, KEPT_PROGRAMS) as loop:
        program = programs[loop.index]
        with b.if_(program.equal(0)):
            b.ret(null)
        with b.if_(all_tensors_fit(b, record, program, tensors)):
            b.ret(program)
    return null


@native
def all_tensors_fit(b: Builder, record: At[TensorEntryRecord], program: At[ProgramRecord],
                    tensors: At[TensorRecord]) -> Truth:
    """Whether ``program`` was made for these ``tensors``, and may write where they lie."""
    arguments, specs = At(TensorArgumentRecord, record["arguments"]), At(ArrayRecord, program["arguments"])
    with b.loop(0, record["parameter_count"]) as loop:
        with b.if_(~tensor_fits(b, tensors.element(loop.index), arguments.element(loop.index),
                                specs.element(loop.index))):
            b.ret(b.constant(I1, False))
    with b.if_(record["is_writing"].equal(0)):
        b.ret(b.constant(I1, True))
    return lies_apart(b, record, tensors, specs)


@hot
def call_tensors(b: Builder, record: At[TensorEntryRecord], program: At[ProgramRecord], given: Table,
                 tensors: At[TensorRecord]) -> Pointer:
    """Runs a program with the ``given`` tensors, whose headers were read, and returns the list of results, or null.

    Null without an exception means that nothing was done, for lack of memory or of a variable that fits.
    """
    own = At(EntryRecord, record["entry"])
    answer = LocalVariable(b.constant(PTR, 0))
    with borrowed_tables(b, program) as (everything, total, objects, addresses):
        _hold(b, record, program, given, tensors, objects, addresses)
        with b.if_(read_cells(b, own, program, objects[2], addresses[2])), \
                b.if_(take_results(b, program, addresses[1])):
            status = At(Status, new_status(b))
            run_call(b, program, *addresses, status)
            code = status["code"]
            with b.if_(code.equal(StatusCode.DONE)):
                answer.value = finish_tensors(b, record, program, addresses[0], addresses[1])
            with b.if_((code > 0) | code.equal(StatusCode.FORKED)):
                fail(b, own, program, everything, status)
        with b.loop(0, program["result_count"]) as loop, b.if_(addresses[1][loop.index].not_equal(0)):
            put(b, addresses[1][loop.index])
        with b.loop(0, total) as loop:
            b.call("Py_DecRef", None, everything[loop.index])
        b.call("Py_DecRef", None, program["owner"])
    return answer.value


def _hold(b: Builder, record: At[TensorEntryRecord], program: At[ProgramRecord], given: Table,
          tensors: At[TensorRecord], objects: list[Table], addresses: list[Table]) -> None:
    """Emits code that takes references to the program and the tensors; results and variables have none yet."""
    arguments = At(TensorArgumentRecord, record["arguments"])
    b.call("Py_IncRef", None, program["owner"])
    with b.loop(0, program["argument_count"]) as loop:
        tensor = given[arguments.element(loop.index)["place"]]
        b.call("Py_IncRef", None, tensor)
        objects[0][loop.index] = tensor
        addresses[0][loop.index] = tensors.element(loop.index)["data"]
    with b.loop(0, program["result_count"] + program["variable_count"]) as loop:
        objects[1][loop.index] = b.constant(PTR, 0)
        addresses[1][loop.index] = b.constant(PTR, 0)


@native
def take_results(b: Builder, program: At[ProgramRecord], addresses: Table) -> Truth:
    """Takes memory for the results of a ``program``, whose ``addresses`` it writes; returns whether there was enough.
    """
    specs = At(ArrayRecord, program["results"])
    with b.loop(0, program["result_count"]) as loop:
        memory = take(b, specs.element(loop.index)["bytes"])
        with b.if_(memory.equal(0)):
            b.ret(b.constant(I1, False))
        addresses[loop.index] = memory
    return b.constant(I1, True)


@hot
def finish_tensors(b: Builder, record: At[TensorEntryRecord], program: At[ProgramRecord], arguments: Table,
                   addresses: Table) -> Pointer:
    """Returns a list of tensors over the results at ``addresses``, which are 0 from then on; or null and an exception.

    Results with a target among the ``arguments`` are copied there.
    """
    null = b.constant(PTR, 0)
    answer = b.call("PyList_New", PTR, record["returned_count"])
    with b.if_(answer.equal(0)):
        b.ret(null)
    results, specs = At(TensorResultRecord, record["results"]), At(ArrayRecord, program["results"])
    with b.loop(0, program["result_count"], carried=[b.constant(I64, 0)]) as loop:
        result, spec, data, (number,) = *_both(results, specs, loop.index), addresses[loop.index], loop.carried
        is_new = result["target"] < 0
        with b.if_(is_new):
            addresses[loop.index] = null
            tensor = make_tensor(b, record, result, spec, data)
            with b.if_(tensor.equal(0)):
                b.call("Py_DecRef", None, answer)
                b.ret(null)
            b.call("PyList_SetItem", I32, answer, number, tensor)
        with b.if_(~is_new):
            b.call("memcpy", PTR, arguments[result["target"]], data, spec["bytes"])
        loop.carried = [number + is_new.cast("zext", I64)]
    return answer


def _both(results: At[TensorResultRecord], specs: At[ArrayRecord],
          index: Register) -> tuple[At[TensorResultRecord], At[ArrayRecord]]:
    return results.element(index), specs.element(index)
