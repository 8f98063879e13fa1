"""PyTorch models: compiled by ``torch.compile(model, backend="nervure")``, or imported as modules of nervure.

PyTorch is an extra: ``pip install 'nervure[torch]'``. Nothing here imports it before it is used.
"""

from __future__ import annotations

import importlib
import importlib.util

from nervure.errors import NotSupported
from nervure.support import forks


def __getattr__(name: str) -> object:
    if name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("torch") is None:
        raise NotSupported("PyTorch is not installed", op=f"bridges.torch.{name}", got="no module torch",
                           expected="PyTorch 2.13", help="pip install 'nervure[torch]'")
    with forks.importing():
        return getattr(importlib.import_module("nervure.bridges.torch.compiling"), name)


def __dir__() -> list[str]:
    return ["backend"]
