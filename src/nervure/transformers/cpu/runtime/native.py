"""Machine-code functions, written as Python functions: a decorator makes their signature and their frame.

The annotations of parameters and result give their types: a ``Word`` is an i64, a ``Pointer`` an address, a ``Table``
the address of addresses, ``At[StepRecord]`` that of a record, whose fields native code reads and writes. The value that
the Python function returns is returned. Calling the function inside another one emits a call.

>>> from nervure.transformers.cpu.runtime.records import StepRecord
>>> @native
... def double_extent(b: Builder, step: At[StepRecord]) -> Word:
...     step["extent"] = step["extent"] + step["extent"]
...     return step["extent"]
>>> print(double_extent.build().text())
define i64 @double_extent(ptr %step) nounwind {
entry:
  %v0 = getelementptr inbounds i8, ptr %step, i64 32
  %v1 = load i64, ptr %v0, align 8
  %v2 = getelementptr inbounds i8, ptr %step, i64 32
  %v3 = load i64, ptr %v2, align 8
  %v4 = add i64 %v1, %v3
  %v5 = getelementptr inbounds i8, ptr %step, i64 32
  store i64 %v4, ptr %v5, align 8
  %v6 = getelementptr inbounds i8, ptr %step, i64 32
  %v7 = load i64, ptr %v6, align 8
  ret i64 %v7
}
<BLANKLINE>
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Generic, TypeVar, get_args, get_origin, get_type_hints

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.shared import atomic_load, atomic_store
from nervure.transformers.cpu.compile.llvm.types import I1, I8, I64, PTR, Type

Word = Annotated[Register, I64]
Pointer = Annotated[Register, PTR]
Truth = Annotated[Register, I1]
_Record = TypeVar("_Record", bound=ctypes.Structure, covariant=True)


class At(Generic[_Record]):
    """A record at an address, in code that is being built: ``step["extent"]`` reads or writes a field."""

    __slots__ = ("pointer", "record")

    def __init__(self, record: type[_Record], pointer: Register) -> None:
        self.record, self.pointer = record, pointer

    def place(self, name: str) -> Register:
        """Returns the address of a field."""
        return self.pointer.builder.offset(self.pointer, getattr(self.record, name).offset, I8)

    def __getitem__(self, name: str) -> Register:
        return self.pointer.builder.load(self.place(name), self._type(name))

    def __setitem__(self, name: str, value: Operand) -> None:
        value = value if isinstance(value, Register) else self.pointer.builder.constant(I64, value)
        self.pointer.builder.store(value, self.place(name))

    def peek(self, name: str) -> Register:
        """Reads a field that another thread may be writing: any value that it had."""
        return atomic_load(self.pointer.builder, self.place(name), self._type(name), "monotonic")

    def poke(self, name: str, value: Operand) -> None:
        """Writes a field that another thread may be reading."""
        atomic_store(self.pointer.builder, value, self.place(name), "monotonic")

    def _type(self, name: str) -> Type:
        kind = dict(self.record._fields_)[name]  # type: ignore[arg-type]  # no bit fields here
        return PTR if kind is ctypes.c_void_p else I64

    def element(self, index: Register) -> At[_Record]:
        """Returns the record ``index`` places further in an array of records."""
        distance = index * ctypes.sizeof(self.record)
        return At(self.record, self.pointer.builder.offset(self.pointer, distance, I8))


class Table:
    """Consecutive entries of one type, in code that is being built: ``table[index]`` reads or writes one."""

    __slots__ = ("pointer", "type")

    def __init__(self, pointer: Register, type: Type = PTR) -> None:
        self.pointer, self.type = pointer, type

    def place(self, index: Operand) -> Register:
        """Returns the address of an entry."""
        return self.pointer.builder.offset(self.pointer, index, self.type)

    def __getitem__(self, index: Operand) -> Register:
        return self.pointer.builder.load(self.place(index), self.type)

    def __setitem__(self, index: Operand, value: Register) -> None:
        self.pointer.builder.store(value, self.place(index))

    def after(self, count: Operand) -> Table:
        """Returns the table that begins ``count`` entries further."""
        return Table(self.place(count), self.type)


class LocalVariable:
    """A variable of a function that is being built: its ``value`` is read and set like any other."""

    __slots__ = ("place", "type")

    def __init__(self, start: Register) -> None:
        self.place, self.type = start.builder.allocate(start.type), start.type
        start.builder.store(start, self.place)

    @property
    def value(self) -> Register:
        """The current value."""
        return self.place.builder.load(self.place, self.type)

    @value.setter
    def value(self, value: Operand) -> None:
        builder = self.place.builder
        builder.store(value if isinstance(value, Register) else builder.constant(self.type, value), self.place)


class Native:
    """A machine-code function, given by the Python function that builds it; see :func:`native`."""

    def __init__(self, function: Callable[..., Register | None], is_hot: bool) -> None:
        self.name, self.is_hot, self.__doc__ = function.__name__, is_hot, function.__doc__
        self.module = function.__module__
        self._function = function
        hints = get_type_hints(function, include_extras=True)
        result = hints.pop("return")
        self._result = None if result is type(None) else _type(result)
        self._parameters = {name: kind for name, kind in hints.items() if kind is not Builder}

    def __call__(self, b: Builder, *arguments: Register | At[ctypes.Structure] | Table | int) -> Register:
        """Emits a call; a Python number is a constant."""
        return b.call(self.name, self._result, *[
            self._given(b, name, argument) for name, argument in zip(self._parameters, arguments, strict=True)])

    def _given(self, b: Builder, name: str, argument: Register | At[ctypes.Structure] | Table | int) -> Register:
        type = _type(self._parameters[name])
        register = argument.pointer if isinstance(argument, (At, Table)) else argument
        if not isinstance(register, Register):
            return b.constant(type, register)
        if register.type is not type:
            raise InternalError(f"{self.name} is given {register!r} for {name}, where {type} is due")
        return register

    def address(self, b: Builder) -> Register:
        """Returns the function's address."""
        return Register(b, PTR, f"@{self.name}")

    @property
    def declaration(self) -> str:
        """The declaration for a module that calls it."""
        return self._empty().declaration

    def _empty(self) -> Builder:
        return Builder(self.name, [(name, _type(kind)) for name, kind in self._parameters.items()], self._result,
                       attributes="nounwind")

    def build(self) -> Builder:
        """Builds the function's code."""
        b = self._empty()
        b.ret(self._function(b, *map(_wrapped, self._parameters.values(), b.arguments)))
        return b


def native(function: Callable[..., Register | None]) -> Native:
    """Turns a Python function ``(builder, *parameters)`` that builds code into a machine-code function."""
    return Native(function, is_hot=False)


def hot(function: Callable[..., Register | None]) -> Native:
    """Declares a machine-code function that every call runs, or that has loops over elements, so that its own
    instructions dominate its time. It is worth a millisecond of LLVM and more. Functions that are not ``hot`` (threads,
    failures, variables) are compiled quickly, which adds 5 ns to a call of 320.
    """
    return Native(function, is_hot=True)


def functions_of(module: ModuleType) -> list[Native]:
    """Lists the machine-code functions that a module defines, in order."""
    return [each for each in vars(module).values() if isinstance(each, Native) and each.module == module.__name__]


def _type(kind: object) -> Type:
    """Returns the type in which a parameter or a result is passed."""
    return PTR if kind is Table or get_origin(kind) is At else get_args(kind)[1]


def _wrapped(kind: object, argument: Register) -> Register | Table | At[ctypes.Structure]:
    """Wraps an argument in the form that the function takes."""
    if kind is Table:
        return Table(argument)
    return At(get_args(kind)[0], argument) if get_origin(kind) is At else argument


# -- arithmetic of words -------------------------------------------------------------------------------------


def least(b: Builder, x: Register, y: Operand) -> Register:
    """Returns the smaller of ``x`` and ``y``, which are signed."""
    return b.where(x < y, x, y)


def greatest(b: Builder, x: Register, y: Operand) -> Register:
    """Returns the greater of ``x`` and ``y``, which are signed."""
    return b.where(x > y, x, y)
