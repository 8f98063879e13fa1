"""Combiners (monoids): the function that each applies, and the unit that it starts from.

>>> from nervure.types.dtype import float32, uint8
>>> FUNCTIONS["and"], unit("and", uint8).value, unit("maximum", float32).value
('bitwise_and', 255, -inf)
"""

from __future__ import annotations

from nervure.kernel.ir import Literal, Reduce
from nervure.types.dtype import DType

FUNCTIONS = {"add": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum",
             "and": "bitwise_and", "or": "bitwise_or"}
"""The function of the scalar namespace that each combiner applies."""


def unit(combine: str, dtype: DType) -> Literal:
    """Returns the unit of ``combine``: combined with any number it gives that number. For ``add`` of floats it is 0.0,
    which turns -0.0 into 0.0.
    """
    if combine in ("maximum", "minimum"):
        return Literal(dtype.extremes[combine == "minimum"], dtype)
    if combine == "and" and dtype.is_integer:
        return Literal(-1 if dtype.is_signed else int(dtype.maximum or 0), dtype)
    number = combine in ("multiply", "and")
    if dtype.kind == "bool":
        return Literal(number, dtype)
    if dtype.is_integer:
        return Literal(int(number), dtype)
    return Literal(complex(number) if dtype.is_complex else float(number), dtype)


def keeps_units(reduce: Reduce) -> bool:
    """Whether combining with the unit may be omitted: not in complex products, as infinity times 1 + 0i has a NaN."""
    return not any([combine == "multiply" and variable.dtype.is_complex
                    for combine, variable in zip(reduce.combine, reduce.results, strict=True)])


def is_associative(reduce: Reduce) -> bool:
    """Whether the combined values are the same to the bit in any order, except for the bits of a NaN: nothing is
    rounded.
    """
    return not any([combine in ("add", "multiply") and not variable.dtype.is_integer and variable.dtype.kind != "bool"
                    for combine, variable in zip(reduce.combine, reduce.results, strict=True)])
