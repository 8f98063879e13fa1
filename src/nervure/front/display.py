"""Tensors in a notebook: a table of their axes below what ``repr`` says. Nothing is computed for it.

>>> import nervure as nv
>>> x = nv.placeholder("N=n, C=3").named("<x>")
>>> "&lt;x&gt;" in as_html(x), as_html(x).count("<tr>")
(True, 3)
"""

from __future__ import annotations

from nervure import notebook
from nervure.front.tensor import Tensor


def as_html(x: Tensor) -> str:
    """The table of a tensor."""
    rows = [(str(at) if axis.is_anonymous else axis.label, str(length))
            for at, (axis, length) in enumerate(zip(x.axes, x.shape, strict=True))]
    return notebook.table(("axis", "length") if rows else (), rows, repr(x))
