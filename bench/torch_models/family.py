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


def without_dropout(model: Any) -> None:
    """Sets all rates of dropout to 0: masks that differ would hide all else."""
    for module in model.modules():
        for name in ("p", "drop_prob", "drop_rate", "dropout", "attn_drop", "dropout_p", "attention_dropout",
                     "activation_dropout", "layerdrop", "hidden_dropout", "dropout_prob", "dropout_rate"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


def without_zeros(model: Any) -> None:
    """Draws the weights that are all 0 at first, which would hide what is before them."""
    for parameter in model.parameters():
        if parameter.dim() > 1 and not parameter.any():
            parameter.data.normal_(std=0.1)
