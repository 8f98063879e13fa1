"""Long rows of few, which the threads sort together: one row after the other, each by phases that they share.

>>> LongRows.__slots__[-1]
'width'
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.transformers.cpu.runtime.call import run_in_chunks
from nervure.transformers.cpu.runtime.native import At, Native, Table
from nervure.transformers.cpu.runtime.ordering import FIELDS, LENGTH, LONG, ORDER, ROWS
from nervure.transformers.cpu.runtime.records import CallRecord, Status, StatusCode, StepRecord


class LongRows:
    """The rows of a ``step``, in the code that sorts them. The phases read the sizes ``own``."""

    __slots__ = ("b", "_step", "_table", "_call", "_status", "own", "rows", "length", "width")

    def __init__(self, b: Builder, step: At[StepRecord], table: Table, call: At[CallRecord],
                 status: At[Status]) -> None:
        self.b, self._step, self._table, self._call, self._status = b, step, table, call, status
        self.own = Table(step["sizes"], I64)
        self.rows, self.length, self.width = self.own[ROWS], self.own[LENGTH], self.own[ORDER]

    def end_if_short(self, kernel: Native, count: int) -> None:
        """Emits code that has each thread sort rows of its own by a ``kernel``, if that is better, and returns.

        The phases behind it have room for ``count`` sizes.
        """
        b, given = self.b, self.own
        with b.if_((self.rows >= self._call["threads"]) | (self.length < LONG)):
            self._run(kernel, self.rows)
            b.ret()
        self.own = Table(b.allocate(I64, count), I64)
        for number in range(FIELDS):
            self.own[number] = given[number]

    @property
    def goes_on(self) -> Register:
        """Whether no phase has failed."""
        return self._status["code"].equal(StatusCode.DONE)

    def phase(self, kernel: Native, extent: Register) -> None:
        """Emits code that runs a ``kernel``, whose ``extent`` the threads share, unless a phase before has failed."""
        with self.b.if_(self.goes_on):
            self._run(kernel, extent)

    def _run(self, kernel: Native, extent: Register) -> None:
        run_in_chunks(self.b, self._step, kernel.address(self.b), extent, self.own, self._table, self._call,
                      self._status)
