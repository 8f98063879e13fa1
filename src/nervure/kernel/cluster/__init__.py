"""Clustering: the choice of the values that get memory, and of the ops that share a kernel.

Every value is an index function; it is stored only if that pays. ``cluster`` walks a function once, in order, and
returns a list of steps, each of which becomes one kernel or a few. Values between the ops of one step live in
registers.

>>> import nervure as nv
>>> from nervure.passes.pipelines import standard
>>> x = nv.Parameter(nv.float32, (8, 16))
>>> e = nv.ops.Exp(x - nv.ops.Broadcast(nv.ops.Max(x, [1]), x.shape, [1]))
>>> softmax = e / nv.ops.Broadcast(nv.ops.Sum(e, [1]), x.shape, [1])
>>> steps = cluster(standard(nv.Function([softmax], [x])))
>>> for step in steps:
...     print(step)
loop over (8, 16) reducing (1,): Max, Subtract, Exp, Sum, Divide; stores Divide

:mod:`fusion` puts ops together if :mod:`legality` allows it, :mod:`materialise` decides which values are stored,
:mod:`strategy` how a step is lowered, :mod:`steps` holds the decisions, :mod:`reasons` explains them.
"""

from nervure.kernel.cluster.fusion import cluster
from nervure.kernel.cluster.steps import Copy, Guards, Loops, Opaque, Scatter, Segments, Step

__all__ = ["Guards", "Copy", "Opaque", "Loops", "Scatter", "Segments", "Step", "cluster"]
