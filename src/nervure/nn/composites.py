"""Composites: modules made of modules and functions.

>>> import nervure as nv
>>> from nervure import nn
>>> model = nn.Sequential(nn.LinearLayer("F=4", "K=8"), nv.relu, nn.Residual(nv.tanh), nn.LinearLayer("K=8", "Y=2"))
>>> print(model(nv.placeholder("N=n, F=4")).axes)
(N: n, Y: 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

from nervure.errors import AxisMismatch, IndexOutOfRange, WrongKind, shown
from nervure.front.argument_parsing import integer
from nervure.front.creation import as_tensor, expression
from nervure.front.op_functions import add
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module
from nervure.support.elsewhere import explains_keywords
from nervure.types.dim import equal


class Functional(Module):
    """A function of tensors as a module, which passes further arguments to it at each call.

    >>> nv.nn.Functional(nv.clip, low=0, high=6)
    Functional(clip, low=0, high=6)
    >>> nv.nn.Functional(nv.clip, low=0, high=6)(nv.constant([-1, 9])).tolist()
    [0.0, 6.0]
    """

    def __init__(self, function: Callable[..., Any], *arguments: object, **named: object) -> None:
        if not callable(function):
            raise WrongKind("this is no function", op="Functional", operand="function", got=shown(function),
                            expected="a function of tensors", help="give nv.relu, not nv.relu(x)")
        self.function, self.arguments, self.named = function, arguments, named

    def forward(self, *inputs: object, **named: object) -> Any:
        """Returns the result of the function for the inputs, followed by its own arguments."""
        return self.function(*inputs, *self.arguments, **{**self.named, **named})

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        named = [f"{key}={value!r:.60}" for key, value in self.named.items()]
        return f"Functional({', '.join([name, *[f'{entry!r:.60}' for entry in self.arguments], *named])})"


def as_module(thing: object, op: str) -> Module:
    """Returns a module as it is, a function as a module."""
    if isinstance(thing, Module):
        return thing
    if callable(thing) and not isinstance(thing, type):
        return Functional(thing)
    made = f"{thing.__name__}(...)" if isinstance(thing, type) else "nv.relu, not nv.relu(x)"
    raise WrongKind("this is neither a module nor a function", op=op, got=shown(thing),
                    expected="modules, and functions of a tensor", help=f"write {made}")


class Sequential(Module):
    """Modules and functions in a row, each applied to the result of the one before. The slots of its members are
    ``0``, ``1``, ...

    >>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 3), nv.relu)
    >>> model[1], len(model), [path for path, _ in model.named_parameters()]
    (Functional(relu), 2, ['0.weights', '0.bias'])
    """

    def __init__(self, *members: object) -> None:
        if len(members) == 1 and isinstance(members[0], (list, tuple)):
            members = tuple(members[0])
        for position, member in enumerate(members):
            setattr(self, str(position), as_module(member, "Sequential"))

    def forward(self, *inputs: object) -> Any:
        """Returns the result of the last member; the first one takes all inputs."""
        members = list(self)
        if not members:
            if len(inputs) != 1:
                raise WrongKind("a sequence without members takes one input", op="Sequential",
                                got=f"{len(inputs)} inputs", expected="one input", help="give it members")
            return expression(inputs[0]) if isinstance(inputs[0], Tensor) else inputs[0]
        result = members[0](*inputs)
        for member in members[1:]:
            result = member(result)
        return result

    def __len__(self) -> int:
        return len([name for name in vars(self) if name.isdigit()])

    def __iter__(self) -> Iterator[Module]:
        return iter([getattr(self, str(position)) for position in range(len(self))])

    @overload
    def __getitem__(self, position: int) -> Module: ...

    @overload
    def __getitem__(self, position: slice) -> Sequential: ...

    def __getitem__(self, position: int | slice) -> Module | Sequential:
        """Returns a member; a slice gives a sequence that shares its members with this one."""
        if isinstance(position, slice):
            return Sequential(*list(self)[position])
        at = integer(position, "Sequential", "position")
        if not -len(self) <= at < len(self):
            raise IndexOutOfRange(f"there is no member {at}", op="Sequential", got=at,
                                  expected=f"{-len(self)} to {len(self) - 1}", help="members count from 0")
        return list(self)[at]


class Residual(Module):
    """Adds x to the result of a module for x (He et al. 2016); ``shortcut``, applied to x, replaces the summand x.

    >>> nv.nn.Residual(nv.square)(nv.constant([1, 3])).tolist()
    [2.0, 12.0]
    """

    inner: Module
    shortcut: Module | None

    @explains_keywords
    def __init__(self, inner: object, shortcut: object = None) -> None:
        self.inner = as_module(inner, "Residual")
        self.shortcut = None if shortcut is None else as_module(shortcut, "Residual")

    def forward(self, x: TensorLike) -> Tensor:
        """Returns the sum. AxisMismatch if its two sides have different axes."""
        own = as_tensor(x, "Residual")
        beside = own if self.shortcut is None else as_tensor(self.shortcut(own), "Residual")
        change = as_tensor(self.inner(own), "Residual")
        result = add(beside, change)
        if not result.ndim == beside.ndim == change.ndim or _differ(beside, change):
            raise AxisMismatch("what is added has other axes", op="Residual", got=str(change.axes),
                               expected=str(beside.axes),
                               help="Residual(inner, shortcut) has a second module, which gives x these axes")
        return result


def _differ(x: Tensor, y: Tensor) -> bool:
    """Whether lengths of tensors without names differ: a length of 1 would be broadcast."""
    return not x.is_named and any([equal(mine, theirs) is False for mine, theirs in zip(x.type.shape, y.type.shape)])
