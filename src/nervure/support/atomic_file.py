"""Atomic replacement of files, which exist completely or not at all; and reading that never waits.

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "numbers")
>>> write_atomically(path, [b"one ", b"two"])
>>> with open_regular(path) as file:
...     file.read(), os.listdir(os.path.dirname(path))
(b'one two', ['numbers'])

A file being written has a temporary name, ``.nervure-*``, and its writer holds a lock on it that ends with the writer,
however that ends. So a file of such a name without a lock was left by a process that was killed; the next writer in
that directory removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable
from io import BufferedReader

from nervure.errors import FormatError, InvalidArgument, WrongKind, shown

try:
    import fcntl
except ImportError:  # a system without such locks: abandoned files stay
    fcntl = None  # type: ignore[assignment]

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_TEMPORARY = re.compile(r"\.nervure-[0-9a-f]{16}\.\w+")
_ENDING = re.compile(r"\.\w+")


def file_name(path: object, op: str, operand: str = "path", help: str | None = None) -> str:
    """Returns a path as a string; WrongKind, which names ``op`` and ``operand``, for anything else."""
    try:
        name = os.fsdecode(path)  # type: ignore[arg-type]  # anything else is a TypeError
    except TypeError:
        name = "\0"
    if "\0" in name:
        raise WrongKind("a file is named by a path", op=op, operand=operand, got=shown(path),
                        expected="a string or a pathlib.Path", help=help or f'nv.{op}("model.safetensors", ...)')
    return name


def write_atomically(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes pieces of bytes to a file, which takes its name once all of it is on disk.

    Until then, and after any failure, an earlier file of that name stays as it is. A symbolic link of that name is
    replaced, not followed; anything that is neither that nor a file (a device, a pipe) is InvalidArgument and stays.
    Raises OSError, which names the path, if the directory cannot be written.
    """
    _replacing(path, lambda: replace_file(path, pieces, waits_for_disk=True))


def write_with(path: str, write: Callable[[str], object]) -> None:
    """Writes atomically by a function: ``write`` gets a temporary name with the extension of the path, in the same
    directory. That file takes the name ``path`` after ``write`` has returned and everything is on disk.
    """
    def act() -> None:
        ending = os.path.splitext(path)[1]
        temporary, descriptor = _create(os.path.dirname(path), 0o666, None,
                                        ending if _ENDING.fullmatch(ending) else ".tmp")
        try:
            write(temporary)
            _sync(temporary)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        finally:
            os.close(descriptor)  # this ends the lock
    _replacing(path, act)


def _replacing(path: str, act: Callable[[], None]) -> None:
    """Runs ``act``, which gives a file its name, between the preparations and the final steps."""
    _check_replaceable(path)
    directory = os.path.dirname(path) or "."
    remove_abandoned(directory)  # first, since abandoned files may be what fills the disk
    try:
        act()
    except OSError as error:
        is_of_a_file = error.filename is not None and _TEMPORARY.search(str(error.filename)) is None
        if is_of_a_file or error.errno is None or type(error).__module__ != "builtins":  # others say what they say
            raise
        raise OSError(error.errno, error.strerror, path) from None  # without the temporary name
    if os.name == "posix":  # elsewhere a directory cannot be opened, and a rename needs no second step
        _sync(directory)


def replace_file(path: str, pieces: Iterable[bytes | memoryview], mode: int = 0o666, folder: int | None = None,
                 waits_for_disk: bool = False) -> None:
    """Writes a file of ``mode`` under a temporary name, then gives it the name ``path``; a failure leaves nothing.

    With ``folder``, the descriptor of an open directory, the path is relative to that.
    """
    temporary, descriptor = _create(os.path.dirname(path), mode, folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            if waits_for_disk:
                os.fsync(descriptor)
            os.replace(temporary, path, src_dir_fd=folder, dst_dir_fd=folder)  # locked, or it might be removed
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def remove_abandoned(directory: str | int) -> None:
    """Deletes the files that killed writers have left in a directory, given by its path or as a descriptor."""
    folder = directory if isinstance(directory, int) else None
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry.path, folder)


def open_regular(path: str) -> BufferedReader:
    """Opens a file for reading. FormatError at once for anything else: a pipe would block, a device has no end.

    Raises OSError if it cannot be opened, or is a directory.
    """
    _check_regular(os.stat(path), path)  # before it is opened, which has an effect on some devices
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = os.fdopen(descriptor, "rb")
    try:
        _check_regular(os.fstat(descriptor), path)
    except BaseException:
        file.close()
        raise
    return file


def _check_regular(status: os.stat_result, path: str) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        raise FormatError("this is no file", op="load", operand=path, got=_KINDS.get(kind, "something else"),
                          expected="a file", help="copy what it gives into a file first")


def _check_replaceable(path: str) -> None:
    """Raises InvalidArgument for anything that is neither a file nor a link: a device, replaced by a file, would be
    gone.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    try:
        kind = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:  # it does not exist, or writing meets the same error
        return
    if kind not in (stat.S_IFREG, stat.S_IFLNK):
        raise InvalidArgument("this is no file, and is not replaced by one", op="save", operand=path,
                              got=_KINDS.get(kind, "something else"), expected="a file, or a name that is free",
                              help="save under another name")


def _create(directory: str, mode: int, folder: int | None, ending: str = ".tmp") -> tuple[str, int]:
    """Creates a file under a temporary name, locked as long as it is open."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        temporary = os.path.join(directory, f".nervure-{os.urandom(8).hex()}{ending}")
        descriptor = os.open(temporary, flags, mode, dir_fd=folder)
        if _lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # another writer took it for abandoned before it was locked


def _lock(descriptor: int) -> bool | None:
    """Locks an open file unless another writer holds it; None if the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_if_abandoned(path: str, folder: int | None) -> None:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        if _lock(descriptor):
            os.unlink(path, dir_fd=folder)
    finally:
        os.close(descriptor)


def _sync(path: str) -> None:
    """Puts a file, or the names in a directory, on disk. A file that may be written but not read is skipped."""
    with contextlib.suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
