"""Clustering: which values get memory, and which ops share a kernel.

Every value is an index function; it is stored only where that pays. ``cluster`` goes once over a function in order and
gives a list of steps, each of which becomes one kernel or a few. Values between the ops of one step live in registers.

>>> import nervure as nv
>>> from nervure.passes.pipelines import standard
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> e = nv.ops.Exp(x - nv.ops.Broadcast(nv.ops.Max(x, [1]), x.shape, [1]))
>>> softmax = e / nv.ops.Broadcast(nv.ops.Sum(e, [1]), x.shape, [1])
>>> steps = cluster(standard(nv.Function([softmax], [x])))
>>> for step in steps:
...     print(step)
loop over (8, 16) reducing (1,): Max, Subtract, Exp, Sum, Divide; stores Divide

:mod:`fusion` puts ops together where :mod:`legality` allows it, :mod:`materialise` decides what is stored,
:mod:`strategy` how a step is lowered, :mod:`steps` holds what was decided, :mod:`reasons` says why.
"""

from nervure.kernel.cluster.fusion import cluster
from nervure.kernel.cluster.steps import Check, Copy, Host, Loops, Scatter, Segments, Step

__all__ = ["Check", "Copy", "Host", "Loops", "Scatter", "Segments", "Step", "cluster"]
