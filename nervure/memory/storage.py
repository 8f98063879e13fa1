"""A place for the elements of one value: given by the caller, kept by a variable, or planned by us.

>>> from nervure.types.dtype import float32
>>> Storage(StorageKind.TEMPORARY, float32, (2, 3)).size
6
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nervure.types.dim import DimLike, product
from nervure.types.dtype import DType
from nervure.types.shape import Shape


class StorageKind(StrEnum):
    """Whose memory it is."""

    ARGUMENT = "argument"
    CONSTANT = "constant"
    VARIABLE = "variable"       # the value at entry
    ROOT = "root"               # a result, or the new value of a variable
    TEMPORARY = "temporary"     # for the time of a call


@dataclass(frozen=True, eq=False)
class Storage:
    """Row-major memory for a tensor; ``number`` says which one of its kind it is in its function."""

    kind: StorageKind
    dtype: DType
    shape: Shape
    number: int = 0

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return product(self.shape)

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    def __repr__(self) -> str:
        return f"<{self}: {self.dtype.short}{list(self.shape)}>"
