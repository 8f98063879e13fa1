"""PyTorch models compiled by nervure, as a backend of ``torch.compile``."""

from __future__ import annotations

from bench.compiled import calling, settings_of
from bench.compiled_models import COMPILED_MODELS
from bench.contenders.nervure import programs


def backend(function):
    import torch

    from nervure.bridges.torch import backend, compiling  # noqa: F401  # imported before anything is timed
    return torch.compile(function, dynamic=False, backend=backend)


for name, problem in COMPILED_MODELS.items():
    programs(name, **settings_of(problem, {"backend": backend}))(None)

programs("small_call", backend=calling(backend))(None)
