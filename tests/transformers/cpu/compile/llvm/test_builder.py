"""Functions as text: what they call is declared."""

from __future__ import annotations

from nervure.transformers.cpu.compile.compiler import compile_object
from nervure.transformers.cpu.compile.llvm.builder import Builder, assemble
from nervure.transformers.cpu.compile.llvm.types import F32, I64, PTR


def test_functions_of_other_modules_are_declared_once():
    b = Builder("outer", [("place", PTR), ("count", I64)], result=I64)
    place, count = b.arguments
    for _ in range(2):
        b.call("report", None, place)
        count = b.call("changed", I64, count, b.load(place, F32, 4))
    inner = Builder("changed", [("count", I64), ("x", F32)], result=I64)
    inner.ret(inner.arguments[0] + 1)
    b.ret(count)
    alone, both = assemble([b]), assemble([b, inner])
    assert [line for line in alone.splitlines() if line.startswith("declare")] == [
        "declare i64 @changed(i64, float)", "declare void @report(ptr)"]
    assert [line for line in both.splitlines() if line.startswith("declare")] == ["declare void @report(ptr)"]
    assert compile_object(alone) and compile_object(both)
