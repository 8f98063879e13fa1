"""The lengths for which PyTorch has traced a model, as equations: a branch on lengths has taken one of its ways.

>>> import torch
>>> class Halves(torch.nn.Module):
...     def forward(self, x):
...         return x[:, ::2] if x.shape[1] % 2 == 0 else x
>>> auto = torch.export.Dim.AUTO
>>> condition, = conditions_of(torch.export.export(Halves(), (torch.ones(3, 6),), dynamic_shapes=({1: auto},)))
>>> str(condition.left).endswith(" % 2"), condition.right
(True, 0)
"""

from __future__ import annotations

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils._sympy.functions import Mod, PythonMod

from nervure.bridges.torch.imported_module import Condition
from nervure.bridges.torch.traced_sizes import LARGEST, dimension
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.errors import NervureError
from nervure.types.dim import DimLike, dim_max, dim_min


def conditions_of(program: ExportedProgram) -> tuple[Condition, ...]:
    """Returns what has to hold of lengths where a program is what its model computes: guards and declared ranges.

    PyTorch takes lengths of 0 and 1 for numbers, and calls with them are not asked for that. Guards that are no
    relations of integers are left out.
    """
    environment = _environment(program)
    found = [] if environment is None else [
        condition for guard in environment.guards for condition in _conditions(environment.replace(guard.expr))]
    for expression, ends in program.range_constraints.items():
        length = dimension(expression, {})
        found += [_at_most(int(ends.lower), length)] if 2 < ends.lower < LARGEST else []
        found += [_at_most(length, int(ends.upper))] if ends.upper < LARGEST else []
    return tuple(dict.fromkeys([entry for entry in found if entry.left != entry.right]))


def _environment(program: ExportedProgram) -> Foreign:
    """Returns what PyTorch knows of the lengths of a program; None if all are numbers."""
    for node in program.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for length in value.shape if isinstance(value, torch.Tensor) else (value,):
            if isinstance(length, torch.SymInt):
                return length.node.shape_env
    return None


def _conditions(guard: Foreign) -> list[Condition]:
    if isinstance(guard, sympy.And):
        return [condition for part in guard.args for condition in _conditions(part)]
    if not isinstance(guard, sympy.core.relational.Relational) or _is_about_one(guard):
        return []
    try:
        left, right = [dimension(part, {}) for part in guard.args]
    except (Unsupported, NervureError):
        return []
    if isinstance(guard, sympy.Eq):
        return [Condition(left, right)]
    if isinstance(guard, sympy.Ne):
        square = (left - right) * (left - right)
        return [_at_most(1, square)]
    if isinstance(guard, (sympy.Ge, sympy.Gt)):
        left, right = right, left
    return [_at_most(left + isinstance(guard, (sympy.Lt, sympy.Gt)), right)]


def _is_about_one(guard: Foreign) -> bool:
    """Whether a guard says that a length is not 0 or 1, which decides how PyTorch would broadcast and lay it out."""
    if not isinstance(guard, (sympy.Ne, sympy.Ge, sympy.Gt)) or isinstance(guard.lhs, (Mod, PythonMod)):
        return False
    least = {sympy.Ne: (0, 1), sympy.Ge: (0, 1, 2), sympy.Gt: (0, 1)}
    return guard.rhs in least[guard.func]


def _at_most(left: DimLike, right: DimLike) -> Condition:
    if isinstance(right, int):
        return Condition(dim_min(left, right), left)
    return Condition(dim_max(left, right), right)
