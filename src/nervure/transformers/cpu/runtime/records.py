"""Records that Python fills in and native code reads: one table of their fields for both sides.

A record is a row of 8-byte words, integers and addresses. Python makes them as ctypes structures; native code reads
and writes the same fields at the offsets of the same structures (:mod:`native`). A warm start needs this table, and
none of the code that generates code. The name of a class ends in Record where Python has another of the plain name.

>>> StepRecord.extent.offset, ctypes.sizeof(StepRecord) // 8
(32, 13)

A kernel is ``void kernel(ptr buffers, ptr sizes, i64 begin, i64 end, ptr scratch, ptr status)``: the addresses of its
buffers, its sizes, its part of the parallel extent, memory that no other thread uses, and the record that receives a
failure.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
                          ctypes.c_void_p)
_integer, _address = ctypes.c_int64, ctypes.c_void_p

ARRAY_FIELDS = {"references": 0, "type": 8, "data": 16, "rank": 24, "dims": 32, "strides": 40, "base": 48, "descr": 56,
                "flags": 64, "memory_handler": 88}
"""The byte offsets of the fields of an array's header, in CPython with a GIL and NumPy 2. :mod:`pooled_arrays` checks
these, and those below, on real arrays before they are used.
"""

LIST_SIZE, LIST_ITEMS, TUPLE_ITEMS = 16, 24, 24
"""The byte offsets of the length and the items of lists and tuples (for a list: of the address of its items)."""

C_CONTIGUOUS, OWNS_DATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400

RUNNING = (*[f"{way}_{kind}" for kind in ("float32", "float64", "int32", "int64")
             for way in ("add", "multiply", "maximum", "minimum", "linear")], "maximum_uint64", "minimum_uint64")
"""The ways to combine elements to running values, with their types. Each is a part of the runtime."""

RUNTIME = "runtime"
"""The part of the runtime that every call runs; the module of its code lists the others, which few programs need."""

TENSORS = "tensors"
"""The part that reads and makes tensors of other libraries."""

RUNNERS = "runners"
"""The part that runs branches and loops."""


class BufferKind(IntEnum):
    """The kinds of memory that a buffer may lie in, which define the meaning of its number."""

    ARGUMENT = 0
    RESULT = 1
    VARIABLE = 2
    ARENA = 3       # the memory of one call; its number is 0
    CONSTANT = 4    # the number is an address


class StatusCode(IntEnum):
    """The codes with which a call ends; positive ones are a kernel's own."""

    DONE = 0
    INTERRUPTED = -1    # by a signal handler, or a Python step: the exception is set
    NO_MEMORY = -2
    FORKED = -3         # a signal handler forked the process in the middle of the call


class StepRecord(ctypes.Structure):
    """One kernel in a program, with its buffers and sizes."""

    _fields_ = [
        ("kernel", _address),
        ("buffers", _address),         # numbers in the program's buffers, i64 each
        ("buffer_count", _integer),
        ("sizes", _address),           # read by the kernel, i64 each
        ("extent", _integer),          # begin and end lie between 0 and this
        ("alignment", _integer),       # chunks start at multiples of this
        ("nanoseconds", _integer),     # estimated, for the whole extent on one core
        ("in_place", _integer),        # 1 if it writes memory of a variable: from here on a call does not stop
        ("ordered", _integer),         # 1 if its chunks run in order, by the calling thread
        ("panel", _address),           # a result kept for later calls, which then skip the step; or 0
        ("runner", _address),          # what runs a branch or a loop, whose RegionRecord is the kernel, or what
                                       # computes a whole op; or 0
        ("found", _address),           # instructions, pairs of i64, for sizes that depend on found lengths; or 0
        ("found_count", _integer),
    ]


class RegionRecord(ctypes.Structure):
    """A branch or a loop: programs of its functions, and the places of their arguments and results.

    The sizes of its step are the number of a scan's iterations, the bytes of each carry, and the bytes from slice to
    slice of each argument and each result; 0 for what stays the same.

    Places are numbers in the table of the step's buffers. The carries are the first arguments and the first results of
    a body.
    """

    _fields_ = [
        ("programs", _address),        # addresses of ProgramRecords: of branches, of the body, or condition and body
        ("program_count", _integer),
        ("preheader", _integer),       # 1 if the last program runs once, before the first iteration
        ("condition_at", _integer),    # in a while loop, the offset of the condition's values in the arena
        ("arguments", _address),       # the place of each argument, i64 each
        ("argument_count", _integer),
        ("results", _address),         # the place of each result, i64 each
        ("result_count", _integer),
        ("carries", _integer),
        ("saved", _address),           # the place where each carry is kept before each iteration, or -1
        ("updated", _address),         # for each carry, 1 if the body writes its result in place of its argument
        ("reverse", _integer),         # 1 if the first iteration has the last slice
        ("choice", _integer),          # the place of what chooses a branch
        ("is_bool", _integer),         # 1 if that is a bool, else it is an int64
        ("spare_bytes", _integer),     # for carries between iterations
        ("buffer_count", _integer),    # the most addresses that a program needs
        ("arena_bytes", _integer),     # of the program that needs most
    ]


class PanelRecord(ctypes.Structure):
    """The state of memory that is derived from one version of a variable."""

    _fields_ = [
        ("stamp", _address),           # the integer that is the variable's version
        ("made_from", _integer),       # the version that it was made from; -1 before that
        ("runs", _integer),            # number of times it was made
    ]


class BufferRecord(ctypes.Structure):
    """The place of a buffer of a program: ``offset`` bytes after the start of the memory ``kind`` and ``number``."""

    _fields_ = [("kind", _integer), ("number", _integer), ("offset", _integer)]


class ArrayRecord(ctypes.Structure):
    """The type and shape of an argument, a result or a variable, and its order in memory."""

    _fields_ = [
        ("descr", _address),           # NumPy's dtype object
        ("rank", _integer),
        ("dims", _address),
        ("bytes", _integer),
        ("variable", _integer),        # a result: the variable that takes it; a variable: itself, if it is written
                                       # in place, REPLACED if a result takes its place; else -1
        ("strides", _address),         # in bytes, i64 each; 0 for row-major memory
    ]


REPLACED = -2


class ProgramRecord(ctypes.Structure):
    """The kernels of one call, in order, for one binding of the sizes."""

    _fields_ = [
        ("steps", _address),
        ("step_count", _integer),
        ("buffers", _address),
        ("buffer_count", _integer),
        ("table_count", _integer),     # the most buffers of one step
        ("arena_bytes", _integer),
        ("scratch_bytes", _integer),   # for one thread, a multiple of 64
        ("nanoseconds", _integer),     # of all steps
        ("longest", _integer),         # nanoseconds of the longest step that threads may share
        ("arguments", _address),
        ("argument_count", _integer),
        ("results", _address),
        ("result_count", _integer),
        ("result_bytes", _integer),
        ("returned_count", _integer),  # results that no variable takes; they come first
        ("variables", _address),
        ("variable_count", _integer),
        ("owner", _address),           # the Python object that keeps everything alive
    ]


class Status(ctypes.Structure):
    """The outcome of a call, with the first failure in the order of positions."""

    _fields_ = [
        ("lock", _integer),            # held while a failure is written
        ("code", _integer),
        ("op", _integer),              # which op failed, by a number that the kernel knows
        ("position", _integer),        # the element at which it failed, counted in row-major order
        ("value", _integer),           # the value found there
        ("step", _integer),            # the step that was running
    ]


FLOATS = {"keep": 0x1F80, "flush": 0x1F80 | 0x8040}
"""The modes of floats, by their treatment of denormals: the control bits of MXCSR. A process starts in the first; the
second takes denormal operands for 0, and replaces denormal results by 0.
"""


class CallRecord(ctypes.Structure):
    """The state of a running call, besides its program."""

    _fields_ = [
        ("threads", _integer),         # threads that share its long steps
        ("scratch", _address),         # of the first thread; the others' follow
        ("scratch_bytes", _integer),
        ("can_stop", _integer),        # on the main thread without the GIL, before anything is written in place
        ("looked", _integer),          # time of the last look for signals
        ("unseen", _integer),          # estimated nanoseconds of steps since the last look at the clock
        ("floats", _integer),          # the mode of its arithmetic
    ]


SEATS = 256
"""The most threads that share a step."""


class Seat(ctypes.Structure):
    """The progress of a thread in the current step, as the ticket of the step + a count, in a line of its own."""

    _fields_ = [
        ("taken", _integer),           # chunks of the thread's share that were taken, by any thread
        ("finished", _integer),        # chunks that the thread has run
        ("_line", _integer * 14),
    ]


class ThreadPool(ctypes.Structure):
    """The threads of the process and the step that they share; fields written by different threads are 128 bytes
    apart.
    """

    _fields_ = [
        ("limit", _integer),           # threads that may share a step, the caller included
        ("started", _integer),         # existing workers
        ("main", _integer),            # the main thread, as pthread_self names it
        ("calls", _integer),           # calls that run without the GIL
        ("lost", _integer),            # the process was forked during one of these
        ("ended", _integer),           # end of the last call that takes the pool only if calls are frequent
        ("floats", _integer),          # the mode of calls that begin from now on
        ("_line0", _integer * 9),
        ("lock", _integer),            # 1 while a call has the pool
        ("_line1", _integer * 15),
        ("woken", _integer),           # the word on which workers sleep; raised to wake them
        ("sleepers", _integer),        # workers that sleep, or are about to, and were not woken
        ("_line2", _integer * 14),
        ("mode", _integer),            # the mode of floats of the step, which seldom is another than before
        ("_line3", _integer * 15),
        ("ticket", _integer),          # the number of the step, times ROUND; a line of memory with what follows
        ("step", _address),
        ("table", _address),
        ("count", _integer),           # its chunks
        ("threads", _integer),         # that share it, the caller included
        ("scratch", _address),
        ("scratch_bytes", _integer),
        ("status", _address),
        ("_line4", _integer * 8),
        ("seats", Seat * SEATS),
    ]


CLASSES = 4 * 40
"""The number of sizes of blocks: four for each power of two from 64 bytes on."""


class BlockHeader(ctypes.Structure):
    """The head of a block, before its memory, in a cache line of its own."""

    _fields_ = [
        ("size_class", _integer),
        ("base", _address),            # address of the mapping or allocation
        ("mapped", _integer),          # bytes of its mapping; 0 if it is allocated
        ("next", _address),            # the next free block of its size
        ("_line", _integer * 4),
    ]


class MemoryPool(ctypes.Structure):
    """Free blocks by size, and the memory that calls need."""

    _fields_ = [
        ("lock", _integer),
        ("held", _integer),            # bytes of free blocks
        ("peak", _integer),            # the most bytes that one call has taken in this period
        ("earlier_peak", _integer),    # and in the one before
        ("period", _integer),          # when this period began
        ("puts", _integer),            # counts the blocks given back
        ("heads", _address * CLASSES),
        ("stamps", _integer * CLASSES),  # the count when a block of this size was last used
    ]


class CellRecord(ctypes.Structure):
    """The memory of a variable, as Python objects."""

    _fields_ = [
        ("cell", _address),            # with the attribute ``array``
        ("stamp", _address),           # the integer that is its version
        ("acquire", _address),         # methods of its lock
        ("release", _address),
        ("holder", _address),          # where the thread that holds the lock is recorded
        ("lent", _address),            # an integer; LENT sends every call to ``slow``, BORROWED those that replace it
    ]


KEPT_PROGRAMS = 8
"""The number of sizes of the arguments for which the fast path is open; the one added last is tried first."""


class EntryRecord(ctypes.Structure):
    """An entry: the data of the native function behind an executable."""

    _fields_ = [
        ("gate", _address),            # an integer; 0 there sends every call to ``slow``
        ("programs", _address),        # the addresses of programs for the latest sizes, then 0
        ("cells", _address),
        ("cell_count", _integer),
        ("slow", _address),            # Python callable: the call in general
        ("failed", _address),          # Python callable: makes an error of a status
        ("single", _integer),          # 1 if a call returns its first result, not the tuple of all
    ]


class TensorRecord(ctypes.Structure):
    """A tensor as DLPack describes it (DLTensor), in words."""

    _fields_ = [
        ("data", _address),
        ("device", _integer),          # its kind in the lower half, its number in the upper one
        ("kind", _integer),            # the rank in the lower half, the element type in the upper one
        ("dims", _address),
        ("strides", _address),         # in elements, i64 each
        ("offset", _integer),          # bytes from ``data`` to the first element
    ]


class ManagedRecord(ctypes.Structure):
    """A tensor that is given away (DLManagedTensorVersioned), in words."""

    _fields_ = [
        ("version", _integer),         # of DLPack: major in the lower half, minor in the upper one
        ("context", _address),         # the block of its elements
        ("deleter", _address),
        ("flags", _integer),
        ("tensor", TensorRecord),
    ]


class TensorArgumentRecord(ctypes.Structure):
    """The tensor for a parameter of a function."""

    _fields_ = [
        ("place", _integer),           # its number among the arguments of a call
        ("kind", _integer),
        ("mask", _integer),            # one less than the bytes to which elements are aligned
        ("order", _address),           # its dimension for each one of the parameter, i64 each; 0 if they are the same
        ("is_written", _integer),      # 1 if a result is written into its memory
    ]


class TensorResultRecord(ctypes.Structure):
    """The tensor for an array that a program makes."""

    _fields_ = [
        ("kind", _integer),
        ("order", _address),
        ("target", _integer),          # the parameter whose memory it is copied into, in place of a new tensor; or -1
    ]


class TensorEntryRecord(ctypes.Structure):
    """An entry for tensors of another library."""

    _fields_ = [
        ("entry", _address),
        ("argument_count", _integer),  # of the list that a call gets
        ("types", _address),           # the classes of tensors, then 0
        ("read", _address),            # C functions of the library: the DLTensor of an object,
        ("make", _address),            # and an object for a DLManagedTensorVersioned
        ("arguments", _address),       # a record for each parameter
        ("parameter_count", _integer),
        ("results", _address),         # a record for each array that a program makes
        ("returned_count", _integer),  # new tensors
        ("is_writing", _integer),      # 1 if results are written into memory of arguments
    ]


class Python(ctypes.Structure):
    """Addresses of objects and functions of this process's Python and NumPy."""

    _fields_ = [
        ("array_type", _address),      # numpy.ndarray
        ("new_from_descr", _address),  # the C function PyArray_NewFromDescr
        ("memory_handler", _address),  # the capsule of our memory handler
        ("list_type", _address),
        ("tuple_type", _address),
        ("no", _address),              # False
        ("yes", _address),             # True
        ("array_name", _address),      # the string "array"
    ]


RECORDS: dict[str, type[ctypes.Structure]] = {"thread_pool": ThreadPool, "memory_pool": MemoryPool, "python": Python}
"""The records of which a process has exactly one, by their names in native code."""
