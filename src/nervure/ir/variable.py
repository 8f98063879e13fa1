"""Variables: named places for state. A variable is not an op; the graph reads it and a function updates it.

>>> import numpy as np
>>> from nervure.types.description import BasicTensorDescription
>>> from nervure.types.dtype import float32
>>> w = Variable(BasicTensorDescription(float32, (2,)), initial=1.5, name="w")
>>> w.initial_value()
array([1.5, 1.5], dtype=float32)
"""

from __future__ import annotations

import math
import mmap
import weakref
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.ir.identity import Uncopyable
from nervure.ir.ordered_locks import OrderedLock, Visit, holding, visiting
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import known_lengths
from nervure.types.frozen import Frozen, put
from nervure.types.shape import check_room

_MAPPED_FROM = 1 << 16  # bytes


class Repeatable:
    """A function that is known to return the same value in each call with the same arguments.

    >>> Repeatable(np.zeros)(2)
    array([0., 0.])
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., np.ndarray]) -> None:
        self.function = function

    def __call__(self, *arguments: object) -> np.ndarray:
        return self.function(*arguments)


class Variable(Uncopyable, Frozen):
    """A persistent (or, with ``persistent=False``, a scratch) tensor, compared by identity.

    ``initial`` is None (zeros), a number, an array, or a callable without arguments that returns one of these; it is
    computed once, on the host, and kept, so that every transformer starts from the same bits. What is the same each
    time, a number or what a ``Repeatable`` returns, is kept as long as a transformer has it, and computed again after
    that. ``is_local`` marks state that is expected to differ from transformer to transformer, such as the counter of
    random numbers.

    A variable does not change, except for ``name``, ``handle``, which leads the front back to its tensor, and
    ``record``, where the front keeps facts about the place.
    """

    __slots__ = ("_type", "initial", "name", "trainable", "persistent", "location", "handle", "record", "is_local",
                 "lock", "_value", "__weakref__")
    _plural = "variables"
    _instead = "make another variable; nv.assign, fill and transformer.set give it another value"
    initial: object
    name: str | None
    trainable: bool
    persistent: bool
    location: object
    is_local: bool
    handle: Any
    record: Any
    _type: BasicTensorDescription | Callable[[], BasicTensorDescription]
    lock: OrderedLock
    _value: np.ndarray | weakref.ref[np.ndarray] | None

    def __init__(self, type: BasicTensorDescription | Callable[[], BasicTensorDescription], initial: object = None,
                 name: str | None = None, trainable: bool = False, persistent: bool = True,
                 location: object = None, is_local: bool = False) -> None:
        self.name, self.handle, self.record = name, None, None
        for part, value in (("_type", type), ("initial", initial), ("trainable", trainable),
                            ("persistent", persistent), ("location", location), ("is_local", is_local),
                            ("lock", OrderedLock()), ("_value", None)):
            put(self, part, value)

    @property
    def type(self) -> BasicTensorDescription:
        """The element type and shape. A type that was given as a function, since a length was not known, is computed
        now.
        """
        if callable(self._type):
            put(self, "_type", self._type())
        return self._type  # type: ignore[return-value]  # no function any more

    def __setattr__(self, name: str, value: object) -> None:
        if name not in ("name", "handle", "record"):
            super().__setattr__(name, value)
        if name == "name" and not isinstance(value, (str, NoneType)):
            raise WrongKind("the name of a variable is a string", op="Variable", operand="name", got=f"{value!r:.60}",
                            expected="str or None", help='as in variable.name = "weight"')
        put(self, name, value)

    def initial_value(self) -> np.ndarray:
        """Returns the value that every transformer starts from: read-only, C-contiguous, of the variable's type.

        Raises InvalidArgument if ``initial`` asks for it in turn.
        """
        known = self._kept_value()
        if known is not None:
            return known
        if self.lock.is_mine:
            raise InvalidArgument("the initial value of a variable needs that value", op=self.name or "variable",
                                  got="a function that uses the variable", location=self.location,
                                  expected="a function that does without it", help="start from a number or an array")
        return holding([self], self._computed, op="initial_value")

    def known_value(self) -> np.ndarray | None:
        """Returns ``initial_value`` if nothing has to be computed for it, perhaps as one number for all elements; else
        None.
        """
        kept = self._kept_value()
        if kept is not None or callable(self.initial) or callable(self._type):
            return kept
        lengths = known_lengths(self._type.shape)
        value = np.asarray(0 if self.initial is None else self.initial).astype(self._type.dtype.numpy)
        return None if lengths is None else np.broadcast_to(value, lengths)

    def _kept_value(self) -> np.ndarray | None:
        """Returns the initial value if it has been computed and is still kept."""
        value = self._value
        return value() if isinstance(value, weakref.ref) else value

    def _computed(self) -> np.ndarray:
        known = self._kept_value()
        if known is None:
            visit = Visit(f"the initial value of {self.name or 'a variable'}", self.location)
            known = visiting(visit, self._compute)
            put(self, "_value", weakref.ref(known) if self._is_repeatable else known)
        return known

    @property
    def _is_repeatable(self) -> bool:
        """Whether the initial value can be computed again."""
        is_number = not callable(self.initial) and np.asarray(0 if self.initial is None else self.initial).ndim == 0
        return is_number or isinstance(self.initial, Repeatable)

    def _compute(self) -> np.ndarray:
        shape = known_lengths(self.type.shape)
        if shape is None:
            raise InvalidArgument("a variable needs a shape of numbers", op=self.name or "variable", got=self.type,
                                  location=self.location, help="give every axis of a variable a length",
                                  expected="integers")
        check_room(shape, self.type.dtype.itemsize, "this variable", op=self.name or "variable", operand="shape",
                   location=self.location)
        initial = self.initial() if callable(self.initial) else self.initial
        value = np.asarray(0 if initial is None else initial)
        if value.ndim and value.shape != shape:
            raise ShapeMismatch("the initial value has another shape", op=self.name or "variable", got=value.shape,
                                expected=shape, location=self.location, help="a single number fills any shape")
        return _lasting(value, shape, self.type.dtype.numpy)

    def __repr__(self) -> str:
        known = "a length is not known yet" if callable(self._type) else self._type
        return f"Variable({self.name or 'unnamed'}: {known})"


def _lasting(value: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns a value in memory that is never written again, in ``shape`` and ``dtype``: itself, if it is such memory
    already.
    """
    if value.dtype == dtype and value.shape == shape and value.flags.c_contiguous and _is_never_written(value):
        return value
    if not value.ndim and _is_zero(value, dtype):
        return _zeros(shape, dtype)
    array = np.empty(shape, dtype)
    with np.errstate(all="ignore"):
        array[...] = value
    array.flags.writeable = False
    return array


def _is_never_written(value: np.ndarray) -> bool:
    """Whether a value is read-only memory of NumPy's own, or a view of such memory."""
    owner = value if value.base is None else value.base
    is_own = isinstance(owner, np.ndarray) and owner.flags.owndata
    return is_own and not owner.flags.writeable and not value.flags.writeable


def _is_zero(number: np.ndarray, dtype: np.dtype) -> bool:
    """Whether all bits of a number in this type are 0."""
    with np.errstate(all="ignore"):
        return not any(number.astype(dtype).tobytes())


def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns zeros that are never written. Read-only pages of the system take no memory: an optimiser has many zeros,
    which live as long as their variable and are used once.
    """
    size = math.prod(shape) * dtype.itemsize
    if size >= _MAPPED_FROM:
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
        return np.ndarray(shape, dtype, pages)
    array = np.zeros(shape, dtype)
    array.flags.writeable = False
    return array
