"""Rewrites of addresses and indices: shorter by the bounds of the loops, affine where possible.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel read(in x: f32[12]):
...   for i < 3:
...     for j < 4:
...       v0 = x[(4*i + j)//4*4 + j % 4]
... ''')
>>> loop, = with_affine_addresses(kernel.body)
>>> loop.body[0].body[0].address
Address(base=0, steps=((%0, 4), (%1, 1)), terms=())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nervure.kernel.ir import Access, Address, Body, Index, Literal, Scalar, Simple, Statement, Variable, is_structural
from nervure.kernel.loop_index import LoopIndex, sorted_indices
from nervure.kernel.rewriting import AnyLoop, Rewrite
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, affine, index_symbols, simplify
from nervure.types.dtype import int64


def with_affine_addresses(body: Body) -> Body:
    """Rewrites addresses, with every loop index that they are affine in among their steps, in the order of the loops.
    Terms that are numbers or indices become part of them. Indices are in their shortest form.
    """
    return _Addresses().block(body)


class _Addresses(Rewrite):
    def __init__(self) -> None:
        super().__init__()
        self._loops: list[LoopIndex] = []  # the indices of the loops around
        self._ranges: dict[str, tuple[DimLike, DimLike]] = {}  # and their ranges
        self._indices: dict[Variable, DimLike] = {}
        self._shortest: dict[DimLike, DimLike] = {}  # shortest forms inside the loops around

    def rebuilt(self, loop: AnyLoop) -> AnyLoop:
        outer = self._loops, self._ranges, self._shortest
        self._loops = [*self._loops, *[index for index, _ in loop.indices]]
        self._ranges = {**self._ranges, **{index.name: (0, extent - 1) for index, extent in loop.indices}}
        self._shortest = {}
        inner = super().rebuilt(loop)
        self._loops, self._ranges, self._shortest = outer
        return inner

    def simple(self, statement: Simple, out: list[Statement]) -> None:
        if isinstance(statement, Index):
            expression = self._simplified(statement.expression)
            if is_structural(expression):
                self.replaced[statement.result] = Literal(expression, int64)
                return
            self._indices[statement.result] = expression
            statement = replace(statement, expression=expression)
        elif isinstance(statement, Access):
            statement = statement.at(self._address(statement.address))
        out.append(statement)

    def _address(self, address: Address) -> Address:
        base, terms = address.base, address.terms
        if terms:
            base, terms = self._absorbed(base, terms)
        if terms == address.terms and (isinstance(base, int) or not index_symbols(base)):
            return self._ordered(address)
        steps = dict(address.steps)
        base = self._simplified(base)
        for index in sorted_indices(base):
            parts = affine(base, [index.name])
            if parts is not None and not index_symbols(parts[0][index.name]):
                steps[index] = steps.get(index, 0) + parts[0][index.name]
                base = parts[1]
        return Address(base, self._in_order(steps), terms)

    def _absorbed(self, base: DimLike, terms: Iterable[tuple[DimLike, Scalar]]
                  ) -> tuple[DimLike, tuple[tuple[DimLike, Scalar], ...]]:
        """Returns the base with the terms whose scalar is known, and the other terms."""
        left = []
        for stride, scalar in terms:
            known = int(scalar.value.real) if isinstance(scalar, Literal) else self._indices.get(scalar)
            if known is None:
                left.append((stride, scalar))
            else:
                base = base + stride * known
        return base, tuple(left)

    def _ordered(self, address: Address) -> Address:
        """Returns the address with its steps in the order of the loops, so that equal ones have one form."""
        if len(address.steps) < 2 and all([step != 0 for _, step in address.steps]):
            return address
        ordered = self._in_order(dict(address.steps))
        return address if ordered == address.steps else replace(address, steps=ordered)

    def _in_order(self, steps: Mapping[LoopIndex, DimLike]) -> tuple[tuple[LoopIndex, DimLike], ...]:
        return tuple([(index, steps[index]) for index in self._loops if steps.get(index, 0) != 0])

    def _simplified(self, x: DimLike) -> DimLike:
        if isinstance(x, int) or not index_symbols(x):
            return x
        found = self._shortest.get(x)
        if found is None:
            found = self._shortest[x] = simplify(x, self._ranges)
        return found
