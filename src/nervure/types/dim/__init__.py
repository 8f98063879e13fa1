"""Dimensions: sizes that are known numbers, or integer expressions over symbols that are bound later.

A dimension is an ``int`` or a ``Dim``; a ``Dim`` is an immutable expression in normal form and is never a constant.
``+ - * // %`` work on both, floor division as Python's. ``==`` compares form alone; ``equal`` and ``less_equal`` ask
about all values of the symbols, and answer True, False or None (not known, or it depends). The same class serves index
arithmetic: ``index(k)`` is the k-th index of a domain.

>>> n = dim("N", min=1)
>>> (n + 1) - 1, (4 * n + 3) // 4, dim_max(n, 0), n // 4 // 2
(N, N, N, N//8)
>>> equal(n // 2 * 2, n), equal(n // 2 * 2 + n % 2, n), equal(n + 1, n), bounds(n % 4)
(None, True, False, (0, 3))
>>> simplify((index(0) * 4 + index(1)) // 4, {"%1": (0, 3)})
%0

A symbol's bounds are facts about it, not part of its identity: expressions may differ in the bounds that they know for
N, and an expression built from both knows the tighter ones. In evaluation a division by 0 gives 0. An expression that
grows past all use (32 levels, 8,000 characters in one operation, coefficients of 40 digits) is an InvalidArgument; a
product that would multiply out to more than 128 terms stays a product.
"""

from nervure.types.dim.evaluation import compile_dim, evaluate, evaluate_arrays, evaluate_with
from nervure.types.dim.expression import (
    Dim,
    DimLike,
    declaration,
    declared_symbols,
    dim,
    dim_max,
    dim_min,
    found,
    index,
    product,
)
from nervure.types.dim.queries import (
    affine,
    bounds,
    equal,
    found_symbols,
    highest,
    index_symbols,
    known_lengths,
    least_operands,
    less_equal,
    lowest,
    same_lengths,
    simplify,
    substitute,
    symbols,
    terms,
)
from nervure.types.dim.text import parse_declaration, parse_dim

__all__ = [
    "Dim",
    "DimLike",
    "affine",
    "bounds",
    "compile_dim",
    "declaration",
    "declared_symbols",
    "dim",
    "dim_max",
    "dim_min",
    "equal",
    "evaluate",
    "evaluate_arrays",
    "evaluate_with",
    "found",
    "found_symbols",
    "highest",
    "index",
    "index_symbols",
    "known_lengths",
    "least_operands",
    "less_equal",
    "lowest",
    "parse_declaration",
    "parse_dim",
    "product",
    "same_lengths",
    "simplify",
    "substitute",
    "symbols",
    "terms",
]
