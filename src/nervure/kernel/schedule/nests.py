"""Nests: loops each of which is the whole body of the one around it, and tests whether their order is free.

>>> from nervure.kernel.parser import parse_kernel
>>> loop, = parse_kernel("kernel empty():\\n  for i < 8 parallel:\\n    for j < 4 vector:").body
>>> nest = nest_of(loop)
>>> [loop.extent for loop in nest.loops], nest.body, nest.is_free
([8, 4], (), True)
>>> outermost = nested(nest.loops[::-1], ())
>>> outermost.extent, outermost.parallel, outermost.body[0].parallel
(4, True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nervure.kernel.dependence import NestedAccess, accesses_in, accesses_to_written
from nervure.kernel.ir import Access, Body, For, Kernel, Statement
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.simplify.loops import has_independent_iterations
from nervure.support.replacing import replace
from nervure.types.dim import highest, index_symbols


class Nest(NamedTuple):
    """Loops from the outermost to the innermost, and the body of the innermost one."""

    loops: list[For]
    body: Body

    @property
    def is_free(self) -> bool:
        """Whether all iterations of the loops are certainly independent of each other, so that any order is right.

        Those of a loop that threads share are.
        """
        own = {loop.index.name for loop in self.loops}
        if not self.loops[0].parallel or any([index_symbols(loop.extent) & own for loop in self.loops]):
            return False
        return all([has_independent_iterations(loop) for loop in self.loops[1:]]) or _has_places_of_its_own(self)


def _has_places_of_its_own(nest: Nest) -> bool:
    """Whether each iteration writes to places of its own, as in a number whose digits are the indices."""
    outer = {loop.index for loop in nest.loops}
    for entries in accesses_to_written(nest.loops[:1]):
        addresses = {entry.address for entry in entries}
        if len(addresses) > 1 or not all([_is_one_to_one(entry, outer) for entry in entries]):
            return False
    return True


def _is_one_to_one(access: NestedAccess, outer: set[LoopIndex]) -> bool:
    """Whether an access is at another element for each value of its indices, and all ``outer`` ones move it.

    Indices of loops around the nest stay the same in it.
    """
    address, extents = access.address, dict(access.inner)
    steps = [(index, step) for index, step in address.steps if index in extents]
    digits = sorted([(step, index.number) for index, step in steps if isinstance(step, int) and step > 0])
    if address.terms or index_symbols(address.base) or access.statement.buffer.role == "scratch":
        return False
    if len(digits) < len(steps) or not {index for index, _ in steps} >= outer:
        return False
    reach = 1
    for step, number in digits:
        most = highest(extents[LoopIndex(number)])
        if step < reach or most is None:
            return False
        reach += step * (most - 1)
    return True


def nest_of(loop: For) -> Nest:
    """Returns the loops that a loop is the outermost of."""
    loops, body = [loop], loop.body
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    return Nest(loops, body)


def nested(loops: Sequence[For], body: Body) -> For:
    """Returns the same loops around a body, in this order. Threads share the outermost one."""
    for depth, loop in reversed(list(enumerate(loops))):
        nest = replace(loop, body=body, parallel=depth == 0)
        body = (nest,)
    return nest


def accesses(body: Sequence[Statement]) -> Iterator[Access]:
    """Yields all loads and stores."""
    return (entry.statement for entry in accesses_in(body))


def has_unit_stride(access: Access, index: LoopIndex) -> bool:
    """Whether an access moves by one element with an index."""
    return not index.occurs_in(access.address.base) and access.address.step(index) in (1, -1)


def rewritten(kernel: Kernel, rewrite: Callable[[Nest], For | None]) -> Kernel:
    """Returns a kernel with ``rewrite`` applied to its nests of loops."""
    return replace(kernel, body=tuple([rewrite(nest_of(entry)) or entry if isinstance(entry, For) else entry
                                       for entry in kernel.body]))
