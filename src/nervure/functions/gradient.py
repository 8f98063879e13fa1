"""Gradients of functions: from a function of tensors to the function that computes its derivative.

>>> import numpy as np
>>> import nervure as nv
>>> grad(lambda x: nv.sum(x * x))(np.float32([1, 2]))
array([2., 4.], dtype=float32)
>>> grad(lambda parameters: parameters["w"] * parameters["w"] * parameters["b"])({"w": 3.0, "b": 2.0})
{'w': array(12., dtype=float32), 'b': array(9., dtype=float32)}
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from nervure.autodiff.derivative import derivatives
from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.front.argument_parsing import as_integer, require_function
from nervure.front.tensor import Tensor
from nervure.functions.nesting import Moving, Nest, Nested
from nervure.jit import Jitted, signature_of
from nervure.support.elsewhere import explain_keywords


def grad(function: Callable[..., object], argument: int | str | Sequence[int | str] = 0) -> Callable[..., Any]:
    """Returns a function that computes the derivative of a scalar function with respect to one argument (several: a
    tuple).

    Called with arrays it computes; called with tensors it extends the graph. Arguments may be nested.

    >>> loss = lambda w, x: nv.sum(w * w * x)
    >>> nv.grad(loss)(3.0, 2.0).item(), [gradient.item() for gradient in nv.grad(loss, (0, 1))(3.0, 2.0)]
    (12.0, [12.0, 9.0])
    """
    require_function(function, "grad", "function")
    both = _with_value(function, argument, "grad")

    @functools.wraps(function)
    def gradient(*arguments: object, **keywords: object) -> object:
        return both(*arguments, **keywords)[1]
    return gradient


def value_and_grad(function: Callable[..., object],
                   argument: int | str | Sequence[int | str] = 0) -> Callable[..., Any]:
    """Returns a function like that of ``grad``, which also returns the value: ``(value, gradient)``.

    >>> value, gradient = nv.value_and_grad(lambda w: w ** 3)(2.0)
    >>> value.item(), gradient.item()
    (8.0, 12.0)
    """
    require_function(function, "value_and_grad", "function")
    return _with_value(function, argument, "value_and_grad")


def _with_value(function: Callable[..., object], argument: int | str | Sequence[int | str],
                op: str) -> Callable[..., Nest]:
    """Returns what ``value_and_grad`` does, for a function ``op`` of functions."""
    signature = signature_of(function)
    several = isinstance(argument, (list, tuple))
    listed: Sequence[object] = argument if isinstance(argument, (list, tuple)) else [argument]
    names = [argument_name(signature, entry, function, op) for entry in listed]

    @functools.wraps(function)
    def symbolic(*arguments: object, **keywords: object) -> object:
        bound = signature.bind(*arguments, **keywords)
        moving = moving_in(bound, names, op)
        value = function(*bound.args, **bound.kwargs)
        gradients = gradients_of(value, moving, op)
        return value, tuple(gradients) if several else gradients[0]

    return Jitted(symbolic)


def moving_in(bound: inspect.BoundArguments, names: Sequence[str], op: str) -> list[Moving]:
    """Puts fresh nodes for the arguments of these names, in which a function is differentiated, and returns them."""
    bound.apply_defaults()
    made = []
    for name in names:
        moving = Moving.of_given(Nested.of(bound.arguments[name]), op, name)
        bound.arguments[name] = moving.arguments.again(moving.arguments.leaves)
        made.append(moving)
    return made


def gradients_of(value: object, moving: Sequence[Moving], op: str) -> list[Nest]:
    """Returns the gradients of a scalar ``value``, nested as what moves is, for a function ``op`` of functions."""
    if not isinstance(value, Tensor):
        raise WrongKind("the function must give one tensor", op=op, operand="result", got=type(value).__name__,
                        expected="a scalar tensor", help="sum what it gives, or use nv.deriv")
    found = iter(derivatives(value, [node for entry in moving for node in entry.nodes], None, op, "result"))
    return [entry.nested(found) for entry in moving]


def argument_name(signature: inspect.Signature, argument: object, function: Callable[..., object],
                  op: str) -> str:
    """Returns the name of an argument that is given by its name or position."""
    names = list(signature.parameters)
    if isinstance(argument, str) and argument in names:
        return argument
    position = as_integer(argument)
    if position is not None and -len(names) <= position < len(names):
        return names[position]
    raise InvalidArgument(f"{getattr(function, '__name__', 'function')} has no argument {argument!r}", op=op,
                          got=repr(argument), expected=", ".join(names) or "no arguments",
                          help=did_you_mean(str(argument), names, "an argument is given by its name or position"))


__all__ = ["grad", "value_and_grad"]

explain_keywords(globals(), __all__)
