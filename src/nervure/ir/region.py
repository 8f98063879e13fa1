"""A region: a Function inside an op, with the values that it uses from outside made operands.

A branch or the body of a loop is written with values of the graph outside. An op may not refer to them from inside, so
each captured value becomes a parameter of its Function and an operand of the op that holds it:

>>> import nervure as nv
>>> outside = nv.Parameter(nv.float32, (3,)) * 2.0
>>> x = nv.Parameter(nv.float32, (3,))
>>> region = Region.of([x + outside], [x])
>>> region
Region(f32[3] | f32[3]) -> (f32[3])
>>> region.captured == (outside,)
True
>>> y = nv.Parameter(nv.float32, (3,))
>>> region(y)
(f32[3] Add(Parameter, Multiply),)

A region is an attribute of kind "function" (its ``body``); the op's operands are its own, then ``captured``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.errors import InvalidArgument
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Op, Operand, Value, as_value
from nervure.ir.traverse import postorder, rebuild
from nervure.types.frozen import Frozen, put


class Region(Frozen):
    """``body`` is a pure Function of the region's own parameters, followed by one parameter for each captured value.

    ``captured`` are these values, in the order in which the body first uses them; ``arity`` counts the own parameters.
    """

    __slots__ = ("arity", "body", "captured")
    _plural = "regions"
    _instead = "make another: Region(body, captured), or Region.of(results, parameters)"
    arity: int
    body: Function
    captured: tuple[Value, ...]

    def __init__(self, body: Function, captured: Sequence[Value]) -> None:
        put(self, "body", body)
        put(self, "captured", tuple(captured))
        put(self, "arity", len(body.parameters) - len(self.captured))
        for parameter, value in zip(body.parameters[self.arity:], self.captured, strict=True):
            if parameter.output.type != value.type:
                raise InvalidArgument("a captured value has another type than its parameter", op="Region",
                                      got=value.type, expected=parameter.output.type)

    @classmethod
    def of(cls, results: Iterable[Operand], parameters: Iterable[Operand]) -> Region:
        """Returns the region of results that are written with ``parameters`` (Parameter ops) and any values outside.

        Ops that depend on a parameter, and constants, are in the body; every other value that the body uses is
        captured. Effects below the results that depend on no parameter stay outside: they happen once, where they are.
        """
        outputs = [as_value(result) for result in results]
        own = [as_value(parameter).op for parameter in parameters]
        order = postorder([*own, *outputs])
        inside = _inside(order, own)
        table: dict[Value, Value] = {}
        for value in _crossing(order, outputs, inside):
            parameter = Parameter(value.type.dtype, value.type.shape)
            parameter.name = value.op.name
            parameter.outputs[0].labels = value.labels
            table[value] = parameter.outputs[0]
        captured = tuple(table)
        rebuild([op for op in order if op in inside], table)
        body = Function([table.get(value, value) for value in outputs],
                        [*own, *[table[value] for value in captured]], name="region")
        return cls(body, captured)

    def __call__(self, *operands: Operand) -> tuple[Value, ...]:
        """Returns the results as an expression over other values in place of the own parameters; captured values stay.
        """
        return self.body(*operands, *self.captured)

    def __repr__(self) -> str:
        types = [str(parameter.output.type) for parameter in self.body.parameters]
        own, taken = ", ".join(types[:self.arity]), ", ".join(types[self.arity:])
        results = ", ".join(str(value.type) for value in self.body.results)
        return f"Region({own} | {taken}) -> ({results})"


def _inside(order: Iterable[Op], own: Sequence[Op]) -> set[Op]:
    """Returns the ops of the body: the parameters, the ops that depend on them, and constants."""
    inside = set(own)
    for op in order:
        if isinstance(op, (Constant, Full)) or any([operand.op in inside and not _is_constant(operand.op)
                                                    for operand in op.operands]):
            inside.add(op)
    return inside


def _is_constant(op: Op) -> bool:
    return isinstance(op, (Constant, Full))


def _crossing(order: Iterable[Op], outputs: Sequence[Value], inside: set[Op]) -> list[Value]:
    """Returns the values from outside that the body uses, each once, in the order of their first use."""
    used = [operand for op in order if op in inside for operand in op.operands]
    return list(dict.fromkeys([value for value in (*used, *outputs) if value.op not in inside]))
