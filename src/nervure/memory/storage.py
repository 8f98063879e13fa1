"""Storage: the memory of one value, given by the caller, kept by a variable, or planned.

>>> from nervure.types.dtype import float32
>>> from nervure.types.layout import row_major
>>> Storage(StorageKind.TEMPORARY, float32, (2, 3)).size
6
>>> Storage(StorageKind.TEMPORARY, float32, (2, 3), layout=row_major((2, 3), sizes=(2, 4))).size
8
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, product
from nervure.types.dtype import DType
from nervure.types.layout import Layout, dense
from nervure.types.shape import Shape

UNSTOPPED = 20_000_000
"""The longest that a kernel that writes in place of a variable may take, in nanoseconds: no interrupt ends the call
meanwhile.
"""


def layout_of(kept: BasicTensorDescription) -> Layout | None:
    """Returns the layout of memory that a description asks for; None if it is row-major.

    >>> layout_of(BasicTensorDescription("float32", (2, 3), layout=dense((2, 3), (1, 0)))).strides
    (1, 2)
    """
    order = kept.order
    return order if order is None or isinstance(order, Layout) else dense(kept.shape, order)


class StorageKind(StrEnum):
    """The owner of a storage's memory."""

    ARGUMENT = "argument"
    CONSTANT = "constant"
    VARIABLE = "variable"       # the value at entry
    ROOT = "root"               # a result, or the new value of a variable
    TEMPORARY = "temporary"     # for the time of a call
    DERIVED = "derived"         # or kept longer: follows from a variable at entry, or a constant


@dataclass(frozen=True, eq=False)
class Storage:
    """Memory for a tensor; ``number`` distinguishes storages of one kind in a function.

    The elements lie row-major, or as the ``layout`` says. Derived memory (weights packed for a kernel) stays valid for
    as long as a variable keeps its version, and for a constant for good; a runtime may keep it, or make it anew in each
    call, and what follows from an argument of a loop's body, in each run of the loop.
    """

    kind: StorageKind
    dtype: DType
    shape: Shape
    number: int = 0
    layout: Layout | None = None

    @property
    def allocated(self) -> Shape:
        """The allocated lengths: those of the shape, and padding."""
        return self.layout.sizes if self.layout is not None and self.layout.sizes is not None else self.shape

    @property
    def size(self) -> DimLike:
        """The number of elements that memory is allocated for."""
        return product(self.allocated)

    @property
    def nbytes(self) -> DimLike:
        """The number of bytes that are allocated."""
        return self.size * self.dtype.itemsize

    @property
    def is_of_call(self) -> bool:
        """Whether a call allocates it for itself."""
        return self.kind in (StorageKind.TEMPORARY, StorageKind.DERIVED)

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    def __repr__(self) -> str:
        return f"<{self}: {self.dtype.short}{list(self.shape)}>"
