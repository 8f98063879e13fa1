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

import numpy as np

from nervure import ops
from nervure.autodiff.derivative import deriv
from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.front import pytrees
from nervure.front.argument_parsing import as_integer, require_function
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, is_scalar
from nervure.front.traced_numbers import TracedNumber
from nervure.jit import Jitted, signature_of
from nervure.support.elsewhere import explain_keywords
from nervure.types.dtype import DType, as_dtype


def grad(function: Callable[..., object], argument: int | str | Sequence[int | str] = 0) -> Callable[..., Any]:
    """Returns a function that computes the derivative of a scalar function with respect to one argument (several: a
    tuple).

    Called with arrays it computes; called with tensors it extends the graph. Arguments may be nested.

    >>> loss = lambda w, x: nv.sum(w * w * x)
    >>> nv.grad(loss)(3.0, 2.0).item(), [gradient.item() for gradient in nv.grad(loss, (0, 1))(3.0, 2.0)]
    (12.0, [12.0, 9.0])
    """
    require_function(function, "grad", "function")
    both = value_and_grad(function, argument)

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
    signature = signature_of(function)
    several = isinstance(argument, (list, tuple))
    listed: Sequence[object] = argument if isinstance(argument, (list, tuple)) else [argument]
    names = [argument_name(signature, entry, function) for entry in listed]

    @functools.wraps(function)
    def symbolic(*arguments: object, **keywords: object) -> object:
        bound = signature.bind(*arguments, **keywords)
        wanted, patterns = with_fresh(bound, names, "grad")
        value = function(*bound.args, **bound.kwargs)
        if not isinstance(value, Tensor):
            raise WrongKind("the function must give one tensor", op="grad", got=type(value).__name__,
                            expected="a scalar tensor", help="sum what it gives, or use nv.deriv")
        found = iter(deriv(value, wanted))
        gradients = [pytrees.unflatten(pattern, found) for pattern in patterns]
        return value, tuple(gradients) if several else gradients[0]

    return Jitted(symbolic)


def with_fresh(bound: inspect.BoundArguments, names: Sequence[str],
               op: str) -> tuple[list[Tensor], list[pytrees.Pattern]]:
    """Puts fresh nodes for the arguments of these names, in which a function is differentiated. Returns these nodes,
    and for each argument how they are nested.
    """
    bound.apply_defaults()
    wanted: list[Tensor] = []
    patterns = []
    for name in names:
        leaves, pattern = pytrees.flatten(bound.arguments[name])
        nodes = [fresh(leaf, name, op) for leaf in leaves]
        bound.arguments[name] = pytrees.unflatten(pattern, nodes)
        wanted.extend(nodes)
        patterns.append(pattern)
    return wanted, patterns


def fresh(leaf: object, name: str, op: str = "grad") -> Tensor:
    """Returns a new node for a ``leaf`` of the argument ``name``, so that the derivative is with respect to this
    mention alone.
    """
    tensor = as_tensor(leaf, op, dtype=_real_type(leaf))
    if not tensor.dtype.is_inexact or tensor.dtype.is_complex and op == "jacobian":
        raise WrongKind("only arguments of floats have derivatives", op=op, operand=name, got=str(tensor.type),
                        expected="a float element type", help=_OF_FLOATS[op])
    return Tensor(ops.AssumeShape(tensor.value, tensor.type.shape), tensor._axes)


_OF_FLOATS = {"grad": "name the float arguments: nv.grad(f, argument=...)",
              "jacobian": "name the float arguments: nv.jacobian(f, argnums=...)",
              "jvp": "its tangent is None; or convert it: x.astype(nv.float32)"}


def _real_type(leaf: object) -> DType | None:
    """Returns the type in which a number is differentiated: a NumPy scalar's own, float32 for a float of Python's."""
    example = leaf.example if isinstance(leaf, TracedNumber) else leaf
    if not is_scalar(example):
        return None
    return as_dtype(example.dtype if isinstance(example, np.generic) else type(example))


def argument_name(signature: inspect.Signature, argument: object, function: Callable[..., object],
                  op: str = "grad") -> str:
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
