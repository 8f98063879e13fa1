"""The interpreter: the reference transformer, which runs a Function op by op over NumPy.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with Interpreter() as interpreter:
...     interpreter.compile(nv.Function([x * 2.0], [x]))(np.float32([1, 2]))
(array([2., 4.], dtype=float32),)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.ir.variable import Variable
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.binding import Bindings
from nervure.transformers.interpreter.evaluate import supports
from nervure.transformers.interpreter.step_list import StepList

if TYPE_CHECKING:
    from nervure.transformers.report import Times

class InterpreterExecutable(Executable):
    """A function as a list of steps, one list for each binding of its symbols."""

    def specialise(self, bindings: Bindings) -> StepList:
        return StepList(self.function, bindings)

    def run(self, specialised: StepList, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        return specialised.run(arguments, states)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        from nervure.transformers.report import Times
        program = self._specialised(bindings)
        ticks = []
        for _ in range(repeat + 1):
            ticks.append([time.perf_counter_ns()])
            program.run(arguments, states, ticks[-1])
        seconds = np.diff(np.array(ticks[1:], np.int64), axis=1) * 1e-9
        return Times(tuple(np.median(seconds, axis=0).tolist()), float(np.median(seconds.sum(axis=1))))


class Interpreter(Transformer):
    """Runs every op that has one of the kinds of meaning, and the effects."""

    name = "interpreter"

    def supports(self, op_class: type[Op]) -> bool:
        return issubclass(op_class, Leaf) or supports(op_class)

    def make_executable(self, function: Function) -> Executable:
        return InterpreterExecutable(function, self)
