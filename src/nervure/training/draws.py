"""The random numbers of one training: a seed and a step of its own, which no other computation advances.

They start from the transformer's random state when a training begins, and the transformer continues after them when it
ends. So two trainings side by side draw the numbers that each would draw alone.

>>> import nervure as nv
>>> nv.seed(3)
>>> draws, transformer = Draws(), nv.transformers.default()
>>> draws.begin(transformer)
>>> _ = nv.evaluate(nv.uniform((2,)))
>>> draws.get(transformer), int(transformer.get(STEP))
((3, 0, 0), 1)
"""

from __future__ import annotations

import numpy as np

from nervure.front.random import SEED, STEP
from nervure.ir.function import Function
from nervure.ir.identity import Uncopyable
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Value
from nervure.ir.variable import Variable
from nervure.transformers.base import Transformer

Random = tuple[int, int, int]
"""The seed of random numbers as two words, and their step."""


class Draws(Uncopyable):
    """Variables for seed and step that replace those that all computations of a transformer share."""

    def __init__(self) -> None:
        self.seed, self.step = [Variable(shared.type, 0, shared.name, is_local=True) for shared in (SEED, STEP)]

    def of(self, function: Function) -> Function:
        """Returns the function with its draws made from these variables."""
        own = {SEED: self.seed, STEP: self.step}
        table = dict[Value, Value]()
        for op in function.operations:
            if isinstance(op, ReadVariable) and op.variable in own:
                read = ReadVariable(own[op.variable])
                read.name = op.name
                table[op.outputs[0]] = read.outputs[0]
        made = function.rebuilt(replaced=table) if table else function
        return Function(made.results, made.parameters, [(own.get(variable, variable), value)
                                                        for variable, value in made.updates],
                        made.effects, made.assumptions, made.name)

    def begin(self, transformer: Transformer) -> None:
        """Starts from the random state of a transformer."""
        found = transformer.snapshot([SEED, STEP])
        transformer.restore({self.seed: found[SEED], self.step: found[STEP]})

    def end(self, transformer: Transformer) -> None:
        """Advances the random state of a transformer past these draws, if it has the same seed."""
        found = transformer.snapshot([SEED, STEP, self.seed, self.step])
        if (found[SEED] == found[self.seed]).all() and found[STEP] < found[self.step]:
            transformer.restore({STEP: found[self.step]})

    def get(self, transformer: Transformer) -> Random:
        """Returns the current random state."""
        found = transformer.snapshot([self.seed, self.step])
        low, high = found[self.seed].tolist()
        return low, high, int(found[self.step])

    def cells(self, random: Random) -> dict[Variable, np.ndarray]:
        """Returns the values of the variables, these and the shared ones, for a random state."""
        seed, step = np.array(random[:2], np.uint32), np.array(random[2], np.uint64)
        return {self.seed: seed, SEED: seed, self.step: step, STEP: step}
