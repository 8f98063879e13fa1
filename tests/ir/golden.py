"""Golden texts: what a test compares with a file of ``tests/golden``, or writes there if it is told to."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compares with the file; ``WRITE_GOLDEN=1`` writes it, for a reader to look at the difference."""
    path = GOLDEN / name
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    assert text == path.read_text(encoding="ascii")
