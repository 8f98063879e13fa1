"""A Function as a list of steps, for one set of values of its symbols.

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
from functools import cache

import numpy as np

from nervure import flags
from nervure.errors import InvalidArgument, NervureError, NumericError
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Full, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.ir.variable import Variable
from nervure.ir.whole_op import WholeOp, found_lengths
from nervure.transformers.binding import Bindings
from nervure.transformers.convert import widen
from nervure.transformers.interpreter.control_flow import run_region
from nervure.transformers.interpreter.evaluate import Arrays, results_of, static_value
from nervure.transformers.memory_estimate import check_possible, dropped_after, is_step, last_uses

Watch = Callable[[Op, Arrays], None]


class StepList:
    """The steps of a function, ready to run; running changes nothing in it."""

    def __init__(self, function: Function, bindings: Bindings) -> None:
        self._function, self._bindings = function, bindings
        self._constants: dict[Value, np.ndarray] = {}
        self._reads: list[ReadVariable] = []
        self._steps: list[tuple[Op, Sequence[Value]]] = []
        last = last_uses(function)
        self._found = found_lengths(function.effects)
        for op in function.operations:
            if is_step(op, self._found):
                self._steps.append((op, dropped_after(op, last)))
            elif isinstance(op, ReadVariable):
                self._reads.append(op)
            elif isinstance(op, (Constant, Full)):
                self._constants[op.value] = static_value(op, bindings)

    def run(self, arguments: Arrays, states: Mapping[Variable, np.ndarray], clock: list[int] | None = None,
            watch: Watch | None = None) -> list[np.ndarray]:
        """Returns the values of the function's roots, for ``arguments`` and the ``states`` of variables.

        ``clock`` is extended by the time, in nanoseconds, after each step; ``watch`` is told of each op and the values
        of its outputs.
        """
        values = dict(self._constants)
        values.update(zip([op.value for op in self._function.parameters], arguments, strict=True))
        values.update({op.value: states[op.variable] for op in self._reads})
        bindings = {**self._bindings} if self._found else self._bindings
        checks_nan = flags.check_nan
        with np.errstate(all="ignore"):
            for op, dropped in self._steps:
                operands = [values[value] for value in op.operands]
                results = self.results_of(op, operands, bindings)
                if isinstance(op, WholeOp):
                    bindings.update({length.name: int(results[length.value.index]) for length in op.found})
                if checks_nan:
                    _check_nan(op, operands, results)
                if watch is not None:
                    watch(op, results)
                values.update(zip(op.outputs, results, strict=True))
                del operands, results  # an array dies with its last reader
                for value in dropped:
                    del values[value]
                if clock is not None:
                    clock.append(time.perf_counter_ns())
        return [values[value] for value in self._function.roots]

    def _runner(self, body: Function, bindings: Bindings) -> Callable[[Arrays], list[np.ndarray]]:
        """Returns a function from the parameters of a body to its results."""
        @cache
        def steps() -> StepList:  # made for the first run: there may be none
            check_possible(body, bindings)
            return StepList(body, bindings)
        return lambda arguments: [np.asarray(result) for result in steps().run(arguments, {})]

    def results_of(self, op: Op, operands: Arrays, bindings: Bindings) -> Arrays:
        """Returns the results of an op for these values of the symbols; its errors name it."""
        try:
            if isinstance(op, RegionOp):
                return run_region(op, operands, bindings, lambda body: self._runner(body, bindings))
            if isinstance(op, (Constant, Full)):
                return [static_value(op, bindings)]
            return results_of(op, operands, bindings)
        except NervureError:
            raise
        except MemoryError:
            raise op.fail(InvalidArgument, "there is not enough memory for the result", got=op,
                          help="nothing was changed by this call", expected="enough memory for the result") from None
        except Exception as error:
            error.add_note(f"while running {op!r}, built at {op.location}")
            raise


def _check_nan(op: Op, operands: Arrays, results: Arrays) -> None:
    """NumericError if an op has made a NaN from operands that have none."""
    if any(map(_has_nan, results)) and not any(map(_has_nan, operands)):
        raise op.fail(NumericError, "the result has a NaN and no operand has one", got=op,
                      help="nothing was changed by this call; flags.check_nan asks for this check",
                      expected="numbers and infinities")


def _has_nan(value: np.ndarray) -> bool:
    value = widen(value)
    return value.dtype.kind in "fc" and bool(np.isnan(value).any())
