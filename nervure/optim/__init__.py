"""Optimisers: from a loss to the effect that improves its variables.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> step = nv.computation([w * w, Adam(learning_rate=0.5)(w * w)])
>>> [round(float(step()[0]), 3) for _ in range(2)]
[1.0, 0.25]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.elsewhere import unknown_optimiser
from nervure.optim.adam import Adam

__all__ = ["Adam"]


if not TYPE_CHECKING:  # to a type checker what is missing is missing
    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module 'nervure.optim' has no attribute {name!r}")
        raise unknown_optimiser(name, __all__)
