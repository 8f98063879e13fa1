"""Profiles: the time of each instruction of a tensor's computation, and the machine code of a compiled model.

>>> import nervure as nv
>>> x = nv.placeholder("N=8").named("x")
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     text = disassemble(cpu.computation(x + 1, x))
>>> print(text.splitlines()[0])
computation, step 0: kernel pointwise, Add
>>> "retq" in text
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nervure.build import CompiledComposite
from nervure.computation import Computation, computation
from nervure.eager import proceed
from nervure.errors import WrongKind, shown
from nervure.front.argument_parsing import integer
from nervure.front.creation import as_tensor
from nervure.front.tensor import Operand, Tensor
from nervure.inspection.explain import Explanation, explain
from nervure.inspection.words import time_text
from nervure.support.elsewhere import explain_keywords
from nervure.transformers.base import Executable
from nervure.transformers.report import StepReport, table


def proceed_time(t: Operand) -> Tensor:
    """Returns ``nv.proceed(t)``, after printing a table of the time of each instruction.

    Effects happen once more than in ``nv.proceed``.

    >>> x = nv.proceed_time(nv.tensor([1.0, 2.0]) + 1)             # doctest: +ELLIPSIS
    time ... instruction
    ...
    >>> x.tolist()
    [2.0, 3.0]
    """
    return proceed_bench(t, 1)


def proceed_bench(t: Operand, n: int = 10) -> Tensor:
    """Returns ``nv.proceed(t)``, after printing a table of the median time of each instruction over ``n`` runs. A line
    has the time, its share of all, and the bytes to read and write; then the same follows by op classes.

    >>> x = nv.proceed_bench(nv.tensor([1.0, 2.0]) + 1, n=3)       # doctest: +ELLIPSIS
    time ... instruction
    ...
    """
    n = integer(n, "proceed_bench", "n", "how often it is run", help="n=10 gives medians of ten runs", least=1)
    tensor = as_tensor(t, "proceed_bench")
    print(profile(explain(computation(tensor), repeat=n)))
    return proceed(tensor)


def profile(found: Explanation) -> str:
    """Returns the table of an explanation that was timed.

    >>> print(profile(nv.explain(nv.computation(nv.tensor(1.0) + 1))))           # doctest: +ELLIPSIS
    time ... instruction
    ...
    """
    if not found.steps:
        return "nothing to run"
    together = sum([step.seconds or 0.0 for step in found.steps])
    instructions = [_row([step], f"{step.kind} {step.name}: {_ops(step)}", together) for step in found.steps]
    by_ops: defaultdict[str, list[StepReport]] = defaultdict(list)
    for step in found.steps:
        by_ops[_ops(step)].append(step)
    kinds = sorted([_row(steps, ops, together) for ops, steps in by_ops.items()], key=lambda row: -row[0])
    parts = [_table("instruction", [*instructions, _row(found.steps, "together", together)]), _table("ops", kinds)]
    return "\n\n".join(parts)


Row = tuple[float, float, int | None, str]
"""Seconds, their share of all, bytes if they are known, and the name of the row."""


def _row(steps: Sequence[StepReport], what: str, together: float) -> Row:
    seconds = sum([step.seconds or 0.0 for step in steps])
    sizes = [step.bytes for step in steps if step.bytes is not None]
    return seconds, seconds / together if together else 0.0, sum(sizes) if len(sizes) == len(steps) else None, what


def _table(what: str, rows: Sequence[Row]) -> str:
    texts = [(time_text(seconds), f"{share:.0%}", "" if size is None else f"{size:,}", name)
             for seconds, share, size, name in rows]
    return table([("time", "share", "bytes", what), *texts], right=(0, 1, 2))


def _ops(step: StepReport) -> str:
    """Returns the classes of a step's ops, each once; the name of a step that only moves memory."""
    return ", ".join(dict.fromkeys([line.op for line in step.ops])) or step.name


def disassemble(model: CompiledComposite | Computation[object] | Executable) -> str:
    """Returns the assembly of each kernel of a compiled model; other steps by name.

    >>> x = nv.placeholder("N=8").named("x")
    >>> print(nv.disassemble(nv.build(nv.exp(x))))                   # doctest: +ELLIPSIS
    forward, step 0: kernel pointwise, Exp
    ...
    """
    if isinstance(model, CompiledComposite):
        executables = model.executables
    elif isinstance(model, Computation):
        executables = [model.executable]
    elif isinstance(model, Executable):
        executables = [model]
    else:
        raise WrongKind("this has no machine code", op="disassemble", got=shown(model),
                        expected="a model, a computation or an executable", help="nv.build(out) makes a model")
    return "\n".join([_disassembled(executable) for executable in executables])


def _disassembled(executable: Executable) -> str:
    report = executable.report()
    return "\n".join([f"{report.name}, step {step.number}: {step.kind} {step.name}, {_ops(step)}\n{_assembly(step)}"
                      for step in report.steps])


def _assembly(step: StepReport) -> str:
    return step.assembly if "assembly" in step.texts else ""


explain_keywords(globals(), ["disassemble", "proceed_bench", "proceed_time"])
