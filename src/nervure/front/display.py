"""Tables as HTML: tensors, models and reports show themselves in a notebook by them. Nothing is computed for a table.

>>> import nervure as nv
>>> x = nv.placeholder("N=n, C=3").named("<x>")
>>> "&lt;x&gt;" in as_html(x), as_html(x).count("<tr>")
(True, 3)

No text of a user's becomes markup, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from nervure.front.tensor import Tensor

_CELL = "text-align: left; padding: 0 1em 0 0"
_CODE = f"{_CELL}; white-space: pre; font-family: monospace"


def as_html(x: Tensor) -> str:
    """The table of a tensor: its axes, below what ``repr`` says."""
    rows = [(str(at) if axis.is_anonymous else axis.label, str(length))
            for at, (axis, length) in enumerate(zip(x.axes, x.shape, strict=True))]
    return table(("axis", "length") if rows else (), rows, repr(x))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str | None = None) -> str:
    """A table of texts: a line of heads (none: left out), rows of as many cells, and a line above it all.

    >>> print(table(["axis", "length"], [["N", "n < 8"]], caption="x"))
    <table style="border-collapse: collapse"><caption style="...">x</caption>
    <thead><tr><th style="text-align: left; padding: 0 1em 0 0">axis</th>...</tr></thead>
    <tbody>
    <tr><td style="...">N</td><td style="...">n &lt; 8</td></tr>
    </tbody></table>
    """
    above = "" if caption is None else f'<caption style="{_CODE}">{escape(caption)}</caption>'
    heads = f"<thead>{_row(head, 'th', _CELL)}</thead>" if head else ""
    lines = "\n".join([_row(row, "td", _CODE) for row in rows])
    return f'<table style="border-collapse: collapse">{above}\n{heads}\n<tbody>\n{lines}\n</tbody></table>'


def _row(cells: Sequence[str], tag: str, style: str) -> str:
    made = [f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell in cells]
    return f"<tr>{''.join(made)}</tr>"
