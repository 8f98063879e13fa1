"""The names of ops in the text of a function: labels made unique, and numbers for ops without labels.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> first, second = nv.ops.Exp(x), nv.ops.Log(x)
>>> first.name = second.name = "logits"
>>> list(operation_names(nv.Function([first, second], [x])).values())
['0', 'logits', 'logits_1']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nervure.ir.leaves import Parameter
from nervure.ir.op import Op
from nervure.ir.scanner import name_text

if TYPE_CHECKING:
    from nervure.ir.function import Function


class Names:
    """Unique names: a label as it is or with ``_1, _2, ...``, and numbers without a label."""

    __slots__ = ("taken", "repeats", "unnamed")

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.repeats: dict[str, int] = {}
        self.unnamed = 0

    def choose(self, label: str | None) -> str:
        """Returns a name that has not been chosen before, as the text spells it."""
        if label is None:
            self.unnamed += 1
            return str(self.unnamed - 1)
        return name_text(self.unique(label))

    def unique(self, label: str) -> str:
        """Returns the label itself, or with a number behind it if it has been chosen before."""
        name = label
        while name in self.taken:
            self.repeats[label] = number = self.repeats.get(label, 0) + 1
            name = f"{label}_{number}"
        self.taken.add(name)
        return name


def operation_names(function: Function, anonymous: bool = False) -> dict[Op, str]:
    """Returns the name of each op, parameters first, as the text spells it; numbers alone if ``anonymous``."""
    names = Names()
    others = [op for op in function.operations if type(op) is not Parameter]
    return {op: names.choose(None if anonymous else op.name) for op in [*function.parameters, *others]}


def find_operation(function: Function, name: str) -> Op | None:
    """Returns the op of that name in the function's text, None if there is none."""
    wanted = (name_text(name), name)  # a label that looks like a number is quoted in text
    return next((op for op, own in operation_names(function).items() if own in wanted), None)
