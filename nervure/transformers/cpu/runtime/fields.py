"""The fields of records in code that is being built: native code reads and writes what Python fills in.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.runtime.records import Step
>>> b = Builder("double_extent", [("step", PTR)])
>>> step = At(Step, b.arguments[0])
>>> step["extent"] = step["extent"] + step["extent"]
>>> b.ret()
>>> print(b.text())
define void @double_extent(ptr %step) {
entry:
  %v0 = getelementptr inbounds i8, ptr %step, i64 32
  %v1 = load i64, ptr %v0, align 8
  %v2 = getelementptr inbounds i8, ptr %step, i64 32
  %v3 = load i64, ptr %v2, align 8
  %v4 = add i64 %v1, %v3
  %v5 = getelementptr inbounds i8, ptr %step, i64 32
  store i64 %v4, ptr %v5, align 8
  ret void
}
<BLANKLINE>
"""

from __future__ import annotations

import ctypes

from nervure.transformers.cpu.compile.llvm.builder import Operand, Register
from nervure.transformers.cpu.compile.llvm.shared import atomic_load, atomic_store
from nervure.transformers.cpu.compile.llvm.types import I8, I64, PTR, Type


class At:
    """A record at an address, in code that is being built: ``step["extent"]`` reads or writes a field."""

    __slots__ = ("pointer", "record")

    def __init__(self, record: type[ctypes.Structure], pointer: Register) -> None:
        self.record, self.pointer = record, pointer

    def place(self, name: str) -> Register:
        """The address of a field."""
        return self.pointer.builder.offset(self.pointer, getattr(self.record, name).offset, I8)

    def __getitem__(self, name: str) -> Register:
        return self.pointer.builder.load(self.place(name), self._type(name))

    def __setitem__(self, name: str, value: Operand) -> None:
        value = value if isinstance(value, Register) else self.pointer.builder.constant(I64, value)
        self.pointer.builder.store(value, self.place(name))

    def peek(self, name: str) -> Register:
        """A field that another thread may be writing: some value that it had."""
        return atomic_load(self.pointer.builder, self.place(name), self._type(name), "monotonic")

    def poke(self, name: str, value: Operand) -> None:
        """Writes a field that another thread may be reading."""
        atomic_store(self.pointer.builder, value, self.place(name), "monotonic")

    def _type(self, name: str) -> Type:
        kind = dict(self.record._fields_)[name]  # type: ignore[arg-type]  # no bit fields here
        return PTR if kind is ctypes.c_void_p else I64

    def element(self, index: Register) -> At:
        """The record that stands ``index`` places further in an array of them."""
        distance = index * ctypes.sizeof(self.record)
        return At(self.record, self.pointer.builder.offset(self.pointer, distance, I8))
