"""What was made of a computation: kernels and the ops in each, what lies in memory and why, and where the time goes.

>>> import nervure as nv
>>> x = nv.placeholder({"N": 4, "F": 8}).named("x")
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     found = explain(cpu.computation(nv.sum(nv.exp(x), out_axes="N=4"), x))
>>> found
<explanation of computation on cpu: 1 kernel>
>>> [line.op for line in found.kernels[0].ops], found.kernels[0].bytes
(['Exp', 'Sum'], 144)
>>> print(found.kernels[0].text.splitlines()[0])
kernel rows(in b0: f32[32], out b1: f32[4]):
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nervure.computation import Computation
from nervure.errors import InvalidArgument, WrongKind
from nervure.explain.explanation import Explanation
from nervure.front.reading import integer
from nervure.jit import Jitted
from nervure.transformers.base import Executable

__all__ = ["Explanation", "explain"]


def explain(computation: object, *arguments: object, repeat: int = 20, **keywords: object) -> Explanation:
    """Explains a computation, a function under ``nv.jit`` (with the arguments of a call) or an executable.

    With arguments every size is a number, and the steps are timed: each alone, in order, medians over ``repeat`` runs
    (0: not at all). No variable is changed by that, but host calls and prints happen in every run. Without arguments
    the structure is shown for all sizes. ``print`` it, or read its fields; ``json()`` has all of them.

    >>> x = nv.placeholder("N=1000")
    >>> found = nv.explain(nv.computation(nv.sum(nv.exp(x)), x), np.zeros(1000), repeat=0)
    >>> len(found.steps) > 0, found.seconds is None
    (True, True)
    """
    repeat = integer(repeat, "explain", "repeat", "how often the steps are run")
    if repeat < 0:
        raise InvalidArgument("repeat cannot be negative", op="explain", operand="repeat", got=repeat,
                              expected="0 or more", help="0 shows sizes without times")
    executable, given = _read(computation, arguments, keywords)
    if given is None:
        return Explanation(executable.report())
    report = executable.report(given)
    if repeat == 0:
        return Explanation(report)
    times = executable.measure(given, repeat)
    steps = [replace(step, seconds=seconds) for step, seconds in zip(report.steps, times.steps, strict=True)]
    return Explanation(replace(report, steps=tuple(steps)), times.together, times.limits)


def _read(computation: object, arguments: tuple[object, ...],
          keywords: dict[str, Any]) -> tuple[Executable, Sequence[object] | None]:
    """What runs, and the arguments it is run with; None where they are to be left open."""
    if isinstance(computation, Jitted):
        compiled, arrays = computation.specialised(*arguments, **keywords)
        return compiled.executable, arrays
    if isinstance(computation, Computation):
        feed = keywords.pop("feed_dict", None)
        _refuse(keywords)
        is_open = not arguments and feed is None and len(computation.parameters) > 0
        return computation.executable, None if is_open else computation.read_arguments(arguments, feed)
    if isinstance(computation, Executable):
        _refuse(keywords)
        if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
            arguments = tuple(arguments[0])
        is_open = not arguments and len(computation.function.parameters) > 0
        return computation, None if is_open else arguments
    raise WrongKind("this cannot be explained", op="explain", got=f"{type(computation).__name__} {computation!r:.60}",
                    expected="a computation, a jitted function or an executable",
                    help="nv.computation(returns, *parameters) and nv.jit(function) make such")


def _refuse(keywords: dict[str, object]) -> None:
    if keywords:
        raise InvalidArgument(f"explain has no option {next(iter(keywords))}", op="explain", got=", ".join(keywords),
                              expected="repeat, feed_dict", help="a jitted function takes its arguments by name, too")
