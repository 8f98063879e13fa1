"""How a kernel says that it cannot go on: code, op, position and value, of which the first in order is kept.

Threads work on different positions at the same time. The report with the smallest position stays, whoever writes
first, and the step in which it happens runs to its end: so an error is the same for any number of threads.

>>> from nervure.transformers.cpu.compile.llvm.types import PTR
>>> b = Builder("fail", [("status", PTR), ("position", I64), ("value", I64)])
>>> status, position, value = b.arguments
>>> report(b, status, code=7, op=3, position=position, value=value)
>>> b.ret()
>>> "atomicrmw xchg ptr %v0" in b.text()
True
"""

from __future__ import annotations

from nervure.transformers.cpu.compile.llvm.builder import Builder, Operand, Register
from nervure.transformers.cpu.compile.llvm.shared import lock, unlock
from nervure.transformers.cpu.compile.llvm.types import I64
from nervure.transformers.cpu.runtime.fields import At
from nervure.transformers.cpu.runtime.records import Status


def report(b: Builder, status: Register, code: Operand, op: Operand, position: Operand, value: Operand) -> None:
    """Code that reports a failure; ``code`` is above 0. A slice may report once or often, in any order."""
    record = At(Status, status)
    code, op, position, value = [x if isinstance(x, Register) else b.constant(I64, x)
                                 for x in (code, op, position, value)]
    lock(b, record.place("lock"))
    with b.if_(record["code"].equal(0) | (position < record["position"])):
        record["op"], record["position"], record["value"] = op, position, value
        record["code"] = code
    unlock(b, record.place("lock"))
