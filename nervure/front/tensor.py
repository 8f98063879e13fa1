"""The one tensor class of the front: a core value with axes.

Everything is lazy: an operation makes a tensor, and nothing is computed before somebody asks for numbers.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="H=2, W=2")
>>> y = nv.constant([10., 20.], axes="W=2")
>>> x + y
<Tensor f32[H=2, W=2] Add>
>>> (x + y).tolist()
[[11.0, 22.0], [13.0, 24.0]]
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, WrongKind
from nervure.ir.identity import Identity
from nervure.ir.op import Op, Value, as_value
from nervure.ops.statistics import Extent
from nervure.types.axes import Axes, make_axes
from nervure.types.dim import Dim, DimLike, product
from nervure.types.dtype import DType, as_dtype, float32

evaluate: Callable[[Sequence[Any]], list[np.ndarray]] | None = None
"""The one call upward: computes tensors on the default transformer. ``nervure.computation`` fills it in."""


class _State(threading.local):
    def __init__(self) -> None:
        self.tracing: str | None = None


_state = _State()


@contextmanager
def tracing(name: str) -> Iterator[None]:
    """While the function ``name`` is traced: asking a tensor for its number is an error that says what to use."""
    before, _state.tracing = _state.tracing, name
    try:
        yield
    finally:
        _state.tracing = before


def _function(module: str, name: str) -> Callable[..., Any]:
    """A function of a later file of the front; methods are spelled with it."""
    return getattr(importlib.import_module(f"nervure.front.{module}"), name)


def _method(module: str, name: str, swap: bool = False, doc: str | None = None) -> Any:
    """A method that is the function of that name with the tensor first (or second, for reflected operators)."""
    found: list[Callable[..., Any]] = []

    def method(self: Tensor, *arguments: Any, **keywords: Any) -> Any:
        function = found[0] if found else _function(module, name)
        if not found:
            found.append(function)
        if swap:
            return function(arguments[0], self)
        return function(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = doc or f"``nv.{name}`` of this tensor."
    return method


def _reduction(name: str) -> Any:
    """A method that is a reduction, also as NumPy calls it: ``x.sum(axis=None, dtype=None, out=None)``."""
    inner = _method("reductions", name)

    def method(self: Tensor, *arguments: Any, dtype: Any = None, out: Any = None, **keywords: Any) -> Any:
        if out is not None:
            raise WrongKind("a tensor is not computed into an array", op=name, operand="out", got=type(out).__name__,
                            help="the result is a new tensor; nv.assign writes variables")
        return inner(self if dtype is None else self.astype(dtype), *arguments, **keywords)

    method.__name__, method.__doc__ = name, f"``nv.{name}`` of this tensor; ``dtype`` converts it first."
    return method


def _operator(name: str, swap: bool = False) -> Any:
    """A binary operator: NotImplemented for objects of classes that may know tensors, so that Python asks them."""
    inner = _method("elementwise", name, swap)

    def method(self: Tensor, other: Any) -> Any:
        if is_operand(other):
            return inner(self, other)
        if type(other).__module__ == "builtins" or hasattr(other, "has_no_value"):
            value_only(other, name, 1 if swap else 2)
        return NotImplemented

    method.__doc__ = f"``nv.{name}``."
    return method


class Tensor(Identity):
    """A value of the graph with axes. ``axes`` are all named, or all anonymous (a plain shape, NumPy's rules)."""

    __slots__ = ("_value", "_axes", "__weakref__")
    __hash__ = object.__hash__
    __array_priority__ = 1000

    def __init__(self, value: Value | Op, axes: Axes | None = None) -> None:
        value = as_value(value, "Tensor", 1)
        if axes is not None and (type(axes) is not Axes or len(axes) != len(value.type.shape)):
            raise WrongKind("these are not the axes of the value", op="Tensor", operand="axes", got=f"{axes!r:.60}",
                            expected=f"Axes of {value.type}", help="nv.make_axes(...) makes Axes")
        self._value, self._axes = value, axes
        if axes is not None and value.labels is None and not axes.is_anonymous:
            value.labels = axes.names

    # -- what it is --------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The core value that an expression with this tensor is built on."""
        return self._value

    @property
    def axes(self) -> Axes:
        """The axes, in order."""
        if self._axes is None:
            self._axes = make_axes(self.type.shape)
        return self._axes

    @property
    def type(self) -> Any:
        """Element type and shape of the core value."""
        return self._value.type

    @property
    def is_named(self) -> bool:
        """Whether the axes have names; a tensor of rank 0 meets both kinds."""
        return self._axes is not None and not self._axes.is_anonymous

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[DimLike, ...]:
        """The length of each axis: ints, and symbolic dimensions."""
        return self.type.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    rank = ndim

    @property
    def size(self) -> DimLike:
        """The number of elements."""
        return product(self.shape)

    @property
    def name(self) -> str | None:
        """The label given by ``named``."""
        return self._value.op.name

    def named(self, name: str) -> Tensor:
        """Gives the op a label for printing and look-up, and returns this tensor."""
        if not isinstance(name, str) or not name:
            raise WrongKind("a name is a non-empty string", op="named", got=repr(name), expected="str",
                            help="x.named(\"logits\")")
        self._value.op.name = name
        return self

    # -- numbers -----------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The elements, computed now, as an array of the caller's own."""
        self._check_not_traced("numpy", "a tensor has no numbers",
                               "use nv.where for a choice of elements, nv.if_ for a branch, nv.scan for a loop")
        if evaluate is None:
            importlib.import_module("nervure.computation")
        assert evaluate is not None
        return evaluate([self])[0]

    def _check_not_traced(self, op: str, what: str, help: str) -> None:
        """WrongKind while a function is traced, where what was asked for would be that of one specialisation alone."""
        if _state.tracing is not None:
            raise WrongKind(f"{what} while {_state.tracing} is traced", op=op, got=repr(self),
                            expected="what can be known without numbers", help=help)

    def item(self) -> Any:
        """The only element, as a Python number."""
        array = self.numpy()
        if array.size != 1:
            raise InvalidArgument("only a tensor of one element is a number", op="item", got=str(self.type),
                                  expected="one element", help="x.tolist() and x.numpy() give all elements")
        return array.item()

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise InvalidArgument("a tensor becomes an array by being computed, never without a copy", op="np.asarray",
                                  got="copy=False", expected="copy=None or True",
                                  help="x.numpy() gives an array of your own")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __pos__(self) -> Tensor:
        return self

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        if not (self.dtype.is_integer and self.ndim == 0):
            raise WrongKind("only an integer tensor without axes is an index", op="index", got=str(self.type),
                            expected="an integer without axes", help="convert it: int(x.item())")
        return int(self.item())

    def __len__(self) -> int:
        self._check_not_traced("len", "a tensor has no len()", "x.shape[0] is its first length; nv.scan loops over it")
        if not self.shape:
            raise WrongKind("a tensor without axes has no length", op="len", got=str(self.type),
                            expected="one axis or more", help="x.size counts the elements")
        if isinstance(self.shape[0], Dim):
            raise InvalidArgument("the length is symbolic", op="len", got=str(self.shape[0]), help="use x.shape[0]",
                                  expected="a length that is a number")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        self._check_not_traced("iter", "a tensor is not iterated",
                               "nv.scan loops over an axis; [x[i] for i in range(x.shape[0])] unrolls it")
        return (self[position] for position in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return bool(np.isin(np.asarray(item), self.numpy()).any())

    def __repr__(self) -> str:
        names = None if self._axes is None or self._axes.is_anonymous else self._axes.names
        label = f" {self.name!r}" if self.name else ""
        return f"<{type(self).__name__} {self.type.describe(names)} {type(self._value.op).__name__}{label}>"

    # -- comparison is identity --------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (bool, int, float, complex, np.ndarray, np.generic)):
            raise compared(other)
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    # -- operators, and functions as methods -------------------------------------------------------

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", True)
    __floordiv__, __rfloordiv__ = _operator("floordivide"), _operator("floordivide", True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", True)
    __pow__, __rpow__ = _operator("power"), _operator("power", True)
    __and__, __rand__ = _operator("bitwise_and"), _operator("bitwise_and", True)
    __or__, __ror__ = _operator("bitwise_or"), _operator("bitwise_or", True)
    __xor__, __rxor__ = _operator("bitwise_xor"), _operator("bitwise_xor", True)
    __lshift__, __rlshift__ = _operator("left_shift"), _operator("left_shift", True)
    __rshift__, __rrshift__ = _operator("right_shift"), _operator("right_shift", True)
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __neg__, __abs__ = _method("elementwise", "negative"), _method("elementwise", "absolute")
    __invert__ = _method("elementwise", "bitwise_not")
    __matmul__, __rmatmul__ = _method("contraction", "matmul_operator"), _method("contraction", "matmul_operator", True)
    __getitem__ = _method("indexing", "get_item")
    astype = _method("elementwise", "convert")
    sum, prod, max, min = (_reduction(name) for name in ("sum", "prod", "max", "min"))
    mean, variance, std = (_reduction(name) for name in ("mean", "variance", "std"))
    any, all, argmax, argmin = (_reduction(name) for name in ("any", "all", "argmax", "argmin"))
    var = variance
    dot = _method("contraction", "dot")
    reshape = _method("views", "reshape_method", doc="The elements in another shape: ``x.reshape(2, -1)``.")
    transpose = _method("views", "transpose_method", doc="The axes in another order: ``x.transpose(1, 0)``.")
    flatten = _method("views", "flatten")
    broadcast_to = _method("views", "broadcast")
    squeeze = _method("views", "squeeze")
    variables = _method("creation", "variables_below", doc="The trainable variables below this tensor.")

    @property
    def T(self) -> Tensor:  # NumPy's name
        """Anonymous axes: reversed, as NumPy's. Named axes: every level l becomes -1 - l, in the same order."""
        return _function("views", "transposed")(self)

    @property
    def mT(self) -> Tensor:  # NumPy's name
        """The last two axes swapped."""
        return _function("views", "matrix_transposed")(self)

    @property
    def at(self) -> Any:
        """``x.at[index].set(y)`` and ``.add(y)``: a new tensor with some elements replaced or increased."""
        return _function("indexing", "At")(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return _function("elementwise", "array_ufunc")(ufunc, method, inputs, keywords)


def _name_methods() -> None:
    """What was made above is found by its name, like what is written out."""
    for name, method in vars(Tensor).items():
        if isinstance(method, FunctionType) and "<locals>" in method.__qualname__:
            method.__name__, method.__qualname__ = name, f"{Tensor.__qualname__}.{name}"


_name_methods()


def is_scalar(value: object) -> bool:
    """A weak scalar: a Python number or a NumPy one."""
    if isinstance(value, (bool, int, float, complex)):
        return True
    return isinstance(value, np.generic) and not isinstance(value, (np.flexible, np.datetime64, np.timedelta64))


def is_operand(value: object) -> bool:
    """Whether a value may stand in an expression: a tensor, a scalar, an array, a length."""
    return isinstance(value, (Tensor, np.ndarray, Dim)) or is_scalar(value)


def compared(other: object) -> WrongKind:
    """What ``==`` with a number or an array raises."""
    return WrongKind("== compares handles, not elements", op="==", got=type(other).__name__, expected="a tensor",
                     help="nv.equal(x, y) compares elements")


def value_only(operand: Any, op: str, position: int) -> None:
    """Raises what tells a user why something cannot be an operand."""
    if hasattr(operand, "has_no_value"):
        raise InvalidArgument(f"{operand} has no value", op=op, operand=position, got="an effect",
                              expected="a tensor, a number or a NumPy array",
                              help="put it into nv.sequential([...]) together with a tensor")
    raise WrongKind("this cannot be an operand", op=op, operand=position,
                    got=f"{type(operand).__name__} {operand!r:.60}",
                    expected="a tensor, a number or a NumPy array", help="nv.constant(...) reads lists")


def as_tensor(operand: Any, op: str = "operand", position: int = 1, dtype: DType | None = None) -> Tensor:
    """A tensor as it is; numbers, lengths, arrays (of their own type) and lists as anonymous constants."""
    if isinstance(operand, Tensor):
        return operand
    if isinstance(operand, Dim):
        return Tensor(Extent(operand, dtype or float32, ()))
    if dtype is None and isinstance(operand, np.ndarray) and operand.dtype.kind == "f":
        dtype = as_dtype(operand.dtype)  # float64 too, which ``nv.constant`` narrows
    if is_operand(operand) or isinstance(operand, (list, tuple)):
        return _function("creation", "constant")(operand, dtype=dtype)
    value_only(operand, op, position)
    raise AssertionError


__all__ = ["Tensor", "as_tensor", "is_operand", "is_scalar", "tracing", "value_only"]
