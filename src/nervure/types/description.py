"""Tensor descriptions: element type, shape, and layout if it is known; with axes, the meaning of the dimensions.

A ``BasicTensorDescription`` is the type of a core value. It is immutable: ``with_`` makes another.

>>> from nervure.types.dim import dim
>>> from nervure.types.dtype import float32, int64
>>> image = BasicTensorDescription(float32, (dim("N"), 128))
>>> image, image.rank, image.with_(dtype=int64), image.describe(("N", "H"))
(f32[N, 128], 2, i64[N, 128], 'f32[N=N, H=128]')

A tensor is an *r-tensor* (``read_only``), which can give its elements, or an *l-tensor*, which has memory to assign to.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch, WrongKind
from nervure.types.axes import Axes, make_axes
from nervure.types.dim import DimLike, product, symbols
from nervure.types.dtype import DType, as_dtype
from nervure.types.frozen import Frozen, put
from nervure.types.layout import Layout, memory_of
from nervure.types.shape import LIMIT, Shape, check_index, checked_shape

if TYPE_CHECKING:
    import numpy as np

    from nervure.types.view import ComplexView, SimpleView

__all__ = ["LIMIT", "BasicTensorDescription", "Labels", "TensorDescription", "check_index"]

Labels = tuple["str | None", ...]
"""A name or None for each dimension: for people to read, without a meaning."""

_UNCHANGED: Any = object()


class BasicTensorDescription(Frozen):
    """Element type, shape, whether the tensor is an r-tensor, and its layout if that is known (else None).

    ``shape`` holds non-negative ints and Dims. Raises InvalidArgument for a negative length and for more than 2**63 -
    1 bytes; WrongKind for anything that is no length.

    >>> described = nv.BasicTensorDescription(nv.float32, (2, 3))
    >>> str(described), described.size, described.nbytes
    ('f32[2, 3]', 6, 24)
    """

    __slots__ = ("dtype", "layout", "read_only", "shape")
    _plural = "descriptions"
    _instead = "make another: description.with_(shape=...)"
    dtype: DType
    shape: Shape
    read_only: bool
    layout: Layout | None

    def __init__(self, dtype: object, shape: Iterable[DimLike], read_only: bool = True,
                 layout: Layout | None = None) -> None:
        element = dtype if type(dtype) is DType else as_dtype(dtype)
        put(self, "dtype", element)
        put(self, "shape", checked_shape(shape, element.itemsize))
        put(self, "read_only", read_only)
        if layout is not None and not isinstance(layout, Layout):
            raise WrongKind("this is no layout", operand="layout", got=type(layout).__name__,
                            expected="a Layout or None",
                            help="row_major(shape) makes one")
        put(self, "layout", layout)
        if layout is not None and layout.rank != len(self.shape):
            raise InvalidArgument("the layout is for another rank", got=layout, expected=f"{self.rank} strides",
                                  help="row_major(shape) makes a layout")

    @classmethod
    def of(cls, array: np.ndarray) -> BasicTensorDescription:
        """Returns the description of the elements of ``array``; its own memory does not count.

        >>> nv.BasicTensorDescription.of(np.zeros((2, 3), np.int8))
        i8[2, 3]
        """
        return BasicTensorDescription(as_dtype(array.dtype), array.shape)

    def mismatch(self, expected: BasicTensorDescription) -> type[DtypeMismatch | ShapeMismatch] | None:
        """Returns the error of a value of this type where one of type ``expected`` is due; None if it fits."""
        if self.dtype is not expected.dtype:
            return DtypeMismatch
        return None if self.shape == expected.shape else ShapeMismatch

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return product(self.shape)

    @property
    def nbytes(self) -> DimLike:
        """The number of bytes that the elements take, without padding."""
        return self.size * self.dtype.itemsize

    @property
    def order(self) -> tuple[int, ...] | Layout | None:
        """The dimensions from the slowest to the fastest in memory, if the layout has no gaps. A layout with gaps is
        returned itself; None stands for row-major memory.
        """
        if self.layout is None:
            return None
        order = memory_of(self.layout, self.shape)
        return None if order == tuple(range(self.rank)) else order

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols in the shape."""
        return frozenset().union(*[symbols(length) for length in self.shape])

    def with_(self, *, dtype: object = _UNCHANGED, shape: Iterable[DimLike] = _UNCHANGED,
              read_only: bool = _UNCHANGED, layout: Layout | None = _UNCHANGED) -> BasicTensorDescription:
        """Returns this description with some parts replaced. A new ``shape`` without a ``layout`` has none."""
        if layout is _UNCHANGED:
            layout = self.layout if shape is _UNCHANGED else None
        return BasicTensorDescription(
            self.dtype if dtype is _UNCHANGED else dtype, self.shape if shape is _UNCHANGED else shape,
            self.read_only if read_only is _UNCHANGED else read_only, layout)

    def describe(self, labels: Sequence[str | None] | None = None) -> str:
        """Returns ``f32[2, N]``, or with a label for each dimension (or None) ``f32[H=2, N]``."""
        if labels is None:
            return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"
        pairs = zip(labels, self.shape, strict=True)
        shown = [str(length) if label is None else f"{label}={length}" for label, length in pairs]
        return f"{self.dtype.short}[{', '.join(shown)}]"

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return str(self) if self.layout is None else f"{self} at {self.layout}"

    def _parts(self) -> tuple[object, ...]:
        return self.dtype, self.shape, self.read_only, self.layout

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is type(self) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._parts()


class TensorDescription(BasicTensorDescription):
    """A description whose dimensions are axes: the shape is their lengths.

    It may say where the tensor comes from: for a view, ``base_tensor`` describes the viewed tensor, and ``view`` the
    view; tensors of equal ``storage`` lie in one memory (None if that is not known). Descriptions are equal if all
    other parts are.

    >>> TensorDescription("float32", make_axes("N=32, H=128"))
    f32[N=32, H=128]
    >>> turned = nv.variable((2, 3)).T.description
    >>> turned.base_tensor, turned.view.permutation, turned.storage == turned.base_tensor.storage
    (f32[2, 3] at strides (3, 1), (1, 0), True)
    """

    __slots__ = ("axes", "base_tensor", "storage", "view")

    axes: Axes
    base_tensor: TensorDescription | None
    storage: Hashable
    view: SimpleView | ComplexView | None

    def __init__(self, dtype: object, axes: Axes, read_only: bool = True, layout: Layout | None = None, *,
                 base_tensor: TensorDescription | None = None, storage: Hashable = None,
                 view: SimpleView | ComplexView | None = None) -> None:
        known = make_axes(axes)
        super().__init__(dtype, known.lengths, read_only, layout)
        put(self, "axes", known)
        put(self, "base_tensor", base_tensor)
        put(self, "storage", storage)
        put(self, "view", view)

    @property
    def basic(self) -> BasicTensorDescription:
        """The same without axes: the type of the core value."""
        return BasicTensorDescription(self.dtype, self.shape, self.read_only, self.layout)

    def with_(self, *, dtype: object = _UNCHANGED, shape: Iterable[DimLike] = _UNCHANGED,
              read_only: bool = _UNCHANGED, layout: Layout | None = _UNCHANGED,
              axes: Axes = _UNCHANGED) -> TensorDescription:
        """Returns this description with some parts replaced; its shape changes only with its ``axes`` (else
        WrongKind). With another element type or other axes, its origin is unknown.
        """
        if shape is not _UNCHANGED:
            raise WrongKind("the shape of a description with axes is the lengths of its axes", op="with_",
                            operand="shape", help="give axes=, or start from description.basic")
        if layout is _UNCHANGED:
            layout = self.layout if axes is _UNCHANGED else None
        is_same = dtype is _UNCHANGED and axes is _UNCHANGED
        return TensorDescription(
            self.dtype if dtype is _UNCHANGED else dtype, self.axes if axes is _UNCHANGED else axes,
            self.read_only if read_only is _UNCHANGED else read_only, layout,
            base_tensor=self.base_tensor if is_same else None, storage=self.storage if is_same else None,
            view=self.view if is_same else None)

    def __str__(self) -> str:
        return self.describe(self.axes.names)

    def _parts(self) -> tuple[object, ...]:
        return self.dtype, self.axes, self.read_only, self.layout
