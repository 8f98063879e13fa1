"""Settings of the compiler that, besides text and target, determine the code; they are read without loading it.

>>> SETTINGS
"b'x86_64-unknown-linux-gnu' 1 0 b'pic' b'small'"
>>> "version" in llvm_version()
True
"""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache

from nervure.errors import NotSupported

TRIPLE = b"x86_64-unknown-linux-gnu"

LEVEL = 1
"""The level of code generation: 2 and 3 take longer for code that is no faster."""

COLD_LEVEL = 0
"""The level of rarely run code: it takes a sixth of the time, and keeps values on the stack."""

COLD = "; runs rarely"
"""The first line of a module whose code takes ``COLD_LEVEL``."""

ADDRESSES, REACH = b"pic", b"small"
SETTINGS = f"{TRIPLE!r} {LEVEL} {COLD_LEVEL} {ADDRESSES!r} {REACH!r}"


def level_of(text: str) -> int:
    """Returns the level of code generation for a module.

    >>> level_of("declare void @f()"), level_of(COLD + "\\ndeclare void @f()")
    (1, 0)
    """
    return COLD_LEVEL if text.startswith(COLD) else LEVEL


def llvm_file() -> str:
    """Returns the path of llvmlite's shared library. NotSupported without llvmlite."""
    return os.path.join(_folder(), "binding", "libllvmlite.so")


@cache
def llvm_version() -> str:
    """Identifies the LLVM by llvmlite's own text about its version, and the size of its library. NotSupported unless
    it is the release of llvmlite whose functions are known here.
    """
    try:
        with open(os.path.join(_folder(), "_version.py"), encoding="utf-8") as file:
            text, size = file.read(), os.path.getsize(llvm_file())
    except (OSError, ValueError) as error:
        raise NotSupported("llvmlite is not whole", op="cpu transformer", got=str(error), expected="llvmlite 0.50",
                           help="pip install --force-reinstall 'llvmlite==0.50.*'") from None
    release = re.search(r"version *= *['\"]([^'\"]+)", text)
    if not release or not release[1].startswith("0.50."):
        raise NotSupported("llvmlite is of another release", op="cpu transformer",
                           got=release[1] if release else "no version", expected="llvmlite 0.50",
                           help="pip install 'llvmlite==0.50.*'")
    return f"{text} {size}"


@cache
def _folder() -> str:
    """Returns the folder of llvmlite, without importing its Python side, which is not needed here."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        raise NotSupported("llvmlite is not installed", op="cpu transformer", got="no module llvmlite",
                           expected="llvmlite 0.50", help="pip install 'llvmlite==0.50.*'")
    return found.submodule_search_locations[0]
