"""A place for the elements of one value: given by the caller, kept by a variable, or planned by us.

>>> from nervure.types.dtype import float32
>>> Storage("temporary", float32, (2, 3)).size
6
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nervure.types.dim import DimLike, product
from nervure.types.dtype import DType
from nervure.types.shape import Shape


@dataclass(eq=False)
class Storage:
    """Row-major memory for a tensor.

    ``kind`` is argument, constant, variable (the value at entry), root (a result, or the new value of a variable) or
    temporary; ``number`` says which argument or root, ``source`` is the array of a constant, the Variable, or the Value
    that a temporary holds (partial totals of it, if the types differ).
    """

    kind: str
    dtype: DType
    shape: Shape
    number: int = 0
    source: Any = None

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return product(self.shape)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.number}: {self.dtype.short}{list(self.shape)}>"
