"""The vectorisation factor: the number of iterations of a vector loop that run at once.

Short bodies run in several registers at once, which hides the latency of their instructions and the cost of the loop;
those with a few long functions in two, since a processor looks too few instructions ahead to overlap two iterations of
such a loop by itself. Longer bodies, and those that gather, run in one. A reduction inside a vector loop takes whole
cache lines of each row.

>>> from nervure.kernel.parser import parse_kernel
>>> text = '''
... kernel apply(in x: f32[100], out y: f32[100]):
...   for i < 100 vector:
...     v0 = x[i]
...     v1 = {}(v0)
...     y[i] = v1
... '''
>>> [vector_widths(parse_kernel(text.format(function)).body[0], lanes=8) for function in ("negative", "exp")]
[Widths(full=(32, 8), masked=8), Widths(full=(16,), masked=8)]
"""

from __future__ import annotations

from nervure.kernel.ir import (
    Access,
    Address,
    Apply,
    Body,
    Contract,
    Definition,
    Fold,
    For,
    Index,
    InterleavedStore,
    Kernel,
    Reduce,
    Scalar,
    Store,
    Variable,
    Widths,
    walk,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.tuning import (
    FEW_LONG_FUNCTIONS,
    LANES_AROUND_REDUCTION,
    LIVE_REGISTERS,
    NARROW_TAIL,
    VECTOR_STATEMENTS,
)
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.support.machine import Machine


def register_lanes(kernel: Kernel, machine: Machine) -> int:
    """Returns the number of iterations that fill a register: its lanes of four bytes, or half as many if all memory is
    wider.
    """
    is_narrow = any([buffer.dtype.itemsize < 8 for buffer in kernel.buffers])
    return max(machine.lanes // (1 if is_narrow else 2), 1)


def vector_widths(loop: For, lanes: int) -> Widths:
    """Returns the numbers of iterations of a ``loop`` that run at once, for registers of ``lanes`` lanes."""
    statements = tuple(walk(loop.body))
    if any([isinstance(entry, Reduce | Contract) for entry in statements]):
        width = max(LANES_AROUND_REDUCTION, lanes) if is_light(loop.body, loop.index) else lanes
        return Widths((width,), width)
    if any([isinstance(entry, For | Fold) for entry in statements]) or not meets_rows(loop.body, loop.index):
        return Widths((lanes,), lanes)
    if not is_light(loop.body, loop.index):
        return Widths((heavy_width(loop.body, lanes),), lanes)
    if all([isinstance(entry, Index | Store) for entry in statements]):
        return Widths((lanes,), lanes)  # an offset table: a few hundred numbers
    live, length = most_live(loop.body, loop.index), len(statements)
    several = next((factor for factor in (4, 2)
                    if factor * live <= LIVE_REGISTERS and factor * length <= VECTOR_STATEMENTS), 1)
    if several == 1 or length > NARROW_TAIL:
        return Widths((several * lanes,), lanes)
    return Widths((several * lanes, lanes), lanes)


def is_light(body: Body, index: LoopIndex) -> bool:
    """Whether each function in a body is a few instructions, and its lanes meet in rows."""
    return not long_functions(body) and meets_rows(body, index)


def meets_rows(body: Body, index: LoopIndex) -> bool:
    """Whether lanes that run along an index meet in rows of memory."""
    return all([isinstance(statement, InterleavedStore) or _is_unit_or_fixed(statement.address, index)
                for statement in walk(body) if isinstance(statement, Access)])


def heavy_width(body: Body, lanes: int) -> int:
    """Returns the number of iterations at once for a body with long functions."""
    return 2 * lanes if lanes > 1 and len(long_functions(body)) <= FEW_LONG_FUNCTIONS else lanes


def long_functions(body: Body) -> list[Apply]:
    """Returns the functions in a body that are more than a few instructions."""
    return [entry for entry in walk(body) if isinstance(entry, Apply) and not SCALAR_FUNCTIONS[entry.function].is_short]


def _is_unit_or_fixed(address: Address, index: LoopIndex) -> bool:
    """Whether an address moves by one element with an index, or not at all, whatever the data are."""
    step = address.step(index)
    if any([isinstance(x, Variable) for _, x in address.terms]) or index.occurs_in(address.base):
        return False
    return isinstance(step, int) and abs(step) <= 1


def most_live(body: Body, index: LoopIndex) -> int:
    """Returns the most variables that are live at once, among those that vary between iterations of ``index``."""
    last, varying = dict[Scalar, int](), set[Scalar]()
    for number, statement in enumerate(body):
        used = statement.operands
        if isinstance(statement, Definition) and (statement.mentions(index) or varying.intersection(used)):
            varying.add(statement.result)
        last.update(dict.fromkeys(used, number))
    live, most = 0, 1
    for number, statement in enumerate(body):
        defined = statement.results if isinstance(statement, Definition) else ()
        live += len(varying.intersection(defined))
        most = max(most, live)
        ended = [x for x in {*statement.operands, *defined} if last.get(x, number) == number]
        live -= len(varying.intersection(ended))
    return most
