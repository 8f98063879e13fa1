"""Reductions over the axes that a step of rows keeps: sums over all rows, made on the way while a row is in cache.

A gradient of a layer normalisation has both: what is subtracted in each row are sums over the row, the gradients of
scale and shift are sums over all rows.

>>> import nervure as nv
>>> from nervure.kernel.cluster.clustering import cluster
>>> x = nv.Parameter(nv.float32, (4096, 100))
>>> rows, columns = nv.ops.Sum(nv.ops.Exp(x), [1]), nv.ops.Sum(nv.ops.Exp(x), [0])
>>> for step in cluster(nv.Function([rows, columns], [x])):
...     print(step)
loop over (4096, 100) reducing (1,): Exp, Sum, Exp, Sum; stores Sum, Sum
"""

from __future__ import annotations

from nervure.ir.kinds import Structure
from nervure.ir.op import Op
from nervure.kernel.cluster.keeping import shares_rows
from nervure.kernel.cluster.steps import COLUMN, Loops
from nervure.kernel.machine import Machine
from nervure.kernel.tuning import LEAST_ROWS_CROSSED, MOST_CROSS_ROW_REDUCTIONS
from nervure.types.dim import product

_TOTAL = 4  # bytes of a total, of the usual type
_COMBINES = ("add", "maximum", "minimum")


def may_be_column(step: Loops, op: Op, structure: Structure, machine: Machine) -> bool:
    """Whether a reduction could run on the way through the rows of a step, as far as its operands allow it."""
    rows = product(step.kept)
    longest = machine.first_cache // _TOTAL  # its totals stay in the cache
    row = product([step.shape[axis] for axis in step.reduced or ()])
    return (structure.reduced == step.kept_axes and structure.combine in _COMBINES and shares_rows(step)
            and not any([value.dtype.is_complex for value in op.outputs])
            and list(step.levels.values()).count(COLUMN) < MOST_CROSS_ROW_REDUCTIONS
            and not (isinstance(rows, int) and rows < LEAST_ROWS_CROSSED)
            and not (isinstance(row, int) and row > longest))
