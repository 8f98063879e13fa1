"""Groups of element types, which ops admit: floats, integers, all types with an order.

>>> describe_types(FLOATS | BOOL), GROUPS["integers"] is INTEGERS
('booleans, floats', True)
"""

from __future__ import annotations

from nervure.types.dtype import DType, all_dtypes

ALL = frozenset(all_dtypes)
# Types of 2 and 4 bits and the exponent-only float8_e8m0fnu are stored and converted; they have no arithmetic.
ANY = frozenset(entry for entry in all_dtypes if entry.bits >= 8 and entry.name != "float8_e8m0fnu")
FLOATS = frozenset(entry for entry in ANY if entry.kind == "float")
COMPLEX = frozenset(entry for entry in ANY if entry.kind == "complex")
INTEGERS = frozenset(entry for entry in ANY if entry.kind in ("int", "uint"))
BOOL = frozenset(entry for entry in ANY if entry.kind == "bool")
REALS = FLOATS | INTEGERS
NUMBERS = REALS | COMPLEX
ORDERED = REALS | BOOL

GROUPS = {"integers": INTEGERS, "floats": FLOATS, "reals": REALS, "numbers": NUMBERS}
"""The groups by their names in where strings."""


def describe_types(admits: frozenset[DType]) -> str:
    """Describes element types in words: "floats, integers"."""
    groups = [("booleans", BOOL), ("integers", INTEGERS), ("floats", FLOATS), ("complex numbers", COMPLEX)]
    named = [name for name, group in groups if group <= admits]
    rest = admits - frozenset().union(*[group for _, group in groups if group <= admits])
    return ", ".join(named + sorted(entry.name for entry in rest))
