"""Dependence between iterations: whether two iterations of a loop touch one element, which parallel and vector loops
forbid.

>>> from nervure.kernel.parser import parse_kernel
>>> rows = '''
... kernel rows(out y: f32[40]):
...   for i < 9 parallel:
...     for j < {}:
...       y[4*i + j] = 0.0_f32
... '''
>>> loops = [parse_kernel(rows.format(columns)).parallel for columns in (4, 5)]
>>> store = loops[1].body[0].body[0]
>>> conflicting_accesses(loops[0]), conflicting_accesses(loops[1]) == (store, store)
(None, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

from nervure.kernel.ir import Access, Address, Buffer, Fold, For, Loop, Statement, Write
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.tuning import DEPENDENCE_EFFORT, DEPENDENCE_ITERATIONS
from nervure.types.dim import DimLike, highest, index_symbols, less_equal

Term = tuple[int, int, int]  # coefficient, lowest and highest value of its factor


class NestedAccess(NamedTuple):
    """A load or store, seen from a loop around it."""

    statement: Access
    address: Address  # one of the statement's addresses
    inner: Indices  # the loops between that loop and the statement


def conflicting_accesses(loop: For) -> tuple[Access, Access] | None:
    """Returns a store and another access that certainly touch one element in two iterations; None if there are none,
    or that is undecided.

    Accesses that have a condition or whose place depends on data are ignored, and so is memory of which each iteration
    has its own: scratch memory, and private memory in vector loops.
    """
    touched: dict[Buffer, list[NestedAccess]] = {}
    for access in accesses_in(loop.body):
        statement = access.statement
        has_own = not statement.buffer.is_given and (statement.buffer.role == "private" or not loop.vector)
        if not has_own and not statement.address.terms and statement.valid is None:
            touched.setdefault(statement.buffer, []).append(access)
    for entries in touched.values():
        for first in entries:
            for second in entries if isinstance(first.statement, Write) else ():
                if _meet(loop, first, second):
                    return first.statement, second.statement
    return None


def accesses_in(statements: Sequence[Statement], inner: Indices = ()) -> Iterator[NestedAccess]:
    """Yields all loads and stores, in the order of the text."""
    for statement in statements:
        if isinstance(statement, Access):
            yield from [NestedAccess(statement, address, inner) for address in statement.addresses]
        elif isinstance(statement, Loop):
            yield from accesses_in(statement.body, (*inner, *statement.indices))
            yield from accesses_in(statement.combine if isinstance(statement, Fold) else (), inner)


def accesses_to_written(statements: Sequence[Statement]) -> list[list[NestedAccess]]:
    """Returns the loads and stores of each buffer that is stored to."""
    touched: dict[Buffer, list[NestedAccess]] = {}
    for access in accesses_in(statements):
        touched.setdefault(access.statement.buffer, []).append(access)
    return [entries for entries in touched.values() if any([isinstance(entry.statement, Write) for entry in entries])]


def is_apart(outer: Indices, bodies: Sequence[Sequence[Statement]], buffer: Buffer) -> bool:
    """Whether points of the ``outer`` indices certainly touch different elements of a buffer, in some bodies inside.

    Then bodies may follow each other point by point as well as one after the other. All accesses have to move alike
    with the outer indices, and no further with those inside than the innermost outer one does. Where loops around all
    of them have no iterations, there is nothing to touch.

    >>> from nervure.kernel.parser import parse_kernel
    >>> loop, = parse_kernel('''
    ... kernel rows(inout y: f32[40]):
    ...   for i < 8 parallel:
    ...     for j < 5:
    ...       v0 = y[5*i - j + 4]
    ...     for j < 6:
    ...       v1 = y[5*i + j]
    ... ''').body
    >>> outer, (buffer,) = ((loop.index, loop.extent),), {each.statement.buffer for each in accesses_in(loop.body)}
    >>> [is_apart(outer, [[inner]], buffer) for inner in loop.body]
    [True, False]
    """
    touched = [access for body in bodies for access in accesses_in(body) if access.statement.buffer is buffer]
    steps = [touched[0].address.step(index) for index, _ in outer] if touched else []
    reach: DimLike = 1
    common = [pair for pair in touched[0].inner if all(
        [pair[1] in [extent for _, extent in access.inner] for access in touched])] if touched else []
    ranges = _ranges((*outer, *common))
    for (_, extent), step in zip(reversed(outer), reversed(steps), strict=True) if touched else ():
        if less_equal(reach, step, ranges) is not True:
            return False
        reach = step * extent
    return all([_stays_inside(access, outer, steps) for access in touched])


def _ranges(indices: Indices) -> dict[str, tuple[DimLike, DimLike]]:
    """Returns the values of indices, of which there are some."""
    return {index.name: (0, extent - 1) for index, extent in indices if not index_symbols(extent)}


def _stays_inside(access: NestedAccess, outer: Indices, steps: Sequence[DimLike]) -> bool:
    """Whether an access moves by these ``steps`` with the outer indices, and by less than the last with all others."""
    address, own = access.address, [index for index, _ in outer]
    if address.terms or index_symbols(address.base) or [address.step(index) for index in own] != list(steps):
        return False
    if any([index_symbols(extent) for _, extent in access.inner]):
        return False
    low = high = address.base
    ranges = _ranges((*outer, *access.inner))
    for index, extent in access.inner:
        step = address.step(index)
        is_up, is_down = less_equal(0, step, ranges) is True, less_equal(step, 0, ranges) is True
        if not is_up and not is_down:
            return False
        low, high = (low, high + step * (extent - 1)) if is_up else (low + step * (extent - 1), high)
    return less_equal(0, low, ranges) is True and less_equal(high + 1, steps[-1], ranges) is True


def _meet(loop: For, first: NestedAccess, second: NestedAccess) -> bool:
    one, other = first.address, second.address
    if one == other and one.step(loop.index) == 0 and not index_symbols(one.base):
        return highest(loop.extent) not in (0, 1)
    difference = one.base - other.base
    if not isinstance(difference, int) or index_symbols(one.base):
        return False
    terms: list[Term] = []
    for sign, access in ((1, first), (-1, second)):
        found = _terms(access, sign)
        if found is None:
            return False
        terms += found
    outer = [_outer_steps(loop, access) for access in (first, second)]
    steps = [address.step(loop.index) for address in (one, other)]
    if outer[0] != outer[1] or not isinstance(loop.extent, int) or not all([isinstance(step, int) for step in steps]):
        return False
    return _reach(difference, steps[0], steps[1], loop.extent, terms)  # type: ignore[arg-type]  # they are ints


def _terms(access: NestedAccess, sign: int) -> list[Term] | None:
    """Returns the amounts that the inner loops add to a place, None if one is symbolic."""
    terms = []
    for index, extent in access.inner:
        step = access.address.step(index)
        if not isinstance(step, int) or not isinstance(extent, int) or extent < 1:
            return None
        terms.append((sign * step, 0, extent - 1))
    return terms


def _outer_steps(loop: For, access: NestedAccess) -> dict[LoopIndex, DimLike]:
    inside = {loop.index, *[index for index, _ in access.inner]}
    return {index: step for index, step in access.address.steps if index not in inside}


def _reach(difference: int, step: int, other: int, extent: int, terms: list[Term]) -> bool:
    """Whether ``difference + step*p - other*q + terms`` is 0 for two different iterations p and q."""
    if step == other:
        return any([reaches(-difference, [(step, low, high), *terms])
                    for low, high in ((1, extent - 1), (1 - extent, -1)) if low <= high])
    tried = range(min(extent, DEPENDENCE_ITERATIONS))
    return any([reaches(other * q - step * p - difference, terms) for p in tried for q in tried if p != q])


def reaches(target: int, terms: Sequence[Term]) -> bool:
    """Whether a sum of coefficients times values in their ranges can certainly be the target.

    >>> reaches(7, [(3, 0, 4), (2, 0, 1)]), reaches(7, [(3, 0, 4), (2, 0, 0)])
    (False, False)
    >>> reaches(8, [(3, 0, 4), (2, 0, 1)])
    True
    """
    ordered = sorted([term for term in terms if term[0]], key=lambda term: -abs(term[0]))
    ends = [sorted((coefficient * low, coefficient * high)) for coefficient, low, high in ordered]
    effort = DEPENDENCE_EFFORT
    pending = [(target, 0)]
    while pending and effort > 0:
        left, position = pending.pop()
        effort -= 1
        if position == len(ordered):
            if left == 0:
                return True
            continue
        coefficient, low, high = ordered[position]
        if left % gcd(*[term[0] for term in ordered[position:]]):
            continue
        rest = ends[position + 1:]
        below, above = left - sum([end[1] for end in rest]), left - sum([end[0] for end in rest])
        if coefficient < 0:
            below, above = above, below
        first, last = max(low, -(-below // coefficient)), min(high, above // coefficient)
        pending += [(left - coefficient * value, position + 1) for value in range(first, min(last, first + effort) + 1)]
    return False
