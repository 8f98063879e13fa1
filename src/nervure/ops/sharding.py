"""The op that says how a value is distributed over a mesh of devices.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (8, 4))
>>> op = ShardAs(x, split="data, ?")
>>> op.splits
(('data',), None)

It is the value itself. A transformer that runs on a mesh keeps it; all others drop it.
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.errors import InvalidArgument
from nervure.ir import field
from nervure.ir.kinds import Composite
from nervure.ir.op import Gradients, Operand, Tangents, Value, as_value, in_front
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike

OPEN, WHOLE = "?", "-"
"""A dimension that may be split in any way, and one that lies whole on each device."""


class ShardAs(Composite):
    """The value itself, each dimension of which is split over the axes of a mesh that ``split`` names.

    ``split`` has an entry for each dimension: names joined by ``+``, ``-`` for a dimension that lies whole on each
    device, ``?`` for one that may be split in any way.
    """

    operand_names = "x"
    split = field.string()

    @property
    def splits(self) -> tuple[tuple[str, ...] | None, ...]:
        """The axes of the mesh for each dimension; None for one that is open."""
        entries = self.split.split(", ") if self.split else []
        return tuple([None if entry == OPEN else () if entry == WHOLE else tuple(entry.split("+"))
                      for entry in entries])

    def infer(self, x: BasicTensorDescription) -> BasicTensorDescription:
        if len(self.splits) != x.rank:
            raise self.fail(InvalidArgument, "each dimension has an entry", operand="split", got=repr(self.split),
                            expected=f"{x.rank} of them", help="? leaves a dimension open")
        return x.with_(layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (self.operands[0].labels,)

    def decompose(self, x: Value) -> Operand:
        return x

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (ShardAs(gradient, split=self.split).output,)

    def jvp(self, tangents: Tangents, x: Value) -> Tangents:
        tangent = tangents[0]
        return (None if tangent is None else ShardAs(as_value(tangent), split=self.split).output,)

    def vmap(self, length: DimLike, mapped: Sequence[bool], x: Value) -> Sequence[Operand]:
        several = x if mapped[0] else in_front(x, length)
        return ShardAs(several, split=", ".join([OPEN, *([self.split] if self.split else [])])).outputs


def split_text(splits: Sequence[tuple[str, ...] | None]) -> str:
    """Returns ``splits`` as the op's attribute.

    >>> split_text([("data", "model"), (), None])
    'data+model, -, ?'
    """
    return ", ".join([OPEN if entry is None else "+".join(entry) or WHOLE for entry in splits])
