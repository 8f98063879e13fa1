"""The Python examples of the documents run as they stand.

A block with ``>>>`` is a doctest, another is a script. The blocks of one document share their names, from top to
bottom, and run in an empty folder. Blocks of other languages are not run.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.source import ROOT, documents

BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """(number of lines above, code) of each Python block."""
    for match in BLOCK.finditer(text):
        indent, code = match.groups()
        unindented = "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))
        yield text[:match.start(2)].count("\n"), unindented


def run_document(path: Path) -> None:
    """Runs all blocks of a document; a failure says its line there."""
    names: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(path.read_text(encoding="utf-8")):
        if ">>>" not in code:
            exec(compile("\n" * line + code, str(path), "exec"), names)
            continue
        report: list[str] = []
        test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), line)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
        names.update(test.globs)
        assert not report, "".join(report)


OF_THE_BRIDGE = {"pytorch.md"}
"""Documents that need PyTorch: the tests of the bridge run them."""

NEEDED = {"cluster.md": "jax", "xla.md": "jax"}
"""Packages without which the blocks of another document cannot run."""


@pytest.mark.parametrize("path", [path for path in documents() if path.name not in OF_THE_BRIDGE],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path, tmp_path, monkeypatch):
    if path.name in NEEDED:
        pytest.importorskip(NEEDED[path.name], reason=f"{NEEDED[path.name]} is not installed")
        monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # what they start compiles in less time
    monkeypatch.chdir(tmp_path)
    run_document(path)


def test_a_wrong_example_is_found(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("text\n```python\nx = 1\n```\n\n```python\n>>> x + 1\n2\n```\n\n```text\n>>> never run\n```\n")
    run_document(document)
    document.write_text("```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="page.md"):
        run_document(document)
