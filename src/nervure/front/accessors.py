"""Accessors for the structure of a tensor and the memory of its elements, read off the graph without computing
anything.

>>> import nervure as nv
>>> x = nv.tensor([[1., 2., 3.], [4., 5., 6.]])
>>> y = x.T[1:]
>>> y.shape, y.orig_shape, y.strides, y.offset, y.is_view
((2, 2), (2, 3), (1, 3), 1, True)
>>> (x + y.numel()).node
f32[2, 3] Add(ReadVariable, Full)

A view of a place lies in the memory of that place. Whatever is computed has memory of its own, in row-major order.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nervure.errors import InvalidArgument
from nervure.front.arranging.views import base_of
from nervure.front.creation import AssignableTensorOp, handle_of
from nervure.front.record import known_record, memory_order
from nervure.front.tensor import Tensor
from nervure.ir.kinds import Elementwise, View
from nervure.ir.leaves import Constant, Full, Leaf, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ops.conversion import Convert
from nervure.ops.order import Computed, kept
from nervure.types.axes import Axes
from nervure.types.description import TensorDescription
from nervure.types.dim import Dim, DimLike
from nervure.types.layout import Layout, dense, row_major
from nervure.types.shape import Shape
from nervure.types.view import SimpleView


class Memory(NamedTuple):
    """The memory of a tensor: its elements lie in the storage of ``base``, of shape ``shape``, by ``layout``.
    ``views`` lead from the base to the tensor.
    """

    base: Value
    shape: Shape
    layout: Layout
    views: tuple[SimpleView, ...]


def memory_of(x: Tensor) -> Memory:
    """Returns the memory of a tensor. A view that strides cannot describe is computed, and is then a base itself."""
    return _memory_of(x.value)


def _memory_of(value: Value) -> Memory:
    chain = [value]
    while isinstance(chain[-1].op, View) and isinstance(chain[-1].op.view, SimpleView):
        chain.append(chain[-1].op.operands[0])
    base = chain.pop()
    found = Memory(base, base.type.shape, _layout_of(base), ())
    for value in reversed(chain):
        assert isinstance(value.op, View)
        view = value.op.simple_view
        layout = view.layout(found.layout)
        found = (Memory(value, view.shape, row_major(view.shape), ()) if layout is None
                 else found._replace(layout=layout, views=(*found.views, view)))
    return found


def _memory_now(x: Tensor) -> Memory:
    """The memory of a tensor, in the numbers of the value where it is an input that holds one."""
    if isinstance(x, AssignableTensorOp) and x.shape != x.type.shape:
        found = memory_of(x)
        return found._replace(shape=x.shape, layout=dense(x.shape, memory_order(x)))
    return memory_of(x)


def _layout_of(base: Value) -> Layout:
    """The layout of a base: that which its place was asked for, else row-major."""
    op = kept(base)
    asked = op.variable.type.layout if isinstance(op, ReadVariable) else None
    return row_major(base.type.shape) if asked is None else asked


def place_below(x: Tensor) -> AssignableTensorOp | None:
    """Returns the place or the constant in whose memory a tensor lies, or None if the tensor is computed."""
    if isinstance(x, AssignableTensorOp):
        return x
    op = kept(memory_of(x).base)
    if isinstance(op, ReadVariable):
        return handle_of(op.variable)
    return AssignableTensorOp.over("constant", None, op.output) if isinstance(op, Leaf) else None


# -- shapes and places -----------------------------------------------------------------------------------------------


def numel(x: Tensor) -> int:
    """The number of elements. InvalidArgument while a length is a symbol without a value.

    >>> nv.zeros((2, 3)).numel()
    6
    """
    size = x.size
    if isinstance(size, Dim):
        raise InvalidArgument("the number of elements is not known yet", op="numel", got=f"shape={x.shape}",
                              expected="lengths that are numbers",
                              help="x.size is the number in symbols; a value for the input settles them")
    return size


def orig_shape(x: Tensor) -> Shape:
    """The shape of the storage that the tensor lies in: that of the tensor it is a view of."""
    return _memory_now(x).shape


def offset(x: Tensor) -> DimLike:
    """The position of the first element in the storage, in elements."""
    return _memory_now(x).layout.offset


def strides(x: Tensor) -> tuple[DimLike, ...]:
    """The distance in memory between neighbours along each axis, in elements."""
    return _memory_now(x).layout.strides


def order(x: Tensor) -> str:
    """"C" where the last axis moves fastest, through memory without gaps; "F" where the first does; else "A"."""
    layout, shape = _memory_now(x).layout, x.shape
    if layout.is_contiguous(shape):
        return "C"
    return "F" if layout.is_contiguous(shape, "column") else "A"


def view_spec(x: Tensor) -> tuple[SimpleView, ...]:
    """The views that lead from the storage to the tensor, in the order in which they were taken."""
    return memory_of(x).views


def is_view(x: Tensor) -> bool:
    """Whether the tensor was made by a view or a permutation of another one."""
    return bool(memory_of(x).views)


def is_scalar(x: Tensor) -> bool:
    """Whether the tensor has no axes."""
    return x.ndim == 0


def description(x: Tensor) -> TensorDescription:
    """The element type, the axes, and the layout of a tensor that lies in the memory of a place. It is ``read_only``
    if no assignment through the tensor is possible. For a view, ``base_tensor`` describes the tensor it is a view of,
    and ``view`` how; ``storage`` is the tensor's ``buffer_id``.
    """
    chain = [x]
    while isinstance(op := node(chain[-1]), View) and len(op.operands) == 1:
        chain.append(parents(chain[-1])[0])
    found: TensorDescription | None = None
    for shown in reversed(chain):
        place, op = place_below(shown), node(shown)
        found = TensorDescription(
            shown.dtype, shown.axes, read_only=not is_writable(shown),
            layout=None if place is None else memory_of(shown).layout, base_tensor=found,
            view=op.view if found is not None and isinstance(op, View) else None, storage=buffer_identifier(shown))
    assert found is not None
    return found


def is_writable(x: Tensor) -> bool:
    """Whether an assignment to the tensor changes the value of a place: the tensor is a place, or a view that writes
    go through.
    """
    if isinstance(x, AssignableTensorOp):
        return not x.is_constant
    try:
        return isinstance(kept(base_of(x.value)[0]), ReadVariable)
    except InvalidArgument:
        return False


# -- the graph -------------------------------------------------------------------------------------------------------


def node(x: Tensor) -> Op | None:
    """The op that makes the tensor; None for a place and for a constant."""
    op = x.value.op
    return None if isinstance(op, Leaf) else op


def parents(x: Tensor) -> tuple[Tensor, ...]:
    """The operands of the op that makes the tensor, as the user gave them: before they were aligned and converted for
    the op. They are the same objects as long as the program still holds them.
    """
    op = x.value.op
    operands = op.operands[1:] if isinstance(op, Computed) else op.operands
    common = x._axes if isinstance(op, Elementwise) else None  # of what was made for it
    return tuple([_tensor(_given(operand), common) for operand in operands])


def _given(operand: Value) -> Value:
    """Returns the value that a user gave for an operand, without the views and conversions that the front inserted."""
    while operand.handle is None and isinstance(operand.op, (View, Convert)) and len(operand.op.operands) == 1:
        operand = operand.op.operands[0]
    return operand


def _tensor(value: Value, common: Axes | None) -> Tensor:
    """Returns the tensor over a value: the place that it reads, or the tensor made over it, or a new one with axes
    ``common``.
    """
    op, handle = kept(value), value.handle
    place = handle_of(op.variable) if isinstance(op, ReadVariable) else None
    if place is not None and (handle is None or handle[1] is place._axes):
        return place
    found: Tensor | None = None if handle is None else handle[2]()
    if found is not None:
        return found
    axes = handle[1] if handle is not None else common if common is not None and len(common) == value.rank else None
    return AssignableTensorOp.over("constant", axes, value) if isinstance(op, (Constant, Full)) else Tensor(value, axes)


_numbers: WeakKeyDictionary[Hashable, int] = WeakKeyDictionary()
_count = itertools.count(1)


def identifier(x: Tensor) -> int:
    """A number that is unique to this tensor in the process and never changes."""
    return _number(_identity(x))


def buffer_identifier(x: Tensor) -> int:
    """The number of the memory that the tensor lies in. A place and its views share one, whatever is assigned to the
    place; so does the result of an op that writes in place.
    """
    place = place_below(x)
    if place is not None:
        return _number(_identity(place))
    base = memory_of(x).base
    while (target := _written(base)) is not None:
        base = _memory_of(target).base
    op = kept(base)
    return _number(op.variable if isinstance(op, ReadVariable) else base)


def _written(value: Value) -> Value | None:
    """Returns the operand in whose place an op writes a result, by its where string; None if the result has its own
    memory.
    """
    rule = value.op.type_rule
    target = None if rule is None else rule.targets[value.index]
    return None if target is None else value.op.operands[target]


def _identity(x: Tensor) -> Hashable:
    """Returns the object whose lifetime is that of a tensor's value: the variable of a place, else the value itself."""
    if isinstance(x, AssignableTensorOp) and x.variable is not None:
        return x.variable
    return x.value


def _number(thing: Hashable) -> int:
    return _numbers.get(thing) or _numbers.setdefault(thing, next(_count))


# -- where it sits ---------------------------------------------------------------------------------------------------


def state_dict_name(x: Tensor) -> str | None:
    """The name of the slot that a parameter has in its module; None outside of modules."""
    record = known_record(x)
    return None if record is None else record.slot


def belongs_to(x: Tensor) -> object:
    """The module that a parameter sits in; None outside of modules."""
    record = known_record(x)
    return None if record is None else record.owner
