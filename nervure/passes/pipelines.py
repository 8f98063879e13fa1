"""The lists of passes. Each can be read aloud, and is a function of a Function.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> standard(nv.Function([nv.ops.Square(x * 1.0)], [x])).results
(f32[4] Multiply(Parameter, Parameter),)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nervure.ir.function import Function
from nervure.passes.decompose import Supports, decompose
from nervure.passes.manager import Pass, Record, run


def minimal(function: Function, supports: Supports | None = None) -> Function:
    """Composites written out, nothing else."""
    return run(function, [Pass("decompose", partial(decompose, supports=supports))])


def standard(function: Function, evaluate: Callable | None = None, supports: Supports | None = None,
             records: list[Record] | None = None) -> Function:
    """What every function goes through before it is compiled."""
    return run(function, [Pass("decompose", partial(decompose, supports=supports))], records)
