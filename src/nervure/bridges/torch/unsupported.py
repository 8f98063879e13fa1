"""The reason why PyTorch has to run an op itself, and the type of what comes from it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

Foreign = Any
"""A value of PyTorch's, or one whose type its graphs decide; type checkers read none of PyTorch's own types."""


class Unsupported(Exception):
    """Raised by a row of the table for arguments that it does not translate; the text says which they are."""


class UnknownLengths(Unsupported):
    """Raised for a graph with ``symbols`` that no argument of it tells."""

    def __init__(self, symbols: Set[str]) -> None:
        super().__init__(f"the symbols {', '.join(sorted(symbols))}, which no argument tells")
        self.symbols = symbols
