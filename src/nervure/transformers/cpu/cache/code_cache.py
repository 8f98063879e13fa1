"""A content-addressed cache of machine code on disk: entries are found by the hash of their sources.

An entry is a file named after the SHA-256 of its key. Its content is returned only if it is complete, belongs to the
key and is the user's own; anything else is deleted and made again. So no code runs that another user could have put
there, and a damaged file costs no more than a compilation.

>>> import tempfile
>>> cache = CodeCache(tempfile.mkdtemp(), limit_bytes=10_000)
>>> key = make_key("kernel", "define ...", "avx2")
>>> cache.get(key), cache.put(key, b"code"), cache.get(key)
(None, None, b'code')
>>> cache.entries(), cache.size()
(1, 52)

Any number of processes may share a directory: a file appears atomically, and is never changed afterwards. A cache is
never required: if the disk is full, the directory cannot be written or a file disappears, everything works as without
a cache.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from nervure import flags
from nervure.errors import notice
from nervure.support.atomic_file import remove_abandoned, replace_file

_FORMAT = 1                 # raised when the content or form of entries changes
_MAGIC = b"nervure" + bytes([_FORMAT])
_HEADER = struct.Struct("<8s32sQ")  # magic, SHA-256 of key and content, length of the content
_SUFFIX = ".code"
_TOUCHED = 60.0             # seconds for which a use is not recorded again
_KEPT = 0.9                 # the share of the limit that is kept when room is made
_PATIENCE = 1.0             # seconds to wait for another process that writes
_TOTAL = "total"            # the file with the bytes of all entries, or more, so that no put counts them

_refused: set[str] = set()


def make_key(kind: str, *parts: str) -> bytes:
    """Returns the key for these texts: 32 bytes, which differ for other texts or another kind."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        text = part.encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.digest()


def user_cache() -> CodeCache | None:
    """Returns the cache that the switches ``cache``, ``cache_directory`` and ``cache_limit`` describe; None without
    one.

    By default it is the folder nervure in the user's cache directory: $XDG_CACHE_HOME or ~/.cache.
    """
    if not flags.cache:
        return None
    directory = os.path.abspath(flags.cache_directory) if flags.cache_directory else _default_directory()
    return _caches.setdefault((directory, flags.cache_limit), CodeCache(directory, flags.cache_limit))


_caches: dict[tuple[str, int], CodeCache] = {}


def _default_directory() -> str:
    root = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(root):  # the standard says that a relative one is to be ignored
        root = os.path.expanduser("~/.cache")
    return os.path.join(root, "nervure")


class _NotPrivate(OSError):
    """The error for a directory that is not the user's alone."""


class _Entry(NamedTuple):
    name: str
    size: int
    used: float


class CodeCache:
    """A directory of entries, of at most ``limit_bytes`` together; those not used for longest are deleted first."""

    def __init__(self, directory: str, limit_bytes: int) -> None:
        self.directory, self.limit_bytes = os.path.abspath(directory), limit_bytes

    def get(self, key: bytes) -> bytes | None:
        """Returns the content that was put under a key; None if it is missing or damaged."""
        with suppress(OSError), self._opened() as folder:
            name = _file_name(key)
            content = _read(folder, name, key, self.limit_bytes)
            if content is None:
                _unlink(folder, name)
            return content
        return None

    def put(self, key: bytes, content: bytes) -> None:
        """Keeps content under a key, unless it alone takes most of the room."""
        self.put_all({key: content})

    def put_all(self, contents: Mapping[bytes, bytes]) -> None:
        """Keeps several contents under their keys, in half the time of single puts. Contents that find no room
        together with the ones before them are left out.
        """
        kept: dict[bytes, bytes] = {}
        size = 0
        for key, content in contents.items():
            end = size + _HEADER.size + len(content)
            if end <= self.limit_bytes * _KEPT:
                kept[key], size = content, end
        if not kept:
            return
        with suppress(OSError), self._opened(make=True) as folder, _locked(folder):
            told = _read(folder, _TOTAL, _TOTAL.encode(), self.limit_bytes)
            total = int.from_bytes(told, "little") if told else self.limit_bytes
            if total + size > self.limit_bytes:
                total = self._make_room(folder, size)
            # The total first: a process that dies in between has counted too much, never too little.
            _write(folder, _TOTAL, _TOTAL.encode(), (total + size).to_bytes(8, "little"))
            for key, content in kept.items():
                _write(folder, _file_name(key), key, content)

    def size(self) -> int:
        """Returns the bytes of all entries."""
        return sum([entry.size for entry in self._list()])

    def entries(self) -> int:
        """Returns the number of entries."""
        return len(self._list())

    def clear(self) -> None:
        """Deletes all entries. OSError if that fails."""
        with suppress(FileNotFoundError), self._opened() as folder:
            for entry in _scan(folder):
                _unlink(folder, entry.name)
            _unlink(folder, _TOTAL)

    def _list(self) -> list[_Entry]:
        with suppress(OSError), self._opened() as folder:
            return list(_scan(folder))
        return []

    @contextmanager
    def _opened(self, make: bool = False) -> Iterator[int]:
        """Opens the directory as a descriptor: the directory checked is the one used, even if the path changes
        meanwhile.
        """
        if make and not os.path.lexists(self.directory):
            os.makedirs(os.path.dirname(self.directory), mode=0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self.directory, mode=0o700)
        try:
            folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise self._refuse("it is not a directory, or a link to one") from None
            raise
        try:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid():
                raise self._refuse("it belongs to somebody else")
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise self._refuse("others can write to it")
            yield folder
        finally:
            os.close(folder)

    def _refuse(self, reason: str) -> OSError:
        if self.directory not in _refused:
            _refused.add(self.directory)
            notice(f"no machine code is kept in {self.directory}: {reason}; the switch cache_directory names another "
                   "place")
        return _NotPrivate(f"{self.directory}: {reason}")

    def _make_room(self, folder: int, size: int) -> int:
        """Deletes the entries not used for longest, if an entry of this size would not fit; returns the remaining
        bytes.
        """
        found = sorted(_scan(folder), key=lambda entry: entry.used, reverse=True)
        total = sum([entry.size for entry in found])
        if total + size <= self.limit_bytes:
            return total
        while found and total + size > self.limit_bytes * _KEPT:
            entry = found.pop()
            _unlink(folder, entry.name)
            total -= entry.size
        return total


@contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Locks the folder for one process; OSError if the others take too long. The lock ends with its process."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)
    try:
        yield
    finally:  # explicitly: if a fork has copied the descriptor, closing it does not unlock
        fcntl.flock(folder, fcntl.LOCK_UN)


def _file_name(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest() + _SUFFIX


def _digest(key: bytes, content: bytes) -> bytes:
    digest = hashlib.sha256(_MAGIC + hashlib.sha256(key).digest())
    digest.update(content)
    return digest.digest()


def _read(folder: int, name: str, key: bytes, limit: int) -> bytes | None:
    """Returns the ``content`` of the file ``name``; None if it is not the one that was put."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:  # no such file, or a link
        return None
    with os.fdopen(file, "rb") as stream:
        status = os.fstat(file)
        is_own = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not (stat.S_ISREG(status.st_mode) and is_own and _HEADER.size <= status.st_size <= limit):
            return None
        magic, digest, length = _HEADER.unpack(stream.read(_HEADER.size))
        content = stream.read(length) if length == status.st_size - _HEADER.size else b""
        if magic != _MAGIC or len(content) != length or _digest(key, content) != digest:
            return None
        if time.time() - status.st_mtime > _TOUCHED:
            with suppress(OSError):  # a read-only directory serves, too
                os.utime(file)
        return content


def _write(folder: int, name: str, key: bytes, content: bytes) -> None:
    """Writes a file atomically, with ``content`` for ``key``."""
    header = _HEADER.pack(_MAGIC, _digest(key, content), len(content))
    replace_file(name, [header, content], mode=0o600, folder=folder)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):  # another process may have been first
        os.unlink(name, dir_fd=folder)


def _scan(folder: int) -> Iterator[_Entry]:
    """Yields all entries. Files left by writers that died are deleted on the way."""
    remove_abandoned(folder)
    with os.scandir(folder) as listing:
        for file in listing:
            if file.name.endswith(_SUFFIX):
                with suppress(FileNotFoundError):
                    status = file.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(status.st_mode):
                        yield _Entry(file.name, status.st_size, status.st_mtime)
