"""Expanded reductions: a few points are computed one after the other, without a loop, and combined in their order.

>>> from nervure.support.machine import GENERIC
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
    v1 = x[3*i + 2]
    v2 = add(v0, v1)
    v3 = x[3*i + 1]
    v4 = add(v2, v3)
    v5 = add(0.0_f32, v4)
    y[i] = v5
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from nervure.kernel.combiners import FUNCTIONS, unit
from nervure.kernel.groups import BlockGroups
from nervure.kernel.ir import Apply, Kernel, Reduce, Scalar, Statement, Variable
from nervure.kernel.rewriting import Rewrite, fresh_copy
from nervure.support.machine import Machine
from nervure.support.replacing import replace
from nervure.types.dim import DimLike

Lane = Sequence[Scalar]
"""A scalar for each result of a reduction."""


def with_expanded_reductions(kernel: Kernel, machine: Machine) -> Kernel:
    """Returns the kernel without the reductions that are to be unrolled."""
    return replace(kernel, body=_Expanding().block(kernel.body))


class _Expanding(Rewrite):
    def reduce(self, loop: Reduce, out: list[Statement]) -> None:
        inner = self.rebuilt(loop)
        if inner.strategy is None or inner.strategy.name != "unrolled":
            out.append(inner)
            return
        self.replaced.update(zip(inner.results, _reduced(inner, out), strict=True))


def _reduced(reduce: Reduce, out: list[Statement]) -> Lane:
    """Returns the totals of the blocks of points, combined in groups."""
    points = list(product(*[range(int(str(extent))) for _, extent in reduce.indices]))
    units = [unit(combine, result.dtype) for combine, result in zip(reduce.combine, reduce.results, strict=True)]
    groups = BlockGroups[Lane](lambda x, y: _combined(reduce, x, y, out), units, reduce.order.group)
    for start in range(0, len(points), reduce.order.block):
        groups.add(folded(reduce, points[start:start + reduce.order.block], 0, 1, out))
    return groups.result()


def folded(reduce: Reduce, block: Sequence[tuple[DimLike, ...]], lane: int, apart: int, out: list[Statement]) -> Lane:
    """Combines lanes ``lane``, ``lane + apart``, ``lane + 2*apart``, ..., depth first, so that few partial results are
    live. Lanes without a point would add units, which change nothing.
    """
    if apart == reduce.order.lanes:
        return _lane(reduce, block[lane::apart], out)
    left = folded(reduce, block, lane, 2 * apart, out)
    if lane + apart >= len(block):
        return left
    return _combined(reduce, left, folded(reduce, block, lane + apart, 2 * apart, out), out)


def _lane(reduce: Reduce, points: Iterable[tuple[DimLike, ...]], out: list[Statement]) -> Lane:
    """Combines the points of a lane, one after the other. The unit is added at the end, for all lanes at once: only
    the sign of a zero depends on it, and a sum of zeros has a sign if all its terms have one.
    """
    value: Lane = ()
    for point in points:
        indices = dict(zip([index for index, _ in reduce.indices], point, strict=True))
        body, values = fresh_copy(reduce.body, reduce.values, indices)
        out += body
        value = _combined(reduce, value, values, out) if value else values
    return value


def _combined(reduce: Reduce, left: Lane, right: Lane, out: list[Statement]) -> Lane:
    results = tuple([Variable(result.dtype) for result in reduce.results])
    for result, combine, *operands in zip(results, reduce.combine, left, right, strict=True):
        out.append(Apply(result, FUNCTIONS[combine], tuple(operands)))
    return results
