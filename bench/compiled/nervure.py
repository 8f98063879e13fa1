"""PyTorch models compiled by nervure, as a backend of ``torch.compile``; with *freezing* weights are packed once."""

from __future__ import annotations

from functools import partial

from bench.compiled import calling, settings_of
from bench.compiled_models import COMPILED_MODELS, Step
from bench.contenders.nervure import programs


def backend(function, **options):
    import torch

    from nervure.bridges.torch import backend, compiling  # noqa: F401  # imported before anything is timed
    return torch.compile(function, dynamic=False, backend=backend, options=options)


FREEZING = {"freezing": partial(backend, freezing=True)}

for name, problem in COMPILED_MODELS.items():
    compilers = {"backend": backend, **({} if issubclass(problem, Step) else FREEZING)}
    programs(name, **settings_of(problem, compilers))(None)

programs("small_call", backend=calling(backend))(None)
