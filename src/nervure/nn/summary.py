"""Summaries: a line for each call of a module, with its result, its parameters and its operations.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer("F=784", "K=10"), nv.nn.ReLU())
>>> print(model.summary("N=n, F=784"))
module          result          bytes  parameters  their bytes  operations
Sequential      f32[N=n, K=10]  40*n   7,850       31,400       15700*n
  0 LinearLayer f32[N=n, K=10]  40*n   7,850       31,400       15690*n
  1 ReLU        f32[N=n, K=10]  40*n   0           0            10*n
7,850 parameters, 31,400 bytes; buffers 0 bytes
"""

from __future__ import annotations

from dataclasses import dataclass

from nervure.front import display
from nervure.types.dim import DimLike

HEADS = ("module", "result", "bytes", "parameters", "their bytes", "operations")


@dataclass(frozen=True)
class Line:
    """One call of a module: its ``name`` and class, and the type of the result with its size in bytes. ``parameters``
    counts those of the module and all inside, with their bytes. ``operations`` counts those of the call (an addition
    is 1, a function such as exp 16). Sizes are numbers, or expressions over symbols.
    """

    depth: int
    name: str
    kind: str
    result: str
    result_bytes: DimLike
    parameters: int
    parameter_bytes: int
    operations: DimLike

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as texts, in the order of the heads."""
        title = "  " * self.depth + " ".join([part for part in (self.name, self.kind) if part])
        return title, self.result, *[_amount(number) for number in (
            self.result_bytes, self.parameters, self.parameter_bytes, self.operations)]


@dataclass(frozen=True, repr=False)
class Summary:
    """The lines of a summary in the order of the calls, and the totals, in which shared parameters count once."""

    lines: tuple[Line, ...]
    parameters: int
    parameter_bytes: int
    buffer_bytes: int

    def __str__(self) -> str:
        rows = [HEADS, *[line.cells for line in self.lines]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        texts = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip()
                 for row in rows]
        return "\n".join([*texts, self.totals])

    __repr__ = __str__

    @property
    def totals(self) -> str:
        """The last line, with the totals."""
        return (f"{self.parameters:,} parameters, {self.parameter_bytes:,} bytes; "
                f"buffers {self.buffer_bytes:,} bytes")

    def _repr_html_(self) -> str:
        return display.table(HEADS, [line.cells for line in self.lines], self.totals)


def _amount(number: DimLike) -> str:
    return f"{number:,}" if isinstance(number, int) else str(number)


__all__ = ["Line", "Summary"]
