"""The package's fingerprint changes with its source files and versions, and with nothing else."""

from __future__ import annotations

import os

from nervure.transformers.cpu.cache import fingerprint as module
from nervure.transformers.cpu.cache.fingerprint import fingerprint, package_fingerprint


def test_any_change_of_a_source_file_or_a_version_is_seen(tmp_path):
    folder = tmp_path / "package" / "inside"
    folder.mkdir(parents=True)
    file = folder / "a.py"
    file.write_text("x = 1\n")
    seen = [fingerprint(["1"], str(tmp_path))]
    os.utime(file, ns=(1, 1))
    seen.append(fingerprint(["1"], str(tmp_path)))
    file.write_text("x = 10\n")
    os.utime(file, ns=(1, 1))
    seen.append(fingerprint(["1"], str(tmp_path)))
    file.rename(folder / "b.py")
    seen.append(fingerprint(["1"], str(tmp_path)))
    (folder / "c.py").write_text("")
    seen.append(fingerprint(["1"], str(tmp_path)))
    seen.append(fingerprint(["2"], str(tmp_path)))
    assert len(set(seen)) == len(seen)


def test_other_files_do_not_count(tmp_path):
    (tmp_path / "a.py").write_text("")
    before = fingerprint([], str(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("compiled")
    (tmp_path / "data.txt").write_text("text")
    assert fingerprint([], str(tmp_path)) == before


def test_a_package_that_is_no_folder_is_new_each_time(monkeypatch):
    def refuse(*_):
        raise NotADirectoryError
    known = package_fingerprint()
    monkeypatch.setattr(module, "fingerprint", refuse)
    found = {package_fingerprint.__wrapped__() for _ in range(2)}
    assert len(found | {known}) == 3
