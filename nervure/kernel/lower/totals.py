"""What the reductions that share a run combine, and how their results become row values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nervure.ir.op import Op, Value
from nervure.kernel.ir import Scalar
from nervure.kernel.lower.elements import Elements
from nervure.kernel.lower.kernels import Maker
from nervure.kernel.lower.scalars import converted
from nervure.kernel.points import Point


class Totals:
    """The scalars that are combined, each for the output in ``places`` by the combiner in ``combine``.

    Ops with combiners of their own are left in ``folds``.
    """

    def __init__(self, maker: Maker, ops: Iterable[Op], point: Point) -> None:
        analysis, elements = maker.memory.ops, maker.elements
        self.places: list[Value] = []
        self.values: list[Scalar] = []
        self.folds: list[Op] = []
        combine: list[str] = []
        for op in ops:
            structure = analysis.structure(op)
            if not isinstance(structure.combine, str):
                self.folds.append(op)
                continue
            given = elements.body_at(op, point)
            for output, value in zip(op.outputs, given if isinstance(given, tuple) else (given,), strict=True):
                self.places.append(output)
                self.values.append(converted(elements.statements, value, (structure.accumulate or value.dtype).compute))
                combine.append(structure.combine)
        self.combine = tuple(combine)


def note(elements: Elements, places: Sequence[Value], results: Sequence[Scalar]) -> None:
    """The results as row values, in the types of the ops' outputs; integers wrap as the sum itself does."""
    s = elements.scalars()
    for output, result in zip(places, results, strict=True):
        elements.rows[output] = (s.wrap if output.dtype.is_integer else s.convert)(result, output.dtype)
