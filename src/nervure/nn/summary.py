"""Summaries: a line for each call of a module, with its result, its parameters and its operations.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer("F=784", "K=10"), nv.nn.ReLU())
>>> print(model.summary("N=n, F=784"))
module          result          bytes  parameters  their bytes  operations
Sequential      f32[N=n, K=10]  40*n   7,850       31,400       15700*n
  0 LinearLayer f32[N=n, K=10]  40*n   7,850       31,400       15690*n
  1 ReLU        f32[N=n, K=10]  40*n   0           0            10*n
7,850 parameters, 31,400 bytes; buffers 0 bytes

An addition is one operation, a multiplication another, a function such as exp 16. Composites count as the ops they
consist of, before anything is fused or shared; views and copies count nothing. All iterations of a loop count, or one
if their number is open, and the longest of branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nervure.errors import WrongKind
from nervure.front import display
from nervure.front.creation import AssignableTensorOp
from nervure.front.tensor import Tensor, described_type
from nervure.ir.kinds import Composite, Elementwise, Structured
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.nn.calls import ModuleCall
from nervure.ops.branching import Branches
from nervure.ops.looping import Scan
from nervure.ops.scalar import SCALAR_FUNCTIONS
from nervure.types.dim import Dim, DimLike, dim_max, product

HEADS = ("module", "result", "bytes", "parameters", "their bytes", "operations")


@dataclass(frozen=True)
class SummaryLine:
    """One call of a module: its ``name`` and class, and the type of the result with its size in bytes. ``parameters``
    counts those of the module and all inside, with their bytes. ``operations`` counts those of the call (an addition
    is 1, a function such as exp 16). Sizes are numbers, or expressions over symbols.
    """

    depth: int
    name: str
    kind: str
    result: str
    result_bytes: DimLike
    parameters: int
    parameter_bytes: int
    operations: DimLike

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as texts, in the order of the heads."""
        title = "  " * self.depth + " ".join([part for part in (self.name, self.kind) if part])
        return title, self.result, *[_amount(number) for number in (
            self.result_bytes, self.parameters, self.parameter_bytes, self.operations)]


@dataclass(frozen=True, repr=False)
class Summary:
    """The lines of a summary in the order of the calls, and the totals, in which shared parameters count once."""

    lines: tuple[SummaryLine, ...]
    parameters: int
    parameter_bytes: int
    buffer_bytes: int

    def __str__(self) -> str:
        from nervure.transformers.report import table  # loaded for texts alone
        return f"{table([HEADS, *[line.cells for line in self.lines]])}\n{self.totals}"

    __repr__ = __str__

    @property
    def totals(self) -> str:
        """The last line, with the totals."""
        return (f"{self.parameters:,} parameters, {self.parameter_bytes:,} bytes; "
                f"buffers {self.buffer_bytes:,} bytes")

    def _repr_html_(self) -> str:
        return display.table(HEADS, [line.cells for line in self.lines], self.totals)


def _amount(number: DimLike) -> str:
    return f"{number:,}" if isinstance(number, int) else str(number)


def summary_of(lines: Iterable[SummaryLine], parameters: list[AssignableTensorOp],
               buffers: list[AssignableTensorOp]) -> Summary:
    """Returns the summary of these ``lines``, with the totals of a module's ``parameters`` and ``buffers``."""
    return Summary(tuple(lines), size(parameters), _bytes(parameters), _bytes(buffers))


def line_of(call: ModuleCall, name: str, parameters: list[AssignableTensorOp]) -> SummaryLine:
    """Returns the line of one ``call``; ``name`` and ``parameters`` are those of its module in the summarised one."""
    results = [entry for entry in _flat(call.result) if isinstance(entry, Tensor)]
    inputs = [entry for entry in call.arguments if isinstance(entry, Tensor)]
    types = ", ".join([described_type(entry) for entry in results])
    result_bytes: DimLike = sum([entry.type.nbytes for entry in results], start=0)
    return SummaryLine(call.depth, name, type(call.module).__name__, types, result_bytes, size(parameters),
                       _bytes(parameters), operations(results, inputs))


def size(places: list[AssignableTensorOp]) -> int:
    """Returns the number of elements of all ``places``; WrongKind if one has a length that is a symbol."""
    return sum([_number(place.size) for place in places])


def _bytes(places: list[AssignableTensorOp]) -> int:
    return sum([_number(place.type.nbytes) for place in places])


def _number(length: DimLike) -> int:
    if isinstance(length, Dim):
        raise WrongKind("a parameter has lengths that are numbers", op="summary", got=str(length), expected="a number",
                        help="only inputs have symbolic lengths")
    return length


def _flat(result: object) -> list[object]:
    return [part for entry in result for part in _flat(entry)] if isinstance(result, (list, tuple)) else [result]


# -- operations ------------------------------------------------------------------------------------------------------


def operations(results: Iterable[Tensor], inputs: Iterable[Tensor]) -> DimLike:
    """Counts the scalar operations of everything between ``inputs`` and ``results``, for all sizes.

    >>> x, w = nv.placeholder("N=n, F=784"), nv.variable("F=784, K=10")
    >>> str(operations([nv.dot(x, w) + 1.0], [x]))
    '15690*n'
    """
    return _between([tensor.value for tensor in results], {tensor.value.op for tensor in inputs})


def _between(results: Iterable[Value], seen: set[Op]) -> DimLike:
    """Counts the operations of everything below some values, down to the ops that have been ``seen``."""
    waiting = [value.op for value in results]
    total: DimLike = 0
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        parts = op.decomposed() if isinstance(op, Composite) else op.operands
        waiting.extend([value.op for value in parts])
        total = total + _of_op(op)
    return total


def _of_op(op: Op) -> DimLike:
    """Counts the operations of one op of the core."""
    if isinstance(op, Elementwise):
        return product(op.outputs[0].shape) * _of_expression(op.evaluate, len(op.operands))
    if isinstance(op, RegionOp):
        return _of_region(op)
    if not isinstance(op, Structured):
        return 0
    structure = op.structure(*[operand.type for operand in op.operands])
    each = _of_expression(structure.body, len([entry for entry in structure.reads if entry is not None]))
    return product(structure.domain) * (each + (structure.combine is not None) * len(structure.writes))


def _of_region(op: RegionOp) -> DimLike:
    """Counts the operations of functions inside of an op: those of all iterations, if their number is known, and those
    of the longest branch.
    """
    counts = [_between(body.results, set()) for body in op.bodies]
    if isinstance(op, Branches):
        return dim_max(*counts)
    total: DimLike = 0
    for count in counts:
        total = total + count
    return total * op.length if isinstance(op, Scan) else total


def _of_expression(expression: Callable[..., object], arity: int) -> int:
    """Counts the operations of an expression over scalars."""
    counter = _Counter()
    expression(counter, *[None] * arity)
    return counter.operations


class _Counter:
    """A scalar namespace that only counts: its scalars are None."""

    def __init__(self) -> None:
        self.operations = 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*operands: object) -> None:
            declared = SCALAR_FUNCTIONS.get(name)
            self.operations += 0 if declared is None else declared.operations
        return function
