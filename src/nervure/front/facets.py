"""The two facets of a tensor: one that exists has numbers of its own; an input gets its numbers later.

>>> import nervure as nv
>>> x = nv.make_tensor((2, 3), initial_element=1.0)
>>> x
<CPUTensor f32[2, 3]
  [[1. 1. 1.]
   [1. 1. 1.]]
  facet=exist requires_grad=False node=None>
>>> y = nv.make_input(("a", 10), "train_x")
>>> y
<CPUTensor f32[a, 10] 'train_x'
  <<not allocated: size=(a, 10)>>
  facet=input requires_grad=False node=None>
>>> x.facet, y.facet, (x + 1).facet
(<Facet.EXIST: 'exist'>, <Facet.INPUT: 'input'>, <Facet.INPUT: 'input'>)
"""

from __future__ import annotations

import itertools
from types import new_class
from typing import cast

import numpy as np

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.accessors import memory_of, node, place_below
from nervure.front.argument_parsing import number, one_of, truth
from nervure.front.creation import AssignableTensorOp, make_place, read_axes, role_for
from nervure.front.devices import CPUTensor, device_in_force, device_of_numbers, usable_device
from nervure.front.gradients import requires_grad as has_gradient
from nervure.front.record import held_value
from nervure.front.tensor import Number, Tensor, checked_name, is_scalar, is_tracing, upward
from nervure.ir.device import Device, Facet, devices_of
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxesLike
from nervure.types.dim import Dim, dim
from nervure.types.dtype import DTypeLike, as_dtype, float32
from nervure.types.foreign import is_array
from nervure.types.layout import Layout, dense, order_of
from nervure.types.shape import Shape

_unnamed = itertools.count()


class StoredTensor(AssignableTensorOp, is_device=False):
    """A place on a device; it shows its elements if they are known."""

    __slots__ = ()

    def __repr__(self) -> str:
        about = [f"<{type(self).__name__} {self._described()}", *_indented(_elements(self)),
                 f"  facet={facet(self).value} requires_grad={has_gradient(self)} node={node(self)}>"]
        return "\n".join(about)


_place_classes: dict[type[Device], type[StoredTensor]] = {}


def place_class(device: type[Device]) -> type[StoredTensor]:
    """Returns the class whose instances are the places on a device; it is made once."""
    found = _place_classes.get(device)
    if found is None:
        parts = {"__slots__": (), "__module__": device.__module__, "__doc__": device.__doc__, "seen_as": device}
        made = new_class(device.__name__, (device, StoredTensor), {"is_device": False},
                         lambda space: space.update(parts))
        _place_classes[device] = found = cast("type[StoredTensor]", made)
    return found


def facet(x: Tensor) -> Facet:
    """Returns EXIST for a place that keeps its value, for its views, and for a constant; INPUT for other tensors."""
    place = _place_of(x)
    if place is None:
        return Facet.INPUT
    return Facet.EXIST if place.variable is None or place.variable.persistent else Facet.INPUT


def state(x: Tensor) -> str:
    """"stored" if there are numbers, "unallocated" for an input without, "lazy" for a tensor to be computed."""
    place = _place_of(x)
    if place is None:
        return "lazy"
    return "stored" if facet(place) is Facet.EXIST or held_value(place) is not None else "unallocated"


def truth_value(x: Tensor) -> bool:
    """``bool(x)``: whether the only element of a tensor that exists is not 0; WrongKind for a computed tensor."""
    place = place_below(x)
    if not is_tracing() and (place is None or state(place) != "stored"):
        raise WrongKind("a tensor that is computed has no truth value", op="bool", got=f"{x!r:.80}",
                        expected="a tensor that exists: a constant, or a place that keeps its value",
                        help="nv.where(condition, x, y) chooses element by element in the graph; condition.item() "
                             "computes it now; x is y tells whether two tensors are one")
    return bool(x.item())


def _place_of(x: Tensor) -> AssignableTensorOp | None:
    """Returns the tensor itself or the place that it is a view of; None for a computed tensor, and for numbers."""
    if isinstance(x, AssignableTensorOp):
        return x
    place = place_below(x)
    return None if place is None or place.is_constant else place


def device(x: Tensor) -> type[Device]:
    """The device class that the tensor is stored on. For a tensor still to be computed, the first device of the list
    under which it was built.
    """
    if isinstance(x, StoredTensor):
        return cast("type[Device]", type(x).seen_as)
    if type(x).is_device:
        return type(x)
    listed = None if isinstance(x, AssignableTensorOp) else devices_of(x.value.op)
    return CPUTensor if listed is None else listed.devices[0]


def make_tensor(shape_or_scalar: AxesLike | Number, requires_grad: bool = False, dtype: DTypeLike | None = None,
                order: str = "C", initial_element: Number | None = None, device: type[Device] | None = None,
                view: object = None) -> Tensor:
    """Makes a tensor that exists: persistent, filled with ``initial_element`` (0 if absent), its memory in
    ``storage``.

    ``shape_or_scalar`` is a shape (a list, a tuple or axes) or a number, which makes a scalar of that value.
    ``requires_grad`` makes a variable, which has a gradient, except inside ``nv.no_grad()``. The element type is
    float32 unless ``dtype`` says otherwise; the order is row-major, or column-major with ``order="F"``. With ``view``,
    an index, the result is that view of the tensor. Raises WrongKind for an array.

    >>> nv.make_tensor((2, 3), initial_element=7.0, view=(slice(1), 0)).tolist(), nv.make_tensor(2.5).item()
    ([7.0], 2.5)
    """
    _check_order(order, "make_tensor")
    axes, first = _shape_of(shape_or_scalar, initial_element)
    element = float32 if dtype is None else as_dtype(dtype)
    role = role_for(requires_grad, element, "make_tensor")
    made = make_place(role, axes, element, first, place_class(_device_for(device, shape_or_scalar)), order)
    if not is_tracing():
        upward().allocate_now(made)
    return made if view is None else made[view]


def make_input(shape: AxesLike, name: str | None, dtype: DTypeLike | None = None,
               order: str = "C", scalar: bool = False, like: Tensor | None = None) -> AssignableTensorOp:
    """Makes a tensor that gets its numbers later: an argument ``name`` of the compiled model, without memory until
    ``storage`` is first read.

    The lengths in ``shape`` may be symbols and expressions of symbols: a string is the symbol of that name. Without a
    ``name`` the tensor is a temporary, and is given one. ``scalar=True`` asks for no axes; ``like`` gives layout and
    element type unless ``order`` and ``dtype`` do.

    >>> nv.make_input(("a", 2 * nv.dim("a") + 1), "x").shape, nv.make_input((3,), None).role
    ((a, 2*a + 1), 'temporary')
    """
    _check_order(order, "make_input")
    if like is not None and not isinstance(like, Tensor):
        raise WrongKind("like= is a tensor", op="make_input", operand="like", got=shown(like), expected="a tensor",
                        help="dtype= and order= say the same in words")
    if dtype is None and like is not None:
        dtype = like.dtype
    role = "temporary" if name is None else "placeholder"
    scalar = truth(scalar, "make_input", "scalar")
    axes = read_axes(_lengths(shape, scalar))
    device = device_of_numbers() if scalar else device_in_force()
    made = make_place(role, axes, dtype, None, place_class(device), _layout(order, like, axes.lengths))
    return made.named(f"input_{next(_unnamed)}" if name is None else checked_name(name))


def _device_for(asked: type[Device] | None, shape_or_scalar: object) -> type[Device]:
    """Returns the device that was asked for, else the device in force."""
    if asked is not None:
        return usable_device(asked, "make_tensor")
    return device_of_numbers() if is_scalar(shape_or_scalar) else device_in_force()


def _shape_of(given: AxesLike | Number, initial: Number | None) -> tuple[AxesLike, Number | None]:
    """Returns the axes and the first element that ``make_tensor`` was asked for."""
    if isinstance(given, (int, float, complex, np.generic)):
        if initial is not None:
            raise InvalidArgument("a scalar is its own initial element", op="make_tensor", operand="initial_element",
                                  got=repr(initial), expected="nothing beside the number",
                                  help="nv.make_tensor((), initial_element=2.0) is a scalar, too")
        return (), given
    if is_array(given) or isinstance(given, Tensor):
        raise WrongKind("make_tensor takes a shape, not the elements", op="make_tensor", operand="shape_or_scalar",
                        got=shown(given), expected="a shape, or a number",
                        help="nv.tensor(data, axes=None, dtype=None, requires_grad=False) makes a tensor of elements")
    if initial is not None:
        number(initial, "make_tensor", "initial_element",
               "nv.tensor(data) and nv.variable(axes, initial_value) take arrays")
    axes = read_axes(_with_symbols(given))
    if all([axis.has_length for axis in axes]) and any([isinstance(length, Dim) for length in axes.lengths]):
        raise InvalidArgument("a tensor that exists has lengths that are numbers", op="make_tensor",
                              operand="shape_or_scalar", got=str(axes), expected="integers",
                              help='nv.make_input(shape, "x") makes a tensor with symbolic lengths')
    return axes, initial


def _lengths(shape: AxesLike, scalar: bool) -> AxesLike:
    """Returns the axes of an input: none for a scalar."""
    listed = _with_symbols([shape] if isinstance(shape, (int, Dim)) else shape)
    if not scalar:
        return listed
    if isinstance(listed, list) and all([entry == 1 for entry in listed]):
        return ()
    raise InvalidArgument("a scalar has no axes", op="make_input", operand="scalar", got=f"shape={shape!r:.60}",
                          expected="the shape ()", help="leave out scalar=True, or give ()")


def _with_symbols(shape: AxesLike) -> AxesLike:
    """Returns a shape with each string among its lengths replaced by the symbol of that name."""
    if isinstance(shape, dict):
        return {name: dim(entry) if isinstance(entry, str) else entry for name, entry in shape.items()}
    if isinstance(shape, (tuple, list)):
        return [dim(entry) if isinstance(entry, str) else entry for entry in shape]
    return shape


def _layout(order: str, like: Tensor | None, shape: Shape) -> Layout | str:
    """Returns the layout of an input: the ``order`` asked for, else that of ``like``, if it has one for this shape."""
    if order == "F" or like is None:
        return order
    if like.order != "A":
        return like.order
    axes = order_of(memory_of(like).layout, like.shape)
    is_known = not any([isinstance(length, Dim) for length in shape])
    return dense(shape, axes) if is_known and axes is not None and len(axes) == len(shape) else "C"


def _check_order(order: object, op: str) -> None:
    one_of(order, ("C", "F"), op, "order", "'C' lets the last axis move fastest through memory, 'F' the first")


# -- how it shows itself ---------------------------------------------------------------------------------------------


def _elements(x: AssignableTensorOp) -> str:
    """Returns the elements as far as they are known, abbreviated if there are many. Nothing is computed."""
    array = upward().peek(x) if facet(x) is Facet.EXIST else held_value(x)
    if array is not None:
        return np.array2string(array, precision=4, threshold=20, edgeitems=2)
    if facet(x) is Facet.EXIST:
        return "<<not computed yet>>"
    return f"<<not allocated: size={x.shape}>>"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


__all__ = ["Facet", "make_input", "make_tensor"]

explain_keywords(globals(), ["make_input", "make_tensor"])
