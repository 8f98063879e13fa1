"""Optimisers: from a loss to the effect that improves its variables.

>>> import nervure as nv
>>> w = nv.variable((), 1.0)
>>> step = nv.computation([w * w, Adam(learning_rate=0.5)(w * w)])
>>> [round(float(step()[0]), 3) for _ in range(2)]
[1.0, 0.25]
"""

from nervure.optim.adam import Adam

__all__ = ["Adam"]
