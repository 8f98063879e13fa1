"""The one tensor class of the front: a core value with axes.

Everything is lazy: an operation makes a tensor, and nothing is computed before numbers are asked for.

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
import math
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard, cast

import numpy as np

from nervure.errors import Immutable, InvalidArgument, WrongKind, shown
from nervure.front.interface import Interface
from nervure.ir.device import Device
from nervure.ir.identity import Uncopyable
from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full, ReadVariable
from nervure.ir.op import Op, Value, as_value, put_handle
from nervure.ops.order import Computed
from nervure.support import forks
from nervure.support.elsewhere import unknown_attribute
from nervure.types.axes import Axes, make_axes
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, found_symbols, product
from nervure.types.dtype import DType, DTypeLike
from nervure.types.foreign import ForeignArray, is_array
from nervure.types.frozen import Frozen, put
from nervure.types.view import SimpleView

_SETTING = {
    "grad": "nv.reset_grad(x) makes it zeros; x.grad.storage holds its elements, and nv.assign(x.grad, y) sets them",
    "requires_grad": "nv.parameter(x) makes a tensor that has a gradient, and x.detach() ends derivatives"}
"""Replacements for setting an attribute, which other libraries allow."""


class _State(threading.local):
    def __init__(self) -> None:
        self.tracing: str | None = None


_state = _State()


@contextmanager
def tracing(name: str) -> Iterator[None]:
    """Marks that the function ``name`` is being traced: asking a tensor for its number is then an error that says what
    to use.
    """
    before, _state.tracing = _state.tracing, name
    try:
        yield
    finally:
        _state.tracing = before


def is_tracing() -> bool:
    """Whether a function is being traced in this thread."""
    return _state.tracing is not None


def upward() -> ModuleType:
    """Returns the module that computes tensors on demand, which stands above the front."""
    with forks.importing():
        return importlib.import_module("nervure.eager")


class Tensor(Frozen, Device, Interface, Uncopyable, is_device=False):
    """A value of the graph with axes: all named, or all anonymous (a plain shape, NumPy's rules).

    >>> x = nv.constant([[1, 2], [3, 4]], axes="H=2, W=2")
    >>> y = x * 2 + 1
    >>> str(y.axes), y.dtype, y.tolist()
    ('(H: 2, W: 2)', nervure.float32, [[3.0, 5.0], [7.0, 9.0]])
    """

    __slots__: tuple[str, ...] = ("_value", "_axes", "__weakref__")
    _plural = "tensors"
    _instead = "functions of tensors make others; x.named(name) gives a label, nv.assign a variable another value"
    _value: Value
    _axes: Axes | None
    __hash__ = object.__hash__
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above pandas' own classes, which then leave an operator to the methods below

    def __new__(cls, value: Value | Op, axes: Axes | None = None) -> Tensor:
        if not isinstance(value, (Value, Op)):
            raise WrongKind("tensors are made by functions", op="Tensor", operand="value",
                            got=shown(value), expected="a value of the core graph",
                            help="nv.constant(x) makes one of a number, a list or an array")
        value = as_value(value, "Tensor", 1)
        if axes is not None and (type(axes) is not Axes or len(axes) != len(value.type.shape)):
            raise WrongKind("these are not the axes of the value", op="Tensor", operand="axes", got=f"{axes!r:.60}",
                            expected=f"Axes of {value.type}", help="nv.make_axes(...) makes Axes")
        made: Tensor = object.__new__(_class_over(value) if cls is Tensor else cls)
        put(made, "_value", value)
        put(made, "_axes", axes)
        if axes is not None and value.labels is None and not axes.is_anonymous:
            value.labels = axes.names
        if value.handle is None:
            put_handle(value, (type(made), axes, weakref.ref(made)))
        return made

    # -- identity ----------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        """The core value that an expression with this tensor is built on."""
        return self._value

    @property
    def axes(self) -> Axes:
        """The axes, in order."""
        known = self._axes
        if known is None:
            put(self, "_axes", known := make_axes(self.type.shape))
        return known

    @property
    def type(self) -> BasicTensorDescription:
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
        """The length of each axis: an int, or a symbolic dimension."""
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
        self._value.op.name = checked_name(name)
        return self

    # -- numbers -----------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """Computes the elements and returns them as an array that the caller owns."""
        self.check_not_traced("numpy", "a tensor has no numbers",
                               "nv.cond(condition, f, g, x) runs one of two functions, nv.while_loop and nv.scan run "
                               "one again and again, and nv.where(condition, x, y) chooses element by element; what "
                               "decides Python's own if is a Python value, such as an argument in static=")
        array: np.ndarray = upward().evaluate(self)
        return array

    def check_not_traced(self, op: str, what: str, help: str) -> None:
        """Raises WrongKind, which names ``op``, while a function is traced, if the answer would hold for one
        specialisation alone.
        """
        if _state.tracing is not None:
            raise WrongKind(f"{what} while {_state.tracing} is traced", op=op, got=repr(self),
                            expected="what can be known without numbers", help=help)

    def item(self) -> Any:
        """Returns the only element, as a Python number."""
        array = self.numpy()
        if array.size != 1:
            raise InvalidArgument("only a tensor of one element is a number", op="item", got=str(self.type),
                                  expected="one element", help="x.tolist() and x.numpy() give all elements")
        return array.item()

    def tolist(self) -> Any:
        """Returns the elements as nested lists."""
        return self.numpy().tolist()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise InvalidArgument("a tensor becomes an array by being computed, never without a copy", op="np.asarray",
                                  got="copy=False", expected="copy=None or True",
                                  help="x.numpy() gives an array of your own")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __trunc__(self) -> int:
        return math.trunc(self.item())

    def __floor__(self) -> int:
        return math.floor(self.item())

    def __ceil__(self) -> int:
        return math.ceil(self.item())

    def __format__(self, spec: str) -> str:
        """``f"{x:.3f}"`` formats the only element; an empty format gives the tensor's text, and computes nothing."""
        return format(self.item(), spec) if spec else str(self)

    def __index__(self) -> int:
        if not (self.dtype.is_integer and self.ndim == 0):
            raise WrongKind("only an integer tensor without axes is an index", op="index", got=str(self.type),
                            expected="an integer without axes", help="convert it: int(x.item())")
        return int(self.item())

    def __len__(self) -> int:
        self.check_not_traced("len", "a tensor has no len()", "x.shape[0] is its first length")
        if not self.shape:
            raise WrongKind("a tensor without axes has no length", op="len", got=str(self.type),
                            expected="one axis or more", help="x.size counts the elements")
        if isinstance(self.shape[0], Dim):
            raise InvalidArgument("the length is symbolic", op="len", got=str(self.shape[0]), help="use x.shape[0]",
                                  expected="a length that is a number")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        self.check_not_traced("iter", "a tensor is not iterated",
                               "nv.scan(f, init, x) and nv.map(f, x) loop over an axis; "
                               "[x[i] for i in range(x.shape[0])] unrolls the loop")
        return (self[position] for position in range(len(self)))

    def __contains__(self, item: object) -> bool:
        return bool(np.isin(np.asarray(item), self.numpy()).any())

    def __repr__(self) -> str:
        op = self._value.op
        return f"<{type(self).__name__} {self._described(type(op).__name__, known_elements(op))}>"

    def _described(self, *words: str) -> str:
        """Returns the type, the axes, some words and the label, as ``repr`` shows them."""
        label = repr(self.name) if self.name else ""
        return " ".join(filter(None, [described_type(self), *words, label]))

    # -- attributes that do not exist -------------------------------------------------------------

    if not TYPE_CHECKING:  # type checkers see missing attributes as missing
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise unknown_attribute(self, name)

        def __setattr__(self, name: str, value: object) -> None:
            if name == "storage":
                put(self, name, value)
            elif name in _SETTING:
                raise Immutable(f"{name} cannot be set", op=type(self).__name__, operand=name, got=f"{value!r:.60}",
                                help=_SETTING[name])
            else:
                super().__setattr__(name, value)

        def __setitem__(self, item: object, value: object) -> NoReturn:
            raise WrongKind("the elements of a tensor cannot be set", op="x[...] =", got=f"{item!r:.60} of {self!r}",
                            expected="a new tensor, or an assignment to a variable",
                            help="x.at[index].set(y) is x with other elements; nv.set_item(x, index, y), among the "
                                 "returns of a computation, writes to a variable")

        def __delitem__(self, item: object) -> NoReturn:
            raise WrongKind("the elements of a tensor cannot be deleted", op="del x[...]", got=f"{item!r:.60}",
                            expected="a new tensor", help="nv.concatenate joins the parts that stay")


_SHOWING = (ReadVariable, View, Computed)
"""The ops that may show the memory of a place."""

AbstractTensor = Tensor
"""The same class by the name that devices are derived from."""

Number = np.generic | complex
"""A weak scalar; to a type checker bool, int and float are complex numbers, too."""

Operand = Tensor | np.ndarray | ForeignArray | Number | Dim
"""The kinds of operands of an expression."""

TensorLike = Operand | list[Any] | tuple[object, ...]
"""The kinds of arguments of a function of tensors: nested lists, too."""


def _class_over(value: Value) -> type[Tensor]:
    """Returns the class of a tensor over a value: a device, if the value is a read or a view of a place on it."""
    while isinstance(op := value.op, _SHOWING):
        if isinstance(op, ReadVariable):
            handle = op.variable.handle
            return Tensor if handle is None else cast("type[Tensor]", handle[0].seen_as)
        if isinstance(op, View) and not isinstance(op.view, SimpleView):
            return Tensor
        value = op.operands[0]
        if value.handle is not None:
            known: type[Tensor] = value.handle[0]
            return known if known.is_device else Tensor
    return Tensor


def known_elements(op: Op) -> str:
    """Returns the elements of a constant on one line, abbreviated if there are many; "" for other ops."""
    if isinstance(op, Full):
        return str(op.dtype.numpy.type(op.number))
    if not isinstance(op, Constant):
        return ""
    text = np.array2string(op.array, precision=4, threshold=8, edgeitems=2 if op.array.ndim < 3 else 1)
    return shorten(text, 72, placeholder=" ...")


def has_found_length(x: Tensor) -> bool:
    """Whether an axis of a tensor has a length that an op finds."""
    return any([found_symbols(length) for length in x.type.shape])


def described_type(x: Tensor) -> str:
    """Element type, shape and axes, with the offsets of these: ``f32[H=2, W-1=3]``."""
    return x.type.describe(tuple([axis.label for axis in x.axes]) if x.is_named else None)


def checked_name(name: object) -> str:
    """Returns a label as it is; WrongKind for anything but a non-empty string."""
    if not isinstance(name, str) or not name:
        raise WrongKind("a name is a non-empty string", op="named", got=repr(name), expected="str",
                        help="x.named(\"logits\")")
    return name


def is_scalar(value: object) -> TypeGuard[Number]:
    """Whether a value is a weak scalar: a Python number or a NumPy one."""
    if isinstance(value, (bool, int, float, complex)):
        return True
    return isinstance(value, np.generic) and not isinstance(value, (np.flexible, np.datetime64, np.timedelta64))


def is_operand(value: object) -> TypeGuard[Operand]:
    """Whether a value may stand in an expression: a tensor, a scalar, an array of any library, a length."""
    return isinstance(value, (Tensor, np.ndarray, Dim)) or is_scalar(value) or is_array(value)


def value_only(operand: object, op: str, position: int | str) -> NoReturn:
    """Raises the error that tells a user why a value cannot be an operand."""
    if hasattr(operand, "has_no_value"):
        raise InvalidArgument(f"{operand} has no value", op=op, operand=position, got="an effect",
                              expected="a tensor, a number or a NumPy array",
                              help="put it into nv.sequential([...]) together with a tensor")
    raise WrongKind("this cannot be an operand", op=op, operand=position,
                    got=shown(operand),
                    expected="a tensor, a number or a NumPy array",
                    help="call the function, and give its result" if callable(operand) else
                    "nv.constant(...) reads lists")
