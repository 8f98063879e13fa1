"""Digits: an index of a contraction that operands divide, as two: one of quotients, and one of remainders.

A reshape that joins two axes leaves ``k // 6`` and ``k % 6`` in places. Where the extent is a multiple of what is
divided by, the contraction runs over both digits instead, in the same order, and places are affine again.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[60], in y: f32[240], out z: f32[4]):
...   for j < 4 vector:
...     v0 = contract over k < 60:
...       v1 = x[k]
...       v2 = y[4*(k//6) + 40*(k % 6) + j]
...       give v1, v2
...     z[j] = v0
... ''')
>>> contract = with_digits(kernel.body[0].body[0], kernel.body)
>>> [extent for _, extent in contract.indices], [load.address.steps for load in contract.body]
([10, 6], [((%1, 1), (%2, 6)), ((%0, 1), (%1, 40), (%2, 4))])
"""

from __future__ import annotations

from nervure.kernel.divisions import bent, divisions
from nervure.kernel.ir import Access, Address, Body, Contract, Index, Statement
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.rewriting import unused_indices
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, equal, simplify, terms
from nervure.types.index_map import Ranges


def with_digits(contract: Contract, around: Body) -> Contract:
    """Returns the contraction over digits where it divides its indices; ``around`` are the loops that it stands in."""
    for position, (index, extent) in enumerate(contract.indices):
        length = _divisor(contract, index, extent)
        if length is not None:
            quotient, = unused_indices((*around, contract), 1)
            digits = ((quotient, extent // length), (index, length))
            ranges: Ranges = {own.name: (0, end - 1) for own, end in digits}
            body = tuple([_at_digits(entry, index, quotient, length, ranges) for entry in contract.body])
            indices = (*contract.indices[:position], *digits, *contract.indices[position + 1:])
            return with_digits(replace(contract, indices=indices, body=body), around)
    return contract


def _divisor(contract: Contract, index: LoopIndex, extent: DimLike) -> DimLike | None:
    """Returns the largest number by which an index is divided that divides its extent, else anything that does."""
    found = dict.fromkeys([division.divisor for division in divisions(contract.body, index)])
    known = sorted([length for length in found if isinstance(length, int)], reverse=True)
    unknown = [length for length in found if not isinstance(length, int)]
    ordered: list[DimLike] = [*known, *unknown]
    return next((length for length in ordered if _divides(length, extent)), None)


def _divides(length: DimLike, extent: DimLike) -> bool:
    """Whether an extent surely is some times a length, more than once."""
    return length not in (0, 1, extent) and equal(extent // length * length, extent) is True


def _at_digits(entry: Statement, index: LoopIndex, quotient: LoopIndex, length: DimLike, ranges: Ranges) -> Statement:
    """Returns a statement with an index made of two digits; it is affine in these if it can be."""
    entry = entry.substitute({index: quotient.dim * length + index.dim})
    if not isinstance(entry, Access | Index):
        return entry
    simple = simplify(bent(entry), ranges)
    if isinstance(entry, Index):
        return replace(entry, expression=simple)
    rest: DimLike = 0
    steps: dict[LoopIndex, DimLike] = dict(entry.address.steps)
    for coefficient, factor in terms(simple):
        found = affine(factor, [own.name for own in (index, quotient)])
        if found is None:
            rest = rest + coefficient * factor
            continue
        rest = rest + coefficient * found[1]
        for own in (index, quotient):
            steps[own] = steps.get(own, 0) + coefficient * found[0][own.name]
    kept = tuple([(own, step) for own, step in steps.items() if step != 0])
    return entry.at(Address(rest, kept, entry.address.terms))
