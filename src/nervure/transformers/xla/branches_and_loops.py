"""Branches and loops by JAX's own: cond, switch, scan and while_loop.

The status of the call goes through those whose functions may fail: the first failure stays, and a loop that ends at a
condition ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ops.branching import Branches, If
from nervure.ops.looping import Scan, While
from nervure.transformers.xla.call_trace import CallTrace
from nervure.transformers.xla.checks import Status, impossible, may_fail
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.sizes import numbers

Runner = Callable[[CallTrace, Function, Sequence[Array]], list[Array]]
"""Traces a function that an op holds: its results, from arguments."""


def _body(trace: CallTrace, function: Function, runner: Runner) -> Callable[[Status, Sequence[Array]],
                                                                       tuple[Status, list[Array]]]:
    """Returns a function of a status and arguments, which gives the status after it and the results."""
    error = impossible(function, trace.bindings)
    if error is not None:
        return _refused(trace, function, error)
    fails = may_fail(function, trace.bindings)

    def run(status: Status, arguments: Sequence[Array]) -> tuple[Status, list[Array]]:
        inner = trace.inside(status)
        results = runner(inner, function, arguments)
        return (inner.status if fails else status), results
    return run


def _refused(trace: CallTrace, function: Function,
             error: NervureError) -> Callable[[Status, Sequence[Array]], tuple[Status, list[Array]]]:
    """Returns a function as ``_body`` returns it for a ``function`` that has no result for these sizes: it fails if it
    runs.
    """
    shapes = [(numbers(value.type.shape, trace.bindings), value.type.dtype.numpy) for value in function.results]

    def run(status: Status, arguments: Sequence[Array]) -> tuple[Status, list[Array]]:
        inner = trace.inside(status)
        inner.check(jnp.ones((1,), jnp.bool_), lambda position, value: error)
        return inner.status, [jnp.zeros(shape, dtype) for shape, dtype in shapes]
    return run


def _entered(trace: CallTrace) -> Status:
    first, second, third = [jnp.asarray(each, jnp.int64) for each in trace.status]
    return first, second, third


def branches(trace: CallTrace, op: Branches, operands: Sequence[Array], runner: Runner) -> list[Array]:
    """Returns the results of the branch that the first of the ``operands`` chooses."""
    chosen, given = operands[0], list(operands[1:])
    runs = [_body(trace, branch, runner) for branch in op.branches]
    status = _entered(trace)
    if isinstance(op, If):
        trace.status, results = lax.cond(chosen, runs[0], runs[1], status, given)
        return list(results)
    last = len(op.branches) - 1
    low = jnp.where(chosen < 0, 0, chosen) if jnp.issubdtype(chosen.dtype, jnp.signedinteger) else chosen
    number = jnp.where(low > min(last, np.iinfo(chosen.dtype).max), last, low).astype(jnp.int32)
    trace.status, results = lax.switch(number, runs, status, given)
    return list(results)


def scan(trace: CallTrace, op: Scan, operands: Sequence[Array], runner: Runner) -> list[Array]:
    """Returns the results of a loop over slices: ``operands`` are carries, slices, and captured values."""
    first = op.carries + op.slices
    carries, slices, captured = operands[:op.carries], operands[op.carries:first], operands[first:]
    run = _body(trace, op.body, runner)

    def step(state: tuple[Status, list[Array]],
             parts: Sequence[Array]) -> tuple[tuple[Status, list[Array]], list[Array]]:
        status, before = state
        status, results = run(status, [*before, *parts[:op.slices], *captured])
        return (status, results[:op.carries]), [*results[op.carries:], *[before[number] for number in op.saved]]
    length, = numbers((op.length,), trace.bindings)
    is_number = type(length) is int  # else the length is that of numbers beside the slices
    (status, last), stacked = lax.scan(step, (_entered(trace), list(carries)),
                                       [*slices, *([] if is_number else [jnp.arange(length)])],
                                       length=length if is_number else None, reverse=op.reverse)
    trace.status = status
    return [*last, *stacked]


def repeat(trace: CallTrace, op: While, operands: Sequence[Array], runner: Runner) -> list[Array]:
    """Returns the last carries of a loop that goes on while its condition holds of ``operands`` and nothing has failed.
    """
    captured = operands[op.carries:]
    test, run = _body(trace, op.condition, runner), _body(trace, op.body, runner)

    def tested(status: Status, carries: Sequence[Array]) -> tuple[Status, Array, list[Array]]:
        status, (goes_on,) = test(status, [*carries, *captured])
        return status, goes_on.reshape(()) & (status[0] == 0), list(carries)

    def step(state: tuple[Status, Array, list[Array]]) -> tuple[Status, Array, list[Array]]:
        status, results = run(state[0], [*state[2], *captured])
        return tested(status, results)
    trace.status, _, carries = lax.while_loop(lambda state: state[1], step,
                                              tested(_entered(trace), operands[:op.carries]))
    return list(carries)


