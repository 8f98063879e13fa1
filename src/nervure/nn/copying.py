"""Copies of modules: a module of the same form, with variables of its own that have the same values.

>>> import copy
>>> import nervure as nv
>>> layer = nv.nn.LinearLayer("F=2", "K=1", weights=0.5, bias=False)
>>> other = copy.deepcopy(layer)
>>> nv.transformers.default().set(layer.weights, [[3.0], [3.0]])
>>> other.weights.tolist(), layer.weights.tolist()
([[0.5], [0.5]], [[3.0], [3.0]])
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType

from nervure.errors import InvalidArgument
from nervure.front.creation import AssignableTensorOp
from nervure.front.record import known_record, record_of
from nervure.front.tensor import Tensor
from nervure.ir.leaves import ReadVariable
from nervure.ir.traverse import postorder
from nervure.ir.variable import Repeatable, Variable
from nervure.ops.order import value_operands
from nervure.transformers.cells import copy_cells

Memo = dict[int, object]
"""The copies made so far, also of variables, by the identity of the original, as ``copy.deepcopy`` passes them on."""


def remember_places(places: Iterable[AssignableTensorOp], memo: Memo) -> None:
    """Puts a copy of each place that has none yet into the memo. A copy has the type, axes, name and device of the
    place, and its value on each transformer; gradients and the slots of optimisers are not copied.
    """
    fresh = [place for place in places if id(place) not in memo]
    pairs = dict[Variable, Variable]()
    for place in fresh:
        variable = place.variable
        assert variable is not None
        pairs[variable] = Variable(variable.type, Repeatable(variable.initial_value), variable.name, variable.trainable,
                                   variable.persistent, variable.location)
        made = type(place).over(place.role, place._axes, variable=pairs[variable])
        record = known_record(place)
        if record is not None and record.device is not None:
            record_of(made).device = record.device
        memo[id(place)], memo[id(variable)] = made, pairs[variable]
    copy_cells(pairs)


def copied_fields(module: object, memo: Memo) -> Iterator[tuple[str, object]]:
    """Yields the copied fields of a module; InvalidArgument for a tensor that is computed from a place with a copy."""
    for name, value in vars(module).items():
        for entry in _tensors(value):
            reads = [] if isinstance(entry, AssignableTensorOp) else [
                op.variable for op in postorder([entry.value], None, value_operands) if type(op) is ReadVariable]
            read = next((variable for variable in reads if id(variable) in memo), None)
            if read is not None:
                raise InvalidArgument(f"{name} is computed from a parameter of the module, and a copy of it would be "
                                      "computed from the same one", op="deepcopy", operand=name,
                                      got=f"{entry!r:.60}, which reads {read.name or 'a variable'}",
                                      expected="parameters, modules and values as fields",
                                      help="compute it in forward")
        yield name, copy.deepcopy(value, memo)


def _tensors(value: object) -> Iterator[Tensor]:
    """Yields the tensors that a field holds: itself, or in objects that ``copy.deepcopy`` copies part by part."""
    waiting, seen = [value], set[int]()
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, Tensor):
            yield entry
        elif id(entry) not in seen and not isinstance(entry, (type, FunctionType, ModuleType)) and not hasattr(
                type(entry), "__deepcopy__"):
            seen.add(id(entry))
            waiting.extend(gc.get_referents(entry))
