"""Extents in blocks, numbers or symbols: how long the longest block is, how many there are, and how long one is.

>>> from nervure.types.dim import dim
>>> at_most(100, 512), at_most(1000, 512), block_count(1000, 512)
(100, 512, 2)
>>> at_most(dim("n"), 512), block_count(dim("n"), 512)
(512, (n + 511)//512)
"""

from __future__ import annotations

from nervure.types.dim import DimLike, dim_min, highest, index_symbols, least_operands, symbols


def at_most(extent: DimLike, most: int) -> int:
    """Returns an extent that is a number, but no more than ``most``; of a part of a loop around, the longest one."""
    longest = highest(extent) if index_symbols(extent) else extent
    return min(longest, most) if isinstance(longest, int) else most


def longest_part(extent: DimLike) -> DimLike | None:
    """Returns the length that no part of a loop around passes; None if there is no number above all of them.

    Those operands of a minimum that depend on no loop around say how much there is at all, as numbers or symbols.

    >>> from nervure.types.dim import dim, index
    >>> longest_part(dim_min(100, index(0) + 8)), longest_part(dim_min(dim("n"), 100, index(0) + 8))
    (100, min(n, 100))
    """
    most = highest(extent)
    whole = [operand for operand in least_operands(extent) if not index_symbols(operand)]
    if most is None or not whole and symbols(extent) != index_symbols(extent):
        return None  # a number may be more than there is for small values of other symbols
    return dim_min(most, *whole)


def block_count(extent: DimLike, block: int) -> DimLike:
    """Returns the number of blocks, the last of which may be smaller. A part of a loop around that fits in one is one.
    """
    if index_symbols(extent) and (highest(extent) or block + 1) <= block:
        return 1
    return (extent + (block - 1)) // block


def part_of(extent: DimLike, start: DimLike, block: int) -> DimLike:
    """Returns the length of the block that begins at ``start``, a multiple of ``block``.

    >>> from nervure.types.dim import index
    >>> part_of(1024, index(0) * 512, 512), part_of(1000, index(0) * 512, 512)
    (512, min(1000 - 512*%0, 512))
    """
    return block if isinstance(extent, int) and extent % block == 0 else dim_min(block, extent - start)
