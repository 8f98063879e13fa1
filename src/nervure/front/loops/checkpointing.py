"""Checkpoints: ``checkpoint(f)`` is f, with a derivative that keeps f's arguments alone and makes the rest again.

>>> import numpy as np
>>> import nervure as nv
>>> block = nv.checkpoint(lambda x: nv.exp(nv.sin(x)))
>>> slope = nv.grad(lambda x: nv.sum(block(x)))
>>> slope(np.float32([0, 0])).tolist()
[1.0, 1.0]

The backward pass then holds what is inside of one function at a time, at the price of computing that twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from nervure.front import argument_parsing, pytrees
from nervure.front.loops.bodies import TracedBody, after_assignments, read_of, tensors_of_leaves
from nervure.front.pytrees import Nested, paths
from nervure.front.tensor import Tensor
from nervure.ops.rematerialising import Checkpoint
from nervure.support.elsewhere import explain_keywords

Result = TypeVar("Result")


def checkpoint(f: Callable[..., Result]) -> Callable[..., Result]:
    """Returns a function that gives what ``f`` gives, and whose derivative computes the inside of f again.

    From forward to backward only f's arguments are kept, and the tensors and variables that it takes from around it;
    random numbers are the same again, and assignments and other effects inside happen once. Arguments and results may
    be nested; arguments that are no tensors are given as they are. It is a decorator, too.

    >>> @nv.checkpoint
    ... def layer(x, w):
    ...     return nv.tanh(x * w)
    >>> nv.grad(lambda w: nv.sum(layer(nv.constant([0.0, 0.0]), w)))(2.0).item()
    0.0
    """
    argument_parsing.require_function(f, "checkpoint", "f")

    @functools.wraps(f, updated=())
    def checkpointed(*arguments: Nested, **keywords: Nested) -> Result:
        leaves, pattern = pytrees.flatten((arguments, keywords))
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        body = TracedBody("checkpoint", given)
        with body.tracing():
            own = iter(body.tensors)
            nested: Nested = pytrees.unflatten(pattern, [next(own) if isinstance(leaf, Tensor) else leaf
                                                         for leaf in leaves])
            found, shape = pytrees.flatten(f(*nested[0], **nested[1]))
            results = tensors_of_leaves(found, "checkpoint", paths(shape, "result"))
        body.close_leaves(found, results)
        result: Nested = pytrees.unflatten(shape, _built(body, given, results))
        return result

    return checkpointed


def _built(body: TracedBody, given: Sequence[Tensor], results: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Returns the results of the op whose function is a traced body, for the tensors that it was ``given``."""
    count = len(body.results)
    written = [variable for variable in body.variables if variable in body.written]
    function = body.function([*body.results, *[body.state[variable] for variable in written]],
                             [*body.parameters, *body.outside.values(), *body.variables.values()])
    op = Checkpoint(*[entry.value for entry in given], *body.outside, *map(read_of, body.variables), body=function)
    last = dict(zip(written, op.outputs[count:], strict=True))
    remaining = iter(after_assignments(op.outputs[:count], last, op.effectful, "checkpoint"))
    return [None if entry is None else Tensor(next(remaining), entry._axes) for entry in results]


__all__ = ["checkpoint"]

explain_keywords(globals(), __all__)
