"""The best weights of a training: kept while it runs, and put in place of the last ones when it ends.

>>> import numpy as np
>>> import nervure as nv
>>> w, transformer = nv.variable((), 1.0).variable, nv.transformers.default()
>>> best = BestWeights(transformer)
>>> best.note(10, [w])
>>> transformer.set(w, 2.0)
>>> best.put(10), transformer.get(w).item()
(True, 1.0)
>>> best.go_back()
>>> transformer.get(w).item()
2.0

To continue, a training needs the last weights: they are remembered for as long as nothing else has changed the best
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from nervure.ir.variable import Variable
from nervure.transformers.base import Transformer

Values = Mapping[Variable, np.ndarray]


class BestWeights:
    """The best weights on a transformer, and the step that they belong to."""

    def __init__(self, transformer: Transformer) -> None:
        self._transformer = transformer
        self._steps: int | None = None
        self._best: Values = {}
        self._last: Values | None = None

    def note(self, steps: int, variables: Iterable[Variable]) -> None:
        """Records the current weights, after ``steps`` steps, as the best so far."""
        self._steps, self._best = steps, self._now(variables)

    def put(self, steps: int, otherwise: Callable[[], Values | None] = lambda: None) -> bool:
        """Puts the weights after ``steps`` steps in place of the last ones. False if they are not known and
        ``otherwise`` does not return them.
        """
        found = self._best if self._steps == steps else otherwise()
        if found is None:
            return False
        self._steps, self._best, self._last = steps, found, self._now(found)
        self._transformer.restore(dict(found))
        return True

    def go_back(self) -> None:
        """Puts the last weights back, unless the best ones were changed since."""
        if self._last is not None and self._are_in_place():
            self._transformer.restore(dict(self._last))
        self._last = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """Puts the last weights back for the duration of a ``with`` block."""
        last = self._last if self._last is not None and self._are_in_place() else {}
        self._transformer.restore(dict(last))
        try:
            yield
        finally:
            if last:
                self._transformer.restore(dict(self._best))

    def forget(self) -> None:
        """Forgets all weights, as another training begins."""
        self._steps, self._best, self._last = None, {}, None

    def _are_in_place(self) -> bool:
        found = self._transformer.snapshot(list(self._best))
        return all([found[variable].tobytes() == value.tobytes() for variable, value in self._best.items()])

    def _now(self, variables: Iterable[Variable]) -> dict[Variable, np.ndarray]:
        listed = list(variables)
        found = self._transformer.snapshot(listed)
        return {variable: np.array(found[variable], copy=True) for variable in listed}
