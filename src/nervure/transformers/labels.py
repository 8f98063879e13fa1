"""The labels of what enters and leaves a function: the names of axes that its values carry.

>>> import nervure as nv
>>> x, w = nv.placeholder("N=2, F=3"), nv.variable("F=3")
>>> sorted(classes(nv.computation(nv.dot(x, w), x).function))
['F', 'N']
"""

from __future__ import annotations

from nervure.ir.function import Function
from nervure.ir.leaves import ReadVariable
from nervure.ir.variable import Variable
from nervure.types.description import Labels
from nervure.types.mesh import class_of


def variable_labels(function: Function) -> dict[Variable, Labels | None]:
    """Returns the labels of each variable of a function: those with which it is read, or those of its new value."""
    found: dict[Variable, Labels | None] = {variable: value.labels for variable, value in function.updates}
    found.update({op.variable: op.output.labels for op in function.operations
                  if isinstance(op, ReadVariable) and op.output.labels is not None})
    return found


def classes(function: Function) -> list[str]:
    """Returns the classes of the axes of a function's parameters, variables and results."""
    listed = [op.output.labels for op in function.parameters]
    listed += [*variable_labels(function).values(), *[value.labels for value in function.results]]
    return list(dict.fromkeys([class_of(label) for labels in listed for label in labels or () if label is not None]))
