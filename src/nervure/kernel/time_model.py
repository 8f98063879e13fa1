"""The time that a kernel takes on one core: its work, weighed by what the machine needs for each part of it.

The runtime decides by this number what threads are worth and when a call lets other Python threads run, and
explanations show it. Where sizes are symbols it is known for a few of them.

>>> from nervure.types.dim import dim
>>> from nervure.support.machine import GENERIC
>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel sum(in x: f32[16*N], out y: f32[N]):
...   symbol N
...   for i < N:
...     v0 = reduce add over j < 16:
...       v1 = x[16*i + j]
...       give v1
...     y[i] = v0
... ''')
>>> round(nanoseconds(kernel, {"N": 1000}, GENERIC))
9981
>>> duration = duration_of(kernel, 16 * dim("N"), GENERIC)
>>> duration.size, duration.known
(33*N, ((33, 40), (528, 187), (8448, 2541)))
>>> duration.nanoseconds({"N": 1000})
9838
"""

from __future__ import annotations

from collections.abc import Iterable

from nervure.kernel.ir import Kernel, walk
from nervure.kernel.tuning import LENGTHS_OF_SYMBOLS
from nervure.kernel.work import Bindings, work_of
from nervure.support.machine import Machine
from nervure.types.dim import DimLike, bounds, declared_symbols, evaluate, index_symbols, symbols
from nervure.types.duration import MOST_NANOSECONDS, Duration


def duration_of(kernel: Kernel, points: DimLike, machine: Machine) -> Duration:
    """Returns the time of a kernel on one core. Where sizes are symbols, it is known for a few lengths that these may
    stand for; between them it follows the elements of all buffers and the ``points`` that its innermost statements run
    for.
    """
    size = _size(kernel, points)
    most = _longest(_written(kernel, size))
    if not most:
        return Duration(0, ((0, _whole(kernel, {}, machine)),))
    known: dict[int, int] = {}
    for length in LENGTHS_OF_SYMBOLS:
        bindings = {name: min(max(length, low), high) for name, (low, high) in most.items()}
        known.setdefault(evaluate(size, bindings), _whole(kernel, bindings, machine))
    return Duration(size, tuple(sorted(known.items())))


def has_open_sizes(kernel: Kernel, points: DimLike) -> bool:
    """Whether the time of a kernel depends on sizes that a call brings: of its ``points``, its buffers or its loops."""
    return bool(_longest(_written(kernel, _size(kernel, points))))


def _size(kernel: Kernel, points: DimLike) -> DimLike:
    """Returns the number that the time of a kernel follows."""
    return sum([buffer.size for buffer in kernel.buffers if buffer.is_given], points)


def _written(kernel: Kernel, size: DimLike) -> list[DimLike]:
    """Returns the dimensions that a kernel's time depends on."""
    return [size, *[x for entry in walk(kernel.body) for x in entry.dims]]


def _longest(written: Iterable[DimLike]) -> dict[str, tuple[int, int]]:
    """Returns the least and the largest value of each symbol, as far as these dimensions know them."""
    found: dict[str, tuple[int, int]] = {}
    sized = [x for x in written if symbols(x) != index_symbols(x)]  # most have loop indices alone
    for symbol in [symbol for x in sized for symbol in declared_symbols(x)]:
        low, high = bounds(symbol)
        least, most = found.get(str(symbol), (0, LENGTHS_OF_SYMBOLS[-1]))
        found[str(symbol)] = max(least, low or 0), most if high is None else min(most, high)
    return {name: ends for name, ends in found.items() if not name.startswith("%")}


def _whole(kernel: Kernel, bindings: Bindings, machine: Machine) -> int:
    return min(round(nanoseconds(kernel, bindings, machine)), MOST_NANOSECONDS)


def nanoseconds(kernel: Kernel, bindings: Bindings, machine: Machine) -> float:
    """Returns the time of all iterations of a kernel on one core of a machine, for these sizes."""
    work = work_of(kernel, bindings, machine)
    computed = (work.additions * machine.addition + work.waits * machine.wait + work.entries * machine.entry
                + work.sums * machine.sum_ended + work.multiply_adds * machine.multiply_add)
    in_cache = (work.loads * machine.vector_moved + work.elements * machine.element_moved
                + work.transposes * machine.entry_of_transpose + work.transposed * machine.element_transposed)
    outside, far = [max(work.bytes - cache, 0) for cache in (machine.first_cache, machine.own_cache)]
    moved = ((outside - far) * machine.byte_from_cache + far * machine.byte_outside
             + (work.lines * machine.line_moved if outside else 0.0))
    return machine.started + computed + in_cache + moved
