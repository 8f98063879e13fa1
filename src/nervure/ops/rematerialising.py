"""To rematerialise: values are made again rather than kept, and what is made again stays apart from what was before.

``Checkpoint`` runs a function whose derivative keeps the operands alone, and makes everything inside again:

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> op = Checkpoint(nv.Parameter(nv.float32, (3,)), body=nv.Function([nv.ops.Exp(nv.ops.Exp(x))], [x]))
>>> op
f32[3] Checkpoint(Parameter)

What is made again reads its operands through ``After``: each is the value itself, as one that is there only when some
other values exist. So equal ops in front of it and behind it never become one, and nothing behind it is made early.

>>> gradient = nv.Parameter(nv.float32, (3,))
>>> again = After(op.operands[0], gradient)
>>> again.output.type == op.operands[0].type, again.view.index_map.is_identity((3,))
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from nervure.errors import InvalidArgument
from nervure.ir.function import Function, function_attribute
from nervure.ir.leaves import Constant, Full, Parameter
from nervure.ir.op import Gradients, Op, Operand, Tangents, Value, as_value, in_front
from nervure.ir.region import (
    AlongDirections,
    Batched,
    Differentiate,
    ForAll,
    RegionOp,
    Tangent,
    differing,
    without_effects,
)
from nervure.ir.traverse import postorder
from nervure.ops.random import Random, note_draw
from nervure.ops.views import Described
from nervure.types import view as views
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike


class After(Described):
    """The first operand itself, as a value that exists only after the others, which may be of any type.

    It has no loops and no memory. Ops that read it run after what makes the others, where an order has to be chosen.
    """

    operand_names = "x *others"
    composes = False  # else the order would be lost

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        if not types:
            raise self.fail(InvalidArgument, "there is no value", operand="x", got="no operands",
                            expected="one or more", help=f"write {self.usage()}")
        return types[0].with_(layout=None)

    def description(self, types: tuple[BasicTensorDescription, ...]) -> views.AssumedView:
        return views.AssumedView(types[0].shape, types[0].shape)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (self.operands[0].labels,)

    def vjp(self, gradient: Value, x: Value, *others: Value) -> Gradients:
        return (gradient, *[None] * len(others))

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        tangent = tangents[0]
        return (None if tangent is None else later(as_value(tangent), operands[1:]),)

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Sequence[Operand]:
        return After(operands[0] if mapped[0] else in_front(operands[0], length), *operands[1:]).outputs


_is_at_once: ContextVar[bool] = ContextVar("is_at_once", default=False)


@contextmanager
def at_once() -> Iterator[None]:
    """Has ``later`` return values as they are: nothing is made again for tangents, which are made along with values."""
    token = _is_at_once.set(True)
    try:
        yield
    finally:
        _is_at_once.reset(token)


def later(value: Value, others: Sequence[Value]) -> Value:
    """Returns a value as one that exists after some others; numbers and constants as they are."""
    is_same = _is_at_once.get() or isinstance(value.op, (Full, Constant))
    return value if is_same else After(value, *others).output


class Checkpoint(RegionOp):
    """The results of a function of the operands; its derivative makes all that is inside of the function again.

    Effects inside happen once.
    """

    body_fields = ("body",)
    body = function_attribute()

    def __init__(self, *arguments: object, **attributes: object) -> None:
        super().__init__(*arguments, **attributes)
        if draws_numbers(self):
            note_draw(self)

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        self.require_pure()
        self.require_parameters("body", self.body, types)
        return tuple([value.type for value in self.body.results])

    def differentiated(self, gradients: Sequence[Value | None], wanted: Sequence[bool],
                       differentiate: Differentiate) -> Gradients:
        seeds = [gradient for gradient in gradients if gradient is not None]
        own = [later(operand, seeds) for operand in self.operands]
        results = without_effects(self.body)(*own)
        sources = [result for result, gradient in zip(results, gradients, strict=True) if gradient is not None]
        chosen = [at for at, is_wanted in enumerate(wanted) if is_wanted]
        given = differentiate(sources, [own[at] for at in chosen], seeds)
        made = [gradient for gradient in given if gradient is not None]
        found: list[Value | None] = [None] * len(own)
        for at, gradient in zip(chosen, given, strict=True):
            # each exists after all: what is made again is gone before the derivative goes on
            found[at] = None if gradient is None else later(gradient, made)
        return found

    def along(self, directions: Sequence[Value | None], tangents: AlongDirections) -> list[Value | None]:
        """Returns the tangents of the outputs, in which what is inside is made again, too.

        The parameters are those of ``RegionOp``.
        """
        moving = [at for at, direction in enumerate(directions) if direction is not None]
        inside = Tangent.of(without_effects(self.body), moving, tangents)
        body = Function([value for value in inside.found if value is not None],
                        [*inside.own, *inside.given.values(), *inside.outside.values()],
                        name=f"{self.body.name}_tangents")
        operands = [*self.operands, *[directions[at] for at in moving], *inside.outside]
        made = iter(Checkpoint(*operands, body=body).outputs)
        return [None if value is None else next(made) for value in inside.found]

    def for_each(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched,
                 draws: bool) -> Sequence[ForAll]:
        """Returns the outputs for many elements at once, from one function of all of them.

        ``mapped`` has the operands for all elements, where they differ. ``batched`` maps the inside, as
        ``nervure.autodiff.batched`` does; with ``draws`` random numbers in it are drawn for each element.
        """
        if self.effectful:
            is_mapped = [operand in mapped for operand in self.operands]
            operands = [mapped.get(operand, operand) for operand in self.operands]
            return differing(self.vmap(length, is_mapped, *operands))
        own = [Parameter.of(operand.type) for operand in self.operands]
        given = [Parameter.of(several.type) if (several := mapped.get(operand)) is not None else one
                 for operand, one in zip(self.operands, own, strict=True)]
        table = {one.output: several.output for one, several in zip(own, given, strict=True) if one is not several}
        inside = self.body(*own)
        found = batched(inside, table, length, [op for op in postorder(inside) if draws and draws_numbers(op)])
        outputs = Checkpoint(*[mapped.get(operand, operand) for operand in self.operands],
                             body=Function([entry.value for entry in found], given, name=self.body.name)).outputs
        return [ForAll(output, entry.differs) for output, entry in zip(outputs, found, strict=True)]


def draws_numbers(op: Op) -> bool:
    """Whether an op draws random numbers, itself or inside of a checkpoint."""
    return isinstance(op, Random) or isinstance(op, Checkpoint) and any(map(draws_numbers, op.body.operations))
