"""The points of a contraction as one index, and sides that go through memory in runs of them.

A contraction over several indices is one over their points in order. A side that walks on from one index to the next
does not see the difference; another one, like a side whose points a reshape has renumbered, has divisions in its
places. Where all of them divide by one number, its points come in runs of that length, in each of which it is affine.

>>> from nervure.kernel.ir import For, Load, walk
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[60], in y: f32[48], out z: f32[20]):
...   for i < 5:
...     for j < 4 vector:
...       v0 = contract over k < 3, l < 4:
...         v1 = x[4*i + 20*k + l]
...         v2 = y[j + 16*k + 4*l]
...         give v1, v2
...       z[4*i + j] = v0
... ''')
>>> contract = with_one_index(kernel.body[0].body[0].body[0])
>>> [(load.address.base, load.address.steps) for load in contract.body]
[(%3 % 4 + 20*(%3//4), ((%0, 4),)), (0, ((%1, 1), (%3, 4)))]
>>> point = contract.indices[0][0]
>>> runs = in_runs(Side(contract.body[:1], contract.left), point, 12, LoopIndex(4))
>>> runs.length, runs.side.statements[0].address.steps
(4, ((%0, 4), (%3, 1), (%4, 20)))
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from nervure.kernel.coordinates import address
from nervure.kernel.ir import CONTRACT_BLOCK, Access, Address, Contract, Statement
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.routines import Side
from nervure.kernel.simplify.loops import walks_on
from nervure.types.dim import DimLike
from nervure.types.dim.polynomial import Kind
from nervure.types.dim.queries import index_terms


def with_one_index(contract: Contract) -> Contract:
    """The contraction over one index, which numbers its points."""
    *outer, (inner, extent) = contract.indices
    body = contract.body
    for index, count in reversed(outer):
        body = tuple([_joined(entry, index, inner, extent) for entry in body])
        extent = count * extent
    return replace(contract, indices=((inner, extent),), body=body) if outer else contract


def _joined(entry: Statement, outer: LoopIndex, inner: LoopIndex, extent: DimLike) -> Statement:
    """A statement where the inner index goes on through all of the outer one."""
    if walks_on((entry,), outer, inner, extent):
        return entry.substitute({outer: 0})
    return entry.substitute({outer: inner.dim // extent, inner: inner.dim % extent})


class Runs(NamedTuple):
    """A side whose points are those of runs of a length; ``number`` counts the runs, the point begins anew in each."""

    side: Side
    number: LoopIndex
    length: int


def in_runs(side: Side, point: LoopIndex, points: DimLike, number: LoopIndex) -> Runs | None:
    """A side in runs, if it divides its points by one number of which there are whole ones in a block."""
    divisors = {length for entry in side.statements if isinstance(entry, Access)
                for length in _divisors(entry.address.base, point)}
    length = divisors.pop() if len(divisors) == 1 else None
    if not isinstance(length, int) or not isinstance(points, int) or points % length:
        return None
    if points > CONTRACT_BLOCK and CONTRACT_BLOCK % length:
        return None
    place = number.dim * length + point.dim
    statements = [_affine(entry.substitute({point: place}), point, number, length) for entry in side.statements]
    return Runs(Side(tuple(statements), side.value), number, length)


def _divisors(base: DimLike, point: LoopIndex) -> set[DimLike | None]:
    """What the point is divided by; None if it occurs in another way."""
    factors = [factor for _, each in index_terms(base) for factor in each
               if any([point.occurs_in(x) for x in factor.operands]) or factor.name == point.name]
    divisions = (Kind.FLOOR_DIVIDE, Kind.REMAINDER)
    return {factor.operands[1] if factor.kind in divisions and factor.operands[0] == point.dim else None
            for factor in factors}


def _affine(entry: Statement, point: LoopIndex, number: LoopIndex, length: int) -> Statement:
    if not isinstance(entry, Access):
        return entry
    found = address(entry.address.base, [point, number], {point.name: (0, length - 1)})
    return entry.at(Address(found.base, (*entry.address.steps, *found.steps), entry.address.terms))
