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

from nervure.errors import InvalidArgument
from nervure.front import argument_parsing, pytrees
from nervure.front.creation import as_tensor
from nervure.front.effects import Effect
from nervure.front.loops.bodies import TracedBody, after_assignments, read_of
from nervure.front.pytrees import Nested
from nervure.front.tensor import Tensor
from nervure.ir.op import Value
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
            results = [leaf if leaf is None or isinstance(leaf, Effect) else as_tensor(leaf, "checkpoint")
                       for leaf in found]
        result: Nested = pytrees.unflatten(shape, _built(body, given, results))
        return result

    return checkpointed


def _built(body: TracedBody, given: Sequence[Tensor], results: Sequence[object]) -> list[object]:
    """Returns the results of the op whose function is a traced body, for the tensors that it was ``given``."""
    body.close([entry.value for entry in results if isinstance(entry, (Tensor, Effect))])
    placed = iter(body.results)
    values = [next(placed) for entry in results if entry is not None]
    kept = [value for value, entry in zip(values, [entry for entry in results if entry is not None], strict=True)
            if isinstance(entry, Tensor)]
    written = [variable for variable in body.variables if variable in body.written]
    function = body.function([*kept, *[body.state[variable] for variable in written]],
                             [*body.parameters, *body.outside.values(), *body.variables.values()])
    op = Checkpoint(*[entry.value for entry in given], *body.outside, *map(read_of, body.variables), body=function)
    outputs: Sequence[Value] = op.outputs[:len(kept)]
    values = after_assignments(outputs, dict(zip(written, op.outputs[len(kept):], strict=True)))
    if not values and (written or op.effectful):
        raise InvalidArgument("the function gives no value, so nothing would run it", op="checkpoint",
                              got="effects alone", expected="a result", help="return a value beside the effects")
    remaining = iter(values)
    return [Tensor(next(remaining), entry._axes) if isinstance(entry, Tensor) else None for entry in results]


__all__ = ["checkpoint"]

explain_keywords(globals(), __all__)
