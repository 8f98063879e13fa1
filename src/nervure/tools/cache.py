"""The command ``nervure cache``: shows the directory and the size of the machine-code cache, and clears it.

>>> import tempfile
>>> from nervure import flags
>>> with flags.overriding(cache_directory=tempfile.mkdtemp()):
...     print(describe().split("\\n", 1)[1])
entries    0
bytes      0
limit      256,000,000
"""

from __future__ import annotations

from nervure.transformers.cpu.cache.code_cache import CodeCache, user_cache

_NO_CACHE = "no machine code is kept: the switch cache is off"


def describe() -> str:
    """Returns the directory, the entries and bytes in it, and the limit of bytes."""
    cache = user_cache()
    if cache is None:
        return _NO_CACHE
    return "\n".join([f"directory  {cache.directory}", f"entries    {cache.entries():,}",
                      f"bytes      {cache.size():,}", f"limit      {cache.limit_bytes:,}"])


def clear() -> str:
    """Deletes all entries; returns what was deleted. OSError if that fails."""
    cache = user_cache()
    if cache is None:
        return _NO_CACHE
    before = _amount(cache)
    cache.clear()
    return f"{before} deleted from {cache.directory}"


def _amount(cache: CodeCache) -> str:
    count = cache.entries()
    return f"{count:,} {'entry' if count == 1 else 'entries'} of {cache.size():,} bytes"
