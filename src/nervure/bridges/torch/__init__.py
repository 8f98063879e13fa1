"""PyTorch models: compiled by ``torch.compile(model, backend="nervure")``, or imported as modules of nervure.

PyTorch is an extra, ``pip install 'nervure[torch]'``, which nothing here imports before it is used.
"""

from __future__ import annotations

from nervure.bridges.torch.bridge import backend, from_torch, is_installed, report

__all__ = ["backend", "from_torch", "is_installed", "report"]
