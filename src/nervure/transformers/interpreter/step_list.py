"""A Function as a list of steps over a list of values, for one set of values of its symbols.

A value is dropped after the last step that reads it, so that NumPy frees its buffer.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> steps = StepList(nv.Function([nv.ops.Add(nv.ops.Add(x, x), x)], [x]), {})
>>> steps.run([np.float32([1, 2])], {})
[array([3., 6.], dtype=float32)]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nervure import flags
from nervure.errors import InvalidArgument, NervureError, NumericError
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.variable import Variable
from nervure.transformers.binding import Bindings
from nervure.transformers.convert import widen
from nervure.transformers.interpreter.evaluate import Step, Values, make_step, static_value
from nervure.transformers.memory_estimate import dropped_after, last_uses

_NONE: Sequence[int] = ()
Watch = Callable[[Op, Sequence[np.ndarray]], None]


class StepList:
    """The steps of a function, ready to run; running changes nothing in it."""

    def __init__(self, function: Function, bindings: Bindings) -> None:
        self._slots: dict[Value, int] = {}
        self._start: Values = []
        self._reads: list[tuple[int, Variable]] = []
        self._steps: list[Step] = []
        self._ops: list[Op] = []
        for op in function.operations:
            self._add(op, bindings)
        self._dropped = self._last_reads(function)
        self._arguments = [self._slots[op.value] for op in function.parameters]
        self._results = [self._slots[value] for value in function.roots]

    def _add(self, op: Op, bindings: Bindings) -> None:
        slots = self._slots
        for value in op.outputs:
            slots[value] = len(self._start)
            self._start.append(None)
        if isinstance(op, Parameter):
            return
        if isinstance(op, ReadVariable):
            self._reads.append((slots[op.value], op.variable))
        elif isinstance(op, (Constant, Full)):
            self._start[slots[op.value]] = static_value(op, bindings)
        else:
            self._steps.append(make_step(op, tuple([slots[value] for value in op.operands]),
                                         tuple([slots[value] for value in op.outputs]), bindings))
            self._ops.append(op)

    def _last_reads(self, function: Function) -> list[Sequence[int]]:
        """For each step the slots that nobody reads after it."""
        last, slots = last_uses(function), self._slots
        return [[slots[value] for value in dropped_after(op, last)] or _NONE for op in self._ops]

    def run(self, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
            clock: list[int] | None = None, watch: Watch | None = None) -> Values:
        """The values of the function's roots; ``clock`` is extended by the time, in nanoseconds, after each step, and
        ``watch`` is told of each op and the values of its outputs.
        """
        values = self._start.copy()
        for slot, array in zip(self._arguments, arguments, strict=True):
            values[slot] = array
        for slot, variable in self._reads:
            values[slot] = states[variable]
        checks_nan = flags.check_nan
        position = 0
        try:
            with np.errstate(all="ignore"):
                for position, step in enumerate(self._steps):  # the position is read where a step fails
                    step(values)
                    if checks_nan:
                        self._check_nan(self._ops[position], values)
                    if watch is not None:
                        op = self._ops[position]
                        watch(op, [values[self._slots[value]] for value in op.outputs])
                    for slot in self._dropped[position]:
                        values[slot] = None
                    if clock is not None:
                        clock.append(time.perf_counter_ns())
        except NervureError:
            raise
        except MemoryError:
            op = self._ops[position]
            raise op.fail(InvalidArgument, "there is not enough memory for the result", got=op,
                          help="nothing was changed by this call",
                          expected="enough memory for the result") from None
        except Exception as error:
            op = self._ops[position]
            error.add_note(f"while running {op!r}, built at {op.location}")
            raise
        return [values[slot] for slot in self._results]

    def _check_nan(self, op: Op, values: Values) -> None:
        """NumericError if an op has made a NaN from operands that have none."""
        if not any([_has_nan(values[self._slots[value]]) for value in op.outputs]):
            return
        if any([_has_nan(values[self._slots[value]]) for value in op.operands]):
            return
        raise op.fail(NumericError, "the result has a NaN and no operand has one", got=op,
                      help="nothing was changed by this call; flags.check_nan asks for this check",
                      expected="numbers and infinities")


def _has_nan(value: np.ndarray) -> bool:
    value = widen(value)
    return value.dtype.kind in "fc" and bool(np.isnan(value).any())
