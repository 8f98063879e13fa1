"""Flags: every switch of the package, its default, and one line of documentation.

A switch is an attribute of this module. It starts from the environment (``NERVURE_CHECK_NAN=1``), may be
set for the process, or for a while:

>>> from nervure import flags
>>> flags.check_nan
False
>>> with flags.overriding(check_nan=True):
...     flags.check_nan
True
>>> flags.check_nans = True                                                  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
nervure.flags.UnknownSwitch: flags: there is no switch check_nans
...
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TypeVar

from nervure.errors import InvalidArgument, WrongKind, did_you_mean, notice

Setting = TypeVar("Setting", bool, int, str)


class Switch(NamedTuple):
    """The declaration of a switch: its default (of the switch's type), one line of doc, and the values it takes.

    An integer must be at least 0; ``words`` are all the values of a text, if they are known.

    >>> nv.flags.SWITCHES["check_nan"].default
    False
    """

    default: bool | int | str
    doc: str
    words: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """The values, in words."""
        if isinstance(self.default, bool):
            return "True or False"
        if isinstance(self.default, int):
            return "an integer of at least 0"
        return ", ".join(map(repr, self.words)) or "a string without null characters"

    def takes(self, value: bool | int | str) -> bool:
        """Whether the switch takes this value, which is of its type."""
        if isinstance(value, str):
            return value in self.words if self.words else "\0" not in value
        return value >= 0


_UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def byte_count(given: object) -> int | None:
    """Returns the bytes that an integer or a text with a unit means; None if it means none.

    >>> byte_count(1000), byte_count("512MB"), byte_count("1.5 GiB"), byte_count("lots")
    (1000, 512000000, 1610612736, None)
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return given if given >= 0 else None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", given) if isinstance(given, str) else None
    if found is None or found[2] not in _UNITS:
        return None
    return round(float(found[1]) * _UNITS[found[2]]) if "." in found[1] else int(found[1]) * _UNITS[found[2]]


class UnknownSwitch(InvalidArgument, AttributeError):
    """A switch that does not exist; an AttributeError, too, so that ``hasattr`` works."""


SWITCHES: dict[str, Switch] = {}
_listeners: dict[str, list[Callable[[Any], None]]] = {}
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def variable_name(switch: str) -> str:
    """Returns the environment variable of a switch.

    >>> variable_name("check_nan")
    'NERVURE_CHECK_NAN'
    """
    return f"NERVURE_{switch.upper()}"


def parse(name: str, text: str) -> bool | int | str:
    """Returns the value of a switch from text; InvalidArgument if it has none.

    >>> parse("threads", "4"), parse("check_nan", "yes")
    (4, True)
    """
    kind = type(SWITCHES[name].default)
    text = text.strip()
    try:
        value = text if kind is str else _number(name, text) if kind is int else _WORDS[text.lower()]
        if value is None or not SWITCHES[name].takes(value):
            raise ValueError
    except (ValueError, KeyError):
        raise InvalidArgument(f"{variable_name(name)} cannot be read", op="flags", operand=name, got=repr(text),
                              expected="1 or 0" if kind is bool else SWITCHES[name].expected, location=None) from None
    return value


def _number(name: str, text: str) -> int | None:
    """Returns an integer from text; one of bytes may have a unit, as "512MB" has."""
    return byte_count(text) if SWITCHES[name].doc.startswith("bytes") else int(text)


def _switch(name: str, default: Setting, doc: str, words: tuple[str, ...] = ()) -> Setting:
    """Declares a switch; returns the value that it starts with, from the environment or ``default``."""
    SWITCHES[name] = Switch(default, doc, words)
    text = os.environ.get(variable_name(name))
    return default if text is None else type(default)(parse(name, text))


cache = _switch("cache", True, "whether machine code is kept on disk between processes")
cache_directory = _switch("cache_directory", "", "the directory of the code on disk; '' stands for nervure in the "
                          "user's cache directory")
cache_executables = _switch("cache_executables", True, "whether whole functions are kept on disk, not only kernels")
cache_limit = _switch("cache_limit", 256_000_000, "bytes that the code on disk may take; the least recently used is "
                      "deleted first")
check_nan = _switch("check_nan", False, "NumericError at the first op that makes a NaN from operands without one")
cpu_features = _switch("cpu_features", "", "'avx2' makes code without AVX-512; '' stands for all that the machine has",
                       ("", "avx2"))
debug = _switch("debug", "", "the prints of the compiler: 'passes', the name of one pass, 'cluster', 'kernels', "
                             "'llvm', 'asm'; several with commas")
denormals = _switch("denormals", "keep", "'flush': calls on the cpu take denormal operands as 0 and return 0 for "
                    "denormal results, which is faster on some processors; 'keep': as IEEE 754 defines them",
                    ("keep", "flush"))
load_limit = _switch("load_limit", 1_000_000, "lines of text, about one an op, that a file to be loaded may have")
memory_limit = _switch("memory_limit", 0, "bytes that one call may need; 0 stands for this machine's physical memory")
panel_limit = _switch("panel_limit", 1_000_000_000, "bytes that all weights packed once for many calls may take "
                      "together; others are packed in each call")
share_loops = _switch("share_loops", True, "whether kernels share an outer loop where that saves memory and time")
threads = _switch("threads", 0, "threads that one call may use; 0 stands for all cores that the process may use")
transformer = _switch("transformer", "", "the name of the transformer that nv.transformers.default() makes; '' stands "
                      "for the best one here")
wait_limit = _switch("wait_limit", 10, "seconds that a call waits for another one inside of a host function, which may "
                                      "wait for it in turn; after that, an error")
xla_bindings = _switch("xla_bindings", 32, "sets of values of the symbols for which xla keeps a function's programs")
xla_precision = _switch("xla_precision", "highest", "how exact products of float32 are on xla's devices",
                        ("highest", "high", "default"))


def check_environment(names: Iterable[str]) -> None:
    """Warns of environment variables that look like those of switches but are not.

    >>> check_environment(["HOME", "NERVURE_THREADS"])
    """
    prefix = variable_name("")
    known = set(map(variable_name, SWITCHES))
    for name in names:
        if name.startswith(prefix) and name not in known:
            help = did_you_mean(name.removeprefix(prefix).lower(), SWITCHES, "nv.flags.describe() shows all switches")
            notice(f"the environment variable {name} sets no switch: {help}")


check_environment(os.environ)


DEBUG_WORDS = {
    "passes": "every pass: the function before and after it",
    "cluster": "which ops share a kernel, and which values are stored",
    "kernels": "every kernel as loops",
    "llvm": "every kernel as LLVM is given it",
    "asm": "every kernel as machine instructions",
}
"""The words of ``debug`` besides the names of passes; everything goes to standard error."""


def shows(word: str) -> bool:
    """Whether ``debug`` asks for this.

    >>> with overriding(debug="cluster, simplify"):
    ...     shows("cluster"), shows("simplify"), shows("passes")
    (True, True, False)
    """
    return bool(debug) and word in _words_of(debug)


def show(title: str, text: str) -> None:
    """Prints output that ``debug`` has asked for.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     show("cluster", "loop over (4,)")
    -- cluster
    loop over (4,)
    """
    print(f"-- {title}\n{text.removesuffix(chr(10))}", file=sys.stderr)


def check_debug(passes: Iterable[str]) -> None:
    """Raises InvalidArgument if a word of ``debug`` is neither in DEBUG_WORDS nor one of these passes.

    >>> with nv.flags.overriding(debug="cluster, simplify"):
    ...     nv.flags.check_debug(["simplify"])
    """
    known = list(dict.fromkeys([*DEBUG_WORDS, *passes]))
    for word in _words_of(debug):
        if word not in known:
            raise InvalidArgument("the switch debug asks for something that there is not", op="flags", operand="debug",
                                  got=word, expected=", ".join(known), location=None,
                                  help=did_you_mean(word, known, "several words are separated by commas"))


def _words_of(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def on_change(name: str, tell: Callable[[Any], None]) -> None:
    """Registers ``tell``, to be called with each new value of a switch.

    >>> seen = []
    >>> nv.flags.on_change("memory_limit", seen.append)
    >>> with nv.flags.overriding(memory_limit=1000):
    ...     seen
    [1000]
    """
    _listeners.setdefault(name, []).append(tell)


def allowed_bytes() -> int:
    """Returns the bytes that one call, or one variable, may take: ``memory_limit``, or this machine's memory.

    >>> with nv.flags.overriding(memory_limit=1000):
    ...     nv.flags.allowed_bytes()
    1000
    """
    return memory_limit or physical_memory()


def physical_memory() -> int:
    """Returns the bytes of this machine's memory, or the largest possible size if the system does not say.

    >>> nv.flags.physical_memory() > 0
    True
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63 - 1


@contextmanager
def overriding(**values: object) -> Iterator[None]:
    """Sets switches until the ``with`` block ends; for the whole process, not for one thread.

    >>> with nv.flags.overriding(threads=1, check_nan=True):
    ...     nv.flags.threads, nv.flags.check_nan
    (1, True)
    """
    module = sys.modules[__name__]
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def describe() -> str:
    """Returns one line a switch: name, value, the environment variable it starts from, its documentation.

    >>> print(nv.flags.describe())
    cache ...
    """
    rows = [(name, repr(getattr(sys.modules[__name__], name)), variable_name(name), switch.doc)
            for name, switch in SWITCHES.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join("  ".join([*[cell.ljust(width) for cell, width in zip(row, widths)], row[3]]) for row in rows)


class _Flags(ModuleType):
    """This module, which refuses unknown switches and values of another kind."""

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name not in SWITCHES:
            raise _unknown(name)
        if name in SWITCHES:
            _check(name, value)
        super().__setattr__(name, value)
        for tell in _listeners.get(name, ()):
            tell(value)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _unknown(name)

    def __reduce__(self) -> tuple[object, ...]:
        return importlib.import_module, (self.__name__,)  # as cloudpickle keeps plain modules


def _check(name: str, value: object) -> None:
    switch = SWITCHES[name]
    if type(value) is not type(switch.default):
        raise WrongKind(f"the switch {name} has another kind", op="flags", operand=name, got=repr(value),
                        expected=type(switch.default).__name__)
    if not switch.takes(value):
        raise InvalidArgument(f"the switch {name} takes no such value", op="flags", operand=name, got=repr(value),
                              expected=switch.expected)


def _unknown(name: str) -> UnknownSwitch:
    return UnknownSwitch(f"there is no switch {name}", op="flags", got=name, expected=", ".join(SWITCHES),
                         help=did_you_mean(name, SWITCHES, "print(nv.flags.describe()) shows all switches"))


__all__ = ["Switch", "UnknownSwitch", "describe", "overriding"]

sys.modules[__name__].__class__ = _Flags
