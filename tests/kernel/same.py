"""Whether two kernels are one but for what their variables are and how their loop indices are numbered."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from nervure.kernel.ir import Address, Buffer, Kernel, Literal, Loop, Variable
from nervure.kernel.loop_index import LoopIndex, substitute_indices
from nervure.types.dim import Dim, DimLike


def differences(one: Kernel, other: Kernel) -> list[str]:
    """Where two kernels differ, apart from their origins."""
    found = _Comparison()
    for name in ("name", "buffers", "body"):
        found.compare(name, getattr(one, name), getattr(other, name))
    return found.differences


class _Comparison:
    def __init__(self) -> None:
        self.differences: list[str] = []
        self._variables: dict[Variable, Variable] = {}
        self._indices: dict[LoopIndex, LoopIndex] = {}

    def compare(self, where: str, one: Any, other: Any) -> None:
        """Notes in which places two things differ."""
        if type(one) is not type(other) and not (isinstance(one, Dim | int) and isinstance(other, Dim | int)):
            self.differences.append(f"{where}: {one!r} and {other!r}")
        elif isinstance(one, Buffer | Literal):
            if repr(one) != repr(other):
                self.differences.append(f"{where}: {one!r} and {other!r}")
        elif isinstance(one, Address):
            self._addresses(where, one, other)
        elif isinstance(one, tuple):
            self.compare(f"{where}: length", len(one), len(other))
            for number, pair in enumerate(zip(one, other, strict=False)):
                self.compare(f"{where}[{number}]", *pair)
        elif is_dataclass(one):
            self._dataclasses(where, one, other)
        elif not self._is_same(one, other):
            self.differences.append(f"{where}: {one!r} and {other!r}")

    def _is_same(self, one: Any, other: Any) -> bool:
        if isinstance(one, Variable):
            return one.dtype is other.dtype and self._variables.setdefault(one, other) is other
        if isinstance(one, LoopIndex):
            return self._indices.setdefault(one, other) is other
        return self._renumbered(one) == other if isinstance(one, Dim | int) else one == other

    def _dataclasses(self, where: str, one: Any, other: Any) -> None:
        if isinstance(one, Loop):
            self._indices.update(zip([index for index, _ in one.indices], [index for index, _ in other.indices],
                                     strict=False))
        for entry in fields(one):
            self.compare(f"{where}.{entry.name}", getattr(one, entry.name), getattr(other, entry.name))

    def _addresses(self, where: str, one: Address, other: Address) -> None:
        """The order of steps means nothing."""
        steps = {self._indices.get(index, index): step for index, step in one.steps}
        if steps != dict(other.steps) or len(one.steps) != len(other.steps):
            self.differences.append(f"{where}: {steps} and {other.steps}")
        self.compare(f"{where}.base", one.base, other.base)
        self.compare(f"{where}.terms", one.terms, other.terms)

    def _renumbered(self, x: DimLike) -> DimLike:
        return substitute_indices(x, {index: other.dim for index, other in self._indices.items()})
