"""The cache on disk returns what was put, to users with the right to it, within the limit, whatever happens to it."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure import flags
from nervure.transformers.cpu.cache import code_cache
from nervure.transformers.cpu.cache.code_cache import CodeCache, make_key, user_cache

KEY = make_key("kernel", "text")


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(str(tmp_path / "kept"), 100_000)


def only_file(cache: CodeCache) -> Path:
    file, = Path(cache.directory).glob("*.code")
    return file


def test_what_was_put_comes_back_in_another_object(cache):
    cache.put(KEY, b"content")
    other = CodeCache(cache.directory, cache.limit_bytes)
    assert other.get(KEY) == b"content" and other.get(make_key("kernel", "other")) is None
    cache.put(KEY, b"")
    assert other.get(KEY) == b"" and other.entries() == 1


def test_keys_depend_on_every_part_and_its_place():
    keys = [make_key("kernel", "a", "b"), make_key("executable", "a", "b"), make_key("kernel", "ab"),
            make_key("kernel", "a", "", "b"), make_key("kernel", "b", "a"), make_key("kernel", "", "ab")]
    assert len(set(keys)) == len(keys) and make_key("kernel", "a", "b") == keys[0]


def test_files_and_directory_are_the_users_alone(cache):
    before = os.umask(0)
    try:
        cache.put(KEY, b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(cache.directory).st_mode) == 0o700
    assert stat.S_IMODE(only_file(cache).stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:20],
                                    lambda data: data + b"x", lambda data: data[:-1] + b"?",
                                    lambda data: b"another" + data[7:], lambda data: data[:7] + b"\xff" + data[8:],
                                    lambda data: data[:40] + bytes(8) + data[48:]],
                         ids=["cut", "empty", "cut head", "longer", "a bit", "foreign", "version", "length"])
def test_a_damaged_entry_is_deleted_and_can_be_put_again(cache, damage):
    cache.put(KEY, b"some content")
    file = only_file(cache)
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get(KEY) is None and not file.exists()
    cache.put(KEY, b"some content")
    assert cache.get(KEY) == b"some content"


def test_an_entry_under_the_name_of_another_is_refused(cache):
    cache.put(KEY, b"content")
    file = only_file(cache)
    other = make_key("kernel", "other")
    cache.put(other, b"other content")
    renamed, = [path for path in Path(cache.directory).glob("*.code") if path != file]
    renamed.write_bytes(file.read_bytes())
    assert cache.get(other) is None and cache.get(KEY) == b"content"


def test_a_link_and_a_pipe_are_no_entries(cache, tmp_path):
    cache.put(KEY, b"content")
    file, elsewhere = only_file(cache), tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert cache.get(KEY) is None and not file.is_symlink() and elsewhere.exists()
    os.mkfifo(file)
    assert cache.get(KEY) is None and not file.exists()


def test_an_entry_that_others_can_write_is_refused(cache):
    cache.put(KEY, b"content")
    only_file(cache).chmod(0o622)
    assert cache.get(KEY) is None


def refused(cache: CodeCache, reason: str) -> bool:
    """Whether a directory is not used, and one warning says why."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            cache.put(KEY, b"content")
            assert cache.get(KEY) is None
    return len(caught) == 1 and reason in str(caught[0].message) and cache.directory in str(caught[0].message)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_is_refused(tmp_path, mode):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(mode)
    assert refused(CodeCache(str(tmp_path / "kept"), 10_000), "others can write")
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_refused_directory_ends_no_program(tmp_path, capsys):
    """Where warnings are errors it is printed, and everything is computed without the cache."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o777)
    x = nv.placeholder((3,))
    with warnings.catch_warnings(), nv.flags.overriding(cache_directory=str(tmp_path / "kept")):
        warnings.simplefilter("error")
        with nv.transformers.make_transformer("cpu") as transformer:
            assert transformer.computation(nv.exp(x) * 0 + 1, x)(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert capsys.readouterr().err.count("others can write to it") == 1


def test_a_directory_of_somebody_else_is_refused(cache, monkeypatch):
    cache.put(KEY, b"content")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert refused(cache, "belongs to somebody else")


def test_a_link_to_a_directory_is_refused(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert refused(CodeCache(str(tmp_path / "link"), 10_000), "a link to one")
    assert refused(CodeCache(str(tmp_path / "link") + "/", 10_000), "a link to one") is False  # it was said before
    (tmp_path / "file").write_text("")
    assert refused(CodeCache(str(tmp_path / "file"), 10_000), "not a directory")


def test_the_limit_holds_after_every_put(cache):
    for number in range(200):
        cache.put(make_key("kernel", str(number)), bytes(1_000 + 37 * number % 5_000))
        assert cache.size() <= cache.limit_bytes
    assert cache.size() > 0.7 * cache.limit_bytes
    assert cache.get(make_key("kernel", "199")) is not None


def test_what_was_not_used_for_longest_goes_first(cache):
    keys = [make_key("kernel", str(number)) for number in range(10)]
    for key in keys:
        cache.put(key, bytes(9_000))
    for age, file in enumerate(Path(cache.directory).glob("*.code")):
        os.utime(file, (0, 1_000 + age))
    assert cache.get(keys[0]) is not None  # which is a use
    for number in range(10, 15):
        cache.put(make_key("kernel", str(number)), bytes(9_000))
    assert cache.get(keys[0]) is not None
    assert all(cache.get(make_key("kernel", str(number))) for number in range(10, 15))
    assert len([key for key in keys if cache.get(key)]) < 6


def test_a_use_is_recorded_once_a_minute(cache):
    cache.put(KEY, b"content")
    now = time.time()
    for before, after_a_use in ((now - 30, now - 30), (now - 90, now)):
        os.utime(only_file(cache), (before, before))
        assert cache.get(KEY) == b"content"
        assert abs(only_file(cache).stat().st_mtime - after_a_use) < 10


def test_what_is_too_large_is_not_kept(cache):
    cache.put(KEY, bytes(95_000))
    assert cache.entries() == 0
    CodeCache(cache.directory, 0).put(KEY, b"")
    assert cache.entries() == 0


def test_of_many_contents_those_are_kept_that_find_room_together(cache):
    cache.put(KEY, bytes(50_000))
    keys = [make_key("kernel", str(number)) for number in range(4)]
    cache.put_all(dict(zip(keys, [bytes(40_000), bytes(60_000), bytes(40_000), bytes(20_000)])))
    assert [cache.get(key) is not None for key in (KEY, *keys)] == [False, True, False, True, False]
    assert cache.size() <= cache.limit_bytes
    cache.put_all({})
    assert cache.entries() == 2


def test_a_wrong_total_is_put_right(cache):
    cache.put(KEY, bytes(50_000))
    for text in (b"", b"nonsense", bytes(60)):
        Path(cache.directory, "total").write_bytes(text)
        cache.put(make_key("kernel", "a"), bytes(60_000))
        assert cache.size() <= cache.limit_bytes
    for file in Path(cache.directory).glob("*.code"):
        file.unlink()
    for number in range(9):  # the total tells of files that are gone
        cache.put(make_key("kernel", str(number)), bytes(10_000))
    assert cache.entries() == 9


def test_unfinished_files_of_dead_processes_go(cache):
    cache.put(KEY, b"content")
    left, written = [Path(cache.directory, f".nervure-{digit * 16}.tmp") for digit in "01"]
    left.write_bytes(b"half")
    with open(written, "wb") as file:  # as a writer that lives holds its own
        fcntl.flock(file, fcntl.LOCK_EX)
        assert cache.entries() == 1 and not left.exists() and written.exists()
    assert cache.entries() == 1 and not written.exists()


def test_files_of_others_in_the_directory_are_left_alone(cache):
    cache.put(KEY, b"content")
    notes = Path(cache.directory, "notes.txt")
    notes.write_text("mine")
    cache.clear()
    assert (cache.entries(), cache.size()) == (0, 0) and list(Path(cache.directory).iterdir()) == [notes]


def test_clearing_what_is_not_there_is_fine(cache):
    cache.clear()
    assert (cache.entries(), cache.size()) == (0, 0) and not Path(cache.directory).exists()


@pytest.mark.parametrize("function", ["write", "open", "mkdir", "replace"])
def test_a_disk_that_fails_is_no_failure_of_ours(cache, monkeypatch, function):
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")
    if function == "write":
        class Full:
            def __enter__(self): return self
            def __exit__(self, *_): return None
            write = fail
        monkeypatch.setattr(code_cache.os, "fdopen", lambda file, mode: (os.close(file), Full())[1])
    else:
        monkeypatch.setattr(code_cache.os, function, fail)
    cache.put(KEY, b"content")
    assert cache.get(KEY) is None
    monkeypatch.undo()
    assert cache.entries() == 0 and not list(Path(cache.directory).parent.glob("kept/.nervure-*"))


def test_a_home_that_cannot_be_used(monkeypatch):
    cache = CodeCache("/proc/nowhere/nervure", 10_000)
    cache.put(KEY, b"content")
    assert cache.get(KEY) is None and cache.entries() == 0


def test_a_directory_that_is_deleted_in_between_is_made_again(cache):
    cache.put(KEY, b"content")
    for file in Path(cache.directory).iterdir():
        file.unlink()
    os.rmdir(cache.directory)
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    assert cache.get(KEY) == b"content"


def test_the_switches_say_where(tmp_path, monkeypatch):
    with flags.overriding(cache_directory=""):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert user_cache().directory == str(tmp_path / "nervure")
        assert user_cache().limit_bytes == flags.cache_limit
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert user_cache().directory == str(tmp_path / ".cache" / "nervure")
    with flags.overriding(cache_directory=str(tmp_path / "there"), cache_limit=5):
        assert (user_cache().directory, user_cache().limit_bytes) == (str(tmp_path / "there"), 5)
    with flags.overriding(cache=False):
        assert user_cache() is None


WORKER = """
import random, sys
from nervure.transformers.cpu.cache.code_cache import CodeCache, make_key
cache, generator, hits = CodeCache(sys.argv[1], 200_000), random.Random(int(sys.argv[2])), 0
for _ in range(300):
    number = generator.randrange(60)
    found = cache.get(make_key("kernel", str(number)))
    if found is None:
        cache.put(make_key("kernel", str(number)), bytes([number]) * (100 * number))
    else:
        assert found == bytes([number]) * (100 * number)
        hits += 1
    if generator.random() < 0.01:
        cache.clear()
print(hits)
"""


def test_eight_processes_at_once(tmp_path):
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "kept"), str(seed)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for seed in range(8)]
    outputs = [worker.communicate() for worker in workers]
    assert [error for _, error in outputs] == [""] * 8 and [worker.returncode for worker in workers] == [0] * 8
    assert sum([int(output) for output, _ in outputs]) > 100
    cache = CodeCache(str(tmp_path / "kept"), 200_000)
    assert cache.size() <= 200_000 and not list((tmp_path / "kept").glob(".nervure-*"))
