"""Descriptions of the values of a compiled function: the memory and the layout of each, if it is stored at all.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> turned = nv.ops.Permute(x, (1, 0))
>>> function = nv.Function([nv.ops.Exp(turned)], [x])
>>> for value, described in described_values(function, {x.value: (Home("argument", 0), row_major((2, 3)))}).items():
...     print(type(value.op).__name__, described.layout, described.storage)
Parameter strides (3, 1) argument 0
Permute strides (1, 3) argument 0
Exp None None
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Constant, Full, ReadVariable
from nervure.ir.op import Value
from nervure.types.axes import make_axes
from nervure.types.description import TensorDescription
from nervure.types.layout import Layout, row_major
from nervure.types.view import SimpleView


class Home(NamedTuple):
    """The memory of a value, by kind and number. The kinds are an argument, a variable, a root (a result, or a new
    value of a variable), a constant, and the call's own memory (temporary, or derived, which stays for further calls).
    ``offset`` is its place in the block of a call, in bytes, if the sizes are known.
    """

    kind: str
    number: int
    offset: int | None = None

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        return f"{self.kind} {self.number}{place}"


Homes = Mapping[Value, tuple[Home, Layout]]

_READ_ONLY = ("argument", "constant")


def described_values(function: Function, homes: Homes) -> dict[Value, TensorDescription]:
    """Returns the description of each value of a function, in its order. ``homes`` are the values with memory of their
    own. A view lies in the memory of the viewed value, if strides can describe it, and other values are computed by
    their readers.
    """
    found: dict[Value, TensorDescription] = {}
    memory: dict[Value, Home | None] = {}
    for op in function.operations:
        view = op.view if isinstance(op, View) else None
        base = found[op.operands[0]] if view is not None and len(op.operands) == 1 else None
        for value in op.outputs:
            home, layout = homes.get(value, (None, None))
            read_only = home is None or home.kind in _READ_ONLY
            if home is None and base is not None and isinstance(view, SimpleView) and base.layout is not None:
                layout = view.layout(base.layout)
                home = memory[op.operands[0]] if layout is not None else None
                read_only = base.read_only or layout is None or view.is_injective() is not True
            memory[value] = home
            found[value] = TensorDescription(
                value.dtype, make_axes(value.shape), read_only, layout, base_tensor=base, storage=home,
                view=None if base is None else view)
    return found


def each_by_itself(function: Function) -> dict[Value, tuple[Home, Layout]]:
    """Gives each value that is no view of another its own memory, row-major, as an interpreter does."""
    parameters = {op.output: number for number, op in enumerate(function.parameters)}
    variables = {variable: number for number, variable in enumerate(function.variables)}
    roots = {value: number for number, value in reversed(list(enumerate(function.roots)))}
    homes: dict[Value, tuple[Home, Layout]] = {}
    for op in function.operations:
        if isinstance(op, View) and isinstance(op.view, SimpleView):
            continue
        for value in op.outputs:
            if value in parameters:
                home = Home("argument", parameters[value])
            elif isinstance(op, ReadVariable):
                home = Home("variable", variables[op.variable])
            elif isinstance(op, (Constant, Full)):
                home = Home("constant", len(homes))
            else:
                home = Home("root", roots[value]) if value in roots else Home("temporary", len(homes))
            kept = op.variable.type.layout if isinstance(op, ReadVariable) else None
            homes[value] = home, row_major(value.shape) if kept is None else kept
    return homes
