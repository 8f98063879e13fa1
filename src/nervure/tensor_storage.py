"""The memory of tensors, from outside: storage as a whole, and single elements.

>>> import nervure as nv
>>> w = nv.tensor([1.0, 2.0, 3.0])
>>> storage(w)[0] = 5.0
>>> (w * 2).tolist(), nv.mref(w, -1)
([10.0, 4.0, 6.0], 3.0)

The value of a place lies in its cell on the default transformer, that of an input in memory of its own. If a device
defines how storage is made, its allocation is that memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nervure import transformers
from nervure.computation import evaluate
from nervure.errors import InvalidArgument, NervureError, NotSupported, ShapeMismatch, WrongKind, shown
from nervure.front.accessors import memory_of, place_below
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.facets import facet
from nervure.front.input_memory import InputMemory
from nervure.front.record import input_memory, memory_order
from nervure.front.tensor import Tensor
from nervure.ir.device import Facet, keeps_arrays
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Parameter
from nervure.ir.notation import Number
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.arguments import as_array
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cells import Cell
from nervure.transformers.convert import widen
from nervure.transformers.devices.elements import allocated
from nervure.transformers.devices.outside import Outside, given_as, made_on
from nervure.transformers.memory_estimate import numbers
from nervure.types.dim import Dim, DimLike, known_lengths
from nervure.types.layout import Layout
from nervure.types.ordered_arrays import is_in_order
from nervure.types.shape import check_index


def storage(x: Tensor) -> Any:
    """Returns the memory of a tensor, live: every call reads what is written there, and writes its results there.

    It is an array, or the allocation of the tensor's device. For a view it is the memory of the tensor below, for a
    constant it is read-only. An input of known lengths gets its memory now. Raises InvalidArgument for a computed
    tensor, and for an input whose lengths are symbols without a value.
    """
    x.check_not_traced("storage", "there is no memory", "read it before, or compute with x itself")
    place = place_below(x)
    if place is None:
        raise InvalidArgument("what is computed has no storage", op="storage", got=repr(x),
                              expected="a tensor that exists, an input, or a view of one",
                              help="nv.proceed(x) computes it and keeps the elements")
    if place.is_constant:
        return _read_only(place)
    if facet(place) is Facet.INPUT:
        return _memory(place).storage
    return stored(place)


def stored(place: AssignableTensorOp) -> object:
    """Returns the memory of a place that keeps its value. A device's allocation is made at the first call; from then
    on the cell lies in it.
    """
    cell = _cell(place)
    if cell.outside is not None:
        return cell.outside.storage
    if keeps_arrays(place.device):
        return cell.lend()
    _check_gaps(place)
    outside = made_on(place.device, place.dtype, cell.get(), memory_order(place), _first_element(place, cell))
    cell.adopt(outside.load(cell.array.shape), outside)
    return outside.storage


def _check_gaps(place: AssignableTensorOp) -> None:
    """Raises NotSupported for a layout with gaps on a device that allocates an element for each index."""
    if place.variable is not None and isinstance(place.variable.type.order, Layout):
        raise NotSupported(f"{place.device.__name__} allocates an element for each index", op="storage",
                           operand="layout", got=place.variable.type.order, expected="a layout without gaps",
                           help="nv.CPUTensor and nv.NumPyTensor keep rows apart")


def allocate_now(place: AssignableTensorOp) -> None:
    """Lets a device that defines its storage allocate for a new place, if everything it needs is known."""
    is_own = not keeps_arrays(place.device) and place.device.allocate is not Tensor.allocate
    if is_own and place.variable is not None and all([axis.has_length for axis in place.axes]):
        stored(place)


def _first_element(place: AssignableTensorOp, cell: Cell) -> Number | None:
    """Returns the number that all elements of a new place are; None if they differ, or have been written."""
    initial = None if place.variable is None else place.variable.initial
    if cell.version or callable(initial):
        return None
    number = np.asarray(0 if initial is None else initial)
    found: Number | None = None if number.ndim else widen(number.astype(place.dtype.numpy)).item()
    return found


def set_storage(x: Tensor, given: object) -> None:
    """Replaces a tensor's storage by the memory ``given``; it is used as it is, so later changes to it are seen, too.

    It is an allocation of the tensor's device, of one dimension; or an array with the tensor's element type and shape
    (for an input: one that its symbols allow), and its order in memory.
    """
    x.check_not_traced("storage", "there is no memory", "set it before; nv.assign among the returns sets a variable")
    if not isinstance(x, AssignableTensorOp) or x.is_constant:
        raise WrongKind("only a tensor that keeps a value of its own has a storage to replace", op="storage",
                        got=repr(x), expected="a tensor that exists, or an input",
                        help="assign the storage of the tensor below; nv.proceed(x) keeps what is computed")
    if not keeps_arrays(x.device) or _is_flat(x, given):
        _set_outside(x, given)
        return
    array = _checked_storage(x, given)
    if facet(x) is Facet.INPUT:
        input_memory(x).adopt(array)
    else:
        _cell(x).adopt(array)


def _is_flat(x: AssignableTensorOp, given: object) -> bool:
    """Whether an array is one-dimensional, as the devices of arrays allocate them, for an x that is not."""
    lengths = known_lengths(x.type.shape)
    if lengths is None or x.variable is None or isinstance(x.variable.type.order, Layout):
        return False
    return (isinstance(given, np.ndarray) and given.ndim == 1 != x.ndim
            and given.size == np.prod(lengths))


def _set_outside(x: AssignableTensorOp, given: object) -> None:
    _check_gaps(x)
    lengths = known_lengths(x.type.shape)
    if lengths is None:
        if x.ndim != 1 or not hasattr(given, "__len__"):
            raise _unknown_lengths(x, "model.set_input(name, value), or a call with a value, settles them")
        lengths = (len(given),)
    try:
        outside = given_as(x.device, x.dtype, lengths, memory_order(x), given)
    except NervureError as error:
        raise error.within("storage", operand=x.name) from None
    if facet(x) is Facet.INPUT:
        _input_memory(x).adopt_outside(outside, lengths)
    else:
        _cell(x).adopt(outside.load(lengths), outside)


def hold(x: AssignableTensorOp, value: object) -> None:
    """Gives an input its value, which is copied into its memory; WrongKind or ShapeMismatch if it does not fit."""
    array, _ = _bound(x, value, "set_input")
    _input_memory(x).write(array)


def peek(x: AssignableTensorOp) -> np.ndarray | None:
    """Returns the elements of a place as far as they are known without computing or allocating; not to be written."""
    if x.variable is None:
        return _read_only(x)
    chosen = transformers.current()
    cell = None if chosen is None else chosen.cells.peek(x.variable)
    return x.variable.known_value() if cell is None else cell.look()


def _cell(place: AssignableTensorOp) -> Cell:
    assert place.variable is not None
    return transformers.default().cells.of([place.variable])[0]


def _input_memory(place: AssignableTensorOp) -> InputMemory:
    """Returns the memory of an input, which its device allocates if it defines how."""
    return input_memory(place, None if keeps_arrays(place.device) else partial(
        _allocate, place.device, place.dtype, memory_order(place)))


def _allocate(device: Any, dtype: Any, order: tuple[int, ...], shape: tuple[int, ...], zeros: bool) -> Outside:
    return Outside(allocated(device, dtype, shape, None, 0 if zeros else None, order), order)


def _memory(place: AssignableTensorOp) -> InputMemory:
    """Returns the memory of an input, allocated now if necessary."""
    memory = _input_memory(place)
    if memory.shape is not None:
        return memory
    if any([isinstance(length, Dim) for length in place.type.shape]):
        raise _unknown_lengths(place, "x.storage = array settles them, and so does a call with a value for x")
    memory.room(_integers(place.type.shape), place.dtype.numpy)
    return memory


def _unknown_lengths(place: AssignableTensorOp, help: str) -> InvalidArgument:
    return InvalidArgument("the lengths of this input are not known yet", op="storage", operand=place.name,
                           got=str(place.type), expected="lengths that are numbers", help=help)


def _read_only(constant: Tensor) -> np.ndarray:
    op = constant.value.op
    array = op.array.view() if isinstance(op, Constant) else evaluate(constant)
    array.flags.writeable = False
    return array


def _checked_storage(x: AssignableTensorOp, array: object) -> np.ndarray:
    if type(array) is not np.ndarray or array.dtype != x.dtype.numpy:
        raise WrongKind("storage is an array of the tensor's element type", op="storage", operand=x.name,
                        got=shown(array), expected=f"a NumPy array of {x.dtype.name}",
                        help="x.set_mref(..., value) and nv.assign(x, value) convert what they write")
    _bound(x, array, "storage")
    flags, order = array.flags, None if x.variable is None else x.variable.type.order
    if not (is_in_order(array, order) and flags.aligned and flags.writeable):
        has_gaps = isinstance(order, Layout)
        raise InvalidArgument(f"storage is memory {'with' if has_gaps else 'without'} gaps, that can be written",
                              op="storage", operand=x.name,
                              got=f"strides of {array.strides} bytes, writeable={flags.writeable}",
                              expected=f"memory for {order.sizes}, {order}" if isinstance(order, Layout)
                              else f"an array without gaps, of order {x.order}",
                              help="nv.assign(x, array) writes into the memory that there is" if has_gaps
                              else "np.array(array, order='C'), or 'F', makes such a copy")
    return array


def _bound(x: AssignableTensorOp, value: object, op: str) -> tuple[np.ndarray, Bindings]:
    """Returns a value as an array of a place's type, and the lengths that its symbols then have; an error if none fit.
    """
    declared = Parameter.of(x.type)
    declared.name = x.name
    (array,), bindings = Binder(Function([declared], [declared], name=op)).bind([value])
    return array, bindings


# -- single elements -------------------------------------------------------------------------------------------------


def mref(x: Tensor, *index: int) -> complex:
    """Returns one element, by an index for each axis (negative: from the end), through views. IndexOutOfRange outside.

    >>> x = nv.tensor([[1., 2.], [3., 4.]])
    >>> nv.mref(x, 1, 0), nv.mref(x.T, 0, 1), nv.mref(x * 2, -1, -1)
    (3.0, 3.0, 8.0)
    """
    own = as_tensor(x, "mref")
    own.check_not_traced("mref", "there are no elements", "x[i, j] is the tensor of one element")
    place = place_below(own)
    if place is None or place.is_constant:
        computed = own.numpy()
        return _element(computed, check_index(index, computed.shape))
    array = _memory(place).array if facet(place) is Facet.INPUT else _cell(place).look()
    assert array is not None
    return _element(array, _position(own, index, place, array))


def set_mref(x: Tensor, *index_and_value: object) -> None:
    """Writes one element of a tensor that keeps its own value, through views, too: ``x.set_mref(i, j, value)``."""
    x.check_not_traced("set_mref", "there are no elements", "x.at[index].set(value), or nv.set_item of a variable")
    place = place_below(x)
    if place is None or place.is_constant:
        raise WrongKind("an element can be set where the tensor keeps a value of its own", op="set_mref",
                        got=repr(x), expected="a tensor that exists, an input, or a view of one",
                        help="x.at[index].set(value) makes another tensor")
    *index, value = index_and_value or (None,)
    number = as_array(value, x.dtype, "set_mref", "value")
    if number.shape != ():
        raise ShapeMismatch("an element is one number", op="set_mref", operand="value", got=number.shape,
                            expected="a number", help="nv.set_item(x, index, values) writes several")
    if facet(place) is Facet.INPUT:
        memory = _memory(place)
        assert memory.array is not None
        memory.put(_position(x, index, place, memory.array), number)
    else:
        cell = _cell(place)
        cell.write(_position(x, index, place, cell.array), number)


def _position(x: Tensor, index: Sequence[Any], place: AssignableTensorOp, array: np.ndarray) -> tuple[int, ...]:
    """Returns the position of the element of an index in the array of the place below x."""
    bindings = _bound(place, array, "mref")[1] if place.type.symbols else {}
    position = _integers(check_index(index, numbers(x.type.shape, bindings)))
    for view in reversed(memory_of(x).views):
        position = tuple(map(int, view.index_map.evaluate(position, bindings)))
    return position


def _integers(lengths: Sequence[DimLike]) -> tuple[int, ...]:
    """Returns lengths as numbers."""
    return tuple([length for length in lengths if not isinstance(length, Dim)])


def _element(array: np.ndarray, position: Sequence[DimLike]) -> complex:
    found: complex = array[_integers(position)].item()
    return found


explain_keywords(globals(), ["mref"])
