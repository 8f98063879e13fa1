"""The points of a contraction as one index, and sides that go through memory in runs of them.

A contraction over several indices is one over their points in order. A side that walks on from one index to the next
does not see the difference; another one, like a side whose points a reshape has renumbered, has divisions in its
places. Where all of them divide by one number, or multiples of it, its points come in runs of that length, in each of
which it is affine.

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
>>> runs = in_runs(Side(contract.body[:1], contract.left), point, LoopIndex(4))
>>> runs.length, runs.side.statements[0].address.steps
(4, ((%0, 4), (%3, 1), (%4, 20)))
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from nervure.kernel.coordinates import address
from nervure.kernel.ir import CONTRACT_BLOCK, Access, Address, Body, Contract, Index, Statement
from nervure.kernel.loop_index import Indices, LoopIndex
from nervure.kernel.routines import Side
from nervure.kernel.simplify.loops import walks_on
from nervure.types.dim import DimLike, affine, product
from nervure.types.dim.polynomial import Kind
from nervure.types.dim.queries import index_terms
from nervure.types.index_map import Ranges


def with_one_index(contract: Contract) -> Contract:
    """The contraction over one index, which numbers its points."""
    (inner, _), extent = contract.indices[-1], product([extent for _, extent in contract.indices])
    return replace(contract, indices=((inner, extent),), body=joined(contract.body, contract.indices))


def joined(body: Body, loops: Indices) -> Body:
    """Statements where the last index goes on through all of these loops, in row-major order."""
    *outer, (inner, extent) = loops
    for index, count in reversed(outer):
        body = tuple([_joined(entry, index, inner, extent) for entry in body])
        extent = count * extent
    return body


def _joined(entry: Statement, outer: LoopIndex, inner: LoopIndex, extent: DimLike) -> Statement:
    """A statement where the inner index goes on through all of the outer one."""
    if walks_on((entry,), outer, inner, extent):
        return entry.substitute({outer: 0})
    return entry.substitute({outer: inner.dim // extent, inner: inner.dim % extent})


class Runs(NamedTuple):
    """A side whose points are those of runs of a length; ``number`` counts the runs, the point begins anew in each."""

    side: Side
    number: LoopIndex
    length: DimLike

    def fill(self, points: DimLike) -> bool:
        """Whether blocks of so many points in all surely consist of whole runs."""
        if not isinstance(points, int) or not isinstance(self.length, int) or points % self.length:
            return False
        return points <= CONTRACT_BLOCK or CONTRACT_BLOCK % self.length == 0


def in_runs(side: Side, point: LoopIndex, number: LoopIndex) -> Runs | None:
    """A side in runs, the longest that are found, if it divides its points by one number, or by multiples of it."""
    lengths = {length for entry in side.statements if isinstance(entry, Access | Index)
               for length in divisors(_bent(entry), point)}
    known = sorted([length for length in lengths if isinstance(length, int)], reverse=True)
    ordered: list[DimLike] = [*known, *[length for length in lengths if not isinstance(length, int)]]
    found = (_in_runs_of(length, side, point, number) for length in ordered)
    return next((runs for runs in found if runs is not None), None)


def _in_runs_of(length: DimLike, side: Side, point: LoopIndex, number: LoopIndex) -> Runs | None:
    """A side in runs of a length, in each of which it is affine; None if it is not."""
    place = number.dim * length + point.dim
    statements = [_affine(entry.substitute({point: place}), point, number, length) for entry in side.statements]
    if any([isinstance(entry, Access | Index) and affine(_bent(entry), [point.name]) is None for entry in statements]):
        return None
    return Runs(Side(tuple(statements), side.value), number, length)


def divisors(x: DimLike, point: LoopIndex) -> set[DimLike]:
    """What anything of the point is divided by anywhere in an expression."""
    found: set[DimLike] = set()
    for factor in [factor for _, factors in index_terms(x) for factor in factors]:
        if factor.kind in (Kind.FLOOR_DIVIDE, Kind.REMAINDER) and point.occurs_in(factor.operands[0]):
            found.add(factor.operands[1])
        found.update(*[divisors(operand, point) for operand in factor.operands])
    return found


def _bent(entry: Access | Index) -> DimLike:
    """The part of a statement that need not be affine."""
    return entry.address.base if isinstance(entry, Access) else entry.expression


def _affine(entry: Statement, point: LoopIndex, number: LoopIndex, length: DimLike) -> Statement:
    if not isinstance(entry, Access | Index):
        return entry
    ranges: Ranges = {point.name: (0, length - 1)}
    found = address(_bent(entry), [point, number], ranges)
    if point.occurs_in(found.base):  # the number of the run is divided, too
        found = address(_bent(entry), [point], ranges)
    if isinstance(entry, Index):
        return replace(entry, expression=sum([step * index.dim for index, step in found.steps], start=found.base))
    merged: dict[LoopIndex, DimLike] = dict(entry.address.steps)
    merged.update({index: merged.get(index, 0) + step for index, step in found.steps})
    return entry.at(Address(found.base, tuple(merged.items()), entry.address.terms))
