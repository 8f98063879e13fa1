"""Kernels in parts: loops over elements apart from those whose time is that of the routines they call.

A kernel may multiply in a routine and then compute with each element of the result. The loops over elements, which are
hot, become a kernel of their own, which the cold one calls in each iteration of the loop that threads share. So a
compiler may spend little on the code of the cold one.

>>> from nervure.kernel.parser import parse_kernel
>>> kernel = parse_kernel('''
... kernel product(in x: f32[262144], in y: f32[16384], out z: f32[262144], scratch s: f32[32768]):
...   for i < 8 parallel:
...     for j < 256 as product:
...       for k < 128 vector:
...         v0 = contract over l < 128:
...           v1 = x[32768*i + 128*j + l]
...           v2 = y[k + 128*l]
...           give v1, v2
...         s[128*j + k] = v0
...     for j < 32768 vector:
...       v3 = s[j]
...       v4 = exp(v3)
...       z[32768*i + j] = v4
... ''')
>>> whole, hot, is_cold = in_parts(kernel)
>>> (loop, part), = hot.items()
>>> is_cold, whole.sliced.body[1] is loop, part.sliced.body == (loop,)
(True, True, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import prod
from typing import NamedTuple

from nervure.kernel.ir import Body, For, Kernel, Statement
from nervure.kernel.routines import Product, routine_of
from nervure.kernel.tuning import LONG_PRODUCT
from nervure.support.replacing import replace
from nervure.types.dim import DimLike, highest


class Parts(NamedTuple):
    """A kernel whose hot parts are kernels of their own.

    ``kernel`` has the first loop of each hot part in the place of that part, and ``hot`` the parts by these loops.
    ``is_cold`` says whether all that ``kernel`` does besides is done by routines, and a product among them takes long.
    """

    kernel: Kernel
    hot: Mapping[For, Kernel]
    is_cold: bool


def in_parts(kernel: Kernel) -> Parts:
    """Returns a ``kernel`` in parts. It has no hot ones unless the rest is cold."""
    around = kernel.sliced
    if around is None or around.in_lanes or around.strip is not None or around.routine is not None or not all(
            [isinstance(entry, For) for entry in around.body]):
        return Parts(kernel, {}, _is_cold(kernel.body))

    def with_body(body: Iterable[Statement]) -> Kernel:
        return replace(kernel, body=(replace(around, body=tuple(body)),))

    groups = [(is_hot, tuple(group)) for is_hot, group in groupby(around.body, lambda entry: not _runs_routines(entry))]
    routines = with_body([entry for is_hot, group in groups if not is_hot for entry in group])
    if not _is_cold(routines.body):
        return Parts(kernel, {}, is_cold=False)
    hot = {group[0]: with_body(group) for is_hot, group in groups if is_hot and isinstance(group[0], For)}
    return Parts(with_body([entry for is_hot, group in groups for entry in (group[:1] if is_hot else group)]), hot,
                 is_cold=True)


def _is_cold(body: Body) -> bool:
    """Whether all that a body does is done by routines, and a product among them takes long."""
    return all(map(_runs_routines, body)) and any(_takes_long(entry, {}) for entry in body)


def _runs_routines(statement: Statement) -> bool:
    """Whether a statement is a routine, or loops around routines."""
    return isinstance(statement, For) and (statement.routine is not None or all(map(_runs_routines, statement.body)))


def _takes_long(statement: Statement, ranges: Mapping[str, tuple[DimLike, DimLike]]) -> bool:
    """Whether a statement has a long product; ``ranges`` are those of the loops around."""
    if not isinstance(statement, For):
        return False
    product = routine_of(statement)
    if isinstance(product, Product):
        most = [highest(extent, ranges) for extent in (product.rows, product.columns, product.points)]
        return None not in most and prod([each for each in most if each is not None]) >= LONG_PRODUCT
    inside = {**ranges, statement.index.name: (0, statement.extent - 1)}
    return statement.routine is None and any(_takes_long(entry, inside) for entry in statement.body)
