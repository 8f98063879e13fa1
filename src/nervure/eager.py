"""Eager results of tensors: numbers and gradients; :mod:`nervure.tensor_storage` has their storage.

>>> import nervure as nv
>>> w = nv.parameter(nv.full((2,), 3.0))
>>> loss = nv.sum(proceed(w * w) * 10)              # the product is computed now, and the graph goes on
>>> loss.backward()
>>> w.grad.tolist(), loss.item()
([60.0, 60.0], 180.0)
>>> w.set_mref(0, 5.0)
>>> w.storage.tolist(), w.mref(1)
([5.0, 3.0], 3.0)

This module stands above the front, whose tensors call it (``nervure.front.tensor.upward``).
"""

from __future__ import annotations

import numpy as np

from nervure import transformers
from nervure.autodiff.derivative import deriv
from nervure.computation import computation, evaluate, run
from nervure.errors import InvalidArgument
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import truth
from nervure.front.creation import AssignableTensorOp, as_tensor, make_place, role_for, variables_below
from nervure.front.devices import device_in_force
from nervure.front.effects import assign, doall
from nervure.front.facets import Facet, facet, place_class
from nervure.front.gradients import Updater, checked_update, has_param_ancestor, parameter_of, requires_grad
from nervure.front.random import SEED, STEP, normal, uniform
from nervure.front.record import record_of
from nervure.front.tensor import Tensor, TensorLike, is_tracing
from nervure.ir.function import is_effect
from nervure.ir.leaves import Constant, ReadVariable
from nervure.ir.op import Value
from nervure.ir.provenance import is_no_grad
from nervure.ir.traverse import postorder, rebuild
from nervure.ops.order import Assign, placed_operands
from nervure.support.elsewhere import explain_keywords
from nervure.tensor_storage import allocate_now as allocate_now
from nervure.tensor_storage import mref as mref
from nervure.tensor_storage import peek as peek
from nervure.tensor_storage import set_mref as set_mref
from nervure.tensor_storage import set_storage as set_storage
from nervure.tensor_storage import storage as storage
from nervure.transformers.memory_estimate import numbers
from nervure.types.axes import AxesLike
from nervure.types.dtype import DTypeLike, float32

__all__ = ["call_optimizer", "computation", "evaluate", "parameter", "proceed", "rand", "randn", "reset_grad"]


# -- whole tensors ---------------------------------------------------------------------------------------------------


def proceed(x: TensorLike) -> Tensor:
    """Computes x now, and returns a tensor that exists, with which the graph goes on.

    Derivatives look through it, at the expression of x, evaluated when they run; random numbers are those that were
    drawn. They end at an expression with effects below it. A tensor that exists is returned as it is.

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
    """Returns the sources of random numbers below a value: the reads of seed and step."""
    return [op.value for op in postorder([value], None, placed_operands)
            if isinstance(op, ReadVariable) and op.variable in (SEED, STEP)]


def _is_differentiable(x: Tensor) -> bool:
    """Whether derivatives may go through x again: they have a target, and no effect happens again."""
    return x.dtype.is_float and has_param_ancestor(x) and not any(
        [is_effect(op) or type(op) is Assign for op in postorder([x.value], None, placed_operands)])


def parameter(x: TensorLike) -> AssignableTensorOp:
    """Makes a new parameter with the elements and axes of x, which is computed now, and a gradient of zeros.

    Inside of ``nv.no_grad()`` it has none. Raises WrongKind for elements that are no real numbers.

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
    """Makes a tensor that exists, of numbers drawn now from the normal distribution with mean 0 and deviation 1.

    The shape is one of axes, or lengths: ``nv.randn(3, 4)``. In a traced function the numbers are drawn by each call,
    as ``nv.normal`` draws them.

    >>> nv.randn((3, 4)).shape, nv.randn("N=2, C=3").axes.names, nv.proceed(nv.randn(5)).std().item() > 0
    ((3, 4), ('N', 'C'), True)
    """
    return _drawn(normal(_axes(shape), dtype=dtype), requires_grad, "randn")


def rand(*shape: AxesLike, dtype: DTypeLike = float32, requires_grad: bool = False) -> Tensor:
    """Makes a tensor that exists, of numbers drawn now evenly from [0, 1); the shape is given as for ``randn``.

    >>> x = nv.rand(100)
    >>> x.min().item() >= 0 and x.max().item() < 1, x.tolist() == x.tolist()
    (True, True)
    """
    return _drawn(uniform(_axes(shape), dtype=dtype), requires_grad, "rand")


def _axes(shape: tuple[AxesLike, ...]) -> AxesLike:
    return shape[0] if len(shape) == 1 else shape


def _drawn(x: Tensor, requires_grad: bool, op: str) -> Tensor:
    is_parameter = truth(requires_grad, op, "requires_grad")
    if is_tracing():
        return x
    return parameter(x) if is_parameter else proceed(x)


# -- gradients -------------------------------------------------------------------------------------------------------


def backward(x: Tensor, accumulate: bool = False) -> None:
    """Computes the derivatives of a scalar with respect to all parameters below it, and writes them to their ``grad``.

    They replace the earlier ones; with ``accumulate`` they are added to them. Without parameters below, nothing is
    done. Raises InvalidArgument for other shapes, and inside of ``nv.no_grad()``.

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
    transformers.default().set(gradient, np.zeros(numbers(gradient.shape, {}), gradient.dtype.numpy))


def call_optimizer(x: Tensor) -> None:
    """Runs the update that the optimiser hooked to a parameter makes of its gradient.

    Raises InvalidArgument if there is none: ``nv.hook_optimizer`` hooks one, and shows an example.

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
    run([checked_update(optimizer.update(place, gradient), "call_optimizer")])


explain_keywords(globals(), ["call_optimizer", "parameter", "proceed", "reset_grad"])
