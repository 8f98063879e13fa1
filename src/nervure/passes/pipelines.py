"""The lists of passes: all of them, in readable form.

The interpreter runs :func:`standard`, the cpu :func:`native`, and functions for several devices :func:`on_devices`
before their parts run the lists of their own devices.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> standard(nv.Function([nv.ops.Square(x * 1.0)], [x])).results
(f32[4] Multiply(Parameter, Parameter),)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from nervure import flags
from nervure.ir.function import Function
from nervure.ops.convolution import ConvolutionForm
from nervure.passes import algebra, canonical_views, fold, known_indices
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.counted_loops import counted_loops
from nervure.passes.dead_code import dead_code
from nervure.passes.dead_regions import dead_regions
from nervure.passes.decompose import Decomposition, Supports, decompose, decompose_by
from nervure.passes.fission import fission
from nervure.passes.fold import Evaluate
from nervure.passes.inlined_regions import inlined_checkpoints, inlined_regions
from nervure.passes.inner_functions import shared_bodies, within_bodies
from nervure.passes.invariants import invariants
from nervure.passes.lower_argmax import lower_argmax
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.lower_scatters import lower_scatters
from nervure.passes.lower_windows import lower_windows
from nervure.passes.manager import Pass, Record, run
from nervure.passes.region_operands import region_operands
from nervure.passes.residuals import residuals
from nervure.passes.rewrite import Rewriter
from nervure.passes.straight import straight
from nervure.support.machine import GENERIC, Machine


def standard(function: Function, evaluate: Evaluate | None = None, supports: Supports | None = None,
             records: list[Record] | None = None, more: Sequence[Pass] = (), last: Sequence[Pass] = ()) -> Function:
    """Runs the passes that every function goes through before it is compiled.

    ``evaluate`` computes constants (see :mod:`nervure.passes.fold`; without it none are). ``supports`` says which
    classes of composites the backend keeps. ``records`` is extended by a record for each pass. ``more`` are passes of
    the backend's own, ``last`` those among them whose results are not simplified.
    """
    passes = [*_simple(evaluate, supports, more), *_final(last)]
    flags.check_debug([entry.name for entry in passes])
    return run(function, passes, records)


def _simple(evaluate: Evaluate | None, supports: Supports | None, more: Sequence[Pass]) -> list[Pass]:
    """Returns the passes up to the simplest form of a function: loops exchange values with what is around them once
    their bodies have that form.
    """
    return [
        Pass("inlined_checkpoints", inlined_checkpoints),
        Pass("decompose", partial(decompose, supports=supports)),
        Pass("regions", lambda whole: within_bodies(
            dead_regions(inlined_regions(straight(whole))), lambda body: run(body, _simple(evaluate, supports, more)))),
        *more,
        Pass("common_subexpressions", common_subexpressions),
        Pass("simplify", simplification(evaluate)),
        Pass("loops", partial(_loops, evaluate=evaluate)),
    ]


def _final(last: Sequence[Pass]) -> list[Pass]:
    """Returns the passes behind them, which end with those of a backend, in bodies first."""
    return [
        Pass("bodies", lambda whole: within_bodies(whole, lambda body: run(body, _final(last)))),
        *last,
        Pass("common_subexpressions", common_subexpressions),
        Pass("dead_code", dead_code),
    ]


def _loops(function: Function, evaluate: Evaluate | None) -> Function:
    """Returns the function with values that loops share, or need not compute themselves, in their best places."""
    lifted = invariants(function)
    if lifted is not function:
        lifted = run(lifted, [common_subexpressions])
    changed = fission(residuals(lifted))
    if changed is function:
        return function
    return run(changed, [inlined_regions, dead_regions, shared_bodies, common_subexpressions, simplification(evaluate)])


def native(function: Function, evaluate: Evaluate | None = None, supports: Supports | None = None,
           records: list[Record] | None = None, machine: Machine = GENERIC) -> Function:
    """Runs the passes on a ``function`` for a backend that makes loops of ops for a ``machine``. Its reductions run in
    lanes and on all threads, its products in tiles, and windows of a few elements along their places.
    """
    windows = Pass("lower_windows", partial(lower_windows, machine=machine))
    scatters = [] if evaluate is None else [Pass("lower_scatters", partial(_scatters, evaluate=evaluate))]
    return standard(function, evaluate, supports, records, [Pass("lower_argmax", lower_argmax)],
                    [*scatters, windows, *_convolutions(machine), Pass("counted_loops", counted_loops),
                     Pass("region_operands", region_operands)])


def _scatters(function: Function, evaluate: Evaluate) -> Function:
    """Returns the function without scatters to known places; what stands for them is simplified."""
    lowered = lower_scatters(function, evaluate)
    return lowered if lowered is function else simplification(evaluate)(lowered)


def native_minimal(function: Function, machine: Machine = GENERIC) -> Function:
    """Decomposes the convolutions that have no loops of their own, and has the operands of regions in memory. Nothing
    else is done, for a function that is compiled as it is for a ``machine``: what ``native`` returns stays.
    """
    inside = partial(within_bodies, transform=partial(native_minimal, machine=machine))
    has_convolutions = any([isinstance(op, ConvolutionForm) for op in function.operations])
    return run(function, [Pass("inlined_checkpoints", inlined_checkpoints),
                          *(_convolutions(machine) if has_convolutions else []),
                          Pass("region_operands", region_operands), Pass("regions", inside)])


def _convolutions(machine: Machine) -> list[Pass]:
    return [Pass("lower_depthwise", partial(lower_depthwise, machine=machine)),
            Pass("lower_convolutions", partial(lower_convolutions, machine=machine))]


def minimal(function: Function, supports: Supports | None = None) -> Function:
    """Decomposes composites and inlines checkpoints, and does nothing else."""
    return run(function, [Pass("inlined_checkpoints", inlined_checkpoints),
                          Pass("decompose", partial(decompose, supports=supports))])


def on_devices(function: Function, composites: Decomposition, rules: Sequence[Rewriter]) -> Function:
    """Runs the passes for a function for several devices before its ops are placed.

    ``composites`` decomposes the ops that no device takes whole, ``rules`` has the rewrites of each device with some.
    The results of these are decomposed again.
    """
    decomposition = Pass("decompose", partial(decompose_by, rule=composites))
    inlining = Pass("inlined_checkpoints", inlined_checkpoints)
    return run(function, [inlining, decomposition, *rules, decomposition] if rules else [inlining, decomposition])


@lru_cache(maxsize=8)
def simplification(evaluate: Evaluate | None = None) -> Rewriter:
    """Returns folding, canonical views, known indices and algebra as one walk, so that each sees the results of the
    others at once.
    """
    return Rewriter("simplify", [
        *fold.rules(evaluate), *canonical_views.RULES, *known_indices.RULES, *algebra.RULES])
