"""Custom derivatives: a function of tensors with a backward rule of the user's own.

>>> import nervure as nv
>>> @nv.custom_vjp
... def double(x):
...     return x + x
>>> @double.defvjp
... def double_gradient(gradient, x):
...     return gradient * 100.0
>>> x = nv.variable((), 3.0)
>>> y = double(x)
>>> y.item(), nv.deriv(y, x).item()
(6.0, 100.0)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, SupportsIndex, TypeVar

from nervure import ops
from nervure.errors import InvalidArgument
from nervure.front.alignment import arranged
from nervure.front.argument_parsing import require_function
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.identity import is_found_by_name
from nervure.ir.op import Value

Result = TypeVar("Result")


class custom_vjp(Generic[Result]):  # lower case, as it is used as a decorator
    """Gives a function of tensors its own derivative: ``backward(gradient, *operands)`` returns one gradient for each
    operand.

    With several results ``gradient`` is a tuple. A gradient of None is zero. Gradients go to operands alone: a variable
    that the function reads, and was not given, gets none through it. Use ``@f.defvjp`` or
    ``custom_vjp(f, backward)``.

    >>> clipped = nv.custom_vjp(lambda x: x, lambda gradient, x: nv.clip(gradient, -1, 1))
    >>> x = nv.variable((), 3.0)
    >>> nv.deriv(clipped(x) * 100, x).item()
    1.0
    """

    def __init__(self, function: Callable[..., Result], backward: Callable[..., object] | None = None) -> None:
        require_function(function, "custom_vjp", "function")
        if backward is not None:
            require_function(backward, "custom_vjp", "backward")
        functools.update_wrapper(self, function)
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        self.__qualname__: str = getattr(function, "__qualname__", self.__name__)
        self._function, self._backward = function, backward

    def __repr__(self) -> str:
        return f"<{self.__name__} with {'no' if self._backward is None else 'a'} derivative of its own>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        return self.__qualname__ if is_found_by_name(self) else super().__reduce_ex__(protocol)

    def defvjp(self, backward: Callable[..., object]) -> Callable[..., object]:
        """Declares the derivative; returns the function, so that it serves as a decorator."""
        require_function(backward, "defvjp", "backward")
        self._backward = backward
        return backward

    def __call__(self, *operands: TensorLike) -> Result:
        if self._backward is None:
            raise InvalidArgument("no derivative has been declared", op=self.__name__, help="use @f.defvjp",
                                  got="no derivative", expected="backward(gradient, *operands)")
        tensors = [as_tensor(operand, self.__name__, position + 1) for position, operand in enumerate(operands)]
        tensors = [Tensor(entry.value, entry._axes) for entry in tensors]  # a single read, which the gradient goes to
        results: Any = self._function(*tensors)
        several = isinstance(results, (tuple, list))
        outputs = [as_tensor(entry, self.__name__) for entry in (results if several else [results])]
        rule = self._rule(tensors, outputs, self._backward)
        op = ops.CustomDerivative(*[entry.value for entry in [*outputs, *tensors]], count=len(outputs), rule=rule)
        found = [Tensor(value, entry._axes) for value, entry in zip(op.outputs, outputs, strict=True)]
        given: Any = tuple(found) if several else found[0]
        return given

    def _rule(self, tensors: Sequence[Tensor], outputs: Sequence[Tensor],
              backward: Callable[..., object]) -> Callable[..., object]:
        """Returns the user's rule as a function of core values."""
        def rule(gradients: Sequence[Value | None], operands: Sequence[Value]) -> list[Value | None]:
            given = [Tensor(ops.Full(0, entry.dtype, entry.type.shape) if gradient is None else gradient, entry._axes)
                     for gradient, entry in zip(gradients, outputs, strict=True)]
            own = [Tensor(value, entry._axes) for value, entry in zip(operands, tensors, strict=True)]
            results = backward(given[0] if len(given) == 1 else tuple(given), *own)
            listed = list(results) if isinstance(results, (tuple, list)) else [results]
            if len(listed) != len(own):
                raise InvalidArgument("a derivative gives one gradient an operand", op=self.__name__, got=len(listed),
                                      expected=len(own), help="a gradient of None is zero")
            return [self._checked(entry, tensor, at)
                    for at, (entry, tensor) in enumerate(zip(listed, own, strict=True))]
        return rule

    def _checked(self, gradient: object, operand: Tensor, position: int) -> Value | None:
        if gradient is None:
            return None
        own = as_tensor(gradient, self.__name__, dtype=operand.dtype)
        own = arranged(own, operand.axes, self.__name__, position + 1)
        if own.type.mismatch(operand.type):
            raise InvalidArgument("a gradient must have its operand's type", op=self.__name__, operand=position + 1,
                                  got=str(own.type), expected=str(operand.type),
                                  help="sum over what was broadcast, and convert: gradient.astype(...)")
        return own.value
