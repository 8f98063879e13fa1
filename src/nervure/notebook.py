"""Tables as HTML, by which things show themselves in a notebook: self-contained, and escaped.

>>> print(table(["axis", "length"], [["N", "n < 8"]], caption="x"))
<table style="border-collapse: collapse"><caption style="...">x</caption>
<thead><tr><th style="text-align: left; padding: 0 1em 0 0">axis</th>...</tr></thead>
<tbody>
<tr><td style="...">N</td><td style="...">n &lt; 8</td></tr>
</tbody></table>

No text of a user's becomes markup, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "text-align: left; padding: 0 1em 0 0"
_CODE = f"{_CELL}; white-space: pre; font-family: monospace"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str | None = None) -> str:
    """A table of texts: a line of heads (none: left out), rows of as many cells, and a line above it all.

    >>> "<th" in table([], [["a", "b"]])
    False
    """
    above = "" if caption is None else f'<caption style="{_CODE}">{escape(caption)}</caption>'
    heads = f"<thead>{_row(head, 'th', _CELL)}</thead>" if head else ""
    lines = "\n".join([_row(row, "td", _CODE) for row in rows])
    return f'<table style="border-collapse: collapse">{above}\n{heads}\n<tbody>\n{lines}\n</tbody></table>'


def _row(cells: Sequence[str], tag: str, style: str) -> str:
    made = [f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell in cells]
    return f"<tr>{''.join(made)}</tr>"
