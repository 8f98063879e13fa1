"""The files that are made from the package itself; ``python -m tests.project.generated`` writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.project import glossary, listing, stubs
from tests.project.source import PACKAGE, ROOT

FILES: dict[Path, Callable[[], str]] = {
    PACKAGE / "support" / "public_functions.py": stubs.modules_of_functions,
    PACKAGE / "__init__.pyi": stubs.package,
    PACKAGE / "ops" / "__init__.pyi": stubs.vocabulary,
    PACKAGE / "front" / "op_functions.pyi": stubs.functions,
    PACKAGE / "front" / "interface.pyi": stubs.interface,
    ROOT / "docs" / "functions.md": listing.page,
    glossary.PAGE: glossary.page,
}

if __name__ == "__main__":
    for path, text in FILES.items():
        path.write_text(text(), encoding="utf-8")
