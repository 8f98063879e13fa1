"""What is computed when a tensor is asked for it: numbers, storage, single elements, gradients.

>>> import nervure as nv
>>> w = nv.parameter(nv.full((2,), 3.0))
>>> loss = nv.sum(proceed(w * w) * 10)              # the product is computed now, and the graph goes on
>>> loss.backward()
>>> w.grad.tolist(), loss.item()
([60.0, 60.0], 180.0)
>>> w.set_mref(0, 5.0)
>>> w.storage.tolist(), mref(w, 1)
([5.0, 3.0], 3.0)

It stands above the front, whose tensors call it (``nervure.front.tensor.upward``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nervure import transformers
from nervure.autodiff.derivative import deriv
from nervure.computation import computation, evaluate, run
from nervure.elsewhere import explain_keywords
from nervure.errors import InvalidArgument, NotSupported, ShapeMismatch, WrongKind
from nervure.front.accessors import memory_of, place_below
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import shown, truth
from nervure.front.creation import AssignableTensorOp, as_tensor, make_place, role_for, variables_below
from nervure.front.devices import device_in_force
from nervure.front.effects import Effect, assign, doall
from nervure.front.facets import Facet, facet, place_class
from nervure.front.gradients import Updater, has_param_ancestor, parameter_of, requires_grad
from nervure.front.random import SEED, STEP, normal, uniform
from nervure.front.record import input_memory, memory_order, record_of
from nervure.front.tensor import Tensor, TensorLike, is_tracing
from nervure.ir.device import ArrayStorage
from nervure.ir.function import Function, is_effect
from nervure.ir.leaves import Constant, Parameter, ReadVariable
from nervure.ir.op import Value
from nervure.ir.provenance import is_no_grad
from nervure.ir.traverse import postorder, rebuild
from nervure.ops.order import Assign, placed_operands
from nervure.transformers.arguments import as_array
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cells import Cell
from nervure.transformers.devices.elements import allocated, filled, offered
from nervure.transformers.memory_estimate import numbers
from nervure.types.axes import AxesLike
from nervure.types.dim import Dim, DimLike
from nervure.types.dtype import DTypeLike, float32
from nervure.types.shape import check_index

__all__ = ["call_optimizer", "computation", "evaluate", "mref", "parameter", "proceed", "rand", "randn", "reset_grad"]


# -- whole tensors ---------------------------------------------------------------------------------------------------


def proceed(x: TensorLike) -> Tensor:
    """Computes x now, and gives a tensor that exists, with which the graph goes on.

    Derivatives look through it, at what x is computed from, as it is when they run; random numbers are those that were
    drawn. They end at what has effects below it. A tensor that exists is returned as it is.

    >>> w = nv.parameter(nv.ones((2,)))
    >>> y = nv.proceed(w * 3)
    >>> y.storage.tolist(), nv.deriv(nv.sum(y * y), w).tolist()
    ([3.0, 3.0], [18.0, 18.0])
    """
    own = as_tensor(x, "proceed")
    if facet(own) is Facet.EXIST:
        return own
    own.check_not_traced("proceed", "nothing is computed", "leave it out: the graph goes on with x itself")
    value = own.value
    draws = _draws(value)
    array, *drawn = run([Tensor(value, own._axes), *map(Tensor, draws)])
    kind = place_class(device_in_force())
    made = make_place("persistent", own.axes.with_lengths(array.shape), own.dtype, array, kind)
    if _is_differentiable(own):
        known = dict(zip(draws, [Constant(state).value for state in drawn], strict=True))
        expression = rebuild(postorder([value]), known).get(value, value) if draws else value
        record_of(made).expression = assume_shape(expression, array.shape, "proceed")
    return made


def _draws(value: Value) -> list[Value]:
    """What random numbers below a value are drawn from: the reads of seed and step."""
    return [op.value for op in postorder([value], None, placed_operands)
            if isinstance(op, ReadVariable) and op.variable in (SEED, STEP)]


def _is_differentiable(x: Tensor) -> bool:
    """Whether derivatives may go through x once more: there is something to go to, and nothing happens again."""
    return x.dtype.is_float and has_param_ancestor(x) and not any(
        [is_effect(op) or type(op) is Assign for op in postorder([x.value], None, placed_operands)])


def parameter(x: TensorLike) -> AssignableTensorOp:
    """A new parameter with the elements and axes of x, which is computed now, and a gradient of zeros.

    Inside of ``nv.no_grad()`` it has none. WrongKind for elements that are no real numbers.

    >>> nv.parameter(nv.ones((2,))).grad.tolist()
    [0.0, 0.0]
    """
    own = as_tensor(x, "parameter")
    own.check_not_traced("parameter", "nothing is computed", "make parameters outside, and let the function use them")
    role = role_for(True, own.dtype, "parameter")
    array = own.numpy()
    made = make_place(role, own.axes.with_lengths(array.shape), own.dtype, array, place_class(device_in_force()))
    return made.named(own.name) if isinstance(own, AssignableTensorOp) and own.name else made


def randn(*shape: AxesLike, dtype: DTypeLike = float32, requires_grad: bool = False) -> Tensor:
    """A tensor that exists, of numbers drawn now from the normal distribution with mean 0 and deviation 1.

    The shape is one of axes, or lengths: ``nv.randn(3, 4)``. In a traced function the numbers are drawn by each call,
    as ``nv.normal`` draws them.

    >>> nv.randn((3, 4)).shape, nv.randn("N=2, C=3").axes.names, bool(nv.proceed(nv.randn(5)).std() > 0)
    ((3, 4), ('N', 'C'), True)
    """
    return _drawn(normal(_axes(shape), dtype=dtype), requires_grad)


def rand(*shape: AxesLike, dtype: DTypeLike = float32, requires_grad: bool = False) -> Tensor:
    """A tensor that exists, of numbers drawn now evenly from [0, 1); the shape is as ``randn`` takes it.

    >>> x = nv.rand(100)
    >>> bool(x.min() >= 0 and x.max() < 1), x.tolist() == x.tolist()
    (True, True)
    """
    return _drawn(uniform(_axes(shape), dtype=dtype), requires_grad)


def _axes(shape: tuple[AxesLike, ...]) -> AxesLike:
    return shape[0] if len(shape) == 1 else shape


def _drawn(x: Tensor, requires_grad: bool) -> Tensor:
    if is_tracing():
        return x
    return parameter(x) if requires_grad else proceed(x)


# -- gradients -------------------------------------------------------------------------------------------------------


def backward(x: Tensor, accumulate: bool = False) -> None:
    """Computes the derivatives of a scalar with respect to all parameters below it, and writes them to their ``grad``.

    They replace what is there; with ``accumulate`` they are added to it. Without parameters below, nothing is done.
    InvalidArgument for other shapes, and inside of ``nv.no_grad()``.

    >>> w = nv.parameter(3.0)
    >>> for _ in range(2):
    ...     (w * w).backward(accumulate=True)
    >>> w.grad.item()
    12.0
    """
    x.check_not_traced("backward", "nothing is computed", "nv.deriv(x, w), or nv.grad, which makes a function of one")
    if is_no_grad():
        raise InvalidArgument("nothing is differentiated inside of nv.no_grad()", op="backward", got=repr(x),
                              expected="a call outside of it", help="leave the with block first")
    if x.ndim:
        raise InvalidArgument("only a scalar has a backward", op="backward", got=str(x.type), expected="a scalar",
                              help="nv.sum(x, out_axes=()).backward(), or nv.mean; nv.deriv(x, w, error) takes weights")
    accumulate = truth(accumulate, "backward", "accumulate")
    parameters = [place for place in variables_below(x) if requires_grad(place)]
    if not parameters:
        return
    pairs = zip([parameter_of(place, "backward")[1] for place in parameters], deriv(x, parameters), strict=True)
    run([doall([assign(place, place + value if accumulate else value) for place, value in pairs])])


def reset_grad(x: Tensor) -> None:
    """Sets the gradient of a parameter to zeros; ``x.grad`` stays the same tensor.

    >>> w = nv.parameter(3.0)
    >>> (w * w).backward()
    >>> nv.reset_grad(w)
    >>> w.grad.item()
    0.0
    """
    place, gradient = parameter_of(x, "reset_grad")
    place.check_not_traced("reset_grad", "nothing is written", "gradients of nv.deriv and nv.grad start from nothing")
    transformers.default().set(gradient, np.zeros(_integers(gradient.shape), gradient.dtype.numpy))


def call_optimizer(x: Tensor) -> None:
    """Runs what the optimiser that is hooked to a parameter makes of its gradient.

    InvalidArgument where there is none: ``nv.hook_optimizer`` hooks one, and shows an example.

    >>> try:
    ...     nv.call_optimizer(nv.parameter(3.0))
    ... except nv.InvalidArgument as error:
    ...     print(error.help)
    nv.hook_optimizer(x, optimizer) hooks one
    """
    place, gradient = parameter_of(x, "call_optimizer")
    place.check_not_traced("call_optimizer", "nothing is written", "return optimizer.update(x, gradient), an effect")
    optimizer = record_of(place).optimizer
    if not isinstance(optimizer, Updater):
        raise InvalidArgument("no optimiser is hooked to this parameter", op="call_optimizer", operand=place.name,
                              got=repr(x), expected="a hook", help="nv.hook_optimizer(x, optimizer) hooks one")
    effect = optimizer.update(place, gradient)
    if not isinstance(effect, Effect):
        raise WrongKind("an update is an effect", op="call_optimizer", operand=place.name, got=shown(effect),
                        expected="an assignment, or several", help="nv.doall([...]) makes one effect of several")
    run([effect])


# -- storage ---------------------------------------------------------------------------------------------------------


def storage(x: Tensor) -> Any:
    """The memory of a tensor, live: what is written there is read by every call, and what calls write is seen there.

    It is an array, or what the tensor's device allocates, which has to offer a buffer then. Of a view it is that of
    the tensor below, of a constant it is read-only. An input of known lengths gets its memory now. InvalidArgument for
    what is computed, and for an input whose lengths are symbols without a value.
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
        return _memory(place)
    return _cell(place).lend() if issubclass(place.device, ArrayStorage) else _storage_of_device(place)


def _storage_of_device(place: AssignableTensorOp) -> object:
    """What a device written in Python allocates for a place, made at the first call; the cell lies in it from then
    on.
    """
    cell, record = _cell(place), record_of(place)
    if record.storage is not None and record.storage[1] is cell.array:
        return record.storage[0]
    order = memory_order(place)
    array = cell.get().transpose(order)
    made = filled(allocated(place.device, place.dtype, array.shape), array)
    flat = offered(made)
    if flat is None or not flat.flags.writeable:
        raise NotSupported("the storage of this device offers no buffer to be written", op="storage",
                           operand=place.name, got=f"{type(made.storage).__name__} of {place.device.__name__}",
                           expected="storage with the buffer protocol, such as array.array or a NumPy array",
                           help="x.numpy() gives the elements, nv.assign and x.set_mref set them")
    cell.adopt(flat.reshape(array.shape).transpose([order.index(d) for d in range(array.ndim)]))
    record.storage = made.storage, cell.array
    return made.storage


def set_storage(x: Tensor, array: object) -> None:
    """Puts an array in place of a tensor's storage; it is used as it is, so what it holds later is seen, too.

    It has the tensor's element type and shape (of an input: one that its symbols allow), and its order in memory.
    """
    x.check_not_traced("storage", "there is no memory", "set it before; nv.assign among the returns sets a variable")
    if not isinstance(x, AssignableTensorOp) or x.is_constant:
        raise WrongKind("only a tensor that keeps a value of its own has a storage to replace", op="storage",
                        got=repr(x), expected="a tensor that exists, or an input",
                        help="assign the storage of the tensor below; nv.proceed(x) keeps what is computed")
    given = _checked_storage(x, array)
    if facet(x) is Facet.INPUT:
        input_memory(x).adopt(given)
    else:
        _cell(x).adopt(given)


def hold(x: AssignableTensorOp, value: object) -> None:
    """Gives an input its value, which is copied into its memory; WrongKind or ShapeMismatch if it does not fit."""
    array, _ = _bound(x, value, "set_input")
    input_memory(x).room(array.shape, x.dtype.numpy)[...] = array


def peek(x: AssignableTensorOp) -> np.ndarray | None:
    """The elements of a place as far as they are known without making anything; not to be written."""
    if x.variable is None:
        return _read_only(x)
    chosen = transformers.current()
    cell = None if chosen is None else chosen.cells.peek(x.variable)
    return x.variable.known_value() if cell is None else cell.array


def _cell(place: AssignableTensorOp) -> Cell:
    assert place.variable is not None
    return transformers.default().cells.of([place.variable])[0]


def _memory(place: AssignableTensorOp) -> np.ndarray:
    """The memory of an input, allocated now at the latest."""
    memory = input_memory(place)
    if memory.array is not None:
        return memory.array
    if any([isinstance(length, Dim) for length in place.shape]):
        raise InvalidArgument("the lengths of this input are not known yet", op="storage", operand=place.name,
                              got=str(place.type), expected="lengths that are numbers",
                              help="x.storage = array settles them, and so does a call with a value for x")
    return memory.room(_integers(place.shape), place.dtype.numpy)


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
    flags = array.flags
    if not (array.transpose(memory_order(x)).flags.c_contiguous and flags.aligned and flags.writeable):
        raise InvalidArgument("storage is memory without gaps, that can be written", op="storage", operand=x.name,
                              got=f"strides of {array.strides} bytes, writeable={flags.writeable}",
                              expected=f"an array without gaps, of order {x.order}",
                              help="np.array(array, order='C'), or 'F', makes such a copy")
    return array


def _bound(x: AssignableTensorOp, value: object, op: str) -> tuple[np.ndarray, Bindings]:
    """A value as an array of a place's type, and the lengths that its symbols have by that; an error if none fit."""
    declared = Parameter(x.dtype, x.shape)
    declared.name = x.name
    (array,), bindings = Binder(Function([declared], [declared], name=op)).bind([value])
    return array, bindings


# -- single elements -------------------------------------------------------------------------------------------------


def mref(x: Tensor, *index: int) -> complex:
    """One element, by an index for each axis (negative: from the end), through views. IndexOutOfRange outside.

    >>> x = nv.tensor([[1., 2.], [3., 4.]])
    >>> nv.mref(x, 1, 0), nv.mref(x.T, 0, 1), nv.mref(x * 2, -1, -1)
    (3.0, 3.0, 8.0)
    """
    own = as_tensor(x, "mref")
    own.check_not_traced("mref", "there are no elements", "x[i, j] is the tensor of one element")
    place = place_below(own)
    if place is None or place.is_constant:
        array = own.numpy()
        return _element(array, check_index(index, array.shape))
    array = _memory(place) if facet(place) is Facet.INPUT else _cell(place).array
    return _element(array, _position(own, index, place, array))


def set_mref(x: Tensor, *index_and_value: object) -> None:
    """``x.set_mref(i, j, value)`` writes one element of a tensor that keeps a value of its own, through views too."""
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
        array = _memory(place)
        array[_position(x, index, place, array)] = number
    else:
        cell = _cell(place)
        cell.write(_position(x, index, place, cell.array), number)


def _position(x: Tensor, index: Sequence[Any], place: AssignableTensorOp, array: np.ndarray) -> tuple[int, ...]:
    """Where the element of an index lies in the array of the place below x."""
    bindings = _bound(place, array, "mref")[1] if place.type.symbols else {}
    position = _integers(check_index(index, numbers(x.shape, bindings)))
    for view in reversed(memory_of(x).views):
        position = tuple(map(int, view.index_map.evaluate(position, bindings)))
    return position


def _integers(lengths: Sequence[DimLike]) -> tuple[int, ...]:
    """Numbers that are known."""
    return tuple([length for length in lengths if not isinstance(length, Dim)])


def _element(array: np.ndarray, position: Sequence[DimLike]) -> complex:
    found: complex = array[_integers(position)].item()
    return found


explain_keywords(globals(), ["call_optimizer", "mref", "parameter", "proceed", "reset_grad"])
