"""Kernels as text, by the grammar of :mod:`nervure.kernel.ir`: the same for the same kernel each time.

:mod:`nervure.kernel.parser` reads it back.

>>> from nervure.kernel.ir import Address, Apply, Buffer, For, Kernel, Load, Store, Variable
>>> from nervure.types.dim import dim
>>> from nervure.types.dtype import float32
>>> i, n, element, double = LoopIndex(0), dim("N", min=1), Variable(float32), Variable(float32)
>>> x, y = Buffer("x", float32, n, "in"), Buffer("y", float32, n, "out")
>>> reverse = Address(n - 1, ((i, -1),))
>>> print(print_kernel(Kernel("double", (x, y), (For(i, n, (
...     Load(element, x, reverse),
...     Apply(double, "add", (element, element)),
...     Store(y, reverse, double)), parallel=True),))), end="")
kernel double(in x: f32[N], out y: f32[N]):
  symbol N:1..
  for i < N parallel:
    v0 = x[-i + N - 1]
    v1 = add(v0, v0)
    y[-i + N - 1] = v1

Variables are ``v0, v1, ...`` in the order of the text, loop indices ``i, j, k, ...`` by the depth of the loop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from nervure.errors import InternalError
from nervure.kernel import ir
from nervure.kernel.loop_index import Indices, LoopIndex, substitute_indices
from nervure.kernel.scalar_types import carries_type
from nervure.types.dim import Dim, DimLike, declaration, declared_symbols, dim, index_symbols
from nervure.types.dtype import bool_

LETTERS = "ijklmnpqrst"

_FACTOR = re.compile(r"\w+")


def print_kernel(kernel: ir.Kernel, anonymous: bool = False) -> str:
    """Returns the text of a kernel. With ``anonymous`` it has no name and its buffers are numbered: kernels of one
    structure then have one text, whatever the names of their buffers, loop indices and variables.
    """
    return "".join([line + "\n" for _, line in _Printer(kernel, anonymous).lines()])


def describe(kernel: ir.Kernel, statement: ir.Statement) -> str:
    """Returns the name of a kernel and the line of a statement in its text, for errors."""
    for entry, line in _Printer(kernel, False).lines():
        if entry is statement:
            return f"{kernel.name}: {line.strip().removesuffix(':')}"
    raise InternalError(f"{kernel.name} has no such {type(statement).__name__}")


class _Printer:
    """The state of printing a kernel: the names given so far. A line comes with the statement that begins in it."""

    def __init__(self, kernel: ir.Kernel, anonymous: bool) -> None:
        self._kernel = kernel
        self._name = "kernel" if anonymous else kernel.name
        self._buffers = {buffer: f"b{number}" if anonymous else buffer.name
                         for number, buffer in enumerate(kernel.buffers)}
        self._symbols = self._declared()
        self._free = _Free({*self._symbols, *self._buffers.values()})
        self._variables: dict[ir.Variable, str] = {}
        self._indices: dict[LoopIndex, str] = {}  # names of the indices of the loops around
        self._depths: dict[LoopIndex, int] = {}

    def _declared(self) -> dict[str, Dim]:
        """Returns the symbols by name, with the tightest bounds that occur in a dimension."""
        found = [buffer.size for buffer in self._kernel.buffers]
        for statement in ir.walk(self._kernel.body):
            found.extend(statement.dims)
        declared: dict[str, Dim] = {}
        for x in {id(x): x for x in found if isinstance(x, Dim)}.values():  # equal ones may know different bounds
            for symbol in declared_symbols(x):
                name = str(symbol)
                if name not in declared:
                    declared[name] = symbol
                elif declaration(symbol) != declaration(declared[name]):
                    declared[name] = declared[name] + symbol - symbol  # type: ignore[assignment]  # a symbol again
        return {name: symbol for name, symbol in declared.items() if not name.startswith("%")}

    def lines(self) -> Iterator[tuple[ir.Statement | None, str]]:
        """Yields the text, line by line."""
        buffers = ", ".join([f"{buffer.role} {name}: {buffer.dtype.short}[{buffer.size}]"
                             for buffer, name in self._buffers.items()])
        yield None, f"kernel {self._name}({buffers}):"
        for name in sorted(self._symbols):
            yield None, f"  symbol {declaration(self._symbols[name])}"
        yield from self._block(self._kernel.body, "  ")

    def _block(self, statements: Sequence[ir.Statement], margin: str) -> Iterator[tuple[ir.Statement | None, str]]:
        for statement in statements:
            if isinstance(statement, ir.For):
                opened = self._opened(statement)
                flags = " parallel" * statement.parallel + " vector" * statement.vector
                yield statement, f"{margin}for {opened}{flags}{_how(statement)}:"
                yield from self._block(statement.body, margin + "  ")
                self._leave(statement)
            elif isinstance(statement, ir.Reduce | ir.Fold):
                yield from self._combination(statement, margin)
            elif isinstance(statement, ir.Contract):
                yield from self._contract(statement, margin)
            elif isinstance(statement, ir.Simple):
                yield statement, margin + self._simple(statement)

    def _combination(self, loop: ir.Reduce | ir.Fold, margin: str) -> Iterator[tuple[ir.Statement | None, str]]:
        how = self._combiners(loop) if isinstance(loop, ir.Reduce) else "fold"
        results = self._list(loop.results)
        yield loop, f"{margin}{results} = {how} over {self._enter(loop.indices)}{_strategy(loop)}:"
        yield from self._block(loop.body, margin + "  ")
        yield None, f"{margin}  give {self._list(loop.values)}"
        self._leave(loop)
        if isinstance(loop, ir.Fold):
            yield None, f"{margin}combine ({self._list(loop.left)}), ({self._list(loop.right)}):"
            yield from self._block(loop.combine, margin + "  ")
            yield None, f"{margin}  give {self._list(loop.combined)}"

    def _combiners(self, loop: ir.Reduce) -> str:
        start = f" from {self._list(loop.start)}" if loop.start else ""
        return f"reduce {', '.join(loop.combine)}{start}"

    def _contract(self, loop: ir.Contract, margin: str) -> Iterator[tuple[ir.Statement | None, str]]:
        yield loop, f"{margin}{self._scalar(loop.result)} = contract over {self._enter(loop.indices)}:"
        yield from self._block(loop.body, margin + "  ")
        yield None, f"{margin}  give {self._list((loop.left, loop.right))}"
        self._leave(loop)

    def _simple(self, statement: ir.Simple) -> str:
        if isinstance(statement, ir.Apply):
            dtype = f" {statement.result.dtype.short}" if carries_type(statement.function) else ""
            operands = self._list(statement.operands)
            return f"{self._scalar(statement.result)} = {statement.function}({operands}){dtype}"
        if isinstance(statement, ir.Index):
            return f"{self._scalar(statement.result)} = index {self._dim(statement.expression)}"
        if isinstance(statement, ir.Check):
            condition, value = self._scalar(statement.condition), self._scalar(statement.value)
            return f"check {condition} else {statement.failure}, {value}"
        if isinstance(statement, ir.Prefetch):
            return f"prefetch {self._buffer(statement.buffer)}[{self._address(statement.address)}]"
        if isinstance(statement, ir.Load | ir.Store | ir.InterleavedStore):
            return self._access(statement)
        raise InternalError(f"there is no text of {statement!r:.80}")

    def _access(self, statement: ir.Load | ir.Store | ir.InterleavedStore) -> str:
        place = f"{self._buffer(statement.buffer)}[{self._address(statement.address)}]"
        valid = "" if statement.valid is None else f" if {self._scalar(statement.valid)}"
        if isinstance(statement, ir.Load):
            otherwise = "" if statement.fill is None else f" else {self._scalar(statement.fill)}"
            return f"{self._scalar(statement.result)} = {place}{valid}{otherwise}"
        streaming = "" if statement.streaming == 0 else f" streaming {self._dim(statement.streaming)}"
        if isinstance(statement, ir.InterleavedStore):
            return f"{place} = {self._list(statement.values)}{streaming}"
        combine = "" if statement.combine is None else f" {statement.combine}"
        return f"{place}{combine} = {self._scalar(statement.value)}{valid}{streaming}"

    # -- names -------------------------------------------------------------------------------------------

    def _opened(self, loop: ir.For) -> str:
        """Names the indices of a for loop; ``i < N``, or ``i < N by j <= 64``."""
        if loop.strip is None:
            return self._enter(loop.indices)
        first = self._enter(loop.indices[:1])
        self._enter(loop.indices[1:])
        return f"{first} by {self._indices[loop.strip.length]} <= {loop.strip.most}"

    def _enter(self, indices: Indices) -> str:
        """Names the indices of a loop; returns ``i < N, j < 4``."""
        opened = []
        for index, extent in indices:
            self._depths[index] = len(self._indices)
            self._indices[index] = name = self._free.index(len(self._indices))
            opened.append(f"{name} < {self._dim(extent)}")
        return ", ".join(opened)

    def _leave(self, loop: ir.Loop) -> None:
        for index, _ in loop.indices:
            del self._indices[index]

    def _buffer(self, buffer: ir.Buffer) -> str:
        return self._buffers.get(buffer, buffer.name)

    def _scalar(self, x: ir.Scalar) -> str:
        if isinstance(x, ir.Literal):
            return str(bool(x.value)) if x.dtype is bool_ else f"{_number(x.value)}_{x.dtype.short}"
        name = self._variables.get(x)
        if name is None:
            name = self._variables[x] = self._free.variable()
        return name

    def _list(self, scalars: Iterable[ir.Scalar]) -> str:
        return ", ".join([self._scalar(scalar) for scalar in scalars])

    # -- dimensions and addresses --------------------------------------------------------------------------

    def _dim(self, x: DimLike) -> str:
        return str(substitute_indices(x, {index: dim(name) for index, name in self._indices.items()}))

    def _address(self, address: ir.Address) -> str:
        """Returns ``8*i + j + 3*v0 + 5``; a base with loop indices is in parentheses."""
        steps = sorted(address.steps, key=lambda step: self._depths.get(step[0], -1))
        terms = [_term(step, self._indices.get(index, index.name)) for index, step in steps]
        terms += [_term(stride, self._scalar(variable)) for stride, variable in address.terms]
        if index_symbols(address.base):
            terms.append(f"({self._dim(address.base)})")
        elif address.base != 0 or not terms:
            terms.append(str(address.base))
        first, *others = terms
        return first + "".join([f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in others])


class _Free:
    """Names of loop indices and variables that are not in use."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._letters = [letter for letter in LETTERS if letter not in taken]
        self._variables = 0

    def index(self, depth: int) -> str:
        """Returns the name of a loop index at a depth."""
        while depth >= len(self._letters):
            name = f"i{len(self._letters)}"
            while name in self._taken:
                name += "_"
            self._letters.append(name)
        return self._letters[depth]

    def variable(self) -> str:
        """Returns the name of another variable."""
        name = f"v{self._variables}"
        self._variables += 1
        return self.variable() if name in self._taken else name


def _how(loop: ir.For) -> str:
    """Returns the text for the form of a loop."""
    if loop.tile is not None:
        return f" tile {loop.tile.columns} lanes {', '.join(map(str, loop.tile.lanes))}"
    if loop.widths is None:
        return "" if loop.routine is None else f" as {loop.routine}"
    lanes = f" lanes {', '.join(map(str, loop.widths.full))}" if loop.widths.full else ""
    masked = f" masked {loop.widths.masked}" if loop.widths.masked else ""
    return f"{lanes}{masked}{' unrolled' if loop.unrolled else ''}"


def _strategy(loop: ir.Reduce | ir.Fold) -> str:
    if not isinstance(loop, ir.Reduce):
        return ""
    order = "" if loop.order == ir.DEFAULT_ORDER else f" order {loop.order.lanes}, {loop.order.block}"
    if loop.order.group != ir.GROUP:
        order += f", {loop.order.group}"
    if loop.strategy is None:
        return order
    name, lanes = loop.strategy
    return f"{order} as {name}" if lanes == 1 else f"{order} as {name} {lanes}"


def _term(factor: DimLike, name: str) -> str:
    if factor in (1, -1) and not name.startswith("-"):
        return name if factor == 1 else f"-{name}"
    text = str(factor)
    return f"{text}*{name}" if isinstance(factor, int) or _FACTOR.fullmatch(text) else f"({text})*{name}"


def _number(value: bool | int | float | complex) -> str:
    """Returns a number with each of its bits, except the payload of a NaN."""
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    is_negative_nan = value != value and math.copysign(1.0, value) < 0
    return "-nan" if is_negative_nan else repr(value)
