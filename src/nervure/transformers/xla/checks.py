"""The checks of a call: guards must hold, and indices be in range. The first failure is the status of the call.

A compiled program cannot raise. Each check has a number from 1 on; where it fails, the status of the call, three
numbers, becomes that number, the position of the first failure among the checked elements, and a value there, and
stays so. The caller reads it after the call, before anything is kept.

>>> checks = Checks()
>>> status = checks.add(START, jnp.asarray([False, True]), lambda position, value: InvalidArgument(f"at {position}"))
>>> checks.error([int(each) for each in status])
InvalidArgument('at 1')
>>> checks.error([0, 0, 0]) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np

from nervure.errors import InvalidArgument, NervureError
from nervure.ir.function import Function
from nervure.ir.kinds import Element, Structured
from nervure.ir.op import Op
from nervure.ir.printer import nested_functions
from nervure.ops.effects import Guard
from nervure.ops.library_op import LibraryOp
from nervure.transformers.binding import Bindings
from nervure.transformers.memory_estimate import check_possible
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import are_open

Status = tuple[Array, Array, Array]
ErrorOf = Callable[[int, int], NervureError]
"""The error for a position and a value there."""

START: Status = (np.int64(0), np.int64(0), np.int64(0))

__all__ = ["START", "Checks", "InvalidArgument", "Status", "impossible", "may_fail"]


class Checks:
    """The checks of a program, by number. A part that is traced again has numbers anew, with the same errors."""

    def __init__(self) -> None:
        self._errors: list[ErrorOf] = []

    def add(self, status: Status, bad: Array, error_of: ErrorOf, values: Array | None = None) -> Status:
        """Returns the status after another check, which fails where ``bad`` holds; its error shows ``values``."""
        if not bad.size:
            return status
        self._errors.append(error_of)
        flat = bad.reshape(-1)
        at = jnp.argmax(flat)
        value = jnp.zeros((), jnp.int64) if values is None else values.reshape(-1)[at].astype(jnp.int64)
        fails = (status[0] == 0) & flat[at]
        fresh = jnp.int64(len(self._errors)), at.astype(jnp.int64), value
        first, second, third = [jnp.where(fails, new, old) for new, old in zip(fresh, status, strict=True)]
        return first, second, third

    def error(self, status: Sequence[int]) -> NervureError | None:
        """Returns the error of a call that ended with this ``status``, if any."""
        number, position, value = status
        return None if number == 0 else self._errors[number - 1](position, value)


def may_fail(function: Function, bindings: Bindings) -> bool:
    """Whether a call of a function may refuse its data, for these values of the symbols."""
    return any([impossible(held, bindings) is not None or any(map(_may_fail, held.operations))
                for held in nested_functions(function)])


def impossible(function: Function, bindings: Bindings) -> NervureError | None:
    """Returns why a function has no result for these values of its symbols, if they are known; None if it has."""
    if are_open(bindings):
        return None
    try:
        check_possible(function, bindings)
    except NervureError as error:
        return error
    return None


def _may_fail(op: Op) -> bool:
    if isinstance(op, Structured):
        structure = op.structure(*[operand.type for operand in op.operands])
        accesses = [access for access in (*structure.reads, *structure.writes) if access is not None]
        return any([isinstance(entry, Element) for access in accesses for entry in access.coordinates])
    return isinstance(op, Guard) or isinstance(op, LibraryOp) and op.failure is not None
