# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.

from collections.abc import Callable, Sequence
from nervure.front.arranging.indexing import AtIndexer
from nervure.front.creation import AssignableTensorOp
from nervure.front.tensor import Number, Operand, Tensor, TensorLike
from nervure.ir.device import Device, Facet
from nervure.ir.op import Op
from nervure.types.axes import AxesLike, AxisLike
from nervure.types.description import TensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import DTypeLike
from nervure.types.shape import Shape
from nervure.types.view.simple import SimpleView
from numpy import ndarray, ufunc
from typing import Any

class Interface:
    def __add__(self, other: Operand) -> Tensor: """``nv.add``."""
    def __sub__(self, other: Operand) -> Tensor: """``nv.subtract``."""
    def __mul__(self, other: Operand) -> Tensor: """``nv.multiply``."""
    def __truediv__(self, other: Operand) -> Tensor: """``nv.divide``."""
    def __floordiv__(self, other: Operand) -> Tensor: """``nv.floordivide``."""
    def __mod__(self, other: Operand) -> Tensor: """``nv.mod``."""
    def __pow__(self, other: Operand) -> Tensor: """``nv.power``."""
    def __and__(self, other: Operand) -> Tensor: """``nv.bitwise_and``."""
    def __or__(self, other: Operand) -> Tensor: """``nv.bitwise_or``."""
    def __xor__(self, other: Operand) -> Tensor: """``nv.bitwise_xor``."""
    def __lshift__(self, other: Operand) -> Tensor: """``nv.left_shift``."""
    def __rshift__(self, other: Operand) -> Tensor: """``nv.right_shift``."""
    def __matmul__(self, other: Operand) -> Tensor: """``nv.matmul``."""
    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]: """``nv.divmod``."""
    def __lt__(self, other: Operand) -> Tensor: """``nv.less``."""
    def __le__(self, other: Operand) -> Tensor: """``nv.less_equal``."""
    def __gt__(self, other: Operand) -> Tensor: """``nv.greater``."""
    def __ge__(self, other: Operand) -> Tensor: """``nv.greater_equal``."""
    def __radd__(self, other: Operand) -> Tensor: """``nv.add``."""
    def __rsub__(self, other: Operand) -> Tensor: """``nv.subtract``."""
    def __rmul__(self, other: Operand) -> Tensor: """``nv.multiply``."""
    def __rtruediv__(self, other: Operand) -> Tensor: """``nv.divide``."""
    def __rfloordiv__(self, other: Operand) -> Tensor: """``nv.floordivide``."""
    def __rmod__(self, other: Operand) -> Tensor: """``nv.mod``."""
    def __rpow__(self, other: Operand) -> Tensor: """``nv.power``."""
    def __rand__(self, other: Operand) -> Tensor: """``nv.bitwise_and``."""
    def __ror__(self, other: Operand) -> Tensor: """``nv.bitwise_or``."""
    def __rxor__(self, other: Operand) -> Tensor: """``nv.bitwise_xor``."""
    def __rlshift__(self, other: Operand) -> Tensor: """``nv.left_shift``."""
    def __rrshift__(self, other: Operand) -> Tensor: """``nv.right_shift``."""
    def __rmatmul__(self, other: Operand) -> Tensor: """``nv.matmul``."""
    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]: """``nv.divmod``."""
    def __eq__(self, other: object) -> Tensor: """``nv.equal``; ``x is y`` compares the tensors themselves."""  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: """``nv.not_equal``; ``x is y`` compares the tensors themselves."""  # type: ignore[override]
    def __bool__(self) -> bool:
        """``bool(x)``: whether the only element of a tensor that exists is not 0; WrongKind for a computed tensor."""
    def __neg__(self) -> Tensor:
        """-x; flips the sign of zero; integers wrap.

        >>> nv.negative(np.array([1, -2])).tolist()
        [-1, 2]
        """
    def __pos__(self) -> Tensor:
        """Returns a tensor as the result of a function that changes nothing. A place becomes one read, of the state where
        it is placed; among the returns of a computation, the place itself would be its final value.

        >>> v = nv.variable((), 1.0)
        >>> before, _, final = nv.computation([+v, nv.assign(v, v * 2), v])()
        >>> before.item(), final.item()
        (1.0, 2.0)
        """
    def __abs__(self) -> Tensor:
        """|x|; the smallest integer stays itself; of complex numbers the real magnitude. The derivative at 0 is 0.

        >>> nv.absolute(np.array([-1.5, 2.0])).tolist()
        [1.5, 2.0]
        """
    def __round__(self, decimals: int = 0) -> Tensor:
        """Rounds x to ``decimals`` decimal places, halves to the even digit; negative ones round to tens, hundreds.

        Integers have no decimals and are returned as they are; rounding integers to tens is an InvalidArgument.

        >>> import nervure as nv
        >>> nv.round(nv.constant([0.5, 1.5, 2.6])).tolist(), f"{nv.round(2.71828, 2):.4f}"
        ([0.0, 2.0, 3.0], '2.7200')
        """
    def __invert__(self) -> Tensor:
        """All bits flipped; not, for bool.

        >>> nv.bitwise_not(np.array([0, 5])).tolist()
        [-1, -6]
        """
    def __getitem__(self, item: object) -> Tensor:
        """``x[item]``: the item has integers, slices, ``...`` and None, or is a dict from axes to such entries. Anonymous
        tensors take index arrays and masks, too.
        """
    def __array_ufunc__(self, ufunc: ufunc, method: str, *inputs: Any, **keywords: object) -> object:
        """``np.add(array, x)`` and ``array + x``: NumPy's universal function by its nervure name."""
    def __array_function__(self, function: Callable[..., object], types: Sequence[type], arguments: Sequence[object], keywords: dict[str, object]) -> object:
        """``Tensor.__array_function__``: the meaning of a function of NumPy for tensors."""
    def __dlpack__(self, *, stream: None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object:
        """Returns a capsule with the elements of ``x``, computed now, as ``torch.from_dlpack(x)`` and similar functions
        ask for it.

        Raises NotShared (a BufferError) for a stream, a ``dl_device`` other than the CPU, ``copy=False``, and elements
        of less than 8 bits.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the device that ``__dlpack__`` puts the elements on: (kDLCPU, 0). Nothing is computed."""
    def _repr_html_(self) -> str: """The table of a tensor: its axes, below what ``repr`` says."""
    def sum(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.sum`` of this tensor; ``dtype`` converts it first."""
    def prod(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.prod`` of this tensor; ``dtype`` converts it first."""
    def max(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.max`` of this tensor; ``dtype`` converts it first."""
    def min(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, initial: Number | None = None, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.min`` of this tensor; ``dtype`` converts it first."""
    def mean(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.mean`` of this tensor; ``dtype`` converts it first."""
    def variance(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.variance`` of this tensor; ``dtype`` converts it first."""
    def var(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.variance`` of this tensor; ``dtype`` converts it first."""
    def std(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, ddof: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.std`` of this tensor; ``dtype`` converts it first."""
    def any(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.any`` of this tensor; ``dtype`` converts it first."""
    def all(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.all`` of this tensor; ``dtype`` converts it first."""
    def argmax(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.argmax`` of this tensor; ``dtype`` converts it first."""
    def argmin(self, reduction_axes: AxesLike | None = None, out_axes: AxesLike | None = None, *, axis: AxesLike | None = None, keepdims: bool = False, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.argmin`` of this tensor; ``dtype`` converts it first."""
    def cumsum(self, axis: AxisLike | None = None, reverse: bool = False, exclusive: bool = False, *, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.cumsum`` of this tensor; ``dtype`` converts it first."""
    def cumprod(self, axis: AxisLike | None = None, reverse: bool = False, exclusive: bool = False, *, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.cumprod`` of this tensor; ``dtype`` converts it first."""
    def cummax(self, axis: AxisLike | None = None, reverse: bool = False, *, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.cummax`` of this tensor; ``dtype`` converts it first."""
    def cummin(self, axis: AxisLike | None = None, reverse: bool = False, *, dtype: DTypeLike | None = None, out: None = None) -> Tensor:
        """``nv.cummin`` of this tensor; ``dtype`` converts it first."""
    def astype(self, dtype: DTypeLike, mode: str = 'saturate') -> Tensor:
        """Converts x to another element type. ``mode`` "saturate" clamps values that do not fit, "wrap" takes integers
        modulo 2**bits.

        >>> nv.convert([1.7, 300.0], nv.uint8).tolist()
        [1, 255]
        """
    def dot(self, y: Operand, batch: AxesLike = (), *, out_axes: AxesLike | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Sums products over the axes of ``x`` and ``y`` that match. ``batch`` axes, which both must have, stay where x
        has them.

        The result has x's axes without the contracted ones, then y's without contracted and batch ones; ``out_axes`` gives
        another order. If no axis matches, the result is the outer product. If two or more match and none is left, a
        warning says so, since a matrix product was probably meant; ``out_axes=()`` turns it off. Anonymous tensors follow
        NumPy's ``dot``.

        Both operands are converted to ``dtype`` first, which is the element type of the sum, too; it must hold the values
        of both.

        >>> x, w = nv.ones("N=2, F=3"), nv.ones("F=3, K=4")
        >>> print(nv.dot(x, w).axes)
        (N: 2, K: 4)
        >>> nv.dot(np.array([200, 100], np.uint8), np.array([-2, 3], np.int8), dtype=nv.int32).item()
        -100
        """
    def argsort(self, axis: AxisLike | None = -1, descending: bool = False, stable: bool = True) -> Tensor:
        """Returns the positions of the elements of x in ascending order along an ``axis``, or in ``descending`` order.

        They are int64. Without an axis (None), they are positions in the row of all elements. Equal elements keep their
        order, ``stable`` or not.

        >>> nv.argsort([3, 1, 2]).tolist(), nv.argsort([3, 1, 3], descending=True).tolist()
        ([1, 2, 0], [0, 2, 1])
        """
    def sort(self, axis: AxisLike | None = -1, descending: bool = False, stable: bool = True) -> Tensor:
        """Returns the elements of x in ascending order along an ``axis``, or in ``descending`` order.

        Without an axis (None), all elements are sorted as one row. Equal elements keep their order, ``stable`` or not.

        >>> nv.sort([3, 1, 2]).tolist(), nv.sort([[3, 1], [1, 2]], axis=0).tolist()
        ([1.0, 2.0, 3.0], [[1.0, 1.0], [3.0, 2.0]])
        """
    def top_k(self, k: int, axis: AxisLike = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
        """Returns the ``k`` largest elements of x along an ``axis``, in descending order, and their positions.

        With ``largest=False`` it is the smallest, in ascending order. The other elements are not sorted. Of equal elements
        the first is taken; NaN is larger than all numbers. Raises ShapeMismatch where the axis is shorter.

        >>> values, positions = nv.top_k([1, 5, 3, 5], 2)
        >>> values.tolist(), positions.tolist(), nv.top_k([1, 5, 3], 1, largest=False)[0].tolist()
        ([5.0, 5.0], [1, 3], [1.0])
        """
    def reshape(self, *shape: AxesLike) -> Tensor:
        """Arranges the elements in another shape: ``x.reshape(2, 3)``, ``x.reshape((2, 3))``, ``x.reshape(-1)``."""
    def transpose(self, *order: object) -> Tensor: """NumPy's ``transpose``: reversed without an order."""
    def flatten(self) -> Tensor:
        """Joins all axes into one, a FlattenedAxis if they are named.

        >>> print(nv.flatten(nv.zeros("H=2, W=3")).axes)
        ((H, W): 6)
        """
    def broadcast_to(self, axes: AxesLike) -> Tensor:
        """Repeats x along further ``axes`` (in any order), which must include its own. Anonymous: NumPy's broadcast_to.

        >>> nv.broadcast([1, 2], (2, 2)).tolist()
        [[1.0, 2.0], [1.0, 2.0]]
        """
    def squeeze(self, axes: AxesLike | None = None) -> Tensor:
        """Removes the axes of length 1, or those listed in ``axes``. A listed axis must have length 1; if it is symbolic,
        every call checks it.

        >>> nv.squeeze([[[1, 2]]]).tolist()
        [1.0, 2.0]
        """
    def variables(self) -> list[AssignableTensorOp]:
        """The trainable variables that a tensor is computed from, in the order of the graph.

        A variable that a sequence assigns before its last member is not among them: the reads see what was assigned.
        """
    @property
    def T(self) -> Tensor:
        """``x.T``: anonymous axes reversed; named axes keep their order and every level l becomes -1 - l."""
    @property
    def mT(self) -> Tensor: """``x.mT``: the last two axes swapped."""
    @property
    def at(self) -> AtIndexer:
        """``x.at[index]`` is the place of some elements; its methods ``set``, ``add``, ... make a new tensor."""
    def backward(self, accumulate: bool = False) -> None:
        """Writes the derivatives of a scalar to the ``grad`` of all parameters below it, or adds them (``accumulate``)."""
    def detach(self) -> Tensor:
        """The same elements, cut off from differentiation: no derivative passes, and nothing below is compiled for one."""
    def mref(self, *index: int) -> complex: """``nv.mref(x, i, j)``: one element of a tensor."""
    def numel(self) -> int:
        """The number of elements. InvalidArgument while a length is a symbol without a value.

        >>> nv.zeros((2, 3)).numel()
        6
        """
    def set_mref(self, *index_and_value: complex) -> None:
        """``x.set_mref(i, j, value)`` writes one element of a tensor that keeps a value of its own, through views too."""
    @property
    def storage(self) -> ndarray:
        """The memory of a tensor that exists, or of an input, live on both sides; an assigned array is used as it is. A
        view has that of the tensor below.
        """
    @storage.setter
    def storage(self, array: ndarray) -> None: ...
    @property
    def belongs_to(self) -> object: """The module that a parameter sits in; None outside of modules."""
    @property
    def buffer_id(self) -> int:
        """The number of the memory that the tensor lies in. A place and its views share one, whatever is assigned to the
        place; so does the result of an op that writes in place.
        """
    @property
    def description(self) -> TensorDescription:
        """The element type, the axes, and the layout of a tensor that lies in the memory of a place. It is ``read_only``
        if no assignment through the tensor is possible. For a view, ``base_tensor`` describes the tensor it is a view of,
        and ``view`` how; ``storage`` is the tensor's ``buffer_id``.
        """
    @property
    def device(self) -> type[Device]:
        """The device class that the tensor is stored on. For a tensor still to be computed, the first device of the list
        under which it was built.
        """
    @property
    def facet(self) -> Facet:
        """Returns EXIST for a place that keeps its value, for its views, and for a constant; INPUT for other tensors."""
    @property
    def flexible_at(self) -> int | None: """Returns the position at which broadcasting may add an axis, or None."""
    @property
    def grad(self) -> AssignableTensorOp | None:
        """The gradient of a parameter: a persistent tensor of its type, axes and device, at first zeros. None for other
        tensors.

        ``backward`` writes it.
        """
    @property
    def has_param_ancestor(self) -> bool: """Whether the tensor is a parameter, or is computed from one."""
    @property
    def id(self) -> int: """A number that is unique to this tensor in the process and never changes."""
    @property
    def is_scalar(self) -> bool: """Whether the tensor has no axes."""
    @property
    def is_view(self) -> bool: """Whether the tensor was made by a view or a permutation of another one."""
    @property
    def node(self) -> Op | None: """The op that makes the tensor; None for a place and for a constant."""
    @property
    def offset(self) -> DimLike: """The position of the first element in the storage, in elements."""
    @property
    def order(self) -> str:
        """"C" where the last axis moves fastest, through memory without gaps; "F" where the first does; else "A"."""
    @property
    def orig_shape(self) -> Shape:
        """The shape of the storage that the tensor lies in: that of the tensor it is a view of."""
    @property
    def parents(self) -> tuple[Tensor, ...]:
        """The operands of the op that makes the tensor, as the user gave them: before they were aligned and converted for
        the op. They are the same objects as long as the program still holds them.
        """
    @property
    def requires_grad(self) -> bool: """Whether the tensor is a parameter, which has a gradient."""
    @property
    def state(self) -> str:
        """"stored" if there are numbers, "unallocated" for an input without, "lazy" for a tensor to be computed."""
    @property
    def state_dict_name(self) -> str | None:
        """The name of the slot that a parameter has in its module; None outside of modules."""
    @property
    def strides(self) -> tuple[DimLike, ...]:
        """The distance in memory between neighbours along each axis, in elements."""
    @property
    def view_spec(self) -> tuple[SimpleView, ...]:
        """The views that lead from the storage to the tensor, in the order in which they were taken."""
