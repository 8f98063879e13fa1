"""The table: for an overload of ATen, a function that builds the same of core ops.

A row gets the type that PyTorch declares for the result (a tuple of types for several results), then all arguments of
the overload's schema in order, with the defaults filled in: values of the graph, numbers, lists, None. It raises
Unsupported for arguments that it does not translate, and then PyTorch runs the op itself.

>>> @row("example.default")
... def example(result, x, y):
...     return x
>>> ROWS.pop("example.default") is example
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nervure.bridges.torch.unsupported import Foreign

Row = Callable[..., Foreign]
Function = TypeVar("Function", bound=Row)

ROWS: dict[str, Row] = {}
"""The rows by the names of their overloads."""


def row(*names: str) -> Callable[[Function], Function]:
    """Enters a function for these overloads, named as in ``"add.Tensor"``."""
    def enter(function: Function) -> Function:
        for name in names:
            ROWS[name] = function
        return function
    return enter
