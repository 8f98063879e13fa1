"""Which LLVM makes the code: known without loading it, and part of every key."""

from __future__ import annotations

import importlib.util
import os
from types import SimpleNamespace

import pytest

from nervure.errors import NotSupported
from nervure.transformers.cpu import settings
from nervure.transformers.cpu.target import Target


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which llvmlite is found from now on."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace(
        submodule_search_locations=[str(tmp_path)]) if name == "llvmlite" else None)
    forget()
    yield tmp_path
    forget()


def forget():
    settings._folder.cache_clear()
    settings.llvm_version.cache_clear()


def test_the_library_is_there_and_its_version_is_llvmlites():
    llvmlite = pytest.importorskip("llvmlite")
    assert os.path.isfile(settings.llvm_file()) and llvmlite.__version__ in settings.llvm_version()


def test_another_version_or_another_library_is_another_llvm(folder):
    (folder / "binding").mkdir()
    found = set()
    for version, library in (("0.50.0", b"code"), ("0.50.1", b"code"), ("0.50.1", b"more code")):
        (folder / "_version.py").write_text(f"version_version = '{version}'")
        (folder / "binding" / "libllvmlite.so").write_bytes(library)
        forget()
        found.add(Target.avx512().key)
    assert len(found) == 3


@pytest.mark.parametrize("text", ["version_version = '0.49.1'", "version_version = '0.500.0'", ""])
def test_another_release_is_refused(folder, text):
    (folder / "binding").mkdir()
    (folder / "_version.py").write_text(text)
    (folder / "binding" / "libllvmlite.so").write_bytes(b"code")
    forget()
    with pytest.raises(NotSupported, match="of another release") as caught:
        settings.llvm_version()
    assert "pip install" in caught.value.help


def test_without_llvmlite_the_error_says_what_to_install(folder, monkeypatch):
    with pytest.raises(NotSupported, match="is not whole"):
        settings.llvm_version()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    forget()
    with pytest.raises(NotSupported, match="is not installed") as caught:
        Target.avx512().key  # it is looked up
    assert "pip install" in caught.value.help
