"""Files that are there as a whole: what killed writers leave is removed, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest

from nervure.errors import FormatError, InvalidArgument
from nervure.support import atomic_file
from nervure.support.atomic_file import open_regular, write_atomically, write_with

ABANDONED = f".nervure-{'0' * 16}.tmp"


def content(path):
    with open_regular(str(path)) as file:
        return file.read()


def test_a_file_replaces_the_one_before(tmp_path):
    path = tmp_path / "f"
    write_atomically(str(path), [b"one"])
    write_atomically(str(path), [b"t", b"wo"])
    assert content(path) == b"two" and os.listdir(tmp_path) == ["f"]


def test_what_fails_leaves_the_file_before(tmp_path):
    def pieces():
        yield b"half"
        raise ZeroDivisionError
    path = tmp_path / "f"
    write_atomically(str(path), [b"one"])
    with pytest.raises(ZeroDivisionError):
        write_atomically(str(path), pieces())
    assert content(path) == b"one" and os.listdir(tmp_path) == ["f"]


def test_what_killed_writers_leave_is_removed_by_the_next(tmp_path):
    """Killed in mid-save, three times, before it needs room of its own; the newest complete file is there all the time.
    """
    path = tmp_path / "f"
    write_atomically(str(path), [b"whole"])
    code = """if True:
        import sys, time
        from nervure.support.atomic_file import write_atomically
        def pieces():
            yield b"x" * 100_000
            print("written", flush=True)
            time.sleep(60)
        write_atomically(sys.argv[1], pieces())
    """
    left = []
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout.readline() == b"written\n"
            writer.send_signal(signal.SIGKILL)
        assert len(os.listdir(tmp_path)) == 2 and content(path) == b"whole"
        left.append(*set(os.listdir(tmp_path)) - {"f"})
    assert len(set(left)) == 3
    write_atomically(str(path), [b"next"])
    assert os.listdir(tmp_path) == ["f"] and content(path) == b"next"


def test_a_file_that_is_being_written_stays(tmp_path):
    """Two writers at once: neither removes what the other one holds."""
    inside, finish = threading.Event(), threading.Event()

    def pieces():
        yield b"slow"
        inside.set()
        assert finish.wait(30)
    slow = threading.Thread(target=write_atomically, args=(str(tmp_path / "slow"), pieces()))
    slow.start()
    assert inside.wait(30)
    write_atomically(str(tmp_path / "quick"), [b"quick"])
    assert len(os.listdir(tmp_path)) == 2
    finish.set()
    slow.join()
    assert sorted(os.listdir(tmp_path)) == ["quick", "slow"] and content(tmp_path / "slow") == b"slow"


def test_other_files_of_such_names_stay(tmp_path):
    """Only plain files with the very name of a temporary one are removed, and only where nobody holds them."""
    names = [".nervure-1.tmp", f"nervure-{'0' * 16}.tmp", f".nervure-{'0' * 16}.tmp.old"]
    for name in names:
        (tmp_path / name).write_bytes(b"mine")
    (tmp_path / f".nervure-{'1' * 16}.tmp").mkdir()
    os.symlink(tmp_path / names[0], tmp_path / f".nervure-{'2' * 16}.tmp")
    (tmp_path / ABANDONED).write_bytes(b"held")
    with open(tmp_path / ABANDONED, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = sorted(os.listdir(tmp_path))
        write_atomically(str(tmp_path / "f"), [b"one"])
        assert sorted(os.listdir(tmp_path)) == sorted([*before, "f"])
    write_atomically(str(tmp_path / "f"), [b"two"])
    assert sorted(os.listdir(tmp_path)) == sorted({*before, "f"} - {ABANDONED})


def test_a_file_system_without_locks_keeps_what_is_left(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(95, "not supported")
    (tmp_path / ABANDONED).write_bytes(b"left")
    monkeypatch.setattr(atomic_file.fcntl, "flock", refuse)
    write_atomically(str(tmp_path / "f"), [b"one"])
    assert sorted(os.listdir(tmp_path)) == [ABANDONED, "f"] and content(tmp_path / "f") == b"one"


def test_a_writer_whose_file_was_taken_away_makes_another(tmp_path, monkeypatch):
    """Between making a file and locking it another writer may remove it."""
    lock, taken = fcntl.flock, []

    def take_away(descriptor, operation):
        if not taken:
            taken.extend(os.listdir(tmp_path))
            os.unlink(tmp_path / taken[0])
        lock(descriptor, operation)
    monkeypatch.setattr(atomic_file.fcntl, "flock", take_away)
    write_atomically(str(tmp_path / "f"), [b"one"])
    assert len(taken) == 1 and os.listdir(tmp_path) == ["f"] and content(tmp_path / "f") == b"one"


def test_what_is_no_file_is_not_replaced(tmp_path):
    """A device that a save has replaced is gone for all programs."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for name in ("pipe", "socket"):
        with pytest.raises(InvalidArgument, match="is not replaced") as caught:
            write_atomically(str(tmp_path / name), [b"one"])
        assert caught.value.got == f"a {name}" and not stat.S_ISREG(os.lstat(tmp_path / name).st_mode)
    assert sorted(os.listdir(tmp_path)) == ["pipe", "socket"]
    os.symlink(tmp_path / "pipe", tmp_path / "link")
    write_atomically(str(tmp_path / "link"), [b"one"])
    assert content(tmp_path / "link") == b"one" and stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/null", path)], ids=["pipe", "device"])
def test_what_is_no_file_is_not_opened(tmp_path, make):
    make(str(tmp_path / "f"))
    with pytest.raises(FormatError, match="this is no file"):
        open_regular(str(tmp_path / "f"))


class Quota(OSError):
    """An error of a user's function, with words of its own."""


@pytest.mark.parametrize("raised", [OSError("quota exceeded"), Quota(28, "quota exceeded"), OSError(28, "full", "of")])
def test_errors_of_the_function_that_writes_stay_as_they_are(tmp_path, raised):
    """T282: but for the temporary name, in whose place the path of the file stands."""
    def write(temporary):
        raise raised
    with pytest.raises(OSError) as caught:
        write_with(str(tmp_path / "f"), write)
    assert caught.value is raised and os.listdir(tmp_path) == []

    def write_elsewhere(temporary):
        raise OSError(28, "full", temporary)
    with pytest.raises(OSError, match="full") as caught:
        write_with(str(tmp_path / "f"), write_elsewhere)
    assert caught.value.filename == str(tmp_path / "f")
