"""Leaves of the graph as tensors: constants, placeholders, persistent tensors, variables, temporaries.

All but constants are places: each mention of one in an expression is a new *read*, which sees the state at the
point where the expression is placed in a computation.

>>> import nervure as nv
>>> w = nv.variable("F=3", initial_value=0.5)
>>> w.value is w.value                       # two mentions, two reads
False
>>> (w + 1).tolist(), (w * w).variables() == [w]
([1.5, 1.5, 1.5], True)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import ClassVar, cast

import numpy as np

from nervure.errors import InvalidArgument, NervureError, WrongKind, user_location
from nervure.front.alignment import arranged, fitted
from nervure.front.argument_parsing import truth
from nervure.front.given_arrays import check_shape, numpy_array, read_array
from nervure.front.promotion import promote, type_alone, weak_type
from nervure.front.roles import OF_ONE_RUN, ROLES, role_of
from nervure.front.tensor import Tensor, checked_name, is_operand, is_scalar, known_elements, upward, value_only
from nervure.front.traced_numbers import TracedNumber, is_number
from nervure.ir.device import devices_in_force
from nervure.ir.leaves import Constant, Full, ReadVariable, is_held
from nervure.ir.op import Value
from nervure.ir.provenance import is_no_grad
from nervure.ir.traverse import postorder
from nervure.ir.variable import Repeatable, Variable
from nervure.ops.order import Computed, value_operands
from nervure.ops.statistics import Extent
from nervure.ops.views import Broadcast
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike, make_axes
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike
from nervure.types.dtype import DType, DTypeLike, as_dtype, float32, int64, is_same_kind
from nervure.types.foreign import is_array
from nervure.types.frozen import put
from nervure.types.layout import Layout, column_major, dense, memory_of
from nervure.types.shape import Shape


class AssignableTensorOp(Tensor, is_device=False):
    """An l-tensor: a constant, or a place with a value that can be read and (unless constant) assigned.

    Its role follows from four flags, a row of the table in docs/axes.md. ``constant``, ``trainable`` and ``input``
    tensors are ``persistent``; saying ``persistent=False`` for them is an InvalidArgument. All other parameters are
    those of ``nv.constant`` and ``nv.variable``.

    >>> w = nv.AssignableTensorOp("F=3", initial_value=0.5, trainable=True).named("w")
    >>> w, w.is_persistent, w.is_constant, nv.AssignableTensorOp("F=3").role
    (<variable f32[F=3] 'w'>, True, False, 'temporary')
    """

    __slots__ = ("variable", "role")
    seen_as: ClassVar[type[Tensor]] = Tensor
    variable: Variable | None
    role: str

    def __new__(cls, axes: AxesLike = (), initial_value: object = None, dtype: DTypeLike | None = None, *,
                constant: bool = False, persistent: bool | None = None, trainable: bool = False, input: bool = False,
                layout: Layout | str | None = None) -> AssignableTensorOp:
        role = role_of(constant=constant, persistent=persistent, trainable=trainable, input=input)
        if role == "constant":
            return _as_constant(initial_value, axes, dtype)
        if role in OF_ONE_RUN and initial_value is not None:
            raise InvalidArgument(f"a {role} has no value of its own", op="AssignableTensorOp", operand="initial_value",
                                  got=f"{initial_value!r:.60}", expected="nothing", help="persistent=True keeps one")
        return make_place(role, axes, dtype, initial_value, None if cls is AssignableTensorOp else cls, layout)

    def __init__(self, *given: object, **flags: object) -> None:
        pass  # __new__ has made it, perhaps of the class of the device in force

    @classmethod
    def over(cls, role: str, axes: Axes | None, value: Value | None = None,
             variable: Variable | None = None) -> AssignableTensorOp:
        """Returns the tensor of a role over a value, which is constant, or over a variable."""
        made = object.__new__(cls) if value is None else cast("AssignableTensorOp", Tensor.__new__(cls, value, axes))
        put(made, "role", role)
        put(made, "variable", variable)
        if variable is None:
            return made
        put(made, "_value", None)  # each mention is a read of its own
        put(made, "_axes", axes)
        variable.handle = (cls, role, axes, weakref.ref(made))
        return made

    @property
    def value(self) -> Value:
        """A new read of the place, or the value itself for a constant. The read names the value that the place was
        computed from.
        """
        variable = self.variable
        if variable is None:
            return self._value
        read = ReadVariable(variable)
        read.name = variable.name
        if self.is_named:
            read.outputs[0].labels = self.axes.names
        expression = None if variable.record is None else variable.record.expression
        return read.outputs[0] if expression is None else Computed(read, expression).outputs[0]

    @property
    def type(self) -> BasicTensorDescription:
        """The element type and shape; for a place whose axes got their lengths later, with those lengths."""
        if self.variable is None:
            return self._value.type
        own = self.variable.type
        return own if own.layout is None else own.with_(layout=None)

    @property
    def shape(self) -> tuple[DimLike, ...]:
        """The length of each axis. For an input that holds a value, the lengths of that value, while the graph keeps
        its symbols.
        """
        record = None if self.variable is None else self.variable.record
        held: tuple[int, ...] | None = None if record is None or record.memory is None else record.memory.shape
        return self.type.shape if held is None else held

    @property
    def is_constant(self) -> bool:
        """Whether the tensor is immutable; a constant may be inlined."""
        return ROLES[self.role][0]

    @property
    def is_persistent(self) -> bool:
        """Whether the tensor keeps its value between computations."""
        return ROLES[self.role][1]

    @property
    def is_trainable(self) -> bool:
        """Whether the tensor is a parameter, which ``variables()`` finds."""
        return ROLES[self.role][2]

    @property
    def is_input(self) -> bool:
        """Whether the caller gives the tensor its value."""
        return ROLES[self.role][3]

    @property
    def name(self) -> str | None:
        """The label that ``named`` gave."""
        return self._value.op.name if self.variable is None else self.variable.name

    def named(self, name: str) -> AssignableTensorOp:
        """Gives the place a name, and returns this tensor."""
        if self.variable is None:
            super().named(name)
        else:
            self.variable.name = checked_name(name)
        return self

    def given(self, value: object, op: str, operand: str | int) -> object:
        """Returns the argument for this place: a tensor ``value`` becomes its elements, with its axes matched by name.
        """
        return arranged(value, self.axes, op, operand).numpy() if isinstance(value, Tensor) else value

    def __copy__(self) -> AssignableTensorOp:
        if self.variable is None:
            return self
        raise WrongKind(f"a {self.role} is a place, which cannot be copied", op="copy", got=repr(self),
                        expected="a value, such as a constant or an array",
                        help="nv.variable(x.axes, x.numpy()) makes another one; nv.save keeps values in a file")

    def __deepcopy__(self, memo: object) -> AssignableTensorOp:
        return self.__copy__()

    def __repr__(self) -> str:
        if self.variable is None:
            return f"<{self.role} {self._described(known_elements(self._value.op))}>"
        is_known = all([axis.has_length for axis in self._axes or ()])
        return f"<{self.role} {self._described() if is_known else self._axes}>"


def _as_constant(value: object, axes: AxesLike, dtype: DTypeLike | None) -> AssignableTensorOp:
    if value is None:
        raise InvalidArgument("a constant has a value", op="AssignableTensorOp", operand="initial_value", got="None",
                              expected="a number, a list or an array", help="nv.constant(value, axes) makes one, too")
    return constant(value, axes if len(read_axes(axes)) else None, dtype)


def handle_of(variable: Variable) -> AssignableTensorOp:
    """Returns the tensor that stands for a variable: the user's own handle, or a new one if that is gone."""
    if variable.handle is None:
        return AssignableTensorOp.over("variable" if variable.trainable else "persistent", None, variable=variable)
    kind, role, axes, reference = variable.handle
    found: AssignableTensorOp | None = reference()
    return kind.over(role, axes, variable=variable) if found is None else found


def expression(x: Tensor) -> Tensor:
    """Returns a tensor as the result of a function that changes nothing. A place becomes one read, of the state where
    it is placed; among the returns of a computation, the place itself would be its final value.

    >>> v = nv.variable((), 1.0)
    >>> before, _, final = nv.computation([+v, nv.assign(v, v * 2), v])()
    >>> before.item(), final.item()
    (1.0, 2.0)
    """
    return Tensor(x.value, x._axes) if isinstance(x, AssignableTensorOp) else x


def variables_below(x: Tensor) -> list[AssignableTensorOp]:
    """The trainable variables that a tensor is computed from, in the order of the graph.

    A variable that a sequence assigns before its last member is not among them: the reads see what was assigned.
    """
    if isinstance(x, AssignableTensorOp) and x.is_trainable:
        return [x]
    reads = [op for op in postorder([x.value], None, value_operands) if type(op) is ReadVariable]
    return [handle_of(variable) for variable in dict.fromkeys(op.variable for op in reads) if variable.trainable]


def _spread_number(number: TracedNumber, axes: AxesLike | None, dtype: DTypeLike | None) -> Tensor:
    """Spreads a number that a traced function receives over ``axes``, as ``constant`` does with a known one."""
    own = as_tensor(number, dtype=None if dtype is None else as_dtype(dtype))
    if axes is None or not len(read_axes(axes)):
        return own
    lengths = read_axes(axes).lengths
    return Tensor(Broadcast(own.value, lengths, range(len(lengths))), read_axes(axes))


def constant(value: object, axes: AxesLike | None = None, dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes an immutable tensor from a number, nested lists or an array.

    Python's numbers, alone or in lists, become float32 when no ``dtype`` is given; arrays keep their type. With
    ``axes`` the value's shape must be their lengths; a single number fills them. A tensor keeps its axes, or is
    matched to other ones by name.

    >>> nv.constant([1, 2]).tolist(), nv.constant(np.array([1, 2])).dtype
    ([1.0, 2.0], nervure.int64)
    >>> print(nv.constant([[1, 2], [3, 4]], axes="H=2, W=2").axes)
    (H: 2, W: 2)
    """
    if isinstance(value, TracedNumber):
        return _spread_number(value, axes, dtype)  # type: ignore[return-value]  # it cannot be assigned, as constants cannot
    if isinstance(value, Tensor):
        axes = value._axes if axes is None else axes
        value = _elements(value, axes, "constant")
    array = read_array(value, dtype, "constant")
    if axes is None:
        own = None
    else:
        own = read_axes(axes)
        if array.ndim == 0 and len(own):
            spread = Full(array.item(), as_dtype(array.dtype), own.lengths)
            return AssignableTensorOp.over("constant", own, spread.value)
        check_shape(array.shape, own, "constant")
    if array.ndim == 0 and is_held(array):
        return AssignableTensorOp.over("constant", own, Full(array[()], as_dtype(array.dtype), ()).value)
    return AssignableTensorOp.over("constant", own, Constant(array).value)


def read_integers(operand: object, op: str, position: int | str = 1) -> Tensor:
    """Returns an ``operand`` as ``as_tensor`` does, but Python's own integers, and empty lists, as int64."""
    if isinstance(operand, Tensor):
        return operand
    if isinstance(operand, TracedNumber) and weak_type(operand) is int:
        return operand.tensor(int64)
    array = operand if isinstance(operand, np.ndarray) else numpy_array(operand, op)
    return as_tensor(array.astype(np.int64) if array.size == 0 else array, op, position)


def as_tensor(operand: object, op: str = "operand", position: int | str = 1,
              dtype: DType | None = None) -> Tensor:
    """Returns a tensor ``operand`` as it is; numbers, lengths, lists and arrays (in their own type) become anonymous
    constants.
    """
    if isinstance(operand, Tensor):
        return operand
    if isinstance(operand, Dim):
        return Tensor(Extent(operand, dtype or float32, ()))
    if isinstance(operand, TracedNumber):
        return operand.tensor(type_alone(operand) if dtype is None else dtype)
    if is_scalar(operand):
        number = Full(operand, type_alone(operand) if dtype is None else dtype, ())
        return AssignableTensorOp.over("constant", None, number.value)
    if not (is_operand(operand) or isinstance(operand, (list, tuple))):
        value_only(operand, op, position)
    try:
        if is_array(operand):
            operand = numpy_array(operand, op)
            dtype = as_dtype(operand.dtype) if dtype is None else dtype  # float64 too, which constant() narrows
        return constant(operand, dtype=dtype)
    except NervureError as error:
        if isinstance(operand, (list, tuple)) and any([isinstance(entry, Tensor) for entry in operand]):
            raise WrongKind("several tensors are no operand", op=op, operand=position, got=f"{len(operand)} entries",
                            expected="one tensor", help="nv.stack makes one of them, x[0] takes the first") from None
        raise error.within(op, operand=position) from None


def placeholder(axes: AxesLike = (), dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes a tensor that the caller of a computation supplies. Lengths may be symbolic: ``nv.placeholder("N=n,
    C=3")``.

    >>> x = nv.placeholder("N=n, C=3")
    >>> double = nv.computation(x * 2, x)
    >>> double(np.ones((1, 3))).tolist(), double(np.ones((2, 3))).shape
    ([[2.0, 2.0, 2.0]], (2, 3))
    """
    return make_place("placeholder", axes, dtype, None)


def persistent_tensor(axes: AxesLike | None = None, initial_value: object = None,
                      dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes a tensor that keeps its value between computations, such as the velocity of an optimiser.

    ``axes``, ``initial_value`` and ``dtype`` are those of ``nv.variable``.

    >>> count = nv.persistent_tensor(initial_value=0, dtype=nv.int32)
    >>> step = nv.computation(nv.assign(count, count + 1))
    >>> step(), step(), count.item()
    (None, None, 2)
    """
    return make_place("persistent", axes, dtype, initial_value)


def variable(axes: AxesLike | None = None, initial_value: object = None, dtype: DTypeLike | None = None,
             layout: Layout | str | None = None) -> AssignableTensorOp:
    """Makes a parameter: persistent and trainable. ``initial_value`` is a number, an array, a callable that receives
    the axes, or a constant.

    Without ``axes`` it has those of an initial array or constant, else none. It is float32 unless ``dtype`` or an
    initial array says otherwise. ``layout`` is the Layout in which the memory is kept, "C" or "F".

    >>> w = nv.variable("F=3", initial_value=0.5).named("w")
    >>> w, w.tolist(), nv.deriv(nv.sum(w * w), w).tolist()
    (<variable f32[F=3] 'w'>, [0.5, 0.5, 0.5], [1.0, 1.0, 1.0])
    >>> nv.variable(initial_value=np.eye(2))
    <variable f64[2, 2]>
    """
    return make_place("variable", axes, dtype, initial_value, layout=layout)


def temporary(axes: AxesLike = (), dtype: DTypeLike | None = None) -> AssignableTensorOp:
    """Makes a scratch tensor: assigned and read inside one computation, forgotten at its end.

    >>> scratch = nv.temporary("H=2")
    >>> nv.evaluate(nv.sequential([nv.assign(scratch, [1, 2]), scratch * 10])).tolist()
    [10.0, 20.0]
    """
    return make_place("temporary", axes, dtype, None)


def tensor(data: object, axes: AxesLike | None = None, dtype: DTypeLike | None = None,
           requires_grad: bool = False) -> AssignableTensorOp:
    """Makes a persistent tensor from ``data``, anything that NumPy reads; with ``requires_grad`` a variable, which has
    a gradient.

    ``axes`` name its dimensions, and ``dtype`` converts its elements.

    >>> x = nv.tensor(np.array([1, 2]), axes="H=2")
    >>> x, x.tolist()
    (<persistent i64[H=2]>, [1, 2])
    """
    if isinstance(data, Tensor):
        axes = data._axes if axes is None else axes
        data = _elements(data, axes, "tensor")
    array = read_array(data, dtype, "tensor")
    element = as_dtype(array.dtype)
    role = role_for(requires_grad, element, "tensor")
    return make_place(role, array.shape if axes is None else axes, element, array)


def role_for(requires_grad: object, element: DType, op: str) -> str:
    """Returns the role of a place that keeps its value: a variable if it shall have a gradient and gradients are not
    off.

    Raises WrongKind for an element type that has no derivatives.
    """
    if not truth(requires_grad, op, "requires_grad") or is_no_grad():
        return "persistent"
    if not element.is_float:
        raise WrongKind("only real tensors have gradients", op=op, operand="requires_grad", got=element.name,
                        expected="a float element type", help="give dtype=nv.float32, or leave out requires_grad")
    return "variable"


def make_place(role: str, axes: AxesLike | None, dtype: DTypeLike | None, initial: object,
               kind: type[AssignableTensorOp] | None = None,
               layout: Layout | str | None = None) -> AssignableTensorOp:
    """Makes a place of a role over ``axes`` as users write them (None: those of ``initial``). ``kind`` is its class
    (absent: that of the device in force, if there is a list), ``layout`` a Layout or "F" for column-major.
    """
    own = read_axes(initial if isinstance(initial, Tensor) else ()) if axes is None else read_axes(axes)
    if isinstance(initial, Tensor):
        initial = _spread(initial, own, role)
    if initial is not None and not callable(initial):
        initial = read_array(initial, dtype, role)
        initial.flags.writeable = False
        dtype = initial.dtype if dtype is None else dtype
        own = read_axes(initial.shape) if axes is None and not own else own
    element = float32 if dtype is None else as_dtype(dtype)
    is_known = all([axis.has_length for axis in own])  # missing lengths are set by the first use
    described = partial(_described, role, element, own, layout)
    constant, persistent, trainable, is_input = ROLES[role]
    place = Variable(described() if is_known else described, _initializer(initial, own, role), trainable=trainable,
                     persistent=persistent and not is_input, location=user_location())
    kept = _class_in_force() if kind is None and persistent and not is_input else kind
    return (kept or AssignableTensorOp).over(role, None if own.is_anonymous and len(own) else own, variable=place)


def _class_in_force() -> type[AssignableTensorOp] | None:
    """Returns the class of the places on the first device of the list in force; None without a list."""
    listed = devices_in_force()
    if listed is None:
        return None
    found: type[AssignableTensorOp] = upward().place_class(listed.devices[0])
    return found


def _described(role: str, element: DType, own: Axes, layout: Layout | str | None) -> BasicTensorDescription:
    """Returns the type of a place over the axes ``own``."""
    try:
        if role not in OF_ONE_RUN and any(isinstance(length, Dim) for length in own.lengths):
            raise InvalidArgument(f"a {role} tensor needs lengths that are numbers", operand="axes",
                                  got=str(own), expected="integers",
                                  help="placeholders, inputs and temporaries have symbolic lengths")
        return BasicTensorDescription(element, own.lengths, layout=_checked_layout(layout, own.lengths))
    except NervureError as error:
        raise error.within(role) from None


def _checked_layout(layout: Layout | str | None, shape: Shape) -> Layout | None:
    """Returns the layout that a place is asked for, with the sizes of its memory if there are gaps. Raises
    InvalidArgument if its memory lacks an element for some index, WrongKind if it is no layout.
    """
    if isinstance(layout, str) and layout in ("C", "F"):
        return column_major(shape) if layout == "F" else None
    if layout is None:
        return None
    if not isinstance(layout, Layout):
        raise WrongKind("this is no layout", operand="layout", got=f"{layout!r:.60}", expected="a Layout, 'C' or 'F'",
                        help="x.description.layout is that of another tensor")
    order = memory_of(layout, shape) if layout.rank == len(shape) else None
    if order is None:
        raise InvalidArgument("a place has memory with an element for each index", operand="layout", got=layout,
                              expected=f"rows of {shape} one after the other, perhaps with gaps between them, in any "
                                       "order of the axes",
                              help="'C' and 'F' are such; row_major(shape, sizes=...) of nervure.types.layout has gaps")
    return order if isinstance(order, Layout) else dense(shape, order)


def _initializer(initial: object, axes: Axes, role: str) -> Callable[[], np.ndarray] | np.ndarray | None:
    """Returns the first value of a Variable, or a function that computes it: a user's callable receives the axes, and
    may return a tensor.
    """
    if isinstance(initial, np.ndarray):
        return _stretched(initial, axes, role)
    if not callable(initial):
        return None

    def compute() -> np.ndarray:
        try:
            value: object = initial(axes)
        except NervureError:
            raise
        except Exception as error:
            raise InvalidArgument(f"the initial value cannot be computed: {error}", op=role,
                                  help="initial_value is called with the axes") from error
        array = _spread(value, axes, role) if isinstance(value, Tensor) else numpy_array(value, role)
        return _stretched(array, axes, role)
    return Repeatable(compute) if isinstance(initial, Repeatable) else compute


def _spread(value: Tensor, axes: Axes, role: str) -> np.ndarray:
    """Spreads the elements of a tensor over the axes of a place by name, as an assignment does."""
    if not value.ndim:
        return value.numpy()
    place = Tensor(Full(0, value.dtype, axes.lengths), axes)
    return Tensor(fitted(value, place, role)).numpy()


def _stretched(array: np.ndarray, axes: Axes, role: str) -> np.ndarray:
    """Returns an array with the lengths of ``axes``; along axes without names it is stretched as NumPy does. A number
    stays one.
    """
    if array.ndim and axes.is_anonymous and array.shape != axes.lengths:
        try:
            return np.broadcast_to(array, axes.lengths)  # type: ignore[arg-type]  # numbers, as was checked
        except ValueError:  # it cannot be stretched, and the error below says so
            pass
    if array.ndim:
        check_shape(array.shape, axes, role)
    return array


def _elements(value: Tensor, axes: AxesLike | None, op: str) -> np.ndarray:
    """Returns the elements of a tensor in the order of the axes of a place, as users write them (None: its own)."""
    own = value.axes if axes is None else read_axes(axes)
    return arranged(value, own, op, "value").numpy()


def read_axes(axes: AxesLike) -> Axes:
    """Reads axes as users write them: Axes, a list, a dict, a string, a plain shape, a single length, or another
    tensor's. An array of numbers with several dimensions is a WrongKind: it holds values, not axes.
    """
    if isinstance(axes, Tensor):
        return axes.axes
    if isinstance(axes, np.ndarray) and (axes.ndim > 1 or axes.dtype.kind not in "iu"):
        raise WrongKind("an array of values stands where axes are expected", op="make_axes",
                        got=f"an array of shape {axes.shape} and type {axes.dtype}",
                        expected='axes, such as "N=32, C=3" or a shape',
                        help="values have a name: nv.variable(initial_value=array) takes its shape from the array")
    return make_axes(axes)


def received(value: object, dtype: DType, op: str, position: int = 2) -> Tensor:
    """Returns the operand of a write as a tensor that converts to ``dtype``, the element type of the place; else
    WrongKind.

    A conversion is allowed if NumPy calls it ``same_kind``. Scalars are weak, and so are known integers where integers
    are stored: these are checked against the limits of the type instead.
    """
    own = as_tensor(value, op, position, dtype if _is_weak(value, dtype, op) else None)
    if not is_same_kind(own.dtype, dtype):
        raise WrongKind("the value's type does not convert to the target's", op=op, operand=position,
                        got=f"{value!r:.60}" if is_scalar(value) else own.dtype.name, expected=dtype.name,
                        help=f"convert it: value.astype({dtype.name!r})")
    return own


def _is_weak(value: object, dtype: DType, op: str) -> bool:
    if is_number(value):
        return promote([dtype], [weak_type(value)], op) is dtype
    is_known = isinstance(value, (np.ndarray, list, tuple)) and dtype.is_integer
    return is_known and numpy_array(value, op).dtype.kind in "iu"


explain_keywords(globals(), ["constant", "persistent_tensor", "placeholder", "temporary", "tensor", "variable"])
