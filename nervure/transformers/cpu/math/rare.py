"""Rare arguments: lanes that the usual formula does not serve are computed one by one, in a function of their own.

A huge argument of a sine needs hundreds of bits of pi. Such code must not stand in every loop that computes a sine,
so it goes to a function beside the kernel, called only if some lane asks for it. What a lane gives depends on that lane
alone, hence not on the number of lanes.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> x, = b.arguments
>>> b.ret(rarely("huge_square", lambda x: x > 1e30, lambda x: x * 0.0, x, x * x))
>>> sorted(b.declarations)
['huge_square.float', 'llvm.vector.reduce.or.v8i1']
"""

from __future__ import annotations

from collections.abc import Callable

from nervure.transformers.cpu.compile.llvm.builder import Builder, Register
from nervure.transformers.cpu.compile.llvm.types import I64, PTR, Type

Function = Callable[[Register], Register]


def rarely(name: str, needs: Function, slow: Function, x: Register, usual: Register) -> Register:
    """``usual``, but ``slow(x)`` in the lanes where ``needs(x)`` holds. ``name`` stands for ``needs`` and ``slow``."""
    b, element = x.builder, x.type.element
    name = f"{name}.{element}"

    def repaired() -> Register:
        arguments, results = b.allocate(x.type), b.allocate(x.type)
        b.store(x, arguments)
        b.store(usual, results)
        b.call(name, None, arguments, results, b.constant(I64, x.type.lanes))
        b.define(_lane_by_lane(name, element, needs, slow))
        return b.load(results, x.type)

    return b.choose(b.any_lane(needs(x)), repaired, lambda: usual, unlikely=True)


def _lane_by_lane(name: str, element: Type, needs: Function, slow: Function) -> Builder:
    # optnone: compiled in two thirds of the time, hardly slower.
    b = Builder(name, [("arguments", PTR), ("results", PTR), ("lanes", I64)], attributes="noinline optnone cold",
                linkage="internal")
    arguments, results, lanes = b.arguments
    with b.loop(0, lanes) as loop:
        x = b.load(b.offset(arguments, loop.index, element), element)
        with b.if_(needs(x)):
            b.store(slow(x), b.offset(results, loop.index, element))
    b.ret()
    return b
