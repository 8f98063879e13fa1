"""A family of models: how a small member is made, and an input for it.

>>> family = Family("builtins", "absolute values", lambda: (abs, (-3,), {}))
>>> model, inputs, named = family.make()
>>> model(*inputs, **named), family.is_trained
(3, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Made = tuple[Any, tuple[Any, ...], Mapping[str, Any]]
"""A model, and the arguments of a call of it, in order and by name."""


class Family(NamedTuple):
    """A member of a family in one of the libraries; ``is_trained`` tells whether its gradients are compared."""

    library: str
    name: str
    make: Callable[[], Made]
    is_trained: bool = True
