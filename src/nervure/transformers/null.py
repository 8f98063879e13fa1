"""A transformer that compiles and runs nothing.

Functions are checked and decomposed, arguments are checked, symbols are bound; the results are zeros of the right
types, and variables keep their values. It measures the cost of everything except the computing.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> nv.transformers.make_transformer("null").compile(nv.Function([nv.ops.Add(x, x)], [x]))(np.float32([1, 2]))
(array([0., 0.], dtype=float32),)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.op import Op
from nervure.ir.variable import Variable
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.binding import Bindings
from nervure.transformers.memory_estimate import numbers


class NullExecutable(Executable):
    """Makes zeros in place of results."""

    def specialise(self, bindings: Bindings) -> list[tuple[tuple[int, ...], np.dtype]]:
        return [(numbers(value.type.shape, bindings), value.type.dtype.numpy) for value in self.function.results]

    def run(self, specialised: list[tuple[tuple[int, ...], np.dtype]], arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        return [*[np.zeros(shape, dtype) for shape, dtype in specialised],
                *[states[variable] for variable, _ in self.function.updates]]


class NullTransformer(Transformer):
    """Supports every op, since it runs none."""

    name = "null"

    def supports(self, op_class: type[Op]) -> bool:
        return not issubclass(op_class, Composite)

    def make_executable(self, function: Function) -> Executable:
        return NullExecutable(function, self)
