"""Bodies of branches and loops: a function of tensors is traced once, and becomes a Function with operands.

What the function makes is inside. What it takes from around it, tensors and variables, becomes an operand; a variable
that it assigns becomes an operand and a further result.

>>> import nervure as nv
>>> w, scale = nv.variable((), 2.0), nv.constant(10.0)
>>> body = TracedBody("scan", [nv.constant(1.0)])
>>> with body.tracing():
...     results = [nv.sequential([nv.assign(w, w + body.tensors[0]), w * scale])]
>>> body.close([result.value for result in results])
>>> [variable is w.variable for variable in body.variables], body.written == {w.variable}
([True], True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from nervure import ops
from nervure.errors import InvalidArgument
from nervure.front import tensor as tensors
from nervure.front.arranging.found import positions_below
from nervure.front.creation import as_tensor
from nervure.front.effects import Effect
from nervure.front.placement import Placement
from nervure.front.tensor import Tensor
from nervure.ir.function import Function, moved
from nervure.ir.leaves import Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.provenance import INSIDE, NO_GRAD, current_metadata, metadata, on_behalf_of
from nervure.ir.region import crossing, made_inside, parameter_for
from nervure.ir.traverse import postorder, rebuild
from nervure.ir.variable import Variable
from nervure.ops.conversion import StraightThrough
from nervure.ops.order import Assign, Sequential, placed_operands
from nervure.types.index_map import IndexMap

_MARK = "body"
"""The metadata entry of the ops that are made while a body is traced: the bodies that are open, from the outermost."""


class TracedBody:
    """A body of the function ``name``, with a parameter for each tensor of ``like``; ``tensors`` are the parameters.

    After ``close`` its ``results`` are those given, then nothing else; ``outside`` maps each value that it takes from
    around it to the parameter for it, ``variables`` each variable that it reads or assigns, and ``state`` has the new
    values of those that are ``written``.
    """

    def __init__(self, name: str, like: Sequence[Tensor]) -> None:
        self.name, self.kind = name, f"a function that nv.{name} runs"
        with metadata(**{INSIDE: self.kind}):
            self.parameters = [parameter_for(entry.value) for entry in like]
        self.tensors = [Tensor(op.output, entry._axes) for op, entry in zip(self.parameters, like, strict=True)]
        self.outside: dict[Value, Parameter] = {}
        self.variables: dict[Variable, Parameter] = {}
        self.state: Mapping[Variable, Value] = {}
        self.results: list[Value] = []
        self.effects: list[Op] = []

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Marks what is made inside as made in this body."""
        opened = current_metadata().get(_MARK, ())
        assert isinstance(opened, tuple)
        with metadata(**{_MARK: (*opened, self)}), tensors.tracing(self.kind):
            yield

    def close(self, results: Sequence[Value]) -> None:
        """Takes the ``results`` of the traced function, in the order in which they are evaluated."""
        roots = [*results, *self._finders(results)]
        order = postorder([*self.parameters, *roots], None, placed_operands)
        inside = self._inside(order)
        table: dict[Value, Value] = {}
        for value in crossing(order, results, inside, placed_operands):
            parameter = self.outside[value] = parameter_for(value)
            table[value] = parameter.output
        rebuild([op for op in order if op in inside], table)
        placed = [table.get(value, value) for value in roots]
        placement = _Inside()
        for variable in _variables(postorder(placed, None, placed_operands)):
            parameter = self.variables[variable] = Parameter.of(variable.type)
            parameter.name = variable.name
            placement.supply(variable, parameter.output)
        self.results = [placement.place(value) for value in placed][:len(results)]
        self.state, self.effects = placement.state, placement.effects

    def close_leaves(self, leaves: Sequence[object], tensors: Sequence[Tensor | None],
                     carries: Sequence[Tensor] = ()) -> None:
        """Takes carries, then the ``leaves`` that the function gives, of which ``results`` has those with a value.

        ``tensors`` are the leaves as ``tensors_of_leaves`` gives them.
        """
        given = [leaf if tensor is None else tensor for leaf, tensor in zip(leaves, tensors, strict=True)]
        placed = [entry for entry in (*carries, *given) if isinstance(entry, (Tensor, Effect))]
        self.close([entry.value for entry in placed])
        self.results = [value for value, entry in zip(self.results, placed, strict=True) if isinstance(entry, Tensor)]

    @property
    def written(self) -> set[Variable]:
        """The variables that it assigns."""
        return {variable for variable, parameter in self.variables.items()
                if self.state[variable] is not parameter.output}

    def taking(self, outside: Sequence[Value]) -> list[Parameter]:
        """Returns a parameter for each of some values from outside, of which it may take a part."""
        return [self.outside[value] if value in self.outside else Parameter.of(value.type)
                for value in outside]

    def holding(self, variables: Sequence[Variable]) -> list[Parameter]:
        """Returns a parameter for each of some variables, of which it may use a part."""
        return [self.variables[each] if each in self.variables else Parameter.of(each.type)
                for each in variables]

    def new_value(self, variable: Variable, before: Parameter) -> Value:
        """Returns the value of a variable behind the body, where its parameter is ``before``."""
        return self.state[variable] if variable in self.variables else before.output

    def _finders(self, results: Sequence[Value]) -> list[Value]:
        """Returns values of the ops inside that find lengths of which the ``results`` use nothing but the length."""
        found = positions_below(results)
        inside = self._inside(postorder([*self.parameters, *found], None, placed_operands)) if found else ()
        return [value for value in found if value.op in inside]

    def _inside(self, order: Sequence[Op]) -> set[Op]:
        """Returns the ops that were made in this body, or depend on its parameters, and constants."""
        def is_own(op: Op) -> bool:
            marked = op.provenance.metadata.get(_MARK, ())
            return isinstance(marked, tuple) and self in marked
        return made_inside(order, self.parameters, is_own)

    def replace_reads(self, variable: Variable, value: Value) -> None:
        """Puts a value in place of the reads of a variable that is not written."""
        table = {self.variables[variable].output: value}
        rebuild([op for op in postorder([*self.effects, *self.results, *self.state.values()])
                 if not isinstance(op, Parameter)], table)
        self.results = [table.get(entry, entry) for entry in self.results]
        self.state = {key: table.get(entry, entry) for key, entry in self.state.items()}
        self.effects = [moved(op, table) for op in self.effects]

    def function(self, results: Sequence[Value], parameters: Sequence[Op]) -> Function:
        """Returns the body as a function with these results and parameters."""
        return Function(results, parameters, effects=self.effects, name=f"{self.name}_body")


class _Inside(Placement):
    """The state of a body: for derivatives what a variable has after an assignment is the variable, as elsewhere.

    So no derivative passes through the value that is assigned, in one iteration or from one to the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self._supplied: dict[Variable, Value] = {}

    def supply(self, variable: Variable, value: Value) -> None:
        super().supply(variable, value)
        self._supplied[variable] = value

    def write(self, variable: Variable, index_map: IndexMap | None, value: Value, op: Op) -> None:
        super().write(variable, index_map, value, op)
        if variable.type.dtype.is_inexact:
            entries = {name: entry for name, entry in op.provenance.metadata.items() if name != NO_GRAD}
            with on_behalf_of(op.provenance._replace(metadata=entries)):
                self.state[variable] = StraightThrough(self.state[variable], self._supplied[variable]).output


def _variables(order: Sequence[Op]) -> list[Variable]:
    """Returns the variables that are read or assigned, in order."""
    return list(dict.fromkeys([op.variable for op in order if isinstance(op, (ReadVariable, Assign))]))


def read_of(variable: Variable) -> Value:
    """Returns a mention of a variable, as its tensor gives it."""
    place = None if variable.handle is None else variable.handle[3]()
    value: Value = ReadVariable(variable).output if place is None else place.value
    return value


def tensors_of_leaves(leaves: Sequence[object], name: str, shown: Sequence[str]) -> list[Tensor | None]:
    """Returns the ``leaves`` of what a function gives as tensors, by the paths ``shown``; None for None and effects."""
    return [None if leaf is None or isinstance(leaf, Effect) else as_tensor(leaf, name, path)
            for leaf, path in zip(leaves, shown, strict=True)]


def after_assignments(values: Sequence[Value], written: Mapping[Variable, Value], effectful: bool,
                      name: str) -> list[Value]:
    """Returns values that, where they are placed, also assign new values to the variables that a body has written.

    Raises InvalidArgument if there is no value by which the op would be run.
    """
    if not values and (written or effectful):
        raise InvalidArgument("the function gives no value, so nothing would run it", op=name, got="effects alone",
                              expected="a result", help="return a value beside the effects: a number will do")
    if not written:
        return list(values)
    assigned = [Assign(value, variable, None).output for variable, value in written.items()]
    return [Sequential(*assigned, value).output for value in values]


def iteration_seed(seed: Value, iteration: Value) -> Value:
    """Returns the seed of one iteration: two words that depend on the seed outside and on its number, uint64."""
    low, high = [ops.Reshape(ops.Slice(seed, [(k, 1, 1)]), ()) for k in (0, 1)]
    words = ops.RandomKey(low, high, iteration, _STREAM).outputs
    return ops.Concatenate(*[ops.Reshape(word, (1,)) for word in words], axis=0).output


_STREAM = (1 << 64) - 1
"""The stream of the seeds of iterations, which no op has: those count up from 0 within the hash of a name scope."""
