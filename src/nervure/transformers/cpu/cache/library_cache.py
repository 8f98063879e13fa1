"""Loaded kernels by their keys, from this process or from disk. Nothing is compiled: LLVM is not loaded.

>>> from nervure.transformers.cpu.compile.compiler import compile_kernel
>>> from nervure.transformers.cpu.target import Target
>>> text = "define i64 @answer() { ret i64 42 }"
>>> library = compile_kernel(text)
>>> [*find([kernel_key(text, Target.host())]).values()] == [library]
True

A library lives as long as a reference to it does. A function of another library is called by a symbol with that
library's key, so that code loaded from disk finds the functions it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

from nervure.errors import FormatError, InternalError
from nervure.transformers.cpu.cache.code_cache import make_key, user_cache
from nervure.transformers.cpu.cache.loader import Library, load
from nervure.transformers.cpu.settings import SETTINGS
from nervure.transformers.cpu.target import Target

_loaded: WeakValueDictionary[bytes, Library] = WeakValueDictionary()


def kernel_key(text: str, target: Target) -> bytes:
    """Returns the key of a kernel's machine code."""
    return make_key("kernel", SETTINGS, target.key, text)


def linked(name: str, key: bytes) -> str:
    """Returns the symbol by which code calls a function of the library with this key."""
    return f"{name}.{key.hex()}"


class _Links(Mapping[str, int]):
    """The addresses of linked functions by their symbols, and the libraries in which they were found."""

    def __init__(self) -> None:
        self.libraries: list[Library] = []

    def __getitem__(self, symbol: str) -> int:
        name, _, digest = symbol.rpartition(".")
        try:
            key = bytes.fromhex(digest)
        except ValueError:
            raise KeyError(symbol) from None
        library = find([key])[key]
        self.libraries.append(library)
        return library.address(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())  # the symbols are not listed

    def __len__(self) -> int:
        return 0


def _load(code: bytes) -> Library:
    links = _Links()
    library = load(code, symbols=links)
    library.needed = tuple(links.libraries)
    return library


def find(keys: Iterable[bytes], on_disk: bool = True) -> dict[bytes, Library]:
    """Returns the machine code that exists for these keys, in memory alone or ``on_disk``, too."""
    found = {key: library for key in dict.fromkeys(keys)
             if (library := _loaded.get(key) or (_from_disk(key) if on_disk else None))}
    _loaded.update(found)
    return found


def load_all(codes: Mapping[bytes, bytes]) -> dict[bytes, Library]:
    """Loads new machine code, by its keys. Libraries that others link come before them."""
    made = {}
    for key, code in codes.items():
        made[key] = _loaded[key] = _load(code)
    return made


def keep(codes: Mapping[bytes, bytes]) -> None:
    """Writes new machine code to disk."""
    if cache := user_cache():
        cache.put_all(codes)


def load_or_make(keys: Sequence[bytes], make: Callable[[], Sequence[bytes]], symbols: Mapping[str, int]) -> Library:
    """Returns object files that use each other, and ``symbols``, as one library: from disk, else made and written
    there.
    """
    cache = user_cache()
    if cache and all(codes := [cache.get(key) for key in keys]):
        with suppress(FormatError):
            return load(*[code for code in codes if code], symbols=symbols)
    made = make()
    library = load(*made, symbols=symbols)
    if cache:
        cache.put_all(dict(zip(keys, made, strict=True)))
    return library


def _from_disk(key: bytes) -> Library | None:
    cache = user_cache()
    code = cache.get(key) if cache else None
    try:
        return _load(code) if code else None
    except (FormatError, InternalError):  # whole, but a function it needs is missing: it is compiled and put again
        return None
