"""Notes on matrix products: how the product of a kernel is cut, and why a side is packed, in the words of explanations.

>>> from nervure.kernel.parser import parse_kernel
>>> described_products(parse_kernel('''
... kernel product(in x: f32[60], in y: f32[48], out z: f32[20]):
...   for i < 1 parallel:
...     for j < 5 as product:
...       for k < 4 vector:
...         v0 = contract over l < 12:
...           v1 = x[12*j + l]
...           v2 = y[k + 4*l]
...           give v1, v2
...         z[4*j + k] = v0
... '''))
('tasks: 1; both sides are read where they lie',)
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.kernel.ir import Apply, Buffer, For, Kernel, Load, Store, walk
from nervure.kernel.routines import Product, product_of, transpose_of
from nervure.types.dim import index_symbols


def described_products(kernel: Kernel, apart: Mapping[Buffer, str] | None = None) -> tuple[str, ...]:
    """Describes the cut of the matrix product of a kernel; nothing where it has none.

    ``apart`` says of panels that other kernels make when they do.
    """
    products = [product for entry in walk(kernel.body) if (product := product_of(entry)) is not None]
    if not products or kernel.sliced is None:
        return ()
    packed: dict[Buffer, str] = {**(apart or {})}
    packed |= {entry.buffer: f": {_packing(kernel, entry.buffer)}" for entry in walk(kernel.body)
               if isinstance(entry, Load) and entry.buffer.role == "scratch"}
    told = [f"the {side} side is packed{packed[load.buffer]}" for side, load in (
        ("left", products[0].left), ("right", products[0].right)) if load.buffer in packed]
    if len(told) < 2:
        told.append("both sides are read where they lie" if not told else "the other is read where it lies")
    if _is_transposed(kernel, products[0]):
        told.append("they have changed places: results are transposed")
    if _leaves_out(kernel):
        told.append("what lies outside of data is left out")
    return (f"tasks: {kernel.sliced.extent}; {'; '.join(told)}",)


def _leaves_out(kernel: Kernel) -> bool:
    """Whether rows are multiplied region by region, each by the k that it has: each has a part of the table of rows."""
    products = [product for entry in walk(kernel.body) if (product := product_of(entry)) is not None]
    return any([_is_of_region(product, kernel.sliced) for product in products])


def _is_of_region(product: Product, task: For | None) -> bool:
    """Whether the rows of a product are those of one region, in a part of the table, or of a block of k."""
    if product.tables is None or task is None or product.left.buffer.role == "scratch":
        return False
    inside = index_symbols(product.tables.rows.address.base) | index_symbols(product.rows)
    return not inside <= {task.index.name}


def _is_transposed(kernel: Kernel, product: Product) -> bool:
    """Whether the results of a product are transposed before anything is done with them."""
    return any([isinstance(entry, For) and (transpose := transpose_of(entry)) is not None
                and transpose.load.buffer is product.store.buffer for entry in walk(kernel.body)])


def _packing(kernel: Kernel, panel: Buffer) -> str:
    """Why the side that is loaded from a panel is packed."""
    for outer in walk(kernel.body):
        inner = outer.body[0] if isinstance(outer, For) and len(outer.body) == 1 else None
        store = inner.body[-1] if isinstance(inner, For) and inner.body else None
        if not isinstance(outer, For) or not isinstance(inner, For) or not isinstance(store, Store):
            continue
        if store.buffer is panel:
            source = inner.body[0]
            if len(inner.body) > 2 or not isinstance(source, Load):
                functions = [entry.function for entry in inner.body if isinstance(entry, Apply)]
                return f"it is computed ({', '.join(functions)})"
            if outer.routine is not None or source.address.step(inner.index) != 1:
                return "it lies across memory"
            return f"its rows are {source.address.step(outer.index) * source.buffer.dtype.itemsize} bytes apart"
    return "it is computed"
