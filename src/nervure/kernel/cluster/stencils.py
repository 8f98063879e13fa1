"""Stencils: values computed from several elements of one tensor around each place, which need loops of their own.

Rows of places share most of what they read, and conditions on places hold in all of them but a few. The loops over a
stencil use both (:mod:`nervure.kernel.schedule.borders`, :mod:`nervure.kernel.schedule.shared_rows`). The loops of a
reduction cannot: its points come in one order, and its accumulators take the registers. So a stencil is stored before
it is reduced, where a store and the loads that follow cost less than what is lost.

>>> import nervure as nv
>>> from nervure.kernel.cluster import cluster
>>> from nervure.passes.pipelines import native
>>> x, f = nv.Parameter(nv.float32, (8, 32, 28, 28)), nv.Parameter(nv.float32, (32, 1, 3, 3))
>>> slid = nv.ops.Convolution(x, f, paddings=[(1, 1), (1, 1)], groups=32)
>>> for step in cluster(native(nv.Function([nv.ops.Sum(slid, [2, 3])], [x, f]))):
...     print(type(step.ops[-1]).__name__, step.reduced)
Fma None
Sum (2, 3)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from nervure.ir.op import Op, Value
from nervure.kernel.analysis import OpAnalysis
from nervure.kernel.producers import Read
from nervure.kernel.tuning import STORE
from nervure.support.machine import Machine
from nervure.types.dim import product
from nervure.types.dtype import float32
from nervure.types.shape import Shape


class Stencil(NamedTuple):
    """The places of each tensor that a value is computed from. It ``has_border`` if some may lie outside of a tensor.
    """

    places: Mapping[Value, frozenset[Hashable]] = {}
    has_border: bool = False

    def is_better_apart(self, shape: Shape, reduced: tuple[int, ...], machine: Machine) -> bool:
        """Whether the value should be stored before it is reduced over these axes of its shape.

        A store and the load that follows take twice as long where the value does not stay in a core's own caches.
        Places that are all inside can be read as well by a reduction of one axis, whose rows are those of memory.
        """
        size = product(shape)
        is_near = isinstance(size, int) and size * float32.itemsize <= machine.own_cache
        most = (STORE + 1) * (1 if is_near and self.has_border else 2)
        is_long = any([len(places) > most for places in self.places.values()])
        return is_long and (self.has_border or len([axis for axis in reduced if shape[axis] != 1]) > 1)


def stencil_of(op: Op, reads: Iterable[Read], near: Mapping[Op, Stencil], ops: OpAnalysis) -> Stencil:
    """Returns the stencil of an op that reads values, some of them from the ops ``near`` it, in whose loops it stands.
    """
    found: dict[Value, frozenset[Hashable]] = {}
    is_moved = ops.is_moved(op)
    has_border = is_moved
    for number, read in enumerate(reads):
        below = near.get(read.value.op)
        if below is not None and read.in_place:
            has_border |= below.has_border
            for value, places in below.places.items():
                found[value] = found.get(value, frozenset()) | places
        elif below is None and (is_moved or not read.aligned):
            found[read.value] = found.get(read.value, frozenset()) | {(op, number)}
        elif below is None and all([ops.traits(view).is_injective for view in read.views]):
            found[read.value] = found.get(read.value, frozenset()) | {read.views}
    return Stencil(found, has_border)
