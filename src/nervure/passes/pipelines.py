"""The lists of passes, all that there are. Each can be read aloud.

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
from nervure.passes import algebra, canonical_views, fold
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.dead_code import dead_code
from nervure.passes.decompose import Decomposition, Supports, decompose, decompose_by
from nervure.passes.fold import Evaluate
from nervure.passes.lower_argmax import lower_argmax
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.lower_windows import lower_windows
from nervure.passes.manager import Pass, Record, run
from nervure.passes.rewrite import Rewriter


def standard(function: Function, evaluate: Evaluate | None = None, supports: Supports | None = None,
             records: list[Record] | None = None, more: Sequence[Pass] = (), last: Sequence[Pass] = ()) -> Function:
    """What every function goes through before it is compiled.

    ``evaluate`` computes constants (see :mod:`nervure.passes.fold`; without it none are), ``supports`` says which
    classes of composites the backend keeps, ``records`` is extended by what each pass did, ``more`` are passes of the
    backend's own, ``last`` those of them whose results are not simplified.
    """
    passes = [
        Pass("decompose", partial(decompose, supports=supports)),
        *more,
        Pass("common_subexpressions", common_subexpressions),
        Pass("simplify", simplification(evaluate)),
        *last,
        Pass("common_subexpressions", common_subexpressions),
        Pass("dead_code", dead_code),
    ]
    flags.check_debug([entry.name for entry in passes])
    return run(function, passes, records)


def native(function: Function, evaluate: Evaluate | None = None, supports: Supports | None = None,
           records: list[Record] | None = None) -> Function:
    """The same for a backend that makes loops of ops, where reductions run in lanes and on all threads, products in
    tiles, and windows of a few elements along their places.
    """
    return standard(function, evaluate, supports, records, [Pass("lower_argmax", lower_argmax)],
                    [Pass("lower_windows", lower_windows), *_CONVOLUTIONS])


_CONVOLUTIONS = (Pass("lower_depthwise", lower_depthwise), Pass("lower_convolutions", lower_convolutions))


def native_minimal(function: Function) -> Function:
    """Convolutions written out, of which no loops are made, nothing else: for a function that is compiled as it is."""
    return run(function, _CONVOLUTIONS)


def minimal(function: Function, supports: Supports | None = None) -> Function:
    """Composites written out, nothing else."""
    return run(function, [Pass("decompose", partial(decompose, supports=supports))])


def on_devices(function: Function, composites: Decomposition, rules: Sequence[Rewriter]) -> Function:
    """What a function for several devices goes through before its ops are placed.

    ``composites`` decomposes what no device takes whole, ``rules`` has the rewrites of each device with some. What
    they make is decomposed again.
    """
    decomposition = Pass("decompose", partial(decompose_by, rule=composites))
    return run(function, [decomposition, *rules, decomposition] if rules else [decomposition])


@lru_cache(maxsize=8)
def simplification(evaluate: Evaluate | None = None) -> Rewriter:
    """Folding, canonical views and algebra as one walk, so that what one of them makes the others see at once."""
    return Rewriter("simplify", [*fold.rules(evaluate), *canonical_views.RULES, *algebra.RULES])
