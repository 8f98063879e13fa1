"""Expanded reductions: a few points are computed one after the other, without a loop, and combined in their order.

>>> from nervure.kernel.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> from nervure.kernel.printer import print_kernel
>>> kernel = parse_kernel('''
... kernel sums(in x: f32[12], out y: f32[4]):
...   for i < 4:
...     v0 = reduce add over j < 3 as unrolled:
...       v1 = x[3*i + j]
...       give v1
...     y[i] = v0
... ''')
>>> print("\\n".join(print_kernel(with_expanded_reductions(kernel, GENERIC)).splitlines()[2:]))
    v0 = x[3*i]
    v1 = add(0.0_f32, v0)
    v2 = x[3*i + 1]
    v3 = add(0.0_f32, v2)
    v4 = x[3*i + 2]
    v5 = add(0.0_f32, v4)
    v6 = add(v1, v5)
    v7 = add(v6, v3)
    y[i] = v7
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from nervure.kernel.combiners import FUNCTIONS, unit
from nervure.kernel.ir import Apply, Kernel, Reduce, Scalar, Statement, Variable
from nervure.kernel.machine import Machine
from nervure.kernel.rewriting import Rewrite, fresh_copy

Lane = Sequence[Scalar]
"""A scalar for each result of a reduction."""


def with_expanded_reductions(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel without the reductions that are to be unrolled."""
    return replace(kernel, body=_Expanding().block(kernel.body))


class _Expanding(Rewrite):
    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        inner = loop.map_bodies(self.block).replace_operands(self.replaced)
        if inner.strategy is None or inner.strategy.name != "unrolled":
            out.append(inner)
            return
        self.replaced.update(zip(inner.results, _reduced(inner, out), strict=True))


def _reduced(reduce: Reduce, out: list[Statement]) -> Lane:
    """What the blocks of points make, combined in order."""
    points = list(product(*[range(int(str(extent))) for _, extent in reduce.indices]))
    first, *others = [_tree(reduce, _lanes(reduce, points[start:start + reduce.order.block], out), out)
                      for start in range(0, len(points), reduce.order.block)]
    for block in others:
        first = _combined(reduce, first, block, out)
    return first


def _lanes(reduce: Reduce, points: Iterable[tuple[int, ...]], out: list[Statement]) -> list[Lane]:
    """What each lane that has points of a block makes of them, starting from the unit."""
    units = [unit(combine, result.dtype) for combine, result in zip(reduce.combine, reduce.results, strict=True)]
    lanes: list[Lane] = []
    for number, point in enumerate(points):
        indices = dict(zip([index for index, _ in reduce.indices], point, strict=True))
        body, values = fresh_copy(reduce.body, reduce.values, indices)
        out += body
        lane = number % reduce.order.lanes
        before = lanes[lane] if lane < len(lanes) else units
        lanes[lane:lane + 1] = [_combined(reduce, before, values, out)]
    return lanes


def _tree(reduce: Reduce, lanes: list[Lane], out: list[Statement]) -> Lane:
    """The lanes combined by halves; those without a point would add units, which change nothing."""
    half = reduce.order.lanes // 2
    while half:
        lanes = [_combined(reduce, lanes[lane], lanes[lane + half], out) if lane + half < len(lanes) else lanes[lane]
                 for lane in range(min(half, len(lanes)))]
        half //= 2
    return lanes[0]


def _combined(reduce: Reduce, left: Lane, right: Lane, out: list[Statement]) -> Lane:
    results = tuple([Variable(result.dtype) for result in reduce.results])
    for result, combine, *operands in zip(results, reduce.combine, left, right, strict=True):
        out.append(Apply(result, FUNCTIONS[combine], tuple(operands)))
    return results
