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
from typing import NamedTuple, TypeVar

from nervure.bridges.torch.unsupported import Foreign
from nervure.types.dim import DimLike

Row = Callable[..., Foreign]
Function = TypeVar("Function", bound=Row)

ROWS: dict[str, Row] = {}
"""The rows by the names of their overloads."""

WITH_MEMORY: set[str] = set()
"""The overloads whose rows get the ``memory`` of the first operand, too."""


class TracedMemory(NamedTuple):
    """The memory of a tensor without gaps: its dimensions from the outermost, and the place of its first element.

    Of an argument of the graph, and a view of it, the place is that of the trace, which calls compare with theirs. It
    is None if symbols decide it.
    """

    order: tuple[int, ...]
    offset: DimLike | None


def row(*names: str) -> Callable[[Function], Function]:
    """Enters a function for these overloads, named as in ``"add.Tensor"``."""
    def enter(function: Function) -> Function:
        for name in names:
            ROWS[name] = function
        return function
    return enter


def memory_row(*names: str) -> Callable[[Function], Function]:
    """Enters a function for overloads whose meaning depends on how the first operand lies in memory.

    Unless it is None, their last argument names a place there.
    """
    WITH_MEMORY.update(names)
    return row(*names)
